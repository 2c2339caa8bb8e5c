#include <fmt/format.h>

#include "sim/cluster/shapes.hpp"

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
      for (std::uint32_t level = 0; level < k_; ++level) {  // cable server·k + level
        const NodeId box = switch_of(server, level);
        links_.push_back({server, box, link.latency, link.bandwidth});
        links_.push_back({box, server, link.latency, link.bandwidth});
      }
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    if (from == to) return;
    std::uint32_t ahead = from, there = to;  // the digits that are not yet corrected
    NodeId at = from;
    for (std::uint32_t level = k_; level-- > 0;) {
      const std::uint32_t unit = power_[level], old_digit = ahead / unit, new_digit = there / unit;
      ahead -= old_digit * unit;
      there -= new_digit * unit;
      if (old_digit == new_digit) continue;
      path.push_back(2 * (at * k_ + level));
      at += (new_digit - old_digit) * unit;  // unsigned: wraps round and back
      path.push_back(2 * (at * k_ + level) + 1);
    }
  }

  std::string name(NodeId node) const override {
    if (node < hosts_) return fmt::format("h{}", node);
    const std::uint32_t index = node - static_cast<NodeId>(hosts_);
    return fmt::format("s{}.{}", index / per_level_, index % per_level_);
  }

 private:
  // Counted by the server's number without the digit of that level.
  NodeId switch_of(NodeId server, std::uint32_t level) const {
    const std::uint32_t low = server % power_[level], high = server / power_[level + 1];
    return power_[k_] + level * per_level_ + high * power_[level] + low;
  }

  std::uint32_t n_;
  std::uint32_t k_;
  std::uint32_t per_level_ = 0;       // switches
  std::vector<std::uint32_t> power_;  // of n
};

}  // namespace

std::unique_ptr<Topology> make_bcube(std::int64_t n, std::int64_t k, const LinkSpec& link) {
  return std::make_unique<BCube>(n, k, link);
}

}  // namespace allreplay
