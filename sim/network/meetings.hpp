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
  Id number(const std::vector<Place>& places);

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
  using PlaceId = std::uint32_t;

  std::map<Place, PlaceId> place_numbers_;  // few: what is full at once is one of many sets of them
  std::vector<const Place*> places_;        // by number
  std::map<std::vector<PlaceId>, Id> numbers_;
  std::vector<const std::vector<PlaceId>*> meetings_{nullptr};  // by number
  std::vector<double> lasted_{0};                               // by number
  double bytes_ = 0;
};

/// A network that several jobs share, who are known by number.
class NetworkOfJobs : public Server {
 public:
  /// Meetings::lasted() by now.
  virtual std::vector<double> met(Time now) const = 0;
};

}  // namespace allreplay
