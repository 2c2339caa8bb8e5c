#include "sim/plans/pipeline/schedules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

using Kind = Activity;

// Writes a row action by action. An action's micro-batch is the number of earlier actions of its chunk and kind.
class RowWriter {
 public:
  explicit RowWriter(const ScheduleRequest& request)
      : micro_batches_(static_cast<std::uint32_t>(request.micro_batches)) {}

  std::int64_t count(std::int64_t chunk, Kind kind) const {
    return kind == Kind::Forward          ? of(chunk).forward
           : kind == Kind::BackwardWeight ? of(chunk).weights
                                          : of(chunk).inputs;
  }

  /// Adds an action. Beyond the last micro-batch, it is counted but not written.
  void add(std::int64_t chunk, Kind kind, bool joined = false) {
    Counts& counts = of(chunk);
    const std::uint32_t micro_batch = static_cast<std::uint32_t>(count(chunk, kind));
    if (kind == Kind::Forward) ++counts.forward;
    if (returns_gradient(kind)) ++counts.inputs;
    if (makes_gradients(kind)) ++counts.weights;
    if (kind == Kind::BackwardInput) split_.push_back(chunk);
    if (micro_batch < micro_batches_) row_.push_back({kind, static_cast<std::uint32_t>(chunk), micro_batch, joined});
  }
  void add(std::int64_t times, std::initializer_list<std::pair<std::int64_t, Kind>> actions) {
    for (std::int64_t i = 0; i < times; ++i)
      for (const auto& [chunk, kind] : actions) add(chunk, kind);
  }
  /// Adds the W of the oldest I that still lacks one, if there is any.
  void add_oldest_weights() {
    if (next_ < split_.size()) add(split_[next_++], Kind::BackwardWeight);
  }

  ActionRow take() { return std::move(row_); }

 private:
  struct Counts {
    std::int64_t forward = 0, inputs = 0, weights = 0;
  };
  Counts& of(std::int64_t chunk) {
    if (static_cast<std::size_t>(chunk) >= counts_.size()) counts_.resize(static_cast<std::size_t>(chunk) + 1);
    return counts_[static_cast<std::size_t>(chunk)];
  }
  Counts of(std::int64_t chunk) const {
    return static_cast<std::size_t>(chunk) < counts_.size() ? counts_[static_cast<std::size_t>(chunk)] : Counts{};
  }

  std::uint32_t micro_batches_;
  std::vector<Counts> counts_;       // by chunk
  std::vector<std::int64_t> split_;  // the chunks of all I, in order
  std::size_t next_ = 0;             // the first of split_ that lacks its W
  ActionRow row_;
};

template <class Row>
ActionRows for_each_rank(const ScheduleRequest& request, Row row) {
  ActionRows rows;
  for (std::int64_t rank = 0; rank < request.ranks; ++rank) rows.push_back(row(rank));
  return rows;
}

ActionRows gpipe(const ScheduleRequest& request) {
  return for_each_rank(request, [&](std::int64_t rank) {
    RowWriter row(request);
    row.add(request.micro_batches, {{rank, Kind::Forward}});
    row.add(request.micro_batches, {{rank, Kind::Backward}});
    return row.take();
  });
}

// PyTorch's ScheduleLoopedBFS: backward passes take both chunks and micro-batches in descending order.
ActionRows looped_bfs(const ScheduleRequest& request) {
  const auto micro_batches = static_cast<std::uint32_t>(request.micro_batches);
  return for_each_rank(request, [&](std::int64_t rank) {
    ActionRow row;
    for (std::int64_t v = 0; v < request.chunks; ++v)
      for (std::uint32_t m = 0; m < micro_batches; ++m)
        row.push_back({Kind::Forward, static_cast<std::uint32_t>(rank + v * request.ranks), m, false});
    for (std::int64_t v = request.chunks; v-- > 0;)
      for (std::uint32_t m = micro_batches; m-- > 0;)
        row.push_back({Kind::Backward, static_cast<std::uint32_t>(rank + v * request.ranks), m, false});
    return row;
  });
}

ActionRows one_forward_one_backward(const ScheduleRequest& request) {
  return for_each_rank(request, [&](std::int64_t rank) {
    RowWriter row(request);
    const std::int64_t first = std::min(request.ranks - 1 - rank, request.micro_batches);
    row.add(first, {{rank, Kind::Forward}});
    row.add(request.micro_batches - first, {{rank, Kind::Forward}, {rank, Kind::Backward}});
    row.add(first, {{rank, Kind::Backward}});
    return row.take();
  });
}

