#include <algorithm>
#include <numeric>

#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/units.hpp"
#include "sim/studies/search/best.hpp"

namespace allreplay {

namespace {

constexpr std::size_t few_units = 6;           // up to this number, every merge is tried
constexpr std::size_t most_tasks = 1'500'000;  // budget in replayed tasks, so that results are reproducible
constexpr std::int64_t deepest = 3;            // most gathers ahead and reductions behind, for more units
constexpr std::size_t starts_to_improve = 4;
constexpr std::size_t most_finalists = 8;  // replayed with jitter, or in the scenario's own fidelity

struct UnitChoice {
  std::vector<std::uint32_t> begins;  // the first layer of each unit
  Reshard reshard = Reshard::ButLast;
  std::int64_t prefetch = 1, reduce_buffers = 1;
  Reduce reduce = Reduce::Every;
  bool separate_lanes = false;
};

class UnitSearch {
 public:
  explicit UnitSearch(const Job& job)
      : scenario_(job.scenario),
        job_(job),
        profile_(slowest_profile(scenario_)),
        options_(scenario_.options.strategy),
        units_(units_of(scenario_.profile, options_.fsdp.wrap)),
        others_(others(scenario_)),
        exact_(!scenario_.stragglers.jitter && !job.choice.detailed()) {
    options_.sharding.zero = 0;  // the strategies set it
    job_ = prepared_for(plan_fsdp2(request(options_)), job_);
    replay_job_ = as_searched(job_);
  }

  Candidate run(const Watch& watch) {
    for (const Scenario& other : others_) {
      Plan plan = other.strategy->plan(request(other.options.strategy));
      const Job prepared = as_searched(prepared_for(plan, job_));  // its calls may differ from those of fsdp2
      consider(std::move(plan), prepared);
    }
    if (is_given("wrap"))
      each_setting({.begins = begins()}, [&](const UnitChoice& choice) {
        if (!done()) consider(choice);
      });
    else if (units_.size() <= few_units)
      for (std::size_t borders = 0; borders < std::size_t{1} << (units_.size() - 1); ++borders)
        each_setting({.begins = merged(borders)}, [&](const UnitChoice& choice) { consider(choice); });
    else
      search();
    if (exact_) {
      finalists_.front().plan.strategy = "best";
      return std::move(finalists_.front());
    }
    std::vector<Plan> found;
    for (Candidate& one : finalists_) found.push_back(std::move(one.plan));
    return best_of(scenario_, std::move(found), others_, watch);
  }

 private:
  PlanRequest request(const StrategyOptions& options) const {
    return {profile_, price_of_blocks(job_), options, true, scenario_.workers};
  }

  PlanCost consider(Plan plan, const Job& job) {
    replayed_ += plan.program().size() + plan.transfers.size();
    const Candidate one = replayed(job, std::move(plan));
    const auto place = std::find_if(finalists_.begin(), finalists_.end(),
                                    [&](const Candidate& other) { return one.cost.better_than(other.cost); });
    if (place != finalists_.end() || finalists_.size() < most_finalists) finalists_.insert(place, one);
    if (finalists_.size() > (exact_ ? 1 : most_finalists)) finalists_.pop_back();
    return one.cost;
  }

  bool done() const { return replayed_ >= most_tasks; }

  PlanCost consider(const UnitChoice& choice) {
    StrategyOptions options = options_;
    options.fsdp.wrap = {.by = Wrap::By::Given, .begins = choice.begins};
    options.fsdp.reshard = choice.reshard;
    options.fsdp.prefetch = choice.prefetch;
    options.fsdp.reduce_buffers = choice.reduce_buffers;
    options.fsdp.reduce = choice.reduce;
    options.fsdp.separate_lanes = choice.separate_lanes;
    return consider(plan_fsdp2(request(options)), replay_job_);
  }

