#include "sim/studies/jobs/disturbances.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/inputs/cluster/make_topology.hpp"
#include "sim/inputs/cluster/node_names.hpp"

namespace allreplay {

namespace {

std::optional<std::int64_t> machine_of(const Topology& network, NodeId node) {
  if (network.gpus_per_host() == 1 && node < network.hosts()) return node;
  const std::int64_t first = network.hosts() + network.switches();
  if (network.gpus_per_host() > 1 && node >= first && node < network.nodes()) return node - first;
  return std::nullopt;
}

bool is_switch(const Topology& network, NodeId node) {
  return node >= network.hosts() && node < network.hosts() + network.switches();
}

bool in_force(const ClusterEvent& event, Time at) { return event.at <= at && at < event.end(); }

const std::vector<LinkId>& links_called(const NodeNames& names, const NamedLink& link, const SourceLocation& place) {
  return names.between(link.from.name, link.from.place, link.to.name, link.to.place, place / "link");
}

// Returns the first GPU of the host.
NodeId rank_called(const Topology& network, const NodeNames& names, const NamedHost& host) {
  const NodeId node = names.node(host.name, host.place);
  const auto machine = machine_of(network, node);
  if (!machine) throw InputError(host.place, fmt::format("'{}' is not a host", host.name), "hosts, or \"link\"");
  return static_cast<NodeId>(*machine * network.gpus_per_host());
}

}  // namespace

Disturbances::Disturbances(const JobsFile& file, std::shared_ptr<const Topology> network)
    : file_(file), network_(std::move(network)) {
  const Topology& on = *network_;
  if (file.events.empty() && file.background.empty()) return;
  const NodeNames names(on);
  for (const ClusterEvent& event : file.events) {
    Resolved resolved;
    if (event.link) resolved.links = links_called(names, *event.link, event.place);
    if (event.node) {
      const NodeId node = names.node(event.node->name, event.node->place);
      resolved.machine = machine_of(on, node);
      if (!resolved.machine && !is_switch(on, node))
        throw InputError(event.node->place, fmt::format("'{}' is neither a host nor a switch", event.node->name),
                         "a host, or a switch");
      if (resolved.machine && event.down)
        throw InputError(event.place / "down",
                         fmt::format("'{}' is a host, which \"down\" does not apply to", event.node->name),
                         "a job's \"reliability\", or its links");
      if (resolved.machine && !event.slowdown)
        throw InputError(event.place / "bandwidth", fmt::format("'{}' is a host", event.node->name),
                         "\"slowdown\" or \"stall\" of a host; \"bandwidth\" of a switch or a link");
      if (!resolved.machine && event.slowdown)
        throw InputError(event.place, fmt::format("'{}' is a switch, which does not compute", event.node->name),
                         "\"bandwidth\" or \"down\" of a switch");
      for (LinkId link = 0; !resolved.machine && link < on.links().size(); ++link)
        if (on.links()[link].from == node || on.links()[link].to == node) resolved.links.push_back(link);
    }
    events_.push_back(std::move(resolved));
    for (const Time instant : {event.at, event.end()})
      if (instant != never) instants_.push_back(instant);
  }
  std::sort(instants_.begin(), instants_.end());
  for (const Background& one : file.background) {
    if (one.link) {
      const std::vector<LinkId>& links = links_called(names, *one.link, one.place);
      const NodeId from = names.node(one.link->from.name, one.link->from.place);
      others_.push_back({*std::find_if(links.begin(), links.end(), [&](LinkId id) { return on.port(id) == from; })});
    } else {
      others_.push_back({0, rank_called(on, names, one.hosts->from), rank_called(on, names, one.hosts->to)});
    }
  }
}

bool Disturbances::changes_links(Time at) const {
  for (std::size_t i = 0; i < events_.size(); ++i)
    if (!events_[i].links.empty() && (file_.events[i].at == at || file_.events[i].end() == at)) return true;
  return false;
}

std::shared_ptr<const Topology> Disturbances::network_at(Time at) const {
  std::vector<Link> links(network_->links().begin(), network_->links().end());
  std::vector<double> factors(links.size(), 1);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const ClusterEvent& event = file_.events[i];
    if (!in_force(event, at)) continue;
    for (const LinkId link : events_[i].links) {
      if (event.rate) links[link].bandwidth = std::min(links[link].bandwidth, *event.rate);
      if (event.times) factors[link] *= *event.times;
      if (event.down) factors[link] = 0;
    }
  }
  for (LinkId link = 0; link < links.size(); ++link) links[link].bandwidth *= factors[link];
  return with_links(network_, std::move(links));
}

std::vector<double> Disturbances::rates() const {
  std::vector<double> rates;
  for (const Background& one : file_.background) rates.push_back(one.rate);
  return rates;
}

// A route between two hosts omits the first and the last link, which belong to their GPUs.
std::vector<Way> Disturbances::ways_on(const Topology& network) const {
  std::vector<Way> ways;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    Way& way = ways.emplace_back();
    if (file_.background[i].link) {
      if (network.links()[others_[i].link].bandwidth > 0) way = {others_[i].link};
      continue;
    }
    network.route(others_[i].from, others_[i].to, way);
    if (network.gpus_per_host() > 1) way = Way(way.begin() + 1, way.end() - 1);
  }
  return ways;
}

void Disturbances::require_connected(const Topology& network, const std::vector<std::span<const NodeId>>& jobs,
                                     Time at) const {
  const Connections connections(network);
  const auto require = [&](std::span<const NodeId> seats) {
    if (const auto pair = connections.cut_off(seats)) cut_off(network, pair->first, pair->second, at);
  };
  for (const auto& seats : jobs) require(seats);
  for (std::size_t i = 0; i < others_.size(); ++i)
    if (file_.background[i].hosts) require(std::array{others_[i].from, others_[i].to});
}

void Disturbances::cut_off(const Topology& network, NodeId a, NodeId b, Time at) const {
  const ClusterEvent* last = nullptr;
  for (const ClusterEvent& event : file_.events)
    if (event.down && in_force(event, at) && (!last || event.at >= last->at)) last = &event;
  throw InputError(last->place, fmt::format("this event disconnects '{}' from '{}'", network.name(a), network.name(b)),
                   "leave a route between the hosts of each job, and of background");
}

OnAndOff::OnAndOff(const Background& background, std::size_t number)
    : background_(background), next_(background.start) {
  if (background.seed) random_.emplace(*background.seed, number);
}

void OnAndOff::turn() {
  on_ = !on_;
  if (!background_.on) {
    next_ = never;
    return;
  }
  Time length = on_ ? *background_.on : *background_.off;
  if (random_) length = from_picoseconds(-static_cast<double>(length.count()) * std::log(1 - random_->uniform()));
  next_ = add(next_, std::max(Time(1), length));
}

}  // namespace allreplay
