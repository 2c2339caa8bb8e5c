#include "sim/experiment/framework.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr Framework all[] = {
    {"pytorch", "ddp", true},  {"horovod", "horovod", true}, {"bytescheduler", "bytescheduler", false},
    {"mxnet-p3", "p3", false}, {"dear", "dear", false},      {"us-byte", "us-byte", false},
};

double mib(Bytes bytes) { return static_cast<double>(bytes) / (1 << 20); }

// ByteScheduler and P3 count parameters, not bytes.
Bytes parameters(const Profile& profile, Bytes bytes) {
  const Tensor& tensor = profile.tensors.front();
  return std::max<Bytes>(1, bytes * tensor.elements / tensor.bytes);
}

}  // namespace

std::span<const Framework> frameworks() { return all; }

const Framework& find_framework(std::string_view name, const Place& place) {
  std::vector<std::string> names;
  for (const Framework& framework : all) {
    if (framework.name == name) return framework;
    names.emplace_back(framework.name);
  }
  throw InputError(place, fmt::format("unknown framework '{}'", name), suggest(name, names));
}

const Framework* framework_of(const Strategy& strategy) {
  const auto found =
      std::find_if(std::begin(all), std::end(all), [&](const Framework& one) { return one.strategy == strategy.name; });
  return found == std::end(all) ? nullptr : found;
}

std::string settings_of(const Scenario& scenario) {
  const StrategyOptions& options = scenario.options.strategy;
  const std::string_view name = scenario.strategy->name;
  const Profile& profile = scenario.profile;
  if (name == "ddp") return fmt::format("DistributedDataParallel(model, bucket_cap_mb={:g})", mib(options.bucket_cap));
  if (name == "horovod")
    return fmt::format("HOROVOD_FUSION_THRESHOLD={} HOROVOD_CYCLE_TIME={:g}", options.threshold,
                       to_seconds(options.cycle) * 1e3);
  if (name == "bytescheduler") {
    const Bytes partition = options.partition.value_or(scenario.strategy->partition);
    const bool in_bytes = options.credit.bytes != Window::unlimited;
    const Bytes credit = in_bytes ? options.credit.bytes : partition * options.credit.count;
    return fmt::format("BYTESCHEDULER_PARTITION={} BYTESCHEDULER_CREDIT={}", parameters(profile, partition),
                       parameters(profile, credit));
  }
  if (name == "p3")
    return fmt::format("kvstore dist_p3, MXNET_KVSTORE_SLICE_THRESHOLD={}",
                       parameters(profile, options.partition.value_or(scenario.strategy->partition)));
  if (name == "dear") return fmt::format("fusion threshold of {:g} MB", static_cast<double>(options.threshold) / 1e6);
  if (name == "us-byte")
    return fmt::format("basic partition S_p of {:g} MB",
                       static_cast<double>(options.partition.value_or(scenario.strategy->partition)) / 1e6);
  if (name == "wfbp") return "no fusion";
  if (name == "s-sgd") return "no overlap";
  if (name == "sync-easgd") return "one all-reduce of everything";
  return fmt::format("buckets from `allreplay plan -s {}`", name);
}

}  // namespace allreplay
