#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/timelines/kineto_steps.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"
#include "sim/formats/interchange/timelines/sharded_job.hpp"

namespace allreplay {

namespace {

using kineto::RankStep;

struct RankTrace {
  std::string file;
  std::int64_t number = 0;
  std::vector<RankStep> steps;
};

// The number of collectives of a step, and whether it has an update.
using Shape = std::pair<std::size_t, bool>;

Shape shape_of(const RankStep& step) { return {step.collectives.size(), step.optimizer.has_value()}; }

Shape usual_shape(const std::vector<RankTrace>& ranks) {
  std::map<Shape, std::size_t> counts;
  for (const RankTrace& rank : ranks)
    for (const RankStep& step : rank.steps) ++counts[shape_of(step)];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// Returns "rank 0 has 3 collectives of gradients in step 5, rank 1 …", for an error message.
std::string first_steps(const std::vector<RankTrace>& ranks) {
  constexpr std::size_t most = 4;
  std::vector<std::string> words;
  for (const RankTrace& rank : ranks)
    if (words.size() < most)
      words.push_back(
          fmt::format("rank {} has {} of gradients in step {}", rank.number,
                      counted(static_cast<std::int64_t>(rank.steps.front().collectives.size()), "collective"),
                      rank.steps.front().number));
  return fmt::format("{}{}", fmt::join(words, ", "), ranks.size() > most ? ", …" : "");
}

// Keeps the steps that all ranks ran with the usual shape. Returns the numbers of the others.
std::vector<std::int64_t> keep_common_steps(std::vector<RankTrace>& ranks) {
  const Shape usual = usual_shape(ranks);
  const std::string had = first_steps(ranks);
  std::map<std::int64_t, std::size_t> usual_ranks;  // by step number, the ranks on which it has the usual shape
  for (const RankTrace& rank : ranks)
    for (const RankStep& step : rank.steps) usual_ranks[step.number] += shape_of(step) == usual;
  for (RankTrace& rank : ranks)
    std::erase_if(rank.steps, [&](const RankStep& step) { return usual_ranks[step.number] < ranks.size(); });
  std::vector<std::int64_t> others;
  for (const auto& [number, count] : usual_ranks)
    if (count < ranks.size()) others.push_back(number);
  if (ranks.front().steps.empty())
    throw InputError({ranks.front().file, ""}, "has no step in common with the other ranks' traces: " + had,
                     "traces of the same steps, with equally many collectives");
  if (usual.first == 0)
    throw InputError({ranks.front().file, ""}, "has no collective of gradients in its backward passes",
                     "traces of a data-parallel job: its collectives align the clocks of the ranks");
  return others;
}

// Returns how far a rank's clock is ahead of the first one's: the median over the ends of collectives.
std::int64_t clock_shift(const RankTrace& rank, const RankTrace& first) {
  std::vector<std::int64_t> ahead;
  for (std::size_t i = 0; i < rank.steps.size(); ++i)
    for (std::size_t k = 0; k < rank.steps[i].collectives.size(); ++k)
      ahead.push_back(rank.steps[i].collectives[k].end - first.steps[i].collectives[k].end);
  const auto middle = ahead.begin() + static_cast<std::ptrdiff_t>(ahead.size() / 2);
  std::nth_element(ahead.begin(), middle, ahead.end());
  if (ahead.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(ahead.begin(), middle);
  return below + (*middle - below) / 2;
}

// Returns the time between two instants in nanoseconds, on any clock. Throws TimeOverflow.
Time between(std::int64_t from, std::int64_t to) { return multiplied(add(Time(to), Time(-from)), 1000); }

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

// Sorts a rank's steps and keeps the chosen ones.
template <class RankSteps>
void choose_steps(RankSteps& all, const std::string& name, const StepChoice& steps) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  const std::int64_t first = all.front().number, last = all.back().number;
  std::erase_if(all, [&](const auto& step) { return !steps.takes(step.number); });
  if (all.empty()) throw no_such_steps_error(name, first, last);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].number == all[i - 1].number)
      throw InputError({name, ""}, fmt::format("has step {} twice", all[i].number), "each step once");
}

// Sorts the traces by rank.
template <class Traces>
void sort_ranks(Traces& ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i].number == ranks[i - 1].number)
      throw InputError({ranks[i].file, ""}, fmt::format("is of rank {}, like {}", ranks[i].number, ranks[i - 1].file),
                       "one trace of each rank");
}

