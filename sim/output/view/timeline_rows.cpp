#include "sim/output/view/timeline_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "sim/output/view/pass_parts.hpp"
#include "sim/plans/collective/comm_cost.hpp"
#include "sim/plans/pipeline/action.hpp"

namespace allreplay {

namespace {

std::string class_name(const WorkerClass& one, bool only) {
  const auto count = one.workers.size();
  std::string name = count == 1 ? fmt::format("worker {}", one.workers[0])
                     : only     ? fmt::format("all {} workers", count)
                                : fmt::format("{} workers like worker {}", count, one.workers[0]);
  return one.slowdown == 1 ? name : name + fmt::format(" (slowed {:g}x)", one.slowdown);
}

// Returns the activity to show: one for all copies, and for transfers their operation; an all-reduce is a Transfer if
// the plan shards nothing.
Activity activity_of(const Label& label, const Unrolled& unrolled, const Plan& plan) {
  if (is_copy(label.kind)) return Activity::CopyOut;
  if (label.kind == Activity::Encode && !unrolled.decodes) return Activity::Codec;
  if (label.kind != Activity::Transfer) return label.kind;
  if (const Transfer& one = plan.transfers[label.item]; !one.travels()) return one.computes;
  switch (plan.transfers[label.item].op) {
    case CollectiveOp::Send:
      return Activity::Send;
    case CollectiveOp::AllReduce:
      return plan.sharding.shards_optimizer() ? Activity::AllReduce : Activity::Transfer;
    case CollectiveOp::ReduceScatter:
      return Activity::ReduceScatter;
    case CollectiveOp::AllToAll:
      return Activity::AllToAll;
    case CollectiveOp::Gather:
    case CollectiveOp::Scatter:
      return Activity::Transfer;
    default:
      return Activity::AllGather;
  }
}

std::uint32_t chunk_of(const StageResult& stage, std::size_t layer) {
  const auto above = std::find_if(stage.chunks.begin(), stage.chunks.end(),
                                  [&](const auto& one) { return layer < one.first + one.layers; });
  return above->chunk;
}

// Merges layers of a rank that follow each other without a gap, or in a pair, into passes.
TimelineRow passes_of(const TimelineRow& stream, const StageResult& stage) {
  constexpr std::size_t in_pair = 2;  // the passes of a pair are the last bars
  TimelineRow row{.name = stream.name, .bars = {}};
  for (const Bar& bar : stream.bars) {
    const bool pass = is_pass(bar.activity);
    const std::uint32_t chunk = pass ? chunk_of(stage, bar.item) : 0;
    const auto continues = [&](const Bar& one) {
      return one.activity == bar.activity && one.item == chunk && one.micro_batch == bar.micro_batch &&
             (bar.in_pair || one.end == bar.start);
    };
    const auto latest =
        std::find_if(row.bars.rbegin(),
                     row.bars.rbegin() + static_cast<std::ptrdiff_t>(std::min(in_pair, row.bars.size())), continues);
    if (latest != row.bars.rend() && latest - row.bars.rbegin() < (bar.in_pair ? 2 : 1)) {
      latest->end = bar.end;
      continue;
    }
    row.bars.push_back(bar);
    row.bars.back().item = chunk;
    row.bars.back().name = pass ? to_string(Action{bar.activity, chunk, bar.micro_batch}) : title_of(bar.activity);
  }
  return row;
}

class RowMaker {
 public:
  RowMaker(const Outcome& outcome, const Episode& episode)
      : outcome_(outcome),
        result_(outcome.result),
        unrolled_(outcome.result.unrolled),
        episode_(episode),
        places_(unrolled_.labels.size()),
        left_out_(unrolled_.labels.size(), false),
        parts_(unrolled_.labels.size(), 1),
        made_by_(unrolled_.labels.size()),
        lanes_(unrolled_.lanes) {
    if (outcome.scenario.options.parallel.any()) job_ = job_of(outcome.scenario);
  }

  TimelineRows make() {
    rows_.streams.resize(unrolled_.separate_codec ? 2 * unrolled_.classes : unrolled_.classes);
    add_streams();
    if (result_.plan.pipeline) add_passes();
    if (unrolled_.pairs) add_exchanges();
    if (job_) cut_passes();
    find_makers();
    std::vector<std::size_t> by_start(unrolled_.transfers);
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return span(unrolled_.transfer(a)).start < span(unrolled_.transfer(b)).start;
    });
    for (const std::size_t index : by_start) add_transfer(index);
    join_lanes();
    for (TimelineRow& row : exchanges_)
      if (!row.bars.empty()) rows_.network.push_back(std::move(row));
    add_memory();
    return std::move(rows_);
  }

