#include "sim/schedule/offer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/named.hpp"
#include "sim/schedule/partitioning.hpp"

namespace allreplay {

namespace {

double mib(Bytes bytes) { return static_cast<double>(bytes) / (1 << 20); }
double megabytes(Bytes bytes) { return static_cast<double>(bytes) / 1e6; }

// ByteScheduler and P3 count parameters, not bytes.
Bytes parameters(const Profile& profile, Bytes bytes) {
  const Tensor& tensor = profile.tensors.front();
  return std::max<Bytes>(1, bytes * tensor.elements / tensor.bytes);
}

std::string no_overlap(const StrategyOptions&, const Profile&) { return "no overlap"; }
std::string no_fusion(const StrategyOptions&, const Profile&) { return "no fusion"; }
std::string everything(const StrategyOptions&, const Profile&) { return "one all-reduce of everything"; }

std::string ddp(const StrategyOptions& options, const Profile&) {
  return fmt::format("DistributedDataParallel(model, bucket_cap_mb={:g})", mib(options.bucket_cap));
}

std::string horovod(const StrategyOptions& options, const Profile&) {
  return fmt::format("HOROVOD_FUSION_THRESHOLD={} HOROVOD_CYCLE_TIME={:g}", options.threshold,
                     to_seconds(options.cycle) * 1e3);
}

std::string bytescheduler(const StrategyOptions& options, const Profile& profile) {
  const Bytes partition = options.partition.value_or(bytescheduler_partition);
  const bool in_bytes = options.credit.bytes != Window::unlimited;
  const Bytes credit = in_bytes ? options.credit.bytes : partition * options.credit.count;
  return fmt::format("BYTESCHEDULER_PARTITION={} BYTESCHEDULER_CREDIT={}", parameters(profile, partition),
                     parameters(profile, credit));
}

std::string us_byte(const StrategyOptions& options, const Profile&) {
  return fmt::format("basic partition S_p of {:g} MB", megabytes(options.partition.value_or(bytescheduler_partition)));
}

std::string p3(const StrategyOptions& options, const Profile& profile) {
  return fmt::format("kvstore dist_p3, MXNET_KVSTORE_SLICE_THRESHOLD={}",
                     parameters(profile, options.partition.value_or(p3_partition)));
}

std::string dear(const StrategyOptions& options, const Profile&) {
  return fmt::format("fusion threshold of {:g} MB", megabytes(options.threshold));
}

}  // namespace

constinit const Offer offer_s_sgd{"", false, no_overlap}, offer_wfbp{"", false, no_fusion},
    offer_sync_easgd{"", false, everything}, offer_ddp{"pytorch", true, ddp}, offer_horovod{"horovod", true, horovod},
    offer_bytescheduler{"bytescheduler", false, bytescheduler}, offer_us_byte{"us-byte", false, us_byte},
    offer_p3{"mxnet-p3", false, p3}, offer_dear{"dear", false, dear};

std::vector<Framework> frameworks() {
  std::vector<Framework> all;
  for (const Strategy& strategy : strategies())
    if (!strategy.offer.framework.empty()) all.push_back({strategy.offer.framework, &strategy});
  return all;
}

const Strategy& strategy_of_framework(std::string_view name, const Place& place) {
  return *find_by_name(frameworks(), name, place, "unknown framework '{}'").strategy;
}

std::string settings_of(const Strategy& strategy, const StrategyOptions& options, const Profile& profile) {
  if (strategy.offer.words) return strategy.offer.words(options, profile);
  return fmt::format("buckets from `allreplay plan -s {}`", strategy.name);
}

}  // namespace allreplay
