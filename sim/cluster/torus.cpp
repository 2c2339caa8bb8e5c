#include <fmt/format.h>

#include "sim/cluster/shapes.hpp"

namespace allreplay {

namespace {

class Torus final : public Topology {
 public:
  Torus(std::span<const std::int64_t> dimensions, const LinkSpec& link) {
    hosts_ = 1;
    for (const std::int64_t size : dimensions) hosts_ *= size;
    std::int64_t inside = hosts_;  // hosts per step of the dimension: the product of the later sizes
    LinkId first = 0;
    for (const std::int64_t size : dimensions) {
      inside /= size;
      axes_.push_back({static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(inside), first});
      if (size == 1) continue;
      for (NodeId host = 0; host < hosts_; ++host) {
        const Axis& axis = axes_.back();
        if (size == 2 && axis.digit(host) == 1) continue;  // its only neighbour has made the link
        links_.push_back({host, axis.next(host), link.latency, link.bandwidth});
        links_.push_back({axis.next(host), host, link.latency, link.bandwidth});
      }
      first = static_cast<LinkId>(links_.size());
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    for (const Axis& axis : axes_) {
      const std::uint32_t up = (axis.digit(to) + axis.size - axis.digit(from)) % axis.size;
      if (up == 0) continue;
      if (axis.size == 2) {
        const bool back = axis.digit(from) == 1;
        const NodeId low = back ? from - axis.step : from;
        path.push_back(axis.first + 2 * (low / (2 * axis.step) * axis.step + low % axis.step) + back);
        from = back ? low : from + axis.step;
      } else if (2 * up <= axis.size) {
        for (std::uint32_t i = 0; i < up; ++i) {
          path.push_back(axis.first + 2 * from);
          from = axis.next(from);
        }
      } else {
        for (std::uint32_t i = up; i < axis.size; ++i) {
          from = axis.previous(from);
          path.push_back(axis.first + 2 * from + 1);
        }
      }
    }
  }

  std::string name(NodeId node) const override { return fmt::format("h{}", node); }

 private:
  struct Axis {
    std::uint32_t size;
    std::uint32_t step;  // from a host to the next along the axis
    LinkId first;        // then two per host, upwards from it and back; of a pair, the lower one only

    std::uint32_t digit(NodeId host) const { return host / step % size; }
    NodeId next(NodeId host) const { return digit(host) + 1 == size ? host - (size - 1) * step : host + step; }
    NodeId previous(NodeId host) const { return digit(host) == 0 ? host + (size - 1) * step : host - step; }
  };
  std::vector<Axis> axes_;
};

}  // namespace

std::unique_ptr<Topology> make_torus(std::span<const std::int64_t> dimensions, const LinkSpec& link) {
  return std::make_unique<Torus>(dimensions, link);
}

}  // namespace allreplay
