#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/output/view/pass_parts.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

namespace {

constexpr int of_others = 0;  // the process of events and background traffic; processes of jobs follow

std::string microseconds(Time time) { return fmt::format("{:.6f}", static_cast<double>(time.count()) * 1e-6); }

// The times from which each thread of a lane is free.
class Threads {
 public:
  std::size_t take(const Span& span) {
    for (std::size_t i = 0; i < free_.size(); ++i)
      if (free_[i] <= span.start) return free_[i] = span.end, i;
    free_.push_back(span.end);
    return free_.size() - 1;
  }

 private:
  std::vector<Time> free_;
};

class JobsTrace {
 public:
  JobsTrace(const JobsResult& result, const JobsFile& file, const JobsRecord& record)
      : result_(result), file_(file), record_(record) {}

  std::string text() {
    for (std::size_t job = 0; job < result_.jobs.size(); ++job) add_job(job);
    add_others();
    return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n", text_);
  }

 private:
  void add(const std::string& event) { text_ += (text_.empty() ? "" : ",\n") + event; }
  void name(const char* what, int process, std::size_t thread, const std::string& name) {
    add(fmt::format(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, thread,
                    json_text(name)));
  }
  void slice(const std::string& name, int process, std::size_t thread, Time from, Time to, std::int64_t iteration = 0) {
    if (to <= from) return;
    add(fmt::format(R"({{"name":{},"ph":"X","pid":{},"tid":{},"ts":{},"dur":{}{}}})", json_text(name), process, thread,
                    microseconds(from), microseconds(to - from),
                    iteration > 0 ? fmt::format(R"(,"args":{{"iteration":{}}})", iteration) : ""));
  }

  void add_job(std::size_t number) {
    const SeatedJob& job = result_.jobs[number].seated;
    const JobsRecord::Job& recorded = record_.jobs[number];
    const Unrolled& unrolled = recorded.unrolled;
    const int process = static_cast<int>(number) + 1;
    name("process_name", process, 0, job.name);
    for (std::size_t c = 0; c < job.classes.size(); ++c) {
      name("thread_name", process, c, class_name(job, c));
      if (unrolled.separate_codec) name("thread_name", process, codec_thread(job, c), "codec, " + class_name(job, c));
    }
    std::vector<Threads> lanes(job.plan.lanes.size());
    std::vector<std::vector<std::size_t>> threads(lanes.size());
    for (const JobsRecord::Replay& replay : recorded.replays)
      for (TaskId id = 0; id < replay.spans.size(); ++id) {
        const Label& label = unrolled.labels[id];
        const Span& span = replay.spans[id];
        if (is_on_stream(label.kind)) {
          const bool codec = unrolled.separate_codec && is_codec(label.kind);
          for (const PassPart& part : parts_of(job.job, unrolled, id, span))
            slice(part_name(job, label, part.activity), process,
                  codec ? codec_thread(job, label.worker_class) : label.worker_class, part.start, part.end,
                  replay.number + 1);
        } else if (label.kind == Activity::Transfer) {
          const std::size_t lane = job.plan.transfers[label.item].lane, place = lanes[lane].take(span);
          if (place == threads[lane].size()) {
            threads[lane].push_back(first_lane_thread(job) + lane_threads_++);
            name("thread_name", process, threads[lane].back(), job.plan.lanes[lane].name);
          }
          slice(transfer_name(job, label.item), process, threads[lane][place], span.start, span.end, replay.number + 1);
        }
      }
    lane_threads_ = 0;
  }

  static std::size_t codec_thread(const SeatedJob& job, std::size_t worker_class) {
    return job.classes.size() + worker_class;
  }
  static std::size_t first_lane_thread(const SeatedJob& job) { return 2 * job.classes.size(); }

  static std::string class_name(const SeatedJob& job, std::size_t worker_class) {
    const WorkerClass& one = job.classes[worker_class];
    const std::string first =
        fmt::format("{}worker {}", job.plan.pipeline ? job.plan.roles[one.role].name + ", " : "", one.workers.front());
    return one.workers.size() == 1 ? first : fmt::format("{} workers like {}", one.workers.size(), first);
  }

  static std::string part_name(const SeatedJob& job, const Label& label, Activity part) {
    if (!is_inside_layer(part)) return work_name(job, label);
    return fmt::format("{} of {}", title_of(part), job.job.scenario.profile->layers[label.item].name);
  }

  static std::string work_name(const SeatedJob& job, const Label& label) {
    if (is_pass(label.kind))
      return fmt::format("{} {}", row_of(label.kind).action, job.job.scenario.profile->layers[label.item].name);
    if (label.kind == Activity::Update || label.kind == Activity::HostStep) return title_of(label.kind);
    return fmt::format("{}{} block {}", title_of(label.kind), is_copy(label.kind) ? " of" : "", label.item + 1);
  }

  static std::string transfer_name(const SeatedJob& job, std::uint32_t transfer) {
    const Transfer& one = job.plan.transfers[transfer];
    return one.payload.block == Payload::just_bytes
               ? to_string(one.op)
               : fmt::format("{} of block {}", to_string(one.op), one.payload.block + 1);
  }

  void add_others() {
    if (file_.events.empty() && file_.background.empty()) return;
    name("process_name", of_others, 0, "events and background");
    for (std::size_t i = 0; i < file_.events.size(); ++i) {
      const ClusterEvent& event = file_.events[i];
      if (event.at >= record_.end) continue;
      name("thread_name", of_others, i, event_name(event));
      slice(event_name(event), of_others, i, event.at, std::min(event.end(), record_.end));
    }
    for (std::size_t i = 0; i < record_.others.size(); ++i) {
      if (record_.others[i].empty()) continue;
      const Background& one = file_.background[i];
      const NamedLink& ends = one.link ? *one.link : *one.hosts;
      const std::string text = fmt::format("{} -> {}", ends.from.name, ends.to.name);
      name("thread_name", of_others, file_.events.size() + i, text);
      for (const JobsRecord::On& on : record_.others[i])
        slice(text, of_others, file_.events.size() + i, on.from, on.to);
    }
  }

  static std::string event_name(const ClusterEvent& event) {
    const std::string subject = event.link ? fmt::format("{} - {}", event.link->from.name, event.link->to.name)
                                : event.node
                                    ? event.node->name
                                    : fmt::format("{}, worker {}", event.worker->first.name, event.worker->second);
    if (event.down) return subject + " down";
    if (event.times) return fmt::format("{} x{:g}", subject, *event.times);
    if (event.rate) return fmt::format("{} at {:g} GB/s", subject, *event.rate * 1e-9);
    return std::isinf(*event.slowdown) ? subject + " stalls" : fmt::format("{} slowed {:g}x", subject, *event.slowdown);
  }

  const JobsResult& result_;
  const JobsFile& file_;
  const JobsRecord& record_;
  std::size_t lane_threads_ = 0;  // of the current job
  std::string text_;
};

}  // namespace

std::string jobs_trace(const JobsResult& result, const JobsFile& file, const JobsRecord& record) {
  return JobsTrace(result, file, record).text();
}

}  // namespace allreplay
