#include "sim/output/report/goodput_report.hpp"

#include "sim/output/report/result_rows.hpp"

namespace allreplay {

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