// G: the number of micro-batches that a rank runs on one chunk before it continues with its next chunk.
std::int64_t group_size(const ScheduleRequest& request) {
  const std::int64_t rounds = std::max<std::int64_t>(1, request.micro_batches / request.ranks);
  return request.microbatch_group.value_or(request.micro_batches / rounds);
}

// Returns the chunk of each of the rank's forward (or backward) passes in order: groups of G micro-batches, and within
// a group one chunk after another.
std::vector<std::int64_t> chunks_in_order(const ScheduleRequest& request, std::int64_t rank, bool backward) {
  const std::int64_t group = group_size(request);
  std::vector<std::int64_t> order;
  for (std::int64_t first = 0; first < request.micro_batches; first += group)
    for (std::int64_t v = 0; v < request.chunks; ++v) {
      const std::int64_t chunk = rank + (backward ? request.chunks - 1 - v : v) * request.ranks;
      order.insert(order.end(), static_cast<std::size_t>(std::min(group, request.micro_batches - first)), chunk);
    }
  return order;
}

void require_groups(const ScheduleRequest& request) {
  const std::int64_t micro_batches = request.micro_batches, ranks = request.ranks;
  if (const auto group = request.microbatch_group) {
    const std::int64_t rest = *group > 0 ? micro_batches % *group : 0;
    if (*group < ranks || *group > micro_batches || (rest > 0 && rest < ranks))
      throw InputError(
          request.place_of_group,
          fmt::format("microbatch_group={} with {} ranks and {} micro-batches", *group, ranks, micro_batches),
          fmt::format("{} to {}, remainder 0 or at least {}", ranks, micro_batches, ranks));
    return;
  }
  const std::int64_t rounds = std::max<std::int64_t>(1, micro_batches / ranks);
  if (micro_batches % rounds != 0)
    throw InputError(request.place_of_micro_batches,
                     fmt::format("{} micro-batches cannot be divided into {} equal groups on {} ranks", micro_batches,
                                 rounds, ranks),
                     fmt::format("a multiple of {} micro-batches, or microbatch_group", ranks));
}

// `late`: additional warm-up forward passes for each rank between this one and the end of the pipeline.
template <class Backward>
ActionRow interleaved_row(const ScheduleRequest& request, std::int64_t rank, std::int64_t late, Backward backward) {
  const std::vector<std::int64_t> forwards = chunks_in_order(request, rank, false),
                                  backwards = chunks_in_order(request, rank, true);
  const auto all = static_cast<std::int64_t>(forwards.size());
  const std::int64_t ahead = std::min(
      (request.chunks - 1) * group_size(request) + late * (request.ranks - 1 - rank) + (request.one_more_ahead ? 1 : 0),
      all);
  RowWriter row(request);
  for (std::int64_t i = 0; i < all + ahead; ++i) {
    if (i < all) row.add(forwards[static_cast<std::size_t>(i)], Kind::Forward);
    if (i >= ahead) backward(row, backwards[static_cast<std::size_t>(i - ahead)], i - ahead);
  }
  for (std::int64_t i = 0; i < all; ++i) row.add_oldest_weights();
  return row.take();
}

ActionRows interleaved(const ScheduleRequest& request) {
  require_groups(request);
  return for_each_rank(request, [&](std::int64_t rank) {
    return interleaved_row(request, rank, 2,
                           [](RowWriter& row, std::int64_t chunk, std::int64_t) { row.add(chunk, Kind::Backward); });
  });
}

ActionRows zb_h1(const ScheduleRequest& request) {
  if (request.chunks > 1) require_groups(request);
  return for_each_rank(request, [&](std::int64_t rank) {
    return interleaved_row(request, rank, 1, [rank](RowWriter& row, std::int64_t chunk, std::int64_t index) {
      row.add(chunk, Kind::BackwardInput);
      if (index >= rank) row.add_oldest_weights();
    });
  });
}

ActionRows zbv(const ScheduleRequest& request) {
  using enum Activity;
  const std::int64_t ranks = request.ranks, most = std::max(2 * ranks - 1, request.micro_batches);
  return for_each_rank(request, [&](std::int64_t rank) {
    const std::int64_t a = rank, b = 2 * ranks - 1 - rank;
    RowWriter row(request);
    row.add(2 * (ranks - rank) - 1, {{a, Forward}});
    row.add(rank, {{b, Forward}, {a, Forward}});
    row.add(ranks - rank, {{b, Forward}, {b, BackwardInput}, {b, BackwardWeight}});
    while (row.count(b, Forward) < row.count(a, Forward) || row.count(a, Forward) < most) {
      if (row.count(a, Forward) < most) row.add(a, Forward);
      row.add(1, {{a, BackwardInput}, {a, BackwardWeight}, {b, Forward}, {b, BackwardInput}, {b, BackwardWeight}});
    }
    row.add(rank, {{a, BackwardInput}, {b, BackwardInput}});
    row.add(ranks - rank, {{a, BackwardInput}, {a, BackwardWeight}});
    for (const std::int64_t chunk : {b, a})
      while (row.count(chunk, BackwardWeight) < row.count(chunk, BackwardInput)) row.add(chunk, BackwardWeight);
    return row.take();
  });
}

