#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/timelines/sharded_steps.hpp"

namespace allreplay {

namespace {

using kineto::ShardedOp;
using kineto::ShardedRankStep;
using kineto::ShardedTrace;
using OpKeys = std::vector<decltype(ShardedOp().key())>;

OpKeys keys_of(const ShardedRankStep& step) {
  OpKeys keys;
  for (const ShardedOp& op : step.ops) keys.push_back(op.key());
  return keys;
}

std::string collectives_and_computes_in(const ShardedRankStep& step) {
  const auto count = [&](auto is_kind) {
    return std::count_if(step.ops.begin(), step.ops.end(), [&](const ShardedOp& op) { return is_kind(op.kind); });
  };
  return fmt::format("{}, {} and {}", counted(count(is_gather), "gather"),
                     counted(count(is_unit_reduction), "reduction"), counted(count(is_compute), "compute"));
}

// Returns how far each rank's clock is ahead of the first one's: the median over the ends of the collectives that it
// shares with a rank whose clock is known, or with any rank if it shares none.
std::vector<std::int64_t> clock_shifts(const std::vector<ShardedTrace>& ranks) {
  std::vector<std::optional<std::int64_t>> ahead(ranks.size());
  ahead.front() = 0;
  const auto shift = [&](const ShardedTrace& rank, const ShardedTrace& other, bool any) -> std::optional<std::int64_t> {
    std::vector<std::int64_t> differences;
    for (std::size_t step = 0; step < rank.steps.size(); ++step)
      for (std::size_t i = 0; i < rank.steps[step].ops.size(); ++i) {
        const ShardedOp &mine = rank.steps[step].ops[i], &theirs = other.steps[step].ops[i];
        if (!is_compute(mine.kind) && (any || mine.group == theirs.group))
          differences.push_back(mine.ran.end - theirs.ran.end);
      }
    if (differences.empty()) return std::nullopt;
    return median_of(std::move(differences));
  };
  for (const bool any : {false, true}) {
    std::vector<std::size_t> since(
        ranks.size());  // the round in which a clock became known: earlier ones share nothing
    bool found = true;
    for (std::size_t round = 0; found; ++round) {
      found = false;
      for (std::size_t i = 1; i < ranks.size(); ++i)
        for (std::size_t other = 0; other < ranks.size() && !ahead[i]; ++other)
          if (ahead[other] && since[other] + 1 >= round && other != i)
            if (const auto more = shift(ranks[i], ranks[other], any)) {
              ahead[i] = add(Time(*ahead[other]), Time(*more)).count();
              since[i] = round;
              found = true;
            }
    }
  }
  std::vector<std::int64_t> shifts;
  for (const auto& one : ahead) shifts.push_back(one.value_or(0));
  return shifts;
}

MeasuredOp measured(const ShardedOp& op, std::int64_t step, std::uint32_t replica, std::int64_t origin,
                    MeasuredJob& job) {
  const bool compute = op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute;
  return {.step = step,
          .start = between(origin, op.ran.start),
          .duration = between(op.ran.start, op.ran.end),
          .replica = replica,
          .seq = compute ? op.batch : op.unit,
          .chunk = static_cast<std::int32_t>(compute ? op.unit : op.batch),
          .entry = no_entry,
          .file = static_cast<std::uint16_t>(replica),
          .kind = op.kind,
          .part = op.part,
          .stream = op.stream,
          .group = is_compute(op.kind) ? 0 : job.group(op.group)};
}

// Takes the sizes that do not change from step to step.
void add_sizes(const std::vector<ShardedRankStep>& steps, MeasuredJob& job) {
  for (const ShardedRankStep& step : steps)
    for (const ShardedOp& op : step.ops) {
      if (!is_gather(op.kind) && !is_unit_reduction(op.kind)) continue;
      const CollectiveSize size{is_gather(op.kind)              ? "all-gather"
                                : op.kind == OpKind::UnitReduce ? "reduce-scatter"
                                                                : "all-reduce",
                                op.workers, op.bytes};
      const auto known = job.unit_sizes.emplace(std::pair(op.kind, op.unit), size).first;
      if (known->second.bytes != size.bytes || known->second.workers != size.workers) known->second.bytes = 0;
    }
}

}  // namespace

MeasuredJob kineto::sharded_job(std::vector<ShardedTrace> ranks) {
  sort_ranks(ranks);
  const std::vector<std::int64_t> others =
      keep_common_steps(ranks, keys_of, collectives_and_computes_in,
                        "traces of the same steps, recorded on all ranks by profilers with the same schedule");
  const std::vector<std::int64_t> ahead = clock_shifts(ranks);
  MeasuredJob job;
  job.kineto = true;
  const std::int64_t origin = ranks.front().steps.front().ops.front().ran.start;
  bool knows_groups = false;
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    job.files.push_back(ranks[i].file);
    job.ranks[{i, 0}] = ranks[i].number;
    const std::int64_t from = add(Time(origin), Time(ahead[i])).count();
    for (const ShardedRankStep& step : ranks[i].steps)
      for (const ShardedOp& op : step.ops) {
        job.ops.push_back(measured(op, step.number, i, from, job));
        knows_groups |= op.workers > 0;
      }
  }
  add_sizes(ranks.front().steps, job);
  job.unit_names = ranks.front().unit_names;
  std::replace(job.unit_names.begin(), job.unit_names.end(), std::string(), std::string("root"));
  job.precision = ranks.front().precision;
  note_alignment(ranks, others, "gathers, reductions or parts of computing", ahead, job);
  if (!knows_groups)
    job.notes.push_back("the traces do not name process groups: every collective is taken as one of all ranks");
  return job;
}

}  // namespace allreplay
