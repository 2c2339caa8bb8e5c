// A DNN with times: the computation of one worker in one iteration, and the gradients that it produces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/collective_op.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

using LayerId = std::uint32_t;   ///< from 0 at the input; the papers' layer l is LayerId l − 1
using TensorId = std::uint32_t;  ///< from 0 at the input, in forward order

/// A collective inside a layer, after its computation, for tensor, context or expert parallelism.
struct LayerCollective {
  enum class Among : std::uint8_t { Tensor, Context, Expert };
  CollectiveOp op = CollectiveOp::AllReduce;  ///< one of those with OperationRow::in_layers
  Among group = Among::Tensor;
  Bytes bytes = 0;  ///< of the whole tensor; for an all-to-all, a worker's input
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
  std::string group = {};  ///< layers that sharding gathers together have the same group; "" if not given
  std::optional<Bytes> activation_bytes = {};  ///< kept between forward and backward pass, for the mini-batch
  std::optional<Time> backward_weight = {};    ///< the part of `backward` that computes gradients of weights
  std::optional<Bytes> output_bytes = {};      ///< its output, for the mini-batch
  std::vector<LayerCollective> collectives = {};
  bool expert = false;  ///< its tensors belong to experts, of which the worker holds 1/ep
  bool frozen = false;  ///< its tensors are not trained: they have no gradients, and no optimizer updates them
  /// The parts of `forward` and `backward` in which the GPU waits for the host (with_host_floors()).
  Time forward_wait{0}, backward_wait{0};
};

/// The times that a host needs, however fast its GPU is: to launch the kernels of a block, and for its own part of a
/// step (data, gradient clipping, the optimizer's loop, logging).
struct HostFloors {
  Time block_forward{0}, block_backward{0};
  Time step{0};
  bool of_blocks() const { return block_forward > Time(0) || block_backward > Time(0); }
  bool any() const { return of_blocks() || step > Time(0); }
};

/// One parameter tensor. Unless its layer is frozen, the backward pass of the layer produces its gradient.
struct Tensor {
  std::string name;
  std::int64_t elements = 0;
  Bytes bytes = 0;  ///< of its gradient, or what that would have if it is frozen
  LayerId layer = 0;
  std::vector<std::int64_t> shape = {};  ///< `elements` is its product; empty if not known
  std::int64_t fused = 1;                ///< number of equal matrices that it consists of
  std::optional<Time> muon = {};         ///< Muon's update of all of them
};

/// The tensor's shape; if not known, one dimension with all elements.
std::vector<std::int64_t> shape_of(const Tensor& tensor);

/// The origin of the times. Reconstructed ones were distributed over the layers, by a model, from a published total;
/// estimated ones come from a model, or from another profile rescaled by one. Every output that used either says so.
enum class Origin : std::uint8_t { Measured, Imported, Reconstructed, Estimated };
inline constexpr Word<Origin> origins[] = {{Origin::Measured, "measured"},
                                           {Origin::Imported, "imported"},
                                           {Origin::Reconstructed, "reconstructed"},
                                           {Origin::Estimated, "estimated"}};
inline std::string to_string(Origin origin) { return std::string(name_of(origins, origin)); }

