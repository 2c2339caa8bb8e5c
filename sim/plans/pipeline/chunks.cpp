#include "sim/plans/pipeline/chunks.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

// Finds the balanced cut: consecutive units form chunks whose times lie between two limits, found by binary search.
class Balance {
 public:
  Balance(const std::vector<Time>& units, std::size_t chunks) : chunks_(chunks), before_{Time(0)} {
    for (const Time one : units) before_.push_back(add(before_.back(), one));
  }

  /// Returns the number of units in each chunk.
  std::vector<std::size_t> lengths() {
    most_ = least_that([&](Time most) { return possible(Time(0), most); }, Time(0), before_.back());
    // The largest possible lower limit is one less than the smallest impossible one.
    least_ =
        least_that([&](Time least) { return !possible(least, most_); }, Time(0), before_.back() + Time(1)) - Time(1);
    possible(least_, most_);
    std::vector<std::size_t> lengths;
    std::size_t from = 0;
    for (std::size_t left = chunks_; left > 0; --left) {
      std::size_t end = from + 1;
      while (!allowed(from, end) || !reaches_[left - 1][end]) ++end;
      lengths.push_back(end - from);
      from = end;
    }
    return lengths;
  }

 private:
  std::size_t units() const { return before_.size() - 1; }
  bool allowed(std::size_t from, std::size_t end) const {
    const Time time = before_[end] - before_[from];
    return least_ <= time && time <= most_;
  }

  template <class Holds>
  static Time least_that(Holds holds, Time low, Time high) {
    while (low < high) {
      const Time middle = low + (high - low) / 2;
      if (holds(middle))
        high = middle;
      else
        low = middle + Time(1);
    }
    return low;
  }

  // Fills reaches_[k][i]: true if the units from i on can be cut into k chunks within the limits. The ends that a chunk
  // from i may have are one range, since before_ never decreases.
  bool possible(Time least, Time most) {
    least_ = least;
    most_ = most;
    reaches_.assign(chunks_ + 1, std::vector<char>(units() + 1, 0));
    reaches_[0][units()] = 1;
    std::vector<std::size_t> count(units() + 2);
    for (std::size_t k = 1; k <= chunks_; ++k) {
      count[0] = 0;
      for (std::size_t i = 0; i <= units(); ++i) count[i + 1] = count[i] + static_cast<std::size_t>(reaches_[k - 1][i]);
      for (std::size_t from = 0; from < units(); ++from) {
        const auto start = before_.begin() + static_cast<std::ptrdiff_t>(from) + 1;
        const auto low = std::lower_bound(start, before_.end(), add(before_[from], least));
        const auto high = std::upper_bound(start, before_.end(), add(before_[from], most));
        if (low < high)
          reaches_[k][from] = count[static_cast<std::size_t>(high - before_.begin())] >
                              count[static_cast<std::size_t>(low - before_.begin())];
      }
    }
    return reaches_[chunks_][0] != 0;
  }

  std::size_t chunks_;
  std::vector<Time> before_;  // by unit: the total time of the units before it
  Time least_{0}, most_{0};
  std::vector<std::vector<char>> reaches_;
};

// Returns layers, or groups of layers; a layer without a group joins the one before it, or the first one.
std::vector<Unit> units_to_cut(const Profile& profile) {
  std::vector<Unit> units;
  if (!has_groups(profile)) {
    for (LayerId layer = 0; layer < profile.layers.size(); ++layer) units.push_back({layer, layer});
    return units;
  }
  const std::vector<bool> begins = begins_of_groups(profile);
  for (LayerId layer = 0; layer < profile.layers.size(); ++layer) {
    if (units.empty() || begins[layer]) units.push_back({layer, layer});
    units.back().last = layer;
  }
  return units;
}

std::vector<Chunk> joined(const std::vector<Unit>& units, const std::vector<std::size_t>& lengths) {
  std::vector<Chunk> chunks;
  std::size_t next = 0;
  for (const std::size_t length : lengths) {
    chunks.push_back({units[next].first, units[next + length - 1].last});
    next += length;
  }
  return chunks;
}

