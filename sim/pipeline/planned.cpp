#include "sim/pipeline/planned.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "sim/pipeline/rank_programs.hpp"

namespace allreplay {

namespace {

std::string name_of(const Work& work, const Profile& profile) {
  const std::string item = work.item < profile.layers.size() ? fmt::format("'{}'", profile.layers[work.item].name)
                                                             : std::to_string(work.item);
  return fmt::format("{} of {} in micro-batch {}", to_string(work.kind), item, work.micro_batch);
}

std::optional<ActionKind> kind_of_action(WorkKind kind) {
  for (const auto& [action, pass] : passes_of_actions)
    if (pass == kind) return action;
  return std::nullopt;
}

// Recovers the actions of a program. Each is an uninterrupted run of its chunk's layers; updates and marks are skipped.
ActionRow row_of(const Role& role, const std::vector<Chunk>& chunks, const Profile& profile,
                 const SourceLocation& place) {
  ActionRow row;
  std::size_t next = 0;
  const auto skip = [&] {
    while (next < role.program.size() && !kind_of_action(role.program[next].kind)) ++next;
    return next < role.program.size();
  };
  while (skip()) {
    const Work first = role.program[next];
    const bool forward = first.kind == WorkKind::Forward;
    const auto chunk = std::find_if(chunks.begin(), chunks.end(), [&](const Chunk& one) {
      return one.first <= first.item && first.item <= one.last;
    });
    for (std::uint32_t l = 0; l < chunk->layers(); ++l, ++next) {
      const Work wanted{first.kind, forward ? chunk->first + l : chunk->last - l, first.micro_batch};
      if (!skip() || !(role.program[next] == wanted))
        throw InputError(place / std::to_string(std::min(next, role.program.size() - 1)),
                         fmt::format("a chunk's layers run back to back, but {} is missing", name_of(wanted, profile)),
                         "every layer of the chunk, or other \"stages\"");
    }
    row.push_back({*kind_of_action(first.kind), static_cast<std::uint32_t>(chunk - chunks.begin()), first.micro_batch});
  }
  return row;
}

// The plan's gates, indexed by the transfers at their ends.
class Gates {
 public:
  explicit Gates(const Plan& plan) : into_(plan.transfers.size()), out_of_(plan.transfers.size()) {
    for (const Gate& gate : plan.gates) {
      if (const auto* after = gate.transfer_after()) into_[after->index].push_back(&gate);
      if (const auto* before = gate.transfer_before()) out_of_[before->index].push_back(&gate);
    }
  }

  /// Returns the last work of the role's program that the transfer waits for within an iteration.
  std::optional<std::uint32_t> made(std::uint32_t transfer, std::uint32_t role) const {
    std::optional<std::uint32_t> last;
    for (const Gate* gate : into_[transfer])
      if (const auto* work = gate->work_before(); work && work->role == role && !gate->next)
        last = std::max(last.value_or(0), work->place);
    return last;
  }
  /// Returns the first work of the role's program that waits for the transfer, in this or (`next`) the next iteration.
  std::optional<std::uint32_t> read(std::uint32_t transfer, std::uint32_t role, bool next) const {
    std::optional<std::uint32_t> first;
    for (const Gate* gate : out_of_[transfer])
      if (const auto* work = gate->work_after(); work && work->role == role && gate->next == next)
        first = std::min(first.value_or(work->place), work->place);
    return first;
  }
  bool waits_for(std::uint32_t transfer, std::uint32_t other) const {
    return std::any_of(into_[transfer].begin(), into_[transfer].end(), [&](const Gate* gate) {
      const auto* before = gate->transfer_before();
      return before && before->index == other && !gate->next;
    });
  }

