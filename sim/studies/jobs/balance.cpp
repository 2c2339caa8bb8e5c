#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "sim/studies/jobs/seated_job.hpp"

namespace allreplay {

namespace {

double batch_size_of(const Profile& profile, const SourceLocation& place) {
  if (!profile.batch_size)
    throw InputError(place, fmt::format("{} has no batch size", profile.name), "a profile that has one");
  return static_cast<double>(*profile.batch_size);
}

// Returns samples per second of forward and backward computation.
double speed_of(const Profile& profile, const SourceLocation& place) {
  const Time computing = add(profile.forward(), profile.backward());
  if (computing <= Time(0))
    throw InputError(place, fmt::format("{} computes in zero time", profile.name), "balance=even");
  return batch_size_of(profile, place) / to_seconds(computing);
}

// Rounds the quotas to integers whose sum is `all`: rounds all down, then adds one each to those with the largest
// fractions; of equal fractions the lower rank wins.
std::vector<std::int64_t> whole_samples(const std::vector<double>& quotas, std::int64_t all) {
  std::vector<std::int64_t> samples;
  std::vector<double> fractions;
  for (const double quota : quotas) {
    const double whole = std::floor(quota + 1e-9);
    samples.push_back(static_cast<std::int64_t>(whole));
    fractions.push_back(std::max(0., quota - whole));
  }
  std::int64_t left = all - std::accumulate(samples.begin(), samples.end(), std::int64_t{0});
  for (; left > 0; --left) {
    std::size_t best = 0;
    for (std::size_t rank = 1; rank < fractions.size(); ++rank)
      if (fractions[rank] > fractions[best] + 1e-9) best = rank;
    ++samples[best];
    fractions[best] = -1;
  }
  return samples;
}

}  // namespace

std::vector<WorkerKind> kinds_of(const JobEntry& job) {
  return job.kinds.empty() ? std::vector{WorkerKind{.workers = job.workers, .place = job.place}} : job.kinds;
}

std::vector<std::int64_t> batches_of(const JobEntry& job, const Profile& own,
                                     std::span<const Shared<Profile>> profiles) {
  const std::vector<WorkerKind> kinds = kinds_of(job);
  const bool own_batches = std::any_of(kinds.begin(), kinds.end(), [](const WorkerKind& kind) { return kind.batch; });
  std::vector<std::int64_t> samples;
  if (own_batches) {
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const auto batch = kinds[i].batch.value_or(static_cast<std::int64_t>(batch_size_of(profiles[i], kinds[i].place)));
      batch_size_of(profiles[i], kinds[i].place);
      samples.insert(samples.end(), static_cast<std::size_t>(kinds[i].workers), batch);
    }
  } else if (job.balanced) {
    const std::int64_t all =
        job.batch.value_or(job.workers * static_cast<std::int64_t>(job.batch ? 0 : batch_size_of(own, job.place)));
    std::vector<double> weights;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      batch_size_of(profiles[i], kinds[i].place);
      const double weight = job.balance == Balance::Speed ? speed_of(profiles[i], kinds[i].place) : 1;
      weights.insert(weights.end(), static_cast<std::size_t>(kinds[i].workers), weight);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.);
    for (double& weight : weights) weight *= static_cast<double>(all) / sum;
    samples = whole_samples(weights, all);
  }
  const auto none = std::find(samples.begin(), samples.end(), 0);
  if (none != samples.end())
    throw InputError(job.place, fmt::format("worker {} of '{}' gets no samples", none - samples.begin(), job.name),
                     "use a larger batch");
  return samples;
}

void require_same_model(const Profile& own, const Profile& other, const SourceLocation& place) {
  const auto differ = [&](const std::string& what) {
    throw InputError(place, fmt::format("{} has another model than {}: {}", other.name, own.name, what),
                     "profiles of one model in one job");
  };
  for (std::size_t i = 0; i < std::max(own.layers.size(), other.layers.size()); ++i) {
    if (i >= own.layers.size()) differ(fmt::format("it has an additional layer '{}'", other.layers[i].name));
    if (i >= other.layers.size()) differ(fmt::format("it lacks the layer '{}'", own.layers[i].name));
    if (own.layers[i].name != other.layers[i].name)
      differ(fmt::format("layer {} is '{}', not '{}'", i, other.layers[i].name, own.layers[i].name));
  }
  for (std::size_t i = 0; i < std::max(own.tensors.size(), other.tensors.size()); ++i) {
    if (i >= own.tensors.size()) differ(fmt::format("it has an additional tensor '{}'", other.tensors[i].name));
    if (i >= other.tensors.size()) differ(fmt::format("it lacks the tensor '{}'", own.tensors[i].name));
    const Tensor &a = own.tensors[i], &b = other.tensors[i];
    if (a.name != b.name || a.layer != b.layer || a.bytes != b.bytes)
      differ(fmt::format("tensor '{}' of {} bytes is '{}' of {} there", a.name, a.bytes, b.name, b.bytes));
  }
}

Profile with_batch(const Profile& profile, std::int64_t batch) {
  Profile other = profile;
  const double factor = static_cast<double>(batch) / static_cast<double>(*profile.batch_size);
  for (Layer& layer : other.layers) {
    layer.forward = scaled(layer.forward, factor);
    layer.backward = scaled(layer.backward, factor);
    scale_parallel_parts(layer, factor, factor);
  }
  other.batch_size = batch;
  return other;
}

}  // namespace allreplay
