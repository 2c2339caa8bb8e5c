#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/studies/calibration/fit.hpp"
#include "sim/studies/diagnosis/job_replay.hpp"

namespace allreplay {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Lanes = std::array<double, question_lanes>;

// The ops that are equally long in an ideal step: the computes of a unit and pass, the instances of a collective.
using IdealKey = std::tuple<OpKind, std::int32_t, std::uint32_t, std::uint32_t>;

IdealKey ideal_key(const JobOp& op) {
  if (!is_compute(op.kind)) return {op.kind, 0, op.seq, op.group};
  if (op.kind == OpKind::ForwardCompute || op.kind == OpKind::BackwardCompute) return {op.kind, op.chunk, op.part, 0};
  return {op.kind, 0, 0, 0};
}

// The questions of a round, one per lane.
struct QuestionRound {
  std::vector<std::uint8_t> keeps, no_time;  // by op, a bit per lane
  // By op whose gap differs in some lanes: the op whose gap it takes there, or itself.
  std::map<std::uint32_t, std::array<std::uint32_t, question_lanes>> gaps;
};

QuestionRound questions_of_round(const MeasuredSteps& job, std::span<const Question> questions,
                                 const std::vector<std::vector<std::uint32_t>>& ops) {
  const JobGraph& graph = job.graph;
  QuestionRound round;
  for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
    std::uint8_t keeps = 0, no_time = 0;
    for (std::size_t lane = 0; lane < questions.size(); ++lane) {
      keeps = static_cast<std::uint8_t>(keeps | questions[lane].keeps(job, graph.ops[op]) << lane);
      const auto bit = questions[lane].no_time >> static_cast<unsigned>(graph.ops[op].kind) & 1;
      no_time = static_cast<std::uint8_t>(no_time | bit << lane);
    }
    round.keeps.push_back(keeps);
    round.no_time.push_back(no_time);
  }
  for (std::size_t lane = 0; lane < questions.size(); ++lane) {
    const Question& question = questions[lane];
    if (question.gaps_of < 0) continue;
    const auto& from = ops[static_cast<std::size_t>(question.gaps_as)];
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::uint32_t op = ops[static_cast<std::size_t>(question.gaps_of)][i];
      auto& taken = round.gaps[op];
      if (taken == std::array<std::uint32_t, question_lanes>{}) taken.fill(op);
      taken[lane] = from[i];
    }
  }
  return round;
}

// Replays the steps, in each lane another question.
class LaneReplay {
 public:
  LaneReplay(const MeasuredSteps& job, const JobDurations& durations, const QuestionRound& round)
      : job_(job),
        graph_(job.graph),
        durations_(durations),
        round_(round),
        last_(last_ops(job.graph)),
        end_(graph_.ops.size()),
        ended_(graph_.replicas) {}

  // Returns the step's duration by lane. REQUIRES: the step before was replayed.
  Lanes run(std::size_t step) {
    const ShardedStep& rules = job_.sharded[step];
    Lanes first;
    first.fill(infinity);
    for (const std::uint32_t group : rules.order) {
      Lanes start;
      start.fill(-infinity);
      for (std::uint32_t op = graph_.group_first[group]; op < graph_.group_first[group + 1]; ++op) {
        const Lanes ready = arrival(rules, op);
        for (std::size_t lane = 0; lane < question_lanes; ++lane) start[lane] = std::max(start[lane], ready[lane]);
        if (rules.followed_by(op).empty())
          for (std::size_t lane = 0; lane < question_lanes; ++lane) first[lane] = std::min(first[lane], ready[lane]);
      }
      for (std::uint32_t op = graph_.group_first[group]; op < graph_.group_first[group + 1]; ++op)
        for (std::size_t lane = 0; lane < question_lanes; ++lane)
          end_[op][lane] = start[lane] + duration(step, op, lane);
    }
    Lanes latest;
    latest.fill(-infinity);
    for (Lanes& ended : ended_) ended = latest;
    for (const std::uint32_t op : last_)
      for (std::size_t lane = 0; lane < question_lanes; ++lane) {
        latest[lane] = std::max(latest[lane], end_[op][lane]);
        double& ended = ended_[graph_.ops[op].replica][lane];
        ended = std::max(ended, end_[op][lane]);
      }
    for (std::size_t lane = 0; lane < question_lanes; ++lane) latest[lane] -= first[lane];
    return latest;
  }

 private:
  Lanes arrival(const ShardedStep& rules, std::uint32_t op) const {
    const auto before = rules.followed_by(op);
    const bool chained = before.empty() && !rules.chained_gap.empty();
    const std::vector<double>& gaps = chained ? rules.chained_gap : rules.gap;
    Lanes ready;
    ready.fill(before.empty() ? 0 : -infinity);
    if (chained) ready = ended_[graph_.ops[op].replica];
    for (const std::uint32_t one : before)
      for (std::size_t lane = 0; lane < question_lanes; ++lane) ready[lane] = std::max(ready[lane], end_[one][lane]);
    if (round_.gaps.empty() || !round_.gaps.contains(op)) {
      for (double& one : ready) one += gaps[op];
    } else {
      const auto& taken = round_.gaps.at(op);
      for (std::size_t lane = 0; lane < question_lanes; ++lane) ready[lane] += gaps[taken[lane]];
    }
    return ready;
  }

