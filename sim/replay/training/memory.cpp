#include "sim/replay/training/memory.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/core/units.hpp"
#include "sim/replay/training/memory_ledger.hpp"

namespace allreplay {

namespace {

// Returns the bytes of one gradient element; without tensors any number will do.
double gradient_bytes(const Profile& profile) {
  if (profile.tensors.empty()) return 4;
  const Tensor& any = profile.tensors.front();
  return static_cast<double>(any.bytes) / static_cast<double>(any.elements);
}

class Accountant {
 public:
  Accountant(const Scenario& scenario, const Plan& plan, const Unrolled& unrolled, const Episode& episode)
      : scenario_(scenario),
        profile_(scenario.profile),
        plan_(plan),
        unrolled_(unrolled),
        spans_(episode.timeline.spans),
        places_(plan.program()),
        gradient_(gradient_bytes(profile_)) {
    find_units();
    if (unrolled.transfers == 0) return;
    find_uses();
  }

  MemoryUse use() {
    MemoryUse use;
    use.parts = standing();
    if (profile_.has_activations()) use.parts.activations = 0;
    const double buffer =
        plan_.memory_policy.reduce_buffer >= 0 ? static_cast<double>(plan_.memory_policy.reduce_buffer) * gradient_ : 0;
    const double always = use.parts.parameters + use.parts.gradients + use.parts.optimizer + use.parts.outer + buffer;
    for (std::uint32_t c = 0; c < unrolled_.classes; ++c) {
      Ledger ledger;
      hold_gathered(ledger, c);
      hold_reductions(ledger, c);
      hold_matrices(ledger, c);
      hold_pseudo_gradients(ledger, c);
      hold_activations(ledger, c);
      hold_step(ledger, c);
      ledger.settle(always, use);
    }
    use.parts.in_reduction += buffer;
    return use;
  }

 private:
  MemoryParts standing() const {
    double resident = 0;
    if (plan_.memory_policy.resident)
      for (const Slice& slice : plan_.blocks[*plan_.memory_policy.resident].slices)
        resident += static_cast<double>(slice.bytes) / gradient_;
    return standing_memory(scenario_, plan_, held_parameters(plan_, profile_, [](TensorId) { return true; }), resident,
                           static_cast<double>(plan_.sharding.shards(scenario_.workers)));
  }

  Time start(std::uint32_t c, std::size_t place) const { return spans_[unrolled_.work(c, place)].start; }
  Time end(std::uint32_t c, std::size_t place) const { return spans_[unrolled_.work(c, place)].end; }

  void find_uses() {
    awaited_.assign(plan_.transfers.size(), std::numeric_limits<std::size_t>::max());
    for (const Gate& gate : plan_.gates)
      if (const auto* sent = gate.transfer_before(); sent && gate.work_after())
        awaited_[sent->index] = std::min<std::size_t>(awaited_[sent->index], gate.work_after()->place);
  }

  void find_units() {
    const MemoryPolicy& policy = plan_.memory_policy;
    unit_of_.resize(profile_.layers.size());
    for (LayerId layer = 0; policy.units.empty() && layer < profile_.layers.size(); ++layer)
      add_run({layer, layer}, {});
    std::optional<std::uint32_t> root;
    for (std::uint32_t run = 0; run < policy.units.size(); ++run) {
      const bool of_root = std::find(policy.root.begin(), policy.root.end(), run) != policy.root.end();
      add_run(policy.units[run], of_root ? root : std::nullopt);
      if (of_root) root = unit_of_[policy.units[run].first];
    }
  }

  // Adds a run of layers to unit `to`, or as a new unit.
  void add_run(const Unit& run, std::optional<std::uint32_t> to) {
    if (!to) {
      to = static_cast<std::uint32_t>(units_.size());
      units_.push_back(run);
    }
    units_[*to].last = run.last;
    for (LayerId layer = run.first; layer <= run.last; ++layer) unit_of_[layer] = *to;
  }

