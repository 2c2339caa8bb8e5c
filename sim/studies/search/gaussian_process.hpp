// The parts of Bayesian optimisation (Snoek, Larochelle, Adams 2012): regression by a Gaussian process, and the
// expected improvement over the best value. ByteScheduler tunes its partition and credit like this (section 4.3 there).
#pragma once

#include <memory>
#include <vector>

namespace allreplay {

using Point = std::vector<double>;  ///< in the unit cube

class GaussianProcess {
 public:
  /// Fits a Matérn 5/2 kernel with the most likely of a few length scales. REQUIRES: as many values as points, not 0.
  GaussianProcess(std::vector<Point> points, const std::vector<double>& values);
  ~GaussianProcess();
  GaussianProcess(const GaussianProcess&) = delete;
  GaussianProcess& operator=(const GaussianProcess&) = delete;

  struct Belief {
    double mean = 0;
    double deviation = 0;
  };
  Belief at(const Point& point) const;

 private:
  struct Fit;
  std::unique_ptr<Fit> fit_;
};

/// E[max(0, best − Y)] for normally distributed Y.
double expected_improvement(const GaussianProcess::Belief& belief, double best);

}  // namespace allreplay