 private:
  std::vector<std::vector<const Gate*>> into_, out_of_;
};

// The data that a send delivers, and the pass that reads it.
struct Delivery {
  std::uint32_t from = 0, to = 0;  // ranks
  std::uint32_t cut = 0;           // the data crosses from this chunk to the next, or back
  std::uint32_t micro_batch = 0;
  bool forward = true;
  Work reads;
};

class PipelineCoverage {
 public:
  PipelineCoverage(const Plan& plan, const Pipeline& pipeline, const Profile& profile)
      : plan_(plan), pipeline_(pipeline), profile_(profile), gates_(plan) {
    for (const Role& role : plan.roles) places_.emplace_back(role.program);
    of_rank_.resize(plan.roles.size());
    for (std::uint32_t index = 0; index < plan.transfers.size(); ++index)
      if (is_of_rank(plan.transfers[index])) of_rank_[plan.transfers[index].group].push_back(index);
  }

  std::optional<Complaint> complaint() const {
    if (const TransferOrder order = order_of_transfers(plan_); order.in_circle)
      return circle_of(plan_, *order.in_circle, profile_);
    if (auto wrong = wrong_lane()) return wrong;
    if (auto wrong = wrong_next()) return wrong;
    if (auto wrong = wrong_sends()) return wrong;
    for (std::uint32_t rank = 0; rank < plan_.roles.size(); ++rank) {
      if (auto wrong = wrong_program(rank)) return wrong;
      if (auto wrong = wrong_reductions(rank)) return wrong;
      if (auto wrong = wrong_gathers(rank)) return wrong;
    }
    return wrong_tied();
  }

  /// Returns what the send delivers; none if no pass of its receiver waits for it.
  std::optional<Delivery> delivery(std::uint32_t index) const {
    const auto [from, to] = pair_of(plan_.transfers[index]);
    const auto place = gates_.read(index, to, false);
    if (!place) return std::nullopt;
    // If an update or a mark waits, the data is for the pass that follows it.
    const std::vector<Work>& program = plan_.roles[to].program;
    const auto pass = std::find_if(program.begin() + *place, program.end(), [](const Work& one) {
      return kind_of_action(one.kind) && one.kind != WorkKind::BackwardWeight;
    });
    if (pass == program.end()) return std::nullopt;
    const std::uint32_t chunk = chunk_of(pass->item);
    const bool forward = pass->kind == WorkKind::Forward;
    const std::uint32_t neighbour = forward ? chunk - 1 : chunk + 1;  // 0 - 1 wraps around and is rejected below
    if (neighbour >= pipeline_.chunks.size() || pipeline_.index.rank_of[neighbour] != from) return std::nullopt;
    if (pass->item != (forward ? pipeline_.chunks[chunk].first : pipeline_.chunks[chunk].last)) return std::nullopt;
    return Delivery{from, to, std::min(chunk, neighbour), pass->micro_batch, forward, *pass};
  }

 private:
  std::string name(std::uint32_t index) const { return describe_transfer(plan_, index, profile_); }
  std::uint32_t rank_of_worker(std::int64_t worker) const {
    return static_cast<std::uint32_t>(worker / pipeline_.degrees.of_rank());
  }
  std::pair<std::uint32_t, std::uint32_t> pair_of(const Transfer& one) const {
    const std::vector<std::int64_t>& members = plan_.groups[one.group].group.members;
    return {rank_of_worker(members[0]), rank_of_worker(members[1])};
  }
  bool is_of(std::uint32_t rank, TensorId tensor) const {
    return rank_of_layer(pipeline_, profile_.tensors[tensor].layer) == rank;
  }
  bool is_of_rank(const Transfer& one) const { return one.group < plan_.roles.size(); }
  std::uint32_t chunk_of(LayerId layer) const {
    std::uint32_t chunk = 0;
    while (pipeline_.chunks[chunk].last < layer) ++chunk;
    return chunk;
  }
  std::optional<std::uint32_t> place(std::uint32_t rank, const Work& work) const {
    const auto found = places_[rank].find(work);
    return found ? std::optional(static_cast<std::uint32_t>(*found)) : std::nullopt;
  }
  bool updates_at_start(std::uint32_t rank) const { return place(rank, {WorkKind::Update, everything}).has_value(); }

