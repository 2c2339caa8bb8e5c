#include "sim/core/file_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/error.hpp"
#include "sim/core/text.hpp"

namespace allreplay {

namespace {

// "process 12 on alpha", as the holder wrote it.
std::string holder(int descriptor) {
  std::array<char, 256> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size() - 1, 0);
  std::string line(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (line.ends_with('\n')) line.pop_back();
  return one_line(line, 160);
}

[[noreturn]] void fail(const std::string& file, int error) {
  throw InputError({file, ""}, fmt::format("cannot be locked: {}", std::strerror(error)),
                   "check the folder and its rights");
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  return one_line(name.data(), 64);
}

FileLock::FileLock(const std::string& file) : name_(file + ".lock") {
  for (;;) {
    descriptor_ = open(name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) fail(name_, errno);
    struct stat opened {
    }, named{};
    const bool usable = fstat(descriptor_, &opened) == 0 && S_ISREG(opened.st_mode);
    if (!usable || flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = usable ? errno : EEXIST;
      const std::string who = holder(descriptor_);
      close(descriptor_);
      if (error != EWOULDBLOCK) fail(name_, error);
      throw InputError({file, ""}, fmt::format("is being written by {}", who.empty() ? "another process" : who),
                       "wait for it, or name another file");
    }
    // A holder that has just ended has removed the file that was opened here; then there is another, or none.
    if (stat(name_.c_str(), &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) break;
    close(descriptor_);
  }
  const std::string was = holder(descriptor_), here = " on " + host_name();
  if (!was.empty() && !was.ends_with(here)) {
    close(descriptor_);
    throw InputError({file, ""}, fmt::format("is being written by {}", was),
                     fmt::format("wait for it; if it has ended, remove {}", name_));
  }
  const std::string who = fmt::format("process {}{}\n", getpid(), here);
  if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, who.data(), who.size(), 0) < 0) {
    const int error = errno;
    unlink(name_.c_str());
    close(descriptor_);
    fail(name_, error);
  }
}

FileLock::~FileLock() {
  unlink(name_.c_str());  // before it is let go of: nobody else's
  close(descriptor_);
}

}  // namespace allreplay
