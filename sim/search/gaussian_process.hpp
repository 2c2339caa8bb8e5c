// Regression by a Gaussian process, and the expected improvement over the best value seen: the parts of Bayesian
// optimisation (Snoek, Larochelle, Adams 2012), as ByteScheduler tunes its partition and credit (section 4.3 there).
#pragma once

#include <memory>
#include <vector>

namespace allreplay {

using Point = std::vector<double>;  ///< in the unit cube

class GaussianProcess {
 public:
  /// Fits a Matérn 5/2 kernel whose length scale has the largest marginal likelihood of a few. REQUIRES: as many
  /// values as points, at least one.
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

/// E[max(0, best − Y)] for Y normal.
double expected_improvement(const GaussianProcess::Belief& belief, double best);

}  // namespace allreplay
