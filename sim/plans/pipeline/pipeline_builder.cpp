#include "sim/plans/pipeline/pipeline_builder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/pipeline/planned.hpp"
#include "sim/plans/schedule/experts.hpp"

namespace allreplay {

PipelineBuilder::PipelineBuilder(const PipelineRequest& request)
    : request_(request),
      pipeline_(request.pipeline),
      profile_(request.profile),
      options_(request.options),
      barrier_(request.options.barrier.value_or(request.strategy.barrier)) {
  plan_.strategy = request.strategy.name;
  plan_.sharding = options_.sharding;
  const Degrees& degrees = pipeline_.degrees;
  plan_.pipeline = {
      degrees.tp, degrees.cp, degrees.ep, request.parallel.schedule, {}, barrier_, request.parallel.ep_overlap};
  for (const Chunk& chunk : pipeline_.chunks) plan_.pipeline->layers.push_back(chunk.layers());
  plan_.groups.clear();
  plan_.roles.clear();
  plan_.together = request.parallel.update_barrier.value_or(
                       barrier_ == Barrier::Layer ? UpdateBarrier::Stage : UpdateBarrier::All) == UpdateBarrier::All;
}

void PipelineBuilder::begin(const ProgramShape& shape) {
  const Degrees& degrees = pipeline_.degrees;
  for (std::uint32_t rank = 0; rank < pipeline_.ranks(); ++rank) {
    plan_.groups.push_back({fmt::format("data {}", rank), degrees.gradients(rank)});
    Role& role = plan_.roles.emplace_back(Role{fmt::format("rank {}", rank), {}});
    for (std::int64_t i = 0; i < degrees.rank_workers(); ++i) role.workers.push_back(rank * degrees.rank_workers() + i);
    ranks_.emplace_back(pipeline_, rank, profile_, shape);
    if (request_.parallel.ep_overlap) ranks_.back().pair_actions(joins_actions());
  }
  for (std::uint32_t rank = 0; rank < pipeline_.ranks() && has_expert_groups(); ++rank)
    plan_.groups.push_back({fmt::format("expert {}", rank), degrees.expert_gradients(rank)});
  last_exchange_.resize(ranks_.size());
  reductions_.resize(ranks_.size());
}

bool PipelineBuilder::joins_actions() const {
  return std::any_of(pipeline_.rows.begin(), pipeline_.rows.end(), [](const ActionRow& row) {
    return std::any_of(row.begin(), row.end(), [](const Action& one) { return one.joined; });
  });
}

std::uint32_t PipelineBuilder::add_lane(std::string name, const QueueingPolicy& queueing) {
  plan_.lanes.push_back({std::move(name), queueing.order, queueing.window, queueing.tick});
  return static_cast<std::uint32_t>(plan_.lanes.size() - 1);
}

std::uint32_t PipelineBuilder::add(Transfer one) {
  plan_.transfers.push_back(one);
  return static_cast<std::uint32_t>(plan_.transfers.size() - 1);
}

void PipelineBuilder::gate(const PlanPoint& before, const PlanPoint& after, bool next) {
  plan_.gates.push_back({before, after, next});
}

void PipelineBuilder::gate_after_work(const RankProgram& rank, std::uint32_t place, const PlanPoint& after) {
  gate(rank.point(place), after);
  if (place == rank.last_work() && last_exchange_[rank.rank()]) gate(transfer(*last_exchange_[rank.rank()]), after);
}

void PipelineBuilder::gate_after_gradient(const RankProgram& rank, std::uint32_t place, const PlanPoint& after) {
  if (rank.pair_of(place))
    gate(rank.computed(place), after);
  else
    gate_after_work(rank, place, after);
}

void PipelineBuilder::gate_after_action(const RankProgram& rank, std::uint32_t place, const PlanPoint& after) {
  gate_after_work(rank, place, after);
  if (const WorkPair* pair = rank.pair_of(place)) gate(rank.point(pair->backward - 1), after);
}

std::vector<PipelineBuilder::PendingSend> PipelineBuilder::sends_of(std::uint32_t rank) const {
  const RowIndex& index = pipeline_.index;
  const bool explicit_sends = has(pipeline_.rows, Activity::SendForward) || has(pipeline_.rows, Activity::SendBackward);
  std::vector<PendingSend> sends;
  for (const Action& one : pipeline_.rows[rank]) {
    const bool forward = one.kind == (explicit_sends ? Activity::SendForward : Activity::Forward);
    if (!forward && !(explicit_sends ? one.kind == Activity::SendBackward : returns_gradient(one.kind))) continue;
    if (forward ? one.chunk + 1 == index.chunks() : one.chunk == 0) continue;
    const std::uint32_t other = forward ? one.chunk + 1 : one.chunk - 1;
    if (index.rank_of[other] == rank) continue;
    const std::size_t here = index.at(one.chunk, one.micro_batch), there = index.at(other, one.micro_batch);
    sends.push_back({rank, index.rank_of[other], one.chunk, one.micro_batch,
                     request_.sends[forward ? one.chunk : other],
                     (forward ? index.forward_sends : index.backward_sends)[here],
                     (forward ? index.forwards : index.hand_backs)[there]});
  }
  return sends;
}

void PipelineBuilder::add_sends() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lanes;  // by sender and receiver
  std::vector<std::uint32_t> transfers;
  std::vector<PendingSend> all;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    for (const PendingSend& one : sends_of(rank)) {
      const auto [lane, fresh] = lanes.emplace(std::pair(one.from, one.to), 0);
      if (fresh) {
        lane->second = add_lane(fmt::format("{} to {}", one.from, one.to), {});
        groups_of_pairs_[{one.from, one.to}] = add_pairs(one.from, one.to);
      }
      all.push_back(one);
      transfers.push_back(add({.op = CollectiveOp::Send,
                               .group = groups_of_pairs_.at({one.from, one.to}),
                               .payload = {Payload::Kind::Activations},
                               .bytes = one.bytes,
                               .lane = lane->second,
                               .micro_batch = one.micro_batch}));
    }
  if (request_.parallel.p2p == P2p::Blocking)
    exchange(all, transfers);
  else
    for (std::size_t i = 0; i < all.size(); ++i) {
      const RankProgram &from = ranks_[all[i].from], &to = ranks_[all[i].to];
      gate(from.point(from.at(all[i].sent_after.index).last), transfer(transfers[i]));
      gate(transfer(transfers[i]), to.point(to.at(all[i].awaited_by.index).start));
    }
}

