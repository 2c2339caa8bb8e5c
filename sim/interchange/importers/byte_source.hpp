// The bytes of a file to import, gzipped or not, piece by piece: traces can have gigabytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/core/error.hpp"

namespace allreplay {

class Files;

class ByteSource {
 public:
  /// Opens `file`; what starts with gzip's magic bytes is decompressed. Throws InputError when it cannot be read.
  ByteSource(const Files& files, const std::string& file);
  /// The text itself, as if a file of this name held it.
  ByteSource(const std::string& file, std::string text);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;

  const std::string& file() const { return file_; }

  /// The first bytes, up to a few tens of kilobytes. Only before anything else is read.
  std::string_view head() const { return piece_; }

  /// The next piece; empty at the end. Valid until the next call. Throws InputError at a gzip file that is cut or
  /// damaged, or followed by what is none of it.
  std::string_view next();

  /// All that has not been read, for formats whose files are small. Throws InputError beyond `most` bytes.
  std::string rest(std::size_t most = std::size_t{256} << 20);

 private:
  struct Stream;
  void fill();

  std::string file_;
  std::unique_ptr<Stream> stream_;  // none behind a text
  std::string piece_;
  bool fresh_ = true;  // piece_ has not been handed out
};

}  // namespace allreplay
