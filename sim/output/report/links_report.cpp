#include "sim/output/report/links_report.hpp"

#include "sim/inputs/cluster/topology_spec.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_hot = 10;

}  // namespace

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

JsonValue links_document(const LinkUsage& usage) {
  JsonValue document = links_json(usage);
  const Topology& topology = *usage.topology;
  const bool has_several_routes = topology.way_count(0, static_cast<NodeId>(topology.hosts() - 1)) > 1;
  if (has_several_routes) document["routing_in_words"] = described(topology.routing());
  const std::vector<KindUse> uses = use_by_kind(usage);
  for (std::size_t i = 0; i < uses.size(); ++i) document["kinds"][i]["down"] = uses[i].down;
  return document;
}

const View& links_view() {
  static const View view{{
      ViewText{"routing: {routing_in_words}"},
      ViewTable{"kinds",
                {{"links", "{links}"},
                 {"number", "{number}"},
                 {"down", "{down:nonzero}"},
                 {"bandwidth", "{most_bytes_per_s}"},
                 {"mean use", "{mean_use:percent}"},
                 {"busiest", "{busiest_use:percent}"},
                 {"it carries", "{busiest_bytes}"}}},
      ViewTable{"hottest",
                {{"hottest", "{link}"},
                 {"use", "{use:percent}"},
                 {"it carries", "{bytes}"},
                 {"for",
                  "worker {users/0/from} to {users/0/to}[, {users/1/from} to {users/1/to}][, {users/2/from} to "
                  "{users/2/to}]"}}},
  }};
  return view;
}

}  // namespace allreplay