 private:
  const Span& span(TaskId task) const { return episode_.timeline.spans[task]; }
  const Label& label(TaskId task) const { return unrolled_.labels[task]; }
  bool on_stream(TaskId task) const { return is_on_stream(label(task).kind); }
  // True if a work produces the data that is sent: not for gathers, nor for computations in lanes.
  bool is_made_by_work(std::size_t transfer) const {
    const Transfer& one = result_.plan.transfers[transfer];
    return one.travels() && one.op != CollectiveOp::AllGather;
  }

  Bytes bytes_of(TaskId task) const { return static_cast<Bytes>(std::ceil(unrolled_.graph.tasks()[task].bytes)); }

  Bar bar_of(TaskId task) const {
    const auto clock = [&](Time time) { return add(episode_.start, time); };
    const Profile& profile = outcome_.scenario.profile;
    const Activity activity = activity_of(label(task), unrolled_, result_.plan);
    const bool layer = is_pass(activity) || activity == Activity::Update;
    const bool transfer = label(task).kind == Activity::Transfer, exchange = label(task).kind == Activity::Exchange;
    const std::size_t item = transfer   ? result_.plan.transfers[label(task).item].payload.block
                             : exchange ? std::size_t{Payload::just_bytes}
                                        : label(task).item;
    const bool block = !layer && item != Payload::just_bytes;
    const bool host = activity == Activity::HostStep;
    return {.activity = activity,
            .name = host                                                 ? title_of(activity)
                    : activity == Activity::Update && item == everything ? "update"
                    : layer                                              ? profile.layers[item].name
                    : exchange                                           ? ""
                    : block                                              ? describe(result_.plan, item, profile)
                            : result_.plan.lanes[result_.plan.transfers[label(task).item].lane].name,
            .tensors = block ? names_of(result_.plan.blocks[item], profile) : "",
            .item = item,
            .micro_batch = label(task).micro_batch,
            .bytes = bytes_of(task),
            .ready = clock(span(task).ready),
            .start = clock(span(task).start),
            .end = clock(span(task).end),
            .in_pair = label(task).in_pair};
  }

  void add_streams() {
    std::vector<std::vector<TaskId>> tasks(rows_.streams.size());  // by row
    for (TaskId task = 0; task < unrolled_.labels.size(); ++task) {
      if (!on_stream(task)) continue;
      tasks[label(task).worker_class + (is_codec(label(task).kind) && unrolled_.separate_codec ? unrolled_.classes : 0)]
          .push_back(task);
    }
    for (std::size_t row = 0; row < tasks.size(); ++row) {
      const WorkerClass& of = result_.classes[row % unrolled_.classes];
      const std::string name =
          result_.plan.pipeline ? result_.plan.roles[of.role].name : class_name(of, unrolled_.classes == 1);
      rows_.streams[row].name = row < unrolled_.classes ? name : "codec of " + name;
      std::stable_sort(tasks[row].begin(), tasks[row].end(), [&](TaskId a, TaskId b) {
        return std::pair(span(a).start, span(a).end) < std::pair(span(b).start, span(b).end);
      });
      for (const TaskId task : tasks[row]) {
        places_[task] = {row, rows_.streams[row].bars.size()};
        left_out_[task] = is_moment(task) && task != tasks[row].back();
        if (!left_out_[task]) rows_.streams[row].bars.push_back(bar_of(task));
      }
    }
  }

  void add_passes() {
    for (std::size_t rank = 0; rank < rows_.streams.size(); ++rank)
      rows_.passes.push_back(passes_of(rows_.streams[rank], result_.parallel->stages[rank]));
    rows_.first_micro_batch = 0;
  }

  // Cuts the collectives inside layers off the bars of their layers.
  void cut_passes() {
    std::vector<std::vector<TaskId>> tasks(rows_.streams.size());  // by bar
    std::vector<std::vector<std::size_t>> first(rows_.streams.size());
    for (std::size_t row = 0; row < tasks.size(); ++row) tasks[row].resize(rows_.streams[row].bars.size());
    for (TaskId task = 0; task < unrolled_.labels.size(); ++task)
      if (on_stream(task) && !left_out_[task]) tasks[places_[task].row][places_[task].bar] = task;
    for (std::size_t row = 0; row < tasks.size(); ++row) {
      std::vector<Bar> bars;
      for (std::size_t i = 0; i < tasks[row].size(); ++i) {
        first[row].push_back(bars.size());
        add_parts(tasks[row][i], std::move(rows_.streams[row].bars[i]), bars);
        parts_[tasks[row][i]] = bars.size() - first[row].back();
      }
      rows_.streams[row].bars = std::move(bars);
    }
    for (TaskId task = 0; task < unrolled_.labels.size(); ++task)
      if (on_stream(task)) places_[task].bar = first[places_[task].row][places_[task].bar];
  }

