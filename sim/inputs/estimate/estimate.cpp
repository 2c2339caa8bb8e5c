#include "sim/inputs/estimate/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace allreplay {

namespace {

// A block's launches: fitted to GPTs of width 1024 of Megatron-DeepSpeed on A100 (vTrain), where the backward pass with
// the recomputed forward pass takes three times as long as that. A step: MLPerf's detectors, in PyTorch.
constexpr HostFigures host_rows[] = {
    {"none", {}, ""},
    {"eager",
     {std::chrono::microseconds(800), std::chrono::microseconds(1600), std::chrono::milliseconds(8)},
     "PyTorch without CUDA graphs: blocks by vTrain (Megatron-DeepSpeed, A100), steps by MLPerf's detectors"}};

// The ends of the sources of profiles that no speed was given for.
constexpr const char *by_given_efficiency = "as given", *by_trainings_on_it = "as fitted to trainings on it",
                     *by_usual_efficiency = "the usual for it";

struct Seconds {
  std::vector<KernelSeconds> forward, backward, weights;
  KernelSeconds update;

  double total(const Efficiency& efficiency) const {
    double sum = update.at(efficiency);
    for (std::size_t i = 0; i < forward.size(); ++i) sum += forward[i].at(efficiency) + backward[i].at(efficiency);
    return sum;
  }
};

// The blocks that have a backward pass: others are not recomputed.
std::set<std::int64_t> recomputed_blocks(const EstimateRequest& request) {
  std::set<std::int64_t> blocks;
  for (const ComputationLayer& layer : request.work.layers)
    if (layer.block >= 0 && layer.has_backward() && request.recompute != Recompute::None) blocks.insert(layer.block);
  return blocks;
}

Seconds roofline(const EstimateRequest& request, const Rates& rates) {
  Seconds seconds;
  const std::set<std::int64_t> blocks = recomputed_blocks(request);
  for (const ComputationLayer& layer : request.work.layers) {
    const LayerSeconds one = layer_seconds(layer, rates, request.batch);
    seconds.forward.push_back(one.forward);
    seconds.backward.push_back(one.backward);
    if (blocks.contains(layer.block))
      seconds.backward.back() += request.recompute == Recompute::Full ? one.forward : one.passes;
    seconds.weights.push_back(one.weights);
  }
  seconds.update =
      update_seconds(rates, static_cast<double>(request.work.trained_parameters()), request.work.optimizer);
  return seconds;
}

// The bytes that each layer keeps for the mini-batch.
std::vector<Bytes> activations(const EstimateRequest& request, double element) {
  const Computation& work = request.work;
  const auto bytes = [&](const Kept& kept) {
    return static_cast<double>(request.batch) * (kept.elements * element + kept.bytes);
  };
  const std::set<std::int64_t> blocks = recomputed_blocks(request);
  std::vector<double> kept;
  std::int64_t block = -1;
  std::size_t last_block = 0;  // its first layer
  double of_last = 0, after = 0;
  for (const ComputationLayer& layer : work.layers) {
    const bool recomputed = blocks.contains(layer.block);
    const bool begins = layer.block >= 0 && layer.block != block;
    block = layer.block;
    if (begins) last_block = kept.size(), of_last = 0;
    if (layer.block >= 0)
      of_last += bytes(layer.kept), after = 0;
    else
      after += bytes(layer.kept);
    double own = bytes(layer.kept);
    if (recomputed) own = request.recompute == Recompute::Selective ? bytes(layer.kept_selective) : 0;
    if (recomputed && begins) own += bytes({work.block_input, 0});
    kept.push_back(own);
  }
  // While a block is recomputed, it holds all that it would have kept; by then the layers after the blocks have freed
  // their memory. The difference, if positive, is added to the last block, so that the peak is right.
  if (request.recompute == Recompute::Full && of_last > after) kept[last_block] += of_last - after;
  std::vector<Bytes> whole;
  for (const double one : kept) whole.push_back(std::llround(one));
  return whole;
}

bool has_blocks(const Computation& work) {
  return std::any_of(work.layers.begin(), work.layers.end(),
                     [](const ComputationLayer& layer) { return layer.block >= 0; });
}

// The collectives of a layer: forward, again in the backward pass if recomputed, and backward.
std::vector<LayerCollective> collectives(const EstimateRequest& request, const ComputationLayer& layer,
                                         double element) {
  std::vector<LayerCollective> all;
  const auto add = [&](const GroupCollective& one, bool backward) {
    const double bytes = static_cast<double>(request.batch) * (one.elements * element + one.bytes);
    all.push_back({one.op, one.group, std::llround(bytes), backward});
  };
  for (const GroupCollective& one : layer.collectives)
    if (!one.backward) add(one, false);
  if (!layer.has_backward()) return all;
  for (const GroupCollective& one : layer.collectives)
    if (!one.backward && layer.block >= 0 &&
        (request.recompute == Recompute::Full || (request.recompute == Recompute::Selective && one.of_input)))
      add(one, true);
  for (const GroupCollective& one : layer.collectives)
    if (one.backward) add(one, true);
  return all;
}

void require_blocks(const EstimateRequest& request) {
  if (has_blocks(request.work)) return;
  if (request.recompute != Recompute::None)
    throw InputError(estimate_option("--recompute"), fmt::format("{} has no blocks to recompute", request.work.name),
                     "none, or a transformer");
  if (is_narrow(request.precision))
    throw InputError(
        estimate_option("--precision"),
        fmt::format("only products of blocks run in {}, and {} has none", request.precision, request.work.name),
        "bf16, or a transformer");
}

// Rejects times and sizes above the limits of a profile.
void require_possible(const EstimateRequest& request, double total, double element) {
  double most = total / 1e6;  // the largest value relative to its limit
  for (const ComputationLayer& layer : request.work.layers)
    most = std::max(most,
                    static_cast<double>(request.batch) * (layer.kept.elements * element + layer.kept.bytes) / 0x1p52);
  if (most > 1)
    throw InputError(estimate_option("--batch"), fmt::format("{} samples take {:.3g} s", request.batch, total),
                     "fewer or shorter samples: at most 10^6 s and 4 PiB per layer");
}

}  // namespace

