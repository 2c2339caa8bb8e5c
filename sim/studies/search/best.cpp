#include "sim/studies/search/best.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <queue>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/replay/training/lower_bound.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

namespace {

// The budget of the search in replayed tasks, about half a second. It is not a time, so that results are reproducible.
constexpr std::size_t budget = 1'500'000;

void append(std::vector<Block>& blocks, const Slice& slice) {
  if (!blocks.empty()) {
    Slice& last = blocks.back().slices.back();
    if (last.tensor == slice.tensor && last.offset + last.bytes == slice.offset) {
      last.bytes += slice.bytes;
      return;
    }
  }
  blocks.push_back({.slices = {slice}});
}

}  // namespace

BucketSchedule schedule_most_urgent(const Profile& profile, const BlockCost& cost) {
  const auto list = gradients(profile);
  const auto start_up = [&](const Gradient& one) { return cost(one.bytes) - cost.transfer(one.bytes); };
  BucketSchedule schedule;
  std::vector<Bytes> sent(profile.tensors.size(), 0);
  std::priority_queue<TensorId, std::vector<TensorId>, std::greater<>> ready;  // the nearest to the input first
  std::size_t next = 0;  // the first gradient that is not ready yet
  Time clock{0};
  while (next < list.size() || !ready.empty()) {
    while (next < list.size() && (ready.empty() || list[next].ready + start_up(list[next]) <= clock)) {
      clock = std::max(clock, add(list[next].ready, start_up(list[next])));
      ready.push(list[next++].tensor);
    }
    const TensorId tensor = ready.top();
    const Bytes all = profile.tensors[tensor].bytes;
    const Bytes left = all - sent[tensor];
    Bytes bytes = left;
    if (next < list.size()) {
      const Time until = add(list[next].ready, start_up(list[next])) - clock;
      const double share = static_cast<double>(until.count()) /
                           static_cast<double>(std::max<std::int64_t>(1, cost.transfer(all).count()));
      bytes = std::min(left, std::max<Bytes>(1, static_cast<Bytes>(std::min(share, 1.0) * static_cast<double>(all))));
    }
    append(schedule.blocks, {tensor, sent[tensor], bytes});
    sent[tensor] += bytes;
    clock = add(clock, scaled(cost.transfer(all), static_cast<double>(bytes) / static_cast<double>(all)));
    if (bytes == left) ready.pop();
  }
  schedule.order = Order::AsListed;
  schedule.window = {.count = Window::unlimited};
  schedule.barrier = Barrier::Layer;
  return schedule;
}

namespace {

// Returns the job with a fabric that offers the calls of sharded plans of blocks.
Job prepared_for_blocks(const Profile& profile, const BlockCost& cost, const StrategyOptions& options, const Job& job) {
  return prepared_for(expand(schedule_sync_easgd({profile, cost, options}), profile, options.sharding), job);
}

class Search {
 public:
  explicit Search(const Job& job)
      : profile_(slowest_profile(job.scenario)),
        cost_(price_of_blocks(job)),
        options_(job.scenario.options.strategy),
        sharding_(options_.sharding),
        fair_(job.scenario.options.sharing == Sharing::Fair || job.choice.detailed()),
        splits_(!job.choice.detailed() && job.choice.has_halves() && !job.choice.gathers() &&
                !sharding_.shards_optimizer()),
        memory_varies_(job.scenario.options.memory.limit && sharding_.shards_gradients()),
        replay_job_(
            as_searched(sharding_.shards_optimizer() ? prepared_for_blocks(profile_, cost_, options_, job) : job)) {
    if (sharding_.shards_optimizer()) return;  // with shards, the bound depends on the plan
    const CommCost cost = job.fabric->price(planned_call(job.scenario));
    if (!job.compression)
      bound_ = LowerBound(profile_, [&](Bytes bytes) { return cost.least(bytes); }).of(profile_, sharding_);
  }

  /// True if the search replays the strategy's unmodified plan.
  bool replays_unmodified(const Strategy& strategy) const { return strategy.schedule && (!strategy.split || splits_); }

