#include "sim/schedule/needs.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace allreplay {

std::vector<Need> needs_of(const Profile& profile) {
  std::vector<Need> needs;
  needs.reserve(profile.tensors.size());
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    const LayerId layer = profile.tensors[tensor].layer;
    needs.push_back({tensor, {WorkKind::Backward, layer}, {WorkKind::Forward, layer}});
  }
  return needs;
}

namespace {

bool reduces(const Transfer& transfer) { return transfer.op != Stage::AllGather; }
bool arrives(const Transfer& transfer) { return transfer.op != Stage::ReduceScatter; }

// A slice on its way in one transfer.
struct Piece {
  Slice slice;
  std::uint32_t transfer;
};

class Coverage {
 public:
  Coverage(const Plan& plan, const std::vector<Need>& needs, const Profile& profile)
      : plan_(plan), needs_(needs), profile_(profile), waits_(plan.transfers.size()), frees_(plan.transfers.size()) {
    for (const Gate& gate : plan.gates)
      if (gate.before.of == Moment::Of::Transfer && gate.after.of == Moment::Of::Transfer) {
        waits_[gate.after.index].push_back(gate.before.index);
        frees_[gate.before.index].push_back(gate.after.index);
      }
  }

  std::optional<Complaint> complaint() {
    const std::vector<Piece> reduced = pieces(reduces), arrived = pieces(arrives);
    if (auto wrong = gap(reduced, "reduced")) return wrong;
    if (auto wrong = gap(arrived, "brought to everybody")) return wrong;
    if (auto wrong = circle()) return wrong;
    if (auto wrong = too_early_or_late()) return wrong;
    return gathered_before_reduced(reduced, arrived);
  }

 private:
  std::string name(std::uint32_t index) const {
    return fmt::format("transfer {} ({} of {})", index, to_string(plan_.transfers[index].op),
                       names_of(plan_.blocks[plan_.transfers[index].block], profile_));
  }
  const std::string& layer_of(TensorId tensor) const { return profile_.layers[profile_.tensors[tensor].layer].name; }

