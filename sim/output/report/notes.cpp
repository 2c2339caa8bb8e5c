#include "sim/output/report/notes.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/device.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/over_seeds.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

namespace {

struct NoteSentence {
  std::string_view kind, text;
};

constexpr NoteSentence sentences[] = {
    {"tie",
     "~: within {tie:percent} of the fastest: a tie, which the simplest to run wins[ of those that tie with "
     "{bandwidth_share:portion} of the bandwidth between nodes, too (--doubt)]"},
    {"headroom", "*: leaves less than {headroom:percent} of the memory free (--headroom): wins only if all do"},
    {"does not fit", "!: does not fit into a worker's memory"},
    {"device memory", "note: a worker has {memory_bytes}, the memory of {device} (to change it: --memory)"},
    {"memory unchecked", "note: memory is not checked (to check it: --memory {example})"},
    {"no activations", "note: memory is without activations, which the profile does not have"},
    {"undivided",
     "note: scaling efficiency is not relative to {workers} workers, over which the samples of an iteration cannot be "
     "divided "
     "evenly"},
    {"above 100 %",
     "note: a scaling efficiency above 100 % is more per GPU than[ {strategy:nonzero} with] {relative_to}"},
    {"uniform workers",
     "note: all GPUs are equally fast, and communication does not slow them down; presets have both: --spread 1% "
     "--interference 1.19"},
    {"no experts", R"(note: gradients are reduced as without --ep: the profile marks no layer as "expert")"},
    {"experts without sequence parallelism",
     "note: Megatron-LM refuses to train experts in tensor groups without sequence parallelism (--sequence-parallel)"},
    {"jitter", "note: with jitter small differences may be chance (`compare --seeds 1:20` tells)"},
    {"paired",
     "over fastest: mean of the differences at the same {seeds} seeds; ± 95 %: confidence intervals by "
     "Student's t; ?: may be chance"},
    {"no random routes",
     "note: nothing is random here: all seeds give one number (for routes by a hash, in fluid or "
     "message: --routing ecmp)"},
    {"only nccl corrected",
     "note: nccl's times have the corrections of measurements; those of other algorithms are ideal"},
    {"nothing random", "note: nothing is random here: all seeds give one number (for random times: --jitter 5%)"},
    {"searched in alpha-beta", "note: best is searched in alpha-beta: in message other plans may be faster"},
    {"time between ops",
     "note: the replay is {share} faster than the measurement: {lost_s} of a step are lost between ops, to launches on "
     "the host or to work that the timeline does not show, such as loading data[; the longest, {longest_s}, before the "
     "ops of {workers}]"},
    {"ops overlap",
     "note: the replay is {share} slower than the measurement, by {lost_s} a step: ops overlap that the replay runs "
     "one after another, or the workers' clocks differ"},
    {"clocks differ",
     "note: the workers' clocks differ: {share} of the transfers and collectives end on one worker before they start "
     "on another"},
    {"uneven stages",
     "note: rows {rows}: the first and last stages have fewer layers, since they have embedding and loss"},
    {"short sums",
     "note: {strategy} adds gradients up in {type}, which saves memory and traffic against fp32, but loses digits with "
     "each of the {summands} summands (for fp32: --option gradient_dtype=fp32)"},
    {"not measured",
     "note: the times of {profile} are {origin}, not measured[: predictions of the nearest measured trainings missed "
     "by {median:percent} in the median, {p90:percent} in 9 of 10 ({page})]"},
    {"activations do not fit",
     "note: the activations do not fit into the device's memory (fewer samples at a time, or --recompute)"},
    {"speed without group", "note: speeds are without the communication of groups inside layers"},
    {"slow computation", "*: includes slower computation (events, stragglers, jitter)"},
    {"unfelt events",
     "note: events {events} change nothing: they are outside of the measured time, or no worker is placed there"},
    {"one phase",
     "note: measured for less than an iteration of {longest} ({iteration_s}), so only in one phase of it: {jobs} (to "
     "measure longer: \"iterations\" of {longest})"},
};

bool any_of(const std::vector<Outcome>& outcomes, bool (*holds)(const Outcome&)) {
  return std::any_of(outcomes.begin(), outcomes.end(), holds);
}

bool has_jitter(const Outcome& one) { return one.scenario.stragglers.jitter.has_value(); }

bool is_searched_elsewhere(const Outcome& one) {
  const Metrics& m = one.result.metrics;
  const bool optimal = m.lower_bound_s && m.iteration_s <= 1.001 * *m.lower_bound_s;
  return one.result.fidelity == Fidelity::Message && !one.scenario.given && one.scenario.strategy->searched() &&
         !optimal;
}

// The presets of machines with several GPUs in a node have both spread and interference.
bool is_uniform(const Outcome& one) {
  return one.scenario.cluster.in_words && one.scenario.cluster.network.node && one.scenario.workers > 1 &&
         !one.scenario.cluster.interference && !one.scenario.stragglers.any();
}

// Tokens are exchanged among experts whose tensors the profile does not mark.
bool has_unmarked_experts(const Outcome& one) {
  const Profile& profile = one.scenario.profile;
  return one.scenario.options.parallel.ep > 1 && !profile.tensors.empty() && !profile.has_experts();
}

// Megatron-LM, megatron/core/transformer/moe/moe_layer.py, MoELayer.forward() (commit 00119989) throws for these. Sums
// of tensor groups are all-reduces, or with sequence parallelism reduce-scatters.
bool splits_experts_without_sequences(const Outcome& one) {
  const Profile& profile = one.scenario.profile;
  if (one.scenario.options.parallel.tp == 1 || !profile.has_experts()) return false;
  const auto has = [&](CollectiveOp op) {
    return std::ranges::any_of(profile.layers, [&](const Layer& layer) {
      return std::ranges::any_of(layer.collectives, [&](const LayerCollective& each) {
        return each.op == op && each.group == LayerCollective::Among::Tensor;
      });
    });
  };
  return has(CollectiveOp::AllReduce) && !has(CollectiveOp::ReduceScatter);
}

// Notes which worker's memory is the limit, or that no worker's is.
void add_memory_notes(const std::vector<Outcome>& outcomes, JsonValue& notes) {
  const auto& [scenario, result, wall_s] = outcomes.front();
  const auto& limit = scenario.options.memory.limit;
  const auto& device = scenario.device;
  const bool activations = result.memory.parts.activations.has_value();
  const bool shown = any_of(outcomes, [](const Outcome& one) {
    return one.result.plan.sharding.shards_optimizer() || one.scenario.options.memory.limit.has_value();
  });
  if (device && limit == device->memory)
    notes.push_back({{"note", "device memory"}, {"memory_bytes", *limit}, {"device", device->name}});
  if (!limit && (shown || activations)) {
    std::string example = device ? format_size(device->memory) : "80GB";
    std::erase(example, ' ');
    notes.push_back({{"note", "memory unchecked"}, {"example", example}});
  }
  if (shown && !activations) notes.push_back({{"note", "no activations"}});
}

// Notes on what efficiencies are relative to.
void add_efficiency_notes(const std::vector<Outcome>& outcomes, const std::vector<ScalingReference>& references,
                          JsonValue& notes) {
  constexpr double above = 1.0005;  // more than 100.0 %
  const auto undivided = std::ranges::find_if(references, [](const auto& one) { return !one.undivided.empty(); });
  if (undivided != references.end()) notes.push_back({{"note", "undivided"}, {"workers", undivided->undivided.back()}});
  for (std::size_t i = 0; i < references.size(); ++i)
    if (const ScalingReference& one = references[i]; one.relative(outcomes[i]) > above)
      return notes.push_back(
          {{"note", "above 100 %"}, {"strategy", one.runs() ? one.strategy : ""}, {"relative_to", one.in_words()}});
}

}  // namespace

