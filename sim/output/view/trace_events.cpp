#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/json_value.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_rows.hpp"
#include "sim/output/view/traces.hpp"

namespace allreplay {

namespace {

// A name and its value in JSON.
using Field = std::pair<const char*, std::string>;

std::string json(const std::string& text) { return json_text(text); }

template <class Number>
std::string json(Number number) {
  return json_text(number);
}

std::string object(const std::vector<Field>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", name, value);
  return "{" + text + "}";
}

// Readers multiply microseconds by 1000 and truncate, which is not exact: 1.001 · 1000 is less than 1001. Returns the
// last nanosecond up to `time` that survives this, so that bars which touch still touch when read.
std::int64_t nanoseconds(Time time) {
  std::int64_t ns = time.count() / 1000;
  while (static_cast<std::int64_t>(static_cast<double>(ns) / 1000 * 1000) != ns) --ns;
  return ns;
}

std::string us(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }
std::string us(Time time) { return us(nanoseconds(time)); }

std::string metadata(const char* what, int pid, int tid, const std::string& name) {
  return object({{"name", json(what)},
                 {"ph", "\"M\""},
                 {"pid", json(pid)},
                 {"tid", json(tid)},
                 {"args", object({{"name", json(name)}})}});
}

// Links of one kind on which all transfers cause the same load.
struct LinksAlike {
  std::uint32_t kind;
  std::vector<double> seconds_per_byte;  // by LinkUsage::sent
  bool operator<(const LinksAlike& other) const {
    return std::tie(kind, seconds_per_byte) < std::tie(other.kind, other.seconds_per_byte);
  }
};

std::vector<LinksAlike> links_alike(const LinkUsage& usage, std::vector<std::string>& kinds) {
  kinds = usage.kinds;
  std::set<LinksAlike> all;
  const auto links = usage.topology->links();
  for (LinkId link = 0; link < links.size(); ++link) {
    LinksAlike one{usage.kind_of[link], {}};
    for (const LinkUsage::Sent& sent : usage.sent)
      one.seconds_per_byte.push_back(
          sent.loads.empty() || links[link].bandwidth == 0 ? 0 : sent.loads[link] / links[link].bandwidth);
    all.insert(std::move(one));
  }
  return {all.begin(), all.end()};
}

class Writer {
 public:
  Writer(const Outcome& outcome, const LinkUsage* usage)
      : outcome_(outcome), result_(outcome.result), network_(static_cast<int>(result_.classes.size())) {
    if (!usage) return;
    alike_ = links_alike(*usage, kinds_);
    sent_ = usage->of_transfer;
  }

  std::string write() {
    events_.push_back(metadata("process_name", network_, 0,
                               fmt::format("network: {}, {} workers", result_.collective, outcome_.scenario.workers)));
    write(timeline_rows(outcome_, result_.episodes.back()));  // the same rows as pictures
    write_links(result_.episodes.back());
    const JsonValue of_job{{"rank", result_.classes[0].workers[0]}, {"world_size", outcome_.scenario.workers}};
    return fmt::format(
        "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"distributedInfo\":{},\"otherData\":{},"
        "\"traceEvents\":[\n{}\n]}}\n",
        json_text(of_job), json_text(other_data()), fmt::join(events_, ",\n"));
  }

 private:
  JsonValue other_data() const {
    const Scenario& scenario = outcome_.scenario;
    return {{"profile", scenario.profile->name},
            {"origin", to_string(scenario.profile->origin)},
            {"cluster", scenario.cluster.name},
            {"strategy", scenario.strategy->name},
            {"iteration_s", result_.metrics.iteration_s}};
  }

  void write(const TimelineRows& rows) {
    name_rows(rows);
    first_micro_batch_ = rows.first_micro_batch;
    for (std::size_t row = 0; row < rows.passes.size(); ++row)
      for (const Bar& bar : rows.passes[row].bars)
        if (is_pass(bar.activity) && bar.end > bar.start)
          write_pass(bar, process(row), bar.in_pair ? thread_of_pairs(bar.activity) : thread(row));
    for (std::size_t row = 0; row < rows.streams.size(); ++row)
      for (const Bar& bar : rows.streams[row].bars)
        if (bar.end > bar.start) write_work(bar, process(row), thread(row));
    for (const TimelineRow& row : rows.network)
      for (const Bar& bar : row.bars) write_transfer(bar, row);
    for (const Arrow& made : rows.made)
      write_arrow("ready", middle(stream_end(rows, made.before)), start(network_end(rows, made.after)));
    for (const Arrow& gate : rows.gates) {
      const End after = stream_end(rows, gate.after);
      if (after.bar->end > after.bar->start)  // an arrow needs a slice to end at
        write_arrow("needed", middle(network_end(rows, gate.before)), start(after));
    }
    for (const MemoryCurve& curve : rows.memory)
      for (const MemoryPoint& point : curve.points) write_memory(point, process(curve.row));
  }

