#include "sim/inputs/compression/codec_measurement.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <span>
#include <vector>

#include "sim/base/core/random.hpp"

namespace allreplay {

namespace {

using Vector = std::vector<float>;
using Sum = std::vector<double>;

double draw(Distribution distribution, Random& random) {
  switch (distribution) {
    case Distribution::Normal:
      break;
    case Distribution::Laplace: {
      const double sign = random.below(2) == 0 ? -1 : 1;
      return -sign * std::log1p(-random.uniform());
    }
    case Distribution::Lognormal: {
      const double sign = random.below(2) == 0 ? -1 : 1;
      return sign * std::exp(random.normal());
    }
  }
  return random.normal();
}

// Draws √c·(a common vector) + √(1−c)·(a new vector for every worker and iteration): any two have correlation c.
class Gradients {
 public:
  explicit Gradients(const CodecRequest& request) : request_(request) {
    if (request.correlation > 0) common_ = drawn(0);
  }

  Vector next() {
    Vector gradient = drawn(++drawn_);
    if (common_.empty()) return gradient;
    const auto own = static_cast<float>(std::sqrt(1 - request_.correlation));
    const auto shared = static_cast<float>(std::sqrt(request_.correlation));
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = shared * common_[i] + own * gradient[i];
    return gradient;
  }

 private:
  Vector drawn(std::uint64_t index) const {
    constexpr std::uint64_t beyond_the_compressors = std::uint64_t{1} << 32;
    Random random(request_.options.seed, beyond_the_compressors + index);
    Vector values(static_cast<std::size_t>(request_.elements));
    for (float& value : values) value = static_cast<float>(draw(request_.distribution, random));
    return values;
  }

  const CodecRequest& request_;
  std::uint64_t drawn_ = 0;
  Vector common_;
};

template <class A, class B>
void accumulate(A& sum, const B& terms) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += terms[i];
}

template <class A, class B>
double product(const A& a, const B& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

// ‖scale·y − x‖ / ‖x‖.
template <class A, class B>
double relative_error(const A& y, const B& x, double scale = 1) {
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += std::pow(scale * double{y[i]} - double{x[i]}, 2);
  return std::sqrt(squares / product(x, x));
}

double l1_norm(const Sum& x) {
  double sum = 0;
  for (const double value : x) sum += std::abs(value);
  return sum;
}

// The processor seconds of one action(i), so that other programs matter little: the median over `repetitions` rounds,
// each of enough calls to take a millisecond. i cycles from 0 to `end` − 1.
template <class Action>
double measured(std::int64_t repetitions, std::size_t end, const Action& action) {
  std::size_t next = 0;
  const auto seconds_of = [&](std::int64_t calls) {
    const std::clock_t begin = std::clock();
    for (std::int64_t call = 0; call < calls; ++call) {
      action(next);
      next = next + 1 < end ? next + 1 : 0;
    }
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  std::int64_t calls = 1;
  while (seconds_of(calls) < 1e-3) calls *= 2;  // this also warms up
  std::vector<double> times;
  for (std::int64_t round = 0; round < repetitions; ++round)
    times.push_back(seconds_of(calls) / static_cast<double>(calls));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Measures many different gradients if they are small: with one, the processor would learn to predict every branch.
void measure_times(const CodecRequest& request, const Vector& x, RoundTrip& result) {
  constexpr std::size_t least_elements = std::size_t{1} << 18;
  const auto n = x.size();
  CodecRequest several = request;
  const std::size_t count = std::max<std::size_t>(1, least_elements / n);
  several.elements = static_cast<std::int64_t>(count * n);
  several.correlation = 0;
  const Vector all = count == 1 ? Vector() : Gradients(several).next();
  const auto gradient = [&](std::size_t i) { return count == 1 ? std::span(x) : std::span(all).subspan(i * n, n); };
  const auto codec = request.codec->make(request.options, 0);
  std::vector<EncodedPayload> payloads;
  for (std::size_t i = 0; i < count; ++i) payloads.push_back(codec->encode(gradient(i)));
  Vector y(n);
  result.encode_s = measured(request.repetitions, count, [&](std::size_t i) { codec->encode(gradient(i)); });
  result.decode_s = measured(request.repetitions, count, [&](std::size_t i) { codec->decode(payloads[i], y); });
}

RoundTrip round_trip(const CodecRequest& request, const Vector& x) {
  RoundTrip result;
  const auto make = [&] { return request.codec->make(request.options, 0); };
  Vector y(x.size());
  {
    const auto codec = make();
    const EncodedPayload payload = codec->encode(x);
    codec->decode(payload, y);
    result.bytes = payload.size();
    result.error = relative_error(y, x);
    result.cosine = product(x, y) / std::sqrt(product(x, x) * product(y, y));
  }
  measure_times(request, x, result);
  const auto mean_error = [&](const auto& encode) {
    const auto codec = make();
    Sum sum(x.size());
    for (std::int64_t time = 0; time < request.iterations; ++time) {
      codec->decode(encode(*codec), y);
      accumulate(sum, y);
    }
    return relative_error(sum, x, 1 / static_cast<double>(request.iterations));
  };
  result.mean_error = mean_error([&](Compressor& codec) { return codec.encode(x); });
  if (request.codec->error_feedback) {
    ErrorFeedback feedback(x.size());
    result.mean_error_feedback = mean_error([&](Compressor& codec) { return feedback.encode(codec, x); });
  }
  return result;
}

Aggregated aggregate(const CodecRequest& request, Gradients& gradients) {
  const auto n = static_cast<std::size_t>(request.elements);
  const auto workers = static_cast<double>(request.workers);
  Exchange exchange(*request.codec, request.options, request.workers, n, request.residuals);
  Aggregated result;
  Sum all_in(n), all_applied(n), owed(n);
  double lost = 0, applied_size = 0;
  for (std::int64_t time = 0; time < request.iterations; ++time) {
    std::vector<Vector> drawn;
    Sum in(n), applied(n);
    for (std::int64_t worker = 0; worker < request.workers; ++worker) {
      drawn.push_back(gradients.next());
      accumulate(in, drawn.back());
    }
    const Vector mean = exchange.step(drawn);
    for (std::size_t i = 0; i < n; ++i) applied[i] = workers * double{mean[i]};
    if (time == 0) result.error = relative_error(applied, in);
    const Sum still_owed = exchange.owed();
    Sum missing(n);
    for (std::size_t i = 0; i < n; ++i) missing[i] = owed[i] + in[i] - applied[i] - still_owed[i];
    lost += l1_norm(missing);
    applied_size += l1_norm(applied);
    owed = still_owed;
    accumulate(all_in, in);
    accumulate(all_applied, applied);
  }
  result.bytes = traffic(request.codec->aggregation, request.workers, exchange.payload_bytes());
  result.total_error = relative_error(all_applied, all_in);
  if (request.codec->aggregation == Aggregation::GTopKTree) result.lost = lost / applied_size;
  return result;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

}  // namespace

CodecMeasurement measure_codec(const CodecRequest& request) {
  Gradients gradients(request);
  CodecMeasurement report{request, processor(), round_trip(request, gradients.next()), {}};
  if (request.workers > 1) report.aggregated = aggregate(request, gradients);
  return report;
}

}  // namespace allreplay
