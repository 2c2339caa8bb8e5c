#include "sim/report/calibration_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"
#include "sim/training/collective_pricing.hpp"
#include "sim/training/options.hpp"

namespace allreplay {

namespace {

double busbw(const Calibration& calibration, bool table) {
  const CollectiveOp operation = calibration.log.operation.value_or(CollectiveOp::AllReduce);
  const double factor = calibration.algorithm->coefficients
                            ? bus_factor(*calibration.algorithm, calibration.workers())
                            : operation_row(operation).bus_factor(static_cast<double>(calibration.workers()));
  return static_cast<double>(calibration.largest()) / calibration.time_of_largest(table) * factor * 1e-9;
}

// The option of the algorithm that its coefficients depend on, as a user writes it: name and value, or "".
std::pair<std::string, std::string> option_of(const Calibration& calibration) {
  const std::string name(calibration.algorithm->option);
  if (name.empty()) return {};
  Options options;
  options.collective = calibration.options;
  return {name, options.get(name)};
}

std::string heading(const Calibration& calibration) {
  const MeasurementLog& log = calibration.log;
  const std::string benchmark = log.benchmark.empty() ? "" : fmt::format(" ({})", log.benchmark);
  const auto [option, value] = option_of(calibration);
  return fmt::format("{}: {}{}, {} times; {} rows from {} to {}\nread as {} with {} workers{}\n\n", log.file,
                     log.format, benchmark, log.time, calibration.overall.rows, write_size(calibration.overall.from),
                     write_size(calibration.largest()), calibration.algorithm->name, calibration.workers(),
                     option.empty() ? "" : fmt::format(", {}={}", option, value));
}

std::string constants(const Calibration& calibration, bool table, const Screen& screen) {
  const LineFit& line = calibration.line;
  const auto error = [](bool held, const TableCell& value) { return held ? TableCell("held at 0") : value; };
  Table rows({"constant", "value", "standard error", "of"});
  rows.add(
      {"a", cell::seconds(line.a), error(line.a_held, cell::seconds(line.a_error)), "the start-up of the collective"});
  rows.add({"b", cell::per_byte(line.b), error(line.b_held, cell::per_byte(line.b_error)), "its time per byte"});
  if (calibration.algorithm->coefficients) {
    rows.add({"alpha", cell::seconds(calibration.alpha), "", "the start-up of a message"});
    rows.add({"beta", cell::per_byte(calibration.beta), "", "its time per byte"});
    rows.add({"gamma", cell::per_byte(calibration.gamma), "", "time to reduce a byte (given)"});
  }
  rows.add({"busbw", fmt::format("{:.4g} GB/s", busbw(calibration, table)), "",
            fmt::format("a link at {}, by the {}", write_size(calibration.largest()), table ? "table" : "line")});
  return rows.text(screen) + "\n";
}

std::string errors(const Calibration& calibration, const Screen& screen) {
  Table rows(
      {"sizes from", "below", "rows", "line: median error", "line: worst", "table: median error", "table: worst"}, 2);
  const auto add = [&](const std::string& from, const std::string& to, const RelativeErrors& errors) {
    rows.add({from, to, cell::count(static_cast<std::int64_t>(errors.rows)), cell::percent(errors.line_median),
              cell::percent(errors.line_worst), cell::percent(errors.table_median), cell::percent(errors.table_worst)});
  };
  for (const RelativeErrors& decade : calibration.decades) add(write_size(decade.from), write_size(decade.to), decade);
  add("all", "", calibration.overall);
  return rows.text(screen) + "\n";
}

std::string pieces(const Calibration& calibration, const Screen& screen) {
  Table rows({"piece from", "to", "sizes", "a", "b", "time at start", "at end"}, 2);
  std::size_t end = 0;
  for (const Piece& piece : calibration.table.pieces) {
    const double first = calibration.table.table[end].seconds, last = calibration.table.table[end + 1].seconds;
    end += 2;
    rows.add({write_size(piece.from), write_size(piece.to), cell::count(static_cast<std::int64_t>(piece.sizes)),
              cell::seconds(piece.a), cell::per_byte(piece.b), cell::seconds(first), cell::seconds(last)});
  }
  return rows.text(screen) + "\n";
}

std::string verdict(const Calibration& calibration) {
  const std::size_t count = calibration.table.pieces.size();
  const std::string noise = percent(calibration.table.noise);
  if (!calibration.table_is_better)
    return fmt::format(
        "A line fits: no range of sizes departs from it by more than the noise ({} of a time) explains.\n", noise);
  const RelativeErrors worst =
      *std::max_element(calibration.decades.begin(), calibration.decades.end(),
                        [](const auto& one, const auto& other) { return one.line_median < other.line_median; });
  return fmt::format(
      "A table fits better: the times follow {} lines, by more than the noise ({} of a time) explains. The median "
      "error of one line is {}, that of the table {}; from {} to {} they are {} and {}.\n"
      "--table --cluster-out FILE writes the table, which holds only for {} with {} workers. Or fit one line to the "
      "sizes that you send: --from \"{}\" is the last piece.\n",
      count, noise, percent(calibration.overall.line_median), percent(calibration.overall.table_median),
      write_size(worst.from), write_size(worst.to), percent(worst.line_median), percent(worst.table_median),
      calibration.algorithm->name, calibration.workers(), write_size(calibration.table.pieces.back().from));
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

std::string text_of(const JsonValue& json) { return json.dump(2) + "\n"; }

}  // namespace

std::string calibration_text(const Calibration& calibration, bool table, const Screen& screen) {
  return wrapped(heading(calibration), screen.width) + constants(calibration, table, screen) +
         errors(calibration, screen) + pieces(calibration, screen) + wrapped(verdict(calibration), screen.width);
}

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
                 {"busbw_GBps", busbw(calibration, table)},
                 {"noise", calibration.table.noise},
                 {"better", calibration.table_is_better ? "table" : "line"},
                 {"errors", JsonValue::array()},
                 {"pieces", JsonValue::array()},
                 {"table", JsonValue::array()},
                 {"warnings", calibration.warnings}};
  for (const RelativeErrors& decade : calibration.decades) json["errors"].push_back(errors_json(decade));
  json["errors"].push_back(errors_json(calibration.overall));
  for (const Piece& piece : calibration.table.pieces)
    json["pieces"].push_back(
        {{"from", piece.from}, {"to", piece.to}, {"sizes", piece.sizes}, {"a", piece.a}, {"b", piece.b}});
  for (const CostPoint& point : calibration.table.table)
    json["table"].push_back({{"bytes", point.bytes}, {"time_s", point.seconds}});
  return json;
}

