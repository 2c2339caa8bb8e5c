#include "sim/output/report/calibration_report.hpp"

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
                 {"errors", JsonValue::array()},
                 {"pieces", JsonValue::array()},
                 {"table", JsonValue::array()},
                 {"warnings", calibration.warnings},
                 {"overall", errors_json(calibration.overall)},
                 {"last_piece_from", calibration.table.pieces.back().from}};
  for (const RelativeErrors& decade : calibration.decades) json["errors"].push_back(errors_json(decade));
  json["errors"].push_back(errors_json(calibration.overall));
  for (const Piece& piece : calibration.table.pieces)
    json["pieces"].push_back(
        {{"from", piece.from}, {"to", piece.to}, {"sizes", piece.sizes}, {"a", piece.a}, {"b", piece.b}});
  for (const CostPoint& point : calibration.table.table)
    json["table"].push_back({{"bytes", point.bytes}, {"time_s", point.seconds}});
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

}  // namespace allreplay