bool is_estimated(std::string_view origin) { return origin == name_of(origins, Origin::Estimated); }

bool is_inferred(std::string_view origin) {
  return origin == name_of(origins, Origin::Reconstructed) || is_estimated(origin);
}

JsonValue error_json(const NearestError& error) {
  const KnownError& known = *error.known;
  const ErrorQuantiles& quantiles = error.quantiles();
  return {{"page", fmt::format("docs/generated/{}.md", known.page())},
          {"data", known.data},
          {"points", quantiles.points},
          {"median", quantiles.median},
          {"p90", quantiles.p90},
          {"relative_to", known.of_times ? "measured time" : "measured speed"},
          {"where_it_matters", error.matters},
          {"differs", error.differs}};
}

JsonValue notes_on_origins(const std::map<std::string, TimesOfProfile>& by_profile) {
  auto notes = JsonValue::array();
  for (const auto& [profile, times] : by_profile) {
    if (!is_inferred(times.origin)) continue;
    notes.push_back({{"note", "not measured"}, {"profile", profile}, {"origin", times.origin}});
    if (times.error && is_estimated(times.origin)) notes.back().update(error_json(*times.error));
  }
  return notes;
}

JsonValue note_on_origin(const Profile& profile) {
  return notes_on_origins({{profile.name, {to_string(profile.origin)}}});
}

