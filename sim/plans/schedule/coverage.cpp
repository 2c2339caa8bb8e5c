// Checks plans against needs.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/plans/schedule/local_sgd.hpp"
#include "sim/plans/schedule/muon.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/transfer_order.hpp"

namespace allreplay {

namespace {

bool is_of(const Transfer& transfer, Payload::Kind kind) {
  return transfer.payload.kind == kind && transfer.payload.block != Payload::just_bytes;
}
bool is_exchange(const Transfer& transfer, std::uint32_t group, bool scales) {
  return transfer.op == CollectiveOp::AllToAll && transfer.group == group &&
         transfer.payload.wire.only_scales() == scales && is_of(transfer, Payload::Kind::Gradients);
}
// Quantised gradients are reduced by four all-to-alls, the last two between nodes; this is the third.
bool reduces(const Transfer& transfer) {
  return is_of(transfer, Payload::Kind::Gradients) &&
         (is_reduction(transfer.op) || is_exchange(transfer, group_nodes, false));
}
bool arrives(const Transfer& transfer) {
  return is_gathering(transfer.op) && is_of(transfer, Payload::Kind::Gradients);
}
bool gathers(const Transfer& transfer) {
  return transfer.op == CollectiveOp::AllGather && !transfer.payload.wire.only_scales() &&
         (is_of(transfer, Payload::Kind::Parameters) || is_of(transfer, Payload::Kind::Secondary));
}

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
  bool frozen = false;  // frozen tensors are carried, too
};

class Coverage {
 public:
  Coverage(const Plan& plan, const Profile& profile, const TransferGates& gates, const Duty& duty)
      : plan_(plan),
        profile_(profile),
        duty_(duty),
        places_(program()),
        bounds_(plan, gates, duty.role),
        precedence_(plan, gates, bounds_) {}

  std::optional<Complaint> complaint() {
    if (auto wrong = misplaced()) return wrong;
    const std::vector<Need> needs = needs_of(plan_.sharding);
    if (auto wrong = last_pass_unreduced(needs.front())) return wrong;
    for (const std::uint32_t micro_batch : reduced_micro_batches(needs.front()))
      if (auto wrong = unreduced(needs, micro_batch)) return wrong;
    if (auto wrong = untimely(needs.front())) return wrong;
    if (auto wrong = misses_a_part()) return wrong;
    std::vector<Piece> before, gathered;  // for the first forward pass, by consecutive needs
    for (const Need& need : needs) {
      if (need.payload != Payload::Kind::Parameters) continue;
      if (auto wrong = gathers_in_time(need, gathered)) return wrong;
      if (!before.empty())
        if (auto wrong = out_of_order(before, gathered)) return wrong;
      before = std::move(gathered);
    }
    return std::nullopt;
  }

 private:
  const std::vector<Work>& program() const { return plan_.roles[duty_.role].program; }
  // True for transfers among the shard groups.
  bool sums_shards(const Transfer& one) const { return !plan_.pipeline && one.group == group_replica; }

  // Checks that tensors travel among workers that hold them.
  std::optional<Complaint> misplaced() const {
    for (const auto& [slice, index] :
         pieces([](const Transfer& one) { return one.payload.block != Payload::just_bytes; })) {
      const bool experts = plan_.sharding.has_expert_groups() && profile_.is_expert(slice.tensor);
      if (plan_.is_among_experts(plan_.transfers[index]) != experts)
        return Complaint{
            fmt::format("{} carries '{}' among workers that {}", name(index), profile_.tensors[slice.tensor].name,
                        experts ? "hold other experts" : "are not all of those that hold it"),
            fmt::format("axis {} for tensors of experts, and only for these",
                        plan_.pipeline ? "\"expert R\"" : "\"expert\"")};
      if (!duty_.holds[slice.tensor])
        return Complaint{fmt::format("{} carries '{}', which {} does not hold", name(index),
                                     profile_.tensors[slice.tensor].name, plan_.roles[duty_.role].name),
                         "each tensor on the rank that holds it"};
    }
    return std::nullopt;
  }

  // The micro-batches that are reduced: the one that the need names and, with shards, possibly others. A pipeline may
  // run its last pass for another micro-batch.
  std::set<std::uint32_t> reduced_micro_batches(const Need& need) const {
    std::set<std::uint32_t> micro_batches;
    if (need.op == CollectiveOp::ReduceScatter)
      for (const std::uint32_t index : duty_.transfers)
        if (const Transfer& one = plan_.transfers[index]; reduces(one) && !sums_shards(one))
          micro_batches.insert(one.micro_batch);
    if (!plan_.pipeline || micro_batches.empty()) micro_batches.insert(need.micro_batch);
    return micro_batches;
  }

