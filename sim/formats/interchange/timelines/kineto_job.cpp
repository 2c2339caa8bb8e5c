#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/timelines/kineto_steps.hpp"
#include "sim/formats/interchange/timelines/rank_traces.hpp"
#include "sim/formats/interchange/timelines/sharded_steps.hpp"

namespace allreplay {

namespace {

using kineto::RankStep;

using DataParallelTrace = RankTrace<RankStep>;

// The number of collectives of a step, and whether it has an update.
std::pair<std::size_t, bool> shape_of_step(const RankStep& step) {
  return {step.collectives.size(), step.optimizer.has_value()};
}

std::string collectives_in(const RankStep& step) {
  return fmt::format("{} of gradients", counted(std::ssize(step.collectives), "collective"));
}

std::vector<std::int64_t> keep_steps_with_collectives(std::vector<DataParallelTrace>& ranks) {
  std::vector<std::int64_t> others = keep_common_steps(ranks, shape_of_step, collectives_in,
                                                       "traces of the same steps, with equally many collectives");
  if (ranks.front().steps.front().collectives.empty())
    throw InputError({ranks.front().file, ""}, "has no collective of gradients in its backward passes",
                     "traces of a data-parallel job: its collectives align the clocks of the ranks");
  return others;
}

// Returns how far a rank's clock is ahead of the first one's: the median over the ends of collectives.
std::int64_t clock_shift(const DataParallelTrace& rank, const DataParallelTrace& first) {
  std::vector<std::int64_t> ahead;
  for (std::size_t i = 0; i < rank.steps.size(); ++i)
    for (std::size_t k = 0; k < rank.steps[i].collectives.size(); ++k)
      ahead.push_back(rank.steps[i].collectives[k].end - first.steps[i].collectives[k].end);
  return median_of(std::move(ahead));
}

void add_step(const RankStep& step, std::uint32_t replica, std::int64_t origin, MeasuredJob& job) {
  const auto add = [&](OpKind kind, std::size_t seq, bool chunked, const Interval& ran) {
    job.ops.push_back({.step = step.number,
                       .start = between(origin, ran.start),
                       .duration = between(ran.start, ran.end),
                       .replica = replica,
                       .seq = static_cast<std::uint32_t>(seq),
                       .chunk = chunked ? static_cast<std::int32_t>(seq) : 0,
                       .entry = no_entry,
                       .file = static_cast<std::uint16_t>(replica),
                       .kind = kind});
  };
  add(OpKind::ForwardCompute, 0, false, step.forward);
  for (std::size_t k = 0; k < step.backward.size(); ++k) add(OpKind::BackwardCompute, k, true, step.backward[k]);
  for (std::size_t k = 0; k < step.collectives.size(); ++k)
    add(OpKind::GradsReduceScatter, k, true, step.collectives[k]);
  if (step.optimizer) add(OpKind::Optimizer, 0, false, *step.optimizer);
}

// Returns the sizes by index in a step; 0 bytes if steps differ, or lack sizes.
std::vector<CollectiveSize> sizes_of(const std::vector<RankStep>& steps) {
  std::vector<CollectiveSize> sizes;
  for (std::size_t k = 0; k < steps.front().sizes.size(); ++k) {
    const auto& first = steps.front().sizes[k];
    const bool known =
        first && std::all_of(steps.begin(), steps.end(), [&](const RankStep& step) {
          const auto& one = step.sizes[k];
          return one && one->name == first->name && one->bytes == first->bytes && one->workers == first->workers;
        });
    sizes.push_back(known ? CollectiveSize{first->name, first->workers, first->bytes} : CollectiveSize{});
  }
  return sizes;
}

kineto::Attribution read_attribution(const Files& files, const std::string& name) {
  ByteSource source(files, name);
  KinetoTrace trace = read_kineto_events(source);
  if (trace.events == 0) throw InputError({name, ""}, "has no event", "a PyTorch profiler's trace");
  return kineto::attributed(std::move(trace));
}

void note_missing_ranks(std::int64_t workers, std::size_t ranks, MeasuredJob& job) {
  if (workers > static_cast<std::int64_t>(ranks))
    job.notes.push_back(
        fmt::format("the job has {} ranks, but these are traces of {}: delays by the others look like slow collectives",
                    workers, ranks));
}

void note_time_left_out(const DataParallelTrace& rank, MeasuredJob& job) {
  double length = 0, left_out = 0;
  for (const RankStep& step : rank.steps) {
    length += static_cast<double>(step.length);
    left_out += static_cast<double>(step.left_out);
  }
  const auto each = [&](double sum) { return format_duration(sum * 1e-9 / static_cast<double>(rank.steps.size())); };
  if (left_out > 0)
    job.notes.push_back(
        fmt::format("left out: {} of the {} of a step of rank {}, when no pass, collective or update ran",
                    each(left_out), each(length), rank.number));
}

MeasuredJob data_parallel_job(std::vector<DataParallelTrace> ranks) {
  sort_ranks(ranks);
  const std::vector<std::int64_t> others = keep_steps_with_collectives(ranks);
  MeasuredJob job;
  job.kineto = true;
  job.collectives = sizes_of(ranks.front().steps);
  const std::int64_t origin = ranks.front().steps.front().forward.start;
  std::vector<std::int64_t> ahead;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ahead.push_back(clock_shift(ranks[i], ranks.front()));
    const std::int64_t ahead_origin = add(Time(origin), Time(ahead.back())).count();
    job.files.push_back(ranks[i].file);
    job.ranks[{static_cast<std::uint32_t>(i), 0}] = ranks[i].number;
    for (const RankStep& step : ranks[i].steps) add_step(step, static_cast<std::uint32_t>(i), ahead_origin, job);
    note_time_left_out(ranks[i], job);
  }
  note_alignment(ranks, others, "collectives", ahead, job);
  return job;
}

}  // namespace

MeasuredJob read_kineto_job(const Files& files, std::span<const std::string> names, const StepChoice& steps) {
  std::vector<DataParallelTrace> ranks;
  std::vector<kineto::ShardedTrace> sharded;
  std::int64_t workers = 0;
  for (const std::string& name : names) {
    const auto place = static_cast<std::int64_t>(ranks.size() + sharded.size());
    const kineto::Attribution known = read_attribution(files, name);
    const std::int64_t number = known.trace.rank >= 0 ? known.trace.rank : place;
    workers = std::max(workers, known.trace.workers);
    const auto marks = kineto::unit_marks(known);
    if (marks && ranks.empty()) {
      sharded.push_back(kineto::sharded_steps(known, *marks, std::ssize(names), {name, ""}));
      sharded.back().number = number;
      choose_steps(sharded.back(), steps);
      continue;
    }
    if (!sharded.empty())
      throw InputError({name, ""}, fmt::format("is not of sharded training, unlike {}", names.front()),
                       "traces of the ranks of one job");
    ranks.push_back({name, number, kineto::rank_steps(known, {name, ""})});
    choose_steps(ranks.back(), steps);
  }
  if (names.size() < 2)
    throw InputError({names.front(), ""}, "is a trace of one rank", "the traces of several ranks of one job");
  MeasuredJob job = sharded.empty() ? data_parallel_job(std::move(ranks)) : sharded_job(std::move(sharded));
  note_missing_ranks(workers, names.size(), job);
  return job;
}

}  // namespace allreplay
