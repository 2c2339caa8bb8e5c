#include "sim/output/report/calibration_report.hpp"

#include <algorithm>

#include "sim/replay/training/collective_pricing.hpp"
#include "sim/studies/calibration/fitted_cluster.hpp"

namespace allreplay {

namespace {

double bus_bandwidth(const Calibration& calibration, bool table) {
  const CollectiveOp operation = calibration.log.operation.value_or(CollectiveOp::AllReduce);
  const double factor = calibration.algorithm->coefficients
                            ? bus_factor(*calibration.algorithm, calibration.workers())
                            : operation_row(operation).bus_factor(static_cast<double>(calibration.workers()));
  return static_cast<double>(calibration.largest()) / calibration.time_of_largest(table) * factor;
}

JsonValue errors_json(const RelativeErrors& errors) {
  return {{"from", errors.from},
          {"to", errors.to},
          {"rows", errors.rows},
          {"line_median", errors.line_median},
          {"line_worst", errors.line_worst},
          {"table_median", errors.table_median},
          {"table_worst", errors.table_worst}};
}

JsonValue piece_json(const Piece& piece) {
  return {{"from", piece.from}, {"to", piece.to}, {"sizes", piece.sizes}, {"a", piece.a}, {"b", piece.b}};
}

JsonValue point_json(const CostPoint& point) { return {{"bytes", point.bytes}, {"time_s", point.seconds}}; }

}  // namespace

JsonValue calibration_json(const Calibration& calibration, bool table) {
  const MeasurementLog& log = calibration.log;
  JsonValue json{{"file", log.file},
                 {"format", log.format},
                 {"benchmark", log.benchmark},
                 {"time", log.time},
                 {"collective", calibration.algorithm->name},
                 {"workers", calibration.workers()},
                 {"rows", calibration.overall.rows},
                 {"from", calibration.overall.from},
                 {"to", calibration.largest()},
                 {"a", calibration.line.a},
                 {"b", calibration.line.b},
                 {"alpha", calibration.alpha},
                 {"beta", calibration.beta},
                 {"gamma", calibration.gamma},
                 {"a_error", calibration.line.a_error},
                 {"b_error", calibration.line.b_error},
                 {"busbw_GBps", bus_bandwidth(calibration, table) * 1e-9},
                 {"noise", calibration.table.noise},
                 {"better", calibration.table_is_better ? "table" : "line"},
                 {"errors", array_of(calibration.decades, errors_json)},
                 {"pieces", array_of(calibration.table.pieces, piece_json)},
                 {"table", array_of(calibration.table.table, point_json)},
                 {"warnings", calibration.warnings},
                 {"overall", errors_json(calibration.overall)},
                 {"last_piece_from", calibration.table.pieces.back().from}};
  json["errors"].push_back(errors_json(calibration.overall));
  if (const auto [option, value] = coefficient_option(calibration); !option.empty()) json["option"] = {{option, value}};
  return json;
}

const View& calibration_view() {
  static const View view{{
      ViewText{
          "{file}: {format}[ ({benchmark:nonzero})], {time} times, {rows} rows from {from:exact} to {to:exact}, read "
          "as {collective} among {workers} workers[, {option}]"},
      ViewFacts{{{"a, start-up of the collective", "{a:time} (standard error {a_error:time})"},
                 {"b, its time per byte", "{b:per_byte} (standard error {b_error:per_byte})"},
                 {"alpha, start-up of a message", "{alpha:time}"},
                 {"beta, its time per byte", "{beta:per_byte}"},
                 {"gamma, reduction of a byte", "{gamma:per_byte}"},
                 {"bus bandwidth", "{busbw_GBps:2} GB/s at {to:exact}"}}},
      ViewTable{"errors",
                {{"sizes from", "{from:exact}"},
                 {"to", "{to:exact}"},
                 {"rows", "{rows}"},
                 {"line: median error", "{line_median:percent}"},
                 {"worst", "{line_worst:percent}"},
                 {"table: median error", "{table_median:percent}"},
                 {"worst", "{table_worst:percent}"}}},
      ViewTable{.rows = "pieces",
                .columns = {{"piece from", "{from:exact}"},
                            {"to", "{to:exact}"},
                            {"sizes", "{sizes}"},
                            {"a", "{a:time}"},
                            {"b", "{b:per_byte}"}},
                .when = "better=table"},
      ViewText{"A line fits: no range of sizes departs from it by more than the noise ({noise:percent} of a time).",
               "better=line"},
      ViewText{"A table fits better: its median error is {overall/table_median:percent}, that of a line "
               "{overall/line_median:percent}. `--table --cluster-out FILE` writes it; it holds only for {collective} "
               "with {workers} workers. Or fit a line to the sizes that you send, such as --from "
               "\"{last_piece_from:exact}\".",
               "better=table"},
  }};
  return view;
}

namespace {

// Null if the logs do not determine it.
template <class Value>
JsonValue if_known(bool known, const Value& value) {
  return known ? JsonValue(value) : JsonValue();
}

// The constants of a level; `first`: bandwidth_inside or bandwidth_outside.
JsonValue level_json(const LevelFit& fit, std::size_t first, bool nccl) {
  const bool inside = first == bandwidth_inside;
  const bool has_bandwidth = fit.known[first], has_latency = fit.known[first + 1];
  JsonValue json = JsonValue::object();
  if (nccl) {
    const LevelScale scale = inside ? fit.network.nccl->node : fit.network.nccl->network;
    json["bandwidth"] = if_known(has_bandwidth, scale.bandwidth);
    json["latency"] = if_known(has_latency, scale.latency);
  } else {
    const double beta = inside ? *fit.network.node->beta : *fit.network.beta;
    json["beta"] = if_known(has_bandwidth, beta);
    json["alpha"] = if_known(has_latency, inside ? *fit.network.node->alpha : *fit.network.alpha);
    if (has_bandwidth && beta > 0) json["bandwidth_GBps"] = 1e-9 / beta;
  }
  if (!inside && fit.by_nodes) {
    for (const char* common : {"bandwidth", "beta", "bandwidth_GBps"})
      if (json.contains(common)) json[common] = nullptr;
    for (const ValueOfNodes& one : fit.network.beta_of_nodes)
      json["by_nodes"].push_back({{"nodes", one.nodes}, {"bandwidth_GBps", 1e-9 / one.value}});
  }
  return json;
}

// Adds the factors that NCCL's model has only between nodes.
void add_nccl_between_nodes(const LevelFit& fit, JsonValue& json) {
  const NcclSetup& nccl = *fit.network.nccl;
  json["tree"] = if_known(fit.known[tree_bandwidth_outside], nccl.network.tree);
  json["ll"] = if_known(fit.known[ll_bandwidth_outside], nccl.network.ll);
  json["rendezvous_s"] = if_known(fit.known[rendezvous_time], nccl.rendezvous ? nccl.rendezvous->time : 0);
  json["ll128"] = if_known(fit.ll128_known, nccl.ll128);
  json["two_node_tree"] = if_known(fit.two_node_tree_known, nccl.two_node_tree);
}

}  // namespace

JsonValue levels_json(const LevelOutcome& outcome) {
  const LevelFit& fit = outcome.fit;
  JsonValue json{{"collective", outcome.logs.front().algorithm->name},
                 {"node_workers", fit.network.node->workers},
                 {"rails", fit.network.node->rails},
                 {"written", outcome.tables      ? "tables"
                             : outcome.is_nccl() ? "nccl"
                                                 : "levels"}};
  if (outcome.tables) json["why"] = outcome.why;
  if (outcome.fitted) {
    json["node"] = level_json(fit, bandwidth_inside, outcome.is_nccl());
    json["network"] = level_json(fit, bandwidth_outside, outcome.is_nccl());
    const bool spans_nodes =
        std::any_of(fit.errors.begin(), fit.errors.end(), [](const LevelErrors& one) { return one.nodes > 1; });
    if (outcome.is_nccl() && spans_nodes) add_nccl_between_nodes(fit, json["network"]);
    json["node"]["level"] = "inside a node";
    json["network"]["level"] = "between nodes";
  }
  json["logs"] = JsonValue::array();
  for (std::size_t i = 0; i < outcome.logs.size(); ++i) {
    JsonValue log = calibration_json(outcome.logs[i], outcome.tables);
    if (outcome.fitted)
      log.update({{"nodes", fit.errors[i].nodes},
                  {"levels_median", fit.errors[i].median},
                  {"levels_worst", fit.errors[i].worst}});
    json["logs"].push_back(std::move(log));
  }
  json["warnings"] = fit.warnings;
  return json;
}

const View& levels_view() {
  static const View view{{
      ViewText{"{collective}; workers of a node: {node_workers}, its ports: {rails}; median errors"},
      ViewTable{"logs",
                {{"workers", "{workers}"},
                 {"nodes", "{nodes}"},
                 {"rows", "{rows}"},
                 {"line", "{overall/line_median:percent}"},
                 {"table", "{overall/table_median:percent}"},
                 {"levels", "{levels_median:percent}"},
                 {"levels: worst", "{levels_worst:percent}"},
                 {"log", "{file}"}}},
      ViewTable{"node network",
                {{"level", "{level}"},
                 {"alpha", "{alpha:time}"},
                 {"bandwidth GB/s", "{bandwidth_GBps:2}"},
                 {"bandwidth factor", "{bandwidth:3}"},
                 {"latency factor", "{latency:3}"},
                 {"of trees", "{tree:3}"},
                 {"of LL", "{ll:3}"},
                 {"rendezvous", "{rendezvous_s}"},
                 {"LL128", "{ll128}"},
                 {"two-node tree", "{two_node_tree}"}}},
      ViewTable{"network/by_nodes", {{"nodes", "{nodes}"}, {"bandwidth of a port", "{bandwidth_GBps}"}}},
      ViewText{"`--cluster-out FILE` writes tables by number of workers: {why}.", "written=tables"},
      ViewText{"`--cluster-out FILE` writes the constants of both levels.", "written=levels"},
      ViewText{"`--cluster-out FILE` writes the factors of NCCL's model.", "written=nccl"},
  }};
  return view;
}

}  // namespace allreplay