/// A number format of gradients.
struct Precision {
  std::string_view name;
  Bytes bytes;  ///< of a gradient element on the network; mixed precision sends two (MG-WFBP, section 5.3)
};
// In fp8 and fp4 only the products of blocks are computed: gradients stay in bf16.
inline constexpr Precision precisions[] = {{"fp32", 4}, {"tf32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 2}, {"fp4", 2}};

/// The degrees of parallelism at which a profile was taken; its times are those of one worker of such groups.
struct ProfileDegrees {
  std::int64_t tp = 1, cp = 1;
  std::optional<std::int64_t> ep;  ///< none: not stated
  bool operator==(const ProfileDegrees&) const = default;
};

struct Profile {
  std::string name;  ///< the profile's file name without extension
  std::string model;
  std::string device;
  std::string framework;
  std::string precision;
  std::string source;
  Origin origin = Origin::Imported;
  std::optional<std::int64_t> batch_size;         ///< samples per worker and iteration
  std::optional<Time> update;                     ///< the optimizer's step of a worker that has all parameters
  std::optional<std::int64_t> tokens_per_sample;  ///< none if samples are not tokens, or not known
  std::optional<double> flops_per_sample;         ///< of the model, forward and backward, without recomputation
  std::string recompute;        ///< "full" or "selective" activation recomputation; "": none, or not known
  Bytes parameter_bytes = 0;    ///< of a parameter on the network; 0: as a gradient
  std::vector<Layer> layers;    ///< forward order
  std::vector<Tensor> tensors;  ///< forward order, by non-decreasing layer
  std::optional<std::pair<TensorId, TensorId>> tied;  ///< one parameter: its gradients add up, also across ranks
  std::optional<ProfileDegrees> degrees;              ///< of the profiled run; none: 1
  HostFloors host;                                    ///< layers' times are the GPU's until with_host_floors()

  Time forward() const;                       ///< t_f: the sum over the layers
  Time backward() const;                      ///< t_b
  Bytes bytes() const;                        ///< of all gradients
  std::int64_t elements() const;              ///< of all gradients
  std::int64_t elements_with_frozen() const;  ///< of all parameters
  double parameter_share() const;             ///< bytes of a parameter per byte of its gradient
  Time waiting() const;          ///< of the GPU for the host, forward and backward; 0 before with_host_floors()
  bool has_activations() const;  ///< true if any layer has activation_bytes
  bool has_experts() const;      ///< true if any tensor belongs to experts
  bool is_expert(TensorId tensor) const { return layers[tensors[tensor].layer].expert; }
  bool has_frozen() const;  ///< true if any tensor is frozen
  bool is_frozen(TensorId tensor) const { return layers[tensors[tensor].layer].frozen; }
  std::vector<bool> has_gradients() const;  ///< by layer: true if it has tensors that are not frozen
  /// False if all tensors of these layers are frozen and their backward passes take no time, since no layer up to them
  /// is trained.
  bool needs_backward(LayerId first, LayerId last) const;

  /// The time W of each layer: as given, else half of its backward pass if it has gradients, else 0. Its wait for the
  /// host is part of it.
  std::vector<Time> weight_times() const;
};

/// The bytes of a gradient element in a precision; nothing for unknown names.
std::optional<Bytes> element_bytes(const std::string& precision);

/// Returns the profile with other element sizes of gradients and parameters, in bytes. REQUIRES: above 0.
Profile with_element_bytes(Profile profile, std::optional<Bytes> gradient, std::optional<Bytes> parameter);

/// Multiplies the layer's output and the bytes of its collectives by `bytes`, and its backward_weight by `times`.
void scale_parallel_parts(Layer& layer, double bytes, double times);

/// Returns the profile of a worker whose GPU takes `factor` times as long for everything. Its host is as fast.
Profile slowed(const Profile& profile, double factor);

/// The parts of a layer's times that start kernels.
struct LayerStarts {
  Time forward{0}, backward{0}, weights{0};
};

/// Multiplies the layer's times by the factor, except the starts of kernels.
void scale_computing(Layer& layer, double factor, const LayerStarts& starts = {});

/// Lengthens the last layer of each block's pass if the block takes less than the host's floor. A block is a run of
/// layers of one group, or a layer without one. Applying it twice is the same as applying it once.
Profile with_host_floors(Profile profile);

/// Sets the floor of a block's forward pass; that of its backward pass keeps its ratio to it, which is 2 by default,
/// and 3 if everything is recomputed.
void set_block_floor(Profile& profile, Time forward);

/// Removes what with_host_floors() has added.
Profile without_host_floors(Profile profile);

}  // namespace allreplay