  // Returns the places of the unit's passes in the program that need its parameters.
  std::vector<ProgramRange> passes_of(const Unit& unit) const {
    const bool backward = profile_.needs_backward(unit.first, unit.last);
    std::vector<ProgramRange> passes;
    for (std::int64_t micro_batch = 0; micro_batch < plan_.sharding.micro_batches(); ++micro_batch) {
      passes.push_back(
          {places_(Activity::Forward, unit.first, micro_batch), places_(Activity::Forward, unit.last, micro_batch)});
      if (!backward) continue;
      passes.push_back(
          {places_(Activity::Backward, unit.last, micro_batch), places_(Activity::Backward, unit.first, micro_batch)});
    }
    return passes;
  }

  // Gathered parameters are freed after the last pass before the next gather.
  void hold_gathered(Ledger& ledger, std::uint32_t c) const {
    if (!plan_.sharding.shards_parameters()) return;
    struct Gather {
      std::size_t pass;  // the first one that reads it
      std::uint32_t transfer;
      Bytes bytes;
    };
    std::vector<std::vector<Gather>> gathers(units_.size());
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      const bool read = one.payload.kind == Payload::Kind::Parameters || one.payload.kind == Payload::Kind::Secondary;
      if (!read || !one.travels() || one.payload.wire.only_scales() ||
          one.payload.block == plan_.memory_policy.resident)
        continue;
      if (one.group == group_replica) continue;  // gathers shards
      for (const Slice& slice : plan_.block_of(one).slices) {
        auto& own = gathers[unit_of_[profile_.tensors[slice.tensor].layer]];
        if (own.empty() || own.back().transfer != index) own.push_back({0, index, 0});
        own.back().bytes += slice.bytes;
      }
    }
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      const std::vector<ProgramRange> passes = passes_of(units_[unit]);
      for (Gather& one : gathers[unit]) {
        const auto first =
            std::lower_bound(passes.begin(), passes.end(), awaited_[one.transfer],
                             [](const ProgramRange& run, std::size_t place) { return run.first < place; });
        one.pass = std::min(static_cast<std::size_t>(first - passes.begin()), passes.size() - 1);
      }
      std::stable_sort(gathers[unit].begin(), gathers[unit].end(),
                       [](const Gather& a, const Gather& b) { return a.pass < b.pass; });
      for (std::size_t i = 0; i < gathers[unit].size(); ++i) {
        const Gather& one = gathers[unit][i];
        const auto again = std::find_if(gathers[unit].begin() + static_cast<std::ptrdiff_t>(i), gathers[unit].end(),
                                        [&](const Gather& other) { return other.pass > one.pass; });
        std::size_t last = passes[(again == gathers[unit].end() ? passes.size() : again->pass) - 1].last;
        if (const auto& until = plan_.transfers[one.transfer].held_until)
          last = std::max<std::size_t>(until->place, passes[one.pass].last);
        const double bytes = static_cast<double>(one.bytes) * profile_.parameter_share();
        ledger.hold(Ledger::Gathered, spans_[unrolled_.transfer(one.transfer)].start, end(c, last), bytes);
        if (i == 0) hold_secondary(ledger, c, end(c, last), bytes);
      }
    }
  }

  // The first time that parameters are freed, they leave a shard until the update.
  void hold_secondary(Ledger& ledger, std::uint32_t c, Time from, double bytes) const {
    if (plan_.sharding.secondary > 1)
      ledger.hold(Ledger::Secondary, from, start(c, places_(Activity::Update, everything, 0)),
                  bytes / static_cast<double>(plan_.sharding.secondary));
  }

