#include "sim/base/core/file.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/descriptor.hpp"
#include "sim/base/core/digest.hpp"
#include "sim/base/core/file_lock.hpp"
#include "sim/base/core/interruption.hpp"

using namespace allreplay;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("allreplay_file_test." + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator()(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream((*this)(name)) << text; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

// A process of its own that does this.
pid_t started(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    work();
  } catch (...) {
    _exit(2);
  }
  _exit(0);
}

int status_of(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

mode_t mode(const std::string& file) {
  struct stat facts {};
  REQUIRE(stat(file.c_str(), &facts) == 0);
  return facts.st_mode & 07777;
}

}  // namespace

TEST_CASE("a file is written whole, through a private temporary") {
  const Folder folder;
  folder.write("out.partial", "the user's own");
  fs::create_symlink(folder("victim"), folder("other.partial"));
  folder.write("victim", "precious");
  Files().write(folder("out"), "text");
  Files().write(folder("other"), "text");
  CHECK(Files().read_output(folder("out")) == "text");
  CHECK(Files().read_output(folder("out.partial")) == "the user's own");
  CHECK(Files().read_output(folder("victim")) == "precious");
  CHECK(folder.files() == 5);  // the three that were there, and two; no temporary
}

TEST_CASE("a file that cannot be read is reported with the reason, and reading ends") {
  // The page at address 0 of a process's memory is never mapped.
  CHECK(error_place([] { Files().read("/proc/self/mem"); }) == "/proc/self/mem");
}

TEST_CASE("links stay links, and permissions stay") {
  const Folder folder;
  fs::create_directories(folder("target"));
  folder.write("target/real", "before");
  REQUIRE(chmod(folder("target/real").c_str(), 0640) == 0);
  fs::create_symlink("target/real", folder("link"));
  fs::create_symlink("target/fresh", folder("dangling"));
  fs::create_symlink("loop", folder("loop"));
  Files().write(folder("link"), "after");
  Files().write(folder("dangling"), "new");
  CHECK(fs::is_symlink(folder("link")));
  CHECK(Files().read_output(folder("target/real")) == "after");
  CHECK(mode(folder("target/real")) == 0640);
  CHECK(fs::is_symlink(folder("dangling")));
  CHECK(Files().read_output(folder("target/fresh")) == "new");
  CHECK(error_place([&] { Files().write(folder("loop"), "x"); }) == folder("loop"));
  CHECK(link_target(folder("link")) == folder("target/real"));
}

TEST_CASE("a failed write is reported, and leaves nothing behind") {
  const Folder folder;
  fs::create_directories(folder("sub"));
  folder.write("file", "x");
  for (const std::string& name : {std::string("sub"), std::string("nowhere/out"), std::string("file/out"),
                                  std::string("sub/nowhere/out"), std::string(300, 'x')}) {
    CHECK(error_place([&] { Files().require_writable(folder(name)); }) == folder(name));
    CHECK(error_place([&] { Files().write(folder(name), "x"); }) == folder(name));
  }
  for (const std::string& name :
       {folder("file"), folder("new"), folder("sub/new"), std::string("/dev/full"), std::string("new")})
    CHECK_NOTHROW(Files().require_writable(name));
  CHECK(error_place([&] { Files().write("/dev/full", "x"); }) == "/dev/full");
  CHECK(folder.files() == 2);
}

TEST_CASE("exceeding the limit on file sizes is an error like a full disk") {
  const Folder folder;
  folder.write("out", "before");
  fs::create_symlink("fresh", folder("dangling"));
  const auto status = status_of(started([&] {
    std::signal(SIGXFSZ, SIG_IGN);  // as the program does
    const rlimit most{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(3);
    for (const std::string name : {"out", "dangling", "new"})
      if (error_place([&] { Files().write(folder(name), std::string(2000, 'x')); }) != folder(name)) _exit(1);
  }));
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(Files().read_output(folder("out")) == "before");
  CHECK(folder.files() == 2);  // the file and the link that were there
}

TEST_CASE("a signal that ends the program leaves no temporary and no lock behind") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Folder folder;
    const pid_t child = started([&] {
      std::signal(signal, SIG_DFL);  // the process that runs the tests may ignore it: nohup
      leave_in_order();
      const FileLock lock(folder("out"));
      const std::string text(std::size_t{64} << 20, 'x');
      for (;;) Files().write(folder("out"), text);  // nearly always one is on the way
    });
    const auto temporary = [&] {
      for (const auto& entry : fs::directory_iterator(folder("")))
        if (entry.path().filename().string().starts_with(".allreplay-")) return true;
      return false;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!(temporary() && fs::exists(folder("out.lock"))) && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    REQUIRE(kill(child, signal) == 0);
    const int status = status_of(child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal));
    CHECK_FALSE(temporary());
    CHECK_FALSE(fs::exists(folder("out.lock")));
  }
}

