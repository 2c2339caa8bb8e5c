// Gradient compression as its cost: what a block's bytes become on the wire, and what encoding and decoding take.
// What each codec does to the numbers themselves: sim/compression.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/collective/algorithm.hpp"
#include "sim/collective/comm_cost.hpp"
#include "sim/core/error.hpp"
#include "sim/core/json.hpp"
#include "sim/core/named.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

/// Where encoding and decoding run.
enum class CodecStream : std::uint8_t {
  Compute,  ///< on the compute stream, between the layers
  Side,     ///< on a stream of their own, beside it
};

/// When a block is decoded.
enum class DecodeAt : std::uint8_t {
  Arrival,  ///< once it has arrived
  Encode,   ///< its time is lumped with the encoding, as MergeComp's h(x) has it
};

struct CodecOptions {
  double density = 0.001;              ///< sparse codecs: the share of the elements that is sent; in (0, 1]
  std::int64_t bits = 8;               ///< qsgd: per element, the sign among them; 1 to 16
  std::optional<Time> encode, decode;  ///< per block, instead of the codec's own
  CodecStream stream = CodecStream::Compute;
  std::optional<DecodeAt> decode_at;  ///< the strategy's own if not given
};

/// A method of compression.
struct Codec {
  std::string_view name;
  std::string_view summary;
  std::string_view sent;        ///< of a gradient x of n elements, to the letter
  std::string_view size;        ///< the bytes of that, as a formula
  std::string_view option;      ///< the one of CodecOptions that its bytes depend on; "" if none
  std::string_view collective;  ///< what carries it; "": the all-reduce of the cluster
  bool feedback = false;        ///< keeps what was lost for the next iteration: decodes its own payload, too
  /// Of one worker's payload, for so many elements (> 0).
  Bytes (*wire_bytes)(double elements, const CodecOptions& options) = nullptr;
};

std::span<const Codec> codecs();

/// Throws InputError at `place`, naming the nearest known one.
const Codec& find_codec(std::string_view name, const SourceLocation& place);

/// Whether an all-reduce, a gathering of payloads or a tree of selections can carry this codec's payload.
bool carries(const Algorithm& algorithm, const Codec& codec);

/// The time of one pass over x elements: base + per_element·x + per_element_log2·x·log2 x, in seconds.
struct CodecTime {
  double base = 0;
  double per_element = 0;
  double per_element_log2 = 0;  ///< of a selection by sorting

  double operator()(double elements) const;
};

/// Where a codec's times may come from. Nothing depends on it, but what people are told.
struct CodecOrigin {
  std::string_view name;
};
inline constexpr CodecOrigin codec_origins[] = {{"measured"}, {"published"}, {"estimated"}};

/// A codec with what it costs on some device. Files: models/codecs/*.json.
struct CodecCosts {
  std::string name;  ///< of the file, without extension
  const Codec* codec = nullptr;
  std::string device;
  std::string_view origin;  ///< a name in codec_origins
  std::string source;
  CodecTime encode, decode;
};

/// Throws InputError.
CodecCosts read_codec(const Json& json, const std::string& name);

/// A codec at work among some workers.
class Compression {
 public:
  /// `payloads`: how many of them each worker decodes; `slowdown`: of the device.
  Compression(CodecCosts costs, const CodecOptions& options, std::int64_t payloads, Bytes element_bytes,
              double slowdown = 1);

  Bytes wire_bytes(Bytes gradients) const;  ///< 0 for none
  Time encode(Bytes gradients) const;
  Time decode(Bytes gradients) const;  ///< of all payloads, and of its own for the error feedback

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
};

/// What planners see: the time of a block of so many bytes of gradients on the network, compressed or not. `tensors`:
/// so many are first launched with it.
class BlockCost {
 public:
  // A cost alone is a price without compression.
  BlockCost(CommCost cost, std::optional<Compression> compression = std::nullopt,  // NOLINT(*-explicit-*)
            Time launch_of_tensor = Time(0))
      : cost_(std::move(cost)), compression_(std::move(compression)), launch_of_tensor_(launch_of_tensor) {}

  Time operator()(Bytes gradients, std::size_t tensors = 0) const {
    return add(cost_(wire(gradients)), launches(tensors));
  }
  /// The same unrounded, in seconds.
  double seconds(Bytes gradients, std::size_t tensors = 0) const {
    return cost_.seconds(wire(gradients)) + to_seconds(launches(tensors));
  }
  /// What of it passes while others may start up, too (CommCost::transfer).
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
