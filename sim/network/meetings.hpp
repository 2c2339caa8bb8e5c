// Where jobs met: over which full links their bytes moved at once, and for how long.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"
#include "sim/engine/server.hpp"

namespace allreplay {

class Meetings {
 public:
  /// A full link, and the jobs whose bytes are on it: several, in order.
  struct Place {
    LinkId link = 0;
    std::vector<std::uint32_t> jobs;
    auto operator<=>(const Place&) const = default;
  };
  /// What is full at once.
  using Id = std::uint32_t;
  static constexpr Id none = 0;

  /// `places`: in order of links.
  Id number(const std::vector<Place>& places) {
    if (places.empty()) return none;
    const auto [known, fresh] = numbers_.emplace(places, static_cast<Id>(places_.size()));
    if (fresh) {
      places_.push_back(&known->first);
      lasted_.push_back(0);
      bytes_ += 150;
      for (const Place& place : places) bytes_ += static_cast<double>(sizeof place + place.jobs.size() * sizeof(Id));
    }
    return known->second;
  }

  void lasts(Id id, double ps) { lasted_[id] += ps; }

  /// How long each has lasted so far, in picoseconds.
  const std::vector<double>& lasted() const { return lasted_; }

  /// What is kept of them, about.
  double bytes() const { return bytes_; }

  struct Met {
    LinkId link = 0;
    std::uint32_t with = 0;
    double ps = 0;
  };
  /// Whom a job met between two readings of lasted(), link by link.
  std::vector<Met> of(std::uint32_t job, std::span<const double> since, std::span<const double> until) const;

 private:
  std::map<std::vector<Place>, Id> numbers_;
  std::vector<const std::vector<Place>*> places_{nullptr};  // by number
  std::vector<double> lasted_{0};                           // by number
  double bytes_ = 0;
};

/// A network that several jobs share, who are known by number.
class NetworkOfJobs : public Server {
 public:
  /// Meetings::lasted() by now.
  virtual std::vector<double> met(Time now) const = 0;
};

}  // namespace allreplay
