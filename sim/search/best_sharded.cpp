#include "sim/search/best_sharded.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "sim/schedule/fsdp.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

constexpr std::size_t few_units = 6;           // up to which every merge is tried
constexpr std::size_t most_tasks = 1'500'000;  // in tasks replayed, so that results repeat
constexpr std::int64_t deepest = 3;            // gathers ahead, and reductions behind, where there are more units
constexpr std::size_t starts_to_improve = 4;
constexpr std::size_t most_finalists = 8;  // replayed with jitter, or in the scenario's own fidelity

struct UnitChoice {
  std::vector<std::uint32_t> begins;  // the layers with which units begin
  Reshard reshard = Reshard::ButLast;
  std::int64_t prefetch = 1, reduce_buffers = 1;
  bool reduce_every = true, separate = false;
};

struct Tried {
  double seconds = std::numeric_limits<double>::infinity(), bytes = seconds;
  bool fits = false;
  Plan plan;

  // What fits goes before what does not; then time; then memory.
  bool better_than(const Tried& other) const {
    if (fits != other.fits) return fits;
    if (!fits) return bytes < other.bytes;
    return seconds != other.seconds ? seconds < other.seconds : bytes < other.bytes;
  }
};

// What the search replays on: a detailed fidelity is told by its prices.
Communication in_search(const Scenario& scenario, Communication communication) {
  if (!communication.choice.detailed()) return communication;
  const Fabric& fabric = *communication.fabric;
  ChannelCosts costs;
  for (const Call& call : fabric.calls()) costs.push_back({fabric.price(call), fabric.channels(call)});
  communication.fabric =
      std::make_shared<AlphaBetaFabric>(fabric.calls(), scenario.workers, std::move(costs), Sharing::Fair);
  communication.topology.reset();
  return communication;
}

class UnitSearch {
 public:
  UnitSearch(const Scenario& scenario, const Communication& communication)
      : scenario_(scenario),
        communication_(communication),
        searched_(scenario),
        profile_(slowest_profile(scenario)),
        units_(units_of(scenario.profile, {})),
        exact_(!scenario.stragglers.jitter && !communication.choice.detailed()) {
    options_ = scenario.options.strategy;
    options_.step.zero = 0;  // the strategies say themselves what they shard
    searched_.stragglers.jitter.reset();
    communication_ = prepared_for(plan_fsdp2(request(options_)), communication_);
    on_ = in_search(scenario, communication_);
  }

  Tried run() {
    std::vector<Plan> as_they_come;
    for (const char* name : {"fsdp2", "fsdp1", "zero-3"}) {
      if (name == std::string_view("zero-3") && options_.step.shard_group > 0) continue;
      as_they_come.push_back(find_strategy(name, {}).plan(request(options_)));
      consider(as_they_come.back());
    }
    if (units_.size() <= few_units)
      for (std::size_t borders = 0; borders < std::size_t{1} << (units_.size() - 1); ++borders)
        each_setting({.begins = merged(borders)}, [&](const UnitChoice& choice) { consider(choice); });
    else
      search();
    Tried best = exact_ ? finalists_.front() : as_replayed(std::move(as_they_come));
    best.plan.strategy = "best";
    return best;
  }

 private:
  PlanRequest request(const StrategyOptions& options) const {
    return {profile_, price_of_blocks(scenario_, communication_), options, true, scenario_.workers};
  }

  Tried tried(const Scenario& scenario, const Communication& communication, Plan plan) const {
    const Result result = simulate(scenario, plan, communication);
    Tried one{result.metrics.iteration_s, result.memory.peak, true, std::move(plan)};
    if (const auto limit = scenario.options.memory.limit) one.fits = one.bytes <= static_cast<double>(*limit);
    return one;
  }

  Tried consider(Plan plan) {
    replayed_ += plan.program().size() + plan.transfers.size();
    Tried one = tried(searched_, on_, std::move(plan));
    const auto place =
        std::find_if(finalists_.begin(), finalists_.end(), [&](const Tried& other) { return one.better_than(other); });
    if (place != finalists_.end() || finalists_.size() < most_finalists) finalists_.insert(place, one);
    if (finalists_.size() > (exact_ ? 1 : most_finalists)) finalists_.pop_back();
    return one;
  }

