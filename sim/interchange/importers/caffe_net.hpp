// How many parameters the layers of a Caffe net have, from the net as Caffe logs it: its definition, and the blobs and
// shapes that it sets up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/interchange/importers/text_lines.hpp"

namespace allreplay {

using CaffeShape = std::vector<std::int64_t>;

/// What the log says when it sets up a layer.
struct CaffeSetup {
  std::string name;
  std::vector<std::string> bottoms, tops;  ///< blobs
  std::vector<CaffeShape> shapes;          ///< of the tops
};

struct CaffeBlob {
  std::string name;  ///< LAYER.weight, LAYER.bias
  std::int64_t elements = 0;
};

struct CaffeNet {
  std::map<std::string, std::vector<CaffeBlob>> blobs;  ///< the learnable ones of every layer that has some
  std::vector<std::string> guessed;                     ///< what was assumed of layers without a definition
};

/// `definition` holds the net in protobuf's text format. glog cuts messages at 30,000 bytes, and so the definition of a
/// deep net: a layer that comes later is taken to be what the last defined one is with the same last part of the name
/// ("3x3" of "inception_5b/3x3"); else fully connected if it makes two-dimensional data of other data, and without
/// parameters if it works in place, joins or splits blobs, or is called a pool. Throws InputError with the line where
/// this is not enough, and at a layer whose parameters cannot be counted.
CaffeNet caffe_net(const std::vector<TextLine>& definition, const std::vector<CaffeSetup>& layers,
                   const std::string& file);

}  // namespace allreplay
