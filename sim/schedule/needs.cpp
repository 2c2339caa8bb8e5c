#include "sim/schedule/needs.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/schedule/precedence.hpp"

namespace allreplay {

std::vector<Need> needs_of(const ShardingConfig& sharding) {
  using enum Payload::Kind;
  const auto last = static_cast<std::uint32_t>(sharding.accumulate - 1);
  if (!sharding.shards_optimizer())
    return {{CollectiveOp::AllReduce, group_all, Gradients, last, WorkKind::Backward, WorkKind::Update}};
  std::vector<Need> needs{
      {CollectiveOp::ReduceScatter, group_shard, Gradients, last, WorkKind::Backward, WorkKind::Update}};
  if (sharding.shard_group > 0)
    needs.push_back({CollectiveOp::AllReduce, group_replica, Gradients, last, WorkKind::Backward, WorkKind::Update});
  needs.push_back({CollectiveOp::AllGather, group_shard, Parameters, 0, WorkKind::Update, WorkKind::Forward});
  return needs;
}

TransferOrder order_of_transfers(const Plan& plan) {
  std::vector<std::size_t> first_work(plan.roles.size() + 1, 0);
  for (std::size_t role = 0; role < plan.roles.size(); ++role)
    first_work[role + 1] = first_work[role] + plan.roles[role].program.size();
  const std::size_t works = first_work.back(), count = works + plan.transfers.size();
  const auto node = [&](const PlanPoint& point) {
    if (const auto* one = std::get_if<TransferPoint>(&point)) return works + one->index;
    const auto& [place, role] = std::get<WorkPoint>(point);
    return first_work[role] + place;
  };
  std::vector<std::vector<std::size_t>> next(count);
  std::vector<std::size_t> left(count, 0);
  const auto add_edge = [&](std::size_t before, std::size_t after) {
    next[before].push_back(after);
    ++left[after];
  };
  for (const Gate& gate : plan.gates)
    if (!gate.next && !std::holds_alternative<StartPoint>(gate.before)) add_edge(node(gate.before), node(gate.after));
  for (std::size_t role = 0; role < plan.roles.size(); ++role)
    for (std::size_t work = first_work[role] + 1; work < first_work[role + 1]; ++work) add_edge(work - 1, work);
  std::vector<std::optional<std::size_t>> last(plan.lanes.size());
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    const std::uint32_t lane = plan.transfers[index].lane;
    if (plan.lanes[lane].order != Order::AsListed) continue;
    if (last[lane]) add_edge(*last[lane], works + index);
    last[lane] = works + index;
  }
  std::vector<std::size_t> order;  // topological
  for (std::size_t one = 0; one < count; ++one)
    if (left[one] == 0) order.push_back(one);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::size_t after : next[order[i]])
      if (--left[after] == 0) order.push_back(after);
  TransferOrder result;
  for (std::uint32_t index = 0; index < plan.transfers.size() && !result.in_circle; ++index)
    if (left[works + index] > 0) result.in_circle = index;
  for (const std::size_t one : order)
    if (one >= works) result.transfers.push_back(static_cast<std::uint32_t>(one - works));
  return result;
}

Complaint circle_of(const Plan& plan, std::uint32_t in_circle, const Profile& profile) {
  return {fmt::format("{} waits for itself", describe_transfer(plan, in_circle, profile)),
          "no cycle of gates, the order of work, and lanes that start transfers as listed"};
}

namespace {

bool reduces(const Transfer& transfer) { return is_reduction(transfer.op); }
bool arrives(const Transfer& transfer) { return is_gathering(transfer.op); }

// A slice and the transfer that carries it.
struct Piece {
  Slice slice;
  std::uint32_t transfer;
};

// One of the consecutive steps that meet a need. Its pieces carry every byte once.
struct Leg {
  std::vector<Piece> pieces;
  std::string what;  // "reduced", for errors
  std::string remedy;
};

class Coverage {
 public:
  Coverage(const Plan& plan, const Profile& profile, std::uint32_t role)
      : plan_(plan),
        profile_(profile),
        role_(role),
        places_(program()),
        waits_(plan.transfers.size()),
        frees_(plan.transfers.size()) {
    for (const Gate& gate : plan.gates)
      if (const auto* before = gate.transfer_before(), *after = gate.transfer_after(); before && after) {
        waits_[after->index].push_back(before->index);
        frees_[before->index].push_back(after->index);
      }
  }

