#include "sim/output/report/run_report.hpp"

#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

JsonValue run_json(const Outcome& outcome, const ScalingReference& reference, const Training& training) {
  Row row = row_with_reference(outcome, reference);
  append_cost(row, training, outcome);
  JsonValue json = json_of(row);
  if (const auto& parallel = outcome.result.parallel) json["stages"] = stages_json(*parallel);
  return json;
}

JsonValue run_document(const Outcome& outcome, const ScalingReference& reference, const Training& training) {
  const auto& [scenario, result, wall_s] = outcome;
  const Metrics& m = result.metrics;
  JsonValue json = run_json(outcome, reference, training);
  json["title"] = title(scenario);
  json["settings"] = json_of(options_to_show(scenario));
  if (result.plan.sharding.accumulate > 1) json["accumulate"] = result.plan.sharding.accumulate;
  if (scenario.options.parallel.pp > 1) json["ranks"] = scenario.options.parallel.pp;
  json["exposed_comm_share"] = m.exposed_comm_s / m.iteration_s;
  json[result.parallel ? "copies_for_them_s" : "copies_s"] = m.copy_s;
  if (m.straggler_s != 0) json["straggler_share"] = m.straggler_s / m.iteration_s;
  if (m.lower_bound_s) json["above_bound_share"] = m.iteration_s / *m.lower_bound_s - 1;
  if (const auto& limit = scenario.options.memory.limit) {
    json[fits(scenario, result) ? "memory_limit_bytes" : "too_small_bytes"] = *limit;
    json["free_memory_share"] = free_share(limit, result.memory.peak);
  }
  json["relative_to"] = reference.in_words();
  json["notes"] = notes_on({outcome}, {reference});
  return json;
}

const View& run_view() {
  static const View view{{
      ViewText{"{title}"},
      ViewFacts{{
          {"strategy", "{strategy}"},
          {"codec", "{codec}"},
          {"options", "{settings}"},
          {"schedule", "{schedule}, {ranks} ranks"},
          {"iteration", "{iteration_s}"},
          {"  over seeds",
           "mean of {seeds}[ ± {ci95_s:like iteration_s} (95 % confidence)][, standard deviation {sd_s:like "
           "iteration_s}], "
           "median {p50_s:like iteration_s}, 95th percentile {p95_s:like iteration_s}"},
          {"  forward", "[{accumulate} x ]{forward_s}[, all {ranks} ranks]"},
          {"  backward", "[{accumulate} x ]{backward_s}[, all {ranks} ranks]"},
          {"  update", "{update_s:nonzero}"},
          {"  waiting for the host", "{host_s:nonzero}, in passes and after the update"},
          {"  encoding and decoding", "{codec_s:nonzero}"},
          {"  stragglers", "{straggler_s} ({straggler_share} of the iteration)"},
          {"  exposed communication", "{exposed_comm_s} ({exposed_comm_share} of the iteration)"},
          {"    copies", "{copies_s:nonzero}, on the GPU"},
          {"    reductions and gathers", "{exposed_dp_s:nonzero}"},
          {"      copies", "{copies_for_them_s:nonzero}, on the GPU"},
          {"    sends between ranks", "{exposed_p2p_s:nonzero}"},
          {"    inside layers", "{layer_comm_s:nonzero}"},
          {"      token exchanges", "{exposed_ep_s:nonzero}"},
          {"  bubble", "{bubble_s:nonzero}[, mean of {ranks} ranks]"},
          {"communication in flight", "{comm_busy_s}, collectives: {collectives}"},
          {"scaling efficiency", "{relative_efficiency} per GPU, relative to {relative_to}"},
          {"throughput", "{samples_per_s} samples/s[, per GPU {tokens_per_s_per_gpu:0} tokens/s][, MFU {mfu}]"},
          {"training", training_text()},
          {"memory of a worker",
           "{memory_bytes}[ of {memory_limit_bytes}, {free_memory_share} free][, does not fit into {too_small_bytes}]"},
          {"", "{memory:sizes}"},
          {"  fits with", "{remedy/flags:words}: {remedy/memory_bytes}"},
          {"lower bound", "{lower_bound_s} (this is {above_bound_share} above)"},
          {"lower bound", "none with {codec}: it is for uncompressed gradients"},
      }},
      ViewNotes{},
  }};
  return view;
}