  // An end of an arrow.
  struct End {
    int process = 0, thread = 0;
    const Bar* bar = nullptr;
    Time at{0};
  };
  End stream_end(const TimelineRows& rows, const BarPlace& place) const {
    return {process(place.row), thread(place.row), &rows.streams[place.row].bars[place.bar]};
  }
  End network_end(const TimelineRows& rows, const BarPlace& place) const {
    const TimelineRow& row = rows.network[place.row];
    return {network_, threads_.at(row.name), &row.bars[place.bar]};
  }
  static End start(End end) {
    end.at = end.bar->start;
    return end;
  }
  static End middle(End end) {
    end.at = end.bar->start + (end.bar->end - end.bar->start) / 2;
    return end;
  }

  // All streams of a class of workers belong to one process.
  int process(std::size_t row) const { return static_cast<int>(row) % network_; }
  int thread(std::size_t row) const { return static_cast<int>(row) / network_; }

  // The two passes of a pair overlap, so that each has a thread of its own.
  static int thread_of_pairs(Activity activity) { return activity == Activity::Forward ? 1 : 2; }

  static std::string name_of(const Bar& bar) {
    if (is_pass(bar.activity)) return fmt::format("{} {}", row_of(bar.activity).action, bar.name);
    if (bar.activity == Activity::Update) return bar.name == "update" ? bar.name : "update of " + bar.name;
    if (bar.activity == Activity::HostStep) return bar.name;
    return bar.activity == Activity::Transfer ? bar.name : title_of(bar.activity) + " of " + bar.name;
  }

  void name_rows(const TimelineRows& rows) {
    for (std::size_t row = 0; row < rows.streams.size(); ++row) {
      const int one = process(row), stream = thread(row);
      if (stream == 0) events_.push_back(metadata("process_name", one, 0, rows.streams[row].name));
      events_.push_back(metadata("thread_name", one, stream, stream == 0 ? "compute" : "codec"));
      if (!result_.unrolled.pairs) continue;
      events_.push_back(metadata("thread_name", one, thread_of_pairs(Activity::Forward), "forward passes in pairs"));
      events_.push_back(metadata("thread_name", one, thread_of_pairs(Activity::Backward), "backward passes in pairs"));
    }
    for (const TimelineRow& row : rows.network) {
      const auto [thread, fresh] = threads_.emplace(row.name, static_cast<int>(threads_.size()));
      if (fresh) events_.push_back(metadata("thread_name", network_, thread->second, row.name));
    }
  }

  // Writes bars of the first class as PyTorch's profiler writes kernels, so that its readers recognise computation and
  // communication. They expect one worker per file; bars of other classes have no category, so that readers skip them.
  void write_slice(const std::string& name, int process, int thread, const Bar& bar, std::vector<Field> args,
                   bool of_first_class) {
    std::vector<Field> event{{"name", json(name)}, {"ph", "\"X\""}, {"pid", json(process)}, {"tid", json(thread)}};
    const std::int64_t start = nanoseconds(bar.start);
    event.insert(event.end(), {{"ts", us(start)}, {"dur", us(nanoseconds(bar.end) - start)}});
    if (of_first_class) {
      constexpr int first = 7;  // CUDA's default stream
      const int stream = first + (process == 0 ? thread : 2 + thread);
      event.insert(event.begin() + 1, {"cat", "\"kernel\""});
      args.insert(args.begin(), {{"device", "0"}, {"stream", json(stream)}, {"correlation", json(++kernels_)}});
    }
    if (result_.plan.sharding.accumulate > 1 && bar.activity != Activity::Update && bar.activity != Activity::HostStep)
      args.emplace_back("micro_batch", json(bar.micro_batch + first_micro_batch_));
    event.emplace_back("args", object(args));
    events_.push_back(object(event));
  }

  void write_work(const Bar& bar, int process, int thread) {
    std::vector<Field> args{{"activity", json(title_of(bar.activity))}};
    if (is_inside_layer(bar.activity)) args.emplace_back("bytes", json(bar.bytes));
    write_slice(kernel_of(bar), process, thread, bar, std::move(args), process == 0);
  }

  // Writes a slice that encloses those of the pass's layers.
  void write_pass(const Bar& bar, int process, int thread) {
    write_slice(bar.name, process, thread, bar, {{"activity", json(title_of(bar.activity))}, {"chunk", json(bar.item)}},
                false);
  }