  std::optional<Complaint> complaint() {
    if (!plan_.sharding.shards_optimizer())
      for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
        if (plan_.transfers[index].group != group_all)
          return Complaint{fmt::format("{} is sent in groups, but the plan shards nothing", name(index)),
                           "\"step\": {\"zero\": 1}, or no axis"};
    if (auto wrong = circle()) return wrong;
    const std::vector<Need> needs = needs_of(plan_.sharding);
    for (const std::uint32_t micro_batch : reduced_micro_batches(needs.front()))
      if (auto wrong = unreduced(needs, micro_batch)) return wrong;
    if (auto wrong = untimely(needs.front())) return wrong;
    for (const Need& need : needs)
      if (need.payload == Payload::Kind::Parameters)
        if (auto wrong = gathers_in_time(need)) return wrong;
    return std::nullopt;
  }

 private:
  const std::vector<Work>& program() const { return plan_.roles[role_].program; }

  std::uint32_t last_micro_batch() const { return static_cast<std::uint32_t>(plan_.sharding.accumulate - 1); }

  // The micro-batches that are reduced: the one that the need names and, with shards, possibly others.
  std::set<std::uint32_t> reduced_micro_batches(const Need& need) const {
    std::set<std::uint32_t> micro_batches{need.micro_batch};
    if (need.op == CollectiveOp::ReduceScatter)
      for (const Transfer& one : plan_.transfers)
        if (reduces(one) && one.group != group_replica) micro_batches.insert(one.micro_batch);
    return micro_batches;
  }

  // Checks that the gradients of a micro-batch are completely reduced.
  std::optional<Complaint> unreduced(std::vector<Need> needs, std::uint32_t micro_batch) {
    const bool several = reduced_micro_batches(needs.front()).size() > 1;
    const std::string where = several ? fmt::format(" in micro-batch {}", micro_batch) : "";
    std::vector<Leg> legs;
    for (Need& need : needs) {
      if (need.payload != Payload::Kind::Gradients) continue;
      need.micro_batch = micro_batch;
      for (Leg& leg : legs_of(need, where)) {
        if (auto wrong = gap(leg)) return wrong;
        if (!legs.empty())
          if (auto wrong = out_of_order(legs.back().pieces, leg.pieces)) return wrong;
        legs.push_back(std::move(leg));
      }
    }
    return std::nullopt;
  }

  // Checks the time of every reduction, needed or not: if nothing waited for one, it would remain in flight.
  std::optional<Complaint> untimely(const Need& need) const {
    const bool shards = need.op == CollectiveOp::ReduceScatter;
    for (const auto& [slice, index] : pieces(reduces))
      if (earliest_[index] <=
          place_of(need.after, slice, shards ? plan_.transfers[index].micro_batch : need.micro_batch))
        return Complaint{fmt::format("{} may start before the backward pass of '{}' has made '{}'", name(index),
                                     layer_of(slice.tensor), profile_.tensors[slice.tensor].name),
                         fmt::format("after the backward pass of '{}', or a later one", layer_of(slice.tensor))};
    return too_late(need, pieces(shards ? reduces : arrives));
  }

  // Returns the steps that have to meet the need.
  std::vector<Leg> legs_of(const Need& need, const std::string& where) const {
    if (need.group == group_all) {
      const std::string once =
          "every byte of every gradient in one all-reduce, or in one reduce-scatter and one all-gather";
      return {{pieces(reduces), "reduced", once}, {pieces(arrives), "sent to all workers", once}};
    }
    const auto of_micro_batch = [&](std::uint32_t micro_batch, std::uint32_t group) {
      return pieces([=](const Transfer& one) {
        return one.micro_batch == micro_batch && reduces(one) &&
               (one.group == group_replica) == (group == group_replica);
      });
    };
    if (need.op == CollectiveOp::ReduceScatter)
      return {{of_micro_batch(need.micro_batch, need.group), "reduced" + where,
               "every byte of every gradient in one reduce-scatter (of axis shard), or all-reduce"}};
    // All-reduces among all workers have summed the shards, too.
    const std::vector<Piece> reduced = of_micro_batch(need.micro_batch, group_shard);
    if (std::all_of(reduced.begin(), reduced.end(),
                    [&](const Piece& piece) { return plan_.transfers[piece.transfer].op == CollectiveOp::AllReduce; }))
      return {};
    // Shards of earlier micro-batches may be accumulated and summed over the groups only in the last one.
    std::vector<Piece> summed = of_micro_batch(need.micro_batch, need.group);
    if (summed.empty()) summed = of_micro_batch(last_micro_batch(), need.group);
    return {{std::move(summed), "summed over the groups" + where,
             "an all-reduce of axis replica after each reduce-scatter"}};
  }