namespace {

// Settings that change nothing, since a node is always available.
JsonValue idle_settings(const Reliability& reliability) {
  auto settings = JsonValue::array();
  if (!reliability.spares && reliability.repair != 0) settings.push_back("repair");
  if (!reliability.spares && reliability.elastic) settings.push_back("elastic");
  return settings;
}

}  // namespace

JsonValue goodput_json(const Goodput& goodput) {
  JsonValue json = {{"mtbf_s", goodput.mtbf_s},
                    {"nodes", goodput.nodes},
                    {"interval_s", goodput.chosen.seconds},
                    {"interval_iterations", goodput.interval_iterations},
                    {"young_s", goodput.young.seconds},
                    {"daly_s", goodput.daly.seconds},
                    {"optimal_s", goodput.optimal.seconds},
                    {"useful_fraction", goodput.chosen.useful_fraction},
                    {"simulated_fraction", goodput.simulated.useful_fraction}};
  if (goodput.elastic) json["elastic_fraction"] = goodput.elastic->useful_fraction;
  json["failures"] = goodput.simulated.failures;
  json["waited_s"] = goodput.simulated.waited_s;
  json["samples_per_s"] = goodput.samples_per_s;
  return json;
}

JsonValue goodput_document(const Goodput& goodput, const Reliability& reliability) {
  JsonValue json = goodput_json(goodput);
  json["node_mtbf_s"] = reliability.mtbf;
  json["horizon_s"] = horizon_of(reliability, goodput.nodes);
  json["spares"] = reliability.spares;
  json["idle_settings"] = idle_settings(reliability);
  json["useful_share"] = useful_share(goodput, reliability);
  if (const auto& all = goodput.undisturbed_samples_per_s) {
    json["undisturbed_samples_per_s"] = *all;
    json["useful_samples_per_s"] = useful_share(goodput, reliability) * *all;
  }
  return json;
}

const View& goodput_view() {
  static const View view{{
      ViewFacts{{
          {"nodes", "{goodput/nodes}"},
          {"a failure every", "{goodput/mtbf_s:long} (of one node: {goodput/node_mtbf_s:long})"},
          {"checkpoint every", "{goodput/interval_s:long}, iterations: {goodput/interval_iterations}"},
          {"  best", "{goodput/optimal_s:long} (Daly: {goodput/daly_s:long}, Young: {goodput/young_s:long})"},
          {"simulated", "{goodput/horizon_s:long}, failures: {goodput/failures}[, spares: {goodput/spares}]"},
          {"  waiting for nodes", "{goodput/waited_s:long}"},
          {"useful, expected", "{goodput/useful_fraction:percent}"},
          {"useful, simulated", "{goodput/simulated_fraction:percent}[, elastic {goodput/elastic_fraction:percent}]"},
      }},
      ViewText{"{goodput/useful_share} of the time is useful[: {goodput/useful_samples_per_s} of "
               "{goodput/undisturbed_samples_per_s} samples/s]."},
      ViewText{"note: no effect, since without a number of spares a node is always available: "
               "{goodput/idle_settings:nonzero}"},
  }};
  return view;
}

const View& goodput_of_run_view() {
  static const View view{{ViewText{"{title}, {strategy}: an iteration takes {iteration_s}"}, &goodput_view(),
                          ViewText{"With failures the training takes " + training_text("goodput/") +
                                   "; without, {training_s:long}[ and ${cost_usd:grouped}]."},
                          ViewNotes{}}};
  return view;
}

}  // namespace allreplay
