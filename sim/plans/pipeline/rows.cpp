#include "sim/plans/pipeline/rows.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr std::uint32_t most_chunks = 100'000, most_micro_batches = 1'000'000;
constexpr std::uint32_t nowhere = 0xffffffff;
constexpr std::string_view cells =
    "cFm cBm cIm cWm, (cFm;cBm)OVERLAP_F_B, cSEND_Fm cRECV_Fm cSEND_Bm cRECV_Bm, "
    "cUNSHARD cRESHARD cREDUCE_GRAD, or an empty cell";

// Parses one cell of a file.
class CellReader {
 public:
  CellReader(std::string_view text, SourceLocation place) : text_(text), whole_(text), place_(std::move(place)) {}

  void read(ActionRow& row) {
    if (text_.empty()) return;
    if (text_[0] != '(') {
      row.push_back(action());
    } else {
      for (bool first = true; first || next() == ';'; first = false) {
        text_.remove_prefix(1);
        row.push_back(action());
        row.back().joined = !first;
        if (!is_pass(row.back().kind)) fail();
      }
      if (text_ != ")OVERLAP_F_B") fail();
      text_ = {};
    }
    if (!text_.empty()) fail();
  }

 private:
  [[noreturn]] void fail() const { throw InputError(place_, fmt::format("'{}' is not an action", whole_), cells); }

  char next() const { return text_.empty() ? '\0' : text_[0]; }

  std::uint32_t number(std::uint32_t most) {
    std::size_t digits = 0;
    std::uint32_t value = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      value = 10 * value + static_cast<std::uint32_t>(text_[digits] - '0');
      if (value > most) fail();
    }
    if (digits == 0) fail();
    text_.remove_prefix(digits);
    return value;
  }

  Action action() {
    Action one;
    one.chunk = number(most_chunks);
    const std::size_t end = std::min(text_.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), text_.size());
    const auto kind = std::ranges::find(activity_rows, text_.substr(0, end), &ActivityRow::action);
    if (end == 0 || kind == std::end(activity_rows)) fail();
    one.kind = kind->value;
    text_.remove_prefix(end);
    if (is_micro_batch_action(one.kind)) one.micro_batch = number(most_micro_batches);
    return one;
  }

  std::string_view text_, whole_;
  SourceLocation place_;
};

}  // namespace

ActionRows parse_rows(const std::string& text, const std::string& file) {
  std::string_view left = text;
  if (left.ends_with('\n')) left.remove_suffix(1);
  ActionRows rows;
  for (bool more = true; more;) {
    const std::size_t end = left.find('\n');
    std::string_view line = left.substr(0, end);
    more = end != std::string_view::npos;
    if (more) left.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ActionRow& row = rows.emplace_back();
    for (std::size_t cell = 1, start = 0; start <= line.size(); ++cell) {
      const std::size_t stop = std::min(line.find(',', start), line.size());
      CellReader(line.substr(start, stop - start), {file, fmt::format("row {}, cell {}", rows.size(), cell)}).read(row);
      start = stop + 1;
    }
  }
  return rows;
}

bool has(const ActionRows& rows, Activity kind) {
  return std::any_of(rows.begin(), rows.end(), [&](const ActionRow& row) {
    return std::any_of(row.begin(), row.end(), [&](const Action& one) { return one.kind == kind; });
  });
}

std::optional<std::int64_t> RowIndex::chunks_per_rank(std::int64_t ranks) const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (const std::uint32_t rank : rank_of) ++counts[rank];
  if (std::any_of(counts.begin(), counts.end(), [&](std::int64_t one) { return one != counts.front(); })) return {};
  return counts.front();
}

namespace {

class Indexer {
 public:
  Indexer(const ActionRows& rows, const SourceLocation& place) : rows_(rows), place_(place) {}

  RowIndex index() {
    find_extent();
    index_.rank_of.assign(chunks_, nowhere);
    const ActionPlace unknown{nowhere, nowhere};
    for (auto* list :
         {&index_.forwards, &index_.hand_backs, &index_.gradients, &index_.forward_sends, &index_.backward_sends})
      list->assign(chunks_ * static_cast<std::size_t>(index_.micro_batches), unknown);
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank)
      for (std::uint32_t i = 0; i < rows_[rank].size(); ++i) place_action({rank, i});
    require_all_there();
    if (has(rows_, Activity::SendForward) || has(rows_, Activity::SendBackward))
      place_sends();
    else {
      index_.forward_sends = index_.forwards;
      index_.backward_sends = index_.hand_backs;
    }
    require_startable();
    return std::move(index_);
  }

 private:
  [[noreturn]] void fail(const std::string& wrong, const std::string& right) const {
    throw InputError(place_, wrong, right);
  }

