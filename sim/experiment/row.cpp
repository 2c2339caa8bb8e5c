#include "sim/experiment/row.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/csv.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace {

using namespace std::string_view_literals;

// The options that matter to this scenario, with their values, defaults included.
NamedValues effective_options(const Scenario& scenario, const Carrier& carrier) {
  NamedValues values;
  Options options = scenario.options;
  options.collective = carrier.options;
  const auto append = [&](std::string_view name) {
    const std::string value = options.get(name);
    if (!value.empty()) values.emplace_back(name, value);
  };
  for (const std::string_view name : scenario.strategy->options) append(name);
  if (const std::string_view name = option_of(carrier); !name.empty()) append(name);
  if (scenario.codec)
    for (const std::string_view name :
         {scenario.codec->codec->option, "encode"sv, "decode"sv, "codec_stream"sv, "decode_at"sv})
      append(name);
  if (scenario.stragglers.jitter) append("iterations");
  return values;
}

Cell optional_cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

nlohmann::ordered_json to_value(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, NamedValues>) {
          auto object = nlohmann::ordered_json::object();
          for (const auto& [name, text] : value) object[name] = text;
          return object;
        } else
          return value;
      },
      cell);
}

nlohmann::ordered_json to_object(const Row& row) {
  auto object = nlohmann::ordered_json::object();
  for (const Column& column : row) object[column.name] = to_value(column.cell);
  return object;
}

}  // namespace

Row identity(const Scenario& scenario) {
  const Carrier carrier = carrier_of(scenario);
  return {{"profile", scenario.profile.name},
          {"cluster", scenario.cluster.name},
          {"strategy", std::string(scenario.strategy->name)},
          {"workers", scenario.workers},
          {"collective", std::string(carrier.algorithm->name)},
          {"fidelity", carrier.fidelity},
          {"codec", scenario.codec ? Cell(scenario.codec->name) : Cell()},
          {"origin", to_string(scenario.profile.origin)},
          {"options", effective_options(scenario, carrier)}};
}

Row make_row(Row identity, const Metrics& m, double wall_s) {
  Column options = std::move(identity.back());
  identity.pop_back();
  const Row rest{{"iteration_s", m.iteration_s},
                 {"forward_s", m.forward_s},
                 {"backward_s", m.backward_s},
                 {"exposed_comm_s", m.exposed_comm_s},
                 {"comm_busy_s", m.comm_busy_s},
                 {"codec_s", m.codec_s},
                 {"collectives", m.collectives},
                 {"speedup", m.speedup},
                 {"efficiency", m.efficiency},
                 {"samples_per_s", optional_cell(m.samples_per_s)},
                 {"lower_bound_s", optional_cell(m.lower_bound_s)},
                 std::move(options),
                 {"events", m.events},
                 {"wall_s", wall_s}};
  identity.insert(identity.end(), rest.begin(), rest.end());
  return identity;
}

std::string to_json(const Row& row) { return to_object(row).dump(2); }

std::string to_json(const std::vector<Row>& rows) {
  auto array = nlohmann::ordered_json::array();
  for (const Row& row : rows) array.push_back(to_object(row));
  return array.dump(2);
}

std::string plain_text(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, NamedValues>) {
          std::string text;
          for (const auto& [name, one] : value) text += (text.empty() ? "" : ";") + name + "=" + one;
          return text;
        } else
          return fmt::format("{}", value);  // the shortest text that reads back as the same double
      },
      cell);
}

std::string csv_header(const Row& row) {
  std::string line;
  for (const Column& column : row) line += (line.empty() ? "" : ",") + csv_field(column.name);
  return line;
}

std::string to_csv(const Row& row) {
  std::string line;
  for (const Column& column : row) line += (&column == row.data() ? "" : ",") + csv_field(plain_text(column.cell));
  return line;
}

}  // namespace allreplay
