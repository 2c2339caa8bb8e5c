#include "sim/search/best.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "sim/schedule/gradients.hpp"
#include "sim/search/plan_of.hpp"
#include "sim/training/communication.hpp"
#include "sim/training/lower_bound.hpp"
#include "sim/training/unroll.hpp"

namespace allreplay {

namespace {

// What the search may cost, in tasks replayed: about half a second. Counted, not timed, so that results repeat.
constexpr std::size_t budget = 1'500'000;

void append(std::vector<Block>& blocks, const Slice& slice) {
  if (!blocks.empty()) {
    Slice& last = blocks.back().slices.back();
    if (last.tensor == slice.tensor && last.offset + last.bytes == slice.offset) {
      last.bytes += slice.bytes;
      return;
    }
  }
  blocks.push_back({{slice}, 0});
}

}  // namespace

Plan plan_most_urgent(const Profile& profile, const BlockCost& cost) {
  const auto list = gradients(profile);
  const auto start_up = [&](const Gradient& one) { return cost(one.bytes) - cost.transfer(one.bytes); };
  Plan plan;
  std::vector<Bytes> sent(profile.tensors.size(), 0);
  std::priority_queue<TensorId, std::vector<TensorId>, std::greater<>> ready;  // the nearest to the input on top
  std::size_t next = 0;  // of the gradients that have not come yet
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
    append(plan.blocks, {tensor, sent[tensor], bytes});
    sent[tensor] += bytes;
    clock = add(clock, scaled(cost.transfer(all), static_cast<double>(bytes) / static_cast<double>(all)));
    if (bytes == left) ready.pop();
  }
  plan.order = Order::AsListed;
  plan.window = {.count = Window::unlimited};
  plan.barrier = Barrier::Layer;
  return plan;
}

namespace {

class Search {
 public:
  Search(const Scenario& scenario, const Communication& communication)
      : scenario_(scenario),
        communication_(communication),
        profile_(slowest_profile(scenario)),
        cost_(price_of_blocks(scenario, communication)),
        fair_(scenario.options.sharing == Sharing::Fair || communication.model),
        splits_(!communication.model && !gathers(communication.carrier)) {
    if (!communication.compression)
      bound_ = LowerBound(profile_, [&](Bytes bytes) { return communication.stages[0].least(bytes); }).of(profile_);
  }

  Plan run() {
    for (const Strategy& strategy : strategies())
      if (strategy.plan) consider_with_variants(make_plan(strategy, {profile_, cost_, scenario_.options.strategy}));
    if (!done()) consider_with_variants(plan_most_urgent(profile_, cost_));
    if (!done()) vary_options();
    improve_starts();
    simplify();
    best_.plan.strategy = "best";
    return best_.plan;
  }

 private:
  struct Found {
    Time time = never;
    Plan plan;
  };

  bool done() const { return best_.time <= bound_ || replayed_ >= limit_; }

  // From the start of the slowest worker's backward pass to its next: that worker decides (no jitter).
  Timeline timeline(const Plan& plan) {
    const Unrolled unrolled = unroll(profile_, plan, {WorkerClass{1, {0}}}, cost_.compression());
    replayed_ += unrolled.graph.tasks().size();
    std::vector<Stream> streams;
    SerialChannel serial(communication_.stages);
    FairChannel fair(communication_.stages);
    Server& network = fair_ ? static_cast<Server&>(fair) : serial;
    Timeline result = replay(unrolled.graph, resources_of(unrolled, plan, streams, network, Time(0)));
    first_block_ = unrolled.block(0);
    return result;
  }

  Time evaluate(const Plan& plan) {
    const Timeline result = timeline(plan);
    return result.spans[2 * profile_.layers.size()].end;  // the last layer's forward
  }

  // Keeps the plan where it is faster than what `than` holds, and as the best of all where it is that.
  bool consider(const Plan& plan, Found& than) {
    const Time time = evaluate(plan);
    if (time >= than.time) return false;
    than = {time, plan};
    if (time < best_.time) best_ = than;
    return true;
  }