std::vector<Chunk> as_given(const Profile& profile, const StageCut& cut, std::int64_t count,
                            const SourceLocation& place) {
  const std::int64_t sum = std::accumulate(cut.layers.begin(), cut.layers.end(), std::int64_t{0});
  const auto all = std::ssize(profile.layers);
  if (std::ssize(cut.layers) != count || sum != all)
    throw InputError(
        place,
        fmt::format("{} chunks with {} layers in total, but there are {} and {}", cut.layers.size(), sum, count, all),
        fmt::format("{} numbers of layers that add up to {}", count, all));
  std::vector<Chunk> chunks;
  LayerId next = 0;
  for (const std::int64_t layers : cut.layers) {
    chunks.push_back({next, next + static_cast<LayerId>(layers) - 1});
    next = chunks.back().last + 1;
  }
  return chunks;
}

}  // namespace

StageCut parse_cut(const std::string& text, const SourceLocation& place) {
  if (text == "balanced") return {};
  if (text == "equal") return {.by = StageCut::By::Equal};
  if (text.empty() || text.find_first_not_of("0123456789,/ ") != std::string::npos)
    throw InputError(place, fmt::format("'{}' is not a valid cut", text),
                     "balanced, equal, or the number of layers of each chunk: 3,4,3");
  StageCut cut{.by = StageCut::By::Given};
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",/", start), text.size());
    cut.layers.push_back(
        parse_integer(std::string(trim(std::string_view(text).substr(start, end - start))), 1, 1'000'000, place));
    start = end + 1;
  }
  return cut;
}

std::string write_cut(const StageCut& cut) {
  if (cut.by != StageCut::By::Given) return cut.by == StageCut::By::Equal ? "equal" : "balanced";
  return fmt::format("{}", fmt::join(cut.layers, "/"));
}

std::vector<Chunk> cut_into_chunks(const Profile& profile, const StageCut& cut, std::int64_t count,
                                   const SourceLocation& place) {
  if (cut.by == StageCut::By::Given) return as_given(profile, cut, count, place);
  const std::vector<Unit> units = units_to_cut(profile);
  if (std::ssize(units) < count)
    throw InputError(place, fmt::format("{} chunks cannot be cut from {} layers or groups", count, units.size()),
                     "no more chunks than layers: fewer ranks (pp), or fewer chunks");
  const auto chunks = static_cast<std::size_t>(count);
  if (cut.by == StageCut::By::Equal) {
    std::vector<std::size_t> lengths(chunks, units.size() / chunks);
    for (std::size_t i = 0; i < units.size() % chunks; ++i) ++lengths[i];
    return joined(units, lengths);
  }
  std::vector<Time> times;
  for (const Unit& unit : units) {
    times.push_back(Time(0));
    for (LayerId layer = unit.first; layer <= unit.last; ++layer)
      times.back() = add(times.back(), add(profile.layers[layer].forward, profile.layers[layer].backward));
  }
  return joined(units, Balance(times, chunks).lengths());
}

TensorId first_tensor(const Profile& whole, const Chunk& chunk) {
  const auto first = std::find_if(whole.tensors.begin(), whole.tensors.end(),
                                  [&](const Tensor& one) { return one.layer >= chunk.first; });
  return static_cast<TensorId>(first - whole.tensors.begin());
}

Profile profile_of_chunk(const Profile& whole, const Chunk& chunk, const std::vector<Time>& backward) {
  Profile part = whole;
  part.tied.reset();
  part.layers.assign(whole.layers.begin() + chunk.first, whole.layers.begin() + chunk.last + 1);
  for (LayerId layer = 0; layer < part.layers.size(); ++layer)
    part.layers[layer].backward = backward[chunk.first + layer];
  part.tensors.clear();
  for (const Tensor& tensor : whole.tensors) {
    if (tensor.layer < chunk.first || tensor.layer > chunk.last) continue;
    part.tensors.push_back(tensor);
    part.tensors.back().layer -= chunk.first;
  }
  return part;
}

}  // namespace allreplay