  // Unsharded gradients exist from the start of their unit's backward pass to the end of their reduction.
  void hold_reductions(Ledger& ledger, std::uint32_t c) const {
    if (!plan_.sharding.shards_gradients() || plan_.memory_policy.reduce_buffer >= 0 ||
        plan_.memory_policy.whole_gradients)
      return;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      // Quantised gradients are reduced by all-to-alls, of which the last carries the scales between nodes.
      const bool last = one.op == CollectiveOp::AllToAll && one.group == group_nodes && one.payload.wire.only_scales();
      if ((one.op != CollectiveOp::ReduceScatter || one.group == group_replica) && !last) continue;
      for (const Slice& slice : plan_.block_of(one).slices) {
        const Unit& unit = units_[unit_of_[profile_.tensors[slice.tensor].layer]];
        ledger.hold(Ledger::InReduction, start(c, places_(Activity::Backward, unit.last, one.micro_batch)),
                    spans_[unrolled_.transfer(index)].end, static_cast<double>(slice.bytes));
      }
    }
  }

  // A matrix that Muon gathers, or that its owner receives, is held from its arrival to the end of its Newton-Schulz.
  // Owners differ only in their matrices, so that the owner of the largest one needs most.
  void hold_matrices(Ledger& ledger, std::uint32_t c) const {
    if (unrolled_.transfers == 0) return;
    std::map<std::uint32_t, Time> until;  // by block
    const auto& program = plan_.program();
    for (std::size_t place = 0; place < program.size(); ++place)
      if (program[place].kind == Activity::NewtonSchulz) until[program[place].item] = end(c, place);
    std::optional<std::uint32_t> largest;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      if (one.computes == Activity::NewtonSchulz) until[one.payload.block] = spans_[unrolled_.transfer(index)].end;
      if (one.op != CollectiveOp::Gather) continue;
      if (!largest || one.bytes > plan_.transfers[*largest].bytes) largest = index;
    }
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      const auto end = until.find(one.payload.block);
      if (one.payload.kind != Payload::Kind::Matrices || end == until.end() || !one.travels()) continue;
      const Time arrived = spans_[unrolled_.transfer(index)].end;
      if (arrived < end->second && (one.op != CollectiveOp::Gather || index == *largest))
        ledger.hold(Ledger::Matrices, arrived, end->second, held_matrix(one));
    }
  }

  // A gather brings all of a block. An all-to-all brings a rank one matrix of a round: at most its largest.
  double held_matrix(const Transfer& one) const {
    double all = 0, most = 0;
    for (const Slice& slice : plan_.block_of(one).slices) {
      all += static_cast<double>(slice.bytes);
      most = std::max(most, static_cast<double>(slice.bytes));
    }
    return one.op == CollectiveOp::AllToAll ? most : all;
  }

  // A fragment's pseudo-gradients exist from the launch of its average to the end of its outer update, where the
  // synchronised parameters are copied.
  void hold_pseudo_gradients(Ledger& ledger, std::uint32_t c) const {
    if (!plan_.sharding.averages() || unrolled_.transfers == 0) return;
    std::vector<std::uint32_t> fragment(profile_.tensors.size(), 0);  // by tensor: its block
    for (const Work& work : plan_.program())
      if (work.kind == Activity::OuterUpdate)
        for (const Slice& slice : plan_.blocks[work.item].slices) fragment[slice.tensor] = work.item;
    std::map<std::uint32_t, Time> launched;  // by fragment
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      if (one.payload.kind != Payload::Kind::PseudoGradient) continue;
      const Time ready = spans_[unrolled_.transfer(index)].ready;
      Time& first = launched.emplace(fragment[plan_.block_of(one).slices.front().tensor], ready).first->second;
      first = std::min(first, ready);
    }
    for (const auto& [block, from] : launched) {
      const std::size_t place = places_(Activity::OuterUpdate, block, 0);
      const double bytes = static_cast<double>(plan_.blocks[block].bytes()) * profile_.parameter_share();
      ledger.hold(Ledger::Outer, from, end(c, place), bytes);
      if (plan_.memory_policy.outer > 0) ledger.hold_step(start(c, place), end(c, place), bytes);
    }
  }

  void hold_activations(Ledger& ledger, std::uint32_t c) const {
    const Time begin = spans_[unrolled_.lead_in(c)].end, period = spans_[unrolled_.last_work(c)].end;
    for (LayerId layer = 0; layer < profile_.layers.size(); ++layer) {
      if (!profile_.layers[layer].activation_bytes) continue;
      const auto bytes = static_cast<double>(*profile_.layers[layer].activation_bytes);
      for (std::int64_t micro_batch = 0; micro_batch < plan_.sharding.micro_batches(); ++micro_batch) {
        const std::size_t made = places_(Activity::Forward, layer, micro_batch);
        const std::size_t used = places_(Activity::Backward, layer, micro_batch);
        if (made < used) {
          ledger.hold(Ledger::Activations, start(c, made), end(c, used), bytes);
        } else {  // into the next period
          ledger.hold(Ledger::Activations, start(c, made), period, bytes);
          ledger.hold(Ledger::Activations, begin, end(c, used), bytes);
        }
      }
    }
  }

  void hold_step(Ledger& ledger, std::uint32_t c) const {
    const auto shards = static_cast<double>(plan_.sharding.optimizer_shards(scenario_.workers));
    const auto matrices = static_cast<double>(plan_.memory_policy.single_moment);  // which Adam does not update
    for (UpdatePlace& update : update_places(plan_, 0, profile_)) {
      update.elements.all -= matrices;
      ledger.hold_step(start(c, update.work), update.takes_time ? end(c, update.work) : start(c, update.work),
                       step_memory(scenario_, plan_, update.elements.shared_by(shards, plan_)));
    }
  }

  const Scenario& scenario_;
  const Profile& profile_;
  const Plan& plan_;
  const Unrolled& unrolled_;
  const std::vector<Span>& spans_;
  ProgramIndex places_;
  double gradient_;
  std::vector<Unit> units_;             // layers that are gathered and reduced together
  std::vector<std::uint32_t> unit_of_;  // by layer
  std::vector<std::size_t> awaited_;    // by transfer: the first work that waits for it
};

}  // namespace

