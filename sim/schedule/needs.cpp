#include "sim/schedule/needs.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/schedule/precedence.hpp"

namespace allreplay {

std::vector<Need> needs_of(const Plan& plan, const Profile& profile) {
  const Places places(plan.program);
  const auto last = static_cast<std::uint32_t>(plan.step.accumulate - 1);
  std::vector<Need> needs;
  needs.reserve(profile.tensors.size());
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    const LayerId layer = profile.tensors[tensor].layer;
    Work before{WorkKind::Forward, layer, 0};
    for (const Work& update : {Work{WorkKind::Update, everything}, Work{WorkKind::Update, layer}})
      if (places.find(update)) before = update;
    needs.push_back({tensor, {WorkKind::Backward, layer, last}, before});
  }
  return needs;
}

namespace {

bool reduces(const Transfer& transfer) { return transfer.op != Stage::AllGather; }
bool arrives(const Transfer& transfer) { return transfer.op != Stage::ReduceScatter; }
bool gathers(const Transfer& transfer) { return transfer.op == Stage::AllGather; }
bool sums_shards(const Transfer& transfer) { return transfer.axis == Axis::Replica; }
bool reduces_shards(const Transfer& transfer) { return reduces(transfer) && !sums_shards(transfer); }

// A slice on its way in one transfer.
struct Piece {
  Slice slice;
  std::uint32_t transfer;
};

class Coverage {
 public:
  Coverage(const Plan& plan, std::vector<Need> needs, const Profile& profile)
      : plan_(plan),
        needs_(std::move(needs)),
        profile_(profile),
        waits_(plan.transfers.size()),
        frees_(plan.transfers.size()) {
    for (const Gate& gate : plan.gates)
      if (gate.before.of == Moment::Of::Transfer && gate.after.of == Moment::Of::Transfer) {
        waits_[gate.after.index].push_back(gate.before.index);
        frees_[gate.before.index].push_back(gate.after.index);
      }
  }

  std::optional<Complaint> complaint() { return plan_.step.zero > 0 ? complaint_of_shards() : complaint_of_sums(); }

 private:
  std::optional<Complaint> complaint_of_sums() {
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (plan_.transfers[index].axis != Axis::All)
        return Complaint{fmt::format("{} goes in groups, and the plan shards nothing", name(index)),
                         "\"step\": {\"zero\": 1}, or no axis"};
    const std::vector<Piece> reduced = pieces(reduces), arrived = pieces(arrives);
    if (auto wrong = gap(reduced, "reduced")) return wrong;
    if (auto wrong = gap(arrived, "brought to everybody")) return wrong;
    if (auto wrong = circle()) return wrong;
    if (auto wrong = too_early_or_late()) return wrong;
    return gathered_before_reduced(reduced, arrived);
  }

  std::string name(std::uint32_t index) const {
    return fmt::format("transfer {} ({} of {})", index, to_string(plan_.transfers[index].op),
                       names_of(plan_.blocks[plan_.transfers[index].block], profile_));
  }
  const std::string& layer_of(TensorId tensor) const { return profile_.layers[profile_.tensors[tensor].layer].name; }