  // The place of the work that computes a layer's gradients for the micro-batch.
  std::size_t gradient_pass(LayerId layer, std::uint32_t micro_batch) const {
    const auto weights = places_.find({Activity::BackwardWeight, layer, micro_batch});
    return weights ? *weights : places_(Activity::Backward, layer, micro_batch);
  }
  std::uint32_t last_micro_batch(LayerId layer) const {
    auto last = static_cast<std::uint32_t>(plan_.sharding.accumulate - 1);
    for (std::uint32_t other = last; plan_.pipeline && other-- > 0;)
      if (gradient_pass(layer, other) > gradient_pass(layer, last)) last = other;
    return last;
  }

  // If several micro-batches are reduced, each layer's last pass has to be among them.
  std::optional<Complaint> last_pass_unreduced(const Need& need) const {
    const std::set<std::uint32_t> micro_batches = reduced_micro_batches(need);
    for (TensorId id = 0; id < profile_.tensors.size() && micro_batches.size() > 1; ++id)
      if (has_gradient(id) && !micro_batches.contains(last_micro_batch(profile_.tensors[id].layer)))
        return Complaint{fmt::format("'{}' is not reduced after its last pass", profile_.tensors[id].name),
                         "every gradient in a reduction after its last pass"};
    return std::nullopt;
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
    const bool by_micro_batch = shards && (!plan_.pipeline || reduced_micro_batches(need).size() > 1);
    for (const auto& [slice, index] : pieces(reduces)) {
      const LayerId layer = profile_.tensors[slice.tensor].layer;
      const std::uint32_t micro_batch = by_micro_batch ? plan_.transfers[index].micro_batch : last_micro_batch(layer);
      if (bounds_.earliest[index] <= gradient_pass(layer, micro_batch))
        return Complaint{fmt::format("{} may start before the backward pass of '{}' has made '{}'", name(index),
                                     layer_of(slice.tensor), profile_.tensors[slice.tensor].name),
                         fmt::format("after the backward pass of '{}', or a later one", layer_of(slice.tensor))};
    }
    if (plan_.together) return std::nullopt;  // everything ends before the next iteration starts
    return too_late(pieces(shards ? reduces : arrives));
  }

  // Checks the parts of quantised transfers: scales follow values, and the all-to-alls in a node come before those
  // between nodes.
  std::optional<Complaint> misses_a_part() {
    for (const std::uint32_t index : duty_.transfers)
      if (const Transfer& one = plan_.transfers[index]; one.travels() && one.payload.wire.quantises())
        parts_.emplace(part(one, one.group, one.payload.wire.only_scales()), index);
    for (const std::uint32_t index : duty_.transfers) {
      const Transfer& one = plan_.transfers[index];
      if (!one.travels() || !one.payload.wire.quantises() || one.payload.wire.only_scales()) continue;
      const auto scales = part_of(one, one.group, true);
      if (!scales) return Complaint{fmt::format("{} has no scales", name(index)), "a transfer of scales after it"};
      if (auto wrong = early(index, *scales)) return wrong;
      if (bounds_.latest[*scales] > program().size())
        return Complaint{fmt::format("nothing waits for {}", name(*scales)), "a work after it"};
      if (!is_exchange(one, group_nodes, false)) continue;
      const auto in_node = part_of(one, group_node, false), before = part_of(one, group_node, true);
      if (!in_node || !before)
        return Complaint{fmt::format("{} follows no all-to-all in the node", name(index)), "values and scales before"};
      if (auto wrong = early(*before, index)) return wrong;
      if (bounds_.earliest[*in_node] > gradient_pass(layer_id(one), one.micro_batch)) continue;
      return Complaint{fmt::format("{} may start before its gradients are made", name(*in_node)), "after them"};
    }
    return std::nullopt;
  }

  // Values or scales of a block.
  using Part = std::tuple<CollectiveOp, std::uint32_t, Payload::Kind, std::uint32_t, std::uint32_t, bool>;
  static Part part(const Transfer& one, std::uint32_t group, bool scales) {
    return {one.op, group, one.payload.kind, one.payload.block, one.micro_batch, scales};
  }
  std::optional<std::uint32_t> part_of(const Transfer& one, std::uint32_t group, bool scales) const {
    const auto found = parts_.find(part(one, group, scales));
    return found == parts_.end() ? std::nullopt : std::optional(found->second);
  }

  LayerId layer_id(const Transfer& one) const { return first_layer(plan_.block_of(one), profile_); }

