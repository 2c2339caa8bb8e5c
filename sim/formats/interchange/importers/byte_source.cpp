#include "sim/formats/interchange/importers/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <unistd.h>
#include <utility>
#include <zlib.h>

#include <fmt/format.h>

#include "sim/base/core/descriptor.hpp"
#include "sim/base/core/file.hpp"

namespace allreplay {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 16;

}  // namespace

// Reads a file, decompressed if it is gzip.
struct ByteSource::Stream {
  Stream(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)), raw_(piece_bytes, '\0') {
    refill();
    is_gzip_ = state_.avail_in >= 2 && raw_[0] == '\x1f' && raw_[1] == '\x8b';
    constexpr int gzip_only = 16;
    if (is_gzip_ && inflateInit2(&state_, gzip_only + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (is_gzip_) inflateEnd(&state_);
  }

  // Reads the next bytes into `piece`; it is empty at the end.
  void read(std::string& piece) {
    piece.resize(piece_bytes);
    piece.resize(is_gzip_ ? decompress(piece) : copy(piece));
  }

 private:
  [[noreturn]] void fail(const std::string& wrong, std::string_view right) const {
    throw InputError({name_, ""}, wrong, right);
  }

  // Fills the buffer from the file. Returns false at its end.
  bool refill() {
    std::size_t length = 0;
    while (length < raw_.size()) {
      const ssize_t got = ::read(descriptor_.number(), raw_.data() + length, raw_.size() - length);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)), "check the file");
      if (got == 0) break;
      length += static_cast<std::size_t>(got);
    }
    state_.next_in = reinterpret_cast<Bytef*>(raw_.data());
    state_.avail_in = static_cast<uInt>(length);
    return length > 0;
  }

  std::size_t copy(std::string& piece) {
    if (state_.avail_in == 0) refill();
    const std::size_t length = std::exchange(state_.avail_in, 0);
    std::copy_n(raw_.data(), length, piece.data());
    return length;
  }

  std::size_t decompress(std::string& piece) {
    state_.next_out = reinterpret_cast<Bytef*>(piece.data());
    state_.avail_out = static_cast<uInt>(piece.size());
    while (state_.avail_out > 0) {
      if (state_.avail_in == 0 && !refill()) {
        if (!between_members_) fail("the gzip file ends too early: it was cut off", "fetch or write it again");
        break;
      }
      if (between_members_ && !enter_member()) continue;
      const int code = inflate(&state_, Z_NO_FLUSH);
      between_members_ = code == Z_STREAM_END;
      if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END)
        fail(fmt::format("the gzip file is damaged: {}", state_.msg ? state_.msg : zError(code)),
             "fetch or write it again");
    }
    return piece.size() - state_.avail_out;
  }

  // Skips zeros, which pad gzip members, and enters the next member. Returns false if there is no more in the buffer.
  bool enter_member() {
    for (; state_.avail_in > 0 && *state_.next_in == 0; ++state_.next_in) --state_.avail_in;
    if (state_.avail_in == 0) return false;
    if (*state_.next_in != 0x1f) fail("has other bytes after its gzip data", "fetch or write it again");
    inflateReset(&state_);
    between_members_ = false;
    return true;
  }

  Descriptor descriptor_;
  std::string name_;
  std::string raw_;
  z_stream state_{};
  bool is_gzip_ = false, between_members_ = false;
};

ByteSource::ByteSource(const Files& files, const std::string& file) : file_(file) {
  std::error_code impossible;
  if (std::filesystem::is_directory(file, impossible)) throw InputError({file, ""}, "is a folder", "name a file");
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw InputError({file, ""}, fmt::format("cannot be read: {}", std::strerror(errno)), "check the path");
  files.note_read(descriptor);
  stream_ = std::make_unique<Stream>(descriptor, file);
  fill();
}

ByteSource::ByteSource(const std::string& file, std::string text) : file_(file), piece_(std::move(text)) {}

ByteSource::~ByteSource() = default;

void ByteSource::fill() {
  piece_.clear();
  if (stream_) stream_->read(piece_);
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
      throw InputError({file_, ""}, fmt::format("has more than {} bytes", most), "a file of the recognised format");
  }
  return text;
}

}  // namespace allreplay
