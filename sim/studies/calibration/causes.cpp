#include "sim/studies/calibration/causes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/inputs/estimate/estimate.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

namespace {

// TCP between nodes of 4 GPUs: the best time per byte of a port, and the start-up of a message less that of RDMA, as
// measured on such nodes (topologies/v100x4-pcie-100gbe.json and -100gbib.json).
constexpr double tcp_rate = 1.54e9, tcp_start_up = 112e-6;

constexpr double much_interference = 1.4;  // the most that was measured (arXiv 2507.03114)
constexpr double much_spread = 0.03;       // of V100 nodes (docs/generated/validation.md, BERT-Large)

std::string times_text(double size) { return fmt::format("{:.4g}", size); }
std::string duration_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.4g} s", seconds);
  return seconds < 1e-3 ? fmt::format("{:.4g} us", seconds * 1e6) : fmt::format("{:.4g} ms", seconds * 1e3);
}

FittedCause by_factor(CauseKind kind, const std::string& name, const std::string& flag, const std::string& value,
                      double most) {
  return {.kind = kind,
          .most = most,
          .name = [name](const std::string& size) { return fmt::format(fmt::runtime(name), size); },
          .text = times_text,
          .word = {flag, value}};
}

FittedCause by_duration(const std::string& name, const std::string& option, double none, double most, double usual) {
  return {.kind = CauseKind::Host,
          .none = none,
          .most = most,
          .usual = usual,
          .name = [name](const std::string& size) { return fmt::format(fmt::runtime(name), size); },
          .text = duration_text,
          .word = {option, "{}", true}};
}

bool is_by_links(const Network& network) {
  return !network.measured && network.table.empty() && network.tables.empty();
}

bool has_groups(const Profile& profile) { return !profile.layers.front().group.empty(); }

void append_tcp(std::vector<FixedCause>& fixed, const Network& network) {
  const auto port = port_bandwidth(network);
  if (!port || !network.alpha_of_nodes.empty() || network.alpha.value_or(0) >= tcp_start_up / 2) return;
  FixedCause tcp{"TCP instead of RDMA",
                 CauseKind::Network,
                 {{"latency", fmt::format("{:g} us", 1e6 * (network.alpha.value_or(0) + tcp_start_up))}}};
  if (*port > tcp_rate) tcp.words.push_back({"bandwidth", fmt::format("{:g} GB/s", tcp_rate / 1e9)});
  fixed.push_back(std::move(tcp));
}

void append_rails(std::vector<FixedCause>& fixed, const Network& network) {
  const std::int64_t rails = network.node                                 ? network.node->rails
                             : network.topology && network.topology->nics ? *network.topology->nics
                                                                          : 1;
  const auto add = [&](std::int64_t left) {
    fixed.push_back(
        {fmt::format("{} of {} ports per node", left, rails), CauseKind::Network, {{"rails", std::to_string(left)}}});
  };
  // A filter of devices leaves those of half of the node, of a part of it, or one.
  for (std::int64_t left = rails; left > 1; add(left)) left = left % 2 == 0 ? left / 2 : 1;
}

}  // namespace

Causes causes_in_network(const Scenario& scenario, bool slower, bool latencies) {
  Causes causes;
  const Network& network = scenario.cluster.network;
  const bool between = nodes_of(network, scenario.workers) > 1;
  const bool inside = node_workers_of(network) > 1 && scenario.workers > 1 && is_by_links(network);
  if (between && slower) {
    causes.fixed.push_back({"half the bandwidth between nodes", CauseKind::Network, {{"bandwidth", "x0.5"}}});
    if (is_by_links(network)) append_rails(causes.fixed, network);
    if (is_by_links(network)) append_tcp(causes.fixed, network);
  }
  if (slower && network.nccl && !network.nccl->only && collective_named(scenario) == "nccl")
    for (const auto& [protocol, name] : {std::pair("simple", "Simple"), {"ll", "LL"}})
      causes.fixed.push_back(
          {fmt::format("NCCL: only protocol {}", name), CauseKind::Network, {{"protocol", protocol}}});
  const double most = slower ? 0.01 : 16;
  if (between)
    causes.fitted.push_back(by_factor(CauseKind::Network, "bandwidth between nodes x{}", "bandwidth", "x{}", most));
  if (inside)
    causes.fitted.push_back(
        by_factor(CauseKind::Network, "bandwidth inside nodes x{}", "inner-bandwidth", "x{}", most));
  if (!latencies) return causes;
  if (between)
    causes.fitted.push_back(
        by_factor(CauseKind::Network, "latency between nodes x{}", "latency", "x{}", slower ? 100 : 0.1));
  if (inside)
    causes.fitted.push_back(
        by_factor(CauseKind::Network, "latency inside nodes x{}", "inner-latency", "x{}", slower ? 100 : 0.1));
  return causes;
}

