// Who is to blame: the suspects of OSDI'25's analysis, and what explains the waste beyond their rules.
#pragma once

#include <string>
#include <vector>

#include "sim/diagnosis/diagnosis.hpp"

namespace allreplay {

/// From this part of the waste on, mending something is called to explain it.
inline constexpr double half_of_waste = 0.5;

/// The name under which a kind is asked about.
std::string_view asked_name(OpKind kind);

/// Means about which values vary, by stage or by worker.
struct Moments {
  std::vector<double> count, sum, squares;  ///< squares: about the mean
};

/// Of the ops of some kinds (a bit for each), over all steps; `place_of`: an op's stage, or its worker, of so many.
template <class Place>
Moments moments(const MeasuredSteps& job, const std::vector<double>& own, std::uint32_t kinds, std::size_t places,
                const Place& place_of) {
  const JobGraph& graph = job.graph;
  const std::vector<double> none(places, 0.0);
  Moments result{none, none, none};
  const auto each = [&](auto&& visit) {
    for (std::size_t i = 0; i < own.size(); ++i)
      if (const JobOp& op = graph.ops[i % graph.ops.size()]; (kinds >> static_cast<unsigned>(op.kind) & 1) != 0)
        visit(place_of(op), own[i]);
  };
  each([&](std::size_t place, double value) {
    result.count[place] += 1;
    result.sum[place] += value;
  });
  each([&](std::size_t place, double value) {
    const double from_mean = value - result.sum[place] / result.count[place];
    result.squares[place] += from_mean * from_mean;
  });
  return result;
}

/// Those whose computes took longer than the mean of their stage's workers, by what is called straggling, in every
/// step. None where what varies is more than by half the micro-batches of each worker: in few steps chance slows some,
/// too.
std::vector<WorkerPlace> slow_in_every_step(const MeasuredSteps& job, const std::vector<double>& own);

/// Seconds a step, by worker: from the end of what an op follows to its start; of a group that of its last comer.
std::vector<double> gaps_before_ops(const MeasuredSteps& job);

/// REQUIRES: all that a diagnosis has above its suspects. The second: and its suspects.
std::vector<std::string> suspects_of(const Diagnosis& known);
std::vector<Finding> findings_of(const Diagnosis& known);

}  // namespace allreplay