JsonValue note_on_origin(const Outcome& outcome) {
  const Profile& profile = outcome.scenario.profile;
  return notes_on_origins({{profile.name, {to_string(profile.origin), nearest_error(outcome)}}});
}

JsonValue note_on_short_sums(const Scenario& scenario) {
  const ParallelOptions& parallel = scenario.options.parallel;
  auto notes = JsonValue::array();
  if (bytes_of_gradient(scenario.profile) != 2) return notes;
  notes.push_back(
      {{"note", "short sums"},
       {"strategy", scenario.strategy->name},
       {"type", scenario.profile->precision == "fp16" ? "fp16" : "bf16"},
       {"summands", scenario.workers / parallel.pp / parallel.tp * scenario.options.strategy.sharding.accumulate}});
  return notes;
}

JsonValue notes_on(const std::vector<Outcome>& outcomes, const std::vector<ScalingReference>& references) {
  auto notes = JsonValue::array();
  add_memory_notes(outcomes, notes);
  add_efficiency_notes(outcomes, references, notes);
  if (any_of(outcomes, is_uniform)) notes.push_back({{"note", "uniform workers"}});
  if (any_of(outcomes, has_unmarked_experts)) notes.push_back({{"note", "no experts"}});
  if (any_of(outcomes, splits_experts_without_sequences))
    notes.push_back({{"note", "experts without sequence parallelism"}});
  const bool seeded = !outcomes.front().scenario.seeds.empty();
  if (seeded && !any_of(outcomes, [](const Outcome& one) { return is_random(one.scenario); }))
    notes.push_back({{"note", "nothing random"}});
  if (outcomes.size() > 1 && !seeded && any_of(outcomes, has_jitter)) notes.push_back({{"note", "jitter"}});
  if (any_of(outcomes, is_searched_elsewhere)) notes.push_back({{"note", "searched in alpha-beta"}});
  const auto ranked = std::ranges::find_if(outcomes, [](const Outcome& one) { return fits(one.scenario, one.result); });
  append(notes, note_on_origin(ranked == outcomes.end() ? outcomes.front() : *ranked));
  return notes;
}

void append(JsonValue& notes, const JsonValue& more) {
  for (const JsonValue& one : more) notes.push_back(one);
}

std::string_view sentence_of_note(std::string_view kind) {
  for (const NoteSentence& one : sentences)
    if (one.kind == kind) return one.text;
  throw std::logic_error(fmt::format("no sentence for the note '{}'", kind));
}

std::vector<std::string_view> note_kinds() {
  std::vector<std::string_view> kinds;
  for (const NoteSentence& one : sentences) kinds.push_back(one.kind);
  return kinds;
}

}  // namespace allreplay
