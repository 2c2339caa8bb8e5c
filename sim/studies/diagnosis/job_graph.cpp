#include "sim/studies/diagnosis/job_graph.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace allreplay {

namespace {

constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();

auto key(const MeasuredOp& op) { return std::tuple(op.step, op.replica, op.stage, op.kind, op.seq); }

std::string worker_name(std::uint32_t replica, std::uint32_t stage) {
  return fmt::format("worker (replica {}, stage {})", replica, stage);
}

// Until find_order() sorts the ops they have raw numbers: op `i` of `stage`, by kind and seq, on `replica` is
// firsts_[stage] + i * replicas + replica.
class Layout {
 public:
  explicit Layout(MeasuredJob job) : job_(std::move(job)), ops_(job_.ops) {}

  MeasuredSteps run() && {
    std::sort(ops_.begin(), ops_.end(), [](const MeasuredOp& a, const MeasuredOp& b) { return key(a) < key(b); });
    count_places();
    take_models();
    require_same_ops();
    number();
    find_groups();
    find_order();
    MeasuredSteps result;
    fill(result);
    result.notes = std::move(job_.notes);
    result.file = job_.files.front();
    result.collectives = std::move(job_.collectives);
    return result;
  }

 private:
  [[noreturn]] void fail(const MeasuredOp& at, const std::string& wrong, std::string_view right) const {
    throw InputError(job_.place(at), wrong, right);
  }
  [[noreturn]] void fail(const std::string& wrong, std::string_view right) const {
    throw InputError({job_.files.front(), ""}, wrong, right);
  }

