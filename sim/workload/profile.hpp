// A DNN with measured times: what one worker computes in one iteration, and the gradients that this makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/collective_op.hpp"
#include "sim/core/named.hpp"
#include "sim/core/time.hpp"
#include "sim/core/units.hpp"

namespace allreplay {

using LayerId = std::uint32_t;   ///< from 0 at the input; the papers' layer l is LayerId l − 1
using TensorId = std::uint32_t;  ///< from 0 at the input, in forward order

/// A collective inside a layer, behind its computing: of tensor, context or expert parallelism.
struct LayerCollective {
  enum class Among : std::uint8_t { Tensor, Context, Expert };
  CollectiveOp op = CollectiveOp::AllReduce;  ///< OperationRow::in_layers
  Among group = Among::Tensor;
  Bytes bytes = 0;  ///< the whole; of an all-to-all what a worker holds before it
  bool backward = false;
  bool operator==(const LayerCollective&) const = default;
};

inline constexpr Word<LayerCollective::Among> layer_collective_groups[] = {{LayerCollective::Among::Tensor, "tp"},
                                                                           {LayerCollective::Among::Context, "cp"},
                                                                           {LayerCollective::Among::Expert, "ep"}};
inline constexpr Word<bool> layer_collective_passes[] = {{false, "forward"}, {true, "backward"}};

struct Layer {
  std::string name;
  Time forward{0};
  Time backward{0};
  std::string group = {};  ///< the unit that sharding gathers it with; "" where the profile says none
  std::optional<Bytes> activation_bytes = {};  ///< kept from its forward to its backward pass, of the whole mini-batch
  std::optional<Time> backward_weight = {};    ///< of `backward`: what makes the gradients of weights
  std::optional<Bytes> output_bytes = {};      ///< what it hands on, of the whole mini-batch
  std::vector<LayerCollective> collectives = {};
};

/// One gradient. Its layer's backward task makes it.
struct Tensor {
  std::string name;
  std::int64_t elements = 0;
  Bytes bytes = 0;
  LayerId layer = 0;
  std::vector<std::int64_t> shape = {};  ///< whose product `elements` is; empty where nobody said
};

/// Its shape; of one that nobody said, a row of all its elements.
std::vector<std::int64_t> shape_of(const Tensor& tensor);

/// Where the times come from. Reconstructed ones were spread over the layers from a published total by a model;
/// estimated ones are a model's alone, or another profile's carried elsewhere by one. Every output that used either
/// says so.
enum class Origin : std::uint8_t { Measured, Imported, Reconstructed, Estimated };
inline constexpr Word<Origin> origins[] = {{Origin::Measured, "measured"},
                                           {Origin::Imported, "imported"},
                                           {Origin::Reconstructed, "reconstructed"},
                                           {Origin::Estimated, "estimated"}};
inline std::string to_string(Origin origin) { return std::string(name_of(origins, origin)); }

/// How the numbers of gradients are held.
struct Precision {
  std::string_view name;
  Bytes bytes;  ///< of one element; mixed precision in fp16 or bf16 communicates two (MG-WFBP, section 5.3)
};
inline constexpr Precision precisions[] = {{"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}};

struct Profile {
  std::string name;  ///< of the profile: its file's name without extension
  std::string model;
  std::string device;
  std::string framework;
  std::string precision;
  std::string source;
  Origin origin = Origin::Imported;
  std::optional<std::int64_t> batch_size;         ///< samples per worker and iteration
  std::optional<Time> update;                     ///< the optimizer's step of one worker that holds everything
  std::optional<std::int64_t> tokens_per_sample;  ///< none where samples are not tokens, or nobody said
  std::optional<double> flops_per_sample;         ///< of the model, forward and backward, whatever is computed again
  std::string recompute;  ///< "full", "selective": backward passes compute forward passes again; "": not, or unknown
  Bytes parameter_bytes = 0;                          ///< of a parameter, where they travel; 0: as a gradient
  std::vector<Layer> layers;                          ///< forward order
  std::vector<Tensor> tensors;                        ///< forward order; layers never decrease
  std::optional<std::pair<TensorId, TensorId>> tied;  ///< two whose gradients are one where their layers are apart
  std::optional<std::pair<std::int64_t, std::int64_t>> tensor_and_context;  ///< degrees at which it was taken; none: 1

  Time forward() const;   ///< t_f: the sum over the layers
  Time backward() const;  ///< t_b
  Bytes bytes() const;    ///< of all gradients
  std::int64_t elements() const;
  double parameter_share() const;  ///< bytes of a parameter per byte of its gradient
  bool has_activations() const;    ///< what passes keep, of any layer

  /// W of a layer: what the profile says, else half of its backward pass where it has tensors.
  std::vector<Time> weight_times() const;
};

/// Bytes of one gradient element in one of the precisions; nothing for other names.
std::optional<Bytes> element_bytes(const std::string& precision);

/// The same profile with other numbers of bytes to an element. REQUIRES: above 0.
Profile with_element_bytes(Profile profile, std::optional<Bytes> gradient, std::optional<Bytes> parameter);

/// What a layer hands on and sends inside, and the weights' part of its backward pass, `bytes` and `times` times as
/// much.
void scale_parallel_parts(Layer& layer, double bytes, double times);

/// The same profile on a worker that takes `factor` times as long for everything.
Profile slowed(const Profile& profile, double factor);

}  // namespace allreplay
