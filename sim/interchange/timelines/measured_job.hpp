// The ops of every worker of a running job, read from files. sim/diagnosis analyses them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/named.hpp"
#include "sim/core/time.hpp"

namespace allreplay {

enum class OpKind : std::uint8_t {
  ForwardCompute,
  BackwardCompute,
  Gc,
  Optimizer,
  ForwardSend,
  ForwardRecv,
  BackwardSend,
  BackwardRecv,
  ParamsAllGather,
  GradsReduceScatter,
  SeparateGradsAllReduce,
  LayernormGradsAllReduce,
  EmbeddingGradsAllReduce,
  OptimizerClipMainGrad,
};

inline constexpr Word<OpKind> op_kinds[] = {
    {OpKind::ForwardCompute, "forward-compute"},
    {OpKind::BackwardCompute, "backward-compute"},
    {OpKind::Gc, "gc"},
    {OpKind::Optimizer, "optimizer"},
    {OpKind::ForwardSend, "forward-send"},
    {OpKind::ForwardRecv, "forward-recv"},
    {OpKind::BackwardSend, "backward-send"},
    {OpKind::BackwardRecv, "backward-recv"},
    {OpKind::ParamsAllGather, "params-all-gather"},
    {OpKind::GradsReduceScatter, "grads-reduce-scatter"},
    {OpKind::SeparateGradsAllReduce, "separate-grads-all-reduce"},
    {OpKind::LayernormGradsAllReduce, "layernorm-grads-all-reduce"},
    {OpKind::EmbeddingGradsAllReduce, "embedding-grads-all-reduce"},
    {OpKind::OptimizerClipMainGrad, "optimizer-clip-main-grad"},
};
inline constexpr std::size_t op_kind_count = std::size(op_kinds);

constexpr std::string_view name_of(OpKind kind) { return op_kinds[static_cast<std::size_t>(kind)].name; }

/// (replica, stage).
using WorkerPlace = std::pair<std::uint32_t, std::uint32_t>;

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

struct MeasuredOp {
  std::int64_t step = 0;
  Time start{0};  ///< relative to an origin common to all ops of the job
  Time duration{0};
  std::uint32_t replica = 0, stage = 0;
  std::uint32_t seq = 0;    ///< counts the ops of this kind, worker and step from 0, by start
  std::int32_t chunk = 0;   ///< of the model
  std::uint32_t entry = 0;  ///< its line, or the index of its event in a trace; `no_entry`: made of several events
  std::uint16_t file = 0;
  OpKind kind = OpKind::ForwardCompute;
};

/// The size of a gradient collective, if a file gives it.
struct CollectiveSize {
  std::string name;  ///< all-reduce, reduce-scatter
  std::int64_t workers = 0;
  std::int64_t bytes = 0;  ///< of gradients; 0: unknown
};

struct MeasuredJob {
  std::vector<std::string> files;  ///< for Kineto traces, by replica
  bool kineto = false;
  std::vector<CollectiveSize> collectives;  ///< by seq of grads-reduce-scatter; may be empty
  bool lines = true;                        ///< MeasuredOp::entry is a line
  std::vector<MeasuredOp> ops;
  std::map<WorkerPlace, std::int64_t> ranks;  ///< if the files give them
  std::vector<std::string> notes;             ///< what was left out or corrected; one sentence each

  SourceLocation place(const MeasuredOp& op) const;
};

/// The steps to analyse: "16-30,33-60" with inclusive ranges; "": all.
class StepChoice {
 public:
  StepChoice() = default;
  /// Throws InputError at `place`.
  StepChoice(std::string_view text, const SourceLocation& place);
  bool takes(std::int64_t step) const;
  /// Returns a sentence for each range that is not completely in `found`.
  std::vector<std::string> missed(std::span<const std::int64_t> found) const;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
};

}  // namespace allreplay