  std::vector<Piece> pieces(bool (*wanted)(const Transfer&)) const {
    std::vector<Piece> pieces;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (wanted(plan_.transfers[index]))
        for (const Slice& slice : plan_.blocks[plan_.transfers[index].block].slices) pieces.push_back({slice, index});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.slice.tensor != b.slice.tensor ? a.slice.tensor < b.slice.tensor : a.slice.offset < b.slice.offset;
    });
    return pieces;
  }

  std::optional<Complaint> gap(const std::vector<Piece>& pieces, const char* what) const {
    const std::string remedy =
        "every byte of every gradient in one all-reduce, or in one reduce-scatter and one all-gather";
    std::size_t next = 0;
    for (const Need& need : needs_) {
      const Tensor& tensor = profile_.tensors[need.tensor];
      Bytes sent = 0;
      for (; next < pieces.size() && pieces[next].slice.tensor == need.tensor; ++next) {
        const Slice& slice = pieces[next].slice;
        if (slice.offset < sent)
          return Complaint{fmt::format("byte {} of '{}' is {} twice: by {} and by {}", slice.offset, tensor.name, what,
                                       name(pieces[next - 1].transfer), name(pieces[next].transfer)),
                           remedy};
        if (slice.offset > sent) break;
        sent += slice.bytes;
      }
      if (sent < tensor.bytes)
        return Complaint{fmt::format("byte {} of '{}' is not {}", sent, tensor.name, what), remedy};
      if (sent > tensor.bytes)
        return Complaint{fmt::format("{} goes beyond the {} bytes of '{}'", name(pieces[next - 1].transfer),
                                     tensor.bytes, tensor.name),
                         remedy};
    }
    return std::nullopt;
  }

  // earliest_: how many works have ended before each transfer can start. latest_: the first work that waits for it.
  // Both also by way of other transfers. Complains of those that wait for themselves, by gates, by the program, or
  // because their lane starts them as listed.
  std::optional<Complaint> circle() {
    const std::size_t works = plan_.program.size(), count = works + plan_.transfers.size();
    const auto node = [&](const Moment& moment) {
      return moment.of == Moment::Of::Work ? moment.index : works + moment.index;
    };
    std::vector<std::vector<std::size_t>> next(count);
    std::vector<std::size_t> left(count, 0);
    const auto add_edge = [&](std::size_t before, std::size_t after) {
      next[before].push_back(after);
      ++left[after];
    };
    for (const Gate& gate : plan_.gates) add_edge(node(gate.before), node(gate.after));
    for (std::size_t place = 1; place < works; ++place) add_edge(place - 1, place);
    std::vector<std::optional<std::size_t>> last(plan_.lanes.size());
    for (std::size_t index = 0; index < plan_.transfers.size(); ++index) {
      const std::uint32_t lane = plan_.transfers[index].lane;
      if (plan_.lanes[lane].order != Order::AsListed) continue;
      if (last[lane]) add_edge(*last[lane], works + index);
      last[lane] = works + index;
    }
    std::vector<std::size_t> order;  // those waited for first
    for (std::size_t one = 0; one < count; ++one)
      if (left[one] == 0) order.push_back(one);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::size_t after : next[order[i]])
        if (--left[after] == 0) order.push_back(after);
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (left[works + index] > 0)
        return Complaint{fmt::format("{} waits for what waits for it", name(index)),
                         "no circle among gates, the order of work, and lanes that start transfers as listed"};
    set_bounds(order, works);
    return std::nullopt;
  }

  void set_bounds(const std::vector<std::size_t>& order, std::size_t works) {
    earliest_.assign(plan_.transfers.size(), 0);
    latest_.assign(plan_.transfers.size(), std::numeric_limits<std::size_t>::max());
    for (const Gate& gate : plan_.gates) {
      if (gate.before.of == Moment::Of::Work && gate.after.of == Moment::Of::Transfer)
        earliest_[gate.after.index] = std::max<std::size_t>(earliest_[gate.after.index], gate.before.index + 1);
      if (gate.before.of == Moment::Of::Transfer && gate.after.of == Moment::Of::Work)
        latest_[gate.before.index] = std::min<std::size_t>(latest_[gate.before.index], gate.after.index);
    }
    for (const std::size_t one : order)
      if (one >= works)
        for (const std::uint32_t before : waits_[one - works])
          earliest_[one - works] = std::max(earliest_[one - works], earliest_[before]);
    for (std::size_t i = order.size(); i-- > 0;)
      if (order[i] >= works)
        for (const std::uint32_t after : frees_[order[i] - works])
          latest_[order[i] - works] = std::min(latest_[order[i] - works], latest_[after]);
  }

  std::optional<Complaint> too_early_or_late() const {
    std::vector<std::size_t> backward(profile_.layers.size()), forward(profile_.layers.size());
    for (std::size_t place = 0; place < plan_.program.size(); ++place)
      (plan_.program[place].kind == WorkKind::Backward ? backward : forward)[plan_.program[place].layer] = place;
    const auto place = [&](const Work& work) {
      return (work.kind == WorkKind::Backward ? backward : forward)[work.layer];
    };
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      for (const Slice& slice : plan_.blocks[plan_.transfers[index].block].slices) {
        const Need& need = needs_[slice.tensor];
        if (reduces(plan_.transfers[index]) && earliest_[index] <= place(need.after))
          return Complaint{fmt::format("{} may start before the backward pass of '{}' has made '{}'", name(index),
                                       layer_of(slice.tensor), profile_.tensors[slice.tensor].name),
                           fmt::format("after the backward pass of '{}', or a later one", layer_of(slice.tensor))};
        if (arrives(plan_.transfers[index]) && latest_[index] > place(need.before))
          return Complaint{fmt::format("{} may end after the next forward pass of '{}' has started", name(index),
                                       layer_of(slice.tensor)),
                           fmt::format("before the forward pass of '{}', or an earlier one", layer_of(slice.tensor))};
      }
    return std::nullopt;
  }

  bool precedes(std::uint32_t before, std::uint32_t after) const {
    if (latest_[before] < earliest_[after]) return true;  // by way of the program
    std::vector<std::uint32_t> todo{after};
    std::vector<bool> seen(plan_.transfers.size(), false);
    while (!todo.empty()) {
      const std::uint32_t one = todo.back();
      todo.pop_back();
      for (const std::uint32_t earlier : waits_[one]) {
        if (earlier == before) return true;
        if (!seen[earlier]) todo.push_back(earlier);
        seen[earlier] = true;
      }
    }
    return false;
  }

  std::optional<Complaint> gathered_before_reduced(const std::vector<Piece>& reduced,
                                                   const std::vector<Piece>& arrived) const {
    // Both tile every tensor: those that overlap lie side by side.
    std::size_t source = 0;
    for (const Piece& piece : arrived) {
      const auto ends_before = [&](const Piece& other) {
        return other.slice.tensor < piece.slice.tensor ||
               (other.slice.tensor == piece.slice.tensor &&
                other.slice.offset + other.slice.bytes <= piece.slice.offset);
      };
      while (ends_before(reduced[source])) ++source;
      for (std::size_t i = source; i < reduced.size() && reduced[i].slice.tensor == piece.slice.tensor &&
                                   reduced[i].slice.offset < piece.slice.offset + piece.slice.bytes;
           ++i) {
        const std::uint32_t before = reduced[i].transfer;
        if (before == piece.transfer) continue;
        if (arrives(plan_.transfers[before]) || reduces(plan_.transfers[piece.transfer]))
          return Complaint{fmt::format("{} and {} carry the same bytes of '{}'", name(before), name(piece.transfer),
                                       profile_.tensors[piece.slice.tensor].name),
                           "an all-reduce, or a reduce-scatter and an all-gather"};
        if (!was_direct(before, piece.transfer) && !precedes(before, piece.transfer))
          return Complaint{fmt::format("{} may start before {} has ended", name(piece.transfer), name(before)),
                           "after it"};
      }
    }
    return std::nullopt;
  }

  // Mostly a gather waits for its own reduction: seen at once.
  bool was_direct(std::uint32_t before, std::uint32_t after) const {
    return std::find(waits_[after].begin(), waits_[after].end(), before) != waits_[after].end();
  }

  const Plan& plan_;
  const std::vector<Need>& needs_;
  const Profile& profile_;
  std::vector<std::vector<std::uint32_t>> waits_, frees_;  // by transfer: those before it, those after it
  std::vector<std::size_t> earliest_, latest_;             // by transfer
};

}  // namespace

