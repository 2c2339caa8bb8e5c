#include "sim/studies/search/search_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"

namespace allreplay {

namespace {

constexpr double kib = 1024, mib = 1024 * kib;

Range::Kind kind_of(const OptionRow& option) {
  switch (option.kind) {
    case OptionKind::Size:
      return Range::Kind::Size;
    case OptionKind::Duration:
      return Range::Kind::Duration;
    default:
      return Range::Kind::Count;
  }
}

double parse_value(const std::string& text, Range::Kind kind, const SourceLocation& place) {
  switch (kind) {
    case Range::Kind::Count:
      return static_cast<double>(parse_integer(text, 1, 1'000'000'000, place));
    case Range::Kind::Size:
      return static_cast<double>(parse_size(text, place));
    case Range::Kind::Duration:
      return parse_duration(text, place);
    case Range::Kind::Choice:
      break;
  }
  return 0;
}

std::string write_value(double value, Range::Kind kind) {
  switch (kind) {
    case Range::Kind::Count:
      return std::to_string(std::llround(value));
    case Range::Kind::Size:
      return write_size(std::llround(value));
    case Range::Kind::Duration:
      return write_duration(to_time(value));
    case Range::Kind::Choice:
      break;
  }
  return "";
}

double rounded(double value, Range::Kind kind) {
  double step = 1;
  if (kind == Range::Kind::Size)
    step = value >= 8 * mib ? mib : value >= 512 * kib ? 64 * kib : value >= 32 * kib ? 4 * kib : 4;
  if (kind == Range::Kind::Duration) step = value >= 1e-3 ? 100e-6 : value >= 100e-6 ? 10e-6 : 1e-9;
  return std::round(value / step) * step;
}

using Values = std::vector<std::string>;

// Returns the default unit of sharding, and the sizes of 2, 4, … median units.
Values wraps(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const std::vector<Unit> units = units_of(profile, {});
  std::vector<Bytes> bytes(units.size(), 0);
  std::size_t unit = 0;  // that the tensor belongs to
  for (const Tensor& tensor : profile.tensors) {
    while (tensor.layer > units[unit].last) ++unit;
    bytes[unit] += tensor.bytes;
  }
  std::nth_element(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end());
  const double usual = static_cast<double>(bytes[bytes.size() / 2]) * profile.parameter_share();
  const bool groups = std::any_of(profile.layers.begin(), profile.layers.end(),
                                  [](const Layer& layer) { return !layer.group.empty(); });
  Values values{groups ? "group" : "layer"};
  for (std::size_t together = 2; together <= 8 && 2 * together <= units.size(); together *= 2)
    values.push_back(write_size(std::llround(static_cast<double>(together) * usual)));
  return values;
}

Values reshards(const Scenario& scenario) { return words_for(*option_named("reshard"), *scenario.strategy); }

Values reductions(const Scenario& scenario) {
  const ShardingConfig& sharding = scenario.options.strategy.sharding;
  if (sharding.accumulate == 1) return {};
  return sharding.shard_group > 0 ? Values{"every", "replicas-last", "last"} : Values{"every", "last"};
}

Values prefetches(const Scenario&) { return {"pre", "post", "none"}; }

Values overlaps(const Scenario& scenario) {
  return scenario.strategy->name == "zero-3" ? Values{"true", "false"} : Values{"false", "true"};
}

Values buffers(const Scenario&) { return {"false", "true"}; }

Values outer_shardings(const Scenario& scenario) {
  return scenario.options.strategy.sharding.shard_group > 0 ? Values{"no_shard", "optim"} : Values{};
}

Values bucket_ops(const Scenario&) { return {"all-reduce", "reduce-scatter"}; }

bool is_possible(const Scenario& scenario) {
  try {
    require_possible(scenario);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// Returns 0, for all workers, and the smallest possible sizes of groups of whole nodes.
Values groups(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  const std::int64_t node = network.node       ? network.node->workers
                            : network.topology ? network.topology->gpus_per_host
                                               : 1;
  constexpr std::size_t most = 5;
  Values values{"0"};
  for (std::int64_t size = std::max<std::int64_t>(2, node); size < scenario.workers && values.size() < most; ++size) {
    if (scenario.workers % size != 0 || size % node != 0) continue;
    Scenario grouped = scenario;
    grouped.options.strategy.sharding.shard_group = size;
    if (is_possible(grouped)) values.push_back(std::to_string(size));
  }
  return values;
}

// Returns the ways to share Muon's matrices that suit the strategy, its default first.
Values muon_spreads_for(const Scenario& scenario) {
  if (scenario.options.strategy.muon.optimizer != StepOptimizer::Muon) return {};
  Values values;
  for (const std::string& word : option_named("muon")->words) {
    Scenario spread = scenario;
    spread.options.set("muon", word, {});
    if (is_possible(spread)) values.push_back(word);
  }
  return values;
}

struct Choice {
  std::string_view option;
  Values (*values)(const Scenario&);
};
constexpr Choice tuned_choices[] = {{"wrap", wraps},
                                    {"reshard", reshards},
                                    {"reduce", reductions},
                                    {"backward_prefetch", prefetches},
                                    {"overlap_comm", overlaps},
                                    {"bucket_op", bucket_ops},
                                    {"double_buffer", buffers},
                                    {"outer", outer_shardings},
                                    {"muon", muon_spreads_for},
                                    {"shard_group", groups}};

bool is_of_the_step(std::string_view option) {
  const auto names = step_options();
  return std::find(names.begin(), names.end(), option) != names.end();
}

Range parse_choice(const std::string& option, const std::string& values, const Strategy& strategy,
                   const SourceLocation& place) {
  if (!reads(strategy, option) && !is_of_the_step(option)) {
    std::vector<std::string> names;
    for (const OptionRow& row : option_rows())
      if (reads(strategy, row.name) || is_of_the_step(row.name)) names.emplace_back(row.name);
    throw InputError(place, fmt::format("'{}' is not an option of {}", option, strategy.name), suggest(option, names));
  }
  Range range{.option = option, .kind = Range::Kind::Choice};
  for (std::size_t start = 0; start <= values.size();) {
    const std::size_t end = std::min(values.find(',', start), values.size());
    const std::string value(trim(values.substr(start, end - start)));
    Options().set(option, value, place);  // throws InputError for an invalid value
    if (std::find(range.values.begin(), range.values.end(), value) != range.values.end())
      throw InputError(place, fmt::format("{} is given twice", value), "each value once");
    range.values.push_back(value);
    start = end + 1;
  }
  return range;
}

}  // namespace

Range parse_range(const std::string& text, const Strategy& strategy, const SourceLocation& place) {
  const std::size_t equals = text.find('='), colon = text.find(':', equals == std::string::npos ? 0 : equals);
  if (equals != std::string::npos && text.find(',', equals) != std::string::npos)
    return parse_choice(text.substr(0, equals), text.substr(equals + 1), strategy, place);
  if (equals == std::string::npos || colon == std::string::npos)
    throw InputError(place, fmt::format("'{}' is not a valid range", text),
                     "key=lo:hi, such as partition=256KiB:16MiB, or key=a,b, such as reshard=all,none");
  const std::string option = text.substr(0, equals), low = text.substr(equals + 1, colon - equals - 1),
                    high = text.substr(colon + 1);
  std::vector<std::string> names;
  const OptionRow* known = nullptr;
  for (const OptionRow* row : tunable_options(strategy)) {
    if (row->name == option) known = row;
    names.emplace_back(row->name);
  }
  if (!known)
    throw InputError(place, fmt::format("'{}' is not an option of {} that can be tuned", option, strategy.name),
                     names.empty() ? "it has none" : suggest(option, names));
  Range range{option, kind_of(*known)};
  // A credit is a number of blocks or of bytes.
  if (range.kind == Range::Kind::Count && low.find_first_not_of("0123456789+-. ") != std::string::npos)
    range.kind = Range::Kind::Size;
  range.low = parse_value(low, range.kind, place);
  range.high = parse_value(high, range.kind, place);
  if (range.low <= 0) throw InputError(place, fmt::format("{} starts at zero", text), "a range above zero");
  if (range.low == range.high)
    throw InputError(place, fmt::format("{} has only one value", text),
                     fmt::format("--option {}={} sets it", option, low));
  if (range.low > range.high)
    throw InputError(place, fmt::format("{} is reversed", text), fmt::format("{}={}:{}", option, high, low));
  return range;
}

std::vector<Range> default_ranges(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const auto given = [&](std::string_view option) { return scenario.options.places.contains(std::string(option)); };
  std::vector<Range> ranges;
  for (const OptionRow* row : tunable_options(*scenario.strategy)) {
    if (given(row->name) || is_fixed_in_pipelines(scenario, row->name)) continue;
    Range range{std::string(row->name), kind_of(*row), row->tuned->low, row->tuned->high};
    // Sizes above that of all gradients make no difference.
    if (range.kind == Range::Kind::Size)
      range.high =
          std::max(2 * range.low, std::min(range.high, std::ceil(static_cast<double>(profile.bytes()) / mib) * mib));
    ranges.push_back(range);
  }
  for (const Choice& choice : tuned_choices) {
    const std::string option(choice.option);
    const bool planned = !scenario.strategy->searched();
    const bool read = option == "shard_group" ? planned && takes_groups(scenario)
                      : option == "muon"      ? planned
                                              : reads(*scenario.strategy, option);
    if (!read || given(option) || is_fixed_in_pipelines(scenario, option)) continue;
    Values values = choice.values(scenario);
    if (values.size() > 1)
      ranges.push_back({.option = option, .kind = Range::Kind::Choice, .values = std::move(values)});
  }
  return ranges;
}

bool tuned_by_choice(std::string_view option) {
  return std::any_of(std::begin(tuned_choices), std::end(tuned_choices),
                     [&](const Choice& choice) { return choice.option == option; });
}

std::string given_value(const Scenario& scenario, const Range& range) {
  const std::string value = scenario.options.get(range.option);
  return value.empty() && range.kind == Range::Kind::Choice ? range.values.front() : value;
}

std::string value_at(const Range& range, double x) {
  if (range.kind == Range::Kind::Choice) {
    const auto count = static_cast<double>(range.values.size());
    return range.values[static_cast<std::size_t>(std::clamp(std::floor(x * count), 0.0, count - 1))];
  }
  if (x <= 0) return write_value(range.low, range.kind);
  if (x >= 1) return write_value(range.high, range.kind);
  const double value = std::exp(std::log(range.low) + x * (std::log(range.high) - std::log(range.low)));
  return write_value(std::clamp(rounded(value, range.kind), range.low, range.high), range.kind);
}

double place_of(const Range& range, const std::string& value) {
  if (range.kind == Range::Kind::Choice) {
    const auto found = std::find(range.values.begin(), range.values.end(), value);
    if (found == range.values.end()) return std::numeric_limits<double>::quiet_NaN();
    return (static_cast<double>(found - range.values.begin()) + 0.5) / static_cast<double>(range.values.size());
  }
  double number = 0;
  try {
    number = parse_value(value, range.kind, {});
  } catch (const InputError&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return (std::log(number) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
}

}  // namespace allreplay
