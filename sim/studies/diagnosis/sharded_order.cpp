#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/studies/diagnosis/job_graph.hpp"
#include "sim/studies/diagnosis/job_replay.hpp"

namespace allreplay {

namespace {

using OpKey = std::tuple<OpKind, std::int32_t, std::uint32_t, std::uint16_t>;

OpKey op_key(const MeasuredOp& op) { return {op.kind, op.chunk, op.seq, op.part}; }

bool is_pass(OpKind kind) { return kind == OpKind::ForwardCompute || kind == OpKind::BackwardCompute; }

std::string op_name(const MeasuredOp& op) { return sharded_op_name(op.kind, op.chunk, op.seq); }

bool is_reduction(OpKind kind) {
  return is_unit_reduction(kind) || kind == OpKind::GradsReduceScatter || kind == OpKind::SeparateGradsAllReduce;
}

// True for collectives that may be in the middle of a pass, or of the update.
bool is_awaited(OpKind kind) { return !is_compute(kind) && !is_gather(kind) && !is_reduction(kind); }

// Derives the dependencies of one step. Ops are numbered as in the graph.
class StepRules {
 public:
  StepRules(const MeasuredSteps& job, std::size_t step, const std::vector<std::vector<std::uint32_t>>& ops_of_replica)
      : graph_(job.graph),
        start_(job.start.data() + step * graph_.ops.size()),
        end_(job.end.data() + step * graph_.ops.size()),
        begin_(start_, start_ + graph_.ops.size()),
        place_(graph_.ops.size()),
        followed_(graph_.ops.size()) {
    for (const auto& ops : ops_of_replica) add_replica(ops);
  }

  // Returns the dependencies without `chained_gap`. If they are cyclic, `order` lacks groups.
  ShardedStep run() {
    ShardedStep step;
    const std::vector<double> moves = find_lengths(step);
    step.before_first = {0};
    for (std::uint32_t op = 0; op < graph_.ops.size(); ++op) {
      std::vector<std::uint32_t>& before = followed_[op];
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      double ready = 0;
      for (const std::uint32_t one : before) ready = std::max(ready, moves[graph_.group_of[one]] + step.length[one]);
      step.gap.push_back(std::max(0.0, begin_[op] - ready));
      step.before.insert(step.before.end(), before.begin(), before.end());
      step.before_first.push_back(static_cast<std::uint32_t>(step.before.size()));
    }
    sort_groups(step);
    return step;
  }

 private:
  using Unit = std::tuple<OpKind, std::int32_t, std::uint32_t>;  // kind, micro-batch, unit

  // The latest end of the ops seen so far that had ended at some time.
  class LastEnded {
   public:
    explicit LastEnded(const double* end)
        : later_([end](std::uint32_t a, std::uint32_t b) { return end[a] > end[b]; }), end_(end), running_(later_) {}
    void add(std::uint32_t op) { running_.push(op); }
    std::optional<std::uint32_t> at(double time) {
      for (; !running_.empty() && end_[running_.top()] <= time; running_.pop()) last_ = running_.top();
      return last_;
    }

   private:
    using Later = std::function<bool(std::uint32_t, std::uint32_t)>;
    Later later_;
    const double* end_;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, Later> running_;
    std::optional<std::uint32_t> last_;
  };

  // An op that starts later is never waited for: whatever it was measured for, this op did without.
  void precede(std::uint32_t before, std::uint32_t after) {
    if (place_[before] < place_[after]) followed_[after].push_back(before);
  }