std::optional<Complaint> uncovered(const Plan& plan, const std::vector<Need>& needs, const Profile& profile) {
  return Coverage(plan, needs, profile).complaint();
}

void require_complete(const Draft& draft, const Profile& profile) {
  std::vector<const Slice*> slices;
  for (const Block& block : draft.blocks)
    for (const Slice& slice : block.slices) slices.push_back(&slice);
  std::sort(slices.begin(), slices.end(), [](const Slice* a, const Slice* b) {
    return a->tensor != b->tensor ? a->tensor < b->tensor : a->offset < b->offset;
  });
  std::size_t next = 0;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    Bytes sent = 0;
    for (; next < slices.size() && slices[next]->tensor == tensor && slices[next]->offset == sent; ++next)
      sent += slices[next]->bytes;
    if (sent != profile.tensors[tensor].bytes)
      throw std::logic_error(fmt::format("{}: bytes of '{}' from {} are left out or sent twice", draft.strategy,
                                         profile.tensors[tensor].name, sent));
  }
  if (next != slices.size()) throw std::logic_error(draft.strategy + ": a slice that is sent twice, or of no tensor");
}

void require_covered(const Plan& plan, const Profile& profile) {
  if (const auto wrong = uncovered(plan, needs_of(profile), profile))
    throw std::logic_error(fmt::format("{}: {} ({})", plan.strategy, wrong->what, wrong->remedy));
}

}  // namespace allreplay