  // The finalists and the frameworks' own, with jitter and in the scenario's fidelity; message by message, the one
  // found.
  Tried as_replayed(std::vector<Plan> candidates) const {
    if (communication_.choice.fidelity == Fidelity::Message) {
      candidates.clear();
      candidates.push_back(finalists_.front().plan);
    } else
      for (const Tried& one : finalists_) candidates.push_back(one.plan);
    Tried best;
    for (Plan& plan : candidates) {
      Tried one = tried(scenario_, prepared_for(plan, communication_), std::move(plan));
      if (one.better_than(best)) best = std::move(one);
    }
    return best;
  }

  bool done() const { return replayed_ >= most_tasks; }

  Tried consider(const UnitChoice& choice) {
    StrategyOptions options = options_;
    options.fsdp.wrap = {.by = Wrap::By::Given, .begins = choice.begins};
    options.fsdp.reshard = choice.reshard;
    options.fsdp.prefetch = choice.prefetch;
    options.fsdp.reduce_buffers = choice.reduce_buffers;
    options.fsdp.reduce_every = choice.reduce_every;
    options.fsdp.separate_lanes = choice.separate;
    return consider(plan_fsdp2(request(options)));
  }

  // Bit i: a border between units i and i + 1.
  std::vector<std::uint32_t> merged(std::size_t borders) const {
    std::vector<std::uint32_t> begins{0};
    for (std::size_t i = 0; i + 1 < units_.size(); ++i)
      if ((borders >> i & 1U) != 0) begins.push_back(units_[i + 1].first);
    return begins;
  }

  template <class Each>
  void each_setting(UnitChoice choice, Each each) const {
    // Further ahead or behind than there are units is all the same.
    const auto units = static_cast<std::int64_t>(choice.begins.size());
    const std::int64_t most = units_.size() <= few_units ? units : std::min(units, deepest);
    for (const Reshard reshard : {Reshard::ButLast, Reshard::All, Reshard::None}) {
      choice.reshard = reshard;
      for (choice.prefetch = 1; choice.prefetch <= most; ++choice.prefetch)
        for (choice.reduce_buffers = 1; choice.reduce_buffers <= most; ++choice.reduce_buffers)
          for (const bool every : {true, false}) {
            if (!every && options_.step.accumulate == 1) continue;
            choice.reduce_every = every;
            for (const bool separate : {false, true}) {
              choice.separate = separate;
              each(choice);
            }
          }
    }
  }

  // From even merges, each with every setting; then the best of them by moves of their borders.
  void search() {
    std::vector<std::pair<Tried, UnitChoice>> starts;
    for (std::size_t together = 1; together <= units_.size(); together *= 2) {
      UnitChoice even;
      for (std::size_t unit = 0; unit < units_.size(); unit += together) even.begins.push_back(units_[unit].first);
      each_setting(even, [&](const UnitChoice& choice) {
        if (!done()) starts.emplace_back(consider(choice), choice);
      });
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const auto& a, const auto& b) { return a.first.better_than(b.first); });
    starts.resize(std::min(starts_to_improve, starts.size()));
    for (auto& [tried, choice] : starts) improve(tried, choice);
    if (starts.empty()) return;
    const auto best = std::min_element(starts.begin(), starts.end(),
                                       [](const auto& a, const auto& b) { return a.first.better_than(b.first); });
    each_setting(best->second, [&](const UnitChoice& choice) {
      if (!done()) consider(choice);
    });
  }

  void improve(Tried& tried, UnitChoice& choice) {
    for (bool better = true; better && !done();) {
      better = false;
      for (std::size_t unit = 1; unit < units_.size() && !done(); ++unit) {
        UnitChoice other = choice;
        const auto border = std::find(other.begins.begin(), other.begins.end(), units_[unit].first);
        if (border != other.begins.end())
          other.begins.erase(border);
        else
          other.begins.insert(std::upper_bound(other.begins.begin(), other.begins.end(), units_[unit].first),
                              units_[unit].first);
        Tried next = consider(other);
        if (!next.better_than(tried)) continue;
        tried = std::move(next);
        choice = std::move(other);
        better = true;
      }
    }
  }

  const Scenario& scenario_;
  Communication communication_;  // of the scenario
  Scenario searched_;            // without jitter
  Communication on_;
  Shared<Profile> profile_;
  StrategyOptions options_;
  std::vector<Unit> units_;
  bool exact_;  // whether the search replays what will be simulated
  std::size_t replayed_ = 0;
  std::vector<Tried> finalists_;  // the best first
};

}  // namespace

Plan find_best_sharded(const Scenario& scenario, const Communication& communication) {
  Tried best = UnitSearch(scenario, communication).run();
  if (!best.fits) nothing_fits(scenario, best.bytes, "the smallest that was found");
  return std::move(best.plan);
}

}  // namespace allreplay
