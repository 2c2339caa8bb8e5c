#include "sim/studies/experiment/profile_degrees.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace allreplay {

namespace {

using Among = LayerCollective::Among;

// True if a layer of the profile communicates in such groups, so that the profile has the times of one member.
bool communicates_among(const Profile& profile, Among group) {
  return std::any_of(profile.layers.begin(), profile.layers.end(), [&](const Layer& layer) {
    return std::any_of(layer.collectives.begin(), layer.collectives.end(),
                       [&](const LayerCollective& one) { return one.group == group; });
  });
}

// Returns "--tp 8 --cp 2 --ep 4", without degrees of 1.
std::string flags_of(const ParallelOptions& parallel) {
  std::string flags = parallel.tp > 1 ? fmt::format("--tp {}", parallel.tp) : "";
  for (const auto& [name, degree] : {std::pair("cp", parallel.cp), {"ep", parallel.ep}})
    if (degree > 1) flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", name, degree);
  return flags;
}

// Returns where the degree was given: an option, or "parallel" in a plan file.
SourceLocation place_of_degree(const Scenario& scenario, const char* name) {
  if (scenario.given && !scenario.options.places.contains(name))
    return SourceLocation{scenario.given->file, ""} / "parallel" / name;
  return scenario.options.place_of(name);
}

// Tells how to get a profile of these degrees: for an estimated transformer, the command that makes it.
std::string other_profile(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const ParallelOptions& parallel = scenario.options.parallel;
  const std::string in_file = R"("parallel" in the file of a profile that was measured on one worker of such a group)";
  if (profile.origin != Origin::Estimated)
    return fmt::format("`allreplay estimate {}`, or {}", flags_of(parallel), in_file);
  if (!profile.tokens_per_sample || !profile.batch_size) return in_file;
  return fmt::format("`allreplay estimate --model {} --device {} --batch {} --seq {}{}{}`", profile.model,
                     profile.device, *profile.batch_size, *profile.tokens_per_sample,
                     flags_of(parallel).empty() ? "" : " ", flags_of(parallel));
}

}  // namespace

void require_profile_of_degrees(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  const ParallelOptions& parallel = scenario.options.parallel;
  const auto& taken = profile.degrees;
  const auto check = [&](const char* name, std::int64_t asked, Among group, std::int64_t own) {
    if (taken && asked != own)
      throw InputError(place_of_degree(scenario, name),
                       fmt::format("{} {}, but {} was taken with {} {}", name, asked, profile.name, name, own),
                       fmt::format("{} {}, or none; or {}", name, own, other_profile(scenario)));
    if (!taken && asked > 1 && !communicates_among(profile, group))
      throw InputError(place_of_degree(scenario, name),
                       fmt::format("{} {}, but {} is a profile of the whole model, not of one worker of {}", name,
                                   asked, profile.name, asked),
                       fmt::format("no {}, or {}", name, other_profile(scenario)));
  };
  check("tp", parallel.tp, Among::Tensor, taken ? taken->tp : 1);
  check("cp", parallel.cp, Among::Context, taken ? taken->cp : 1);
  // Without experts of its own, a profile need not say how many workers share the experts of its collectives.
  const auto is_expert = [](const Layer& layer) { return layer.expert; };
  const bool experts = std::any_of(profile.layers.begin(), profile.layers.end(), is_expert);
  if (taken && (taken->ep || experts)) return check("ep", parallel.ep, Among::Expert, taken->ep.value_or(1));
  if (parallel.ep > 1 && !communicates_among(profile, Among::Expert) && !experts)
    throw InputError(place_of_degree(scenario, "ep"),
                     fmt::format("ep {}, but {} has no experts: no layer of it is one or communicates in their groups",
                                 parallel.ep, profile.name),
                     R"(no ep, or "expert": true or "collectives" with "group": "ep" in the profile's layers)");
}

void take_degrees_of_profile(Scenario& scenario) {
  ParallelOptions& parallel = scenario.options.parallel;
  if (const auto& taken = scenario.profile->degrees) {
    const auto& places = scenario.options.places;
    if (!places.contains("tp")) parallel.tp = taken->tp;
    if (!places.contains("cp")) parallel.cp = taken->cp;
    if (taken->ep && !places.contains("ep")) parallel.ep = *taken->ep;
  }
  require_profile_of_degrees(scenario);
}

void set_groups(Scenario& scenario) {
  const ParallelOptions& parallel = scenario.options.parallel;
  ShardingConfig& sharding = scenario.options.strategy.sharding;
  if (!parallel.pipeline()) sharding.stride = parallel.tp;
  sharding.experts = scenario.profile->has_experts() ? parallel.ep : 1;
}

}  // namespace allreplay