  // The rules of docs/diagnosis.md for one rank.
  void add_replica(std::vector<std::uint32_t> ops) {
    std::sort(ops.begin(), ops.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(start_[a], end_[a], a) < std::tuple(start_[b], end_[b], b);
    });
    std::map<std::uint32_t, std::uint32_t> last;  // op, by stream
    std::map<Unit, std::uint32_t> units;          // collectives, and last parts of backward computes
    LastEnded computed(end_), others(end_);
    for (std::uint32_t place = 0; place < ops.size(); ++place) {
      const std::uint32_t op = ops[place];
      const JobOp& one = graph_.ops[op];
      place_[op] = place;
      if (const auto [before, is_first] = last.emplace(stream_of(one), op); !is_first) {
        precede(before->second, op);
        if (!is_compute(one.kind)) begin_[op] = std::max(begin_[op], end_[before->second]);
        before->second = op;
      }
      if (const auto before = (is_compute(one.kind) ? others : computed).at(start_[op])) precede(*before, op);
      if (is_compute(one.kind)) computed.add(op);
      if (is_awaited(one.kind)) others.add(op);
      if (one.kind == OpKind::BackwardCompute)
        units[{one.kind, static_cast<std::int32_t>(one.seq), static_cast<std::uint32_t>(one.chunk)}] = op;
      else if (!is_compute(one.kind))
        units[{one.kind, one.chunk, one.seq}] = op;
    }
    std::uint32_t last_pass = 0;
    for (const std::uint32_t op : ops)
      if (is_pass(graph_.ops[op].kind)) last_pass = place_[op];
    bool updated = false, ended = false;
    for (const std::uint32_t op : ops) {
      const JobOp& one = graph_.ops[op];
      const auto follow = [&](const Unit& unit) {
        if (const auto found = units.find(unit); found != units.end()) precede(found->second, op);
      };
      if (is_pass(one.kind))
        follow({one.kind == OpKind::ForwardCompute ? OpKind::UnitForwardGather : OpKind::UnitBackwardGather,
                static_cast<std::int32_t>(one.seq), static_cast<std::uint32_t>(one.chunk)});
      if (is_unit_reduction(one.kind)) follow({OpKind::BackwardCompute, one.chunk, one.seq});
      if (one.kind == OpKind::UnitReplicate) follow({OpKind::UnitReduce, one.chunk, one.seq});
      // After the passes, such as for the norm of the gradients.
      if (is_awaited(one.kind) && place_[op] > last_pass && !std::exchange(ended, true))
        for (const auto& [unit, reduction] : units)
          if (is_reduction(std::get<0>(unit)) && end_[reduction] <= start_[op]) precede(reduction, op);
      if (one.kind == OpKind::Optimizer && !std::exchange(updated, true))
        for (const auto& [unit, reduction] : units)
          if (is_reduction(std::get<0>(unit))) precede(reduction, op);
    }
  }

  // Returns when each group moves: at its last arrival.
  std::vector<double> find_lengths(ShardedStep& step) const {
    std::vector<double> moves;
    step.length.resize(graph_.ops.size());
    for (std::size_t group = 0; group < graph_.groups(); ++group) {
      const std::uint32_t first = graph_.group_first[group], behind = graph_.group_first[group + 1];
      moves.push_back(*std::max_element(begin_.begin() + first, begin_.begin() + behind));
      const double length = *std::min_element(end_ + first, end_ + behind) - moves.back();
      for (std::uint32_t op = first; op < behind; ++op) step.length[op] = length < least_own ? 0 : length;
    }
    return moves;
  }

  // Sorts the groups topologically (Kahn's algorithm).
  void sort_groups(ShardedStep& step) const {
    std::vector<std::uint32_t> needed(graph_.groups());
    std::vector<std::vector<std::uint32_t>> followers(graph_.ops.size());  // groups
    for (std::uint32_t op = 0; op < graph_.ops.size(); ++op)
      for (const std::uint32_t before : step.followed_by(op)) {
        followers[before].push_back(graph_.group_of[op]);
        ++needed[graph_.group_of[op]];
      }
    for (std::uint32_t group = 0; group < graph_.groups(); ++group)
      if (needed[group] == 0) step.order.push_back(group);
    for (std::size_t next = 0; next < step.order.size(); ++next)
      for (std::uint32_t op = graph_.group_first[step.order[next]]; op < graph_.group_first[step.order[next] + 1]; ++op)
        for (const std::uint32_t follower : followers[op])
          if (--needed[follower] == 0) step.order.push_back(follower);
  }

  const JobGraph& graph_;
  const double *start_, *end_;
  std::vector<double> begin_;         // by op, its start, but no earlier than the end of the op before it on its stream
  std::vector<std::uint32_t> place_;  // by op, in its rank's order of starts
  std::vector<std::vector<std::uint32_t>> followed_;
};

// Returns when each replica's updates end or, without updates, its last op.
std::vector<double> last_ends(const JobGraph& graph, const double* end) {
  std::vector<double> ends(graph.replicas, -std::numeric_limits<double>::infinity());
  for (const std::uint32_t op : last_ops(graph)) {
    double& latest = ends[graph.ops[op].replica];
    latest = std::max(latest, end[op]);
  }
  return ends;
}

class ShardedLayout {
 public:
  explicit ShardedLayout(MeasuredJob job) : job_(std::move(job)), ops_(job_.ops) {}

  MeasuredSteps run() && {
    std::sort(ops_.begin(), ops_.end(), [](const MeasuredOp& a, const MeasuredOp& b) {
      return std::tuple(a.step, a.replica, op_key(a)) < std::tuple(b.step, b.replica, op_key(b));
    });
    check_places();
    take_model();
    require_same_ops();
    lay_out();
    fill();
    for (std::size_t step = 0; step < result_.steps.size(); ++step) add_step(step);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const MeasuredOp& at, const std::string& wrong, std::string_view right) const {
    throw InputError(job_.place(at), wrong, right);
  }

