// How many parameters the layers of a Caffe net have, from the net as Caffe prints it and the shapes that it sets up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/workload/importers/text_lines.hpp"

namespace allreplay {

struct CaffeBlob {
  std::string name;  ///< LAYER.weight, LAYER.bias
  std::int64_t elements = 0;
};

using CaffeShape = std::vector<std::int64_t>;

/// The learnable blobs of every layer that has some. `lines` hold the net in protobuf's text format, `shapes` the
/// outputs of each layer in the order of its `top`s. Throws InputError with the line where the net is not understood:
/// also at a layer whose parameters cannot be counted.
std::map<std::string, std::vector<CaffeBlob>> caffe_blobs(const std::vector<TextLine>& lines,
                                                          const std::map<std::string, std::vector<CaffeShape>>& shapes,
                                                          const std::string& file);

}  // namespace allreplay