  // The blocks in the order in which the replay admitted them.
  Plan as_admitted(const Plan& plan) {
    const Timeline result = timeline(plan);
    std::vector<std::size_t> order(plan.blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](std::size_t i) {
      const Span& span = result.spans[first_block_ + i];
      return std::tuple(span.start,
                        plan.order == Order::Priority     ? plan.blocks[i].priority
                        : plan.order == Order::FirstReady ? span.ready.count()
                                                          : 0,
                        i);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    Plan listed = plan;
    listed.order = Order::AsListed;
    for (std::size_t i = 0; i < order.size(); ++i) listed.blocks[i] = plan.blocks[order[i]];
    return listed;
  }

  // The plan; without its clock and with the layers' own gates; in the order that this made, with other windows; taken
  // apart into two stages. The fastest of them is a start for moves.
  void consider_with_variants(Plan plan) {
    if (plan.stages == Stages::Split && !splits_) return;
    Found start;
    consider(plan, start);
    plan.tick = Time(0);
    plan.release = Release::Layer;
    plan.barrier = Barrier::Layer;
    if (!done()) consider(plan, start);
    if (plan.stages == Stages::AllReduce && plan.order != Order::AsListed) plan = as_admitted(plan);
    consider_windows(plan, start);
    if (splits_ && plan.stages == Stages::AllReduce && plan.blocks.size() < 1000) {
      Found apart;
      consider_windows(taken_apart(plan), apart);
      starts_.push_back(std::move(apart));
    }
    starts_.push_back(std::move(start));
  }

  void consider_windows(Plan plan, Found& start) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4},
                                     std::int64_t{8}, std::int64_t{16}, Window::unlimited}) {
      if (done()) return;
      plan.window = {.count = count};
      consider(plan, start);
    }
  }

  Plan taken_apart(Plan plan) const {
    plan.stages = Stages::Split;
    plan.order = Order::Priority;
    for (Block& block : plan.blocks) {
      block.priority = std::numeric_limits<std::int64_t>::max();
      for (const Slice& slice : block.slices)
        block.priority = std::min<std::int64_t>(block.priority, profile_.tensors[slice.tensor].layer);
    }
    return plan;
  }

  // The strategies that have a size to choose, over sizes.
  void vary_options() {
    StrategyOptions options = scenario_.options.strategy;
    for (Bytes size = 256'000; size <= 64'000'000; size *= 2) {
      if (!fair_ && size < 4'000'000) continue;  // small slices help where blocks share
      options.partition = options.threshold = options.bucket_cap = size;
      for (const char* name : {"dear", "ddp", "bytescheduler"}) {
        if (done()) return;
        consider_with_variants(make_plan(find_strategy(name, {}), {profile_, cost_, options}));
      }
    }
  }

  // Moves from the fastest starts, which share what is left of the budget.
  void improve_starts() {
    constexpr std::size_t most = 6;
    std::stable_sort(starts_.begin(), starts_.end(), [](const Found& a, const Found& b) { return a.time < b.time; });
    const auto same = [](const Found& a, const Found& b) {
      return a.time == b.time && a.plan.blocks.size() == b.plan.blocks.size();
    };
    starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
    starts_.resize(std::min(most, starts_.size()));
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      limit_ = replayed_ + (budget - std::min(budget, replayed_)) / (starts_.size() - i);
      while (!done() && improve(starts_[i])) {
      }
    }
  }

  // One round of moves at every place: merge with the next, change places with it, cut in two. Whether any was better.
  bool improve(Found& found) {
    bool better = false;
    for (std::size_t i = 0; i < found.plan.blocks.size() && !done(); ++i) {
      if (i + 1 < found.plan.blocks.size()) better |= consider(merged(found.plan, i), found);
      if (i + 1 < found.plan.blocks.size()) better |= consider(swapped(found.plan, i), found);
      if (found.plan.blocks[i].bytes() > 1) better |= consider(halved(found.plan, i), found);
    }
    const std::int64_t now = found.plan.window.count;
    for (const std::int64_t count : {now - 1, now == Window::unlimited ? 0 : now + 1}) {
      if (done() || count < 1) continue;
      Plan plan = found.plan;
      plan.window.count = count;
      better |= consider(plan, found);
    }
    return better;
  }

  static Plan merged(Plan plan, std::size_t i) {
    Block& block = plan.blocks[i];
    for (const Slice& slice : plan.blocks[i + 1].slices) {
      const auto before = std::find_if(block.slices.begin(), block.slices.end(), [&](const Slice& one) {
        return one.tensor == slice.tensor && one.offset + one.bytes == slice.offset;
      });
      if (before == block.slices.end())
        block.slices.push_back(slice);
      else
        before->bytes += slice.bytes;
    }
    block.priority = std::min(block.priority, plan.blocks[i + 1].priority);
    plan.blocks.erase(plan.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return plan;
  }

  static Plan swapped(Plan plan, std::size_t i) {
    std::swap(plan.blocks[i], plan.blocks[i + 1]);
    std::swap(plan.blocks[i].priority, plan.blocks[i + 1].priority);
    return plan;
  }

  static Plan halved(Plan plan, std::size_t i) {
    Block first{{}, plan.blocks[i].priority}, second = first;
    Bytes left = plan.blocks[i].bytes() / 2;
    for (const Slice& slice : plan.blocks[i].slices) {
      const Bytes bytes = std::min(left, slice.bytes);
      if (bytes > 0) first.slices.push_back({slice.tensor, slice.offset, bytes});
      if (bytes < slice.bytes) second.slices.push_back({slice.tensor, slice.offset + bytes, slice.bytes - bytes});
      left -= bytes;
    }
    plan.blocks[i] = first;
    plan.blocks.insert(plan.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
    return plan;
  }

  // As fast with less: fewer collectives, and fewer of them in flight.
  void simplify() {
    const auto keeps = [&](const Plan& plan) {
      if (replayed_ >= budget + budget / 2 || evaluate(plan) > best_.time) return false;
      best_.plan = plan;
      return true;
    };
    for (std::size_t i = 0; i + 1 < best_.plan.blocks.size();)
      if (!keeps(merged(best_.plan, i))) ++i;
    for (std::int64_t count = 1; count < best_.plan.window.count && count <= 64; ++count) {
      Plan plan = best_.plan;
      plan.window = {.count = count};
      if (keeps(plan)) break;
    }
  }

  const Scenario& scenario_;
  const Communication& communication_;
  Profile profile_;
  BlockCost cost_;
  bool fair_;
  bool splits_;  // whether there are halves of the collective, with prices of their own
  Time bound_{0};
  Found best_;
  std::vector<Found> starts_;
  std::size_t replayed_ = 0, limit_ = budget / 2;
  TaskId first_block_ = 0;
};

}  // namespace

Plan find_best(const Scenario& scenario, const Communication& communication) {
  const Plan found = Search(scenario, communication).run();
  require_complete(found, scenario.profile);
  // Where the search does not see what will be simulated (luck, other fidelities), the others are compared with it
  // there: but not message by message, which takes too long.
  const bool seen = !scenario.stragglers.jitter && communication.carrier.fidelity == "alpha-beta";
  if (seen || communication.carrier.fidelity == "message") return found;
  Plan best = found;
  double least = simulate(scenario, found).metrics.iteration_s;
  for (const Strategy& strategy : strategies()) {
    if (!strategy.plan || (strategy.stages == Stages::Split && !communication.carrier.algorithm->splits &&
                           !gathers(communication.carrier)))
      continue;
    Scenario other = scenario;
    other.strategy = &strategy;
    const Result result = simulate(other);
    if (result.metrics.iteration_s >= least) continue;
    least = result.metrics.iteration_s;
    best = result.plan;
    best.strategy = "best";
  }
  return best;
}

}  // namespace allreplay
