#include "sim/core/file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "sim/core/descriptor.hpp"
#include "sim/core/digest.hpp"
#include "sim/core/error.hpp"
#include "sim/core/file_lock.hpp"
#include "sim/core/interruption.hpp"
#include "sim/core/text.hpp"

namespace allreplay {

namespace fs = std::filesystem;

namespace {

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return std::nullopt;
  return Identity(facts.st_dev, facts.st_ino);
}

// Files that this process has read, on whatever thread.
class KnownInputs {
 public:
  void add(const Identity& file) {
    const std::lock_guard guard(mutex_);
    files_.insert(file);
  }
  bool has(const Identity& file) {
    const std::lock_guard guard(mutex_);
    return files_.count(file) > 0;
  }

 private:
  std::mutex mutex_;
  std::set<Identity> files_;
};

KnownInputs& known_inputs() {
  static KnownInputs known;
  return known;
}

std::atomic<bool> inputs_are_protected{false};

thread_local ReadDigest* current_digest = nullptr;
thread_local MemoryFiles* memory_files = nullptr;

[[noreturn]] void fail_to_read(const std::string& file, int error) {
  throw InputError({file, ""}, fmt::format("cannot be read: {}", std::strerror(error)), "check the path");
}

[[noreturn]] void fail_to_write(const std::string& file, int error) {
  throw InputError({file, ""}, fmt::format("cannot be written: {}", std::strerror(error)),
                   "check the folder, its rights and its space");
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A new file that nobody else has opened or could have put there, in this folder; gone with this unless it has become
// another.
class PrivateFile {
 public:
  explicit PrivateFile(const fs::path& folder) {
    std::random_device random;
    do {
      name_ = (folder / fmt::format(".allreplay-{:08x}{:08x}", random(), random())).string();
      leftover_.emplace(name_);
      sink_.reset(open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    } while (!sink_.is_open() && errno == EEXIST);
  }
  ~PrivateFile() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  bool is_open() const { return sink_.is_open(); }
  int number() const { return sink_.number(); }

  bool become(const std::string& file) {
    if (!sink_.close() || rename(name_.c_str(), file.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string name_;
  std::optional<Leftover> leftover_;
  Descriptor sink_;
};

// The manifest of tools/get_public_traces.sh stands among the traces, and is none.
bool is_data(std::string_view folder, const std::string& stem) { return folder != "traces" || stem != "public"; }

std::vector<std::string>& added_homes() {
  static std::vector<std::string> added;
  return added;
}

// Of what was installed with the program; "" where nobody says which program this is.
const std::string& installed_home() {
  static const std::string home = [] {
    std::error_code unknown;
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
    return unknown ? "" : (program.parent_path().parent_path() / "share" / "allreplay").string();
  }();
  return home;
}

std::vector<std::string> homes() {
  std::vector<std::string> homes{"."};
  if (const char* home = std::getenv("ALLREPLAY_HOME")) homes.emplace_back(home);
  if (!installed_home().empty()) homes.push_back(installed_home());
  homes.insert(homes.end(), added_homes().begin(), added_homes().end());
  homes.emplace_back(ALLREPLAY_SOURCE_DIR);
  return homes;
}

}  // namespace

ReadDigest::ReadDigest() { current_digest = this; }
ReadDigest::~ReadDigest() { current_digest = nullptr; }
void ReadDigest::add(std::string_view contents) { value_ = digest(contents, value_); }
void ReadDigest::add_file(const std::string& file, std::string facts) {
  sources_.read_.push_back({file, std::move(facts)});
}
void ReadDigest::add_located(std::string_view folder, const std::string& name, const std::string& file) {
  sources_.located_.push_back({std::string(folder), name, file});
}

void note_read(int descriptor, std::string_view contents) {
  struct stat facts {};
  if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) known_inputs().add({facts.st_dev, facts.st_ino});
  if (current_digest) current_digest->add(contents);
}

MemoryFiles::MemoryFiles() : before_(std::exchange(memory_files, this)) {}
MemoryFiles::~MemoryFiles() { memory_files = before_; }

std::string* memory_file(const std::string& name) {
  if (!memory_files) return nullptr;
  const auto found = memory_files->texts_.find(name);
  return found == memory_files->texts_.end() ? nullptr : &found->second;
}

void add_data_home(const std::string& folder) { added_homes().emplace_back(folder); }

namespace {

// All that says whether a file is still what it was, but for its contents.
std::string words_of(const struct stat& facts) {
  return fmt::format("{} {} {} {}.{} {}.{}", facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
}

std::string read_contents(const std::string& file, std::uint64_t most, bool is_input) {
  if (const std::string* text = memory_file(file)) {
    if (current_digest && is_input) {
      current_digest->add(*text);
      current_digest->add_file(file, *text);
    }
    return *text;
  }
  const Descriptor source(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!source.is_open() || fstat(source.number(), &facts) != 0) fail_to_read(file, errno);
  if (S_ISDIR(facts.st_mode)) throw InputError({file, ""}, "is a folder", "name a file");
  constexpr std::size_t piece = std::size_t{1} << 16;
  std::string text;
  for (;;) {
    const std::size_t length = text.size();
    text.resize(length + piece);
    const ssize_t got = read(source.number(), text.data() + length, piece);
    text.resize(length + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(file, errno);
    if (got == 0) break;
    if (text.size() > most)
      throw InputError({file, ""}, fmt::format("has more than {} MiB", most >> 20), "is it the file that was meant?");
  }
  if (is_input) note_read(source.number(), text);
  if (is_input && current_digest) current_digest->add_file(file, words_of(facts));
  return text;
}

}  // namespace

std::string read_file(const std::string& file, std::uint64_t most) { return read_contents(file, most, true); }
std::string read_output(const std::string& file, std::uint64_t most) { return read_contents(file, most, false); }

void protect_inputs(bool on) { inputs_are_protected = on; }

bool was_read(const std::string& file) {
  const auto identity = identity_of(file);
  return inputs_are_protected && identity && known_inputs().has(*identity);
}

void write_file(const std::string& file, std::string_view text) {
  if (std::string* memory = memory_file(file)) {
    *memory = text;
    return;
  }
  const std::string target = link_target(file);
  std::error_code unknown;
  const bool fresh = target != file && !fs::exists(target, unknown);
  // By its own name, so that what the system follows is what is written.
  Descriptor old(open(file.c_str(), O_WRONLY | O_CLOEXEC | (fresh ? O_CREAT : 0), 0666));
  const bool there = old.is_open();
  struct stat facts {};
  if (there ? fstat(old.number(), &facts) != 0 : errno != ENOENT) fail_to_write(file, errno);
  if (there && !S_ISREG(facts.st_mode)) {  // a device, a pipe
    if (!write_all(old.number(), text) || !old.close()) fail_to_write(file, errno);
    return;
  }
  if (there && inputs_are_protected && known_inputs().has({facts.st_dev, facts.st_ino}))
    throw InputError({file, ""}, "is one of the files that were read", "another file to write");
  if (there && !is_still(target, old.number())) fail_to_write(file, EBUSY);
  if (there) lock_opened(old.number(), file, LockMode::Shared);
  PrivateFile made(fs::path(target).parent_path());
  const auto stay = [&] {  // owner, where we may give it away, and permissions
    static_cast<void>(fchown(made.number(), facts.st_uid, facts.st_gid) == 0);
    return fchmod(made.number(), facts.st_mode & 07777) == 0;
  };
  if (made.is_open() && (!there || stay()) && write_all(made.number(), text) && made.become(target)) return;
  const int error = errno;
  if (fresh && there) unlink(target.c_str());
  fail_to_write(file, error);
}

bool is_file(const std::string& name) {
  if (memory_file(name)) return true;
  struct stat facts {};
  return stat(name.c_str(), &facts) == 0 &&
         (S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode));
}

std::string link_target(const std::string& file) {
  fs::path path = file;
  for (;;) {
    std::error_code none;
    const fs::path next = fs::read_symlink(path, none);
    if (none) return path.string();
    // The system decides: it follows only so many, and none of others where all may write, if it is careful.
    if (!Descriptor(open(file.c_str(), O_PATH | O_CLOEXEC)).is_open() && errno != ENOENT) fail_to_write(file, errno);
    path = path.parent_path() / next;  // next itself, where it is absolute
    // What stands behind /dev/stdout and /dev/fd is no name: "pipe:[123]".
    if (!fs::exists(fs::symlink_status(path, none)) && fs::exists(file, none)) return file;
  }
}

std::string file_identity(const std::string& file) {
  if (file.empty()) return "";
  if (memory_file(file)) return "memory:" + file;
  if (const auto own = identity_of(file)) return fmt::format("{}:{}", own->first, own->second);
  const fs::path target = link_target(file);
  const auto folder = identity_of(target.has_parent_path() ? target.parent_path().string() : ".");
  return folder ? fmt::format("{}:{}/{}", folder->first, folder->second, target.filename().string()) : "";
}

namespace {

std::optional<std::string> located(std::string_view folder, const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (is_file(name)) return name;
  const auto found = [&](const std::string& file) {
    return is_file(file) && is_data(folder, fs::path(file).stem().string());
  };
  const auto normal = [](const std::string& file) { return fs::path(file).lexically_normal().string(); };
  if (name[0] == '/') return found(name + ".json") ? std::optional(normal(name + ".json")) : std::nullopt;
  for (const std::string& home : homes())
    for (const char* ending : {"", ".json"})
      if (const std::string file = fmt::format("{}/{}/{}{}", home, folder, name, ending); found(file))
        return normal(file);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> locate_data(std::string_view folder, const std::string& name) {
  auto file = located(folder, name);
  if (current_digest && file) current_digest->add_located(folder, name, *file);
  return file;
}

bool Sources::unchanged() const {
  for (const auto& [folder, name, file] : located_)
    if (located(folder, name) != file) return false;
  for (const auto& [file, facts] : read_) {
    struct stat now {};
    const std::string* memory = memory_file(file);
    if (memory ? *memory != facts : stat(file.c_str(), &now) != 0 || words_of(now) != facts) return false;
  }
  return true;
}

std::string find_data(std::string_view folder, const std::string& name, std::string_view noun) {
  if (!is_one_line(name))
    throw InputError({name, ""}, "is no name: it is not one line of text", "UTF-8 without control characters");
  if (auto file = locate_data(folder, name)) return *file;
  std::error_code impossible;
  if (fs::is_directory(name, impossible))
    throw InputError({name, ""}, "is a folder", fmt::format("name a {} file", noun));
  throw InputError({name.empty() ? "''" : name, ""},
                   fmt::format("no such file, and no {} of that name in {}/", noun, folder),
                   suggest(name, list_data(folder)));
}

std::vector<std::string> list_data(std::string_view folder) {
  std::set<std::string> names;
  for (const std::string& home : homes()) {
    std::error_code absent;
    for (fs::directory_iterator entry(fs::path(home) / folder, absent), end; !absent && entry != end;
         entry.increment(absent)) {
      const std::string stem = entry->path().stem().string();
      if (entry->path().extension() == ".json" && is_data(folder, stem) && is_one_line(stem)) names.insert(stem);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace allreplay