std::span<const HostFigures> host_figures() { return host_rows; }

HostFloors floors_of(const HostFigures& figures, bool recomputes) {
  HostFloors floors = figures.floors;
  if (recomputes) floors.block_backward = add(floors.block_backward, floors.block_forward);
  return floors;
}

SourceLocation estimate_option(const std::string& name) { return {"command line", name}; }

std::string source_of(const Device& device, const Efficiency& efficiency, const std::string& by) {
  const bool alike = efficiency.products == efficiency.attention;
  return fmt::format("roofline of {} at {:.0f} %{}, {}", device.name, 100 * efficiency.products,
                     alike ? "" : fmt::format(" (attention {:.0f} %)", 100 * efficiency.attention), by);
}

bool from_data_sheets(const Profile& profile) {
  return profile.origin == Origin::Estimated &&
         (profile.source.ends_with(by_trainings_on_it) || profile.source.ends_with(by_usual_efficiency));
}

Estimate estimate(const EstimateRequest& request) {
  require_blocks(request);
  const Rates rates = rates_of(request.device, request.precision, estimate_option("--precision"));
  const Seconds seconds = roofline(request, rates);
  Estimate made;
  made.model_parameters = request.work.model_parameters;
  made.active_parameters = request.work.active_parameters;
  const Efficiency& efficiency = made.efficiency = request.efficiency.value_or(rates.efficiency);

  Profile& profile = made.profile;
  profile.model = request.work.name;
  profile.device = request.device.name;
  profile.framework = "none";
  profile.precision = request.precision;
  profile.origin = Origin::Estimated;
  profile.source = source_of(request.device, efficiency,
                             request.efficiency                                         ? by_given_efficiency
                             : request.device.efficiency && request.precision != "fp32" ? by_trainings_on_it
                                                                                        : by_usual_efficiency);
  profile.batch_size = request.batch;
  if (request.host) profile.host = floors_of(*request.host, request.recompute == Recompute::Full);
  profile.update = to_time(seconds.update.at(efficiency));
  if (request.work.model_flops > 0) profile.flops_per_sample = request.work.model_flops;
  if (tokens_of(request.work.input) > 0) profile.tokens_per_sample = request.work.tokens;
  if (request.recompute != Recompute::None)
    profile.recompute = std::string(name_of(recompute_rules, request.recompute));
  const bool experts = request.work.has_experts();
  if (experts || request.work.tp > 1 || request.work.cp > 1)
    profile.degrees = {request.work.tp, request.work.cp, experts ? std::optional(request.work.ep) : std::nullopt};
  require_possible(request, seconds.total(efficiency), rates.element);
  const std::vector<Bytes> kept = activations(request, rates.element);
  const bool blocks = has_blocks(request.work);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ComputationLayer& layer = request.work.layers[i];
    for (const ModelTensor& tensor : layer.model.tensors)
      profile.tensors.push_back({tensor.name, tensor.elements, tensor.elements * static_cast<Bytes>(rates.element),
                                 static_cast<LayerId>(i), tensor.shape, tensor.fused});
    profile.layers.push_back({.name = layer.model.name,
                              .forward = to_time(seconds.forward[i].at(efficiency)),
                              .backward = to_time(seconds.backward[i].at(efficiency)),
                              .group = layer.group,
                              .activation_bytes = kept[i],
                              .collectives = collectives(request, layer, rates.element),
                              .expert = layer.expert,
                              .frozen = layer.frozen && !layer.model.tensors.empty()});
    made.starts.push_back(
        {to_time(seconds.forward[i].starts), to_time(seconds.backward[i].starts), to_time(seconds.weights[i].starts)});
    if (!blocks) continue;
    Layer& last = profile.layers.back();
    last.backward_weight = std::min(to_time(seconds.weights[i].at(efficiency)), last.backward);
    if (layer.handed_on > 0)
      last.output_bytes = std::llround(static_cast<double>(request.batch) * layer.handed_on * rates.element);
  }
  return made;
}

}  // namespace allreplay
