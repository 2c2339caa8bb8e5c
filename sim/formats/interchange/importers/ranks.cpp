#include "sim/formats/interchange/importers/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

// The computation time of one rank per iteration.
struct Pace {
  double mean = 0;               // seconds
  std::optional<double> spread;  // standard deviation between iterations, in seconds
  std::size_t iterations = 0;
};

Pace pace_of(const Imported& rank) {
  Pace pace{.iterations = rank.iterations.size()};
  std::vector<double> sums;
  for (const std::vector<Time>& iteration : rank.iterations) {
    double& sum = sums.emplace_back();
    for (const Time time : iteration) sum += to_seconds(time);
    pace.mean += sum / static_cast<double>(rank.iterations.size());
  }
  if (sums.size() < 2) return pace;
  double squares = 0;
  for (const double sum : sums) squares += (sum - pace.mean) * (sum - pace.mean);
  pace.spread = std::sqrt(squares / static_cast<double>(sums.size() - 1));
  return pace;
}

// Returns the relative standard deviation of single passes of layers from their means on a rank: if passes vary
// independently by this much, the sum of their variances is as measured. None if no rank has two iterations.
std::optional<double> deviation(std::span<const Imported> ranks) {
  double variance = 0, squares = 0;
  for (const Imported& rank : ranks) {
    const auto count = static_cast<double>(rank.iterations.size());
    if (count < 2) continue;
    for (std::size_t pass = 0; pass < rank.iterations.front().size(); ++pass) {
      double mean = 0, about = 0;
      for (const auto& iteration : rank.iterations) mean += to_seconds(iteration[pass]) / count;
      for (const auto& iteration : rank.iterations) about += std::pow(to_seconds(iteration[pass]) - mean, 2);
      variance += about / (count - 1);
      squares += mean * mean;
    }
  }
  if (squares == 0) return std::nullopt;
  return std::sqrt(variance / squares);
}

void require_same_job(const Imported& first, const Imported& other, const std::string& file,
                      const std::string& before) {
  const SourceLocation place{file, ""};
  constexpr auto hint = "traces of several ranks of one data-parallel job";
  const Profile &a = first.profile, &b = other.profile;
  if (a.layers.size() != b.layers.size())
    throw InputError(place, fmt::format("has {} layers, but {} has {}", b.layers.size(), before, a.layers.size()),
                     hint);
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    if (a.layers[i].name != b.layers[i].name)
      throw InputError(
          place, fmt::format("its layer {} is '{}', but '{}' in {}", i + 1, b.layers[i].name, a.layers[i].name, before),
          hint);
  const auto same = [](const Tensor& x, const Tensor& y) { return x.elements == y.elements && x.layer == y.layer; };
  if (!std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same))
    throw InputError(place, fmt::format("has other parameters than {}", before), hint);
  if (a.batch_size != b.batch_size)
    throw InputError(place, fmt::format("has a batch size of {}, but {} of {}", *b.batch_size, before, *a.batch_size),
                     "traces of ranks with equal batches, or --batch");
  if (a.precision != b.precision)
    throw InputError(place, fmt::format("is in {}, but {} in {}", b.precision, before, a.precision), hint);
}

// True if all ranks ran the same collectives in the same order.
bool ran_same_collectives(std::span<const Imported> ranks) {
  const auto same = [](const MeasuredCollective& a, const MeasuredCollective& b) {
    return a.name == b.name && a.workers == b.workers && a.bytes == b.bytes;
  };
  return std::all_of(ranks.begin(), ranks.end(), [&](const Imported& rank) {
    return std::equal(rank.collectives.begin(), rank.collectives.end(), ranks.front().collectives.begin(),
                      ranks.front().collectives.end(), same);
  });
}

std::vector<MeasuredCollective> merged_collectives(std::span<const Imported> ranks) {
  std::vector<MeasuredCollective> all = ranks.front().collectives;
  const bool same = ran_same_collectives(ranks);
  for (const Imported& rank : ranks.subspan(1))
    for (std::size_t i = 0; i < rank.collectives.size(); ++i)
      if (same)
        all[i].time = std::min(all[i].time, rank.collectives[i].time);
      else
        all.push_back(rank.collectives[i]);
  return all;
}

Time mean_of(std::span<const Imported> ranks, auto time_of) {
  Time sum{0};
  for (const Imported& rank : ranks) sum = add(sum, time_of(rank.profile));
  return Time(sum.count() / static_cast<std::int64_t>(ranks.size()));
}