  Plan run(const std::vector<Scenario>& others) {
    for (const Scenario& other : others)
      if (replays_unmodified(*other.strategy))
        consider_with_variants(make_bucket_schedule(*other.strategy, {profile_, cost_, options_}));
    if (!done()) consider_with_variants(schedule_most_urgent(profile_, cost_));
    if (!done()) vary_options();
    improve_starts();
    simplify();
    best_.schedule.strategy = "best";
    return expand(best_.schedule, profile_, sharding_);
  }

 private:
  struct Found {
    PlanCost cost;
    BucketSchedule schedule;
  };

  bool done() const { return (best_.cost.fits && best_.cost.seconds <= to_seconds(bound_)) || replayed_ >= limit_; }

  // Replays one period of the slowest worker, which determines the iteration. Moves the schedule into a plan and back.
  Timeline timeline(BucketSchedule& schedule) {
    Plan whole = expand(std::move(schedule), profile_, sharding_);
    const Unrolled unrolled = unroll(profile_, whole, {WorkerClass{1, {0}}}, replay_job_.fabric.get(),
                                     cost_.compression(), sharding_.shards(replay_job_.scenario.workers));
    replayed_ += unrolled.graph.tasks().size();
    std::vector<Stream> streams;
    Clock clock(Time(0));
    const std::unique_ptr<Server> network = replay_job_.fabric->server();
    Timeline result =
        replay(unrolled.graph, system_of(unrolled, whole, streams, clock, {{network.get(), Phase::Communication}},
                                         replay_job_.scenario.cluster.interference));
    last_work_ = unrolled.last_work(0);
    sent_.assign(whole.blocks.size(), 0);
    for (std::uint32_t i = static_cast<std::uint32_t>(whole.transfers.size()); i-- > 0;)
      if (whole.transfers[i].op != CollectiveOp::AllGather && whole.transfers[i].group != group_replica)
        sent_[whole.transfers[i].payload.block] = unrolled.transfer(i);
    schedule = bucket_schedule_of(std::move(whole));
    return result;
  }

  // If the memory differs between plans, simulates all workers and their memory, else only the slowest worker.
  PlanCost evaluate(BucketSchedule& schedule) {
    if (!memory_varies_) {
      const Timeline result = timeline(schedule);
      return {to_seconds(result.spans[last_work_].end), 0, true};
    }
    Candidate whole = replayed(replay_job_, expand(std::move(schedule), profile_, sharding_));
    replayed_ += 2 * (whole.plan.program().size() + whole.plan.transfers.size());
    schedule = bucket_schedule_of(std::move(whole.plan));
    return whole.cost;
  }

  // Stores the schedule in `incumbent` if it is better than that, and in best_ if it is the best so far.
  bool consider(BucketSchedule& schedule, Found& incumbent) {
    const PlanCost cost = evaluate(schedule);
    if (!cost.better_than(incumbent.cost)) return false;
    incumbent = {cost, schedule};
    if (cost.better_than(best_.cost)) best_ = incumbent;
    return true;
  }
  bool consider(BucketSchedule&& schedule, Found& incumbent) { return consider(schedule, incumbent); }

