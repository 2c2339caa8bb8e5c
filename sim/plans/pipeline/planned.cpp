#include "sim/plans/pipeline/planned.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/plans/pipeline/rank_programs.hpp"

namespace allreplay {

namespace {

std::string name_of(const Work& work, const Profile& profile) {
  const std::string item = work.item < profile.layers.size() ? fmt::format("'{}'", profile.layers[work.item].name)
                                                             : std::to_string(work.item);
  return fmt::format("{} of {} in micro-batch {}", to_string(work.kind), item, work.micro_batch);
}

// Recovers the actions of a program. Each is an uninterrupted run of its chunk's layers; updates and marks are skipped.
ActionRow row_of(const Role& role, const std::vector<Chunk>& chunks, const Profile& profile,
                 const SourceLocation& place) {
  ActionRow row;
  std::size_t next = 0;
  const auto skip = [&] {
    while (next < role.program.size() && !is_pass(role.program[next].kind)) ++next;
    return next < role.program.size();
  };
  while (skip()) {
    const Work first = role.program[next];
    const bool forward = first.kind == Activity::Forward;
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
    row.push_back({first.kind, static_cast<std::uint32_t>(chunk - chunks.begin()), first.micro_batch});
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
    for (std::uint32_t rank = 0; rank < plan.roles.size(); ++rank)
      duties_.push_back({.role = rank, .transfers = {}, .holds = std::vector<bool>(profile.tensors.size(), false)});
    for (std::uint32_t index = 0; index < plan.transfers.size(); ++index)
      if (const auto rank = plan.rank_of(plan.transfers[index])) duties_[*rank].transfers.push_back(index);
    for (TensorId id = 0; id < profile.tensors.size(); ++id)
      duties_[pipeline.rank_of(profile.tensors[id].layer)].holds[id] = true;
  }

  std::optional<Complaint> complaint() const {
    if (auto wrong = wrong_lane()) return wrong;
    if (auto wrong = wrong_next()) return wrong;
    if (auto wrong = wrong_sends()) return wrong;
    for (std::uint32_t rank = 0; rank < plan_.roles.size(); ++rank)
      if (auto wrong = wrong_program(rank)) return wrong;
    if (auto wrong = wrong_operation()) return wrong;
    if (auto wrong = find_plan_error(plan_, profile_, duties_)) return wrong;
    if (auto wrong = wrong_holding()) return wrong;
    return wrong_tied();
  }

  /// Returns the data that the send delivers; none if no pass of its receiver waits for it.
  std::optional<Delivery> delivery(std::uint32_t index) const {
    const auto [from, to] = pair_of(plan_.transfers[index]);
    const auto place = gates_.read(index, to, false);
    if (!place) return std::nullopt;
    // If an update or a mark waits, the data is for the pass that follows it.
    const std::vector<Work>& program = plan_.roles[to].program;
    const auto pass = std::find_if(program.begin() + *place, program.end(), [](const Work& one) {
      return is_pass(one.kind) && one.kind != Activity::BackwardWeight;
    });
    if (pass == program.end()) return std::nullopt;
    const std::uint32_t chunk = pipeline_.chunk_of(pass->item);
    const bool forward = pass->kind == Activity::Forward;
    const std::uint32_t neighbour = forward ? chunk - 1 : chunk + 1;  // 0 - 1 wraps around and is rejected below
    if (neighbour >= pipeline_.chunks.size() || pipeline_.index.rank_of[neighbour] != from) return std::nullopt;
    if (pass->item != (forward ? pipeline_.chunks[chunk].first : pipeline_.chunks[chunk].last)) return std::nullopt;
    return Delivery{from, to, std::min(chunk, neighbour), pass->micro_batch, forward, *pass};
  }

 private:
  std::string name(std::uint32_t index) const { return describe_transfer(plan_, index, profile_); }
  std::uint32_t rank_of_worker(std::int64_t worker) const {
    return static_cast<std::uint32_t>(worker / pipeline_.degrees.rank_workers());
  }
  std::pair<std::uint32_t, std::uint32_t> pair_of(const Transfer& one) const {
    const std::vector<std::int64_t>& members = plan_.groups[one.group].group.members;
    return {rank_of_worker(members[0]), rank_of_worker(members[1])};
  }
  bool is_of_rank(const Transfer& one) const { return plan_.rank_of(one).has_value(); }
  std::optional<std::uint32_t> place(std::uint32_t rank, const Work& work) const {
    const auto found = places_[rank].find(work);
    return found ? std::optional(static_cast<std::uint32_t>(*found)) : std::nullopt;
  }
  bool updates_at_start(std::uint32_t rank) const { return place(rank, {Activity::Update, everything}).has_value(); }

  // Checks that no lane mixes the reductions and gathers of one rank with those of another, or with sends.
  std::optional<Complaint> wrong_lane() const {
    std::map<std::uint32_t, std::uint32_t> first;  // by lane: a transfer that it carries
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      const bool block = one.payload.block != Payload::just_bytes;
      if (block != is_of_rank(one) || (block && one.op == CollectiveOp::Send))
        return Complaint{fmt::format("{} cannot be sent on {}", name(index), plan_.groups[one.group].name),
                         "blocks on \"data R\" (of experts on \"expert R\"); sends and tied tensors on \"R to S\""};
      if (!block && plan_.lanes[one.lane].tick > Time(0))
        return Complaint{fmt::format("{} is on lane '{}', which has ticks", name(index), plan_.lanes[one.lane].name),
                         "ticks for blocks only"};
      const Transfer& other = plan_.transfers[first.emplace(one.lane, index).first->second];
      if ((is_of_rank(one) || is_of_rank(other)) && plan_.rank_of(one) != plan_.rank_of(other))
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
        std::any_of(program.begin(), program.end(), [](const Work& one) { return one.kind == Activity::Mark; });
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
    if (one.forward) return {Activity::Forward, pipeline_.chunks[one.cut].last, one.micro_batch};
    const LayerId first = pipeline_.chunks[one.cut + 1].first;
    const Work whole{Activity::Backward, first, one.micro_batch};
    return place(one.from, whole) ? whole : Work{Activity::BackwardInput, first, one.micro_batch};
  }

  // Checks that blocks are reduced and gathered by the operations of the plan's kind of sharding.
  std::optional<Complaint> wrong_operation() const {
    const bool shards = plan_.sharding.shards_optimizer();
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      const bool fits = shards ? one.op == CollectiveOp::ReduceScatter || one.op == CollectiveOp::AllGather
                               : one.op == CollectiveOp::AllReduce;
      if (is_of_rank(one) && !fits)
        return Complaint{fmt::format("{} is not an operation of zero {}", name(index), plan_.sharding.zero),
                         shards ? "reduce-scatters and all-gathers" : "all-reduces"};
    }
    return std::nullopt;
  }

