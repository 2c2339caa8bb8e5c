// Reads and writes whole files, tells if two names mean the same file, and finds the shipped data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// The default limit for the size of a file that is read: far above any sensible file, and its parsed form still fits
/// into memory.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// The file that writing to `file` would reach through its symbolic links; it need not exist. Throws InputError if the
/// system refuses to follow them.
std::string link_target(const std::string& file);

class Files;

/// The files that were found and read, to check later that nothing has changed.
class Sources {
 public:
  /// True if every name is still found at the same place and every file has the same identity, size and times.
  bool unchanged(const Files& files) const;

 private:
  friend class Files;
  struct Located {
    std::string folder, name, file;
  };
  struct Read {
    std::string file;
    std::string facts;  // identity, size and times; for a file in memory, its text
  };
  std::vector<Located> located_;
  std::vector<Read> read_;
};

/// Filled by Files::noting(): one digest of the contents of all files that were read, and the list of these files.
struct ReadDigest {
  std::uint64_t value = 0;
  Sources sources;
};

/// The files of a command: files in memory, by which a caller of the library passes inputs and receives outputs, and
/// then those of the file system. Copies share their state. Safe for several threads.
class Files {
 public:
  /// `homes`: more data folders, searched after that of the installation. A library needs them: the running program is
  /// then not the installed one.
  explicit Files(std::vector<std::string> homes = {});

  /// Adds a file that exists only in memory. It hides any file of the same name.
  void add(const std::string& name, std::string text);

  /// The text that was added or written last. REQUIRES: the name was added.
  std::string text(const std::string& name) const;

  /// The same files, but `digest` records whatever is found and read through the result. Not safe for several threads.
  Files noting(ReadDigest& digest) const;

  /// The whole file; a pipe or a device until its end. Throws InputError if it cannot be read, or has more than `most`
  /// bytes.
  std::string read(const std::string& file, std::uint64_t most = most_bytes) const;

  /// As read(), for a file that will be overwritten: it does not count as an input.
  std::string read_output(const std::string& file, std::uint64_t most = most_bytes) const;

  /// Records an open file as an input for write() and was_read(). read() does so itself.
  void note_read(int descriptor) const;

  /// Makes write() refuse files that were read. For programs, which run once; in a long-lived library a new file may
  /// have the inode of an old input.
  void protect_inputs();

  /// True if that file was read and inputs are protected.
  bool was_read(const std::string& file) const;

  /// Replaces the file by `text`, or leaves it unchanged: writes a temporary file in the same folder and renames it.
  /// Follows symbolic links and keeps permissions. Writes devices and pipes directly. Throws InputError, also for
  /// a protected input (protect_inputs()).
  void write(const std::string& file, std::string_view text) const;

  /// Throws InputError if write() would fail now, so that a command fails before it computes and before it writes the
  /// first of several files.
  void require_writable(const std::string& file) const;

  /// True if a readable thing of that name exists that is not a folder: a file, a pipe or a character device.
  bool is_file(const std::string& name) const;

  /// Equal for two names of the same file and different otherwise. A file that does not exist yet is identified by its
  /// folder and name; "" if the folder does not exist either.
  std::string identity(const std::string& file) const;

  /// The path of `name`: unchanged if it is a file, else `name` or `name`.json in `folder` ("traces", "topologies",
  /// "models", "configs") of the working directory, $ALLREPLAY_HOME, the installation, the homes or the source tree,
  /// in that order.
  std::optional<std::string> locate_data(std::string_view folder, const std::string& name) const;

  /// As locate_data(), but throws InputError with the nearest known name if there is none. `noun`: what the message
  /// calls such a file.
  std::string find_data(std::string_view folder, const std::string& name, std::string_view noun) const;

  /// The sorted names (without .json) that `find_data` would find in `folder`; omits names that are not one line of
  /// text.
  std::vector<std::string> list_data(std::string_view folder) const;

 private:
  friend class Sources;
  struct State;
  std::shared_ptr<const std::string> in_memory(const std::string& name) const;
  std::string contents(const std::string& file, std::uint64_t most, bool is_input) const;
  std::optional<std::string> located(std::string_view folder, const std::string& name) const;

  std::shared_ptr<State> state_;
  ReadDigest* digest_ = nullptr;
};

}  // namespace allreplay
