#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

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
        add_link(host, axis.next(host), link);
      }
      first = static_cast<LinkId>(links_.size());
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    for (const Axis& axis : axes_) {
      const std::uint32_t up = (axis.digit(to) + axis.size - axis.digit(from)) % axis.size;
      if (up == 0) continue;
      if (axis.size == 2) {
        cross(axis, from, path);
        from = axis.moved(from, 1);
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

  std::unique_ptr<RouteCount> route_count() const override { return std::make_unique<Differences>(*this); }

  bool count_all(Census from, Census to, std::span<double> loads, std::vector<HostPair>& ends) const override {
    const auto farthest = farthest_pair(from, to), nearest = adjacent_pair(from, to);
    if (!farthest || !nearest) return false;
    ends.insert(ends.end(), {*farthest, *nearest});
    for (const Axis& axis : axes_)
      if (axis.size == 2)
        count_pairs(axis, from, to, loads);
      else if (axis.size > 2)
        count_lines(axis, from, to, loads);
    return true;
  }

  std::string name(NodeId node) const override { return fmt::format("h{}", node); }

 private:
  struct Axis {
    std::uint32_t size;
    std::uint32_t step;  // from a host to the next along the axis
    LinkId first;  // two links per host, upwards from it and back; if size is 2, only for the lower host of each pair

    std::uint32_t digit(NodeId host) const { return host / step % size; }
    NodeId next(NodeId host) const { return digit(host) + 1 == size ? host - (size - 1) * step : host + step; }
    NodeId previous(NodeId host) const { return digit(host) == 0 ? host + (size - 1) * step : host - step; }
    NodeId moved(NodeId host, std::uint32_t digits) const {
      return digit(host) + digits >= size ? host - (size - digits) * step : host + digits * step;
    }
  };

  // Counts a run of links along an axis by two marks, at its start and just past its end, of which take() forms prefix
  // sums. The largest weight on a run is the larger of those on two runs that cover it, may overlap, and have a power
  // of two as their length.
  class Differences final : public RouteCount {
   public:
    explicit Differences(const Torus& torus) : RouteCount(torus), torus_(torus), marks_(torus.links_.size(), 0) {}

    double add(NodeId from, NodeId to, std::uint32_t, std::int64_t times, double latency) override {
      std::uint32_t hops = 0;
      for (const Axis& axis : torus_.axes_) {
        const std::uint32_t here = axis.digit(from), there = axis.digit(to);
        if (here == there) continue;
        const std::uint32_t up = there > here ? there - here : there + axis.size - here;
        const NodeId end = from + (there - here) * axis.step;  // unsigned: wraps round and back
        if (axis.size == 2) {
          path_.clear();
          torus_.cross(axis, from, path_);
          marks_[path_[0]] += times;
          ++hops;
        } else if (2 * up <= axis.size) {
          mark(axis.first, from, end, there < here, axis, times);
          hops += up;
        } else {
          mark(axis.first + 1, end, from, here < there, axis, times);
          hops += axis.size - up;
        }
        from = end;
      }
      return add_hops(hops, latency);
    }

    void take(std::span<double> loads) override {
      for (const Axis& axis : torus_.axes_) {
        if (axis.size > 2)
          for (NodeId host = axis.step; host < torus_.hosts_; ++host)
            if (axis.digit(host) > 0)
              for (const LinkId way : {0U, 1U})
                marks_[axis.first + 2 * host + way] += marks_[axis.first + 2 * (host - axis.step) + way];
      }
      for (LinkId link = 0; link < marks_.size(); ++link) loads[link] += static_cast<double>(marks_[link]);
      std::fill(marks_.begin(), marks_.end(), 0);
    }

    void weigh(std::span<const double> weights) override {
      RouteCount::weigh(weights);
      runs_.assign(torus_.axes_.size(), {});
      for (std::size_t a = 0; a < torus_.axes_.size(); ++a) {
        const Axis& axis = torus_.axes_[a];
        for (std::uint32_t length = 2; axis.size > 2 && length <= axis.size / 2; length *= 2) {
          std::vector<double> longer(2 * static_cast<std::size_t>(torus_.hosts_));
          for (NodeId host = 0; host < torus_.hosts_; ++host)
            for (const std::uint32_t way : {0U, 1U})
              longer[2 * host + way] = std::max(largest_on_power(a, way, host, length / 2),
                                                largest_on_power(a, way, axis.moved(host, length / 2), length / 2));
          runs_[a].push_back(std::move(longer));
        }
      }
    }

    double most(NodeId from, NodeId to, std::uint32_t) override {
      double most = 0;
      for (std::size_t a = 0; a < torus_.axes_.size(); ++a) {
        const Axis& axis = torus_.axes_[a];
        const std::uint32_t up = (axis.digit(to) + axis.size - axis.digit(from)) % axis.size;
        if (up == 0) continue;
        const NodeId end = axis.moved(from, up);
        if (axis.size == 2) {
          path_.clear();
          torus_.cross(axis, from, path_);
          most = std::max(most, weights_[path_[0]]);
        } else if (2 * up <= axis.size) {
          most = std::max(most, largest_on_run(a, 0, from, up));
        } else {
          most = std::max(most, largest_on_run(a, 1, end, axis.size - up));
        }
        from = end;
      }
      return most;
    }

   private:
    // The largest weight of `length` links, a power of two, from the host's upwards: of links up (way 0) or back (1).
    double largest_on_power(std::size_t axis, std::uint32_t way, NodeId host, std::uint32_t length) const {
      if (length == 1) return weights_[torus_.axes_[axis].first + 2 * host + way];
      return runs_[axis][static_cast<std::size_t>(std::bit_width(length)) - 2][2 * host + way];
    }
    double largest_on_run(std::size_t axis, std::uint32_t way, NodeId host, std::uint32_t length) const {
      const std::uint32_t half = std::bit_floor(length);
      return std::max(largest_on_power(axis, way, host, half),
                      largest_on_power(axis, way, torus_.axes_[axis].moved(host, length - half), half));
    }

    // Counts the links from `low` up to the one before `high`; `round`: past the end of the axis to its start.
    void mark(LinkId first, NodeId low, NodeId high, bool round, const Axis& axis, std::int64_t times) {
      marks_[first + 2 * low] += times;
      marks_[first + 2 * high] -= times;
      if (round) marks_[first + 2 * (low - axis.digit(low) * axis.step)] += times;
    }
    // Adds the latencies link by link, with the same rounding as a walk.
    double add_hops(std::uint32_t hops, double latency) {
      const double link = torus_.links_.empty() ? 0 : torus_.links_[0].latency;
      if (latency != 0) {
        for (; hops > 0; --hops) latency += link;
        return latency;
      }
      if (sums_.empty()) sums_.push_back(0);
      while (sums_.size() <= hops) sums_.push_back(sums_.back() + link);
      return sums_[hops];
    }

    const Torus& torus_;
    std::vector<std::int64_t> marks_;  // by link
    std::vector<double> sums_;
    std::vector<std::vector<std::vector<double>>> runs_;  // by axis, and by length 2, 4, 8, …: by host and way
  };

  // Appends the link across an axis of size 2.
  void cross(const Axis& axis, NodeId from, std::vector<LinkId>& path) const {
    const bool back = axis.digit(from) == 1;
    const NodeId low = back ? from - axis.step : from;
    path.push_back(axis.first + 2 * (low / (2 * axis.step) * axis.step + low % axis.step) + back);
  }

  // Finds a sender and a receiver half-way round every axis from each other: no route is longer.
  std::optional<HostPair> farthest_pair(Census from, Census to) const {
    for (NodeId host = 0; host < hosts_; ++host) {
      NodeId other = host;
      for (const Axis& axis : axes_) other = axis.moved(other, axis.size / 2);
      if (other != host && from[host] > 0 && to[other] > 0) return HostPair{host, other};
    }
    return std::nullopt;
  }

  std::optional<HostPair> adjacent_pair(Census from, Census to) const {
    for (NodeId host = 0; host < hosts_; ++host)
      for (const Axis& axis : axes_)
        for (const NodeId neighbour : {axis.next(host), axis.previous(host)})
          if (neighbour != host && from[host] > 0 && to[neighbour] > 0) return HostPair{host, neighbour};
    return std::nullopt;
  }

  // When a route moves along an axis, its earlier digits are already the receiver's and its later ones still the
  // sender's. So B routes start at each place of a line of the axis, A end at each, in all combinations.
  struct Line {
    std::vector<std::int64_t> ends, starts;  // A and B, by place
  };
  template <class Visit>
  void for_each_line(const Axis& axis, Census from, Census to, const Visit& visit) const {
    const std::vector<std::int64_t> ends = by_block(to, axis.step);
    std::vector<std::int64_t> starts(std::size_t{axis.size} * axis.step, 0);
    for (NodeId host = 0; host < hosts_; ++host) starts[host % starts.size()] += from[host];
    Line line{std::vector<std::int64_t>(axis.size), std::vector<std::int64_t>(axis.size)};
    for (NodeId first = 0; first < hosts_; first += axis.size * axis.step)
      for (NodeId behind = 0; behind < axis.step; ++behind) {
        for (std::uint32_t place = 0; place < axis.size; ++place) {
          line.ends[place] = ends[first / axis.step + place];
          line.starts[place] = starts[place * axis.step + behind];
        }
        visit(first + behind, line);
      }
  }

  void count_pairs(const Axis& axis, Census from, Census to, std::span<double> loads) const {
    std::vector<LinkId> path;
    for_each_line(axis, from, to, [&](NodeId host, const Line& line) {
      path.clear();
      cross(axis, host, path);
      loads[path[0]] += static_cast<double>(line.starts[0] * line.ends[1]);
      loads[path[0] + 1] += static_cast<double>(line.starts[1] * line.ends[0]);
    });
  }

  // The link from place k to the next carries the routes that start at most `most` − 1 places before k, and end behind
  // k, at most `most` places from their start. Prefix sums, over the line three times in a row, count them.
  void count_lines(const Axis& axis, Census from, Census to, std::span<double> loads) const {
    const std::int64_t size = axis.size;
    std::vector<std::int64_t> until(3 * size + 1), before(2 * size + 1), weighted(2 * size + 1);
    // Calls `visit` with each place and the number of routes over the link behind it; `starts` and `ends` are by place.
    const auto count = [&](const auto& starts, const auto& ends, std::int64_t most, const auto& visit) {
      for (std::int64_t i = 0; i < 3 * size; ++i) until[i + 1] = until[i] + ends(i % size);
      for (std::int64_t i = 0; i < 2 * size; ++i) {
        before[i + 1] = before[i] + starts(i % size);
        weighted[i + 1] = weighted[i] + starts(i % size) * until[i + most + 1];
      }
      for (std::int64_t k = size; k < 2 * size; ++k)
        visit(k - size,
              weighted[k + 1] - weighted[k + 1 - most] - until[k + 1] * (before[k + 1] - before[k + 1 - most]));
    };
    for_each_line(axis, from, to, [&](NodeId host, const Line& line) {
      count([&](std::int64_t i) { return line.starts[i]; }, [&](std::int64_t i) { return line.ends[i]; }, size / 2,
            [&](std::int64_t place, std::int64_t routes) {
              loads[axis.first + 2 * (host + place * axis.step)] += static_cast<double>(routes);
            });
      // Downwards the line is read backwards, and a link has the number of the place to which it leads.
      const auto back = [&](std::int64_t place) { return size - 1 - place; };
      count([&](std::int64_t i) { return line.starts[back(i)]; }, [&](std::int64_t i) { return line.ends[back(i)]; },
            (size - 1) / 2,
            [&](std::int64_t place, std::int64_t routes) {
              const std::int64_t lower = (back(place) + size - 1) % size;
              loads[axis.first + 2 * (host + lower * axis.step) + 1] += static_cast<double>(routes);
            });
    });
  }

  std::vector<Axis> axes_;
};

}  // namespace

std::unique_ptr<Topology> make_torus(std::span<const std::int64_t> dimensions, const LinkSpec& link) {
  return std::make_unique<Torus>(dimensions, link);
}

}  // namespace allreplay
