#include "sim/studies/experiment/target.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/training_cost.hpp"

namespace allreplay {

namespace {

double share(std::string_view text, const SourceLocation& place) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const double number = parse_number(trim(text), place);
  if (!percent && number > 1)
    throw InputError(place, fmt::format("{} is {:.0f} %", trim(text), 100 * number), fmt::format("{}%", trim(text)));
  return number / (percent ? 100 : 1);
}

// A share that nothing exceeds; an efficiency may, if sharding saves work.
double part(std::string_view text, const SourceLocation& place) {
  const double number = share(text, place);
  if (number > 1) throw InputError(place, fmt::format("{} is above 100 %", trim(text)), "at most 100%, such as 40%");
  return number;
}

double amount(std::string_view text, const SourceLocation& place) { return parse_amount(text, "", place); }

double bytes_in(std::string_view text, const SourceLocation& place) {
  return static_cast<double>(parse_size(text, place));
}

std::optional<double> exposed_share(const Outcome& outcome) {
  const Metrics& m = outcome.result.metrics;
  return m.iteration_s > 0 ? m.exposed_comm_s / m.iteration_s : 0;
}

SpeedPerGpu speed_of_gpu(const Outcome& outcome) { return speed_per_gpu(outcome.scenario, outcome.result.metrics); }

std::optional<double> of_all(std::optional<double> per_gpu, const Outcome& outcome) {
  return per_gpu ? std::optional(*per_gpu * static_cast<double>(outcome.scenario.workers)) : std::nullopt;
}

constexpr TargetQuantity quantities[] = {
    {"exposed", "exposed_comm_share", "exposed communication as a share of the iteration: 5%", part, exposed_share},
    {"mfu", "mfu", "model FLOPs utilisation: 40%", part, [](const Outcome& one) { return speed_of_gpu(one).mfu; }},
    {"tokens_per_s", "tokens_per_s", "tokens per second of all workers: 1.5M", amount,
     [](const Outcome& one) { return of_all(speed_of_gpu(one).tokens_per_s, one); }},
    {"samples_per_s", "samples_per_s", "samples per second of all workers: 20K", amount,
     [](const Outcome& one) { return one.result.metrics.samples_per_s; }},
    {"efficiency", "efficiency", "speed-up over a single worker, divided by the workers: 90%", share,
     [](const Outcome& one) -> std::optional<double> { return one.result.metrics.efficiency; }},
    {"iteration", "iteration_s", "time of an iteration: 2 s", parse_duration,
     [](const Outcome& one) -> std::optional<double> { return one.result.metrics.iteration_s; }},
    {"memory", "memory_bytes", "peak memory of a worker: 70 GB", bytes_in,
     [](const Outcome& one) -> std::optional<double> { return one.result.memory.peak; }},
};

// Numbers from `low` to `high`, each about 1 % larger than the previous one, so that a boundary is found to 1 %.
std::vector<double> geometric(double low, double high) {
  const auto steps = static_cast<int>(std::ceil(std::log(high / low) / std::log(1.01) - 1e-9));
  std::vector<double> values{low};
  for (int i = 1; i <= steps; ++i) values.push_back(low * std::pow(high / low, static_cast<double>(i) / steps));
  return values;
}

// The two ends of a range, parsed. Throws InputError.
template <class Parse>
std::pair<double, double> range_of(const std::vector<std::string>& given, const Parse& parse,
                                   const SourceLocation& place, std::string_view example) {
  if (given.size() != 2) throw InputError(place, "is not a range", std::string(example));
  const double low = parse(given[0], place), high = parse(given[1], place);
  if (!(low > 0 && low <= high && high / low <= 1e9))
    throw InputError(place, fmt::format("'{}:{}' is not a valid range", given[0], given[1]), std::string(example));
  return {low, high};
}

// Rates, or factors where the network was measured as a whole.
std::vector<std::string> bandwidths(const Outcome& base, const std::vector<std::string>& given,
                                    const SourceLocation& place) {
  constexpr double wide = 16;  // from a sixteenth of the base's bandwidth to sixteen times as much
  const std::optional<double> now = port_bandwidth(base.scenario.cluster.network);
  std::pair<double, double> ends = now ? std::pair(*now / wide, *now * wide) : std::pair(1 / wide, wide);
  if (!given.empty()) ends = range_of(given, parse_rate, place, "LO:HI, such as network.bandwidth=10Gbit/s:1600Gbit/s");
  std::vector<std::string> values;
  for (const double one : geometric(ends.first, ends.second))
    values.push_back(now || !given.empty() ? fmt::format("{:.4g}Gbit/s", one * 8 / 1e9) : fmt::format("x{:.4g}", one));
  return values;
}

std::vector<std::string> ratios(const Outcome& /*base*/, const std::vector<std::string>& given,
                                const SourceLocation& place) {
  const auto [low, high] = given.empty() ? std::pair(1.0, 64.0)
                                         : range_of(given, parse_number, place, "LO:HI, such as oversubscription=1:8");
  std::vector<std::string> values;
  for (const double one : geometric(low, high)) values.push_back(fmt::format("{:.4g}", one));
  return values;
}

std::vector<std::string> multiples(std::int64_t of, std::int64_t most) {
  std::vector<std::string> values;
  for (std::int64_t one = of; one <= most; one += of) values.push_back(std::to_string(one));
  return values;
}

// Whole nodes, from one to four times as many as the base has; of many, at most 256 evenly spaced.
std::vector<std::string> worker_values(const Outcome& base, const std::vector<std::string>& given,
                                       const SourceLocation& /*place*/) {
  if (!given.empty()) return given;
  const Scenario& scenario = base.scenario;
  const std::int64_t most = 4 * scenario.workers;
  std::int64_t step = std::min(node_workers_of(scenario.cluster.network), scenario.workers);
  while (most / step > 256) step *= 2;
  return multiples(step, most);
}

std::vector<std::string> rail_values(const Outcome& base, const std::vector<std::string>& given,
                                     const SourceLocation& /*place*/) {
  return given.empty() ? multiples(1, node_workers_of(base.scenario.cluster.network)) : given;
}

std::vector<std::string> batch_values(const Outcome& base, const std::vector<std::string>& given,
                                      const SourceLocation& place) {
  const auto& batch = base.scenario.profile->batch_size;
  if (!batch)
    throw InputError(place, fmt::format("{} has no batch size", base.scenario.profile->name),
                     "a profile; a CSV table has none");
  return given.empty() ? multiples(1, 16 * *batch) : given;
}

template <const char* const& name>
void set_change(Request& request, const std::string& value) {
  request.changes.push_back({name, value, {"command line", std::string("--") + name}});
}

constexpr const char *bandwidth_flag = "bandwidth", *rails_flag = "rails", *ratio_flag = "oversubscription",
                     *batch_flag = "batch";

void set_workers(Request& request, const std::string& value) {
  request.workers = parse_integer(value, 1, most_workers, {"command line", "--vary"});
  if (!request.cluster_words.empty()) make_room(request.cluster_words, *request.workers.value);
}

constexpr VariedAxis axes[] = {
    {"network.bandwidth", "bandwidth of a port between nodes: LO:HI", false, true, bandwidths,
     set_change<bandwidth_flag>},
    {"workers", "number of workers: a list, or LO:HI:+N", true, true, worker_values, set_workers},
    {"rails", "network ports of a node", true, true, rail_values, set_change<rails_flag>},
    {"oversubscription", "bandwidth of hosts over that of the links above them: LO:HI", false, false, ratios,
     set_change<ratio_flag>},
    {"batch", "samples per worker", true, true, batch_values, set_change<batch_flag>},
};

}  // namespace

std::span<const TargetQuantity> target_quantities() { return quantities; }

std::span<const VariedAxis> varied_axes() { return axes; }

Target parse_target(std::string_view text, const SourceLocation& place) {
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos)
    throw InputError(place, fmt::format("'{}' has no limit", text), "a quantity, < or >, and a limit: exposed<5%");
  Target target;
  target.quantity = &choose_by_name(quantities, trim(text.substr(0, at)), place, "unknown quantity '{}' of a target");
  target.is_upper = text[at] == '<';
  target.or_equal = at + 1 < text.size() && text[at + 1] == '=';
  target.limit = target.quantity->parse(trim(text.substr(at + (target.or_equal ? 2 : 1))), place);
  target.text = text;
  return target;
}

}  // namespace allreplay
