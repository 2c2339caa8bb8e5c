#include <algorithm>

#include "sim/replay/training/job.hpp"
#include "sim/replay/training/lower_bound.hpp"

namespace allreplay {

namespace {

// In the detailed fidelities, sends and collectives inside layers have no known lower bound and count as 0.
class PipelineBound {
 public:
  PipelineBound(const Job& job, const Plan& plan, const Unrolled& unrolled)
      : job_(job), plan_(plan), unrolled_(unrolled), pipeline_(*job.parallel->pipeline), profile_(bounding(job)) {}

  Time bound() const {
    Time most{0};
    const bool in_turn = plan_.pipeline->barrier == Barrier::Iteration && (plan_.together || !splits());
    for (std::uint32_t rank = 0; rank < plan_.roles.size(); ++rank) {
      const Time work = working(rank), update = updating(rank);
      most = std::max({most, add(work, update), add(exchanging(rank), update), sending(plan_, *job_.fabric, rank)});
      if (in_turn) most = std::max(most, add(work, around(rank)));
    }
    return most;
  }

 private:
  bool splits() const { return has(pipeline_.rows, Activity::BackwardInput); }

  bool exchanges() const { return plan_.pipeline->ep_overlap && !job_.choice.detailed(); }

  // Returns the time of the work on the compute stream: without token exchanges if they may overlap.
  Time computing(const Work& work) const {
    const Time time = time_of(work);
    if (!exchanges() || work.kind == Activity::BackwardWeight) return time;
    return time - job_.parallel->exchanges.of(work.kind, work.item).total;
  }

  // Returns the rank's token exchanges, which go one at a time.
  Time exchanging(std::uint32_t rank) const {
    Time sum{0};
    if (!exchanges()) return sum;
    for (const Work& work : plan_.roles[rank].program)
      if (is_pass(work.kind) && work.kind != Activity::BackwardWeight)
        sum = add(sum, job_.parallel->exchanges.of(work.kind, work.item).total);
    return sum;
  }

  // A slow GPU may wait less for its host, so waiting is not part of the bound there.
  static Shared<Profile> bounding(const Job& job) {
    Shared<Profile> profile = job.choice.detailed() ? job.parallel->layers_alone : Shared(job.parallel->profile);
    if (!profile->host.of_blocks()) return profile;
    const auto slows = [](double slowdown) { return slowdown != 1; };
    return std::ranges::any_of(job.parallel->slowdowns, slows) ? Shared(without_host_floors(*profile)) : profile;
  }

  Time time_of(const Work& work) const {
    const Layer& layer = profile_->layers[work.item];
    const Time weights = *job_.parallel->profile.layers[work.item].backward_weight;
    switch (work.kind) {
      case Activity::Forward:
        return layer.forward;
      case Activity::Backward:
        return layer.backward;
      case Activity::BackwardInput:
        return layer.backward - weights;
      case Activity::BackwardWeight:
        return weights;
      default:
        return Time(0);
    }
  }

  // Returns the time with the rank's slowdown.
  Time on(std::uint32_t rank, Time time) const { return scaled(time, job_.parallel->slowdowns[rank]); }

  Time working(std::uint32_t rank) const {
    Time sum{0};
    for (const Work& work : plan_.roles[rank].program)
      if (is_pass(work.kind)) sum = add(sum, on(rank, computing(work)));
    return sum;
  }

  Time updating(std::uint32_t rank) const {
    Time sum{0};
    for (std::size_t place = 0; place < unrolled_.works(rank); ++place)
      if (const TaskId id = unrolled_.work(rank, place);
          unrolled_.labels[id].kind == Activity::Update || unrolled_.labels[id].kind == Activity::HostStep)
        sum = add(sum, unrolled_.graph.tasks()[id].duration);
    return sum;
  }

  // Returns the time that the rank cannot use: before its first work, the first micro-batch passes all lower chunks;
  // after its last, their backward passes and the first chunk's update follow.
  Time around(std::uint32_t rank) const {
    const std::uint32_t lowest = pipeline_.chunks_of(rank).front();
    Time sum = updating(pipeline_.index.rank_of[0]);
    const bool back = !splits();
    for (std::uint32_t chunk = 0; chunk < lowest; ++chunk) {
      const std::uint32_t home = pipeline_.index.rank_of[chunk];
      for (LayerId layer = pipeline_.chunks[chunk].first; layer <= pipeline_.chunks[chunk].last; ++layer) {
        sum = add(sum, on(home, profile_->layers[layer].forward));
        if (back) sum = add(sum, on(home, profile_->layers[layer].backward));
      }
      sum = add(sum, send(chunk, chunk + 1));
      if (back) sum = add(sum, send(chunk + 1, chunk));
    }
    return sum;
  }

  Time send(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t sender = pipeline_.index.rank_of[from], receiver = pipeline_.index.rank_of[to];
    if (sender == receiver || job_.choice.detailed()) return Time(0);
    return job_.fabric->alone(job_.parallel->sends[std::min(from, to)],
                              {CollectiveOp::Send, job_.parallel->degrees.pairs(sender, receiver)});
  }

  const Job& job_;
  const Plan& plan_;
  const Unrolled& unrolled_;
  const Pipeline& pipeline_;
  Shared<Profile> profile_;
};

}  // namespace

std::optional<double> pipeline_bound(const Job& job, const Plan& plan, const Unrolled& unrolled) {
  const bool several = plan.sharding.shards_optimizer();
  if (job.choice.detailed() && several) return std::nullopt;
  return to_seconds(PipelineBound(job, plan, unrolled).bound());
}

}  // namespace allreplay
