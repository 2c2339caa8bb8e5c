#include "sim/studies/calibration/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/plans/collective/comm_cost.hpp"

namespace allreplay {

namespace {

std::string noun(CollectiveOp op) { return (to_string(op).starts_with('a') ? "an " : "a ") + to_string(op); }

// A message from one rank to another is a broadcast among two. If the log's ranks are on several hosts, the slowest
// message is between two of them.
void read_as_broadcast(MeasurementLog& log) {
  if (log.workers > log.per_host) log.per_host = std::min<std::int64_t>(log.per_host, 1);
  log.notes.push_back(fmt::format("{} sends single messages: read as a broadcast among 2", log.benchmark));
  log.operation = CollectiveOp::Broadcast;
  log.workers = 2;
}

const Algorithm& algorithm_for(const MeasurementLog& log, const CalibrationRequest& request) {
  const CollectiveOp operation = log.operation.value_or(CollectiveOp::AllReduce);
  if (!request.algorithm)
    return *std::find_if(algorithms().begin(), algorithms().end(),
                         [&](const Algorithm& one) { return one.operation == operation; });
  if (!request.algorithm->coefficients &&
      (operation == CollectiveOp::ReduceScatter || operation == CollectiveOp::AllGather))
    return *request.algorithm;  // nccl, which models these, too
  if (log.operation && request.algorithm->operation != operation)
    throw InputError(request.place_of_collective,
                     fmt::format("{} is {}, but the log is of {} ({})", request.algorithm->name,
                                 noun(request.algorithm->operation), noun(operation), log.benchmark),
                     fmt::format("an algorithm of {}", noun(operation)));
  return *request.algorithm;
}

void keep_range(MeasurementLog& log, const CalibrationRequest& request) {
  const std::size_t before = log.points.size();
  std::erase_if(log.points, [&](const Measurement& row) { return row.bytes < request.from || row.bytes > request.to; });
  std::set<Bytes> sizes;
  for (const Measurement& row : log.points) sizes.insert(row.bytes);
  if (sizes.size() >= 2) return;
  const bool cut = log.points.size() < before;
  throw InputError(cut ? request.place_of_range : SourceLocation{log.file, ""},
                   sizes.empty() ? std::string("leaves no size")
                                 : fmt::format("{} one size, {}", cut ? "leaves" : "has", write_size(*sizes.begin())),
                   "a line needs two sizes or more");
}

RelativeErrors errors_between(const Calibration& of, Bytes from, Bytes to) {
  const CommCost table(of.table.table);
  std::vector<double> by_line, by_table;
  for (const Measurement& row : of.log.points) {
    if (row.bytes < from || row.bytes >= to) continue;
    const double line = of.line.a + of.line.b * static_cast<double>(row.bytes);
    by_line.push_back(std::abs(line - row.seconds) / row.seconds);
    by_table.push_back(std::abs(to_seconds(table(row.bytes)) - row.seconds) / row.seconds);
  }
  if (by_line.empty()) return {from, to};
  const auto worst = [](const std::vector<double>& errors) { return *std::max_element(errors.begin(), errors.end()); };
  return {from, to, by_line.size(), median(by_line), worst(by_line), median(by_table), worst(by_table)};
}

void compare(Calibration& calibration) {
  const auto [least, most] =
      std::minmax_element(calibration.log.points.begin(), calibration.log.points.end(),
                          [](const Measurement& one, const Measurement& other) { return one.bytes < other.bytes; });
  for (Bytes from = 1; from <= most->bytes && from <= Bytes(1e17); from *= 10) {  // sizes end at 1e18
    const RelativeErrors decade = errors_between(calibration, from, from < Bytes(1e17) ? from * 10 : Bytes(2e18));
    if (decade.rows > 0) calibration.decades.push_back(decade);
  }
  calibration.overall = errors_between(calibration, least->bytes, most->bytes + 1);
  calibration.overall.to = most->bytes;
  calibration.table_is_better = calibration.table.pieces.size() > 1;
}

void add_warnings(Calibration& calibration, const MeasuredCost& measured, const CalibrationRequest& request) {
  std::vector<std::string>& warnings = calibration.warnings;
  warnings = calibration.log.notes;
  if (calibration.line.a_held)
    warnings.emplace_back(
        "the best line would start below zero: a is held at 0, and the small sizes do not determine it");
  if (calibration.line.b_held)
    warnings.emplace_back("times do not grow with the size: b is held at 0, and only larger sizes can determine it");
  std::set<Bytes> sizes;
  for (const Measurement& row : calibration.log.points) sizes.insert(row.bytes);
  if (sizes.size() < 5)
    warnings.push_back(fmt::format("{} sizes are too few to judge how well a line fits", sizes.size()));
  Network network;
  network.measured = measured;
  network.line_rate = request.line_rate;
  const std::string complaint = implausible(network, *calibration.algorithm, calibration.workers(), request.options);
  if (!complaint.empty()) warnings.push_back(complaint);
}

}  // namespace

double Calibration::time_of_largest(bool table_wanted) const {
  return table_wanted ? to_seconds(CommCost(table.table)(largest())) : line.a + line.b * static_cast<double>(largest());
}

Calibration calibrate(MeasurementLog log, const CalibrationRequest& request) {
  if (log.operation == CollectiveOp::Send) read_as_broadcast(log);
  Calibration calibration;
  calibration.algorithm = &algorithm_for(log, request);
  calibration.options = request.options;
  if (log.total_gathered && calibration.algorithm->operation == CollectiveOp::AllGather)
    for (Measurement& row : log.points) row.bytes = std::max<Bytes>(1, row.bytes / log.workers);
  if (calibration.algorithm->servers && request.options.servers > log.workers)
    throw InputError(request.place_of_options,
                     fmt::format("{} servers do not fit on {} workers", request.options.servers, log.workers),
                     "at most one server per worker");
  keep_range(log, request);
  calibration.log = std::move(log);
  calibration.line = fit_line(calibration.log.points);
  const MeasuredCost measured{std::string(calibration.algorithm->name),
                              calibration.workers(),
                              calibration.line.a,
                              calibration.line.b,
                              request.gamma,
                              {}};
  const LinkCosts links =
      calibration.algorithm->coefficients ? link_costs(measured, request.options, request.place_of_gamma) : LinkCosts{};
  calibration.alpha = links.alpha;
  calibration.beta = links.beta;
  calibration.gamma = links.gamma;
  calibration.table = fit_table(calibration.log.points);
  compare(calibration);
  add_warnings(calibration, measured, request);
  return calibration;
}

}  // namespace allreplay
