// Files: whole texts in, whole texts out, which of them are the same, and where the shipped data stands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

/// What a file to read may have at most, unless its reader says otherwise: far more than any that is meant, and little
/// enough that what is made of it fits into memory.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// Where writing to `file` ends: what its symbolic links name, which need not exist. Throws InputError where the system
/// does not follow them.
std::string link_target(const std::string& file);

class Files;

/// Files that were found and read, and whether the same would be found and read again.
class Sources {
 public:
  /// Goes by where names are found, and by identity, size and times of files.
  bool unchanged(const Files& files) const;

 private:
  friend class Files;
  struct Located {
    std::string folder, name, file;
  };
  struct Read {
    std::string file;
    std::string facts;  // of a file in memory its text
  };
  std::vector<Located> located_;
  std::vector<Read> read_;
};

/// What Files::noting() notes: the contents of all that is read, as one number, and where it stood.
struct ReadDigest {
  std::uint64_t value = 0;
  Sources sources;
};

/// The files of a command: those of the system and, before them, texts that stand in memory alone, which a caller of
/// the library hands over or wants written. Handed on to whoever finds, reads or writes one: a copy means the same
/// files. Several threads may use them.
class Files {
 public:
  /// `homes`: more folders of data, after that of the installation: where a library's program is not the one that was
  /// installed.
  explicit Files(std::vector<std::string> homes = {});

  /// A file that stands in memory alone: this name is that file and no other, wherever a file may be named.
  void add(const std::string& name, std::string text);

  /// What was added or written last. REQUIRES: the name was added.
  std::string text(const std::string& name) const;

  /// The same files; what is found and read through them is noted, by one thread at a time.
  Files noting(ReadDigest& digest) const;

  /// The whole file; a pipe or a device until its end. Throws InputError when it cannot be read, or has more than
  /// `most` bytes.
  std::string read(const std::string& file, std::uint64_t most = most_bytes) const;

  /// The same of a file that is about to be written again.
  std::string read_output(const std::string& file, std::uint64_t most = most_bytes) const;

  /// Notes that a file is being read, for write() and was_read(). read() does so itself.
  void note_read(int descriptor) const;

  /// From here on write() refuses files that were read: right for a program that reads and then writes, as ours does
  /// from its start. Not so for a library: files come and go meanwhile, and a new one may be known by what an old one
  /// was known by.
  void protect_inputs();

  /// Whether read() has read the file of that name, and inputs are protected.
  bool was_read(const std::string& file) const;

  /// Writes the whole text, or leaves what was there: a temporary beside it is renamed over it. A symbolic link stays
  /// one, and what it names is written; permissions stay. Devices and pipes are written as they are. Throws
  /// InputError, also when the file is one that was read (protect_inputs()).
  void write(const std::string& file, std::string_view text) const;

  /// Throws InputError where write() would as things are: for a folder, and where the file or its folder is not there for
  /// us to write. So a command fails before it computes, and of several files none is written alone.
  void require_writable(const std::string& file) const;

  /// Whether there is something to read of that name that is no folder; "no" for names that no file can have.
  bool is_file(const std::string& name) const;

  /// What two names of one file have in common, and names of different files have not; of a file that is not there its
  /// folder's identity counts. "" where not even the folder is there.
  std::string identity(const std::string& file) const;

  /// The path of `name`: as it stands when it is a file, else `name` or `name`.json in `folder` ("traces",
  /// "topologies", "models", "configs") of the working directory, of $ALLREPLAY_HOME, of the installation, of the homes
  /// or of the source tree, in that order.
  std::optional<std::string> locate_data(std::string_view folder, const std::string& name) const;

  /// The same; throws InputError naming the nearest known name when there is none. `noun` says what was looked for.
  std::string find_data(std::string_view folder, const std::string& name, std::string_view noun) const;

  /// The names (without .json) of all that `find_data` would find in `folder`, sorted; without those that are no line
  /// of text.
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
