#include "sim/studies/calibration/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/SVD>
#include <unsupported/Eigen/LevenbergMarquardt>

namespace allreplay {

namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;
using Numbers = std::vector<double>;

bool is_negligible(double squares, Index rows) {
  constexpr double rms = 1e-9;
  return squares < rms * rms * static_cast<double>(rows);
}

VectorXd residuals_at(const Residuals& residuals, const Numbers& at) {
  const Numbers found = residuals(at);
  return Eigen::Map<const VectorXd>(found.data(), std::ssize(found));
}

// Computes residuals, and their slopes by differences over `width` times each number.
class Slopes {
 public:
  Slopes(const Residuals& residuals, double width) : residuals_(residuals), width_(width) {}

  VectorXd at(const Numbers& numbers) const { return residuals_at(residuals_, numbers); }

  MatrixXd along(const Numbers& numbers, const std::vector<std::size_t>& axes) const {
    const VectorXd here = at(numbers);
    MatrixXd slopes(here.size(), std::ssize(axes));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double step = width_ * std::max(numbers[axes[i]], 0.1);
      Numbers beyond = numbers;
      beyond[axes[i]] += step;
      slopes.col(static_cast<Index>(i)) = (at(beyond) - here) / step;
    }
    return slopes;
  }

 private:
  const Residuals& residuals_;
  double width_;
};

// The residuals as Eigen needs them: a function of the free numbers, which are clamped to their bounds.
class Problem : public Eigen::DenseFunctor<double> {
 public:
  Problem(const Slopes& slopes, LeastSquares& best, std::vector<std::size_t> free, Index rows)
      : DenseFunctor(static_cast<int>(free.size()), static_cast<int>(rows)),
        slopes_(slopes),
        best_(best),
        free_(std::move(free)),
        start_(best.at) {}

  int operator()(const VectorXd& free, VectorXd& left) const {
    const Numbers numbers = whole(free);
    left = slopes_.at(numbers);
    if (left.squaredNorm() < best_.squares) best_ = {numbers, left.squaredNorm()};
    return is_negligible(best_.squares, left.size()) ? -1 : 0;  // -1 ends the search
  }

  int df(const VectorXd& free, MatrixXd& jacobian) const {
    jacobian = slopes_.along(whole(free), free_);
    return static_cast<int>(free_.size());
  }

  VectorXd start() const {
    VectorXd free(std::ssize(free_));
    for (std::size_t i = 0; i < free_.size(); ++i) free(static_cast<Index>(i)) = start_[free_[i]];
    return free;
  }

 private:
  Numbers whole(const VectorXd& free) const {
    Numbers numbers = start_;
    for (std::size_t i = 0; i < free_.size(); ++i)
      numbers[free_[i]] = std::clamp(free(static_cast<Index>(i)), 0.0, most_times);
    return numbers;
  }

  const Slopes& slopes_;
  LeastSquares& best_;
  std::vector<std::size_t> free_;
  Numbers start_;
};

// The numbers that are not at 0, or that improve the result by leaving it.
std::vector<std::size_t> free_at(const Slopes& slopes, const Numbers& at) {
  std::vector<std::size_t> free(at.size());
  std::iota(free.begin(), free.end(), std::size_t{0});
  const VectorXd uphill = slopes.along(at, free).transpose() * slopes.at(at);
  std::erase_if(free, [&](std::size_t i) { return at[i] <= 0 && uphill(static_cast<Index>(i)) >= 0; });
  return free;
}

LeastSquares descent(const Residuals& residuals, const Numbers& start) {
  const VectorXd here = residuals_at(residuals, start);
  LeastSquares best{start, here.squaredNorm()};
  for (const double width : {0.3, 1e-4}) {  // first across kinks, then between them
    const Slopes slopes(residuals, width);
    for (int round = 0; round < 2; ++round) {  // a number at 0 may have to leave it again
      const double before = best.squares;
      const std::vector<std::size_t> free = free_at(slopes, best.at);
      if (free.empty() || is_negligible(best.squares, here.size())) break;
      Problem problem(slopes, best, free, here.size());
      Eigen::LevenbergMarquardt<Problem> search(problem);
      search.setMaxfev(15 * (std::ssize(free) + 1));
      search.setXtol(1e-5);
      search.setFtol(1e-5);
      VectorXd at = problem.start();
      search.minimize(at);
      if (!(best.squares < 0.999 * before)) break;
    }
  }
  return best;
}

}  // namespace

LeastSquares least_squares(const Residuals& residuals, const std::vector<std::vector<double>>& starts) {
  LeastSquares best;
  for (const Numbers& start : starts) {
    LeastSquares found = descent(residuals, start);
    if (best.at.empty() || found.squares < best.squares) best = std::move(found);
    if (is_negligible(best.squares, std::ssize(residuals(best.at)))) break;
  }
  return best;
}

std::vector<std::vector<double>> undetermined_shares(const Residuals& residuals, const std::vector<double>& at,
                                                     double noise, const std::vector<double>& most) {
  const VectorXd here = residuals_at(residuals, at);
  MatrixXd changes(here.size(), std::ssize(at));
  for (std::size_t i = 0; i < at.size(); ++i) {
    Numbers more = at, less = at;
    more[i] *= 1.01;
    less[i] /= 1.01;
    const VectorXd up = residuals_at(residuals, more) - here, down = here - residuals_at(residuals, less);
    const bool ends_here = i < most.size() && at[i] >= most[i];
    changes.col(static_cast<Index>(i)) = (!ends_here && up.norm() < down.norm() ? up : down) / std::log(1.01);
  }
  const Eigen::JacobiSVD<MatrixXd> parts(changes, Eigen::ComputeFullV);
  MatrixXd projection = MatrixXd::Zero(std::ssize(at), std::ssize(at));
  for (Index i = 0; i < projection.cols(); ++i) {
    const double length = i < parts.singularValues().size() ? parts.singularValues()(i) : 0;
    if (length * std::log(2) < noise) projection += parts.matrixV().col(i) * parts.matrixV().col(i).transpose();
  }
  std::vector<Numbers> rows;
  for (Index i = 0; i < projection.rows(); ++i) {
    const VectorXd row = projection.row(i);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<double> pattern_search(const std::function<double(const std::vector<double>&)>& cost,
                                   std::vector<double> start, const std::vector<bool>& free, PatternSteps steps) {
  std::vector<double> at = std::move(start);
  double best = cost(at);
  const auto improve = [&](const std::vector<double>& candidate) {
    const double value = cost(candidate);
    if (!(value < best)) return false;
    best = value;
    at = candidate;
    return true;
  };
  for (double step = steps.first; step > steps.last;) {
    const std::vector<double> before = at;
    bool moved = false;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      for (const double sign : {1.0, -1.0}) {
        if (!free[axis]) continue;
        std::vector<double> candidate = at;
        candidate[axis] += sign * step;
        if (std::abs(candidate[axis]) < steps.bound && improve(candidate)) {
          moved = true;
          break;
        }
      }
    if (!moved) {
      step /= 2;
      continue;
    }
    std::vector<double> onward = at;
    for (std::size_t axis = 0; axis < at.size(); ++axis) onward[axis] += at[axis] - before[axis];
    improve(onward);
  }
  return at;
}

}  // namespace allreplay
