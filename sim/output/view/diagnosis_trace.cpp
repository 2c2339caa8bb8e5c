#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

namespace {

constexpr std::size_t threads_of_rank = 5;  // the straggler analyser's numbering

// Returns microseconds with six decimals, that is, to the picosecond.
std::string micros(double picoseconds) { return fmt::format("{:.6f}", picoseconds * 1e-6); }

class DiagnosisTrace {
 public:
  explicit DiagnosisTrace(const Diagnosis& known) : known_(known) {}

  std::string text() {
    const JobGraph& graph = known_.job.graph;
    name_threads(0, "replayed");
    name_threads(graph.replicas, "ideal");
    double start = 0, before = 0;
    for (std::size_t step = 0; step < known_.job.steps.size(); ++step) {
      const double* own = known_.durations.own.data() + step * graph.ops.size();
      const ReplayedStep replayed = replay_step(known_.job, step, [own](std::uint32_t op) { return own[op]; });
      // Consecutive steps keep their distance in time.
      if (step > 0 && !known_.job.sharded.empty() && !known_.job.sharded[step].chained_gap.empty())
        start = before + known_.job.sharded[step].ahead;
      before = start;
      add_step(replayed, start, known_.job.steps[step], 0, "replayed");
      start += *std::max_element(replayed.end.begin(), replayed.end.end());
    }
    const ReplayedStep ideal =
        replay_step(known_.job, 0, [&](std::uint32_t op) { return known_.durations.ideal_of(graph, op); });
    add_step(ideal, 0, known_.job.steps.front(), graph.replicas, "ideal");
    return "{\"traceEvents\": [\n" + text_ + "\n]}\n";
  }

 private:
  std::size_t thread(std::uint32_t replica, std::uint32_t stage) const {
    return threads_of_rank * static_cast<std::size_t>(known_.job.ranks[known_.job.worker(replica, stage)]);
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    if (!text_.empty()) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void name_threads(std::uint32_t first, std::string_view name) {
    const JobGraph& graph = known_.job.graph;
    for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
      add(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": "replica {}, {}"}}}})", first + replica,
          replica, name);
      for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
        add(R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": "PP rank {}, TP rank 0"}}}})",
            first + replica, thread(replica, stage), stage);
    }
  }

  // Returns the latest end of the ops on the same worker that the op waits for. Its group may start later, when the
  // last member is ready.
  double own_start(const ReplayedStep& step, std::uint32_t op) const {
    const JobGraph& graph = known_.job.graph;
    if (!known_.job.sharded.empty()) return step.start[op];
    std::optional<double> start;
    for (const std::uint32_t before : graph.followed_by(graph.group_of[op]))
      if (graph.ops[before].replica == graph.ops[op].replica && graph.ops[before].stage == graph.ops[op].stage)
        start = std::max(start.value_or(step.end[before]), step.end[before]);
    return start.value_or(0);
  }

  std::string sharded_arguments(const JobOp& op) const {
    std::string text;
    if (op.part > 0) text += fmt::format(R"(, "part": {})", op.part);
    if (op.stream > 0) text += fmt::format(R"(, "stream": {})", op.stream);
    if (op.group > 0) text += fmt::format(R"(, "group": {})", json_text(known_.job.groups[op.group]));
    return text;
  }

  void add_step(const ReplayedStep& step, double start, std::int64_t number, std::uint32_t first,
                std::string_view category) {
    const JobGraph& graph = known_.job.graph;
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      const JobOp& one = graph.ops[op];
      const double begin = own_start(step, op);
      add(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
          R"("args": {{"step": {}, "seq_id": {}, "model_chunk": {}{}}}}})",
          category, name_of(one.kind), first + one.replica, thread(one.replica, one.stage), micros(start + begin),
          micros(step.end[op] - begin), number, one.seq, one.chunk, sharded_arguments(one));
    }
  }

  const Diagnosis& known_;
  std::string text_;
};

}  // namespace

std::string diagnosis_trace(const Diagnosis& known) { return DiagnosisTrace(known).text(); }

}  // namespace allreplay
