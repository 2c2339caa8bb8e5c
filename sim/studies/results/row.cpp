#include "sim/studies/results/row.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/statistics.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/search/best.hpp"

namespace allreplay {

NamedValues options_in_effect(const Scenario& scenario, const CollectiveChoice& choice) {
  using namespace std::string_view_literals;
  NamedValues values;
  Options options = scenario.options;
  options.collective = choice.options;
  options.strategy = with_defaults(*scenario.strategy, options.strategy, scenario.profile);
  const bool pipeline = options.parallel.pipeline();
  if (pipeline && scenario.strategy->name == "fsdp2") {  // PyTorch's pipeline runtime sets these
    options.strategy.fsdp.reshard = Reshard::None;
    options.strategy.fsdp.reduce = Reduce::Last;
  }
  const auto append = [&](std::string_view name) {
    if (pipeline ? name == "prefetch" || name == "reduce_buffers"
                 : name == "reduce_grad" || name == "align_grad_reduce")
      return;
    const std::string value = options.get(name);
    if (!value.empty()) values.emplace_back(name, value);
  };
  const auto named = [&](std::string_view name) {
    return std::any_of(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
  };
  // Appends the options that were given for the strategies from which `best` starts its search.
  const auto append_given = [&] {
    for (const Scenario& other : others(scenario))
      for (const std::string_view name : other.strategy->options)
        if (options.places.contains(std::string(name)) && !named(name)) append(name);
  };
  const bool searched = scenario.strategy->searched() && !scenario.given;
  // If parameters are sharded, `best` does not start from plans of blocks and ignores their options.
  if (!searched || !options.strategy.sharding.shards_parameters())
    for (const std::string_view name : scenario.strategy->options) append(name);
  if (searched) append_given();
  for (const std::string_view name : step_options())
    if (options.get(name) != Options().get(name)) append(name);
  if (options.parallel.pipeline() && options.parallel.chunks)
    values.emplace_back("chunks", std::to_string(*options.parallel.chunks));
  else
    for (const std::string_view name : options_of(choice)) append(name);
  if (scenario.codec)
    for (const std::string_view name : {scenario.codec->codec->options[0], scenario.codec->codec->options[1],
                                        "encode"sv, "decode"sv, "codec_stream"sv, "decode_at"sv})
      append(name);
  if (scenario.given && !scenario.given->listed.empty()) values.emplace_back("plan", scenario.given->listed);
  if (scenario.stragglers.jitter) append("iterations");
  if (choice.fidelity == Fidelity::Message && scenario.options.places.contains("start")) append("start");
  return values;
}

NamedValues options_in_effect(const Scenario& scenario) { return options_in_effect(scenario, collective_of(scenario)); }

NamedNumbers parts_of(const MemoryParts& parts) {
  NamedNumbers all{{"parameters", parts.parameters},
                   {"gradients", parts.gradients},
                   {"optimizer", parts.optimizer},
                   {"gathered", parts.gathered},
                   {"in_reduction", parts.in_reduction},
                   {"activations", parts.activations.value_or(0)},
                   {"step", parts.step}};
  for (const auto& [name, bytes] :
       {std::pair("secondary", parts.secondary), std::pair("matrices", parts.matrices),
        std::pair("pseudo_gradients", parts.pseudo_gradients), std::pair("outer", parts.outer)})
    if (bytes > 0) all.emplace_back(name, bytes);
  return all;
}

namespace {

Row row_of(const Record& record, bool identity_only) {
  Row row;
  for (const Column& one : columns())
    if (one.role == ColumnRole::Identity || !identity_only) row.push_back({one, one.get(record)});
  return row;
}

JsonValue to_value(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> JsonValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, NamedValues> || std::is_same_v<T, NamedNumbers>) {
          auto object = JsonValue::object();
          for (const auto& [name, one] : value) object[name] = one;
          return object;
        } else
          return value;
      },
      cell);
}

}  // namespace

JsonValue json_of(const NamedValues& values) { return to_value(values); }

SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics) {
  SpeedPerGpu speed;
  if (!metrics.samples_per_s) return speed;
  const Profile& profile = scenario.profile;
  const double rate = *metrics.samples_per_s / static_cast<double>(scenario.workers);
  speed.samples_per_s = rate;
  if (profile.tokens_per_sample) speed.tokens_per_s = rate * static_cast<double>(*profile.tokens_per_sample);
  if (profile.flops_per_sample && scenario.peak) speed.mfu = rate * *profile.flops_per_sample / *scenario.peak;
  return speed;
}

