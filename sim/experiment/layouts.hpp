// How many workers may hold one transformer together, and which of the ways is fastest: degrees of parallelism,
// schedule, chunks, micro-batches, recomputation and data-parallel strategy, on profiles that are estimated for each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/estimate/transformer.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/experiment/request.hpp"

namespace allreplay {

struct ModelLayout {
  std::int64_t pp = 1, tp = 1, cp = 1;
  std::string schedule;                        ///< "" without a pipeline
  std::int64_t chunks = 1;                     ///< on a rank
  std::int64_t first_less = 0, last_less = 0;  ///< layers that the first and the last chunk have less than the others
  std::int64_t samples = 1, micro_batches = 1;
  Recompute recompute = Recompute::None;
  std::string strategy;
};

struct LayoutSearch {
  Transformer model;
  std::string model_name;  ///< by which `estimate` finds it
  std::int64_t tokens = 0;
  Device device;
  std::string device_name, precision;
  std::int64_t workers = 0, global_batch = 0;
  Request base;                                             ///< the cluster, and options that all have; no strategy
  std::optional<std::int64_t> pp, tp, cp, chunks, samples;  ///< what is not to be chosen
  std::string schedule;
  std::optional<Recompute> recompute;
  std::vector<std::string> strategies{"megatron", "fsdp2"};
  std::size_t budget = 200;    ///< of layouts that are simulated
  std::size_t in_parts = 200;  ///< of the ranking's first so many what of the iteration is exposed, and the bubble
  int jobs = 2;
  WinningRule rule;
  std::function<void(std::size_t trials)> begin;  ///< called when it is known how many there are at most
  std::function<void()> advance;                  ///< after each, one call at a time
};

struct LayoutTrial {
  ModelLayout layout;
  Outcome outcome;                    ///< without its episodes
  std::vector<std::string> estimate;  ///< the words after `allreplay estimate` that write its profile
  std::vector<std::string> run;       ///< those after `allreplay run` that replay it with that
  std::string framework, settings;    ///< the framework's words; "" for strategies that no such framework has
};

struct LayoutAdvice {
  std::vector<LayoutTrial> ranking;  ///< the winner first; what does not fit last
  std::size_t tied = 0;              ///< so many of the first are as fast
  std::size_t possible = 0;          ///< layouts that divide
  std::vector<std::string> skipped;  ///< "pp 64: …": degrees that no layout has, and why
  std::size_t too_slow = 0;          ///< of these not tried, as computing alone takes them longer than the winner
  std::size_t left_over = 0;         ///< nor these, for which the budget was too small
};

/// What would make a layout fit where none does: fewer of the flags that settle something, or more workers, with as
/// many samples each; a layout that was simulated so, and fits.
struct LayoutRemedy {
  std::vector<std::string> without;  ///< these flags
  std::int64_t workers = 0;          ///< else among so many
  ModelLayout layout;
};
/// None where none is known.
std::optional<LayoutRemedy> remedy_of(Library& library, const LayoutSearch& search);

/// Those that a forecast calls fastest are simulated, so many as the budget allows. Throws InputError where none is
/// possible.
LayoutAdvice search_layouts(Library& library, const LayoutSearch& search);

}  // namespace allreplay