  template <class Wanted>
  std::vector<Piece> pieces(Wanted wanted) const {
    std::vector<Piece> pieces;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (wanted(plan_.transfers[index]))
        for (const Slice& slice : plan_.blocks[plan_.transfers[index].block].slices) pieces.push_back({slice, index});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.slice.tensor != b.slice.tensor ? a.slice.tensor < b.slice.tensor : a.slice.offset < b.slice.offset;
    });
    return pieces;
  }

  std::optional<Complaint> gap(
      const std::vector<Piece>& pieces, const std::string& what,
      const std::string& remedy =
          "every byte of every gradient in one all-reduce, or in one reduce-scatter and one all-gather") const {
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
    for (const Gate& gate : plan_.gates)
      if (gate.before.of != Moment::Of::Start) add_edge(node(gate.before), node(gate.after));
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
    for (const std::size_t one : order)
      if (one >= works) order_.push_back(static_cast<std::uint32_t>(one - works));
    return std::nullopt;
  }

  void set_bounds(const std::vector<std::size_t>& order, std::size_t works) {
    earliest_.assign(plan_.transfers.size(), 0);
    grounded_.assign(plan_.transfers.size(), false);
    latest_.assign(plan_.transfers.size(), std::numeric_limits<std::size_t>::max());
    for (const Gate& gate : plan_.gates) {
      if (gate.before.of != Moment::Of::Transfer && gate.after.of == Moment::Of::Transfer)
        grounded_[gate.after.index] = true;
      if (gate.before.of == Moment::Of::Work && gate.after.of == Moment::Of::Transfer)
        earliest_[gate.after.index] = std::max<std::size_t>(earliest_[gate.after.index], gate.before.index + 1);
      if (gate.before.of == Moment::Of::Transfer && gate.after.of == Moment::Of::Work)
        latest_[gate.before.index] = std::min<std::size_t>(latest_[gate.before.index], gate.after.index);
    }
    for (const std::size_t one : order)
      if (one >= works)
        for (const std::uint32_t before : waits_[one - works]) {
          earliest_[one - works] = std::max(earliest_[one - works], earliest_[before]);
          if (grounded_[before]) grounded_[one - works] = true;
        }
    for (std::size_t i = order.size(); i-- > 0;)
      if (order[i] >= works)
        for (const std::uint32_t after : frees_[order[i] - works])
          latest_[order[i] - works] = std::min(latest_[order[i] - works], latest_[after]);
  }

  std::optional<Complaint> too_early_or_late() const {
    const Places places(plan_.program);
    const auto place = [&](const Work& work) { return *places.find(work); };
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

  // Sharded: gradients are reduced before the update, in groups the shards are summed between those, and parameters are
  // gathered after it: before the first forward pass, or (stage 3) before each pass that has freed them.
  std::optional<Complaint> complaint_of_shards() {
    const std::string reduce_once = "every byte of every gradient in one reduce-scatter (of axis shard), or all-reduce";
    const auto last = static_cast<std::uint32_t>(plan_.step.accumulate - 1);
    if (auto wrong = circle()) return wrong;
    std::set<std::uint32_t> batches{last};
    for (const Transfer& one : plan_.transfers)
      if (reduces_shards(one)) batches.insert(one.batch);
    for (const std::uint32_t batch : batches) {
      const auto of_batch = [&](bool (*wanted)(const Transfer&)) {
        return pieces([=](const Transfer& one) { return one.batch == batch && wanted(one); });
      };
      const std::string where = batches.size() > 1 ? fmt::format(" in micro-batch {}", batch) : "";
      const std::vector<Piece> reduced = of_batch(reduces_shards), summed = of_batch(sums_shards);
      if (auto wrong = gap(reduced, "reduced" + where, reduce_once)) return wrong;
      const bool whole = std::all_of(reduced.begin(), reduced.end(), [&](const Piece& piece) {
        return plan_.transfers[piece.transfer].op == Stage::AllReduce;
      });
      if (plan_.step.shard_group > 0 && !whole) {
        if (auto wrong = gap(summed, "summed over the groups" + where,
                             "an all-reduce of axis replica after each reduce-scatter"))
          return wrong;
        if (auto wrong = sent_before(reduced, summed)) return wrong;
      }
    }
    if (auto wrong = reductions_in_time()) return wrong;
    return gathers_in_time();
  }

  // `first` and `then` both tile every tensor: those of the same bytes go in this order.
  std::optional<Complaint> sent_before(const std::vector<Piece>& first, const std::vector<Piece>& then) {
    std::size_t source = 0;
    for (const Piece& piece : then) {
      const auto end = [](const Slice& slice) { return slice.offset + slice.bytes; };
      const auto ends_before = [&](const Slice& other) {
        return other.tensor < piece.slice.tensor ||
               (other.tensor == piece.slice.tensor && end(other) <= piece.slice.offset);
      };
      while (ends_before(first[source].slice)) ++source;
      for (std::size_t i = source;
           i < first.size() && first[i].slice.tensor == piece.slice.tensor && first[i].slice.offset < end(piece.slice);
           ++i)
        if (auto wrong = early(first[i].transfer, piece.transfer)) return wrong;
    }
    return std::nullopt;
  }

  std::optional<Complaint> reductions_in_time() const {
    const Places places(plan_.program);
    const std::size_t update = places(WorkKind::Update, everything, 0);
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      if (!reduces(one)) continue;
      for (const Slice& slice : plan_.blocks[one.block].slices)
        if (earliest_[index] <= places(WorkKind::Backward, profile_.tensors[slice.tensor].layer, one.batch))
          return Complaint{fmt::format("{} may start before the backward pass of '{}' has made '{}'", name(index),
                                       layer_of(slice.tensor), profile_.tensors[slice.tensor].name),
                           fmt::format("after the backward pass of '{}', or a later one", layer_of(slice.tensor))};
      if (latest_[index] > update)
        return Complaint{fmt::format("{} may end after the update has started", name(index)), "before the update"};
    }
    return std::nullopt;
  }

  // The uses of a layer's parameters from one update to the next, in the order of the program from behind the update.
  std::vector<std::size_t> uses_of(LayerId layer, const Places& places) const {
    std::vector<std::size_t> uses;
    for (std::int64_t batch = 0; batch < plan_.step.accumulate; ++batch) {
      uses.push_back(places(WorkKind::Forward, layer, batch));
      uses.push_back(places(WorkKind::Backward, layer, batch));
    }
    return uses;
  }

  std::optional<Complaint> gathers_in_time() const {
    const Places places(plan_.program);
    const std::size_t update = places(WorkKind::Update, everything, 0);
    const bool update_first = update < places(WorkKind::Forward, 0, 0);
    // By use: a gather serves the first one that it cannot miss.
    std::vector<std::vector<Piece>> serving(plan_.step.zero == 3 ? 2 * static_cast<std::size_t>(plan_.step.accumulate)
                                                                 : 1);
    for (const Piece& piece : pieces(gathers)) {
      const LayerId layer = profile_.tensors[piece.slice.tensor].layer;
      const std::vector<std::size_t> uses = uses_of(layer, places);
      if (earliest_[piece.transfer] <= update ? update_first || !grounded_[piece.transfer] : !update_first)
        return Complaint{fmt::format("{} may start before the update has ended", name(piece.transfer)),
                         "after the update, or after the start of a program that ends with it"};
      std::size_t use = 0;
      while (use < serving.size() && latest_[piece.transfer] > uses[use]) ++use;
      if (use == serving.size())
        return Complaint{fmt::format("{} may end after '{}' has started to compute with it", name(piece.transfer),
                                     layer_of(piece.slice.tensor)),
                         fmt::format("before a pass of '{}'", layer_of(piece.slice.tensor))};
      serving[use].push_back(piece);
    }
    if (auto wrong = gap(serving.front(), "gathered before the first forward pass",
                         "every byte of every parameter in one all-gather of axis shard"))
      return wrong;
    for (std::size_t use = 1; use < serving.size(); ++use)
      if (auto wrong = twice(serving[use])) return wrong;
    return std::nullopt;
  }

  std::optional<Complaint> twice(const std::vector<Piece>& pieces) const {
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const Slice &before = pieces[i - 1].slice, &slice = pieces[i].slice;
      if (before.tensor == slice.tensor && slice.offset < before.offset + before.bytes)
        return Complaint{
            fmt::format("byte {} of '{}' is gathered twice for one pass: by {} and by {}", slice.offset,
                        profile_.tensors[slice.tensor].name, name(pieces[i - 1].transfer), name(pieces[i].transfer)),
            "one of them"};
    }
    return std::nullopt;
  }

  // A complaint unless one transfer ends before another starts.
  std::optional<Complaint> early(std::uint32_t before, std::uint32_t after) {
    const std::vector<std::uint32_t>& direct = waits_[after];  // mostly a gather waits for its own reduction
    if (std::find(direct.begin(), direct.end(), before) != direct.end()) return std::nullopt;
    if (latest_[before] < earliest_[after]) return std::nullopt;  // by way of the program
    if (!precedence_) precedence_.emplace(waits_, order_);
    if (precedence_->waits(after, before)) return std::nullopt;
    if (precedence_->tired())
      return Complaint{fmt::format("whether {} waits for {} takes too long to tell", name(after), name(before)),
                       "gates from each transfer to those that send its bytes on"};
    return Complaint{fmt::format("{} may start before {} has ended", name(after), name(before)), "after it"};
  }

  std::optional<Complaint> gathered_before_reduced(const std::vector<Piece>& reduced,
                                                   const std::vector<Piece>& arrived) {
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
        if (auto wrong = early(before, piece.transfer)) return wrong;
      }
    }
    return std::nullopt;
  }

  const Plan& plan_;
  std::vector<Need> needs_;
  const Profile& profile_;
  std::vector<std::vector<std::uint32_t>> waits_, frees_;  // by transfer: those before it, those after it
  std::vector<bool> grounded_;                             // by transfer: whether it waits for any work, or the start
  std::vector<std::size_t> earliest_, latest_;             // by transfer
  std::vector<std::uint32_t> order_;                       // transfers, those waited for first
  std::optional<Precedence> precedence_;                   // of transfers, once it is asked
};

}  // namespace

