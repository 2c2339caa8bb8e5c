#include <algorithm>
#include <initializer_list>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/studies/diagnosis/job_graph.hpp"

namespace allreplay {

namespace {

using Places = std::vector<std::uint32_t>;

constexpr std::size_t most_pairs = 1000;  // between two sets of ops at the end of a step, in addition to ten per op

struct Direction {
  OpKind compute, send, recv;
};

constexpr Direction directions[] = {{OpKind::ForwardCompute, OpKind::ForwardSend, OpKind::ForwardRecv},
                                    {OpKind::BackwardCompute, OpKind::BackwardSend, OpKind::BackwardRecv}};

class StageOrder {
 public:
  explicit StageOrder(std::span<const MeasuredOp> ops) : ops_(ops), order_(ops.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(ops[a].start, ops[a].seq, name_of(ops[a].kind)) <
             std::tuple(ops[b].start, ops[b].seq, name_of(ops[b].kind));
    });
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs() && {
    computes_ = ops_of({OpKind::ForwardCompute, OpKind::BackwardCompute});
    last_ = *std::max_element(computes_.begin(), computes_.end(),
                              [&](std::uint32_t a, std::uint32_t b) { return end(a) <= end(b); });
    order_chains();
    order_transfers();
    order_warm_up();
    precede_by_chunk(OpKind::ParamsAllGather, OpKind::ForwardCompute);
    if (!order_end_of_step()) return {};
    return std::move(pairs_);
  }

 private:
  Time end(std::uint32_t op) const { return ops_[op].start + ops_[op].duration; }

  // Returns the ops of these kinds in the order of their starts.
  Places ops_of(std::initializer_list<OpKind> kinds) const {
    Places found;
    for (const std::uint32_t op : order_)
      if (std::find(kinds.begin(), kinds.end(), ops_[op].kind) != kinds.end()) found.push_back(op);
    return found;
  }

  void precede(std::uint32_t before, std::uint32_t after) {
    if (before != after) pairs_.emplace_back(before, after);
  }

  void chain(const Places& ops) {
    for (std::size_t i = 1; i < ops.size(); ++i) precede(ops[i - 1], ops[i]);
  }

  void order_chains() {
    chain(computes_);
    for (const Direction& way : directions)
      for (const OpKind kind : {way.send, way.recv}) chain(ops_of({kind}));
    chain(ops_of({OpKind::ParamsAllGather, OpKind::GradsReduceScatter}));
  }

  // A send follows its compute. A receive precedes its compute, and follows the previous one.
  void order_transfers() {
    for (const Direction& way : directions) {
      const Places computes = ops_of({way.compute}), sends = ops_of({way.send}), recvs = ops_of({way.recv});
      for (std::size_t k = 0; k < std::min(sends.size(), computes.size()); ++k) precede(computes[k], sends[k]);
      for (std::size_t k = 0; k < recvs.size(); ++k) {
        if (k < computes.size()) precede(recvs[k], computes[k]);
        if (k > 0 && k <= computes.size()) precede(computes[k - 1], recvs[k]);
      }
    }
  }

  // The first transfers of the backward pass are launched after the second-last compute before it.
  void order_warm_up() {
    const auto first = std::find_if(computes_.begin(), computes_.end(),
                                    [&](std::uint32_t op) { return ops_[op].kind == OpKind::BackwardCompute; });
    if (first - computes_.begin() < 2) return;
    for (const OpKind kind : {OpKind::BackwardRecv, OpKind::BackwardSend})
      if (const Places transfers = ops_of({kind}); !transfers.empty()) precede(*(first - 2), transfers.front());
  }

  // Returns the first (or last) op of a kind, by chunk.
  std::map<std::int32_t, std::uint32_t> op_by_chunk(OpKind kind, bool first) const {
    std::map<std::int32_t, std::uint32_t> found;
    for (const std::uint32_t op : order_)
      if (ops_[op].kind == kind && (!found.emplace(ops_[op].chunk, op).second && !first)) found[ops_[op].chunk] = op;
    return found;
  }

  // In each chunk the last op of kind `before` precedes the first of kind `after`.
  void precede_by_chunk(OpKind before, OpKind after) {
    const auto lasts = op_by_chunk(before, false);
    for (const auto& [chunk, first] : op_by_chunk(after, true))
      if (const auto last = lasts.find(chunk); last != lasts.end()) precede(last->second, first);
  }

  // Orders gc, reductions, clipping and optimizer. Returns false if that takes too many pairs.
  bool order_end_of_step() {
    const Places reductions = ops_of({OpKind::GradsReduceScatter}), separate = ops_of({OpKind::SeparateGradsAllReduce});
    const bool overlap = !separate.empty() || std::any_of(reductions.begin(), reductions.end(), [&](std::uint32_t op) {
      return ops_[op].start < end(last_);
    });
    Places before = ops_of({OpKind::Gc});
    for (const std::uint32_t one : before) precede(last_, one);
    if (before.empty()) before = {last_};
    if (overlap) {  // the next op also follows the last reduction, which may have ended long before
      precede_by_chunk(OpKind::BackwardCompute, OpKind::GradsReduceScatter);
      if (!reductions.empty()) before.push_back(reductions.back());
    }
    for (const Places& link :
         {ops_of({OpKind::LayernormGradsAllReduce}), ops_of({OpKind::EmbeddingGradsAllReduce}),
          overlap ? separate : reductions, ops_of({OpKind::OptimizerClipMainGrad}), ops_of({OpKind::Optimizer})}) {
      if (link.empty()) continue;
      if (before.size() * link.size() > most_pairs + 10 * ops_.size()) return false;
      for (const std::uint32_t after : link)
        for (const std::uint32_t one : before) precede(one, after);
      before = link;
    }
    return true;
  }

  std::span<const MeasuredOp> ops_;
  Places order_, computes_;
  std::uint32_t last_ = 0;  // the compute that ends last
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
};

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> stage_order(std::span<const MeasuredOp> ops) {
  return StageOrder(ops).pairs();
}

}  // namespace allreplay
