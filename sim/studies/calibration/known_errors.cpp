#include "sim/studies/calibration/known_errors.hpp"

#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/estimate/estimate.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/replay/training/parallel_setup.hpp"

namespace allreplay {

namespace {

constexpr CollectiveErrors collective_rows[] = {
    {"Alps, 4, 128 and 256: preset",
     90,
     {{{0, 0.139, 0.369}, {0, 0.139, 0.249}, {0, 0.128, 0.270}, {0, 0.085, 0.250}}}},
    {"Alps, all but 4: data sheets",
     178,
     {{{0, 0.258, 0.722}, {0, 0.793, 0.875}, {0, 0.419, 0.641}, {0, 0.072, 0.478}}}},
};

ModelSplit split_of_model(const Scenario& scenario, const ShardingConfig& sharding) {
  const Degrees degrees = degrees_of(scenario);
  // The times of experts are the least certain part of such a model, whatever its layout.
  if (degrees.ep > 1 || scenario.profile->has_experts()) return ModelSplit::Experts;
  if (degrees.pp * degrees.tp * degrees.cp > 1) return ModelSplit::Hybrid;
  return sharding.zero > 0 || scenario.strategy->shards() ? ModelSplit::Sharded : ModelSplit::Replicated;
}

TimesFrom origin_of_times(const Profile& profile) {
  if (from_data_sheets(profile)) return TimesFrom::DataSheets;
  return profile.origin == Origin::Estimated || profile.origin == Origin::Reconstructed ? TimesFrom::Speed
                                                                                        : TimesFrom::Layers;
}

Reach reach_of(const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  if (nodes_of(network, scenario.workers) < 2) return Reach::OneNode;
  const double port = port_bandwidth(network).value_or(1.25e9);  // measured as a whole, as 10 Gbit/s Ethernet was
  return port > 2e9 ? Reach::Fast : port > 0.2e9 ? Reach::TenGigabit : Reach::Gigabit;
}

bool is_narrow_precision(const Profile& profile) { return profile.precision == "fp8" || profile.precision == "fp4"; }

// True if `name` is one of these devices: "H100" is "NVIDIA H100 80GB", "GH200" is not "H200".
bool is_device(std::string_view name, std::string_view device) {
  const std::string all = lower_case(name), one = lower_case(device);
  const std::size_t at = all.find(one);
  return at != std::string::npos && (at == 0 || !std::isalpha(static_cast<unsigned char>(all[at - 1])));
}

}  // namespace

double quotient_at(double error, bool of_times) { return of_times && error < 1 ? 1 / (1 - error) : 1 + error; }

std::span<const KnownError> known_errors() {
  using enum ModelSplit;
  using enum TimesFrom;
  using enum Reach;
  constexpr bool times = true, speeds = false;
  static constexpr KnownError rows[] = {
      {"MPT on A100, 40 GB, nothing known",
       {Sharded, DataSheets, Fast, "A100"},
       times,
       {42, 0.065, 0.135},
       ErrorQuantiles{20, 0.091, 0.147}},
      {"MPT on H100, nothing known",
       {Sharded, DataSheets, Fast, "H100"},
       times,
       {77, 0.051, 0.149},
       ErrorQuantiles{43, 0.070, 0.157}},
      {"A100, one node: GPT's iterations (vTrain), from data sheets",
       {Replicated, DataSheets, OneNode, "A100"},
       times,
       {120, 0.349, 0.583}},
      {"the same, one rate of each micro-batch known",
       {Replicated, Speed, OneNode, "A100"},
       times,
       {104, 0.005, 0.009}},
      {"BERT-Large in one node: phase 1 (128 tokens), by phase 2 (512 tokens)",
       {Replicated, Speed, OneNode, ""},
       speeds,
       {11, 0.015, 0.043},
       ErrorQuantiles{4, 0.037, 0.044}},
      {"FSDP on MareNostrum 5, H100: one node known",
       {Sharded, Speed, Fast, "H100"},
       speeds,
       {46, 0.029, 0.102},
       ErrorQuantiles{36, 0.035, 0.105}},
      {"FSDP on Leonardo, A100: the smallest run known", {Sharded, Speed, Fast, "A100"}, speeds, {42, 0.055, 0.641}},
      {"MLPerf Training, 8 to 2,048 GPUs: rate of one node",
       {Replicated, Speed, Fast, ""},
       times,
       {21, 0.056, 0.160},
       ErrorQuantiles{15, 0.077, 0.208}},
      {"ddl-benchmarks, ResNet-50: constants from BSP and ByteScheduler",
       {Replicated, Speed, TenGigabit, ""},
       speeds,
       {54, 0.017, 0.123},
       ErrorQuantiles{22, 0.072, 0.166}},
      {"K80, 10 Gbit/s Ethernet: MG-WFBP's speed-ups (the *OSU table*)",
       {Replicated, Layers, TenGigabit, "K80"},
       speeds,
       {18, 0.075, 0.163},
       ErrorQuantiles{13, 0.088, 0.236}},
      {"P102-100, 1 Gbit/s Ethernet: gTop-k's efficiencies",
       {Replicated, Layers, Gigabit, "P102-100"},
       speeds,
       {48, 0.571, 5.594}},
      {"OPT-350M on 4 to 128 GH200: layers measured there, nothing fitted",
       {Hybrid, Layers, Fast, "GH200"},
       times,
       {15, 0.103, 0.442},
       std::nullopt,
       "replayed"},
      {"GPT on 2 to 8 A100: one rate of each of 240 settings known",
       {Hybrid, Speed, OneNode, "A100"},
       times,
       {360, 0.007, 0.055},
       std::nullopt,
       "replayed"},
      {"The same 600 jobs: one row known, and how long the host launches a block",
       {Hybrid, Speed, OneNode, "A100"},
       times,
       {599, 0.079, 0.188},
       std::nullopt,
       "replayed, with the host's floor"},
      {"Megatron-Bridge and MLPerf in FP8 and FP4: another job's rate known",
       {Hybrid, Speed, Fast, ""},
       times,
       {14, 0.054, 0.207},
       std::nullopt,
       "replayed",
       true},
      {"LLaMA-3 on B200 and Megatron-LM's 22B and 530B on A100: nothing known",
       {Hybrid, DataSheets, Fast, ""},
       times,
       {28, 0.072, 0.165},
       std::nullopt,
       "replayed"},
      // the page has the worst of 14 instead of the 90th percentile
      {"Qwen3's mixtures of experts with Megatron-Bridge: nothing known",
       {Experts, DataSheets, Fast, ""},
       times,
       {14, 0.141, 0.620},
       std::nullopt,
       "replayed",
       true},
  };
  return rows;
}

std::span<const CollectiveErrors> collective_errors() { return collective_rows; }

namespace {

NearestError nearest_to(const Scenario& scenario, const ShardingConfig& sharding) {
  const Profile& profile = scenario.profile;
  const ModelSplit split = split_of_model(scenario, sharding);
  const TimesFrom origin = origin_of_times(profile);
  const Reach reach = reach_of(scenario);
  const bool narrow = is_narrow_precision(profile);
  const auto distance = [&](const KnownError& row) {
    return std::tuple(std::abs(static_cast<int>(row.setting.split) - static_cast<int>(split)), row.narrow != narrow,
                      std::abs(static_cast<int>(row.setting.times) - static_cast<int>(origin)),
                      std::abs(static_cast<int>(row.setting.reach) - static_cast<int>(reach)),
                      !row.setting.device.empty() && !is_device(profile.device, row.setting.device));
  };
  const auto nearest =
      std::min_element(known_errors().begin(), known_errors().end(),
                       [&](const KnownError& a, const KnownError& b) { return distance(a) < distance(b); });
  NearestError found{&*nearest};
  const auto differs = [&](bool different, std::string_view what) {
    if (different) found.differs.emplace_back(what);
  };
  differs(nearest->setting.split != split, name_of(model_splits, split));
  differs(nearest->narrow != narrow, narrow ? "FP8 or FP4" : "no FP8");
  differs(nearest->setting.times != origin, name_of(times_from, origin));
  differs(nearest->setting.reach != reach, name_of(network_reaches, reach));
  differs(!nearest->setting.device.empty() && !is_device(profile.device, nearest->setting.device), profile.device);
  return found;
}

}  // namespace

NearestError nearest_error(const Scenario& scenario) {
  return nearest_to(scenario, scenario.options.strategy.sharding);
}

NearestError nearest_error(const Outcome& outcome) {
  NearestError found = nearest_to(outcome.scenario, outcome.result.plan.sharding);
  const Metrics& metrics = outcome.result.metrics;
  const double missed = 1 - null_models(metrics).no_communication / metrics.iteration_s;
  found.matters = found.known->matters && missed > communication_matters;
  return found;
}

const CollectiveErrors& nearest_collective_errors(const Network& network, std::int64_t workers) {
  const bool uncorrected = network.nccl && !network.nccl->rendezvous && nodes_of(network, workers) > 1;
  return collective_rows[uncorrected ? 1 : 0];
}

}  // namespace allreplay
