#include "sim/studies/experiment/what_if_questions.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/cluster_words.hpp"

namespace allreplay {

namespace {

WhatIfQuestion option(WhatIfKind kind, const std::string& what, const std::string& name, const std::string& value) {
  return {kind, what, option_change(name, value)};
}

WhatIfQuestion change(WhatIfKind kind, const std::string& what, const std::string& name, const std::string& value) {
  return {kind, what, flag_change(name, value)};
}

// Changes the strategy and its ZeRO stage. Other given options stay, and may rule the strategy out.
WhatIfQuestion strategy(WhatIfKind kind, const std::string& what, const std::string& name,
                        const std::string& zero = "") {
  return {kind, what, [=](Request& request) {
            request.strategy = name;
            set_option(request, "zero", zero);
          }};
}

// The fastest port (ConnectX-8, 800 Gbit/s) and the largest node (HGX boards, 8 GPUs) on the market.
constexpr double fastest_port = 1e11;  // bytes per second
constexpr std::int64_t largest_node = 8;

void append_network(std::vector<WhatIfQuestion>& all, const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  for (const int times : {2, 4})
    if (port_bandwidth(network).value_or(0) * times <= 1.001 * fastest_port) {
      all.push_back(change(WhatIfKind::Bandwidth, fmt::format("network bandwidth x{}", times), "bandwidth",
                           fmt::format("x{}", times)));
      all.back().is_level = times == 2;
    }
  all.push_back(change(WhatIfKind::Bandwidth, "network bandwidth /2", "bandwidth", "x0.5"));
  all.push_back(change(WhatIfKind::Latency, "network latency /2", "latency", "x0.5"));
  if (network.topology && !network.topology->placement.packed())
    all.push_back(change(WhatIfKind::Placement, "ranks packed", "placement", "packed"));
  const std::int64_t workers = node_workers_of(network);
  const bool by_links = !network.measured && network.table.empty() && network.tables.empty();
  if (workers == 1 || !by_links) return;
  all.push_back(change(WhatIfKind::Inner, "bandwidth inside nodes x2", "inner-bandwidth", "x2"));
  all.back().is_level = true;
  if (2 * workers <= std::min(scenario.workers, largest_node))
    all.push_back(change(WhatIfKind::Node, fmt::format("nodes of {} instead of {}", 2 * workers, workers), "node",
                         std::to_string(2 * workers)));
  const std::optional<std::int64_t> rails = network.node       ? std::optional(network.node->rails)
                                            : network.topology ? network.topology->nics
                                                               : std::nullopt;
  if (rails && 2 * *rails <= workers)
    all.push_back(change(WhatIfKind::Rails, fmt::format("{} ports per node instead of {}", 2 * *rails, *rails), "rails",
                         std::to_string(2 * *rails)));
}

void append_training(std::vector<WhatIfQuestion>& all, const Outcome& base) {
  const Scenario& scenario = base.scenario;
  if (scenario.stragglers.any())
    all.push_back(change(WhatIfKind::Stragglers, "half the stragglers' slowness", "stragglers", "x0.5"));
  const HostFloors& host = scenario.profile->host;
  if (host.of_blocks())
    all.push_back(option(WhatIfKind::HostBlock, "no host floor (CUDA graphs, compilation)", "host_block", "0 s"));
  if (host.step > Time(0))
    all.push_back(option(WhatIfKind::HostStep, "half the step's overhead", "host_step", write_duration(host.step / 2)));
  if (scenario.profile->bytes() > 2 * scenario.profile->elements())
    all.push_back(option(WhatIfKind::Dtype, "fp16 gradients", "gradient_dtype", "fp16"));
  const std::int64_t batches = base.result.plan.sharding.accumulate;
  for (const std::int64_t more : {2 * batches, 4 * batches})
    if (!scenario.options.global_batch)
      all.push_back(option(WhatIfKind::Accumulate, fmt::format("{} micro-batches instead of {}", more, batches),
                           "accumulate", std::to_string(more)));
  const StrategyOptions& options = scenario.options.strategy;
  if (scenario.strategy->name == "fsdp2" && !scenario.options.parallel.pipeline() && batches > 1 &&
      options.sharding.shard_group > 0 && options.fsdp.reduce == Reduce::Every)
    all.push_back(
        option(WhatIfKind::Reduce, "all-reduces among groups in the last micro-batch only", "reduce", "replicas-last"));
  if (scenario.strategy->name == "megatron-fsdp" && options.sharding.shard_group > 0 &&
      !options.megatron_fsdp.outer_optimizer)
    all.push_back(option(WhatIfKind::Reduce, "the optimizer shared among groups as well", "outer", "optim"));
  if (scenario.profile->batch_size)
    all.push_back(
        change(WhatIfKind::Batch,
               fmt::format("batch {} instead of {}", 2 * *scenario.profile->batch_size, *scenario.profile->batch_size),
               "batch", "x2"));
  all.push_back({WhatIfKind::Workers, fmt::format("{} workers instead of {}", 2 * scenario.workers, scenario.workers),
                 [more = 2 * scenario.workers](Request& request) {
                   request.workers = more;
                   if (!request.cluster_words.empty()) make_room(request.cluster_words, more);
                 }});
}

// Shards within each node only (PyTorch's hybrid sharding), which keeps the traffic of shards inside nodes but needs
// more memory; or, if there are groups, among all workers.
void append_groups(std::vector<WhatIfQuestion>& all, const Scenario& scenario) {
  const ShardingConfig& sharding = scenario.options.strategy.sharding;
  if (scenario.given || scenario.options.parallel.pipeline() || sharding.has_expert_groups() || !takes_groups(scenario))
    return;
  const Network& network = scenario.cluster.network;
  const std::int64_t now = sharding.shard_group, node = node_workers_of(network), tp = degrees_of(scenario).tp;
  const std::string before = now > 0 ? fmt::format(" instead of {}", now) : "";
  if (const std::int64_t group = node / tp; nodes_of(network, scenario.workers) > 1 && node % tp == 0 && group > 1 &&
                                            group != now && scenario.workers % node == 0)
    all.push_back(option(WhatIfKind::Group, fmt::format("shard groups of {} (one node){}", group, before),
                         "shard_group", std::to_string(group)));
  if (now > 0 && now != scenario.workers / tp)
    all.push_back(option(WhatIfKind::Group, fmt::format("shards among all workers, not in groups of {}", now),
                         "shard_group", "0"));
}

// Changes the number of pipeline ranks, with the same samples per iteration.
void append_degree(std::vector<WhatIfQuestion>& all, const Outcome& base, std::int64_t ranks) {
  const std::int64_t now = base.scenario.options.parallel.pp, batches = base.result.plan.sharding.accumulate;
  if (batches * ranks % now != 0) return;
  const bool follows = base.scenario.options.global_batch.has_value();
  all.push_back({WhatIfKind::Degree, fmt::format("pp {} instead of {}", ranks, now),
                 [=, more = batches * ranks / now](Request& request) {
                   set_option(request, "pp", std::to_string(ranks));
                   if (!follows) set_option(request, "accumulate", std::to_string(more));
                 }});
}

// Changes the size of the groups of experts, unless the profile fixes it. Each worker keeps its experts, so that the
// model has more or fewer of them.
void append_experts(std::vector<WhatIfQuestion>& all, const Outcome& base) {
  const Degrees degrees = degrees_of(base.scenario);
  const auto& taken = base.scenario.profile->degrees;
  if (degrees.ep == 1 || base.scenario.given || (taken && taken->ep)) return;
  std::vector<std::int64_t> sizes{2 * degrees.ep};
  if (degrees.ep % 2 == 0) sizes.push_back(degrees.ep / 2);
  for (const std::int64_t workers : sizes)
    if (degrees.gradient_workers() % workers == 0)
      all.push_back(option(WhatIfKind::Degree,
                           fmt::format("ep {} instead of {}, with as many experts per worker", workers, degrees.ep),
                           "ep", std::to_string(workers)));
}

void append_parallelism(std::vector<WhatIfQuestion>& all, const Outcome& base) {
  const Profile& profile = base.scenario.profile;
  const ParallelOptions& parallel = base.scenario.options.parallel;
  const auto hands_on = [](const Layer& layer) { return layer.output_bytes.has_value(); };
  if (!parallel.given && (parallel.p2p_bytes || std::any_of(profile.layers.begin(), profile.layers.end(), hands_on))) {
    append_degree(all, base, 2 * parallel.pp);
    if (parallel.pp % 2 == 0) append_degree(all, base, parallel.pp / 2);
  }
  append_experts(all, base);
  const bool pairs = parallel.schedule == "interleaved" || parallel.schedule == "dualpipe-v";
  if (parallel.pipeline() && parallel.ep > 1 && !parallel.given && pairs && parallel.p2p == P2p::Overlap &&
      base.scenario.options.get("ep_overlap") != "true")
    all.push_back(option(WhatIfKind::Exchange, "token exchange that overlaps", "ep_overlap", "true"));
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1", "zbv"})
    if (parallel.pipeline() && !parallel.given && parallel.schedule != schedule)
      all.push_back({WhatIfKind::Schedule, fmt::format("schedule {} instead of {}", schedule, parallel.schedule),
                     [=](Request& request) {
                       set_option(request, "schedule", schedule);
                       for (const char* own : {"chunks", "p2p", "microbatch_group"}) set_option(request, own, "");
                     }});
  if (!profile.layers.front().group.empty() && profile.has_activations())
    all.push_back(change(WhatIfKind::Recompute, "units recomputed", "recompute", "full"));
}

void append_strategies(std::vector<WhatIfQuestion>& all, const Outcome& base) {
  const std::string_view now = base.scenario.strategy->name;
  const std::int64_t stage = base.result.plan.sharding.zero;
  if (now != "ddp" || stage != 0) all.push_back(strategy(WhatIfKind::Strategy, "DDP", "ddp"));
  if (now != "ddp" || stage != 1)
    all.push_back(strategy(WhatIfKind::Strategy, "DDP with a sharded optimizer (ZeRO-1)", "ddp", "1"));
  if (now != "fsdp2") all.push_back(strategy(WhatIfKind::Strategy, "FSDP", "fsdp2"));
  if (now != "best")
    all.push_back(
        strategy(WhatIfKind::Best,
                 (base.scenario.options.parallel.pipeline() ? "the best data-parallel strategy" : "the best schedule") +
                     (stage > 0 ? fmt::format(" of ZeRO stage {}", stage) : ""),
                 "best", stage > 0 ? std::to_string(stage) : ""));
}

}  // namespace

std::vector<WhatIfQuestion> what_if_questions(const Outcome& base) {
  std::vector<WhatIfQuestion> all;
  append_network(all, base.scenario);
  append_training(all, base);
  append_groups(all, base.scenario);
  append_parallelism(all, base);
  append_strategies(all, base);
  return all;
}

void set_strategy(Request& request, const Strategy& strategy) {
  request.strategy.value = strategy.name;
  if (strategy.shards()) set_option(request, "zero", "");
}

std::string limit_of(WhatIfKind kind, const Network& network) {
  if (kind != WhatIfKind::Inner) return fmt::format("a port's {:.4g} GB/s", port_bandwidth(network).value_or(0) / 1e9);
  const std::optional<double> beta = network.node ? network.node->beta : std::nullopt;
  const double inside = beta && *beta > 0 ? 1 / *beta : network.topology ? network.topology->inner.bandwidth : 0;
  return fmt::format("inside nodes {:.4g} GB/s", inside / 1e9);
}

}  // namespace allreplay