std::uint32_t PipelineBuilder::add_pairs(std::uint32_t from, std::uint32_t to) {
  plan_.groups.push_back({fmt::format("{} to {}", from, to), pipeline_.degrees.pairs(from, to)});
  return static_cast<std::uint32_t>(plan_.groups.size() - 1);
}

// Adds Megatron's blocking exchanges: between two actions, the stream waits until the first one's data is sent and the
// second one's is received. Between a forward and a backward pass both start together, else the receive after the send.
void PipelineBuilder::exchange(const std::vector<PendingSend>& sends, const std::vector<std::uint32_t>& transfers) {
  // By rank and action: the transfer that it sends when it ends, and the one that it waits for.
  std::vector<std::map<std::uint32_t, std::uint32_t>> sent(ranks_.size()), received(ranks_.size());
  for (std::size_t i = 0; i < sends.size(); ++i) {
    sent[sends[i].from][sends[i].sent_after.index] = transfers[i];
    received[sends[i].to][sends[i].awaited_by.index] = transfers[i];
  }
  for (const RankProgram& rank : ranks_) {
    const auto& own = sent[rank.rank()];
    const auto& awaited = received[rank.rank()];
    std::optional<std::uint32_t> before;  // the previous action
    const auto sent_by = [&]() -> std::optional<std::uint32_t> {
      const auto found = before ? own.find(*before) : own.end();
      return found == own.end() ? std::nullopt : std::optional(found->second);
    };
    for (const std::uint32_t action : rank.actions()) {
      const PlanPoint entry = rank.point(rank.at(action).entry);
      const auto sends_now = sent_by();
      if (sends_now) gate(transfer(*sends_now), entry);
      if (const auto waits = awaited.find(action); waits != awaited.end()) {
        gate(transfer(waits->second), entry);
        const bool same_direction =
            before && (rank.row()[*before].kind == Activity::Forward) == (rank.row()[action].kind == Activity::Forward);
        if (same_direction && sends_now)
          gate(transfer(*sends_now), transfer(waits->second));
        else if (before)
          gate(rank.point(rank.at(*before).last), transfer(waits->second));
        else
          first_receipts_.push_back({rank.rank(), waits->second});
      }
      before = action;
      if (const auto now = sent_by()) gate(rank.point(rank.at(action).last), transfer(*now));
    }
    last_exchange_[rank.rank()] = sent_by();
  }
}

