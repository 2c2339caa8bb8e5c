#include "sim/base/core/file_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// "process 12 on alpha": the line that the holder wrote into its lock file.
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

[[noreturn]] void fail_as_held(const std::string& file, const std::string& who) {
  throw InputError({file, ""}, fmt::format("is being written by {}", who), "wait for it, or name another file");
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "?";
  return one_line(name.data(), 64);
}

FileLock::FileLock(const std::string& file) : name_(file + ".lock") {
  for (;;) {
    lock_.reset(open(name_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666));
    if (!lock_.is_open()) fail(name_, errno);
    struct stat opened {};
    const bool usable = fstat(lock_.number(), &opened) == 0 && S_ISREG(opened.st_mode);
    if (!usable || flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) {
      const int error = usable ? errno : EEXIST;
      if (error != EWOULDBLOCK) fail(name_, error);
      const std::string who = holder(lock_.number());
      fail_as_held(file, who.empty() ? "another process" : who);
    }
    // Tries again if the previous holder has just ended and removed the file that was opened here.
    if (still_names(name_, lock_.number())) break;
  }
  const std::string was = holder(lock_.number()), here = " on " + host_name();
  if (!was.empty() && !was.ends_with(here))
    throw InputError({file, ""}, fmt::format("is being written by {}", was),
                     fmt::format("wait for it; if it has ended, remove {}", name_));
  const std::string who = fmt::format("process {}{}\n", getpid(), here);
  if (ftruncate(lock_.number(), 0) != 0 || pwrite(lock_.number(), who.data(), who.size(), 0) < 0) {
    const int error = errno;
    unlink(name_.c_str());
    fail(name_, error);
  }
  leftover_.emplace(name_);
}

FileLock::~FileLock() {
  leftover_.reset();      // first, since a later lock of this name may belong to another process
  unlink(name_.c_str());  // before the lock is released, while the file is certainly ours
}

void lock_opened(int descriptor, const std::string& file, LockMode mode) {
  const int how = mode == LockMode::Exclusive ? LOCK_EX : LOCK_SH;
  if (flock(descriptor, how | LOCK_NB) != 0 && errno == EWOULDBLOCK) fail_as_held(file, "another process");
}

bool still_names(const std::string& name, int descriptor) {
  struct stat named {
  }, opened{};
  return stat(name.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

}  // namespace allreplay