void note_missing_ranks(std::int64_t workers, std::size_t ranks, MeasuredJob& job) {
  if (workers > static_cast<std::int64_t>(ranks))
    job.notes.push_back(
        fmt::format("the job has {} ranks, but these are traces of {}: delays by the others look like slow collectives",
                    workers, ranks));
}

void note_time_left_out(const RankTrace& rank, MeasuredJob& job) {
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

}  // namespace

MeasuredJob read_kineto_job(const Files& files, std::span<const std::string> names, const StepChoice& steps) {
  std::vector<RankTrace> ranks;
  std::vector<ShardedTrace> sharded;
  std::int64_t workers = 0;
  for (const std::string& name : names) {
    const auto place = static_cast<std::int64_t>(ranks.size() + sharded.size());
    const kineto::Attribution known = read_attribution(files, name);
    const std::int64_t number = known.trace.rank >= 0 ? known.trace.rank : place;
    workers = std::max(workers, known.trace.workers);
    const auto marks = kineto::unit_marks(known);
    if (marks && ranks.empty()) {
      sharded.push_back({name, number, kineto::sharded_steps(known, *marks, std::ssize(names), {name, ""})});
      choose_steps(sharded.back().rank.steps, name, steps);
      continue;
    }
    if (!sharded.empty())
      throw InputError({name, ""}, fmt::format("is not of sharded training, unlike {}", names.front()),
                       "traces of the ranks of one job");
    ranks.push_back({name, number, kineto::rank_steps(known, {name, ""})});
    choose_steps(ranks.back().steps, name, steps);
  }
  if (names.size() < 2)
    throw InputError({names.front(), ""}, "is a trace of one rank", "the traces of several ranks of one job");
  if (!sharded.empty()) {
    sort_ranks(sharded);
    const std::size_t count = sharded.size();
    MeasuredJob job = sharded_job(std::move(sharded));
    note_missing_ranks(workers, count, job);
    return job;
  }
  sort_ranks(ranks);
  const std::vector<std::int64_t> others = keep_common_steps(ranks);
  MeasuredJob job;
  job.kineto = true;
  job.collectives = sizes_of(ranks.front().steps);
  const std::int64_t origin = ranks.front().steps.front().forward.start;
  std::vector<std::string> shifts;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::int64_t ahead = clock_shift(ranks[i], ranks.front());
    const std::int64_t ahead_origin = add(Time(origin), Time(ahead)).count();
    if (i > 0)
      shifts.push_back(fmt::format("rank {} {}{}", ranks[i].number,
                                   format_duration(std::abs(static_cast<double>(ahead)) * 1e-9),
                                   ahead < 0   ? " behind"
                                   : ahead > 0 ? " ahead"
                                               : ""));
    job.files.push_back(ranks[i].file);
    job.ranks[{static_cast<std::uint32_t>(i), 0}] = ranks[i].number;
    for (const RankStep& step : ranks[i].steps) add_step(step, static_cast<std::uint32_t>(i), ahead_origin, job);
    note_time_left_out(ranks[i], job);
  }
  if (!others.empty())
    job.notes.push_back(
        fmt::format("left out: {} {}, which some ranks did not run, or ran with other collectives than most",
                    others.size() == 1 ? "step" : "steps", fmt::join(others, ", ")));
  job.notes.push_back(
      fmt::format("clocks aligned with that of rank {}: {}", ranks.front().number, fmt::join(shifts, ", ")));
  note_missing_ranks(workers, ranks.size(), job);
  return job;
}

}  // namespace allreplay