NamedValues named_values(std::string_view text) {
  NamedValues values;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(';', start), text.size());
    const std::string_view one = text.substr(start, end - start);
    const std::size_t equals = std::min(one.find('='), one.size());
    values.emplace_back(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())));
    start = end + 1;
  }
  return values;
}

Row identity(const Scenario& scenario) { return row_of({scenario, collective_of(scenario), Result()}, true); }

Row row_of(const Outcome& outcome) {
  Row row = row_of({outcome.scenario, collective_of(outcome.scenario), outcome.result, outcome.wall_s}, false);
  append_statistics(row, outcome.result.by_seed);
  return row;
}

namespace {

constexpr std::string_view keys_of_statistics[] = {"seeds", "sd_s",  "ci95_s", "least_s", "p25_s",
                                                   "p50_s", "p75_s", "p95_s",  "most_s"};

}  // namespace

std::span<const std::string_view> statistics_keys() { return keys_of_statistics; }

void append_statistics(Row& row, const std::vector<double>& by_seed) {
  if (by_seed.empty()) return;
  const Summary all = summary_of(by_seed);
  const Cell cells[] = {static_cast<std::int64_t>(all.count),
                        cell_of(all.deviation),
                        cell_of(all.confidence),
                        all.least,
                        all.p25,
                        all.median,
                        all.p75,
                        all.p95,
                        all.most};
  for (std::size_t i = 0; i < std::size(cells); ++i) row.emplace_back(keys_of_statistics[i], cells[i]);
}

void append_sigmas(Row& row, const Stragglers& stragglers) {
  row.emplace_back("jitter", stragglers.jitter ? stragglers.jitter->sigma : 0);
  row.emplace_back("spread", stragglers.spread ? stragglers.spread->sigma : 0);
}

bool is_added_to_rows(std::string_view key) {
  return key == "jitter" || key == "spread" ||
         std::ranges::find(keys_of_statistics, key) != std::end(keys_of_statistics);
}

JsonValue json_of(const Column& one) {
  static constexpr Word<ColumnRole> roles[] = {
      {ColumnRole::Identity, "identity"}, {ColumnRole::Measure, "measure"}, {ColumnRole::Detail, "detail"}};
  return {{"key", one.key},
          {"title", title_of(one)},
          {"axis", axis_of(one.key)},
          {"unit", one.unit},
          {"role", name_of(roles, one.role)},
          {"lower_is_better", one.role == ColumnRole::Measure ? JsonValue(one.lower_is_better) : JsonValue()},
          {"about", one.about}};
}

JsonValue registry_json() {
  auto all = JsonValue::array();
  for (const Column& one : all_columns()) all.push_back(json_of(one));
  return all;
}

JsonValue json_of(const Row& row) {
  const auto is_empty = [](const NamedCell& one) { return std::holds_alternative<std::monostate>(one.cell); };
  const bool parallel = std::any_of(row.begin(), row.end(),
                                    [&](const NamedCell& one) { return one.column->key == "pp" && !is_empty(one); });
  auto object = JsonValue::object();
  for (const NamedCell& one : row) {
    const bool left_out = one.column->has(Column::if_given) || (one.column->has(Column::of_parallel) && !parallel);
    if (!left_out || !is_empty(one)) object[std::string(one.column->key)] = to_value(one.cell);
  }
  return object;
}

std::string unquoted_text(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, NamedValues> || std::is_same_v<T, NamedNumbers>) {
          std::string text;
          for (const auto& [name, one] : value) text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, one);
          return text;
        } else
          return fmt::format("{}", value);  // the shortest text that reads back as the same double
      },
      cell);
}

std::string csv_header(std::span<const std::string_view> keys) {
  std::string line;
  for (const std::string_view name : keys) line += (line.empty() ? "" : ",") + csv_field(std::string(name));
  return line;
}

std::string to_csv(const Row& row) {
  std::string line;
  for (const NamedCell& one : row) line += (&one == row.data() ? "" : ",") + csv_field(unquoted_text(one.cell));
  return line;
}

}  // namespace allreplay