std::string times_of(double factor) { return fmt::format("{:.4f}", factor); }

void note_stragglers(std::span<const Imported> ranks, std::span<const std::int64_t> numbers, Imported& merged) {
  std::vector<Pace> paces;
  double mean = 0;
  for (const Imported& rank : ranks) {
    paces.push_back(pace_of(rank));
    mean += paces.back().mean / static_cast<double>(ranks.size());
  }
  std::vector<std::string> each, slow, flags;
  bool once = false;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double factor = paces[i].mean / mean;
    each.push_back(fmt::format("rank {} {}", numbers[i], times_of(factor)));
    once |= !paces[i].spread;
    // A rank differs if it is off by more than three standard errors; with a single iteration, by more than 1 %.
    const double error =
        paces[i].spread ? 3 * *paces[i].spread / std::sqrt(static_cast<double>(paces[i].iterations)) / mean : 0.01;
    if (std::abs(factor - 1) <= error) continue;
    slow.push_back(fmt::format("{{\"worker\": {}, \"slowdown\": {}}}", numbers[i], times_of(factor)));
    flags.push_back(fmt::format("{}:{}", numbers[i], times_of(factor)));
  }
  merged.notes.push_back(fmt::format("computation, relative to the mean of all ranks: {}", fmt::join(each, ", ")));
  if (slow.empty())
    merged.notes.push_back(
        fmt::format("no rank differs from it by more than {}", once ? "1 %" : "three standard errors of its mean"));
  else
    merged.notes.push_back(fmt::format("in a cluster file: \"stragglers\": [{}]{}", fmt::join(slow, ", "),
                                       once ? " (a rank has only one iteration, so such a factor may be chance)" : ""));
  if (const auto sigma = deviation(ranks)) {
    double spread = 0, of = 0;
    for (const Pace& pace : paces)
      if (pace.spread) {
        spread += *pace.spread * *pace.spread;
        of += pace.mean * pace.mean;
      }
    merged.notes.push_back(
        fmt::format("in a cluster file: \"jitter\": {{\"distribution\": \"normal\", \"sigma\": {:.4f}}}, the deviation "
                    "of single passes of layers; all passes of an iteration together deviate by {:.2f} %",
                    *sigma, std::sqrt(spread / of) * 100));
  } else {
    merged.notes.emplace_back("no rank has two iterations, so jitter is not known");
  }
}

}  // namespace

Imported merged_ranks(std::span<const Imported> ranks, std::span<const std::string> files) {
  std::map<std::int64_t, std::string> by_number;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    numbers.push_back(ranks[i].rank.value_or(static_cast<std::int64_t>(i)));
    const auto [other, fresh] = by_number.emplace(numbers.back(), files[i]);
    if (!fresh)
      throw InputError({files[i], ""}, fmt::format("is of rank {}, like {}", numbers.back(), other->second),
                       "one trace of each rank");
    if (ranks[i].iterations.empty())
      throw InputError({files[i], ""}, "is of a format without ranks", "Kineto traces, or one file");
    require_same_job(ranks.front(), ranks[i], files[i], files.front());
  }
  Imported merged = ranks.front();
  Profile& profile = merged.profile;
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    profile.layers[i].forward = mean_of(ranks, [i](const Profile& one) { return one.layers[i].forward; });
    profile.layers[i].backward = mean_of(ranks, [i](const Profile& one) { return one.layers[i].backward; });
  }
  const bool updates =
      std::all_of(ranks.begin(), ranks.end(), [](const Imported& one) { return one.profile.update.has_value(); });
  if (updates) profile.update = mean_of(ranks, [](const Profile& one) { return *one.update; });
  profile.source += fmt::format(", and {} other rank{}", ranks.size() - 1, ranks.size() == 2 ? "" : "s");
  merged.collectives = merged_collectives(ranks);
  merged.notes.push_back(
      fmt::format("the notes above are about rank {}; times are means of {} ranks{}", numbers.front(), ranks.size(),
                  merged.workers ? fmt::format(" of the {} that the job has", *merged.workers) : ""));
  note_stragglers(ranks, numbers, merged);
  if (!merged.collectives.empty())
    merged.notes.emplace_back(
        ran_same_collectives(ranks)
            ? "the time of a collective is its shortest on any of these ranks: with all ranks of the job, "
              "that of the last to arrive, which does not wait"
            : "the ranks did not run the same collectives: each counts with the time of each rank");
  return merged;
}

}  // namespace allreplay
