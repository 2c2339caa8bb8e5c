// Costs of gradient compression: bytes on the wire, times of encoding and decoding. The codecs are in sim/compression.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/formula.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/schedule/bucket_schedule.hpp"

namespace allreplay {

/// The stream on which encoding and decoding run.
enum class CodecStream : std::uint8_t {
  Compute,  ///< on the compute stream, between the layers
  Side,     ///< on a separate stream, concurrently
};

/// The time at which a block is decoded.
enum class DecodeAt : std::uint8_t {
  Arrival,  ///< when it has arrived
  Encode,   ///< decoding time is added to encoding, as in MergeComp's h(x)
};

struct CodecOptions {
  double density = 0.001;              ///< sparse codecs: the share of elements that is sent, in (0, 1]
  std::int64_t bits = 8;               ///< qsgd: bits per element, sign included; 1 to 16
  std::int64_t rank = 4;               ///< codecs from files: the rank of low-rank factors
  std::optional<Time> encode, decode;  ///< time per block; none: the codec's
  CodecStream stream = CodecStream::Compute;
  std::optional<DecodeAt> decode_at;  ///< none: the strategy's default
};

/// A compression method.
struct Codec {
  std::string_view name;
  std::string_view summary;
  std::string_view sent;                    ///< exact description of the payload for a gradient x of n elements
  std::string_view size;                    ///< its size in bytes, as a formula
  std::array<std::string_view, 2> options;  ///< in CodecOptions, on which the size depends; "" if none
  std::string_view collective;              ///< the collective that carries it; "": the cluster's all-reduce
  bool feedback = false;  ///< error feedback: decodes its own payload to keep the error for the next iteration
  /// Returns the size of one worker's payload for this number of elements (> 0). Null: a file's
  /// formula gives it.
  Bytes (*wire_bytes)(double elements, const CodecOptions& options) = nullptr;

  bool reads(std::string_view option) const { return options[0] == option || options[1] == option; }
};

std::span<const Codec> codecs();

/// Throws InputError at `place`, naming the nearest known one.
const Codec& find_codec(std::string_view name, const SourceLocation& place);

/// True if the collective can carry the codec's payloads.
bool carries(const Algorithm& algorithm, const Codec& codec);

/// The time of one pass over x elements: base + per_element·x + per_element_log2·x·log2 x, in seconds.
struct CodecTime {
  double base = 0;
  double per_element = 0;
  double per_element_log2 = 0;  ///< for codecs that sort

  double operator()(double elements) const;
};

/// The possible origins of a codec's times; only shown to users.
struct CodecOrigin {
  std::string_view name;
};
inline constexpr CodecOrigin codec_origins[] = {{"measured"}, {"published"}, {"estimated"}};

/// A codec that a file defines, by the bytes that it sends.
struct CodecFormula {
  /// The bytes of a block if it uses only elements, rank and bits; of each tensor if it uses rows and cols, the first
  /// dimension and the product of the others (PowerSGD, arXiv 1905.13727, section 3).
  Formula bytes;
  std::string name, summary;
  Codec codec;  ///< views the texts above

  bool is_by_shape() const;
  /// Throws InputError unless the value is a size.
  double operator()(double rows, double cols, double elements, const CodecOptions& options) const;
};

/// A codec with its times on a device. Files: models/codecs/*.json.
struct CodecCosts {
  std::string name;  ///< of the file, without extension
  const Codec* codec = nullptr;
  std::string device;
  std::string_view origin;  ///< a name in codec_origins
  std::string source;
  CodecTime encode, decode;
  std::shared_ptr<const CodecFormula> formula = {};  ///< that of `codec`, if the file defines it
};

/// Throws InputError.
CodecCosts read_codec(const Json& json, const std::string& name);

/// The payloads of each tensor of a profile, if they depend on shapes. Planners, which price blocks by their
/// bytes, are given the mean over all tensors.
struct TensorPayloads {
  std::vector<double> bytes;     ///< by tensor, before rounding
  std::vector<Bytes> gradients;  ///< by tensor
  double mean = 0;               ///< bytes by byte of gradients
};

/// A codec as used by some workers.
class Compression {
 public:
  /// `payloads`: number that each worker decodes; `slowdown`: factor on the device's times; `tensors`: null unless the
  /// codec's bytes depend on shapes.
  Compression(CodecCosts costs, const CodecOptions& options, std::int64_t payloads, Bytes element_bytes,
              double slowdown = 1, std::shared_ptr<const TensorPayloads> tensors = nullptr);

  Bytes wire_bytes(Bytes gradients) const;  ///< 0 for no gradients
  /// The same of a block. A part of a tensor sends its share of the tensor's payload.
  Bytes wire_bytes(const Block& block) const;
  Time encode(Bytes gradients) const;
  Time decode(Bytes gradients) const;  ///< all payloads and, with error feedback, the worker's own

  const CodecCosts& costs() const { return costs_; }
  CodecStream stream() const { return options_.stream; }
  DecodeAt decode_at() const { return options_.decode_at.value_or(DecodeAt::Arrival); }

 private:
  double elements(Bytes gradients) const {
    return static_cast<double>(gradients) / static_cast<double>(element_bytes_);
  }

  CodecCosts costs_;
  CodecOptions options_;
  std::int64_t payloads_;
  Bytes element_bytes_;
  double slowdown_;
  std::shared_ptr<const TensorPayloads> tensors_;
};

/// The cost that planners see: the time on the network of a block whose gradients have this many bytes, compressed or
/// not. `tensors`: the number of tensors that are launched with the block.
class BlockCost {
 public:
  // Not explicit: a CommCost is a cost without compression.
  BlockCost(CommCost cost, std::optional<Compression> compression = std::nullopt,  // NOLINT(*-explicit-*)
            Time launch_of_tensor = Time(0))
      : cost_(std::move(cost)), compression_(std::move(compression)), launch_of_tensor_(launch_of_tensor) {}

  Time operator()(Bytes gradients, std::size_t tensors = 0) const {
    return add(cost_(wire(gradients)), launches(tensors));
  }
  /// The same, not rounded, in seconds.
  double seconds(Bytes gradients, std::size_t tensors = 0) const {
    return cost_.seconds(wire(gradients)) + to_seconds(launches(tensors));
  }
  /// The part during which other transfers may start up (CommCost::transfer).
  Time transfer(Bytes gradients) const { return cost_.transfer(wire(gradients)); }

  const std::optional<Compression>& compression() const { return compression_; }

 private:
  Time launches(std::size_t tensors) const { return multiplied(launch_of_tensor_, static_cast<std::int64_t>(tensors)); }
  Bytes wire(Bytes gradients) const { return compression_ ? compression_->wire_bytes(gradients) : gradients; }

  CommCost cost_;
  std::optional<Compression> compression_;
  Time launch_of_tensor_;
};

}  // namespace allreplay