  // Returns the first layer of each unmerged unit.
  std::vector<std::uint32_t> begins() const {
    std::vector<std::uint32_t> all;
    for (const Unit& unit : units_) all.push_back(unit.first);
    return all;
  }

  // Returns the first layers of merged units. Bit i of `borders`: a border between units i and i + 1.
  std::vector<std::uint32_t> merged(std::size_t borders) const {
    std::vector<std::uint32_t> begins{0};
    for (std::size_t i = 0; i + 1 < units_.size(); ++i)
      if ((borders >> i & 1U) != 0) begins.push_back(units_[i + 1].first);
    return begins;
  }

  // True if the user set the option, so that it is not varied.
  bool is_given(const char* option) const { return scenario_.options.places.contains(option); }

  // Returns the given value, or else 1 to `most`.
  std::vector<std::int64_t> depths(const char* option, std::int64_t value, std::int64_t most) const {
    if (is_given(option)) return {value};
    std::vector<std::int64_t> all(static_cast<std::size_t>(most));
    std::iota(all.begin(), all.end(), std::int64_t{1});
    return all;
  }

  template <class Value>
  std::vector<Value> choices(const char* option, Value value, std::vector<Value> all) const {
    return is_given(option) ? std::vector{value} : all;
  }

  std::vector<Reduce> reductions() const {
    if (options_.sharding.accumulate == 1) return {Reduce::Every};
    if (options_.sharding.shard_group == 0) return {Reduce::Every, Reduce::Last};
    return {Reduce::Every, Reduce::ReplicasLast, Reduce::Last};
  }

  template <class Each>
  void each_setting(UnitChoice choice, Each each) const {
    // Depths beyond the number of units make no difference.
    const auto units = static_cast<std::int64_t>(choice.begins.size());
    const std::int64_t most = units_.size() <= few_units ? units : std::min(units, deepest);
    const FsdpOptions& own = options_.fsdp;
    for (const Reshard reshard :
         choices("reshard", own.reshard.value_or(Reshard::ButLast), {Reshard::ButLast, Reshard::All, Reshard::None})) {
      choice.reshard = reshard;
      for (const std::int64_t prefetch : depths("prefetch", own.prefetch, most))
        for (const std::int64_t buffers : depths("reduce_buffers", own.reduce_buffers, most))
          for (const Reduce reduce : choices("reduce", own.reduce, reductions()))
            for (const bool separate_lanes : choices("lanes", own.separate_lanes, {false, true})) {
              choice.prefetch = prefetch;
              choice.reduce_buffers = buffers;
              choice.reduce = reduce;
              choice.separate_lanes = separate_lanes;
              each(choice);
            }
    }
  }

  // Tries even merges with every setting, then improves the best of them by moves of borders.
  void search() {
    std::vector<std::pair<PlanCost, UnitChoice>> starts;
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
    for (auto& [cost, choice] : starts) improve(cost, choice);
    if (starts.empty()) return;
    const auto best = std::min_element(starts.begin(), starts.end(),
                                       [](const auto& a, const auto& b) { return a.first.better_than(b.first); });
    each_setting(best->second, [&](const UnitChoice& choice) {
      if (!done()) consider(choice);
    });
  }

  void improve(PlanCost& cost, UnitChoice& choice) {
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
        const PlanCost next = consider(other);
        if (!next.better_than(cost)) continue;
        cost = next;
        choice = std::move(other);
        better = true;
      }
    }
  }

  const Scenario& scenario_;
  Job job_;         // of the scenario
  Job replay_job_;  // the job on which the search replays
  Shared<Profile> profile_;
  StrategyOptions options_;
  std::vector<Unit> units_;
  std::vector<Scenario> others_;
  bool exact_;  // the search replays what will be simulated
  std::size_t replayed_ = 0;
  std::vector<Candidate> finalists_;  // the best first
};

}  // namespace

Candidate find_best_sharded(const Job& job, const Watch& watch) { return UnitSearch(job).run(watch); }

}  // namespace allreplay
