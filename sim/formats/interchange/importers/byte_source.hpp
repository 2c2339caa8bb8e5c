// Reads a file, gzipped or not, in pieces: traces can have gigabytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"

namespace allreplay {

class Files;

class ByteSource {
 public:
  /// Opens `file`, and decompresses it if it starts with gzip's magic bytes. Throws InputError if it cannot be read.
  ByteSource(const Files& files, const std::string& file);
  /// Reads `text` as if it were in a file of this name.
  ByteSource(const std::string& file, std::string text);
  ~ByteSource();

  const std::string& file() const { return file_; }

  /// The first bytes, up to a few tens of kilobytes. REQUIRES: nothing else was read yet.
  std::string_view head() const { return piece_; }

  /// Returns the next piece, valid until the next call; empty at the end. Throws InputError if a gzip file is
  /// truncated, damaged, or followed by other data.
  std::string_view next();

  /// Returns all that was not read yet, for small files. Throws InputError above `most` bytes.
  std::string rest(std::size_t most = std::size_t{256} << 20);

 private:
  struct Stream;
  void fill();

  std::string file_;
  std::unique_ptr<Stream> stream_;  // null if a text is read
  std::string piece_;
  bool fresh_ = true;  // piece_ has not been handed out
};

}  // namespace allreplay