Causes causes_of_slowness(const Outcome& expected, double measured_s) {
  const Scenario& scenario = expected.scenario;
  const Profile& profile = scenario.profile;
  const Stragglers& uneven = scenario.stragglers;
  Causes causes = causes_in_network(scenario, true);
  std::vector<FixedCause>& fixed = causes.fixed;
  std::vector<FittedCause>& fitted = causes.fitted;
  const bool several = scenario.workers > 1;
  if (several && uneven.slow.empty() && !uneven.jitter)
    fitted.insert(fitted.begin(),
                  by_factor(CauseKind::Worker, "one worker {} times as slow", "stragglers", "0:{}", 10));
  if (several && (!uneven.spread || uneven.spread->sigma < much_spread / 2))
    fixed.push_back({"GPUs that differ by 3 %", CauseKind::Worker, {{"spread", fmt::format("{}", much_spread)}}});
  const auto& now = scenario.cluster.interference;
  if (several && (!now || now->compute < much_interference - 0.1))
    fixed.push_back({fmt::format("communication slows computing {:g}x", much_interference),
                     CauseKind::Computing,
                     {{"interference", fmt::format("{:g}", much_interference)}}});
  const auto& eager = choose_by_name(host_figures(), "eager", {}, "unknown '{}'").floors;
  const double block = to_seconds(eager.block_forward), step = to_seconds(eager.step);
  if (!profile.host.any()) {
    FixedCause host{"host: eager launches", CauseKind::Host, {{"host_step", duration_text(step), true}}};
    if (has_groups(profile)) host.words.push_back({"host_block", duration_text(block), true});
    fixed.push_back(std::move(host));
  }
  const double least = 1e-5;
  fitted.push_back(by_duration("host: {} for each step", "host_step", std::max(least, to_seconds(profile.host.step)),
                               measured_s, step));
  if (has_groups(profile))
    fitted.push_back(by_duration("host: {} to launch a block", "host_block",
                                 std::max(least, to_seconds(profile.host.block_forward)), measured_s, block));
  const bool narrow = profile.precision == "fp8" || profile.precision == "fp4";
  if (profile.precision != "fp32")
    fixed.push_back({fmt::format("computing in {} instead of {}", narrow ? "bf16" : "fp32", profile.precision),
                     CauseKind::Setting,
                     {{"precision", narrow ? "bf16" : "fp32"}}});
  if (profile.recompute.empty() && has_groups(profile))
    fixed.push_back({"activations recomputed", CauseKind::Setting, {{"recompute", "full"}}});
  const Tensor& tensor = profile.tensors.front();
  if (several && tensor.bytes == 2 * tensor.elements && scenario.options.get("gradient_dtype") != "fp32")
    fixed.push_back({"gradients sent in fp32", CauseKind::Setting, {{"gradient_dtype", "fp32", true}}});
  return causes;
}

Causes causes_of_speed(const Outcome& expected, const Request& request) {
  const Scenario& scenario = expected.scenario;
  const Profile& profile = scenario.profile;
  Causes causes = causes_in_network(scenario, false);
  std::vector<FixedCause>& fixed = causes.fixed;
  const auto& now = scenario.cluster.interference;
  if (now && now->compute > 1)
    fixed.push_back({"communication does not slow computing", CauseKind::Computing, {{"interference", "1"}}});
  if (scenario.stragglers.any())
    fixed.push_back({"GPUs all equally fast", CauseKind::Worker, {{"stragglers", "none"}}});
  if (profile.host.any())
    fixed.push_back({"host: no time", CauseKind::Host, {{"host_block", "0 s", true}, {"host_step", "0 s", true}}});
  const std::string faster = profile.precision == "fp32" ? "tf32" : profile.precision == "fp8" ? "fp4" : "fp8";
  fixed.push_back({fmt::format("computing in {} instead of {}", faster, profile.precision),
                   CauseKind::Setting,
                   {{"precision", faster}}});
  if (!profile.recompute.empty() && !request.model.empty())
    fixed.push_back({"activations not recomputed", CauseKind::Setting, {{"recompute", "none"}}});
  const Tensor& tensor = profile.tensors.front();
  if (scenario.workers > 1 && tensor.bytes == 4 * tensor.elements)
    fixed.push_back({"gradients sent in bf16", CauseKind::Setting, {{"gradient_dtype", "bf16", true}}});
  return causes;
}

void apply_words(Request& request, const std::vector<CauseWord>& words) {
  for (const CauseWord& word : words)
    (word.is_option ? option_change(word.name, word.value) : flag_change(word.name, word.value))(request);
}

std::vector<std::string> flags_of(const std::vector<CauseWord>& words) {
  std::vector<std::string> flags;
  for (const CauseWord& word : words) {
    flags.push_back(word.is_option ? "--option" : "--" + word.name);
    flags.push_back(word.is_option ? word.name + "=" + word.value : word.value);
  }
  return flags;
}

}  // namespace allreplay
