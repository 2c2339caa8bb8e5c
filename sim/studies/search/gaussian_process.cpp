#include "sim/studies/search/gaussian_process.hpp"

#include <cmath>
#include <limits>

#include <Eigen/Dense>

namespace allreplay {

struct GaussianProcess::Fit {
  std::vector<Point> points;
  double offset = 0, scale = 1;  // values are fitted as (value − offset) / scale
  double length = 1;
  Eigen::LLT<Eigen::MatrixXd> factor;
  Eigen::VectorXd weights;
};

namespace {

// Replays have no noise; this keeps the matrix positive definite and tolerates steps in the function.
constexpr double noise = 1e-4;

double matern(const Point& a, const Point& b, double length) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  const double r = std::sqrt(5 * square) / length;
  return (1 + r + r * r / 3) * std::exp(-r);
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<Point> points, const std::vector<double>& values) : fit_(new Fit) {
  fit_->points = std::move(points);
  const auto count = static_cast<Eigen::Index>(values.size());
  Eigen::VectorXd y(count);
  for (Eigen::Index i = 0; i < count; ++i) y(i) = values[static_cast<std::size_t>(i)];
  fit_->offset = y.mean();
  y.array() -= fit_->offset;
  const double deviation = std::sqrt(y.squaredNorm() / static_cast<double>(count));
  fit_->scale = deviation > 0 ? deviation : 1;
  y /= fit_->scale;
  double best = -std::numeric_limits<double>::infinity();
  for (const double length : {0.1, 0.2, 0.4, 0.8, 1.6}) {
    Eigen::MatrixXd kernel(count, count);
    for (Eigen::Index i = 0; i < count; ++i)
      for (Eigen::Index j = 0; j < count; ++j)
        kernel(i, j) =
            matern(fit_->points[static_cast<std::size_t>(i)], fit_->points[static_cast<std::size_t>(j)], length) +
            (i == j ? noise : 0);
    const Eigen::LLT<Eigen::MatrixXd> factor(kernel);
    const Eigen::VectorXd weights = factor.solve(y);
    const double likelihood = -0.5 * y.dot(weights) - factor.matrixLLT().diagonal().array().log().sum();
    if (likelihood <= best) continue;
    best = likelihood;
    fit_->length = length;
    fit_->factor = factor;
    fit_->weights = weights;
  }
}

GaussianProcess::~GaussianProcess() = default;

GaussianProcess::Belief GaussianProcess::at(const Point& point) const {
  Eigen::VectorXd kernel(static_cast<Eigen::Index>(fit_->points.size()));
  for (std::size_t i = 0; i < fit_->points.size(); ++i)
    kernel(static_cast<Eigen::Index>(i)) = matern(fit_->points[i], point, fit_->length);
  const double variance = 1 + noise - kernel.dot(fit_->factor.solve(kernel));
  return {fit_->offset + fit_->scale * kernel.dot(fit_->weights), fit_->scale * std::sqrt(std::max(0.0, variance))};
}

double expected_improvement(const GaussianProcess::Belief& belief, double best) {
  const double gain = best - belief.mean;
  if (belief.deviation <= 0) return std::max(0.0, gain);
  const double z = gain / belief.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI), below = std::erfc(-z / std::sqrt(2.0)) / 2;
  return gain * below + belief.deviation * density;
}

}  // namespace allreplay
