// The arguments of `estimate`, and the request that they make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/inputs/estimate/estimate.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/studies/calibration/known_speed.hpp"

namespace allreplay {

struct EstimateArguments {
  std::string model, from, device, from_device, batch, seq, precision, recompute, optimizer, head, host, out;
  std::string mfu, tokens_per_second, samples_per_second, efficiency;
  std::string family, layers, hidden, heads, kv_heads, ffn, vocab;
  std::string experts, top_k, expert_ffn, shared_ffn, dense_layers, dense_ffn, imbalance;
  std::string lora, lora_targets, freeze;
  ScenarioArguments setting;
  std::string strategy, plan;
  bool plain = false, force = false, sequence_parallel = false;
};

constexpr std::int64_t most_tokens = 10'000'000;

/// The value of an option, at least 1.
std::int64_t whole_number(const std::string& text, const std::string& option, std::int64_t limit = 1'000'000'000);

/// Throws InputError if a required option is missing.
void require_given(const std::string& text, const std::string& option, const std::string& right);

/// Throws InputError if an option that describes a model is combined with --from, which rescales a profile.
void refuse_options_with_from(const EstimateArguments& arguments);

/// The figures that --host names; null if it is not given.
const HostFigures* host_of(const EstimateArguments& arguments);

/// The model, the device and how they compute.
EstimateRequest estimate_request(Context& context, const EstimateArguments& arguments);

/// The known speeds of one GPU, by the batch at which each was measured.
std::vector<KnownSpeed> known_speeds(const EstimateArguments& arguments, const EstimateRequest& request);

/// The setting in which that speed was measured.
Request setting_of_estimate(const EstimateArguments& arguments);

/// Changes a request to one GPU, which sends nothing, whatever the plan, even if it holds only a part of the model.
Request alone_on_a_gpu(Request request = {});

}  // namespace allreplay