  // Checks that no lane mixes the reductions and gathers of one rank with those of another, or with sends.
  std::optional<Complaint> wrong_lane() const {
    std::map<std::uint32_t, std::uint32_t> first;  // by lane: a transfer that it carries
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      const bool block = one.payload.block != Payload::just_bytes;
      if (block != is_of_rank(one) || (block && one.op == CollectiveOp::Send))
        return Complaint{fmt::format("{} cannot be sent on {}", name(index), plan_.groups[one.group].name),
                         "blocks on \"data R\"; sends and tied tensors on \"R to S\""};
      if (!block && plan_.lanes[one.lane].tick > Time(0))
        return Complaint{fmt::format("{} is on lane '{}', which has ticks", name(index), plan_.lanes[one.lane].name),
                         "ticks for blocks only"};
      const Transfer& other = plan_.transfers[first.emplace(one.lane, index).first->second];
      if ((is_of_rank(one) || is_of_rank(other)) && one.group != other.group)
        return Complaint{fmt::format("lane '{}' carries {} and {}", plan_.lanes[one.lane].name,
                                     name(first.at(one.lane)), name(index)),
                         "separate lanes for the reductions and gathers of a rank, and for sends"};
    }
    return std::nullopt;
  }

  std::optional<Complaint> wrong_next() const {
    if (plan_.together && std::any_of(plan_.gates.begin(), plan_.gates.end(), [](const Gate& one) { return one.next; }))
      return Complaint{"with update_barrier all every update waits for all, but a gate says \"next\"",
                       "update_barrier stage, or no next"};
    return std::nullopt;
  }

  // Checks that updates and marks are where our planner puts them; the passes match the row by construction.
  std::optional<Complaint> wrong_program(std::uint32_t rank) const {
    const std::vector<Work>& program = plan_.roles[rank].program;
    const bool by_layer = !updates_at_start(rank);
    const bool marks =
        std::any_of(program.begin(), program.end(), [](const Work& one) { return one.kind == WorkKind::Mark; });
    if (by_layer && (plan_.together || plan_.sharding.shards_optimizer() || plan_.pipeline->barrier != Barrier::Layer))
      return Complaint{fmt::format("the program of rank {} does not begin with {{\"update\": \"everything\"}}", rank),
                       "that; or update_barrier stage, barrier layer, and no shards"};
    for (const bool every_pass : {false, true})
      if (RankProgram(pipeline_, rank, profile_, {by_layer, profile_.update > Time(0), marks, every_pass}).works ==
          program)
        return std::nullopt;
    return Complaint{fmt::format("the program of rank {} has updates or marks out of place", rank),
                     "{\"update\": \"everything\"} first, or each layer's before its first forward pass; no copies"};
  }

  std::optional<Complaint> wrong_sends() const {
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t> sent;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      if (plan_.transfers[index].op != CollectiveOp::Send) continue;
      const auto one = delivery(index);
      if (!one)
        return Complaint{fmt::format("no pass that needs the data of {} waits for it", name(index)),
                         "before the first layer of the next chunk, or the last of the chunk before"};
      const auto made = gates_.made(index, one->from);
      const Work work = work_of_sender(*one);
      if (!made || *made < place(one->from, work))
        return Complaint{fmt::format("{} may start before {}", name(index), name_of(work, profile_)), "after it"};
      if (const auto [other, fresh] = sent.emplace(std::tuple(one->cut, one->micro_batch, one->forward), index); !fresh)
        return Complaint{fmt::format("{} and {} carry the same data", name(other->second), name(index)), "one of them"};
    }
    for (std::uint32_t cut = 0; cut + 1 < pipeline_.chunks.size(); ++cut)
      for (std::uint32_t micro_batch = 0; pipeline_.index.crosses(cut) && micro_batch < pipeline_.index.micro_batches;
           ++micro_batch)
        for (const bool forward : {true, false})
          if (!sent.contains({cut, micro_batch, forward}))
            return Complaint{fmt::format("chunk {} is not sent the {} of micro-batch {}", forward ? cut + 1 : cut,
                                         forward ? "activations" : "gradient", micro_batch),
                             "a send that the chunk's pass waits for"};
    return std::nullopt;
  }