  void add_parts(TaskId task, Bar whole, std::vector<Bar>& bars) const {
    bars.push_back(std::move(whole));
    for (const PassPart& part : parts_of(*job_, unrolled_, task, span(task))) {
      if (is_inside_layer(part.activity)) {
        bars.push_back(bars.back());
        const std::vector<Bytes> bytes = bytes_inside(*job_, label(task), part.activity);
        bars.back().activity = part.activity;
        bars.back().item = Payload::just_bytes;
        bars.back().bytes = std::accumulate(bytes.begin(), bytes.end(), Bytes{0});
        bars.back().ready = bars.back().start = add(episode_.start, part.start);
      }
      bars.back().end = add(episode_.start, part.end);
    }
  }

  // Adds a lane of token exchanges for each rank, and extends the passes of pairs until their last exchange has ended.
  void add_exchanges() {
    std::map<std::tuple<std::uint32_t, Activity, std::size_t, std::uint32_t>, Bar*> passes;
    for (std::uint32_t rank = 0; rank < rows_.passes.size(); ++rank) {
      for (Bar& bar : rows_.passes[rank].bars)
        if (bar.in_pair) passes[{rank, bar.activity, bar.item, bar.micro_batch}] = &bar;
      exchanges_.push_back({.name = fmt::format("ep {}", rank),
                            .bars = {},
                            .lane = static_cast<std::uint32_t>(unrolled_.lanes) + rank,
                            .from = rank,
                            .to = rank});
    }
    std::size_t number = 0;  // among the exchanges of its pass
    for (std::size_t i = 0; i < unrolled_.exchange_of.size(); ++i) {
      const TaskId task = unrolled_.exchange(i);
      const Label& work = label(unrolled_.exchange_of[i]);
      const std::uint32_t chunk = chunk_of(result_.parallel->stages[work.worker_class], work.item);
      Bar bar = bar_of(task);
      const bool next = i > 0 && unrolled_.exchange_of[i - 1] == unrolled_.exchange_of[i];
      number = next ? number + 1 : 0;
      const std::vector<Bytes> bytes = bytes_inside(*job_, work, Activity::Exchange);
      if (number < bytes.size()) bar.bytes = bytes[number];
      bar.name = fmt::format("{} of {}", to_string(Action{work.kind, chunk, work.micro_batch}),
                             outcome_.scenario.profile->layers[work.item].name);
      if (const auto pass = passes.find({work.worker_class, work.kind, chunk, work.micro_batch}); pass != passes.end())
        pass->second->end = std::max(pass->second->end, bar.end);
      exchanges_[work.worker_class].bars.push_back(std::move(bar));
    }
    for (TimelineRow& row : exchanges_)
      std::stable_sort(row.bars.begin(), row.bars.end(), [](const Bar& a, const Bar& b) { return a.start < b.start; });
  }

  // Returns the first and last rank of a transfer; 0 without a pipeline.
  std::pair<std::uint32_t, std::uint32_t> ranks_of(const Transfer& transfer) const {
    if (!result_.plan.pipeline) return {0, 0};
    const Group& group = result_.plan.groups[transfer.group].group;
    const auto rank = [&](std::int64_t worker) {
      return static_cast<std::uint32_t>(worker / result_.parallel->degrees.rank_workers());
    };
    if (group.members.empty()) return {rank(group.first), rank(group.first)};
    return {rank(group.members.front()), rank(group.members.back())};
  }

  // True for a copy that takes no time. In its place the previous bar makes a block ready, and the next bar waits.
  bool is_moment(TaskId task) const { return is_copy(label(task).kind) && span(task).start == span(task).end; }

  // Finds for each transfer, except all-gathers, the last task on a stream that ended before it was ready.
  void find_makers() {
    for (TaskId task = 0; task < unrolled_.labels.size(); ++task) {
      if (!on_stream(task)) continue;
      for (const TaskId next : unrolled_.graph.successors(task)) {
        const Activity kind = label(next).kind;
        const bool sends = kind == Activity::Transfer || kind == Activity::Tick || kind == Activity::Arrival;
        if (!sends || !is_made_by_work(label(next).item)) continue;
        const TaskId transfer = unrolled_.transfer(label(next).item);  // directly, or through a tick or an arrival
        std::optional<TaskId>& maker = made_by_[transfer];
        if (span(task).end <= span(transfer).ready && (!maker || span(task).end > span(*maker).end)) maker = task;
      }
    }
  }

