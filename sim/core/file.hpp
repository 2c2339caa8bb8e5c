// Files: whole texts in, whole texts out, which of them are the same, and where the shipped data stands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allreplay {

/// What a file to read may have at most, unless its reader says otherwise: far more than any that is meant, and little
/// enough that what is made of it fits into memory.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;

/// The whole file; a pipe or a device until its end. Throws InputError when it cannot be read, or has more than `most`
/// bytes.
std::string read_file(const std::string& file, std::uint64_t most = most_bytes);

/// The same of a file that this program is about to write again.
std::string read_output(const std::string& file, std::uint64_t most = most_bytes);

/// Whether read_file() has read the file of that name, and inputs are protected.
bool was_read(const std::string& file);

/// Whether write_file() refuses files that were read: right for a program that reads and then writes, as ours does from
/// its start. Not so from the start of a library: files come and go meanwhile, and a new one may be known by what an
/// old one was known by.
void protect_inputs(bool on);

/// Writes the whole text, or leaves what was there: a temporary beside it is renamed over it. A symbolic link stays
/// one, and what it names is written; permissions stay. Devices and pipes are written as they are. Throws InputError,
/// also when the file is one that this program has read (protect_inputs()).
void write_file(const std::string& file, std::string_view text);

/// Whether there is something to read of that name that is no folder; "no" for names that no file can have.
bool is_file(const std::string& name);

/// Where writing to `file` ends: what its symbolic links name, which need not exist. Throws InputError where the system
/// does not follow them.
std::string link_target(const std::string& file);

/// What two names of one file have in common, and names of different files have not; of a file that is not there its
/// folder's identity counts. "" where not even the folder is there.
std::string file_identity(const std::string& file);

/// Notes that a file is being read, for write_file() and ReadDigest. read_file() does so itself.
void note_read(int descriptor, std::string_view contents);

/// Files that were found and read, and whether the same would be found and read again.
class Sources {
 public:
  /// Goes by where names are found, and by identity, size and times of files.
  bool unchanged() const;

 private:
  friend class ReadDigest;
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

/// What this thread reads with read_file() while this lives, as one number, and where it stood. Not to be nested.
class ReadDigest {
 public:
  ReadDigest();
  ~ReadDigest();
  ReadDigest(const ReadDigest&) = delete;
  ReadDigest& operator=(const ReadDigest&) = delete;

  std::uint64_t value() const { return value_; }
  const Sources& sources() const { return sources_; }

  // What reading calls.
  void add(std::string_view contents);
  void add_file(const std::string& file, std::string facts);
  void add_located(std::string_view folder, const std::string& name, const std::string& file);

 private:
  std::uint64_t value_ = 0;
  Sources sources_;
};

/// Files that stand in memory alone, for this thread and while this lives: texts that a caller of the library hands
/// over, and what is written for it. A name that was added is that file and no other, wherever a file may be named.
/// Of several the last one made counts.
class MemoryFiles {
 public:
  MemoryFiles();
  ~MemoryFiles();
  MemoryFiles(const MemoryFiles&) = delete;
  MemoryFiles& operator=(const MemoryFiles&) = delete;

  void add(const std::string& name, std::string text) { texts_[name] = std::move(text); }

  /// What was added or written last. REQUIRES: the name was added.
  std::string& text(const std::string& name) { return texts_.at(name); }

 private:
  friend std::string* memory_file(const std::string& name);
  std::map<std::string, std::string> texts_;
  MemoryFiles* before_;
};

/// Another folder of data, after that of the installation: where a library's program is not the one that was installed.
void add_data_home(const std::string& folder);

/// The path of `name`: as it stands when it is a file, else `name` or `name`.json in `folder` ("traces",
/// "topologies", "models", "configs") of the working directory, of $ALLREPLAY_HOME, of the installation or of the
/// source tree, in that order.
std::optional<std::string> locate_data(std::string_view folder, const std::string& name);

/// The same; throws InputError naming the nearest known name when there is none. `noun` says what was looked for.
std::string find_data(std::string_view folder, const std::string& name, std::string_view noun);

/// The names (without .json) of all that `find_data` would find in `folder`, sorted; without those that are no line of
/// text.
std::vector<std::string> list_data(std::string_view folder);

}  // namespace allreplay
