#include <algorithm>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

class BCube final : public Topology {
 public:
  BCube(std::int64_t n, std::int64_t k, const LinkSpec& link)
      : n_(static_cast<std::uint32_t>(n)), k_(static_cast<std::uint32_t>(k)) {
    power_.push_back(1);
    while (power_.size() <= k_) power_.push_back(power_.back() * n_);
    hosts_ = power_[k_];
    per_level_ = power_[k_ - 1];
    switches_ = std::int64_t{k_} * per_level_;
    group_size_ = n;
    links_.reserve(std::size_t{2} * power_[k_] * k_);
    for (NodeId server = 0; server < power_[k_]; ++server) {
      for (std::uint32_t level = 0; level < k_; ++level) {  // in both directions, as number server·k + level
        const NodeId box = switch_of(server, level);
        add_link(server, box, link);
      }
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    walk(from, to, [&](LinkId link) { path.push_back(link); });
  }

  std::unique_ptr<RouteCount> route_count() const override { return std::make_unique<Digits>(*this); }

  // When a route is at level l, the digits above l are the receiver's, and those from l down still the sender's.
  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const auto farthest = shifted(from, to, power_[k_] - 1);
    std::optional<HostPair> nearest;
    for (std::uint32_t level = 0; level < k_ && !nearest; ++level) nearest = shifted(from, to, power_[level]);
    if (!farthest || !nearest) return false;
    ends.insert(ends.end(), {*farthest, *nearest});
    for (std::uint32_t level = 0; level < k_; ++level) {
      const std::uint32_t unit = power_[level], block = unit * n_;
      const std::vector<std::int64_t> above = by_block(to, block), at = by_block(to, unit);
      std::vector<std::int64_t> from_here(block, 0), below(unit, 0);  // senders by their digits 0 … l, and below l
      for (NodeId host = 0; host < hosts_; ++host) {
        from_here[host % block] += from[host];
        below[host % unit] += from[host];
      }
      for (NodeId host = 0; host < hosts_; ++host) {
        const LinkId port = 2 * (host * k_ + level);
        loads[port] += static_cast<double>(from_here[host % block] * (above[host / block] - at[host / unit]));
        loads[port + 1] += static_cast<double>(at[host / unit] * (below[host % unit] - from_here[host % block]));
      }
    }
    return true;
  }

  std::string name(NodeId node) const override {
    if (node < hosts_) return fmt::format("h{}", node);
    const std::uint32_t index = node - static_cast<NodeId>(hosts_);
    return fmt::format("s{}.{}", index / per_level_, index % per_level_);
  }

 private:
  // Counts routes without listing their links.
  class Digits final : public RouteCount {
   public:
    explicit Digits(const BCube& bcube) : RouteCount(bcube), bcube_(bcube), routes_(bcube.links_.size(), 0) {}

    double add(NodeId from, NodeId to, std::uint32_t, std::int64_t times, double latency) override {
      const double each = bcube_.links_[0].latency;
      bcube_.walk(from, to, [&](LinkId link) {
        routes_[link] += times;
        latency += each;
      });
      return latency;
    }

    void take(std::span<double> loads) override {
      for (LinkId link = 0; link < routes_.size(); ++link) loads[link] += static_cast<double>(routes_[link]);
      std::fill(routes_.begin(), routes_.end(), 0);
    }

   private:
    const BCube& bcube_;
    std::vector<std::int64_t> routes_;  // by link
  };

  // Visits the links of a route, which corrects the digits from the highest down.
  template <class Visit>
  void walk(NodeId at, NodeId to, const Visit& visit) const {
    std::uint32_t ahead = at, there = to;              // the digits that are not yet corrected
    for (std::uint32_t level = k_; ahead != there;) {  // both are 0 after the last digit
      --level;
      const std::uint32_t unit = power_[level], old_digit = ahead / unit, new_digit = there / unit;
      ahead -= old_digit * unit;
      there -= new_digit * unit;
      if (old_digit == new_digit) continue;
      visit(2 * (at * k_ + level));
      at += (new_digit - old_digit) * unit;  // unsigned: wraps round and back
      visit(2 * (at * k_ + level) + 1);
    }
  }

  // The switches of a level are numbered by the server's number without the digit of that level.
  NodeId switch_of(NodeId server, std::uint32_t level) const {
    const std::uint32_t low = server % power_[level], high = server / power_[level + 1];
    return power_[k_] + level * per_level_ + high * power_[level] + low;
  }

  // Finds a sender and a receiver whose numbers differ by one, modulo n, in every digit in which `digits` is not 0.
  std::optional<HostPair> shifted(Census from, Census to, std::uint32_t digits) const {
    for (NodeId host = 0; host < hosts_; ++host) {
      if (from[host] == 0) continue;
      NodeId other = host;
      for (std::uint32_t level = 0; level < k_; ++level) {
        if (digits / power_[level] % n_ == 0) continue;
        const bool last = host / power_[level] % n_ == n_ - 1;
        other = last ? other - (n_ - 1) * power_[level] : other + power_[level];
      }
      if (to[other] > 0) return HostPair{host, other};
    }
    return std::nullopt;
  }

  std::uint32_t n_;
  std::uint32_t k_;
  std::uint32_t per_level_ = 0;       // switches
  std::vector<std::uint32_t> power_;  // powers of n
};

}  // namespace

std::unique_ptr<Topology> make_bcube(std::int64_t n, std::int64_t k, const LinkSpec& link) {
  return std::make_unique<BCube>(n, k, link);
}

}  // namespace allreplay
