#include "sim/report/links_report.hpp"

#include <fmt/format.h>

#include "sim/cluster/topology_spec.hpp"
#include "sim/core/json_value.hpp"
#include "sim/experiment/scaling.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_hot = 10, most_users = 3;

std::string size_text(double bytes) { return format_size(static_cast<Bytes>(bytes + 0.5)); }

TableCell rates(const KindUse& kind) {
  if (kind.down == 0 && kind.slowest == kind.fastest) return cell::rate(kind.fastest);
  return rates_text(kind);
}

std::string users_text(const HotLink& hot) {
  std::string text;
  for (std::size_t i = 0; i < hot.users.size() && i < most_users; ++i)
    text += fmt::format("{}worker {} to {} ({})", i == 0 ? "" : ", ", hot.users[i].from, hot.users[i].to,
                        size_text(hot.users[i].bytes));
  if (hot.users.size() > most_users) text += fmt::format(", {} more", hot.users.size() - most_users);
  return text;
}

}  // namespace

std::string rates_text(const KindUse& kind) {
  if (kind.down == kind.links) return "down";
  std::string text = format_rate(kind.slowest);
  if (kind.slowest < kind.fastest) text += " to " + format_rate(kind.fastest);
  return kind.down > 0 ? fmt::format("{}, {} down", text, kind.down) : text;
}

std::string links_table(const LinkUsage& usage, const Screen& screen) {
  Table kinds({"links", "number", "bandwidth", "mean use", "busiest", "it carries"});
  const std::vector<KindUse> uses = use_by_kind(usage);
  for (std::size_t i = 0; i < uses.size(); ++i)
    kinds.add({usage.kinds[i], cell::count(uses[i].links), rates(uses[i]), cell::percent(uses[i].mean),
               cell::percent(uses[i].busiest), cell::bytes(uses[i].bytes)});
  Table links({"hottest", "use", "it carries", "for"});
  const auto hot_links = hottest(usage, most_hot);
  for (const HotLink& hot : hot_links)
    links.add({usage.name(hot.link), cell::percent(usage.utilisation(hot.link)), cell::bytes(usage.bytes(hot.link)),
               users_text(hot)});
  const Topology& topology = *usage.topology;
  const bool several = topology.way_count(0, static_cast<NodeId>(topology.hosts() - 1)) > 1;  // from end to end
  return fmt::format("\n{}{}\n{}", several ? fmt::format("routing: {}\n\n", described(topology.routing())) : "",
                     kinds.text(screen), hot_links.empty() ? "no link is used\n" : links.text(screen));
}

JsonValue links_json(const LinkUsage& usage) {
  JsonValue json{{"seconds", usage.seconds},
                 {"routing", to_string(usage.topology->routing())},
                 {"kinds", JsonValue::array()},
                 {"hottest", JsonValue::array()}};
  const std::vector<KindUse> uses = use_by_kind(usage);
  for (std::size_t i = 0; i < uses.size(); ++i)
    json["kinds"].push_back(JsonValue{{"links", usage.kinds[i]},
                                      {"number", uses[i].links},
                                      {"least_bytes_per_s", uses[i].down > 0 ? 0 : uses[i].slowest},
                                      {"most_bytes_per_s", uses[i].fastest},
                                      {"mean_use", uses[i].mean},
                                      {"busiest_use", uses[i].busiest},
                                      {"busiest_bytes", uses[i].bytes}});
  for (const HotLink& hot : hottest(usage, most_hot)) {
    JsonValue one{{"link", usage.name(hot.link)},
                  {"use", usage.utilisation(hot.link)},
                  {"bytes", usage.bytes(hot.link)},
                  {"users", JsonValue::array()}};
    for (const LinkUser& user : hot.users)
      one["users"].push_back(JsonValue{{"from", user.from}, {"to", user.to}, {"bytes", user.bytes}});
    json["hottest"].push_back(std::move(one));
  }
  return json;
}

JsonValue run_json(const Outcome& outcome) {
  JsonValue json = json_of(row_with_reference(outcome, scaling_reference(outcome)));
  if (const auto& parallel = outcome.result.parallel) json["stages"] = stages_json(*parallel);
  return json;
}

}  // namespace allreplay
