// Records the full links on which bytes of several jobs moved simultaneously, and the durations.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/replay/engine/server.hpp"

namespace allreplay {

class Meetings {
 public:
  /// A full link, and the jobs whose bytes are on it: at least two, sorted.
  struct Place {
    LinkId link = 0;
    std::vector<std::uint32_t> jobs;
    auto operator<=>(const Place&) const = default;
  };
  /// The number of a meeting: a set of places at the same time.
  using Id = std::uint32_t;
  static constexpr Id none = 0;

  /// The number of the meeting at these places. `places`: in the order of links.
  Id number(const std::vector<Place>& places);

  /// Adds to the duration of a meeting.
  void lasts(Id id, double ps) { lasted_[id] += ps; }

  /// By Id: the duration so far, in picoseconds.
  const std::vector<double>& lasted() const { return lasted_; }

  /// The approximate memory of this record.
  double bytes() const { return bytes_; }

  struct Met {
    LinkId link = 0;
    std::uint32_t with = 0;
    double ps = 0;
  };
  /// The jobs that a job met between two readings of lasted(), link by link.
  std::vector<Met> of(std::uint32_t job, std::span<const double> since, std::span<const double> until) const;

 private:
  using PlaceId = std::uint32_t;

  struct Hash {
    std::size_t operator()(const std::vector<PlaceId>& places) const;
    std::size_t operator()(const Place& place) const;
  };

  std::unordered_map<Place, PlaceId, Hash> place_numbers_;  // few places, of which meetings are many different sets
  std::vector<const Place*> places_;                        // by number
  std::unordered_map<std::vector<PlaceId>, Id, Hash> numbers_;
  std::vector<const std::vector<PlaceId>*> meetings_{nullptr};  // by number
  std::vector<double> lasted_{0};                               // by number
  double bytes_ = 0;
};

/// The server of a network that several jobs share. Jobs are known by number.
class NetworkOfJobs : public Server {
 public:
  /// Meetings::lasted() at `now`.
  virtual std::vector<double> met(Time now) const = 0;
};

}  // namespace allreplay