  void check_places() {
    JobGraph& graph = result_.graph;
    graph.stages = 1;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const MeasuredOp& op = ops_[i];
      graph.replicas = std::max(graph.replicas, op.replica + 1);
      if (op.stage > 0 || (op.kind >= OpKind::ForwardSend && op.kind <= OpKind::BackwardRecv))
        fail(op,
             op.stage > 0 ? "a job with units has one stage"
                          : fmt::format("a job with units has no {}", name_of(op.kind)),
             "computes, collectives and updates, all of stage 0");
      if (i > 0 && op.step == ops_[i - 1].step && op.replica == ops_[i - 1].replica &&
          op_key(op) == op_key(ops_[i - 1]))
        fail(std::max(op, ops_[i - 1], [](const auto& a, const auto& b) { return a.entry < b.entry; }),
             fmt::format("{} of replica {} in step {} appears twice", op_name(op), op.replica, op.step),
             "each op once: chunk is a compute's unit and a collective's micro-batch");
      if (result_.steps.empty() || result_.steps.back() != op.step) result_.steps.push_back(op.step);
    }
    if (graph.replicas > ops_.size())
      throw InputError({job_.files.front(), ""}, fmt::format("has fewer ops than replicas ({})", graph.replicas),
                       "replicas count from 0");
  }

  // Takes the ops of replica 0 in the first step as those that all have.
  void take_model() {
    const auto end = std::find_if(ops_.begin(), ops_.end(), [&](const MeasuredOp& op) {
      return op.step != result_.steps.front() || op.replica != 0;
    });
    model_.assign(ops_.begin(), end);
    for (const OpKind kind : {OpKind::ForwardCompute, OpKind::BackwardCompute})
      if (std::none_of(model_.begin(), model_.end(), [kind](const MeasuredOp& op) { return op.kind == kind; }))
        throw InputError({job_.files.front(), ""}, fmt::format("replica 0 has no {}", name_of(kind)),
                         "forward and backward computes of each unit");
  }

  void require_same_ops() const {
    constexpr auto right = "the same ops on all replicas, in all steps";
    std::size_t at = 0;
    for (const std::int64_t step : result_.steps)
      for (std::uint32_t replica = 0; replica < result_.graph.replicas; ++replica) {
        const auto is_here = [&] { return at < ops_.size() && ops_[at].step == step && ops_[at].replica == replica; };
        const auto refuse_unexpected = [&] {
          fail(ops_[at],
               fmt::format("step {} of replica 0 has no {}, which replica {} has in step {}", result_.steps.front(),
                           op_name(ops_[at]), replica, step),
               right);
        };
        for (const MeasuredOp& model : model_) {
          if (is_here() && op_key(ops_[at]) < op_key(model)) refuse_unexpected();
          if (!is_here() || op_key(ops_[at]) != op_key(model))
            throw InputError(
                {job_.files.front(), ""},
                fmt::format("step {} of replica {} has no {}, which others have", step, replica, op_name(model)),
                right);
          ++at;
        }
        if (is_here()) refuse_unexpected();
      }
  }

  // The op of a replica in a step. REQUIRES: require_same_ops().
  const MeasuredOp& at(std::size_t step, std::uint32_t replica, std::size_t op) const {
    return ops_[(step * result_.graph.replicas + replica) * model_.size() + op];
  }

  // Numbers the ops: by op of the model, then by group of ranks, whose members are adjacent.
  void lay_out() {
    JobGraph& graph = result_.graph;
    graph.group_first = {0};
    for (std::size_t i = 0; i < model_.size(); ++i) {
      std::map<std::uint32_t, std::vector<std::uint32_t>> groups;  // replicas
      for (std::uint32_t replica = 0; replica < graph.replicas; ++replica)
        groups[is_compute(model_[i].kind) ? replica : at(0, replica, i).group].push_back(replica);
      for (const auto& [group, replicas] : groups) {
        for (const std::uint32_t replica : replicas) {
          const MeasuredOp& op = at(0, replica, i);
          graph.group_of.push_back(static_cast<std::uint32_t>(graph.group_first.size() - 1));
          graph.ops.push_back({replica, 0, op.seq, op.chunk, op.kind, op.part, op.stream, op.group});
          model_op_.push_back(i);
        }
        graph.group_first.push_back(static_cast<std::uint32_t>(graph.ops.size()));
      }
    }
    ops_of_replica_ = ops_by_replica(graph);
  }

