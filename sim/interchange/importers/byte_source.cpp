#include "sim/interchange/importers/byte_source.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <zlib.h>

#include <fmt/format.h>

#include "sim/core/file.hpp"

namespace allreplay {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;

}  // namespace

struct ByteSource::Stream {
  explicit Stream(gzFile opened) : file(opened) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { gzclose(file); }

  gzFile file;
};

ByteSource::ByteSource(const Files& files, const std::string& file) : file_(file) {
  std::error_code impossible;
  if (std::filesystem::is_directory(file, impossible)) throw InputError({file, ""}, "is a folder", "name a file");
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const gzFile opened = descriptor < 0 ? nullptr : gzdopen(descriptor, "rb");
  if (!opened) throw InputError({file, ""}, fmt::format("cannot be read: {}", std::strerror(errno)), "check the path");
  files.note_read(descriptor);
  stream_ = std::make_unique<Stream>(opened);
  gzbuffer(opened, piece_bytes);
  fill();
}

ByteSource::ByteSource(const std::string& file, std::string text) : file_(file), piece_(std::move(text)) {}

ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;

void ByteSource::fill() {
  piece_.clear();
  if (!stream_) return;
  piece_.resize(piece_bytes);
  const int got = gzread(stream_->file, piece_.data(), static_cast<unsigned>(piece_bytes));
  piece_.resize(static_cast<std::size_t>(got < 0 ? 0 : got));
  if (got == static_cast<int>(piece_bytes)) return;
  int code = Z_OK;
  const char* why = gzerror(stream_->file, &code);
  if (code == Z_BUF_ERROR)
    throw InputError({file_, ""}, "the gzip file ends too early: it was cut", "fetch or write it again");
  if (code == Z_ERRNO)
    throw InputError({file_, ""}, fmt::format("cannot be read: {}", std::strerror(errno)), "check the file");
  if (code != Z_OK)
    throw InputError({file_, ""}, fmt::format("the gzip file is damaged: {}", why), "fetch or write it again");
}

std::string_view ByteSource::next() {
  if (!fresh_) fill();
  fresh_ = false;
  return piece_;
}

std::string ByteSource::rest(std::size_t most) {
  std::string text;
  for (std::string_view piece = next(); !piece.empty(); piece = next()) {
    text += piece;
    if (text.size() > most)
      throw InputError({file_, ""}, fmt::format("has more than {} bytes", most),
                       "a file of the format that it was taken for");
  }
  return text;
}

}  // namespace allreplay