  // Returns the steps that have to meet the need.
  std::vector<Leg> legs_of(const Need& need, const std::string& where) const {
    if (need.group == group_all) {
      const std::string once =
          "every byte of every gradient in one all-reduce, or in one reduce-scatter and one all-gather";
      return {{pieces(reduces), "reduced", once}, {pieces(arrives), "sent to all workers", once}};
    }
    const auto pieces_of = [&](std::uint32_t micro_batch, std::uint32_t group) {
      const bool sums = group == group_replica;
      return pieces([=, this](const Transfer& one) {
        return one.micro_batch == micro_batch && reduces(one) && sums_shards(one) == sums &&
               (!sums || one.op == need.op || one.op == CollectiveOp::AllReduce);
      });
    };
    if (need.group == group_shard)
      return {{pieces_of(need.micro_batch, need.group), "reduced" + where,
               "every byte of every gradient in one reduce-scatter (of axis shard), or all-reduce"}};
    // All-reduces among all workers have summed the shards, too.
    const std::vector<Piece> reduced = pieces_of(need.micro_batch, group_shard);
    if (std::all_of(reduced.begin(), reduced.end(),
                    [&](const Piece& piece) { return plan_.transfers[piece.transfer].op == CollectiveOp::AllReduce; }))
      return {};
    // Shards of earlier micro-batches may be accumulated and summed over the groups only in the last one.
    std::vector<Piece> summed = pieces_of(need.micro_batch, need.group);
    if (summed.empty()) summed = pieces_of(static_cast<std::uint32_t>(plan_.sharding.accumulate - 1), need.group);
    return {{std::move(summed), "summed over the groups" + where,
             need.op == CollectiveOp::AllReduce ? "an all-reduce of axis replica after each reduce-scatter"
                                                : "a reduce-scatter of axis replica after each of axis shard"}};
  }

  bool has_gradient(TensorId id) const { return duty_.holds[id] && !profile_.is_frozen(id); }
  std::string name(std::uint32_t index) const { return describe_transfer(plan_, index, profile_); }
  const std::string& layer_of(TensorId tensor) const { return profile_.layers[profile_.tensors[tensor].layer].name; }