  void fill() {
    const JobGraph& graph = result_.graph;
    for (std::size_t step = 0; step < result_.steps.size(); ++step) {
      Time first = at(step, 0, 0).start;
      for (std::uint32_t op = 0; op < graph.ops.size(); ++op)
        first = std::min(first, at(step, graph.ops[op].replica, model_op_[op]).start);
      starts_.push_back(first);
      for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
        const MeasuredOp& one = at(step, graph.ops[op].replica, model_op_[op]);
        if (one.group != graph.ops[op].group)
          fail(one,
               fmt::format("{} of replica {} is in another group than in step {}", op_name(one), one.replica,
                           result_.steps.front()),
               "the same groups in all steps");
        result_.start.push_back(static_cast<double>((one.start - first).count()));
        result_.end.push_back(static_cast<double>((one.start - first + one.duration).count()));
      }
    }
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
      const auto said = job_.ranks.find({replica, 0});
      result_.ranks.push_back(said != job_.ranks.end() ? said->second : replica);
    }
    result_.notes = std::move(job_.notes);
    result_.file = job_.files.front();
    result_.unit_sizes = std::move(job_.unit_sizes);
    result_.unit_names = std::move(job_.unit_names);
    result_.groups = std::move(job_.groups);
    result_.precision = job_.precision;
  }

  void add_step(std::size_t step) {
    ShardedStep rules = StepRules(result_, step, ops_of_replica_).run();
    if (rules.order.size() < result_.graph.groups()) fail_with_cycle(step, rules);
    if (step > 0) chain(step, rules);
    result_.sharded.push_back(std::move(rules));
  }

  // If on every rank the step begins after the update of the step before, its first ops follow that update.
  void chain(std::size_t step, ShardedStep& rules) const {
    const JobGraph& graph = result_.graph;
    const double ahead = static_cast<double>((starts_[step] - starts_[step - 1]).count());
    const std::vector<double> before = last_ends(graph, result_.end.data() + (step - 1) * graph.ops.size());
    std::vector<double> gaps(graph.ops.size(), 0.0);
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      if (!rules.followed_by(op).empty()) continue;
      gaps[op] = result_.start[step * graph.ops.size() + op] + ahead - before[graph.ops[op].replica];
      if (gaps[op] < 0) return;
    }
    rules.chained_gap = std::move(gaps);
    rules.ahead = ahead;
  }

  // Names an op of a cycle: follows dependencies back from a group that is not in the order, until one repeats.
  [[noreturn]] void fail_with_cycle(std::size_t step, const ShardedStep& rules) const {
    const JobGraph& graph = result_.graph;
    std::vector<bool> sorted(graph.groups()), seen(graph.groups());
    for (const std::uint32_t group : rules.order) sorted[group] = true;
    auto group = static_cast<std::uint32_t>(std::find(sorted.begin(), sorted.end(), false) - sorted.begin());
    std::uint32_t waiting = graph.group_first[group];
    while (!seen[group]) {
      seen[group] = true;
      for (std::uint32_t op = graph.group_first[group]; op < graph.group_first[group + 1]; ++op)
        for (const std::uint32_t before : rules.followed_by(op))
          if (!sorted[graph.group_of[before]]) waiting = before;
      group = graph.group_of[waiting];
    }
    const JobOp& one = graph.ops[waiting];
    fail(at(step, one.replica, model_op_[waiting]),
         fmt::format("{} of replica {} waits for itself in step {}: ranks ran collectives in another order",
                     sharded_op_name(one.kind, one.chunk, one.seq), one.replica, result_.steps[step]),
         "start times of one clock, and collectives in the same order on all ranks");
  }

  MeasuredJob job_;
  std::vector<MeasuredOp>& ops_;
  std::vector<MeasuredOp> model_;
  std::vector<std::size_t> model_op_;  // by op, its index in model_
  std::vector<std::vector<std::uint32_t>> ops_of_replica_;
  std::vector<Time> starts_;  // by step
  MeasuredSteps result_;
};

}  // namespace

std::string sharded_op_name(OpKind kind, std::int32_t chunk, std::uint32_t seq) {
  return is_pass(kind) ? fmt::format("{} of unit {}, micro-batch {}", name_of(kind), chunk, seq)
         : chunk > 0   ? fmt::format("{} {} of micro-batch {}", name_of(kind), seq, chunk)
                       : fmt::format("{} {}", name_of(kind), seq);
}

std::uint32_t stream_of(const JobOp& op) {
  constexpr std::uint32_t first_default = 1 << 16;
  if (op.stream > 0) return op.stream;
  if (is_compute(op.kind)) return 0;
  return first_default + (is_gather(op.kind)                 ? 0U
                          : op.kind == OpKind::UnitReduce    ? 1U
                          : op.kind == OpKind::UnitReplicate ? 2U
                                                             : 3U + static_cast<std::uint32_t>(op.kind));
}

bool is_sharded(const MeasuredJob& job) {
  return std::any_of(job.ops.begin(), job.ops.end(), [](const MeasuredOp& op) { return is_sharded_kind(op.kind); });
}

MeasuredSteps lay_out_sharded(MeasuredJob job) { return ShardedLayout(std::move(job)).run(); }

}  // namespace allreplay
