// Keeps two processes from writing one file: by a lock file that names the process, and by a lock on the open file.
#pragma once

#include <optional>
#include <string>

#include "sim/base/core/descriptor.hpp"
#include "sim/base/core/interruption.hpp"

namespace allreplay {

/// The name of this host, as written into lock files.
std::string host_name();

/// Holds a lock file as long as it lives. The system releases the lock when the process ends, however that happens; a
/// lock file left by another host must be removed manually.
class FileLock {
 public:
  /// Locks `file`, which need not exist, by FILE.lock. Throws InputError with the holder's name if it is locked.
  explicit FileLock(const std::string& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string name_;
  Descriptor lock_;
  std::optional<Leftover> leftover_;
};

/// Exclusive: for a process that appends to the file. Shared: for processes that replace the whole file by a rename.
enum class LockMode { Exclusive, Shared };

/// Locks an open, writable file under all its names (links) until it is closed. Throws InputError if another process
/// holds a conflicting lock; does nothing if the file system has no locks.
void lock_opened(int descriptor, const std::string& file, LockMode mode);

/// True if `name`, with its links followed, is the file that is open here.
bool still_names(const std::string& name, int descriptor);

}  // namespace allreplay
