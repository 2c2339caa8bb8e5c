// A model as work: what each layer computes and moves for one sample. Transformers are built (transformer.hpp), other
// models read from models/ (from_model()). The roofline (roofline.hpp) puts times to it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/named.hpp"
#include "sim/workload/model.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

inline constexpr double fp32_bytes = 4;

/// rows × inputs times inputs × outputs; the rows of all samples of a mini-batch are one product.
struct Product {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  double input_elements = 0;   ///< read for one sample: rows × inputs, less where a convolution's windows overlap
  bool input_gradient = true;  ///< false in the first layer
};

/// Fused attention, which never writes the scores: FlashAttention, or the memory-efficient kernel.
struct Attention {
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_size = 0;
  bool causal = false;       ///< half of the pairs of tokens are computed
  std::int64_t workers = 1;  ///< that share the queries of a sample, and with them the pairs, evenly
};

/// A kernel that computes little: elements that it reads and writes.
struct Pass {
  double forward = 0, backward = 0;
  double backward_once = 0;  ///< whatever the batch: the dense gradient of an embedding
  double macs = 0;           ///< off the tensor cores: depthwise convolutions
  bool weights = false;      ///< backward makes gradients of weights alone
};

/// A kernel of which counts are all that is known: it computes at the peak, without tiles. plain_computation() makes
/// them.
struct PlainKernel {
  bool backward = false;
  double macs = 0, elements = 0;  ///< of one sample
  double once = 0;                ///< elements, whatever the batch: weights
  int times = 1;                  ///< one after another
};

using Operator = std::variant<Product, Attention, Pass, PlainKernel>;

/// What a layer keeps from its forward to its backward pass, for one sample.
struct Kept {
  double elements = 0;  ///< in the precision of the computation
  double bytes = 0;     ///< whatever the precision: statistics, masks, indices, losses
};

/// A collective behind a layer's computing, of one sample.
struct GroupCollective {
  CollectiveOp op = CollectiveOp::AllReduce;
  LayerCollective::Among group = LayerCollective::Among::Tensor;
  bool backward = false;
  double elements = 0;    ///< in the precision of the computation
  double bytes = 0;       ///< whatever the precision
  bool of_input = false;  ///< gathers what a product reads: again where that is computed again
};

struct ComputationLayer {
  ModelLayer model;  ///< name, tensors, MACs and output of one sample
  std::string group;
  std::int64_t block = -1;  ///< which of the repeated blocks it belongs to; −1: none
  std::vector<Operator> operators;
  Kept kept, kept_selective;  ///< without recomputation, and with the selective one
  std::vector<GroupCollective> collectives;
  double handed_on = 0;  ///< elements, of one sample, where a unit ends and others follow; else 0
};

/// What updates the parameters. Unfused, Adam's loops over them are kernels of their own (PyTorch's until 2022).
enum class Optimizer : std::uint8_t { Adam, AdamUnfused, Sgd };
inline constexpr Word<Optimizer> optimizers[] = {
    {Optimizer::Adam, "adam"}, {Optimizer::AdamUnfused, "adam-unfused"}, {Optimizer::Sgd, "sgd"}};

struct Computation {
  std::string name, description, source;
  std::int64_t tokens = 0;  ///< of one sample; 0 where samples have none
  std::string input;        ///< "1024 tokens", "3x224x224"
  std::vector<ComputationLayer> layers;
  double model_flops = 0;  ///< of one sample, forward and backward, without recomputation
  double block_input = 0;  ///< elements that a block reads of one sample: all that full recomputation keeps of it
  Optimizer optimizer = Optimizer::Adam;
  std::int64_t tp = 1, cp = 1;  ///< of such a group it is one worker's part; `tokens` and `model_flops` are the whole's

  std::int64_t parameters() const;
  Model model() const;
};

/// The computation that a file of models/ describes. `name` is the place in messages. `tokens` other than 0 replaces
/// the length of its samples where these are tokens. Throws InputError where the file gives no MACs.
Computation from_model(const Model& model, const SourceLocation& place, std::int64_t tokens = 0);

/// The same model as kernels that each compute its MACs or pass over its bytes, and no more: what reconstructed
/// profiles are split by (docs/estimation.md).
Computation plain_computation(const Model& model, const SourceLocation& place);

/// How many tokens a sample has, by the text "1024 tokens"; 0 for other texts.
std::int64_t tokens_of(const std::string& input);

}  // namespace allreplay
