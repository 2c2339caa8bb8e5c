#include <algorithm>
#include <utility>

#include "sim/plans/collective/rounds.hpp"

namespace allreplay {

Rounds among_groups(Rounds one, Rank all, Rank stride) {
  const Rank groups = all / one.ranks;
  return among_groups(std::vector{std::move(one)}, std::vector<std::uint32_t>(groups, 0), all, stride);
}

Rounds among_groups(const std::vector<Rounds>& kinds, std::vector<std::uint32_t> kind_of, Rank all, Rank stride) {
  Rounds result = *std::max_element(kinds.begin(), kinds.end(),
                                    [](const Rounds& a, const Rounds& b) { return a.rounds.size() < b.rounds.size(); });
  const Rank size = result.ranks;
  const std::uint32_t channels = result.channels;
  const auto shared = std::make_shared<const std::vector<std::uint32_t>>(std::move(kind_of));
  for (std::size_t number = 0; number < result.rounds.size(); ++number) {
    std::vector<decltype(Round::sends)> inner;
    if (const auto pairs = std::exchange(result.rounds[number].all_pairs, nullptr))
      result.rounds[number].wall = pairs->is_wall();
    result.rounds[number].uniform.reset();
    for (const Rounds& kind : kinds)
      inner.push_back(number < kind.rounds.size() ? kind.rounds[number].sends : [](auto&&...) {});
    result.rounds[number].sends = [=, inner = std::move(inner)](Rank from, std::int64_t turn, std::vector<Send>& out) {
      const Rank place = from / stride % size, first = from - place * stride;
      const std::uint32_t group = first / (stride * size) * stride + first % stride;
      const std::size_t before = out.size();
      inner[(*shared)[group]](place, turn, out);
      for (std::size_t i = before; i < out.size(); ++i) {
        out[i].to = first + out[i].to * stride;
        if (out[i].channel != no_channel) out[i].channel += group * channels;
      }
    };
  }
  result.ranks = all;
  result.channels = channels * (all / size);
  return result;
}

namespace {

// A worker's place in a family: its group, and its rank in that group.
struct Seat {
  std::int64_t group = 0, place = 0;
};

std::optional<Seat> seat_of(std::int64_t worker, const Group& group) {
  for (std::size_t place = 0; place < group.members.size(); ++place)
    if (const std::int64_t index = worker - group.members[place]; index >= 0 && index < group.repeats)
      return Seat{index, static_cast<std::int64_t>(place)};
  const std::int64_t inside = worker - group.first;
  if (!group.members.empty() || inside < 0 || inside >= group.workers()) return std::nullopt;
  return Seat{group.index_of(worker), inside / group.stride % group.ranks};
}

Rank worker_at(const Seat& seat, const Group& group) {
  if (!group.members.empty())
    return static_cast<Rank>(group.members[static_cast<std::size_t>(seat.place)] + seat.group);
  const std::int64_t first =
      seat.group / group.stride * group.stride * group.ranks + seat.group % group.stride + group.first;
  return static_cast<Rank>(first + seat.place * group.stride);
}

}  // namespace

Rounds among_part(const Rounds& one, const Group& group, Rank all) {
  Rounds result = one;
  result.ranks = all;
  result.channels = one.channels * static_cast<std::uint32_t>(group.repeats);
  for (Round& round : result.rounds) {
    round.all_pairs = nullptr;
    round.uniform.reset();
    round.sends = [group, channels = one.channels, inner = round.sends](Rank from, std::int64_t turn,
                                                                        std::vector<Send>& out) {
      const auto seat = seat_of(from, group);
      if (!seat) return;
      const std::size_t before = out.size();
      inner(static_cast<Rank>(seat->place), turn, out);
      for (std::size_t i = before; i < out.size(); ++i) {
        out[i].to = worker_at({seat->group, out[i].to}, group);
        if (out[i].channel != no_channel) out[i].channel += static_cast<std::uint32_t>(seat->group) * channels;
      }
    };
  }
  return result;
}

Rounds send_rounds(const Group& pairs, Rank all) {
  Rounds one{.ranks = 2};
  one.rounds.push_back({.sends = [](Rank from, std::int64_t, std::vector<Send>& out) {
    if (from == 0) out.push_back({.to = 1});
  }});
  return among_part(one, pairs, all);
}

}  // namespace allreplay