std::string calibration_cluster(const Calibration& calibration, const std::string& name, bool table,
                                std::optional<double> line_rate, const SourceLocation& place,
                                std::optional<std::int64_t> node_workers) {
  const MeasurementLog& log = calibration.log;
  const bool all_reduce = calibration.algorithm->operation == CollectiveOp::AllReduce;
  const auto us = [](double seconds) { return fmt::format("{} us", seconds * 1e6); };
  const auto ns_per_byte = [](double seconds) { return fmt::format("{} ns/B", seconds * 1e9); };
  JsonValue network = JsonValue::object();
  if (node_workers) network["node"] = {{"workers", *node_workers}};
  if (table) {
    if (!all_reduce)
      throw InputError(place, fmt::format("{} does not sum gradients", calibration.algorithm->name),
                       "leave out --table: the line can be converted to an all-reduce");
    for (const CostPoint& point : calibration.table.table)
      network["table"].push_back({{"bytes", fmt::format("{} B", point.bytes)}, {"time", us(point.seconds)}});
  } else {
    if (calibration.line.b_held)
      throw InputError(place, "times that do not grow with the size give no time per byte",
                       "a log of larger sizes, or --table");
    network["measured"] = {{"collective", calibration.algorithm->name},
                           {"workers", calibration.workers()},
                           {"a", us(calibration.line.a)},
                           {"b", ns_per_byte(calibration.line.b)},
                           {"gamma", ns_per_byte(calibration.gamma)}};
  }
  if (all_reduce) network["collective"] = calibration.algorithm->name;
  if (line_rate) network["line_rate"] = fmt::format("{} bit/s", *line_rate * 8);
  if (const auto [option, value] = option_of(calibration); option == "servers")
    network[option] = calibration.options.servers;
  else if (!option.empty())
    network[option] = value;
  return text_of(
      {{"name", name},
       {"description", fmt::format("{} with {} workers, fitted by allreplay calibrate to {} sizes from {} to {}",
                                   calibration.algorithm->name, calibration.workers(), calibration.overall.rows,
                                   write_size(calibration.overall.from), write_size(calibration.largest()))},
       {"source", log.file},
       {"workers", calibration.workers()},
       {"network", network}});
}

}  // namespace allreplay
