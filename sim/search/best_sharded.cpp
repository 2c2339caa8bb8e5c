#include "sim/search/best_sharded.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/schedule/fsdp.hpp"

namespace allreplay {

namespace {

constexpr std::size_t few_units = 6;           // up to which every merge is tried
constexpr std::size_t most_tasks = 1'500'000;  // in tasks replayed, so that results repeat
constexpr std::int64_t deepest = 3;            // gathers ahead, and reductions behind
constexpr std::size_t starts_to_improve = 4;

struct Choice {
  std::vector<std::uint32_t> begins;  // the layers with which units begin
  Reshard reshard = Reshard::ButLast;
  std::int64_t prefetch = 1, reduce_buffers = 1;
  bool separate = false;

  auto key() const { return std::tuple(begins, reshard, prefetch, reduce_buffers, separate); }
  bool operator<(const Choice& other) const { return key() < other.key(); }
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

class UnitSearch {
 public:
  UnitSearch(const Scenario& scenario, const Communication& communication)
      : scenario_(scenario),
        communication_(communication),
        profile_(slowest_profile(scenario)),
        units_(units_of(scenario.profile, {})) {
    options_ = scenario.options.strategy;
    options_.step.zero = 0;  // the strategies say themselves what they shard
  }

  Tried run() {
    for (const char* name : {"fsdp2", "fsdp1", "zero-3"}) {
      if (name == std::string_view("zero-3") && options_.step.shard_group > 0) continue;
      consider(find_strategy(name, {}).plan(request(options_)));
    }
    if (units_.size() <= few_units)
      for (std::size_t borders = 0; borders < std::size_t{1} << (units_.size() - 1); ++borders)
        each_option(merged(borders));
    else
      search();
    best_.plan.strategy = "best";
    return best_;
  }

 private:
  PlanRequest request(const StrategyOptions& options) const {
    return {profile_, price_of_blocks(scenario_, communication_), options, true, scenario_.workers};
  }

  Tried consider(Plan plan) {
    if (!ready_) {
      communication_ = prepared_for(plan, communication_);
      ready_ = true;
    }
    const Result result = simulate(scenario_, plan, prepared_for(plan, communication_));
    replayed_ += result.unrolled.graph.tasks().size();
    Tried tried{result.metrics.iteration_s, result.memory.peak, true, std::move(plan)};
    if (const auto limit = scenario_.options.memory.limit) tried.fits = tried.bytes <= static_cast<double>(*limit);
    if (tried.better_than(best_)) best_ = tried;
    return tried;
  }

  bool done() const { return replayed_ >= most_tasks; }

  Tried consider(const Choice& choice) {
    StrategyOptions options = options_;
    options.fsdp.wrap = {.by = Wrap::By::Given, .begins = choice.begins};
    options.fsdp.reshard = choice.reshard;
    options.fsdp.prefetch = choice.prefetch;
    options.fsdp.reduce_buffers = choice.reduce_buffers;
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
  static void each_setting(const Choice& from, Each each) {
    for (const Reshard reshard : {Reshard::ButLast, Reshard::All, Reshard::None})
      for (std::int64_t prefetch = 1; prefetch <= deepest; ++prefetch)
        for (std::int64_t buffers = 1; buffers <= deepest; ++buffers)
          for (const bool separate : {false, true}) {
            Choice choice = from;
            choice.reshard = reshard;
            choice.prefetch = prefetch;
            choice.reduce_buffers = buffers;
            choice.separate = separate;
            each(choice);
          }
  }

  void each_option(const std::vector<std::uint32_t>& begins) {
    each_setting({.begins = begins}, [&](const Choice& choice) { consider(choice); });
  }

  // From even merges, each with every setting; then the best of them by moves of their borders.
  void search() {
    std::vector<std::pair<Tried, Choice>> starts;
    for (std::size_t together = 1; together <= units_.size(); together *= 2) {
      Choice even;
      for (std::size_t unit = 0; unit < units_.size(); unit += together) even.begins.push_back(units_[unit].first);
      each_setting(even, [&](const Choice& choice) {
        if (!done()) starts.emplace_back(consider(choice), choice);
      });
    }
    std::stable_sort(starts.begin(), starts.end(),
                     [](const auto& a, const auto& b) { return a.first.better_than(b.first); });
    starts.resize(std::min(starts_to_improve, starts.size()));
    for (auto& [tried, choice] : starts) improve(tried, choice);
  }

  void improve(Tried& tried, Choice& choice) {
    for (bool better = true; better && !done();) {
      better = false;
      for (std::size_t unit = 1; unit < units_.size() && !done(); ++unit) {
        Choice other = choice;
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
  Communication communication_;
  Profile profile_;
  StrategyOptions options_;
  std::vector<Unit> units_;
  bool ready_ = false;
  std::size_t replayed_ = 0;
  Tried best_;
};

}  // namespace

Plan find_best_sharded(const Scenario& scenario, const Communication& communication) {
  Tried best = UnitSearch(scenario, communication).run();
  if (!best.fits)
    throw InputError(scenario.options.place_of("memory"),
                     fmt::format("nothing fits into {}", write_size(*scenario.options.memory.limit)),
                     fmt::format("at least {}, which {} needs", format_size(static_cast<Bytes>(best.bytes)),
                                 "the smallest that was found"));
  return std::move(best.plan);
}

}  // namespace allreplay
