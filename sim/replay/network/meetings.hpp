// Records the full links on which bytes of several jobs moved simultaneously, and the durations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/inputs/cluster/topology.hpp"
#include "sim/replay/engine/server.hpp"
#include "sim/replay/network/numbered_lists.hpp"

namespace allreplay {

class Meetings {
 public:
  /// The number of a place: a full link, and the jobs whose bytes are on it.
  using Place = std::uint32_t;
  /// The number of a meeting: a set of places at the same time.
  using Id = std::uint32_t;
  static constexpr Id none = 0;

  /// `jobs`: at least two, sorted.
  Place place(LinkId link, std::span<const std::uint32_t> jobs);

  /// The meeting at these places. `places`: sorted.
  Id number(std::span<const Place> places);

  /// Adds to the duration of a meeting.
  void lasts(Id id, double ps) { lasted_[id] += ps; }

  /// By Id: the duration so far, in picoseconds.
  const std::vector<double>& lasted() const { return lasted_; }

  /// The approximate memory of this record.
  double bytes() const {
    return places_.bytes() + meetings_.bytes() + static_cast<double>(lasted_.capacity() * sizeof(double));
  }

  struct Met {
    LinkId link = 0;
    std::uint32_t with = 0;
    double ps = 0;
  };
  /// The jobs that a job met between two readings of lasted(), link by link.
  std::vector<Met> of(std::uint32_t job, std::span<const double> since, std::span<const double> until) const;

 private:
  NumberedLists places_;              // the link, followed by the jobs; few places, of which meetings are many sets
  NumberedLists meetings_;            // places
  std::vector<double> lasted_{0};     // by number of the meeting
  std::vector<std::uint32_t> place_;  // the last one that was asked for
};

/// The server of a network that several jobs share. Jobs are known by number.
class NetworkOfJobs : public Server {
 public:
  /// Meetings::lasted() at `now`.
  virtual std::vector<double> met(Time now) const = 0;
};

}  // namespace allreplay