  std::string name(std::uint32_t index) const { return describe_transfer(plan_, index, profile_); }
  const std::string& layer_of(TensorId tensor) const { return profile_.layers[profile_.tensors[tensor].layer].name; }

  template <class Wanted>
  std::vector<Piece> pieces(Wanted wanted) const {
    std::vector<Piece> pieces;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (wanted(plan_.transfers[index]))
        for (const Slice& slice : plan_.block_of(plan_.transfers[index]).slices) pieces.push_back({slice, index});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.slice.tensor != b.slice.tensor ? a.slice.tensor < b.slice.tensor : a.slice.offset < b.slice.offset;
    });
    return pieces;
  }

  std::optional<Complaint> gap(const Leg& leg) const {
    const auto& [pieces, what, remedy] = leg;
    std::size_t next = 0;
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      const Tensor& tensor = profile_.tensors[id];
      Bytes sent = 0;
      for (; next < pieces.size() && pieces[next].slice.tensor == id; ++next) {
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

  // Orders the transfers and sets earliest_ and latest_. Returns a complaint if a transfer waits for itself.
  std::optional<Complaint> circle() {
    TransferOrder order = order_of_transfers(plan_);
    if (order.in_circle) return circle_of(plan_, *order.in_circle, profile_);
    order_ = std::move(order.transfers);
    set_bounds();
    return std::nullopt;
  }

  void set_bounds() {
    earliest_.assign(plan_.transfers.size(), 0);
    grounded_.assign(plan_.transfers.size(), false);
    latest_.assign(plan_.transfers.size(), std::numeric_limits<std::size_t>::max());
    for (const Gate& gate : plan_.gates) {
      const auto *from = gate.work_before(), *to = gate.work_after();
      const auto *sent = gate.transfer_before(), *sends = gate.transfer_after();
      if (sends && !sent) grounded_[sends->index] = true;
      if (sends && from && from->role == role_)
        earliest_[sends->index] = std::max<std::size_t>(earliest_[sends->index], from->place + 1);
      if (sent && to && to->role == role_)
        latest_[sent->index] = std::min<std::size_t>(latest_[sent->index], to->place);
    }
    for (const std::uint32_t one : order_)
      for (const std::uint32_t before : waits_[one]) {
        earliest_[one] = std::max(earliest_[one], earliest_[before]);
        if (grounded_[before]) grounded_[one] = true;
      }
    for (std::size_t i = order_.size(); i-- > 0;)
      for (const std::uint32_t after : frees_[order_[i]])
        latest_[order_[i]] = std::min(latest_[order_[i]], latest_[after]);
  }

  // The work of the slice's layer, or the update; the layer's next forward pass, if the program has no update.
  Work work_of(WorkKind kind, const Slice& slice, std::uint32_t micro_batch) const {
    const LayerId layer = profile_.tensors[slice.tensor].layer;
    if (kind != WorkKind::Update) return {kind, layer, micro_batch};
    for (const Work& update : {Work{WorkKind::Update, everything}, Work{WorkKind::Update, layer}})
      if (places_.find(update)) return update;
    return {WorkKind::Forward, layer, 0};
  }
  std::size_t place_of(WorkKind kind, const Slice& slice, std::uint32_t micro_batch) const {
    return *places_.find(work_of(kind, slice, micro_batch));
  }

  std::optional<Complaint> too_late(const Need& need, const std::vector<Piece>& pieces) const {
    for (const auto& [slice, index] : pieces) {
      const Work read = work_of(need.before, slice, 0);
      if (latest_[index] <= *places_.find(read)) continue;
      if (read.kind == WorkKind::Update)
        return Complaint{fmt::format("{} may end after the update has started", name(index)), "before the update"};
      return Complaint{fmt::format("{} may end after the next forward pass of '{}' has started", name(index),
                                   layer_of(slice.tensor)),
                       fmt::format("before the forward pass of '{}', or an earlier one", layer_of(slice.tensor))};
    }
    return std::nullopt;
  }

  // Checks that transfers in `first` end before those in `then` that carry the same bytes. Both cover every byte once.
  std::optional<Complaint> out_of_order(const std::vector<Piece>& first, const std::vector<Piece>& then) {
    const auto end = [](const Slice& slice) { return slice.offset + slice.bytes; };
    std::size_t source = 0;
    for (const Piece& piece : then) {
      const auto ends_before = [&](const Slice& other) {
        return other.tensor < piece.slice.tensor ||
               (other.tensor == piece.slice.tensor && end(other) <= piece.slice.offset);
      };
      while (ends_before(first[source].slice)) ++source;
      for (std::size_t i = source;
           i < first.size() && first[i].slice.tensor == piece.slice.tensor && first[i].slice.offset < end(piece.slice);
           ++i)
        if (first[i].transfer != piece.transfer)
          if (auto wrong = early(first[i].transfer, piece.transfer)) return wrong;
    }
    return std::nullopt;
  }

  // The passes that use a layer's parameters, from one update to the next.
  std::vector<std::size_t> uses_of(LayerId layer) const {
    std::vector<std::size_t> uses;
    for (std::int64_t micro_batch = 0; micro_batch < plan_.sharding.accumulate; ++micro_batch) {
      uses.push_back(places_(WorkKind::Forward, layer, micro_batch));
      uses.push_back(places_(WorkKind::Backward, layer, micro_batch));
    }
    return uses;
  }

  std::optional<Complaint> gathers_in_time(const Need& need) const {
    const std::size_t update = places_(need.after, everything, 0);
    const bool update_first = update < places_(WorkKind::Forward, 0, 0);
    // By use: the gathers that surely end before it, but not before an earlier use.
    const bool freed = plan_.sharding.shards_parameters();
    std::vector<std::vector<Piece>> serving(freed ? 2 * static_cast<std::size_t>(plan_.sharding.accumulate) : 1);
    for (const Piece& piece : pieces([](const Transfer& one) { return one.op == CollectiveOp::AllGather; })) {
      const LayerId layer = profile_.tensors[piece.slice.tensor].layer;
      const std::vector<std::size_t> uses = uses_of(layer);
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
    if (auto wrong = gap({serving.front(), "gathered before the first forward pass",
                          "every byte of every parameter in one all-gather of axis shard"}))
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

  // Returns a complaint unless transfer `before` ends before `after` starts.
  std::optional<Complaint> early(std::uint32_t before, std::uint32_t after) {
    const std::vector<std::uint32_t>& direct = waits_[after];  // the usual case: a gather waits for its reduction
    if (std::find(direct.begin(), direct.end(), before) != direct.end()) return std::nullopt;
    if (latest_[before] < earliest_[after]) return std::nullopt;  // through the program
    if (!precedence_) precedence_.emplace(waits_, order_);
    if (precedence_->waits(after, before)) return std::nullopt;
    if (precedence_->tired())
      return Complaint{fmt::format("it takes too long to determine whether {} waits for {}", name(after), name(before)),
                       "gates from each transfer to those that forward its bytes"};
    return Complaint{fmt::format("{} may start before {} has ended", name(after), name(before)), "after it"};
  }

  const Plan& plan_;
  const Profile& profile_;
  std::uint32_t role_;
  ProgramIndex places_;
  std::vector<std::vector<std::uint32_t>> waits_, frees_;  // by transfer: transfers that it waits for; that wait for it
  std::vector<bool> grounded_;  // by transfer: waits for a work or the program's start, directly or not
  // By transfer: the number of works that have ended before it can start; the first work that waits for it, directly
  // or through other transfers.
  std::vector<std::size_t> earliest_, latest_;
  std::vector<std::uint32_t> order_;      // transfers in topological order
  std::optional<Precedence> precedence_;  // of transfers, made when first needed
};

}  // namespace

std::optional<Complaint> uncovered(const Plan& plan, const Profile& profile) {
  for (std::uint32_t role = 0; role < plan.roles.size(); ++role)
    if (auto wrong = Coverage(plan, profile, role).complaint()) return wrong;
  return std::nullopt;
}

namespace {

// Checks that each layer with tensors has an update before its first forward pass.
std::optional<Complaint> not_updated(const std::map<LayerId, std::size_t>& passes_before, std::size_t first_forward,
                                     const Profile& profile) {
  for (const Tensor& tensor : profile.tensors) {
    const std::string& layer = profile.layers[tensor.layer].name;
    const auto update = passes_before.find(tensor.layer);
    if (update == passes_before.end())
      return Complaint{fmt::format("the program updates layers, but not '{}'", layer),
                       "{\"update\": \"everything\"}, or the update of each layer that has tensors"};
    if (update->second > first_forward + tensor.layer)
      return Complaint{fmt::format("the program updates '{}' after its forward pass", layer), "before it"};
  }
  return std::nullopt;
}

std::optional<Complaint> not_an_iteration(const Role& role, const Plan& plan, const Profile& profile) {
  const auto layers = static_cast<std::uint32_t>(profile.layers.size());
  std::vector<Work> passes, wanted;
  std::map<LayerId, std::size_t> updates;  // by layer or `everything`: number of passes before it
  std::size_t count = 0;                   // number of updates
  for (const Work& one : role.program) {
    if (one.kind == WorkKind::Forward || one.kind == WorkKind::Backward) {
      passes.push_back(one);
    } else if (one.kind == WorkKind::Update) {
      updates.emplace(one.item, passes.size());
      ++count;
    } else if (one.item >= plan.blocks.size() || one.micro_batch >= plan.sharding.accumulate) {
      return Complaint{"the program copies a block that does not exist", "the number of a block"};
    }
  }
  for (std::uint32_t micro_batch = 0; micro_batch < plan.sharding.accumulate; ++micro_batch) {
    for (std::uint32_t layer = 0; layer < layers; ++layer) wanted.push_back({WorkKind::Forward, layer, micro_batch});
    for (std::uint32_t layer = layers; layer-- > 0;) wanted.push_back({WorkKind::Backward, layer, micro_batch});
  }
  const Complaint wrong{"the program is not one iteration",
                        "every forward and backward pass of each micro-batch, in turn, and the update after them"};
  const auto first = passes.empty() ? wanted.end() : std::find(wanted.begin(), wanted.end(), passes.front());
  if (first == wanted.end() || passes.size() != wanted.size()) return wrong;
  const bool from_forward = first == wanted.begin();
  if (!from_forward && !(first->kind == WorkKind::Backward && first->item + 1 == layers)) return wrong;
  const auto before = static_cast<std::size_t>(wanted.end() - first);  // number of passes up to the last backward pass
  std::rotate(wanted.begin(), first, wanted.end());
  if (passes != wanted) return wrong;
  const bool in_one = updates.contains(everything);
  if (updates.empty() && profile.update > Time(0))
    return Complaint{"the program has no update, but the profile has one",
                     "{\"update\": \"everything\"} in it, or update=0"};
  if (count != updates.size() || (in_one && count != 1) || (plan.sharding.shards_optimizer() && !in_one)) return wrong;
  if (plan.sharding.shards_parameters() && !from_forward)
    return Complaint{"the program starts within the iteration",
                     "the first forward pass: parameters are gathered for it"};
  for (const auto& [layer, at] : updates)
    if (at < before || at > before + layers || (in_one && at != before)) return wrong;
  return in_one || updates.empty() ? std::nullopt : not_updated(updates, before, profile);
}

}  // namespace

std::optional<Complaint> not_an_iteration(const Plan& plan, const Profile& profile) {
  for (const Role& role : plan.roles)
    if (auto wrong = not_an_iteration(role, plan, profile)) return wrong;
  return std::nullopt;
}

void require_bearable_passes(const ShardingConfig& sharding, const Profile& profile, const SourceLocation& place) {
  // A pass takes about 1.5 kB, and four times that if it gathers its parameters.
  const std::int64_t most_passes = sharding.shards_parameters() ? 500'000 : 2'000'000;
  const auto layers = static_cast<std::int64_t>(profile.layers.size());
  if (sharding.accumulate > 1 && sharding.accumulate > most_passes / (2 * layers))
    throw InputError(
        place,
        fmt::format("{} micro-batches of {} layers are more than {} passes", sharding.accumulate, layers, most_passes),
        fmt::format("at most {}", most_passes / (2 * layers)));
}

void require_complete(const BucketSchedule& schedule, const Profile& profile) {
  std::vector<const Slice*> slices;
  for (const Block& block : schedule.blocks)
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
      throw std::logic_error(fmt::format("{}: bytes of '{}' from {} are left out or sent twice", schedule.strategy,
                                         profile.tensors[tensor].name, sent));
  }
  if (next != slices.size())
    throw std::logic_error(schedule.strategy + ": a slice that is sent twice, or of no tensor");
}

void require_covered(const Plan& plan, const Profile& profile) {
  if (const auto wrong = uncovered(plan, profile))
    throw std::logic_error(fmt::format("{}: {} ({})", plan.strategy, wrong->what, wrong->remedy));
}

}  // namespace allreplay
