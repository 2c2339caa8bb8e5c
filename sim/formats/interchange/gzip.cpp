#include "sim/formats/interchange/gzip.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <zlib.h>

namespace allreplay {

bool is_gzip_name(std::string_view file) { return file.ends_with(".gz"); }

std::string gzipped(std::string_view text) {
  constexpr int as_gzip = 16, memory = 8;
  z_stream state{};
  if (deflateInit2(&state, Z_DEFAULT_COMPRESSION, Z_DEFLATED, as_gzip + MAX_WBITS, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string result;
  std::string piece(std::size_t{1} << 16, '\0');
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (state.avail_in == 0) {
      const std::size_t next = std::min<std::size_t>(text.size(), std::numeric_limits<uInt>::max());
      state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
      state.avail_in = static_cast<uInt>(next);
      text.remove_prefix(next);
    }
    state.next_out = reinterpret_cast<Bytef*>(piece.data());
    state.avail_out = static_cast<uInt>(piece.size());
    code = deflate(&state, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    result.append(piece, 0, piece.size() - state.avail_out);
  }
  deflateEnd(&state);
  return result;
}

}  // namespace allreplay