  // Adds a bar for a transfer and its arrows. Groups of one worker send nothing.
  void add_transfer(std::size_t index) {
    const Transfer& transfer = result_.plan.transfers[index];
    if (transfer.travels() && result_.plan.groups[transfer.group].group.of(outcome_.scenario.workers).ranks == 1)
      return;
    const TaskId task = unrolled_.transfer(index);
    const auto [from, to] = ranks_of(transfer);
    const BarPlace place = take_row(lanes_[transfer.lane], bar_of(task), {.from = from, .to = to});
    if (const auto maker = made_by_[task]) {
      BarPlace made = places_[*maker];
      made.bar += parts_[*maker] - 1;
      if (left_out_[*maker] && made.bar > 0) --made.bar;
      made_.push_back({{transfer.lane, place}, made});
    }
    for (const TaskId next : unrolled_.graph.successors(task))
      if (on_stream(next) && label(next).worker_class == to) gates_.push_back({{transfer.lane, place}, places_[next]});
  }

  static BarPlace take_row(std::vector<TimelineRow>& rows, const Bar& bar, const TimelineRow& fresh) {
    const auto free = std::find_if(rows.begin(), rows.end(),
                                   [&](const TimelineRow& row) { return row.bars.back().end <= bar.start; });
    const auto row = static_cast<std::size_t>(free - rows.begin());
    if (free == rows.end()) rows.push_back(fresh);
    rows[row].bars.push_back(bar);
    return {row, rows[row].bars.size() - 1};
  }

  // Puts the lanes' rows one below the other and sets the arrows' places.
  void join_lanes() {
    std::vector<std::size_t> first;  // row, by lane
    for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      first.push_back(rows_.network.size());
      const std::string name = lanes_.size() == 1 ? "collectives" : result_.plan.lanes[lane].name;
      for (std::size_t row = 0; row < lanes_[lane].size(); ++row) {
        TimelineRow& one = lanes_[lane][row];
        one.name = row == 0 ? name : fmt::format("{} {}", name, row + 1);
        one.lane = lane;
        rows_.network.push_back(std::move(one));
      }
    }
    const auto place = [&](const InLane& one) { return BarPlace{first[one.lane] + one.place.row, one.place.bar}; };
    for (const auto& [transfer, maker] : made_) rows_.made.push_back({maker, place(transfer)});
    for (const auto& [transfer, next] : gates_) rows_.gates.push_back({place(transfer), next});
  }

  void add_memory() {
    const bool known = result_.plan.sharding.shards_optimizer() || result_.memory.parts.activations;
    if (!known || &episode_ != &result_.episodes.back()) return;
    if (!result_.plan.pipeline) return add_memory(0, result_.memory);
    for (std::size_t rank = 0; rank < rows_.streams.size(); ++rank)
      add_memory(rank, result_.parallel->stages[rank].memory);
  }

  void add_memory(std::size_t row, const MemoryUse& memory) {
    rows_.memory.push_back({.row = row, .points = {}});
    for (const MemoryPoint& point : memory.course)
      rows_.memory.back().points.push_back({add(episode_.start, point.at), point.bytes});
  }

  // The place of a bar within its lane's rows.
  struct InLane {
    std::uint32_t lane = 0;
    BarPlace place;
  };

  const Outcome& outcome_;
  const Result& result_;
  const Unrolled& unrolled_;
  const Episode& episode_;
  std::optional<Job> job_;                      // only with more than data parallelism
  std::vector<BarPlace> places_;                // by task, for those on streams: its first bar
  std::vector<bool> left_out_;                  // by task: it has no bar, and places_ gives the next one
  std::vector<std::size_t> parts_;              // by task: the number of its bars
  std::vector<std::optional<TaskId>> made_by_;  // by task, for transfers
  std::vector<std::vector<TimelineRow>> lanes_;
  std::vector<TimelineRow> exchanges_;                     // by rank
  std::vector<std::pair<InLane, BarPlace>> made_, gates_;  // each with the stream's bar at the other end
  TimelineRows rows_;
};

}  // namespace

TimelineRows timeline_rows(const Outcome& outcome, const Episode& episode) { return RowMaker(outcome, episode).make(); }

}  // namespace allreplay