bool fits(const Scenario& scenario, double bytes) {
  const auto& limit = scenario.options.memory.limit;
  return !limit || bytes <= static_cast<double>(*limit);
}

bool fits(const Scenario& scenario, const Result& result) { return fits(scenario, result.memory.peak); }

std::string limit_text(const Scenario& scenario) {
  const Bytes limit = *scenario.options.memory.limit;
  return scenario.options.places.contains("memory") ? write_size(limit) : format_size(limit);
}

void nothing_fits(const Scenario& scenario, double bytes, std::string_view smallest, std::string_view instead) {
  const bool given = scenario.options.places.contains("memory");
  throw NothingFits(
      given ? scenario.options.place_of("memory") : SourceLocation{scenario.profile->name, "/device"},
      fmt::format("nothing fits into {}", limit_text(scenario)),
      fmt::format("at least {}, which {} needs{}", format_size(static_cast<Bytes>(bytes)), smallest, instead));
}

void Elements::add(const Plan& plan, const Profile& profile, TensorId tensor) {
  const auto more = static_cast<double>(profile.tensors[tensor].elements);
  all += more;
  if (plan.sharding.has_expert_groups() && profile.is_expert(tensor)) experts += more;
}

double Elements::shared_by(double shards, const Plan& plan) const {
  if (experts == 0 || shards == 1) return all / shards;
  return (all - experts) / shards + experts / (shards / static_cast<double>(plan.sharding.experts));
}

HeldParameters held_parameters(const Plan& plan, const Profile& profile, const std::function<bool(TensorId)>& holds) {
  std::vector<bool> reduced(profile.tensors.size(), false);
  if (profile.has_frozen())
    for (const Transfer& one : plan.transfers)
      if (is_reduction(one.op) && one.payload.kind == Payload::Kind::Gradients &&
          one.payload.block != Payload::just_bytes)
        for (const Slice& slice : plan.block_of(one).slices) reduced[slice.tensor] = true;
  HeldParameters held;
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor) {
    if (!holds(tensor)) continue;
    held.all.add(plan, profile, tensor);
    if (!profile.is_frozen(tensor)) held.trained.add(plan, profile, tensor);
    if (!profile.is_frozen(tensor) || reduced[tensor]) held.with_gradients.add(plan, profile, tensor);
  }
  return held;
}