  // Lists the blocks in the order in which the replay admitted them.
  BucketSchedule as_admitted(BucketSchedule schedule) {
    const Timeline result = timeline(schedule);
    std::vector<std::size_t> order(schedule.blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](std::size_t i) {
      const Span& span = result.spans[sent_[i]];
      return std::tuple(span.start,
                        schedule.order == Order::Priority     ? schedule.blocks[i].priority
                        : schedule.order == Order::FirstReady ? span.ready.count()
                                                              : 0,
                        i);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    BucketSchedule listed = schedule;
    listed.order = Order::AsListed;
    for (std::size_t i = 0; i < order.size(); ++i) listed.blocks[i] = schedule.blocks[order[i]];
    return listed;
  }

  // Considers the schedule; the same without ticks and with barriers by layer; in the resulting order with other
  // windows; and split into two stages. The fastest becomes a start for moves.
  void consider_with_variants(BucketSchedule schedule) {
    Found start;
    schedule.barrier = options_.barrier.value_or(schedule.barrier);
    consider(schedule, start);
    schedule.tick = Time(0);
    schedule.release = Release::Layer;
    schedule.barrier = options_.barrier.value_or(Barrier::Layer);
    if (!done()) consider(schedule, start);
    if (!schedule.split && schedule.order != Order::AsListed) schedule = as_admitted(schedule);
    consider_windows(schedule, start);
    if (splits_ && !schedule.split && schedule.blocks.size() < 1000) {
      Found halves;
      consider_windows(split_in_halves(schedule), halves);
      starts_.push_back(std::move(halves));
    }
    starts_.push_back(std::move(start));
  }

  void consider_windows(BucketSchedule schedule, Found& start) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4},
                                     std::int64_t{8}, std::int64_t{16}, Window::unlimited}) {
      if (done()) return;
      schedule.window = {.count = count};
      consider(schedule, start);
    }
  }

  BucketSchedule split_in_halves(BucketSchedule schedule) const {
    schedule.split = true;
    schedule.order = Order::Priority;
    for (Block& block : schedule.blocks) {
      block.priority = std::numeric_limits<std::int64_t>::max();
      for (const Slice& slice : block.slices)
        block.priority = std::min<std::int64_t>(block.priority, profile_->tensors[slice.tensor].layer);
    }
    return schedule;
  }

  // Fuses tensors in backward order up to a size and sends them in halves; finer than DeAR, which fuses whole layers.
  BucketSchedule merged_in_halves(Bytes size) const {
    const auto list = gradients(profile_);
    std::vector<std::size_t> ends;
    Bytes bytes = list[0].bytes;
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (list[i].bytes > size - bytes) {
        ends.push_back(i);
        bytes = 0;
      }
      bytes += list[i].bytes;
    }
    ends.push_back(list.size());
    return split_in_halves(merge("runs", list, ends));
  }

  // Considers strategies that have a size option, with several sizes.
  void vary_options() {
    Scenario varied = replay_job_.scenario;
    StrategyOptions& options = varied.options.strategy;
    options.first_bucket = options.first_bucket.value_or(ddp_first_bucket);
    for (Bytes size = 256'000; size <= 64'000'000; size *= 2) {
      if (!fair_ && size < 4'000'000) continue;  // small slices help only if blocks share bandwidth
      options.partition = options.threshold = options.bucket_cap = size;
      for (const char* name : {"dear", "ddp", "bytescheduler"}) {
        if (done()) return;
        varied.strategy = &find_strategy(name, {});
        if (replays_unmodified(*varied.strategy) && is_affordable(varied))
          consider_with_variants(make_bucket_schedule(*varied.strategy, {profile_, cost_, options}));
      }
      if (!done() && splits_) consider_with_variants(merged_in_halves(size));
    }
  }

  // Makes moves from the fastest starts, which share the remaining budget.
  void improve_starts() {
    constexpr std::size_t most = 6;
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const Found& a, const Found& b) { return a.cost.better_than(b.cost); });
    const auto same = [](const Found& a, const Found& b) {
      return !a.cost.better_than(b.cost) && !b.cost.better_than(a.cost) &&
             a.schedule.blocks.size() == b.schedule.blocks.size();
    };
    starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
    starts_.resize(std::min(most, starts_.size()));
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      limit_ = replayed_ + (budget - std::min(budget, replayed_)) / (starts_.size() - i);
      while (!done() && improve(starts_[i])) {
      }
    }
  }

  // Tries moves at every block: merges it with the next, swaps them, cuts it in two. Returns true if one was better.
  bool improve(Found& found) {
    bool better = false;
    for (std::size_t i = 0; i < found.schedule.blocks.size() && !done(); ++i) {
      if (i + 1 < found.schedule.blocks.size()) better |= consider(merged(found.schedule, i), found);
      if (i + 1 < found.schedule.blocks.size()) better |= consider(swapped(found.schedule, i), found);
      if (found.schedule.blocks[i].bytes() > 1) better |= consider(halved(found.schedule, i), found);
    }
    const std::int64_t now = found.schedule.window.count;
    for (const std::int64_t count : {now - 1, now == Window::unlimited ? 0 : now + 1}) {
      if (done() || count < 1) continue;
      BucketSchedule schedule = found.schedule;
      schedule.window.count = count;
      better |= consider(schedule, found);
    }
    return better;
  }

  static BucketSchedule merged(BucketSchedule schedule, std::size_t i) {
    Block& block = schedule.blocks[i];
    for (const Slice& slice : schedule.blocks[i + 1].slices) {
      const auto before = std::find_if(block.slices.begin(), block.slices.end(), [&](const Slice& one) {
        return one.tensor == slice.tensor && one.offset + one.bytes == slice.offset;
      });
      if (before == block.slices.end())
        block.slices.push_back(slice);
      else
        before->bytes += slice.bytes;
    }
    block.priority = std::min(block.priority, schedule.blocks[i + 1].priority);
    schedule.blocks.erase(schedule.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return schedule;
  }

  static BucketSchedule swapped(BucketSchedule schedule, std::size_t i) {
    std::swap(schedule.blocks[i], schedule.blocks[i + 1]);
    std::swap(schedule.blocks[i].priority, schedule.blocks[i + 1].priority);
    return schedule;
  }

  static BucketSchedule halved(BucketSchedule schedule, std::size_t i) {
    Block first{{}, schedule.blocks[i].priority}, second = first;
    Bytes left = schedule.blocks[i].bytes() / 2;
    for (const Slice& slice : schedule.blocks[i].slices) {
      const Bytes bytes = std::min(left, slice.bytes);
      if (bytes > 0) first.slices.push_back({slice.tensor, slice.offset, bytes});
      if (bytes < slice.bytes) second.slices.push_back({slice.tensor, slice.offset + bytes, slice.bytes - bytes});
      left -= bytes;
    }
    schedule.blocks[i] = first;
    schedule.blocks.insert(schedule.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
    return schedule;
  }

  // Reduces the number of collectives, and of those in flight, as long as the plan is not slower.
  void simplify() {
    const auto spent = [&] { return replayed_ >= budget + budget / 2; };
    const auto accept = [&](BucketSchedule schedule) {
      if (spent()) return false;
      const PlanCost cost = evaluate(schedule);
      if (!cost.fits || cost.seconds > best_.cost.seconds) return false;
      best_.schedule = schedule;
      return true;
    };
    for (std::size_t i = 0; i + 1 < best_.schedule.blocks.size() && !spent();)
      if (!accept(merged(best_.schedule, i))) ++i;
    for (std::int64_t count = 1; count < best_.schedule.window.count && count <= 64; ++count) {
      BucketSchedule schedule = best_.schedule;
      schedule.window = {.count = count};
      if (accept(schedule)) break;
    }
  }

  Shared<Profile> profile_;
  BlockCost cost_;
  StrategyOptions options_;
  ShardingConfig sharding_;
  bool fair_;
  bool splits_;         // the collective has separately priced halves
  bool memory_varies_;  // there is a limit, and plans differ in unsharded gradients that wait for their reduction
  Job replay_job_;      // the job on which the search replays
  Time bound_{0};
  Found best_;
  std::vector<Found> starts_;
  std::size_t replayed_ = 0, limit_ = budget / 2;
  // Results of the previous replay:
  TaskId last_work_ = 0;
  std::vector<TaskId> sent_;  // by block: its first transfer
};

// Finds the best plan of blocks. If the search does not replay what will be simulated (jitter, other fidelities, other
// strategies' sharding), its plan is then compared with the other strategies' in the real simulation.
Candidate find_best_blocks(const Job& job, const Watch& watch) {
  const Scenario& scenario = job.scenario;
  const std::vector<Scenario> all = others(scenario);
  Search search(job);
  std::vector<Plan> found{search.run(all)};
  require_covered(found.front(), scenario.profile);
  const bool seen = !scenario.stragglers.jitter && !job.choice.detailed();
  std::vector<Scenario> unseen;
  for (const Scenario& other : all)
    if (!seen || !search.replays_unmodified(*other.strategy)) unseen.push_back(other);
  if (unseen.empty() && !scenario.options.memory.limit) return {{.fits = true}, std::move(found.front())};
  return best_of(scenario, std::move(found), unseen, watch);
}

}  // namespace

Plan find_best(const Job& job, const Watch& watch) {
  const ShardingConfig& sharding = job.scenario.options.strategy.sharding;
  const bool by_units = sharding.shards_parameters();
  if (!by_units && job.scenario.profile->tensors.empty()) return expand({}, job.scenario.profile, sharding);
  Candidate best = by_units ? find_best_sharded(job, watch) : find_best_blocks(job, watch);
  if (!best.cost.fits) nothing_fits(job.scenario, best.cost.bytes, "the smallest that was found");
  return std::move(best.plan);
}

}  // namespace allreplay
