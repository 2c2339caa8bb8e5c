// Who is writing a file: a lock file beside it, which names the process.
#pragma once

#include <string>

namespace allreplay {

/// The name of this host, as locks say it.
std::string host_name();

/// Held while it lives. The system lets go of it when the process ends, however it ends, so that none is left behind by
/// a process of this host; a lock of another host stands until its file is removed.
class FileLock {
 public:
  /// Locks `file`, which need not exist, by FILE.lock. Throws InputError naming the holder when it is locked.
  explicit FileLock(const std::string& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace allreplay