MemoryParts standing_memory(const Scenario& scenario, const Plan& plan, const HeldParameters& parameters,
                            double resident, double shards) {
  const auto& [elements, trained, with_gradients] = parameters;
  const MemoryPolicy& policy = plan.memory_policy;
  const double gradient = gradient_bytes(scenario.profile), own = gradient * scenario.profile->parameter_share();
  const double held = policy.parameter > 0 ? static_cast<double>(policy.parameter) : own;
  const double made = policy.gradient > 0 ? static_cast<double>(policy.gradient) : gradient;
  const auto share = [&](bool shared) { return shared ? shards : 1; };
  MemoryParts parts;
  const auto held_elements = [&](const Elements& all, bool shared) { return all.shared_by(share(shared), plan); };
  parts.parameters =
      held * (held_elements({elements.all - resident, elements.experts}, plan.sharding.shards_parameters()) + resident);
  // Frozen parameters are kept in their own type, unless they share a flat parameter with others.
  parts.parameters +=
      (own - held) * held_elements({elements.all - with_gradients.all, elements.experts - with_gradients.experts},
                                   plan.sharding.shards_parameters());
  const double state = scenario.options.memory.state.value_or(held == 2 ? 12 : 8);
  constexpr double second_moment = 4;  // fp32
  const double saved = std::min(state, second_moment) * static_cast<double>(policy.single_moment);
  const double owners =
      plan.sharding.outer_optimizer ? static_cast<double>(plan.sharding.optimizer_shards(scenario.workers)) : shards;
  if (elements.experts == 0) {  // the order of factors decides the last bit
    parts.gradients =
        made * with_gradients.all / (policy.whole_gradients ? 1 : share(plan.sharding.shards_gradients()));
    parts.optimizer = (trained.all * state - saved) / (plan.sharding.shards_optimizer() ? owners : 1);
  } else {
    parts.gradients = made * held_elements(with_gradients, !policy.whole_gradients && plan.sharding.shards_gradients());
    parts.optimizer = state * held_elements(trained, plan.sharding.shards_optimizer());
  }
  parts.outer = trained.all * static_cast<double>(policy.outer);
  return parts;
}

std::vector<UpdatePlace> update_places(const Plan& plan, std::uint32_t role, const Profile& profile) {
  const std::vector<Work>& program = plan.roles[role].program;
  std::vector<Elements> elements(profile.layers.size());
  for (TensorId tensor = 0; tensor < profile.tensors.size(); ++tensor)
    if (!profile.is_frozen(tensor)) elements[profile.tensors[tensor].layer].add(plan, profile, tensor);
  Elements own;  // of all layers of the role
  std::vector<UpdatePlace> updates;
  std::optional<std::size_t> first_pass;
  std::vector<bool> passed(profile.layers.size(), false);
  for (std::size_t place = 0; place < program.size(); ++place) {
    const Work& work = program[place];
    if (work.kind == Activity::Update)
      updates.push_back({place, true, work.item == everything ? Elements() : elements[work.item]});
    // A pipeline's program begins with its update, and its first forward pass may be of any micro-batch.
    if (work.kind != Activity::Forward || (!plan.pipeline && work.micro_batch != 0) || passed[work.item]) continue;
    passed[work.item] = true;
    own.all += elements[work.item].all;
    own.experts += elements[work.item].experts;
    if (!first_pass) first_pass = place;
  }
  if (updates.empty() && first_pass) updates.push_back({*first_pass, false, own});
  for (UpdatePlace& update : updates)
    if (!update.takes_time || program[update.work].item == everything || updates.size() == 1) update.elements = own;
  return updates;
}

// By default (foreach), PyTorch's Adam keeps the fp32 square roots of all second moments in a temporary
// (torch/optim/adam.py of 2.4, _multi_tensor_adam: exp_avg_sq_sqrt). A state below 8 bytes per element has no second
// moments. PyTorch's Adam is assumed for PyTorch's strategies, for sharded parameters, and for profiles of PyTorch or
// of no framework.
double step_memory(const Scenario& scenario, const Plan& plan, double elements) {
  const MemoryPolicy& policy = plan.memory_policy;
  if (policy.step_elements > 0) elements = std::min(elements, static_cast<double>(policy.step_elements));
  if (policy.step) return elements * static_cast<double>(*policy.step);
  const auto all = strategies();
  const auto named =
      std::find_if(all.begin(), all.end(), [&](const Strategy& one) { return one.name == plan.strategy; });
  const std::string_view framework = named != all.end() ? named->offer.framework : "";
  const std::string& of_profile = scenario.profile->framework;
  const bool pytorch = framework == "pytorch" || framework == "composer" || plan.sharding.shards_parameters() ||
                       of_profile.starts_with("PyTorch") || of_profile.empty() || of_profile == "none" ||
                       of_profile == "unknown";
  constexpr double second_moment = 4;
  return pytorch && scenario.options.memory.state.value_or(8) >= 8 ? elements * second_moment : 0;
}

MemoryUse memory_of(const Scenario& scenario, const Plan& plan, const Unrolled& unrolled, const Episode& episode) {
  if (scenario.profile->tensors.empty()) return {};
  return Accountant(scenario, plan, unrolled, episode).use();
}

}  // namespace allreplay