// Posts each rank's first receive after its update or, without one at the start, after its previous iteration.
void PipelineBuilder::post_first_receipts(bool update_at_start) {
  for (const auto& [rank, receipt] : first_receipts_) {
    const RankProgram& program = ranks_[rank];
    if (update_at_start)
      gate(update_of(program), transfer(receipt));
    else
      gate(program.point(program.last_work()), transfer(receipt), true);
  }
}

void PipelineBuilder::gate_first_action(const RankProgram& rank, std::uint32_t gather) {
  gate(transfer(gather), rank.point(rank.at(rank.actions().front()).entry));
  for (const auto& [other, receipt] : first_receipts_)
    if (other == rank.rank()) gate(transfer(gather), transfer(receipt));
}

Plan PipelineBuilder::finish(bool update_at_start) {
  post_first_receipts(update_at_start);
  add_tied();
  if (!plan_.together) await_ends(update_at_start);
  for (RankProgram& rank : ranks_) {
    plan_.roles[rank.rank()].program = std::move(rank.works);
    plan_.roles[rank.rank()].pairs = std::move(rank.pairs);
  }
  set_channels(plan_);
  return std::move(plan_);
}

// Makes each rank's next iteration wait for the rank's own transfers; used if ranks do not wait for each other.
void PipelineBuilder::await_ends(bool update_at_start) {
  for (const RankProgram& rank : ranks_) {
    const PlanPoint first = rank.point(0);
    if (last_exchange_[rank.rank()]) gate(transfer(*last_exchange_[rank.rank()]), first, true);
    if (!update_at_start) continue;
    for (const std::uint32_t one : reductions_[rank.rank()]) gate(transfer(one), first, true);
  }
}

void PipelineBuilder::add_tied() {
  if (!profile_.tied) return;
  const auto rank_of = [&](TensorId tensor) { return pipeline_.rank_of(profile_.tensors[tensor].layer); };
  const std::uint32_t one = rank_of(profile_.tied->first), other = rank_of(profile_.tied->second);
  if (one == other) return;
  const std::uint32_t tied = add({.op = CollectiveOp::AllReduce,
                                  .group = add_pairs(one, other),
                                  .payload = {Payload::Kind::Gradients},
                                  .bytes = static_cast<double>(profile_.tensors[profile_.tied->first].bytes),
                                  .lane = add_lane("tied", {})});
  for (const std::uint32_t end : {one, other}) {
    gate_after_work(ranks_[end], ranks_[end].last_work(), transfer(tied));
    for (const std::uint32_t reduced : reductions_[end]) gate(transfer(reduced), transfer(tied));
    if (!plan_.together) gate(transfer(tied), update_of(ranks_[end]), true);
  }
}

std::uint32_t PipelineBuilder::group_of(std::uint32_t rank, std::uint32_t block) const {
  const bool experts = has_expert_groups() && is_of_experts(plan_.blocks[block], profile_);
  return experts ? static_cast<std::uint32_t>(ranks_.size()) + rank : rank;
}

std::uint32_t PipelineBuilder::add_reduction(std::uint32_t rank, Transfer one) {
  one.group = group_of(rank, one.payload.block);
  one.bytes = wire_bytes(plan_, one.group, one.payload, profile_);
  const std::uint32_t index = add(one);
  reductions_[rank].push_back(index);
  return index;
}

std::uint32_t PipelineBuilder::add_gather(const RankProgram& rank, std::uint32_t block, std::uint32_t lane) {
  const Payload payload{Payload::Kind::Parameters, block};
  const std::uint32_t group = group_of(rank.rank(), block);
  return add({.op = CollectiveOp::AllGather,
              .group = group,
              .payload = payload,
              .bytes = wire_bytes(plan_, group, payload, profile_),
              .lane = lane});
}

std::uint32_t PipelineBuilder::first_pass_of(const RankProgram& rank, std::uint32_t chunk, LayerId layer) const {
  return rank.place(Activity::Forward, layer, rank.row()[rank.first_forward(chunk)].micro_batch);
}

}  // namespace allreplay