  // Counts steps, replicas and stages.
  void count_places() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      graph_.replicas = std::max(graph_.replicas, ops_[i].replica + 1);
      graph_.stages = std::max(graph_.stages, ops_[i].stage + 1);
      if (i > 0 && key(ops_[i - 1]) == key(ops_[i]))
        fail(std::max(ops_[i - 1], ops_[i], [](const auto& a, const auto& b) { return a.entry < b.entry; }),
             fmt::format("{} {} of {} in step {} appears twice", name_of(ops_[i].kind), ops_[i].seq,
                         worker_name(ops_[i].replica, ops_[i].stage), ops_[i].step),
             "each op once");
      if (steps_.empty() || steps_.back() != ops_[i].step) steps_.push_back(ops_[i].step);
    }
    require_all("replica", graph_.replicas, [](const MeasuredOp& op) { return op.replica; });
    require_all("stage", graph_.stages, [](const MeasuredOp& op) { return op.stage; });
  }

  template <class Number>
  void require_all(std::string_view noun, std::size_t count, const Number& number) const {
    std::vector<bool> known(count);
    for (const MeasuredOp& op : ops_) known[number(op)] = true;
    if (const auto absent = std::find(known.begin(), known.end(), false); absent != known.end())
      fail(fmt::format("there is no {} {}", noun, absent - known.begin()), fmt::format("{}s count from 0", noun));
  }

  // Takes the ops of each stage from replica 0 in the first step.
  void take_models() {
    const auto end = std::find_if(ops_.begin(), ops_.end(),
                                  [&](const MeasuredOp& op) { return op.step != steps_.front() || op.replica != 0; });
    auto at = ops_.begin();
    for (std::uint32_t stage = 0; stage < graph_.stages; ++stage) {
      const auto first = at;
      at = std::find_if(at, end, [stage](const MeasuredOp& op) { return op.stage != stage; });
      if (first == at)
        fail(fmt::format("{} has no op in step {}", worker_name(0, stage), steps_.front()), "every worker's ops");
      models_.emplace_back(first, at);
      const auto count = [&](OpKind kind) {
        return std::count_if(first, at, [kind](const MeasuredOp& op) { return op.kind == kind; });
      };
      for (const OpKind kind : {OpKind::ForwardCompute, OpKind::BackwardCompute})
        if (count(kind) == 0)
          fail(*first, fmt::format("stage {} has no {}", stage, name_of(kind)), "forward and backward computes");
      for (auto op = first; op != at; ++op) {
        const std::uint32_t expected = op == first || (op - 1)->kind != op->kind ? 0 : (op - 1)->seq + 1;
        if (op->seq != expected)
          fail(*op, fmt::format("stage {} has no {} {}", stage, name_of(op->kind), expected),
               "seq counts each kind from 0");
      }
    }
  }

  // Throws InputError unless every worker ran the ops of its stage in every step.
  void require_same_ops() const {
    std::size_t at = 0;
    for (const std::int64_t step : steps_)
      for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica)
        for (std::uint32_t stage = 0; stage < graph_.stages; ++stage) {
          for (const MeasuredOp& model : models_[stage]) {
            const auto expected = std::tuple(step, replica, stage, model.kind, model.seq);
            if (at == ops_.size() || key(ops_[at]) > expected)
              fail(fmt::format("step {} of {} has no {} {}, which others have", step, worker_name(replica, stage),
                               name_of(model.kind), model.seq),
                   "the same ops on all replicas, in all steps");
            if (key(ops_[at]) < expected) unexpected(ops_[at]);
            if (ops_[at].chunk != model.chunk)
              fail(ops_[at],
                   fmt::format("{} {} is in chunk {}, but in {} elsewhere", name_of(model.kind), model.seq,
                               ops_[at].chunk, model.chunk),
                   "the same ops on all replicas, in all steps");
            ++at;
          }
          const auto next = std::tuple(step, replica, stage + 1, OpKind::ForwardCompute, std::uint32_t{0});
          if (at < ops_.size() && key(ops_[at]) < next) unexpected(ops_[at]);
        }
  }

  void number() {
    for (const auto& model : models_) {
      firsts_.push_back(static_cast<std::uint32_t>(size_));
      size_ += model.size() * graph_.replicas;
    }
  }

  [[noreturn]] void unexpected(const MeasuredOp& op) const {
    fail(op,
         fmt::format("step {} of replica 0 has no {} {} on stage {}, which {} has in step {}", steps_.front(),
                     name_of(op.kind), op.seq, op.stage, worker_name(op.replica, op.stage), op.step),
         "the same ops on all replicas, in all steps");
  }

  std::uint32_t raw_number(std::uint32_t stage, std::size_t op, std::uint32_t replica) const {
    return static_cast<std::uint32_t>(firsts_[stage] + op * graph_.replicas + replica);
  }

  // Returns the index among the stage's ops, or `nothing`.
  std::size_t find(std::uint32_t stage, OpKind kind, std::uint32_t seq) const {
    const auto& model = models_[stage];
    const auto found =
        std::lower_bound(model.begin(), model.end(), std::pair(kind, seq),
                         [](const MeasuredOp& op, const auto& wanted) { return std::pair(op.kind, op.seq) < wanted; });
    return found != model.end() && found->kind == kind && found->seq == seq
               ? static_cast<std::size_t>(found - model.begin())
               : nothing;
  }

  // Sets leader_[op] to the first op of its group. A send leads its receive.
  void find_groups() {
    leader_.resize(size_);
    std::map<std::pair<OpKind, std::uint32_t>, std::pair<std::uint32_t, std::size_t>> firsts;  // stage and op
    for (std::uint32_t stage = 0; stage < graph_.stages; ++stage)
      for (std::size_t i = 0; i < models_[stage].size(); ++i) {
        const MeasuredOp& op = models_[stage][i];
        std::uint32_t lead_stage = stage;
        std::size_t lead = i;
        bool all_replicas = false;
        switch (op.kind) {
          case OpKind::ForwardSend:
            require_partner(op, stage + 1, OpKind::ForwardRecv);
            break;
          case OpKind::BackwardSend:
            require_partner(op, stage + graph_.stages - 1, OpKind::BackwardRecv);
            break;
          case OpKind::ForwardRecv:
            std::tie(lead_stage, lead) = require_partner(op, stage + graph_.stages - 1, OpKind::ForwardSend);
            break;
          case OpKind::BackwardRecv:
            std::tie(lead_stage, lead) = require_partner(op, stage + 1, OpKind::BackwardSend);
            break;
          case OpKind::ParamsAllGather:
          case OpKind::GradsReduceScatter:
          case OpKind::SeparateGradsAllReduce:
            all_replicas = true;
            break;
          case OpKind::EmbeddingGradsAllReduce:
          case OpKind::OptimizerClipMainGrad:
            all_replicas = op.kind == OpKind::OptimizerClipMainGrad;
            std::tie(lead_stage, lead) = firsts.emplace(std::pair(op.kind, op.seq), std::pair(stage, i)).first->second;
            break;
          default:
            break;
        }
        for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica)
          leader_[raw_number(stage, i, replica)] = raw_number(lead_stage, lead, all_replicas ? 0 : replica);
      }
  }

  std::pair<std::uint32_t, std::size_t> require_partner(const MeasuredOp& op, std::uint32_t stage, OpKind kind) const {
    stage %= graph_.stages;
    const std::size_t found = find(stage, kind, op.seq);
    if (found == nothing)
      fail(op,
           fmt::format("stage {} has no {} {} for the {} of stage {}", stage, name_of(kind), op.seq, name_of(op.kind),
                       op.stage),
           "as many sends as receives");
    return {stage, found};
  }

  // Sorts the groups topologically (Kahn's algorithm).
  void find_order() {
    std::vector<std::uint32_t> group(size_, nothing), leaders;  // group by leading op; leading op by group
    for (std::uint32_t op = 0; op < size_; ++op)
      if (leader_[op] == op) {
        group[op] = static_cast<std::uint32_t>(leaders.size());
        leaders.push_back(op);
      }
    // Members by group, and pairs of a group and an op that it depends on, as raw numbers.
    std::vector<std::vector<std::uint32_t>> members(leaders.size());
    for (std::uint32_t op = 0; op < size_; ++op) members[group[leader_[op]]].push_back(op);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> before;  // group, op
    std::vector<JobOp> raw_ops(size_);
    std::vector<bool> follows(size_);
    for (std::uint32_t stage = 0; stage < graph_.stages; ++stage) {
      for (std::size_t i = 0; i < models_[stage].size(); ++i)
        for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica) {
          const MeasuredOp& op = models_[stage][i];
          raw_ops[raw_number(stage, i, replica)] = {replica, stage, op.seq, op.chunk, op.kind};
        }
      const auto pairs = stage_order(models_[stage]);
      if (pairs.empty())
        fail(models_[stage].front(), fmt::format("stage {} has too many ops at the end of a step", stage),
             "a few, of the optimizer");
      for (const auto& [first, then] : pairs)
        for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica) {
          follows[raw_number(stage, then, replica)] = true;
          before.emplace_back(group[leader_[raw_number(stage, then, replica)]], raw_number(stage, first, replica));
        }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    std::vector<std::uint32_t> firsts(leaders.size() + 1, 0), needed(leaders.size());
    for (const auto& [then, op] : before) ++firsts[then + 1];
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      needed[i] = firsts[i + 1];
      firsts[i + 1] += firsts[i];
    }
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < leaders.size(); ++i)
      if (needed[i] == 0) ready.push_back(i);
    place_in_order(members, before, firsts, needed, follows, raw_ops, ready);
    if (ready.size() < leaders.size()) fail_with_cycle(leaders, group, before, firsts, raw_ops);
  }

  // Appends the ops of the groups that are ready, and of those that become ready with them.
  void place_in_order(const std::vector<std::vector<std::uint32_t>>& members,
                      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& before,
                      const std::vector<std::uint32_t>& firsts, std::vector<std::uint32_t>& needed,
                      const std::vector<bool>& follows, const std::vector<JobOp>& raw_ops,
                      std::vector<std::uint32_t>& ready) {
    std::vector<std::vector<std::uint32_t>> followers(size_);  // dependent groups, by op
    for (const auto& [then, op] : before) followers[op].push_back(then);
    place_.assign(size_, nothing);
    graph_.group_first = graph_.before_first = {0};
    for (std::size_t next = 0; next < ready.size(); ++next) {
      double earliest = -std::numeric_limits<double>::infinity();
      for (const std::uint32_t op : members[ready[next]]) {
        if (!follows[op]) earliest = 0;
        place_[op] = static_cast<std::uint32_t>(graph_.ops.size());
        graph_.ops.push_back(raw_ops[op]);
        graph_.group_of.push_back(static_cast<std::uint32_t>(next));
        for (const std::uint32_t follower : followers[op])
          if (--needed[follower] == 0) ready.push_back(follower);
      }
      graph_.earliest.push_back(earliest);
      graph_.group_first.push_back(static_cast<std::uint32_t>(graph_.ops.size()));
      for (std::uint32_t i = firsts[ready[next]]; i < firsts[ready[next] + 1]; ++i)
        graph_.before.push_back(place_[before[i].second]);
      graph_.before_first.push_back(static_cast<std::uint32_t>(graph_.before.size()));
    }
  }

  // Names an op of a cycle: follows dependencies back from a group that never became ready, until one repeats.
  [[noreturn]] void fail_with_cycle(const std::vector<std::uint32_t>& leaders, const std::vector<std::uint32_t>& group,
                                    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& before,
                                    const std::vector<std::uint32_t>& firsts, const std::vector<JobOp>& ops) const {
    std::uint32_t at = 0;
    while (place_[leaders[at]] != nothing) ++at;
    std::vector<bool> seen(leaders.size());
    std::uint32_t op = leaders[at];
    while (!seen[at]) {
      seen[at] = true;
      std::uint32_t i = firsts[at];
      while (place_[before[i].second] != nothing) ++i;
      op = before[i].second;
      at = group[leader_[op]];
    }
    const JobOp& one = ops[op];
    fail(fmt::format("{} {} of {} waits for itself: the ops' order in the first step is a cycle", name_of(one.kind),
                     one.seq, worker_name(one.replica, one.stage)),
         "start times of one clock, and seq in their order");
  }

  void fill(MeasuredSteps& result) {
    const std::size_t size = graph_.ops.size();
    result.start.resize(steps_.size() * size);
    result.end.resize(steps_.size() * size);
    std::size_t at = 0;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      Time first = ops_[at].start;
      for (std::size_t i = at; i < at + size; ++i) first = std::min(first, ops_[i].start);
      for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica)
        for (std::uint32_t stage = 0; stage < graph_.stages; ++stage)
          for (std::size_t i = 0; i < models_[stage].size(); ++i, ++at) {
            const std::size_t place = step * size + place_[raw_number(stage, i, replica)];
            result.start[place] = static_cast<double>((ops_[at].start - first).count());
            result.end[place] = static_cast<double>((ops_[at].start - first + ops_[at].duration).count());
          }
    }
    for (std::uint32_t stage = 0; stage < graph_.stages; ++stage)
      for (std::uint32_t replica = 0; replica < graph_.replicas; ++replica) {
        const auto said = job_.ranks.find({replica, stage});
        result.ranks.push_back(said != job_.ranks.end() ? said->second
                                                        : static_cast<std::int64_t>(result.ranks.size()));
      }
    result.steps = std::move(steps_);
    result.graph = std::move(graph_);
  }

  MeasuredJob job_;
  std::vector<MeasuredOp>& ops_;
  std::vector<std::int64_t> steps_;
  std::vector<std::vector<MeasuredOp>> models_;  // by stage; by kind and seq
  std::vector<std::uint32_t> firsts_;
  std::size_t size_ = 0;
  std::vector<std::uint32_t> leader_, place_;
  JobGraph graph_;
};

}  // namespace

std::string op_name(const MeasuredSteps& job, const JobOp& op) {
  return job.sharded.empty() ? fmt::format("{} {}", name_of(op.kind), op.seq)
                             : sharded_op_name(op.kind, op.chunk, op.seq);
}

MeasuredSteps lay_out(MeasuredJob job) {
  return is_sharded(job) ? lay_out_sharded(std::move(job)) : Layout(std::move(job)).run();
}

}  // namespace allreplay
