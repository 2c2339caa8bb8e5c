#include "sim/studies/calibration/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <Eigen/Core>

namespace allreplay {

namespace {

using Eigen::ArrayXd;
using Sizes = Eigen::Ref<const ArrayXd>;

constexpr double huber = 1.345;          // 95 % of least squares' efficiency under normal noise (Huber 1981)
constexpr double normal_scale = 1.4826;  // a standard deviation in median absolute deviations, of normal noise

constexpr double outlier_cost = 25, piece_price = 26;  // see fit_table()

double median_of(const ArrayXd& values) { return median(std::vector<double>(values.begin(), values.end())); }

struct Data {
  ArrayXd bytes, seconds;
};

Data arrays(std::span<const Measurement> points) {
  const auto count = static_cast<Eigen::Index>(points.size());
  Data data{ArrayXd(count), ArrayXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    data.bytes[i] = static_cast<double>(points[static_cast<std::size_t>(i)].bytes);
    data.seconds[i] = points[static_cast<std::size_t>(i)].seconds;
  }
  return data;
}

// The median time of each size, sizes increasing.
std::vector<Measurement> by_size(std::span<const Measurement> points) {
  std::map<Bytes, std::vector<double>> times;
  for (const Measurement& point : points) times[point.bytes].push_back(point.seconds);
  std::vector<Measurement> sizes;
  for (const auto& [bytes, several] : times) sizes.push_back({bytes, median(several)});
  return sizes;
}

std::vector<Measurement> thinned(std::vector<Measurement> sizes, std::size_t most) {
  if (sizes.size() <= most) return sizes;
  std::vector<Measurement> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(sizes[i * (sizes.size() - 1) / (most - 1)]);
  return chosen;
}

struct Line {
  double a = 0, b = 0;
  ArrayXd at(const Sizes& bytes) const { return a + b * bytes; }
};

// Weighted least squares with b >= 0 and, if wanted, a >= 0. The problem is convex in two unknowns: if the free optimum
// has one of them below zero, the constrained one has it at zero. Sizes are centred, which keeps the precision of a.
Line weighted_line(const Sizes& weights, const Sizes& bytes, const Sizes& seconds, bool start_held) {
  const double sum = weights.sum(), centre = (weights * bytes).sum() / sum, mean = (weights * seconds).sum() / sum;
  const double spread = (weights * (bytes - centre).square()).sum();
  const double slope = spread > 0 ? (weights * (bytes - centre) * (seconds - mean)).sum() / spread : 0;
  if (slope <= 0) return {mean, 0};
  const double start = mean - slope * centre;
  if (start < 0 && start_held) return {0, (weights * bytes * seconds).sum() / (weights * bytes.square()).sum()};
  return {start, slope};
}

// Huber's weights of errors in units of their scale.
ArrayXd huber_weights(const ArrayXd& errors) { return huber / errors.abs().max(huber); }

// The line with the median of the slopes between all pairs, and the median of the remainders (Theil 1950, Sen 1968).
Line theil_sen(const Data& data) {
  std::vector<double> slopes;
  for (Eigen::Index i = 0; i < data.bytes.size(); ++i)
    for (Eigen::Index j = i + 1; j < data.bytes.size(); ++j)
      slopes.push_back((data.seconds[j] - data.seconds[i]) / (data.bytes[j] - data.bytes[i]));
  Line line{0, std::max(0.0, median(std::move(slopes)))};
  line.a = std::max(0.0, median_of(ArrayXd(data.seconds - line.b * data.bytes)));
  return line;
}

// The relative standard deviation of a time from the line through its two neighbours, for any dependence on the size.
double noise_of(const Data& data) {
  constexpr double least = 0.01;  // differences below one per cent deserve no piece
  const Eigen::Index count = data.bytes.size();
  if (count < 3) return least;
  std::vector<double> errors;
  for (Eigen::Index i = 1; i + 1 < count; ++i) {
    const double right = (data.bytes[i] - data.bytes[i - 1]) / (data.bytes[i + 1] - data.bytes[i - 1]);
    const double before = (1 - right) * data.seconds[i - 1], after = right * data.seconds[i + 1];
    const double middle = before + after;
    // The variance of (t − middle)/middle is that of t plus that of both neighbours, by their shares.
    errors.push_back(std::abs(data.seconds[i] - middle) / std::sqrt(middle * middle + before * before + after * after));
  }
  return std::max(least, normal_scale * median(std::move(errors)));
}

// A line, and its cost: squared errors in units of the noise, each up to a limit.
struct Fitted {
  Line line;
  double cost = 0;
};

Fitted fit_piece(const Sizes& bytes, const Sizes& seconds, double noise) {
  ArrayXd scale = seconds;
  Line line = weighted_line(scale.square().inverse(), bytes, seconds, false);
  const auto expected = [&]() -> ArrayXd {
    return line.at(bytes).max(0.1 * seconds);
  };  // positive even if the line is not
  for (int iteration = 0; iteration < 8; ++iteration) {
    scale = expected() * noise;
    const ArrayXd errors = (seconds - line.at(bytes)) / scale;
    line = weighted_line(huber_weights(errors) / scale.square(), bytes, seconds, false);
  }
  scale = expected() * noise;
  return {line, ((seconds - line.at(bytes)) / scale).square().min(outlier_cost).sum()};
}

// True if the sizes from `begin` to below `end` may be a piece: a protocol for less than a doubling of the size is
// treated as noise, and the slope of the last piece has to extrapolate.
bool may_be_piece(const Data& data, Eigen::Index begin, Eigen::Index end) {
  const bool all = begin == 0 && end == data.bytes.size();
  return all || data.bytes[end - 1] >= 2 * data.bytes[begin];
}

// The pieces of least cost: best[j] is the cost of the first j sizes, whose last piece begins at cut[j].
std::vector<Piece> cut_into_pieces(const Data& data, double noise) {
  const Eigen::Index count = data.bytes.size();
  std::vector<double> best(static_cast<std::size_t>(count) + 1, std::numeric_limits<double>::infinity());
  std::vector<Eigen::Index> cut(best.size(), 0);
  best[0] = 0;
  for (Eigen::Index end = 2; end <= count; ++end)
    for (Eigen::Index begin = 0; begin + 2 <= end; ++begin) {
      const double before = best[static_cast<std::size_t>(begin)] + piece_price;
      if (before >= best[static_cast<std::size_t>(end)] || !may_be_piece(data, begin, end)) continue;
      const Eigen::Index length = end - begin;
      const double cost =
          before + fit_piece(data.bytes.segment(begin, length), data.seconds.segment(begin, length), noise).cost;
      if (cost >= best[static_cast<std::size_t>(end)]) continue;
      best[static_cast<std::size_t>(end)] = cost;
      cut[static_cast<std::size_t>(end)] = begin;
    }
  std::vector<Piece> pieces;
  for (Eigen::Index end = count; end > 0; end = cut[static_cast<std::size_t>(end)]) {
    const Eigen::Index begin = cut[static_cast<std::size_t>(end)], length = end - begin;
    const Line line = fit_piece(data.bytes.segment(begin, length), data.seconds.segment(begin, length), noise).line;
    pieces.push_back({static_cast<Bytes>(data.bytes[begin]), static_cast<Bytes>(data.bytes[end - 1]),
                      static_cast<std::size_t>(length), line.a, line.b});
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

// The ends of all pieces. If one has a shorter time than the one before, both get the mean, weighted by the pieces'
// sizes (pool adjacent violators; Barlow et al. 1972).
std::vector<CostPoint> ends_of(const std::vector<Piece>& pieces, double least) {
  struct Pool {
    double seconds, weight;
    std::size_t count;
  };
  std::vector<CostPoint> ends;
  std::vector<Pool> pools;
  for (const Piece& piece : pieces)
    for (const Bytes bytes : {piece.from, piece.to}) {
      const double seconds = std::max(least, piece.a + piece.b * static_cast<double>(bytes));
      ends.push_back({bytes, seconds});
      pools.push_back({seconds, static_cast<double>(piece.sizes), 1});
      while (pools.size() > 1 && pools[pools.size() - 2].seconds > pools.back().seconds) {
        const Pool last = pools.back();
        pools.pop_back();
        Pool& pool = pools.back();
        pool.seconds = (pool.seconds * pool.weight + last.seconds * last.weight) / (pool.weight + last.weight);
        pool.weight += last.weight;
        pool.count += last.count;
      }
    }
  std::size_t end = 0;
  for (const Pool& pool : pools)
    for (std::size_t i = 0; i < pool.count; ++i) ends[end++].seconds = pool.seconds;
  return ends;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

LineFit fit_line(std::span<const Measurement> points) {
  const Data data = arrays(points);
  Line line = theil_sen(arrays(thinned(by_size(points), 500)));
  if (line.a == 0 && line.b == 0) line.b = median_of(ArrayXd(data.seconds / data.bytes));
  ArrayXd expected, weights;
  double scale = 0;
  for (int iteration = 0; iteration < 200; ++iteration) {
    expected = line.at(data.bytes);
    const ArrayXd errors = (data.seconds - expected) / expected;
    if (iteration < 50)
      scale = std::max(1e-12, normal_scale * median_of(ArrayXd(errors.abs())));  // later held, to converge
    weights = huber_weights(errors / scale) / expected.square();
    const Line next = weighted_line(weights, data.bytes, data.seconds, true);
    const double change = ((next.at(data.bytes) - expected) / expected).abs().maxCoeff();
    line = next;
    if (change < 1e-14) break;
  }
  LineFit fit{line.a, line.b, 0, 0, line.a == 0, line.b == 0};
  // The covariance of weighted least squares with the scale above; Huber's weights keep 95 % of its information.
  const double variance = scale * scale / 0.95, sum = weights.sum();
  const double centre = (weights * data.bytes).sum() / sum, spread = (weights * (data.bytes - centre).square()).sum();
  if (fit.a_held) {
    fit.b_error = std::sqrt(variance / (weights * data.bytes.square()).sum());
  } else if (fit.b_held) {
    fit.a_error = std::sqrt(variance / sum);
  } else {
    fit.a_error = std::sqrt(variance * (1 / sum + centre * centre / spread));
    fit.b_error = std::sqrt(variance / spread);
  }
  return fit;
}

TableFit fit_table(std::span<const Measurement> points) {
  const Data data = arrays(thinned(by_size(points), 400));
  TableFit fit;
  fit.noise = noise_of(data);
  fit.pieces = cut_into_pieces(data, fit.noise);
  fit.table = ends_of(fit.pieces, data.seconds.minCoeff());
  return fit;
}

}  // namespace allreplay
