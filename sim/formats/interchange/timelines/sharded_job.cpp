#include "sim/formats/interchange/timelines/sharded_job.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

using kineto::ShardedOp;
using kineto::ShardedRankStep;
using OpKeys = std::vector<decltype(ShardedOp().key())>;

OpKeys keys_of(const ShardedRankStep& step) {
  OpKeys keys;
  for (const ShardedOp& op : step.ops) keys.push_back(op.key());
  return keys;
}

// Returns "rank 0 has 5 gathers and 4 reductions in step 3, rank 1 …", for an error message.
std::string first_steps(const std::vector<ShardedTrace>& ranks) {
  constexpr std::size_t most = 4;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i) {
    const ShardedRankStep& step = ranks[i].rank.steps.front();
    const auto count = [&](auto is_kind) {
      return std::count_if(step.ops.begin(), step.ops.end(), [&](const ShardedOp& op) { return is_kind(op.kind); });
    };
    words.push_back(fmt::format("rank {} has {}, {} and {} in step {}", ranks[i].number,
                                counted(count(is_gather), "gather"), counted(count(is_unit_reduction), "reduction"),
                                counted(count(is_compute), "compute"), step.number));
  }
  return fmt::format("{}{}", fmt::join(words, ", "), ranks.size() > most ? ", …" : "");
}

// Keeps the steps that all ranks ran with the most frequent ops. Returns the numbers of the others.
std::vector<std::int64_t> keep_common(std::vector<ShardedTrace>& ranks) {
  std::map<OpKeys, std::size_t> counts;
  for (const ShardedTrace& trace : ranks)
    for (const ShardedRankStep& step : trace.rank.steps) ++counts[keys_of(step)];
  const OpKeys usual = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
  const std::string had = first_steps(ranks);
  std::map<std::int64_t, std::size_t> usual_ranks;  // by step number, the ranks on which it has these ops
  for (const ShardedTrace& trace : ranks)
    for (const ShardedRankStep& step : trace.rank.steps) usual_ranks[step.number] += keys_of(step) == usual;
  for (ShardedTrace& trace : ranks)
    std::erase_if(trace.rank.steps,
                  [&](const ShardedRankStep& step) { return usual_ranks[step.number] < ranks.size(); });
  if (ranks.front().rank.steps.empty())
    throw InputError({ranks.front().file, ""}, "has no step in common with the other ranks' traces: " + had,
                     "traces of the same steps, recorded on all ranks by profilers with the same schedule");
  std::vector<std::int64_t> others;
  for (const auto& [number, count] : usual_ranks)
    if (count < ranks.size()) others.push_back(number);
  return others;
}

// Returns how far each rank's clock is ahead of the first one's: the median over the ends of the collectives that it
// shares with a rank whose clock is known, or with any rank if it shares none.
std::vector<std::int64_t> clock_shifts(const std::vector<ShardedTrace>& ranks) {
  std::vector<std::optional<std::int64_t>> ahead(ranks.size());
  ahead.front() = 0;
  const auto shift = [&](const ShardedTrace& rank, const ShardedTrace& other, bool any) -> std::optional<std::int64_t> {
    std::vector<std::int64_t> differences;
    for (std::size_t step = 0; step < rank.rank.steps.size(); ++step)
      for (std::size_t i = 0; i < rank.rank.steps[step].ops.size(); ++i) {
        const ShardedOp &mine = rank.rank.steps[step].ops[i], &theirs = other.rank.steps[step].ops[i];
        if (!is_compute(mine.kind) && (any || mine.group == theirs.group))
          differences.push_back(mine.ran.end - theirs.ran.end);
      }
    if (differences.empty()) return std::nullopt;
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    if (differences.size() % 2 == 1) return *middle;
    const std::int64_t below = *std::max_element(differences.begin(), middle);
    return below + (*middle - below) / 2;
  };
  for (const bool any : {false, true})
    for (std::size_t found = 1; found > 0;) {
      found = 0;
      for (std::size_t i = 1; i < ranks.size(); ++i)
        for (std::size_t other = 0; other < ranks.size() && !ahead[i]; ++other)
          if (ahead[other] && other != i)
            if (const auto more = shift(ranks[i], ranks[other], any)) {
              ahead[i] = add(Time(*ahead[other]), Time(*more)).count();
              ++found;
            }
    }
  std::vector<std::int64_t> shifts;
  for (const auto& one : ahead) shifts.push_back(one.value_or(0));
  return shifts;
}

// Returns the time between two instants in nanoseconds, on any clock. Throws TimeOverflow.
Time picoseconds(std::int64_t from, std::int64_t to) { return multiplied(add(Time(to), Time(-from)), 1000); }

MeasuredOp measured(const ShardedOp& op, std::int64_t step, std::uint32_t replica, std::int64_t origin,
                    MeasuredJob& job) {
  const bool compute = op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute;
  return {.step = step,
          .start = picoseconds(origin, op.ran.start),
          .duration = picoseconds(op.ran.start, op.ran.end),
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

MeasuredJob sharded_job(std::vector<ShardedTrace> ranks) {
  const std::vector<std::int64_t> others = keep_common(ranks);
  const std::vector<std::int64_t> ahead = clock_shifts(ranks);
  MeasuredJob job;
  job.kineto = true;
  std::int64_t origin = ranks.front().rank.steps.front().ops.front().ran.start;
  std::vector<std::string> shifts;
  bool knows_groups = false;
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    job.files.push_back(ranks[i].file);
    job.ranks[{i, 0}] = ranks[i].number;
    const std::int64_t from = add(Time(origin), Time(ahead[i])).count();
    for (const ShardedRankStep& step : ranks[i].rank.steps)
      for (const ShardedOp& op : step.ops) {
        job.ops.push_back(measured(op, step.number, i, from, job));
        knows_groups |= op.workers > 0;
      }
    if (i > 0)
      shifts.push_back(fmt::format("rank {} {}{}", ranks[i].number,
                                   format_duration(std::abs(static_cast<double>(ahead[i])) * 1e-9),
                                   ahead[i] < 0   ? " behind"
                                   : ahead[i] > 0 ? " ahead"
                                                  : ""));
  }
  add_sizes(ranks.front().rank.steps, job);
  job.unit_names = ranks.front().rank.unit_names;
  std::replace(job.unit_names.begin(), job.unit_names.end(), std::string(), std::string("root"));
  job.precision = ranks.front().rank.precision;
  if (!others.empty())
    job.notes.push_back(
        fmt::format("left out: {} {}, which some ranks did not run, or ran with other gathers, reductions or parts of "
                    "computing than most",
                    others.size() == 1 ? "step" : "steps", fmt::join(others, ", ")));
  job.notes.push_back(
      fmt::format("clocks aligned with that of rank {}: {}", ranks.front().number, fmt::join(shifts, ", ")));
  if (!knows_groups)
    job.notes.push_back("the traces do not name process groups: every collective is taken as one of all ranks");
  return job;
}

}  // namespace allreplay