  // Returns an NCCL-style name, by which readers recognise communication.
  static std::string kernel_of(const Bar& bar) {
    if (bar.activity < Activity::Transfer) return name_of(bar);
    const std::string op = bar.activity == Activity::ReduceScatter     ? "ReduceScatter"
                           : bar.activity == Activity::AllGather       ? "AllGather"
                           : bar.activity == Activity::AllToAll        ? "SendRecv"
                           : bar.activity == Activity::Send            ? "Send"
                           : bar.activity == Activity::Exchange        ? "AllToAll"
                           : bar.activity == Activity::LayerCollective ? "Collective"
                                                                       : "AllReduce";
    return fmt::format("ncclKernel_{} {}", op, bar.name);
  }

  void write_transfer(const Bar& bar, const TimelineRow& row) {
    const bool send = bar.activity == Activity::Send, exchange = bar.activity == Activity::Exchange;
    std::vector<Field> args{{"activity", json(send       ? "send"
                                              : exchange ? title_of(bar.activity)
                                                         : "collective")},
                            {"what", json(name_of(bar))},
                            {"bytes", json(bar.bytes)},
                            {"waited_us", us(nanoseconds(bar.start) - nanoseconds(bar.ready))}};
    if (send)
      args.insert(args.end(), {{"from", json(row.from)}, {"to", json(row.to)}});
    else
      args.emplace_back("tensors",
                        json(bar.item == Payload::just_bytes ? 0 : result_.plan.blocks[bar.item].slices.size()));
    write_slice(kernel_of(bar), network_, threads_.at(row.name), bar, std::move(args), row.from == 0 || row.to == 0);
  }

  // Writes an arrow that starts inside a slice and ends at the start of another.
  void write_arrow(const char* name, const End& from, const End& to) {
    const auto end = [&](const char* phase, const End& one) {
      return std::vector<Field>{{"name", json(name)}, {"cat", "\"flow\""},        {"id", json(flows_)},
                                {"ph", json(phase)},  {"pid", json(one.process)}, {"tid", json(one.thread)},
                                {"ts", us(one.at)}};
    };
    events_.push_back(object(end("s", from)));
    std::vector<Field> last = end("f", to);
    last.emplace_back("bp", "\"e\"");  // binds to the slice that starts there
    events_.push_back(object(last));
    ++flows_;
  }

  void write_counter(const std::string& name, int process, Time at, Field value) {
    events_.push_back(object({{"name", json(name)},
                              {"ph", "\"C\""},
                              {"pid", json(process)},
                              {"tid", "0"},
                              {"ts", us(at)},
                              {"args", object({std::move(value)})}}));
  }

  void write_memory(const MemoryPoint& point, int process) {
    const bool one_class = result_.classes.size() == 1 || result_.plan.pipeline;
    write_counter(one_class ? "memory" : "memory of the worker that needs the most", process, point.at,
                  {"bytes", json(std::llround(point.bytes))});
  }

  // Writes the utilisation of the busiest link of each kind, with transfers' bytes spread evenly over their time in
  // flight.
  void write_links(const Episode& episode) {
    struct Flying {
      std::uint32_t rounds;
      double rate;  // bytes per second
      Span span;
    };
    std::vector<Flying> all;
    std::set<Time> instants;
    const Unrolled& unrolled = result_.unrolled;
    for (std::size_t i = 0; i < unrolled.transfers && !alike_.empty(); ++i) {
      const Span span = episode.timeline.spans[unrolled.transfer(i)];
      if (span.end <= span.start) continue;
      all.push_back({sent_[i].rounds, sent_[i].bytes / to_seconds(span.end - span.start), span});
      instants.insert({span.start, span.end});
    }
    for (const Time instant : instants) {
      std::vector<double> busiest(kinds_.size(), 0);
      for (const LinksAlike& links : alike_) {
        double use = 0;
        for (const Flying& one : all)
          if (one.span.start <= instant && instant < one.span.end) use += one.rate * links.seconds_per_byte[one.rounds];
        busiest[links.kind] = std::max(busiest[links.kind], use);
      }
      for (std::size_t kind = 0; kind < kinds_.size(); ++kind)
        write_counter(kinds_[kind] + " (% of the busiest)", network_, add(episode.start, instant),
                      {"use", json(std::round(1000 * busiest[kind]) / 10)});
    }
  }

  const Outcome& outcome_;
  const Result& result_;
  int network_;  // its process id; lower ids are worker classes
  std::uint32_t first_micro_batch_ = 1;
  std::map<std::string, int> threads_;  // the network's, by name of the row
  int flows_ = 0;
  std::int64_t kernels_ = 0;
  std::vector<std::string> events_;
  std::vector<std::string> kinds_;  // kinds of links
  std::vector<LinksAlike> alike_;
  std::vector<RoundsFabric::Sent> sent_;  // by transfer
};

}  // namespace

std::string trace_events(const Outcome& outcome, const LinkUsage* usage) { return Writer(outcome, usage).write(); }

}  // namespace allreplay
