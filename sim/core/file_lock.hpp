// Who is writing a file: a lock file beside it, which names the process, and a lock on the file itself, whatever it is
// called.
#pragma once

#include <optional>
#include <string>

#include "sim/core/descriptor.hpp"
#include "sim/core/interruption.hpp"

namespace allreplay {

/// The name of this host, as locks say it.
std::string host_name();

/// Held while it lives, under this name. The system lets go of it when the process ends, however it ends, so that none
/// is held by a process of this host that is gone; a lock of another host stands until its file is removed.
class FileLock {
 public:
  /// Locks `file`, which need not exist, by FILE.lock. Throws InputError naming the holder when it is locked.
  explicit FileLock(const std::string& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string name_;
  Descriptor lock_;
  std::optional<Leftover> leftover_;
};

/// Of one who adds to a file as it goes, of those who replace the whole file at once.
enum class LockMode { Exclusive, Shared };

/// Locks a file itself, which is open for writing, until it is closed: all its names (links) meet the same lock. Throws
/// InputError when somebody else writes it; does nothing where files cannot be locked.
void lock_opened(int descriptor, const std::string& file, LockMode mode);

/// Whether the file that a name means, its links followed, is the one that is open here.
bool is_still(const std::string& name, int descriptor);

}  // namespace allreplay