ActionRow dualpipe_row(const ScheduleRequest& request, std::int64_t rank) {
  using enum Activity;
  const std::int64_t a = rank, b = 2 * request.ranks - 1 - rank, after = request.ranks - 1 - rank;
  RowWriter row(request);
  row.add(2 * after, {{a, Forward}});
  row.add(rank + 1, {{a, Forward}, {b, Forward}});
  for (std::int64_t i = 0; i < after; ++i) {
    row.add(b, BackwardInput);
    row.add_oldest_weights();
    row.add(b, Forward);
  }
  for (std::int64_t i = 0; i < request.micro_batches - 2 * request.ranks + rank + 1; ++i) {
    row.add(a, Forward);
    row.add(b, Backward, i > 0 || after > 0);
    row.add(b, Forward);
    row.add(a, Backward, true);
  }
  for (std::int64_t i = 0; i < after; ++i) {
    row.add(b, Backward);
    row.add(b, Forward);
    row.add(a, Backward, true);
  }
  Activity backward = Backward;
  for (std::int64_t i = 0; i <= rank; ++i) {
    if (i == (rank + 1) / 2 && rank % 2 == 1) backward = BackwardInput;
    row.add(b, backward);
    if (i == (rank + 1) / 2 && rank % 2 == 0) backward = BackwardInput;
    row.add(a, backward);
  }
  for (std::int64_t i = 0; i < after; ++i) {
    row.add_oldest_weights();
    row.add(a, backward);
  }
  for (std::int64_t i = 0; i <= rank; ++i) row.add_oldest_weights();
  return row.take();
}

ActionRows dualpipe_v(const ScheduleRequest& request) {
  if (request.micro_batches < 2 * request.ranks)
    throw InputError(request.place_of_micro_batches,
                     fmt::format("dualpipe-v needs two micro-batches per rank, but {} are fewer than {}",
                                 request.micro_batches, 2 * request.ranks),
                     fmt::format("at least {}", 2 * request.ranks));
  return for_each_rank(request, [&](std::int64_t rank) { return dualpipe_row(request, rank); });
}

constexpr ScheduleRow all_schedules[] = {
    {"gpipe", "all forward passes, then all backward passes", 1, false, gpipe},
    {"1f1b", "alternating forward and backward passes, with at most as many in flight as there are ranks after it", 1,
     false, one_forward_one_backward},
    {"looped-bfs", "all forward passes chunk by chunk, then all backward passes in reverse", 1, true, looped_bfs},
    {"interleaved", "1f1b over several chunks per rank, as interleaved by Megatron and PyTorch", 2, true, interleaved},
    {"zb-h1", "backward passes in two parts; that of the weights runs when a rank would wait", 1, true, zb_h1},
    {"zbv", "zero bubble with two chunks per rank, folded into a V: no rank waits", 2, false, zbv},
    {"dualpipe-v", "DeepSeek's, folded into a V: forward and backward passes overlap", 2, false, dualpipe_v},
};

}  // namespace

std::span<const ScheduleRow> schedules() { return all_schedules; }

ActionRows make_rows(const ScheduleRow& schedule, const ScheduleRequest& request) {
  if (request.chunks != schedule.chunks && (!schedule.any_chunks || request.chunks < schedule.chunks))
    throw InputError(
        request.place_of_chunks,
        fmt::format("{} needs {}{} per rank, but {} were asked for", schedule.name,
                    schedule.any_chunks ? "at least " : "", counted(schedule.chunks, "chunk"), request.chunks),
        fmt::format("chunks={}{}", schedule.chunks, schedule.any_chunks ? ", or more" : ""));
  return schedule.rows(request);
}

std::string to_string(const Action& action) {
  const std::string_view word = row_of(action.kind).action;
  return is_micro_batch_action(action.kind) ? fmt::format("{}{}{}", action.chunk, word, action.micro_batch)
                                            : fmt::format("{}{}", action.chunk, word);
}

std::string write_rows(const ActionRows& rows) {
  std::string text;
  for (const ActionRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool after = row[i].joined, before = i + 1 < row.size() && row[i + 1].joined;
      if (i > 0) text += after ? ';' : ',';
      if (before && !after) text += '(';
      text += to_string(row[i]);
      if (after && !before) text += ")OVERLAP_F_B";
    }
    text += '\n';
  }
  return text;
}

}  // namespace allreplay
