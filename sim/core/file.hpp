// Files: whole texts in, whole texts out, which of them are the same, and where the shipped data stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

/// Where writing to `file` ends: what its symbolic links name, which need not exist.
std::string link_target(const std::string& file);

/// What two names of one file have in common, and names of different files have not; of a file that is not there its
/// folder's identity counts. "" where not even the folder is there.
std::string file_identity(const std::string& file);

/// Notes that a file is being read, for write_file() and ReadDigest. read_file() does so itself.
void note_read(int descriptor, std::string_view contents);

/// What this thread reads with read_file() while this lives, as one number. Not to be nested.
class ReadDigest {
 public:
  ReadDigest();
  ~ReadDigest();
  ReadDigest(const ReadDigest&) = delete;
  ReadDigest& operator=(const ReadDigest&) = delete;

  std::uint64_t value() const { return value_; }

 private:
  friend void note_read(int descriptor, std::string_view contents);
  std::uint64_t value_ = 0;
};

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