TEST_CASE("a signal that is ignored stays so") {
  const int status = status_of(started([] {
    std::signal(SIGHUP, SIG_IGN);  // nohup
    leave_in_order();
    std::raise(SIGHUP);
  }));
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a file that was read is not overwritten, under any name") {
  const Folder folder;
  folder.write("in", "precious");
  fs::create_hard_link(folder("in"), folder("hard"));
  fs::create_symlink("in", folder("soft"));
  Files files;
  files.protect_inputs();
  CHECK_FALSE(files.was_read(folder("in")));
  CHECK(files.read(folder("in")) == "precious");
  for (const std::string name : {"in", "hard", "soft"}) {
    CHECK(files.was_read(folder(name)));
    CHECK(error_place([&] { files.write(folder(name), "x"); }) == folder(name));
  }
  CHECK(Files().read_output(folder("in")) == "precious");
}

TEST_CASE("names of one file have one identity") {
  const Folder folder;
  folder.write("a", "");
  folder.write("b", "");
  fs::create_hard_link(folder("a"), folder("hard"));
  fs::create_symlink("a", folder("soft"));
  fs::create_directories(folder("sub"));
  CHECK(Files().identity(folder("a")) == Files().identity(folder("hard")));
  CHECK(Files().identity(folder("a")) == Files().identity(folder("soft")));
  CHECK(Files().identity(folder("a")) != Files().identity(folder("b")));
  CHECK(Files().identity(folder("new")) == Files().identity(folder("sub/../new")));
  CHECK(Files().identity(folder("new")) != Files().identity(folder("newer")));
  CHECK(Files().identity(folder("new")) != Files().identity(folder("sub/new")));
  CHECK(Files().identity(folder("nowhere/new")).empty());
}

TEST_CASE("reading stops at a limit, and reports unreadable files") {
  const Folder folder;
  folder.write("long", std::string(3 << 20, 'x'));
  CHECK(Files().read(folder("long"), 3 << 20).size() == 3 << 20);
  CHECK(error_place([&] { Files().read(folder("long"), (3 << 20) - 1); }) == folder("long"));
  CHECK(error_place([] { Files().read("/dev/zero", 1 << 20); }) == "/dev/zero");
  CHECK(error_place([&] { Files().read(folder("")); }) == folder(""));
  CHECK(error_place([&] { Files().read(folder("absent")); }) == folder("absent"));
}

TEST_CASE("different contents have different digests") {
  CHECK(digest("a") != digest("b"));
  CHECK(digest("") != digest(std::string_view("\0", 1)));
  CHECK(digest("abcdefgh") != digest("abcdefgi"));
  CHECK(digest("b", digest("a")) != digest("a", digest("b")));
  CHECK(digest("b", digest("a")) != digest("ab"));
  CHECK(program_digest() == program_digest());
  const Folder folder;
  folder.write("one", "1");
  folder.write("two", "2");
  const auto of = [&](std::initializer_list<std::string> names) {
    ReadDigest contents;
    for (const std::string& name : names) Files().noting(contents).read(folder(name));
    return contents.value;
  };
  CHECK(of({"one", "two"}) == of({"one", "two"}));
  CHECK(of({"one", "two"}) != of({"two", "one"}));
  CHECK(of({"one"}) != of({"two"}));
}

TEST_CASE("a lock names its holder, and ends with it") {
  const Folder folder;
  const std::string file = folder("out.csv"), name = file + ".lock";
  {
    const FileLock lock(file);
    CHECK(error_place([&] { const FileLock second(file); }) == file);
    CHECK(fs::exists(name));  // the refused lock has not removed it
  }
  CHECK(folder.files() == 0);
  {
    const FileLock lock(file);
    fs::copy_file(name, folder("left"));
  }
  fs::rename(folder("left"), name);  // as a process leaves it that was killed: named, and not held
  CHECK_NOTHROW(FileLock(file));
  folder.write("out.csv.lock", "process 1 on another.host\n");
  CHECK(error_place([&] { const FileLock lock(file); }) == file);
  fs::remove(name);
  fs::create_symlink(folder("victim"), name);
  CHECK(error_place([&] { const FileLock lock(file); }) == name);
  CHECK_FALSE(fs::exists(folder("victim")));
}

TEST_CASE("a file that is appended to is not replaced, under any name") {
  const Folder folder;
  folder.write("out", "so far");
  fs::create_hard_link(folder("out"), folder("hard"));
  fs::create_symlink("out", folder("soft"));
  {
    const Descriptor held(open(folder("out").c_str(), O_WRONLY));
    lock_opened(held.number(), folder("out"), LockMode::Exclusive);
    for (const std::string name : {"out", "hard", "soft"}) {
      CHECK(error_place([&] { Files().write(folder(name), "x"); }) == folder(name));
      const Descriptor other(open(folder(name).c_str(), O_WRONLY));
      CHECK(error_place([&] { lock_opened(other.number(), folder(name), LockMode::Exclusive); }) == folder(name));
    }
  }
  CHECK(Files().read_output(folder("hard")) == "so far");
  Files().write(folder("hard"), "x");  // removed together with the lock
  CHECK(Files().read_output(folder("hard")) == "x");
  const Descriptor opened(open(folder("out").c_str(), O_RDONLY));
  CHECK(still_names(folder("soft"), opened.number()));
  CHECK_FALSE(still_names(folder("hard"), opened.number()));
  fs::remove(folder("out"));
  CHECK_FALSE(still_names(folder("out"), opened.number()));
}