  // The work that computes the data: the forward pass of the sender's last layer, or the backward pass of its first.
  Work work_of_sender(const Delivery& one) const {
    if (one.forward) return {WorkKind::Forward, pipeline_.chunks[one.cut].last, one.micro_batch};
    const LayerId first = pipeline_.chunks[one.cut + 1].first;
    const Work whole{WorkKind::Backward, first, one.micro_batch};
    return place(one.from, whole) ? whole : Work{WorkKind::BackwardInput, first, one.micro_batch};
  }

  // The place of the work that computes a layer's gradients for the micro-batch; if none is given, for the last one.
  std::uint32_t gradient_pass(std::uint32_t rank, LayerId layer, std::optional<std::uint32_t> micro_batch) const {
    std::uint32_t last = 0;
    for (std::uint32_t m = micro_batch.value_or(0);
         m < (micro_batch ? *micro_batch + 1 : pipeline_.index.micro_batches); ++m) {
      const auto weights = place(rank, {WorkKind::BackwardWeight, layer, m});
      last = std::max(last, weights ? *weights : place(rank, {WorkKind::Backward, layer, m}).value());
    }
    return last;
  }
  std::uint32_t first_pass(std::uint32_t rank, LayerId layer) const {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max();
    for (std::uint32_t m = 0; m < pipeline_.index.micro_batches; ++m)
      first = std::min(first, place(rank, {WorkKind::Forward, layer, m}).value());
    return first;
  }
  // The place of the first work that needs the layer's reductions of the previous iteration.
  std::uint32_t needed_at(std::uint32_t rank, LayerId layer) const {
    if (const auto update = place(rank, {WorkKind::Update, everything}); update && !by_layer()) return *update;
    const auto update = place(rank, {WorkKind::Update, layer});
    return update ? *update : first_pass(rank, layer);
  }
  bool by_layer() const { return plan_.pipeline->barrier == Barrier::Layer && !plan_.sharding.shards_optimizer(); }