  void find_extent() {
    for (const ActionRow& row : rows_)
      for (const Action& one : row) {
        if (!is_pass(one.kind)) continue;
        chunks_ = std::max<std::size_t>(chunks_, one.chunk + std::size_t{1});
        index_.micro_batches = std::max<std::int64_t>(index_.micro_batches, one.micro_batch + std::int64_t{1});
      }
    if (chunks_ == 0) fail("names no actions", "a row of actions for each rank");
    constexpr std::size_t most = 50'000'000;
    if (chunks_ * static_cast<std::size_t>(index_.micro_batches) > most)
      fail(fmt::format("{} chunks and {} micro-batches are more than can be kept", chunks_, index_.micro_batches),
           "fewer");
  }

  void place_action(const ActionPlace& at) {
    const Action& one = rows_[at.rank][at.index];
    if (!is_pass(one.kind)) return;
    std::uint32_t& rank = index_.rank_of[one.chunk];
    if (rank != nowhere && rank != at.rank)
      fail(fmt::format("chunk {} is on rank {} and on rank {}: {}", one.chunk, rank, at.rank, to_string(one)),
           "each chunk on one rank");
    rank = at.rank;
    const auto put = [&](std::vector<ActionPlace>& list) {
      ActionPlace& known = list[index_.at(one.chunk, one.micro_batch)];
      if (known.rank != nowhere)
        fail(fmt::format("{} is on rank {} together with {}", to_string(one), at.rank,
                         to_string(rows_[known.rank][known.index])),
             "one F, and one B or one I and one W, of each chunk and micro-batch");
      known = at;
    };
    if (one.kind == Activity::Forward) put(index_.forwards);
    if (returns_gradient(one.kind)) put(index_.hand_backs);
    if (makes_gradients(one.kind)) put(index_.gradients);
  }

  void require_all_there() const {
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      if (index_.rank_of[chunk] == nowhere)
        fail(fmt::format("chunk {} is on no rank", chunk), fmt::format("chunks 0 to {}, each on one", chunks_ - 1));
      for (std::uint32_t micro_batch = 0; micro_batch < index_.micro_batches; ++micro_batch) {
        const std::size_t at = index_.at(chunk, micro_batch);
        const ActionPlace &forward = index_.forwards[at], &back = index_.hand_backs[at], &made = index_.gradients[at];
        const auto missing = [&](std::string_view kind) {
          fail(fmt::format("{}{}{} is missing", chunk, kind, micro_batch),
               "one F, and one B or one I and one W, of each chunk and micro-batch");
        };
        if (forward.rank == nowhere) missing("F");
        if (back.rank == nowhere) missing(made.rank == nowhere ? "B" : "I");
        if (made.rank == nowhere) missing("W");
        if (forward.index > back.index) late(forward, back);
        if (back.index > made.index) late(back, made);
      }
    }
  }

  [[noreturn]] void late(const ActionPlace& first, const ActionPlace& then) const {
    fail(fmt::format("{} comes after {}", name(first), name(then)), "F before B, or F before I before W");
  }
  std::string name(const ActionPlace& at) const { return to_string(rows_[at.rank][at.index]); }

  // Checks explicit sends and records for each the last compute action before it in its row, after which it starts.
  void place_sends() {
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank) {
      std::uint32_t last = nowhere;
      for (std::uint32_t i = 0; i < rows_[rank].size(); ++i) {
        const Action& one = rows_[rank][i];
        if (is_pass(one.kind)) last = i;
        const bool forward = one.kind == Activity::SendForward;
        if (!forward && one.kind != Activity::SendBackward) continue;
        const bool needed = one.chunk < chunks_ && one.micro_batch < index_.micro_batches &&
                            (forward ? one.chunk + 1 < chunks_ : one.chunk > 0);
        if (!needed) fail(fmt::format("nothing waits for {}", to_string(one)), "sends that another chunk needs");
        if (!index_.crosses(forward ? one.chunk : one.chunk - 1))
          fail(fmt::format("{} would be sent to rank {} itself", to_string(one), rank), "leave it out");
        const std::size_t at = index_.at(one.chunk, one.micro_batch);
        const ActionPlace& made = (forward ? index_.forwards : index_.hand_backs)[at];
        ActionPlace& sent = (forward ? index_.forward_sends : index_.backward_sends)[at];
        if (sent.rank != nowhere) fail(fmt::format("{} appears twice", to_string(one)), "once");
        if (made.rank != rank || made.index > i)
          fail(fmt::format("{} comes before {}", to_string(one), name(made)), "after it, on the same rank");
        sent = {rank, last};
      }
    }
    for (std::uint32_t chunk = 0; chunk + 1 < chunks_; ++chunk)
      for (std::uint32_t micro_batch = 0; index_.crosses(chunk) && micro_batch < index_.micro_batches; ++micro_batch) {
        if (index_.forward_sends[index_.at(chunk, micro_batch)].rank == nowhere)
          fail(fmt::format("{}SEND_F{} is missing", chunk, micro_batch), "every send that is needed, or none");
        if (index_.backward_sends[index_.at(chunk + 1, micro_batch)].rank == nowhere)
          fail(fmt::format("{}SEND_B{} is missing", chunk + 1, micro_batch), "every send that is needed, or none");
      }
  }

  // Runs the rows without times, each as far as possible. Throws if an action can never start.
  void require_startable() const {
    std::vector<std::uint32_t> done(rows_.size(), 0);  // by rank: number of completed actions
    const auto available = [&](const Action& one) {
      const ActionPlace* needed = nullptr;
      if (one.kind == Activity::Forward && one.chunk > 0) {
        const bool crosses = index_.crosses(one.chunk - 1);
        const std::size_t before = index_.at(one.chunk - 1, one.micro_batch);
        needed = &(crosses ? index_.forward_sends : index_.forwards)[before];
      } else if (returns_gradient(one.kind) && one.chunk + 1 < chunks_) {
        const bool crosses = index_.crosses(one.chunk);
        const std::size_t after = index_.at(one.chunk + 1, one.micro_batch);
        needed = &(crosses ? index_.backward_sends : index_.hand_backs)[after];
      }
      return !needed || needed->index < done[needed->rank];
    };
    for (bool moves = true; moves;) {
      moves = false;
      for (std::uint32_t rank = 0; rank < rows_.size(); ++rank)
        while (done[rank] < rows_[rank].size() &&
               (!is_pass(rows_[rank][done[rank]].kind) || available(rows_[rank][done[rank]]))) {
          ++done[rank];
          moves = true;
        }
    }
    for (std::uint32_t rank = 0; rank < rows_.size(); ++rank)
      if (done[rank] < rows_[rank].size())
        fail(fmt::format("can never start: {} on rank {}", to_string(rows_[rank][done[rank]]), rank),
             "no action before one that it waits for");
  }

  const ActionRows& rows_;
  const SourceLocation& place_;
  std::size_t chunks_ = 0;
  RowIndex index_;
};

}  // namespace