  // Checks that gathers of sharded parameters say until when they are held.
  std::optional<Complaint> wrong_holding() const {
    for (std::uint32_t index = 0; index < plan_.transfers.size() && plan_.sharding.shards_parameters(); ++index) {
      const Transfer& one = plan_.transfers[index];
      if (one.op != CollectiveOp::AllGather) continue;
      const std::uint32_t rank = plan_.rank_of(one).value();
      const auto read = gates_.read(index, rank, false);
      if (!read || !one.held_until || one.held_until->role != rank || one.held_until->place < *read)
        return Complaint{fmt::format("{} does not say how long rank {} holds it", name(index), rank),
                         "\"held_until\": the rank's work after which it is freed, after those that read it"};
    }
    return std::nullopt;
  }

  std::optional<Complaint> wrong_tied() const {
    std::optional<std::uint32_t> tied;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (!is_of_rank(plan_.transfers[index]) && plan_.transfers[index].op != CollectiveOp::Send) {
        if (tied)
          return Complaint{fmt::format("{} is a second sum between ranks", name(index)), "one sum of the tied tensors"};
        tied = index;
      }
    const auto rank_of = [&](TensorId tensor) { return pipeline_.rank_of(profile_.tensors[tensor].layer); };
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
      for (const std::uint32_t index : duties_[rank].transfers)
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
  std::vector<ProgramIndex> places_;  // by rank
  std::vector<Duty> duties_;          // by rank: its reductions and gathers
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

std::optional<Complaint> find_plan_error(const Plan& plan, const Pipeline& pipeline, const Profile& profile) {
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
  std::vector<std::uint32_t> rank_of_lane(plan.lanes.size(), ranks);
  for (const Transfer& one : plan.transfers)
    if (const auto rank = plan.rank_of(one)) rank_of_lane[one.lane] = *rank;
  std::uint32_t next = ranks;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane)
    plan.lanes[lane].channel = rank_of_lane[lane] < ranks ? rank_of_lane[lane] : next++;
}

}  // namespace allreplay