  template <class Wanted>
  std::vector<Piece> pieces(Wanted wanted) const {
    std::vector<Piece> pieces;
    for (const std::uint32_t index : duty_.transfers)
      if (wanted(plan_.transfers[index]))
        for (const Slice& slice : plan_.block_of(plan_.transfers[index]).slices) pieces.push_back({slice, index});
    std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.slice.tensor != b.slice.tensor ? a.slice.tensor < b.slice.tensor : a.slice.offset < b.slice.offset;
    });
    return pieces;
  }

  std::optional<Complaint> gap(const Leg& leg) const {
    const auto& [pieces, what, remedy, frozen] = leg;
    std::size_t next = 0;
    for (TensorId id = 0; id < profile_.tensors.size(); ++id) {
      while (next < pieces.size() && pieces[next].slice.tensor < id) ++next;  // frozen ones, sent all the same
      if (!duty_.holds[id] || (profile_.is_frozen(id) && !frozen)) continue;
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

  // The place of the update of the layer, or of its next forward pass if the program has no update.
  std::size_t update_of(LayerId layer) const {
    for (const std::uint32_t item : {everything, layer})
      if (const auto update = places_.find({Activity::Update, item})) return *update;
    return plan_.pipeline ? uses_of(layer).front() : places_(Activity::Forward, layer, 0);
  }

  std::optional<Complaint> too_late(const std::vector<Piece>& pieces) const {
    for (const auto& [slice, index] : pieces) {
      const std::size_t read = update_of(profile_.tensors[slice.tensor].layer);
      if (bounds_.latest[index] <= read + (plan_.pipeline ? program().size() : 0)) continue;
      if (program()[read].kind == Activity::Update)
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
      if (profile_.is_frozen(piece.slice.tensor)) continue;
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
    for (std::uint32_t micro_batch = 0; micro_batch < plan_.sharding.accumulate; ++micro_batch)
      for (const Activity pass :
           {Activity::Forward, Activity::Backward, Activity::BackwardInput, Activity::BackwardWeight})
        if (const auto use = places_.find({pass, layer, micro_batch})) uses.push_back(*use);
    if (plan_.pipeline) std::sort(uses.begin(), uses.end());
    return uses;
  }

  // Sets `first` to the gathers that serve the first forward pass.
  std::optional<Complaint> gathers_in_time(const Need& need, std::vector<Piece>& first) const {
    const bool shards = need.group == group_replica;
    const std::size_t update = places_(need.after, everything, 0);
    // By use: the gathers that surely end before it, but not before an earlier use.
    const bool freed = plan_.sharding.shards_parameters();
    std::map<std::size_t, std::vector<Piece>> serving;
    for (const Piece& piece : pieces([&](const Transfer& one) { return gathers(one) && sums_shards(one) == shards; })) {
      const LayerId layer = profile_.tensors[piece.slice.tensor].layer;
      const std::vector<std::size_t> uses = uses_of(layer);
      const bool update_first = update < uses.front();
      if (bounds_.earliest[piece.transfer] <= update ? update_first || !bounds_.grounded[piece.transfer]
                                                     : !update_first)
        return Complaint{fmt::format("{} may start before the update has ended", name(piece.transfer)),
                         "after the update, or after the start of a program that ends with it"};
      std::size_t use = 0;
      const std::size_t count = freed || plan_.pipeline ? uses.size() : 1;
      while (use < count && bounds_.latest[piece.transfer] > uses[use]) ++use;
      if (use == count)
        return Complaint{fmt::format("{} may end after '{}' has started to compute with it", name(piece.transfer),
                                     layer_of(piece.slice.tensor)),
                         fmt::format("before a pass of '{}'", layer_of(piece.slice.tensor))};
      serving[use].push_back(piece);
    }
    for (const Piece& piece : serving[0])
      if (is_of(plan_.transfers[piece.transfer], Payload::Kind::Secondary))
        return Complaint{
            fmt::format("{} reads secondary shards, which a first pass has not yet left", name(piece.transfer)),
            "an all-gather of axis shard before the first pass"};
    first = serving[0];
    if (auto wrong = gap(
            {first,
             shards ? "gathered among the groups before the first forward pass"
                    : "gathered before the first forward pass",
             fmt::format("every byte of every parameter in one all-gather of axis {}", shards ? "replica" : "shard"),
             freed && !shards}))
      return wrong;
    for (const auto& [use, pieces] : serving)
      if (auto wrong = use > 0 && freed ? twice(pieces) : std::nullopt) return wrong;
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
    const auto waits = precedence_.waits(after, before);
    if (!waits)
      return Complaint{fmt::format("it takes too long to determine whether {} waits for {}", name(after), name(before)),
                       "gates from each transfer to those that forward its bytes"};
    if (*waits) return std::nullopt;
    return Complaint{fmt::format("{} may start before {} has ended", name(after), name(before)), "after it"};
  }

  const Plan& plan_;
  const Profile& profile_;
  const Duty& duty_;
  ProgramIndex places_;
  TransferBounds bounds_;
  TransferPrecedence precedence_;
  std::map<Part, std::uint32_t> parts_;  // of quantised transfers
};

}  // namespace

std::optional<Complaint> find_plan_error(const Plan& plan, const Profile& profile) {
  std::vector<Duty> duties(plan.roles.size());
  for (std::uint32_t role = 0; role < plan.roles.size(); ++role) {
    duties[role] = {role, std::vector<std::uint32_t>(plan.transfers.size()),
                    std::vector<bool>(profile.tensors.size(), true)};
    std::iota(duties[role].transfers.begin(), duties[role].transfers.end(), 0U);
  }
  if (!plan.sharding.shards_optimizer())
    for (std::uint32_t index = 0; index < plan.transfers.size(); ++index)
      if (plan.transfers[index].group != group_all && !plan.is_among_experts(plan.transfers[index]))
        return Complaint{
            fmt::format("{} is sent in groups, but the plan shards nothing", describe_transfer(plan, index, profile)),
            "\"step\": {\"zero\": 1}, or no axis"};
  for (std::uint32_t index = 0; index < plan.transfers.size(); ++index)
    if (const Transfer& one = plan.transfers[index];
        one.group == group_replica && one.op != CollectiveOp::AllReduce && !plan.sharding.outer_optimizer)
      return Complaint{fmt::format("{} is sent among groups that do not share the optimizer",
                                   describe_transfer(plan, index, profile)),
                       "\"step\": {\"outer\": \"optim\"}, or an all-reduce"};
  return find_plan_error(plan, profile, duties);
}

std::optional<Complaint> find_plan_error(const Plan& plan, const Profile& profile, const std::vector<Duty>& duties) {
  TransferOrder order = order_of_transfers(plan);
  if (order.in_circle)
    return Complaint{fmt::format("{} waits for itself", describe_transfer(plan, *order.in_circle, profile)),
                     "no cycle of gates, the order of work, and lanes that start transfers as listed"};
  TransferGates gates(plan);
  gates.order = std::move(order.transfers);
  if (plan.sharding.averages()) return uncovered_round(plan, profile, gates);
  for (const Duty& duty : duties)
    if (auto wrong = Coverage(plan, profile, gates, duty).complaint()) return wrong;
  return plan.pipeline ? std::nullopt : muon_uncovered(plan, profile, TransferBounds(plan, gates));
}

}  // namespace allreplay