RowIndex index_of(const ActionRows& rows, std::int64_t ranks, const SourceLocation& place) {
  if (std::ssize(rows) != ranks)
    throw InputError(place, fmt::format("has {} rows, but there are {} ranks", rows.size(), ranks),
                     fmt::format("as many rows as ranks: --pp {}", rows.size()));
  RowIndex index = Indexer(rows, place).index();
  std::vector<bool> holds(rows.size(), false);
  for (const std::uint32_t rank : index.rank_of) holds[rank] = true;
  if (const auto idle = std::find(holds.begin(), holds.end(), false); idle != holds.end())
    throw InputError(place, fmt::format("row {} of {} has no chunk", idle - holds.begin() + 1, rows.size()),
                     "one or more on each rank");
  return index;
}

void require_parameter_words(const ActionRows& rows, const RowIndex& index, const SourceLocation& place) {
  const bool unshards = has(rows, Activity::Unshard), reduces = has(rows, Activity::ReduceGrad);
  const auto fail = [&](const std::string& wrong, const std::string& right) { throw InputError(place, wrong, right); };
  std::vector<bool> gathered(index.chunks(), !unshards), reduced(index.chunks(), false);
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    std::vector<std::int64_t> passes(index.chunks(), 0);  // by chunk: gradient passes so far
    for (const Action& one : rows[rank]) {
      if (one.chunk >= index.chunks() || index.rank_of[one.chunk] != rank) {
        if (!is_micro_batch_action(one.kind))
          fail(fmt::format("{} is of a chunk that is not on rank {}", to_string(one), rank), "the rank's own chunks");
        continue;
      }
      passes[one.chunk] += makes_gradients(one.kind);
      if (is_pass(one.kind) && !gathered[one.chunk])
        fail(fmt::format("{} uses parameters that are not gathered", to_string(one)),
             fmt::format("{}UNSHARD before it", one.chunk));
      if (one.kind == Activity::Unshard) {
        if (gathered[one.chunk])
          fail(fmt::format("{} gathers parameters that are gathered already", to_string(one)), "a RESHARD before it");
        gathered[one.chunk] = true;
      }
      if (one.kind == Activity::Reshard) gathered[one.chunk] = false;
      if (one.kind != Activity::ReduceGrad) continue;
      if (reduced[one.chunk]) fail(fmt::format("{} appears twice", to_string(one)), "once");
      if (passes[one.chunk] < index.micro_batches)
        fail(fmt::format("{} comes before the chunk's last gradient pass", to_string(one)), "after it");
      reduced[one.chunk] = true;
    }
  }
  for (std::uint32_t chunk = 0; reduces && chunk < index.chunks(); ++chunk)
    if (!reduced[chunk]) fail(fmt::format("{}REDUCE_GRAD is missing", chunk), "one for each chunk, or none");
}

}  // namespace allreplay
