// A model's work per sample: what each layer computes and moves. Transformers are built by transformer.hpp, other
// models read from models/ (from_model()). The roofline (roofline.hpp) turns the work into times.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/core/named.hpp"
#include "sim/inputs/workload/model.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

inline constexpr double fp32_bytes = 4;

/// A product of a rows × inputs and an inputs × outputs matrix; the samples of a mini-batch add up their rows.
struct Product {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  double input_elements = 0;   ///< read per sample: rows × inputs, or less if a convolution's windows overlap
  bool input_gradient = true;  ///< false in the first layer
  bool never_narrow = false;   ///< in bf16 also if the products of blocks are in fp8 or fp4: a router
};

/// The same product for each of several experts, in one kernel; the rows are those of all of them.
struct GroupedProduct {
  double rows = 0;
  std::int64_t inputs = 0, outputs = 0, groups = 1;
};

/// Fused attention, which never writes the scores: FlashAttention, or the memory-efficient kernel.
struct Attention {
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_size = 0;
  bool causal = false;          ///< only half of the pairs of tokens are computed
  std::int64_t workers = 1;     ///< workers that share a sample's queries, and so its pairs, evenly
  std::int64_t value_size = 0;  ///< head size of the values; head_size is that of queries and keys
};

/// A kernel that computes little, described by the elements that it reads and writes.
struct Pass {
  double forward = 0, backward = 0;
  double backward_once = 0;  ///< for any batch size: the dense gradient of an embedding
  double macs = 0;           ///< not on tensor cores: depthwise convolutions
  bool weights = false;      ///< backward computes only gradients of weights
};

/// A kernel of which only counts are known, made by plain_computation(): it computes at the peak rate, without tiles.
struct PlainKernel {
  bool backward = false;
  double macs = 0, elements = 0;  ///< of one sample
  double once = 0;                ///< elements for any batch size: weights
  int times = 1;                  ///< one after another
};

using Operator = std::variant<Product, GroupedProduct, Attention, Pass, PlainKernel>;

/// The memory that a layer keeps from its forward to its backward pass, for one sample.
struct Kept {
  double elements = 0;  ///< in the precision of the computation
  double bytes = 0;     ///< in any precision: statistics, masks, indices, losses
};

/// A collective after a layer's computation, for one sample.
struct GroupCollective {
  CollectiveOp op = CollectiveOp::AllReduce;
  LayerCollective::Among group = LayerCollective::Among::Tensor;
  bool backward = false;
  double elements = 0;    ///< in the precision of the computation
  double bytes = 0;       ///< in any precision
  bool of_input = false;  ///< gathers the input of a product, and again if that is recomputed
};

struct ComputationLayer {
  ModelLayer model;  ///< name, tensors, and MACs and output per sample
  std::string group;
  std::int64_t block = -1;  ///< the repeated block that it belongs to; −1: none
  std::vector<Operator> operators;
  Kept kept, kept_selective;  ///< without and with selective recomputation
  std::vector<GroupCollective> collectives;
  bool expert = false;    ///< its tensors are those of experts
  bool frozen = false;    ///< it has no tensors that are trained
  bool passes_on = true;  ///< its backward pass computes the gradient of its input
  double kept_input = 0;  ///< the part of kept.elements that only gradients of weights need
  double handed_on = 0;   ///< elements per sample, if the layer is the last of a unit and others follow; else 0

  bool has_backward() const { return !frozen || passes_on; }
};

/// The optimizer. Unfused Adam runs its loops over the parameters as separate kernels (PyTorch's until 2022). Muon's
/// update is Adam's, of all parameters, and in addition Newton-Schulz of the matrices of blocks.
enum class Optimizer : std::uint8_t { Adam, AdamUnfused, Sgd, Muon };
inline constexpr Word<Optimizer> optimizers[] = {{Optimizer::Adam, "adam"},
                                                 {Optimizer::AdamUnfused, "adam-unfused"},
                                                 {Optimizer::Sgd, "sgd"},
                                                 {Optimizer::Muon, "muon"}};

struct Computation {
  std::string name, description, source;
  std::int64_t tokens = 0;  ///< of one sample; 0 if samples are not tokens
  std::string input;        ///< "1024 tokens", "3x224x224"
  std::vector<ComputationLayer> layers;
  double model_flops = 0;  ///< of one sample, forward and backward, without recomputation
  double block_input = 0;  ///< elements per sample that a block reads: all that full recomputation keeps of it
  Optimizer optimizer = Optimizer::Adam;
  /// Degrees; the layers are one worker's part, all else is the whole's.
  std::int64_t tp = 1, cp = 1, ep = 1;
  std::int64_t model_parameters = 0;   ///< of the whole model; 0 if not known
  std::int64_t active_parameters = 0;  ///< of these, the ones that a token meets: fewer in a mixture of experts

  bool has_experts() const;
  std::int64_t parameters() const;
  std::int64_t trained_parameters() const;  ///< those that are not frozen
  Model model() const;
};

/// The computation of a model from models/. `place` is for errors. `tokens`, if not 0, replaces the length of its
/// samples. Throws InputError if a layer lacks MACs or activations, or if samples are not tokens.
Computation from_model(const Model& model, const SourceLocation& place, std::int64_t tokens = 0);

/// The same model as kernels that only compute their MACs or pass over their bytes: the weights by which reconstructed
/// profiles are split (docs/estimation.md).
Computation plain_computation(const Model& model, const SourceLocation& place);

/// The number of tokens of a sample, from the text "1024 tokens"; 0 for other texts.
std::int64_t tokens_of(const std::string& input);

}  // namespace allreplay