  struct Carried {
    Slice slice;
    std::uint32_t transfer;
  };
  // Checks that `all` has every byte of the rank's tensors once and none of other tensors; `done` is a word for errors.
  std::optional<Complaint> gap(std::uint32_t rank, std::vector<Carried> all, std::string_view done) const {
    std::sort(all.begin(), all.end(), [](const Carried& a, const Carried& b) {
      return std::tie(a.slice.tensor, a.slice.offset, a.transfer) <
             std::tie(b.slice.tensor, b.slice.offset, b.transfer);
    });
    auto next = all.begin();
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      const Tensor& tensor = profile_.tensors[id];
      Bytes sent = 0;
      for (; next != all.end() && next->slice.tensor == id && next->slice.offset <= sent; ++next) {
        if (next->slice.offset < sent)
          return Complaint{fmt::format("byte {} of '{}' is {} twice: by {} and by {}", next->slice.offset, tensor.name,
                                       done, name(std::prev(next)->transfer), name(next->transfer)),
                           "once, on the rank that holds it"};
        sent += next->slice.bytes;
      }
      const bool own = is_of(rank, id);
      if (sent != (own ? tensor.bytes : 0))
        return Complaint{own ? fmt::format("byte {} of '{}' is not {}", sent, tensor.name, done)
                             : fmt::format("'{}' is {} on rank {}, which does not hold it", tensor.name, done, rank),
                         "each byte once, on the rank that holds it"};
    }
    return std::nullopt;
  }

  std::optional<Complaint> wrong_reductions(std::uint32_t rank) const {
    const bool shards = plan_.sharding.shards_optimizer();
    const CollectiveOp op = shards ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce;
    std::map<std::uint32_t, std::vector<Carried>> reduced;  // by micro-batch
    for (const std::uint32_t index : of_rank_[rank]) {
      const Transfer& one = plan_.transfers[index];
      if (one.op == CollectiveOp::AllGather) continue;
      if (one.op != op)
        return Complaint{fmt::format("{} is not how zero {} reduces", name(index), plan_.sharding.zero),
                         fmt::format("{}s", to_string(op))};
      for (const Slice& slice : plan_.block_of(one).slices) reduced[one.micro_batch].push_back({slice, index});
    }
    if (reduced.size() > 1 && !shards)
      return Complaint{fmt::format("rank {} reduces in several micro-batches, but shards nothing", rank),
                       "each gradient once, after its last pass"};
    const bool several = reduced.size() > 1;
    std::vector<bool> met(profile_.tensors.size(), false);  // by tensor: reduced after its last pass
    for (const auto& [micro_batch, all] : reduced) {
      if (auto wrong = gap(rank, all, "reduced")) return wrong;
      for (const auto& [slice, index] : all) {
        const LayerId layer = profile_.tensors[slice.tensor].layer;
        const std::uint32_t last = gradient_pass(rank, layer, std::nullopt);
        const std::uint32_t pass = several ? gradient_pass(rank, layer, micro_batch) : last;
        const auto made = gates_.made(index, rank);
        if (!made || *made < pass)
          return Complaint{fmt::format("{} may start before rank {} has made '{}'", name(index), rank,
                                       profile_.tensors[slice.tensor].name),
                           fmt::format("after {}", name_of(plan_.roles[rank].program[pass], profile_))};
        if (pass == last) met[slice.tensor] = true;
        const auto read = gates_.read(index, rank, true);
        if (!plan_.together && (!read || *read > needed_at(rank, layer)))
          return Complaint{
              fmt::format("{} may end after rank {} needs it for its next iteration", name(index), rank),
              fmt::format("before {}, next", name_of(plan_.roles[rank].program[needed_at(rank, layer)], profile_))};
      }
    }
    for (TensorId id = 0; id < profile_.tensors.size(); ++id)
      if (is_of(rank, id) && !met[id])
        return Complaint{fmt::format("'{}' is not reduced after its last pass", profile_.tensors[id].name),
                         "every gradient in a reduction of its rank"};
    return std::nullopt;
  }

  std::optional<Complaint> wrong_gathers(std::uint32_t rank) const {
    std::vector<Carried> first;
    for (const std::uint32_t index : of_rank_[rank]) {
      const Transfer& one = plan_.transfers[index];
      if (one.op != CollectiveOp::AllGather) continue;
      if (!plan_.sharding.shards_optimizer())
        return Complaint{fmt::format("{} gathers, but the plan shards nothing", name(index)), "\"zero\": 1, 2 or 3"};
      const auto made = gates_.made(index, rank), read = gates_.read(index, rank, false);
      if (!made)  // waiting for any work is enough, since the program begins with the update
        return Complaint{fmt::format("{} may start before the update has ended", name(index)), "after the update"};
      if (!read) return Complaint{fmt::format("no pass waits for {}", name(index)), "one that reads it"};
      const auto& held = one.held_until;
      if (plan_.sharding.shards_parameters() && (!held || held->role != rank || held->place < *read))
        return Complaint{fmt::format("{} does not say how long rank {} holds it", name(index), rank),
                         "\"held_until\": the rank's work after which it is freed, after those that read it"};
      for (const Slice& slice : plan_.block_of(one).slices)
        if (!is_of(rank, slice.tensor) || *read <= first_pass(rank, profile_.tensors[slice.tensor].layer))
          first.push_back({slice, index});
    }
    if (!plan_.sharding.shards_optimizer()) return std::nullopt;
    return gap(rank, std::move(first), "gathered before its first forward pass");
  }

  std::optional<Complaint> wrong_tied() const {
    std::optional<std::uint32_t> tied;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (!is_of_rank(plan_.transfers[index]) && plan_.transfers[index].op != CollectiveOp::Send) {
        if (tied)
          return Complaint{fmt::format("{} is a second sum between ranks", name(index)), "one sum of the tied tensors"};
        tied = index;
      }
    const auto rank_of = [&](TensorId tensor) { return rank_of_layer(pipeline_, profile_.tensors[tensor].layer); };
    const bool needed = profile_.tied && rank_of(profile_.tied->first) != rank_of(profile_.tied->second);
    if (!tied && !needed) return std::nullopt;
    const std::string right = "one all-reduce between the ranks of the profile's tied tensors, and none without these";
    if (!tied) return Complaint{"no transfer sums the tied tensors", right};
    auto [one, other] = pair_of(plan_.transfers[*tied]);
    if (!needed ||
        std::minmax(one, other) != std::minmax(rank_of(profile_.tied->first), rank_of(profile_.tied->second)) ||
        plan_.transfers[*tied].op != CollectiveOp::AllReduce)
      return Complaint{fmt::format("{} sums tensors that are not tied", name(*tied)), right};
    if (plan_.pipeline->barrier == Barrier::Layer)
      return Complaint{"with barrier layer nothing waits for tied tensors", "barrier iteration"};
    for (const std::uint32_t rank : {one, other}) {
      bool early = gates_.made(*tied, rank) != static_cast<std::uint32_t>(plan_.roles[rank].program.size() - 1);
      for (const std::uint32_t index : of_rank_[rank])
        if (is_reduction(plan_.transfers[index].op)) early |= !gates_.waits_for(*tied, index);
      if (early)
        return Complaint{fmt::format("{} may start before rank {} has computed and reduced all", name(*tied), rank),
                         "after its last work and all of its reductions"};
      if (!plan_.together && gates_.read(*tied, rank, true) != 0U)
        return Complaint{fmt::format("the update of rank {} does not wait for {}", rank, name(*tied)),
                         "before it, next"};
    }
    return std::nullopt;
  }

  const Plan& plan_;
  const Pipeline& pipeline_;
  const Profile& profile_;
  Gates gates_;
  std::vector<ProgramIndex> places_;                 // by rank
  std::vector<std::vector<std::uint32_t>> of_rank_;  // by rank: indices of its reductions and gathers
};

}  // namespace