  double duration(std::size_t step, std::uint32_t op, std::size_t lane) const {
    if ((round_.no_time[op] >> lane & 1) != 0) return 0;
    return (round_.keeps[op] >> lane & 1) != 0 ? durations_.own[step * graph_.ops.size() + op]
                                               : durations_.ideal_by_op[op];
  }

  const MeasuredSteps& job_;
  const JobGraph& graph_;
  const JobDurations& durations_;
  const QuestionRound& round_;
  std::vector<std::uint32_t> last_;
  std::vector<Lanes> end_;    // by op
  std::vector<Lanes> ended_;  // by replica, the end of the step before
};

}  // namespace

JobDurations sharded_durations(const MeasuredSteps& job) {
  const JobGraph& graph = job.graph;
  JobDurations result;
  std::map<IdealKey, std::vector<double>> all;
  std::size_t in_groups = 0, early = 0;
  for (const ShardedStep& step : job.sharded) {
    result.own.insert(result.own.end(), step.length.begin(), step.length.end());
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      all[ideal_key(graph.ops[op])].push_back(step.length[op]);
      const std::uint32_t group = graph.group_of[op];
      in_groups += graph.group_first[group + 1] - graph.group_first[group] > 1;
      early += step.length[op] < 0;
    }
  }
  if (in_groups > 0) result.ended_early = static_cast<double>(early) / static_cast<double>(in_groups);
  std::map<IdealKey, double> ideal;
  for (auto& [key, lengths] : all)
    ideal[key] = is_compute(std::get<0>(key))
                     ? std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size())
                     : median(std::move(lengths));
  for (const JobOp& op : graph.ops) result.ideal_by_op.push_back(ideal[ideal_key(op)]);
  return result;
}

std::vector<std::vector<double>> sharded_times(const MeasuredSteps& job, const JobDurations& durations,
                                               std::span<const Question> questions,
                                               const std::function<void()>& advance) {
  std::vector<std::vector<double>> times(questions.size());
  const auto ops = ops_by_replica(job.graph);
  for (std::size_t first = 0; first < questions.size(); first += question_lanes) {
    const std::size_t count = std::min(question_lanes, questions.size() - first);
    const QuestionRound round = questions_of_round(job, questions.subspan(first, count), ops);
    LaneReplay replay(job, durations, round);
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      const Lanes lengths = replay.run(step);
      for (std::size_t lane = 0; lane < count; ++lane) times[first + lane].push_back(lengths[lane]);
      advance();
    }
  }
  return times;
}

ReplayedStep replay_sharded_step(const MeasuredSteps& job, std::size_t step,
                                 const std::function<double(std::uint32_t)>& duration) {
  const JobGraph& graph = job.graph;
  const ShardedStep& rules = job.sharded[step];
  ReplayedStep replayed;
  replayed.start.resize(graph.ops.size());
  replayed.end.resize(graph.ops.size());
  for (const std::uint32_t group : rules.order) {
    double start = -infinity;
    for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op) {
      const auto before = rules.followed_by(op);
      double ready = before.empty() ? 0 : -infinity;
      for (const std::uint32_t one : before) ready = std::max(ready, replayed.end[one]);
      replayed.start[op] = ready + rules.gap[op];
      start = std::max(start, replayed.start[op]);
    }
    for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op)
      replayed.end[op] = start + duration(op);
  }
  const std::vector<std::uint32_t> last = last_ops(graph);
  replayed.last = *std::max_element(
      last.begin(), last.end(), [&](std::uint32_t a, std::uint32_t b) { return replayed.end[a] < replayed.end[b]; });
  return replayed;
}

std::vector<std::uint32_t> sharded_critical_path(const MeasuredSteps& job, std::size_t step,
                                                 const ReplayedStep& replayed) {
  const JobGraph& graph = job.graph;
  std::vector<std::uint32_t> path{replayed.last};
  while (true) {
    const std::uint32_t group = graph.group_of[path.back()];
    std::uint32_t last = graph.group_first[group];  // to arrive
    for (std::uint32_t op = last; op < graph.group_first[group + 1]; ++op)
      if (replayed.start[op] > replayed.start[last]) last = op;
    const auto before = job.sharded[step].followed_by(last);
    if (before.empty()) return path;
    path.push_back(*std::max_element(before.begin(), before.end(), [&](std::uint32_t a, std::uint32_t b) {
      return replayed.end[a] < replayed.end[b];
    }));
  }
}

}  // namespace allreplay
