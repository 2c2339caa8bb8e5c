#include "sim/plans/pipeline/rank_programs.hpp"

#include <algorithm>

namespace allreplay {

RankProgram::RankProgram(const Pipeline& pipeline, std::uint32_t rank, const Profile& profile,
                         const ProgramShape& shape)
    : rank_(rank), row_(pipeline.rows[rank]), placed_(row_.size()) {
  const std::vector<bool> has_gradients = profile.has_gradients();
  std::map<std::uint32_t, std::size_t> last;  // by chunk: index of its last entry in passes_
  std::map<std::uint32_t, std::uint32_t> counts;
  for (std::uint32_t i = 0; i < row_.size(); ++i) {
    const Action& action = row_[i];
    if (!is_pass(action.kind)) continue;
    actions_.push_back(i);
    if (action.kind == Activity::Forward) first_forward_.emplace(action.chunk, i);
    if (!makes_gradients(action.kind)) continue;
    last[action.chunk] = passes_.size();
    passes_.push_back({action.chunk, action.micro_batch, counts[action.chunk]++, i, action.kind, false});
  }
  for (const auto& [chunk, pass] : last) passes_[pass].last = true;
  if (!shape.update_by_layer) works.push_back({Activity::Update, everything});
  for (const std::uint32_t i : actions_) {
    const Action& action = row_[i];
    const Chunk& chunk = pipeline.chunks[action.chunk];
    Placed& placed = placed_[i];
    placed.entry = placed.start = static_cast<std::uint32_t>(works.size());
    const bool reduced = makes_gradients(action.kind) && (shape.every_pass || passes_[last[action.chunk]].action == i);
    if (shape.marks && reduced) works.push_back({Activity::Mark, action.chunk, action.micro_batch});
    const bool first = shape.update_by_layer && shape.updates && action.kind == Activity::Forward &&
                       first_forward_.at(action.chunk) == i;
    for (std::uint32_t l = 0; l < chunk.layers(); ++l) {
      const LayerId layer = action.kind == Activity::Forward ? chunk.first + l : chunk.last - l;
      if (first && has_gradients[layer]) works.push_back({Activity::Update, layer});
      if (l == 0 && action.kind == Activity::Forward) placed.start = static_cast<std::uint32_t>(works.size());
      works.push_back({action.kind, layer, action.micro_batch});
    }
    placed.last = static_cast<std::uint32_t>(works.size() - 1);
  }
  index_.emplace(works);
}

void RankProgram::pair_actions(bool only_joined) {
  for (std::size_t i = 0; i + 1 < actions_.size(); ++i) {
    const Action &one = row_[actions_[i]], &next = row_[actions_[i + 1]];
    if (one.kind != Activity::Forward || next.kind != Activity::Backward || (only_joined && !next.joined)) continue;
    pairs.push_back({at(actions_[i]).entry, at(actions_[i + 1]).entry, at(actions_[i + 1]).last + 1});
    ++i;
  }
}

const WorkPair* RankProgram::pair_of(std::uint32_t place) const {
  const auto after = std::upper_bound(pairs.begin(), pairs.end(), place,
                                      [](std::uint32_t of, const WorkPair& pair) { return of < pair.forward; });
  return after != pairs.begin() && place < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

std::optional<std::uint32_t> RankProgram::find(Activity kind, std::uint32_t item, std::uint32_t micro_batch) const {
  const auto place = index_->find({kind, item, micro_batch});
  return place ? std::optional(static_cast<std::uint32_t>(*place)) : std::nullopt;
}

std::uint32_t RankProgram::place(Activity kind, std::uint32_t item, std::uint32_t micro_batch) const {
  return find(kind, item, micro_batch).value();
}

}  // namespace allreplay