Pipeline pipeline_of(const Plan& plan, const Degrees& degrees, const Profile& profile, const SourceLocation& place) {
  Pipeline made{.degrees = degrees};
  made.chunks = cut_into_chunks(profile, {StageCut::By::Given, plan.pipeline->layers},
                                std::ssize(plan.pipeline->layers), place / "parallel" / "stages");
  for (std::size_t rank = 0; rank < plan.roles.size(); ++rank)
    made.rows.push_back(
        row_of(plan.roles[rank], made.chunks, profile, place / "ranks" / std::to_string(rank) / "program"));
  made.index = index_of(made.rows, degrees.pp, place / "ranks");
  if (made.index.micro_batches != plan.sharding.accumulate || made.index.chunks() != made.chunks.size())
    throw InputError(place / "ranks",
                     fmt::format("run {} chunks of {} micro-batches, but the file says {} and {}", made.index.chunks(),
                                 made.index.micro_batches, made.chunks.size(), plan.sharding.accumulate),
                     "all of both");
  made.chunks_per_rank = made.index.chunks_per_rank(degrees.pp);
  return made;
}

std::optional<Complaint> uncovered(const Plan& plan, const Pipeline& pipeline, const Profile& profile) {
  return PipelineCoverage(plan, pipeline, profile).complaint();
}

std::vector<double> send_bytes(const Plan& plan, const Pipeline& pipeline, const Profile& profile) {
  const PipelineCoverage coverage(plan, pipeline, profile);
  std::vector<double> least(pipeline.chunks.size(), 0);
  std::vector<bool> known(pipeline.chunks.size(), false);
  for (std::uint32_t index = 0; index < plan.transfers.size(); ++index) {
    if (plan.transfers[index].op != CollectiveOp::Send) continue;
    const std::uint32_t cut = coverage.delivery(index).value().cut;
    const double bytes = plan.transfers[index].bytes;
    least[cut] = known[cut] ? std::min(least[cut], bytes) : bytes;
    known[cut] = true;
  }
  return least;
}

void set_channels(Plan& plan) {
  const auto ranks = static_cast<std::uint32_t>(plan.roles.size());
  std::vector<std::uint32_t> of_rank(plan.lanes.size(), ranks);
  for (const Transfer& one : plan.transfers)
    if (one.group < ranks) of_rank[one.lane] = one.group;
  std::uint32_t next = ranks;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane)
    plan.lanes[lane].channel = of_rank[lane] < ranks ? of_rank[lane] : next++;
}

}  // namespace allreplay
