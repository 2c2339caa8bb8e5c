// Names the causes of the waste: the suspects of OSDI'25's analysis, and findings by additional rules.
#pragma once

#include <string>
#include <vector>

#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

/// A cause explains the waste if fixing it recovers at least this share.
inline constexpr double half_of_waste = 0.5;

/// The name of a kind in what-ifs, where sends and receives of a direction are one.
std::string_view question_name(OpKind kind);

/// Count, sum and squared deviations of values, by stage or by worker.
struct Moments {
  std::vector<double> count, sum, squares;  ///< squares: of the deviations from the mean
};

/// Computes moments of some kinds (a bit each) over all steps. `place_of`: an op's stage or worker, below `places`.
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

/// Returns the workers whose computes took longer than their stage's mean, by the factor `straggling`, in every step.
/// Empty if more than half of the variance is within workers, between their micro-batches: if there are few steps, a
/// worker may be slow in all of them by chance.
std::vector<WorkerPlace> slow_in_every_step(const MeasuredSteps& job, const std::vector<double>& own);

/// Returns, by worker, seconds per step between an op's dependencies and its start; in a group the last start counts,
/// in a sharded job each rank's own.
std::vector<double> gaps_before_ops(const MeasuredSteps& job);

/// REQUIRES: all members above `suspects` are set; for findings_of() also `suspects`.
std::vector<std::string> suspects_of(const Diagnosis& known);
std::vector<Finding> findings_of(const Diagnosis& known);

}  // namespace allreplay
