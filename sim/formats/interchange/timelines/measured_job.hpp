// The ops of every worker of a running job, read from files. sim/studies/diagnosis analyses them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/time.hpp"

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
  UnitForwardGather,  // this and the following: of sharded training
  UnitBackwardGather,
  UnitReduce,
  UnitReplicate,
  OtherCollective,
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
    {OpKind::UnitForwardGather, "unit-forward-gather"},
    {OpKind::UnitBackwardGather, "unit-backward-gather"},
    {OpKind::UnitReduce, "unit-reduce"},
    {OpKind::UnitReplicate, "unit-replicate"},
    {OpKind::OtherCollective, "other-collective"},
};
inline constexpr std::size_t op_kind_count = std::size(op_kinds);

constexpr std::string_view name_of(OpKind kind) { return op_kinds[static_cast<std::size_t>(kind)].name; }

constexpr bool is_sharded_kind(OpKind kind) { return kind >= OpKind::UnitForwardGather; }
constexpr bool is_gather(OpKind kind) {
  return kind == OpKind::UnitForwardGather || kind == OpKind::UnitBackwardGather;
}
constexpr bool is_unit_reduction(OpKind kind) { return kind == OpKind::UnitReduce || kind == OpKind::UnitReplicate; }
/// True for the ops of the compute stream.
constexpr bool is_compute(OpKind kind) { return kind <= OpKind::Optimizer; }

/// (replica, stage).
using WorkerPlace = std::pair<std::uint32_t, std::uint32_t>;

inline constexpr std::uint32_t no_entry = ~std::uint32_t{0};

struct MeasuredOp {
  std::int64_t step = 0;
  Time start{0};  ///< relative to an origin common to all ops of the job
  Time duration{0};
  std::uint32_t replica = 0, stage = 0;
  std::uint32_t seq = 0;    ///< counts the ops of this kind, worker and step from 0, by start; a sharded unit's number
  std::int32_t chunk = 0;   ///< of the model; the unit of a sharded job's computes, the micro-batch of its collectives
  std::uint32_t entry = 0;  ///< its line, or the index of its event in a trace; `no_entry`: made of several events
  std::uint16_t file = 0;
  OpKind kind = OpKind::ForwardCompute;
  std::uint16_t part = 0;    ///< number of the piece, if collectives split a unit's compute into several
  std::uint16_t stream = 0;  ///< of a sharded job's collective; 0: the default of its kind
  std::uint32_t group = 0;   ///< of a sharded job's collective: an index of MeasuredJob::groups
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
  std::map<std::pair<OpKind, std::uint32_t>, CollectiveSize> unit_sizes;  ///< by kind and unit; whole buffers
  std::vector<std::string> unit_names;                                    ///< by unit; may be empty
  std::string precision;                ///< of the parameters that units gather; may be empty
  std::vector<std::string> groups{""};  ///< distinct names of process groups; the first one: all replicas
  std::map<std::string, std::uint32_t, std::less<>> group_numbers = {{"", 0}};  ///< by name
  bool lines = true;                                                            ///< MeasuredOp::entry is a line
  std::vector<MeasuredOp> ops;
  std::map<WorkerPlace, std::int64_t> ranks;  ///< if the files give them
  std::vector<std::string> notes;             ///< what was left out or corrected; one sentence each

  SourceLocation place(const MeasuredOp& op) const;
  std::uint32_t group(std::string_view name);  ///< its index in `groups`, to which it may be added
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
