// Searches for the fastest layout of a transformer on a number of workers: degrees of parallelism, schedule, chunks,
// micro-batches, recomputation and data-parallel strategy. The profile of each layout is estimated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/results/outcome.hpp"

namespace allreplay {

struct ModelLayout {
  std::int64_t pp = 1, tp = 1, cp = 1, ep = 1;
  bool ep_overlap = false;                     ///< token exchange overlaps
  std::string schedule;                        ///< "" without a pipeline
  std::int64_t chunks = 1;                     ///< per rank
  std::int64_t first_less = 0, last_less = 0;  ///< the number of layers that the first and the last chunk have less
  std::int64_t samples = 1, micro_batches = 1;
  Recompute recompute = Recompute::None;
  std::string strategy;
};

struct LayoutTrial {
  ModelLayout layout;
  Outcome outcome;                    ///< without its episodes
  std::vector<std::string> estimate;  ///< arguments of `allreplay estimate` that write its profile; empty: `run` does
  std::vector<std::string> run;       ///< arguments of `allreplay run` that replay it
  std::string framework, settings;    ///< settings of the framework; "" if no framework can run it
  bool is_own = false;                ///< the user's own layout
};

struct LayoutSearch {
  Transformer model;
  std::string model_name;  ///< for `allreplay estimate --model`
  std::int64_t tokens = 0;
  Device device;
  std::string device_name, precision;
  std::int64_t workers = 0, global_batch = 0;
  Request base;  ///< the cluster and the options of all layouts; no strategy
  std::optional<std::int64_t> pp, tp, cp, ep, chunks, samples;  ///< fixed values; the others are searched
  std::string schedule;
  std::optional<Recompute> recompute;
  std::vector<std::string> strategies{"megatron", "fsdp2"};
  std::optional<Efficiency> efficiency;  ///< of all estimates; none: the device's, or the usual one
  std::size_t budget = 200;              ///< the number of layouts to simulate
  std::size_t in_parts = 200;            ///< the number of best layouts whose parts of the iteration are computed
  std::optional<LayoutTrial> own;        ///< the user's own layout, ranked with the others; it is what runs now
  int jobs = 2;
  WinningRule rule;
  std::function<void(std::size_t trials)> begin;  ///< called once the maximum number of trials is known
  std::function<void()> advance;                  ///< called after each trial, never concurrently
};

struct LayoutAdvice {
  std::vector<LayoutTrial> ranking;  ///< the winner first; layouts that do not fit last
  std::size_t tied = 0;              ///< the number of leading layouts that are equally fast
  std::size_t possible = 0;          ///< number of layouts that divide evenly
  std::vector<std::string> skipped;  ///< "pp 64: …": degrees that are in no layout, and why
  std::size_t too_slow = 0;          ///< not tried: their computation takes longer than the winner's iteration
  std::size_t left_over = 0;         ///< not tried because of the budget
};

/// A change that makes a layout fit if none does: fewer fixed values, or more workers with the same samples per worker.
/// `layout` was simulated and fits.
struct LayoutRemedy {
  std::vector<std::string> without;  ///< flags to leave out
  std::int64_t workers = 0;          ///< if `without` is empty, the number of workers
  ModelLayout layout;
};
/// Returns none if no remedy is known.
std::optional<LayoutRemedy> remedy_of(Library& library, const LayoutSearch& search);

/// Forecasts all layouts, and simulates the best of them within the budget. Throws InputError if none is possible.
LayoutAdvice search_layouts(Library& library, const LayoutSearch& search);

/// Computes the parts of the iteration (exposed time, stragglers, bubble) of the layouts at these places of the
/// ranking, if they have none.
void replay_in_parts(LayoutAdvice& advice, const std::vector<std::size_t>& places, int jobs);

/// The layout of a scenario whose profile was estimated. The lengths of its stages remain unknown.
ModelLayout layout_of(const Outcome& outcome);

/// The default type in which the strategy's framework reduces gradients; none if it is the type of the parameters.
std::optional<std::string_view> reduction_type(std::string_view strategy, std::string_view precision);

/// Returns a framework and its settings of the layout, which `scenario` is; both "" if no framework can run it.
std::pair<std::string, std::string> framework_words(const LayoutSearch& search, const ModelLayout& layout,
                                                    const Scenario& scenario);

/// Why a layout is not possible. Checks are ordered from model to samples; failing a later one counts as nearer.
struct Obstacle {
  int check = 0;
  std::string flag, why;
  std::string right = {};  ///< a value of the flag that would do; "": see the search's degrees
};

struct Layouts {
  std::vector<ModelLayout> all;
  std::optional<Obstacle> nearest;   ///< the nearest impossible layout; none: no schedule matches
  std::vector<std::string> skipped;  ///< "pp 64: …": degrees that are in no layout, and why
};

/// Returns all layouts of the search. `node`: workers per node, the largest tensor-parallel group.
Layouts layouts_of(const LayoutSearch& search, std::int64_t node);

/// True if layers are cut as by Megatron-LM and torchtitan: equally many blocks in all chunks except the two ends.
bool is_cut_by_a_framework(std::string_view strategy);

}  // namespace allreplay
