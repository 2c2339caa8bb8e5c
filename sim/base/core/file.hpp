// Reads and writes whole files, tells if two names mean the same file, and finds the shipped data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// The default limit for files that are read: larger than any sensible file, and small enough to be parsed in memory.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// The file, existing or not, to which the symbolic links of `file` lead. Throws InputError if they cannot be followed.
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
  /// `homes`: more data folders, searched after that of the running program. A library states its own here.
  explicit Files(std::vector<std::string> homes = {});

  /// Adds a file that exists only in memory. It hides any file of the same name.
  void add(const std::string& name, std::string text);

  /// The text that was added or written last. REQUIRES: the name was added.
  std::string text(const std::string& name) const;

  /// The same files, but `digest` records whatever is found and read through the result. Not safe for several threads.
  Files noting(ReadDigest& digest) const;

  /// The whole file; a pipe or device until its end. Throws InputError if it is unreadable or exceeds `most` bytes.
  std::string read(const std::string& file, std::uint64_t most = most_bytes) const;

  /// As read(), for a file that will be overwritten: it does not count as an input.
  std::string read_output(const std::string& file, std::uint64_t most = most_bytes) const;

  /// Records an open file as an input for write() and was_read(). read() does so itself.
  void note_read(int descriptor) const;

  /// Makes write() refuse files that were read. Not for long-lived libraries: a new file may reuse an input's inode.
  void protect_inputs();

  /// True if that file was read and inputs are protected.
  bool was_read(const std::string& file) const;

  /// Replaces the whole file, through a temporary one that is renamed; writes devices and pipes directly. Follows
  /// symbolic links and keeps permissions. Throws InputError, also for protected inputs (protect_inputs()).
  void write(const std::string& file, std::string_view text) const;

  /// Throws InputError if write() would fail now, so that a command can fail before it computes or writes anything.
  void require_writable(const std::string& file) const;

  /// True if a readable thing of that name exists that is not a folder: a file, a pipe or a character device.
  bool is_file(const std::string& name) const;

  /// Equal for two names of the same file and different otherwise. A file that does not exist yet is identified by its
  /// folder and name; "" if the folder does not exist either.
  std::string identity(const std::string& file) const;

  /// The path of `name`: itself if it is a file, else `name` or `name`.json in `folder` ("traces", "models", …) of the
  /// working directory, $ALLREPLAY_HOME, the installation, the homes or the source tree, in that order.
  std::optional<std::string> locate_data(std::string_view folder, const std::string& name) const;

  /// As locate_data(), but throws InputError, which calls it a `noun`, with the nearest known name if there is none.
  std::string find_data(std::string_view folder, const std::string& name, std::string_view noun) const;

  /// The sorted names, without .json, that find_data() finds in `folder`; omits names that are not one line of text.
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