std::optional<Complaint> uncovered(const Plan& plan, const Profile& profile) {
  return Coverage(plan, needs_of(plan, profile), profile).complaint();
}

std::optional<Complaint> not_an_iteration(const Plan& plan, const Profile& profile) {
  const auto layers = static_cast<std::uint32_t>(profile.layers.size());
  std::vector<Work> passes, wanted;
  std::vector<std::size_t> updates;  // how many passes came before each
  std::size_t pieces = 0;
  for (const Work& one : plan.program) {
    if (one.kind == WorkKind::Forward || one.kind == WorkKind::Backward) {
      passes.push_back(one);
    } else if (one.kind == WorkKind::Update) {
      updates.push_back(passes.size());
      if (one.item == everything) ++pieces;
    } else if (one.item >= plan.blocks.size() || one.batch >= plan.step.accumulate) {
      return Complaint{"the program copies a block that is not there", "the number of a block"};
    }
  }
  for (std::uint32_t batch = 0; batch < plan.step.accumulate; ++batch) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) wanted.push_back({WorkKind::Forward, layer, batch});
    for (std::uint32_t layer = layers; layer-- > 0;) wanted.push_back({WorkKind::Backward, layer, batch});
  }
  const Complaint wrong{"the program is not one iteration",
                        "every forward and backward pass of each micro-batch, in turn, and the update behind them"};
  const auto first = passes.empty() ? wanted.end() : std::find(wanted.begin(), wanted.end(), passes.front());
  if (first == wanted.end() || passes.size() != wanted.size()) return wrong;
  const bool from_forward = first == wanted.begin();
  if (!from_forward && !(first->kind == WorkKind::Backward && first->item + 1 == layers)) return wrong;
  const auto before = static_cast<std::size_t>(wanted.end() - first);  // passes up to the last backward
  std::rotate(wanted.begin(), first, wanted.end());
  if (passes != wanted) return wrong;
  const bool sharded = plan.step.zero > 0;
  if (updates.empty() && profile.update > Time(0))
    return Complaint{"the program has no update, and the profile has one",
                     "{\"update\": \"everything\"} in it, or update=0"};
  if (sharded && (pieces != 1 || updates.size() != 1)) return wrong;
  if (plan.step.zero == 3 && !from_forward)
    return Complaint{"the program starts within the iteration",
                     "the first forward pass: parameters are gathered for it"};
  if (pieces > 1 || (pieces == 1 && updates.size() > 1)) return wrong;
  for (const std::size_t at : updates)
    if (at < before || at > before + layers || (pieces == 1 && at != before)) return wrong;
  return std::nullopt;
}

void require_bearable_passes(const Step& step, const Profile& profile, const Place& place) {
  constexpr std::int64_t most_passes = 5'000'000;  // a graph of so many takes gigabytes
  const auto layers = static_cast<std::int64_t>(profile.layers.size());
  if (step.accumulate > 1 && step.accumulate > most_passes / (2 * layers))
    throw InputError(
        place,
        fmt::format("{} micro-batches of {} layers are more than {} passes", step.accumulate, layers, most_passes),
        fmt::format("at most {}", most_passes / (2 * layers)));
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
  if (const auto wrong = uncovered(plan, profile))
    throw std::logic_error(fmt::format("{}: {} ({})", plan.strategy, wrong->what, wrong->remedy));
}

}  // namespace allreplay
