#include "sim/output/view/diagnosis_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/end_names.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/report/diagnosis_report.hpp"

namespace allreplay {

namespace {

constexpr double page = 900, names_width = 70;
constexpr std::size_t most_names_beside = 8;
constexpr std::size_t most_rows_drawn = 16;

Colour between(Colour a, Colour b, double share) {
  const auto mix = [share](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::lround(x + share * (y - x)));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// Returns pale grey at a slowdown of 1 or less, vermilion at the worst slowdown or at `straggling`, if that is larger.
Colour heat(double slowdown, double worst) {
  const double share = (slowdown - 1) / (std::max(worst, straggling) - 1);
  return between(colour(0xEEEEEE), style::vermilion, std::clamp(share, 0.0, 1.0));
}

// The look of an op that waits for its group to start.
Look waiting_look() {
  return {.fill = colour(0xF4F4F4), .hatch = Hatch::Rising, .hatch_colour = style::faint_ink, .line = style::grid};
}

Look kind_look(OpKind kind) {
  switch (kind) {
    case OpKind::ForwardCompute:
      return {.fill = style::sky};
    case OpKind::BackwardCompute:
      return {.fill = style::blue};
    case OpKind::Optimizer:
    case OpKind::OptimizerClipMainGrad:
      return {.fill = style::green};
    case OpKind::Gc:
      return {.fill = style::black};
    case OpKind::ForwardSend:
    case OpKind::ForwardRecv:
    case OpKind::BackwardSend:
    case OpKind::BackwardRecv:
    case OpKind::UnitForwardGather:
    case OpKind::UnitBackwardGather:
      return {.fill = style::yellow};
    case OpKind::OtherCollective:
      return {.fill = style::purple};
    default:
      return {.fill = style::orange};
  }
}

std::vector<LegendEntry> kinds_legend(const JobGraph& graph, bool waits) {
  std::set<OpKind> kinds;
  for (const JobOp& op : graph.ops) kinds.insert(op.kind);
  std::vector<LegendEntry> legend;
  std::set<std::string> named;
  const auto add = [&](OpKind kind, const std::string& name) {
    if (kinds.contains(kind) && named.insert(name).second) legend.push_back(swatch(name, kind_look(kind)));
  };
  add(OpKind::ForwardCompute, "forward");
  add(OpKind::BackwardCompute, "backward");
  add(OpKind::ForwardSend, "sends and receives");
  for (const OpKind kind : {OpKind::ParamsAllGather, OpKind::GradsReduceScatter, OpKind::SeparateGradsAllReduce,
                            OpKind::LayernormGradsAllReduce, OpKind::EmbeddingGradsAllReduce})
    add(kind, "collectives");
  for (const OpKind kind : {OpKind::UnitForwardGather, OpKind::UnitBackwardGather}) add(kind, "gathers");
  for (const OpKind kind : {OpKind::UnitReduce, OpKind::UnitReplicate}) add(kind, "reductions");
  add(OpKind::OtherCollective, "other collectives");
  add(OpKind::Gc, "garbage collection");
  add(OpKind::Optimizer, "update");
  if (waits) legend.push_back(swatch("waiting for others (as measured)", waiting_look()));
  return legend;
}

std::vector<WorkerPlace> rows_drawn(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  std::vector<WorkerPlace> workers;
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica)
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage) workers.emplace_back(replica, stage);
  const auto slowdown = [&](const WorkerPlace& worker) {
    return known.by_worker[known.job.worker(worker.first, worker.second)];
  };
  if (workers.size() > most_rows_drawn) {
    std::stable_sort(workers.begin(), workers.end(),
                     [&](const WorkerPlace& a, const WorkerPlace& b) { return slowdown(a) > slowdown(b); });
    workers.resize(most_rows_drawn);
    std::sort(workers.begin(), workers.end());
  }
  return workers;
}

std::string row_name(const Diagnosis& known, const WorkerPlace& worker) {
  const auto& [replica, stage] = worker;
  const JobGraph& graph = known.job.graph;
  if (graph.stages == 1) return fmt::format("worker {}", known.job.ranks[known.job.worker(replica, stage)]);
  if (graph.replicas == 1) return fmt::format("stage {}", stage);
  return fmt::format("replica {}, stage {}", replica, stage);
}

// The times at which an op started, stopped waiting for its group, and ended, in picoseconds.
struct OpTimes {
  double start = 0, waited = 0, end = 0;
};

// Draws a row of bars for each worker: computation in its upper half, communication in its lower half.
double add_step(Drawing& drawing, const Diagnosis& known, const Box& field, const std::string& name,
                const std::function<OpTimes(std::uint32_t)>& times, double scale) {
  constexpr double height = 22, bar = 9;
  const JobGraph& graph = known.job.graph;
  double top = field.y;
  drawing.add(Text{.at = {style::margin, top + 11}, .text = name, .colour = style::ink, .bold = true});
  top += 18;
  for (const auto& [replica, stage] : rows_drawn(known)) {
    drawing.add(Text{.at = {field.x - 6, top + 13},
                     .text = row_name(known, {replica, stage}),
                     .size = style::small_size,
                     .align = Align::End,
                     .colour = style::ink});
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      const JobOp& one = graph.ops[op];
      if (one.replica != replica || one.stage != stage) continue;
      const OpTimes at = times(op);
      const double y = top + (is_compute(one.kind) ? 1 : 1 + bar);
      const auto add = [&](double from, double to, const Look& look, const char* kind, std::string_view how) {
        if (to <= from) return;
        drawing.add(Rectangle{
            {field.x + from * scale, y, (to - from) * scale, bar},
            look,
            {kind, fmt::format("{} of {}{}: {}", op_name(known.job, one), worker_name(known, {replica, stage}), how,
                               format_duration((to - from) * 1e-12))}});
      };
      add(at.start, at.waited, waiting_look(), "wait", " waits for others");
      add(at.waited, at.end, kind_look(one.kind), "op", "");
    }
    top += height;
  }
  return top;
}

// Returns the names of the slowest replicas, written next to the heat map (top at 0) if its rows are too low for
// numbers.
std::vector<EndName> slow_rows(const Diagnosis& known, double cell_height) {
  const JobGraph& graph = known.job.graph;
  std::vector<std::pair<double, std::uint32_t>> slow;
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
    double worst = 0;
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage)
      worst = std::max(worst, known.by_worker[known.job.worker(replica, stage)]);
    if (worst >= straggling) slow.emplace_back(worst, replica);
  }
  std::stable_sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  slow.resize(std::min(slow.size(), most_names_beside));
  std::vector<EndName> names;
  for (const auto& [slowdown, replica] : slow)
    names.push_back({.text = fmt::format("replica {}: {:.3f}", replica, slowdown),
                     .look = std::nullopt,
                     .end = {0, (replica + 0.5) * cell_height}});
  return names;
}

}  // namespace

Drawing workers_picture(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  const double worst = *std::max_element(known.by_worker.begin(), known.by_worker.end());
  const double cell_width = std::clamp((page - names_width - 2 * style::margin) / graph.stages, 1.0, 70.0);
  const double cell_height = std::clamp(700.0 / graph.replicas, 2.0, 24.0);
  const bool numbered = cell_width >= 36 && cell_height >= 14;
  std::vector<EndName> beside = numbered ? std::vector<EndName>() : slow_rows(known, cell_height);
  const double map_width = cell_width * graph.stages;
  Drawing drawing{.width = std::max(420.0, names_width + 2 * style::margin + map_width +
                                               (beside.empty() ? 0 : width_of_end_names(beside))),
                  .title = "Slowdown by worker: the lesser of its replica's and its stage's"};
  double top = add_title(drawing, style::margin, drawing.title);
  const double left = style::margin + names_width;
  top += 26;
  const auto every = [](double size, double room) {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(room / size)));
  };
  for (std::uint32_t stage = 0; stage < graph.stages; stage += every(cell_width, 24))
    drawing.add(Text{.at = {left + (stage + 0.5) * cell_width, top - 9},
                     .text = std::to_string(stage),
                     .align = Align::Middle,
                     .colour = style::ink});
  drawing.add(Text{.at = {style::margin, top - 9}, .text = "stage", .colour = style::faint_ink});
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
    const double y = top + replica * cell_height;
    if (replica % every(cell_height, 14) == 0)
      drawing.add(Text{.at = {left - 6, y + cell_height / 2 + 4},
                       .text = fmt::format("replica {}", replica),
                       .align = Align::End,
                       .colour = style::ink});
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage) {
      const double slowdown = known.by_worker[known.job.worker(replica, stage)];
      const Box box{left + stage * cell_width, y, cell_width, cell_height};
      Look look{.fill = heat(slowdown, worst)};
      if (numbered) look.line = style::grid;
      drawing.add(
          Rectangle{box, look, {"worker", fmt::format("{}: {:.3f}", worker_name(known, {replica, stage}), slowdown)}});
      if (numbered)
        drawing.add(Text{.at = {box.x + cell_width / 2, y + cell_height / 2 + 4},
                         .text = fmt::format("{:.3f}", slowdown),
                         .size = style::small_size,
                         .align = Align::Middle,
                         .colour = style::ink});
    }
  }
  const Box map{left, top, map_width, graph.replicas * cell_height};
  drawing.add(Rectangle{map, {.line = style::faint_ink}, {}});
  for (EndName& name : beside) name.end = {map.right(), top + name.end.y};
  if (!beside.empty()) add_end_names(drawing, map, beside);
  top = map.bottom() + 8;
  std::vector<LegendEntry> legend{swatch("1 and below", {.fill = heat(1, worst), .line = style::grid})};
  if (worst > 1) legend.push_back(swatch(fmt::format("{:.3f}", worst), {.fill = heat(worst, worst)}));
  top = add_legend(drawing, top, legend);
  drawing.height =
      add_note(drawing, top + 4, "Where a slow replica and a slow stage cross, the worker may not be slow.") +
      style::margin;
  return drawing;
}

Drawing step_picture(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  std::size_t worst = 0;
  for (std::size_t step = 1; step < job.steps.size(); ++step)
    if (known.replayed_s[step] * known.ideal_s[worst] > known.replayed_s[worst] * known.ideal_s[step]) worst = step;
  const double* own = known.durations.own.data() + worst * graph.ops.size();
  const auto own_length = [own](std::uint32_t op) { return own[op]; };
  const auto ideal_length = [&](std::uint32_t op) { return known.durations.ideal_of(graph, op); };
  const ReplayedStep replayed = replay_step(job, worst, own_length), ideal = replay_step(job, worst, ideal_length);
  const std::size_t base = worst * graph.ops.size();
  const auto measured = [&](std::uint32_t op) {
    const double start = job.start[base + op], end = job.end[base + op];
    return OpTimes{start, std::clamp(end - own[op], start, std::max(start, end)), end};
  };
  bool waits = false;
  for (std::uint32_t op = 0; op < graph.ops.size(); ++op) waits = waits || measured(op).waited > measured(op).start;
  const double longest_s = std::max(known.measured_s[worst], known.replayed_s[worst]);
  Drawing drawing{.width = page,
                  .title = fmt::format("Step {}: measured, replayed, and if all ops of a kind took equally long",
                                       job.steps[worst])};
  double top = add_title(drawing, style::margin, drawing.title);
  top = add_legend(drawing, top + 6, kinds_legend(graph, waits)) + 8;
  double names = 0;
  for (const WorkerPlace& worker : rows_drawn(known))
    names = std::max(names, text_width(row_name(known, worker), style::small_size));
  const double left = style::margin + names + 12;
  const double scale = (page - left - style::margin - 12) / (longest_s * 1e12);
  const double fields_top = top;
  Drawing panels{.width = page};
  const auto add = [&](const std::string& name, const std::function<OpTimes(std::uint32_t)>& times) {
    top = add_step(panels, known, {left, top, page - left, 0}, name, times, scale) + 6;
  };
  add("measured", measured);
  // In a sharded job each rank has its own start, and may wait.
  const auto add_replayed = [&](const std::string& name, const ReplayedStep& step, const auto& length) {
    add(name, [&](std::uint32_t op) {
      const double moves = job.sharded.empty() ? step.start[op] : std::max(step.start[op], step.end[op] - length(op));
      return OpTimes{step.start[op], moves, step.end[op]};
    });
  };
  add_replayed("replayed", replayed, own_length);
  add_replayed("ideal", ideal, ideal_length);
  const FittingUnit unit = unit_of_duration(longest_s);
  const ChartAxis axis{
      .name = fmt::format("time since the step began ({})", unit.name), .from = 0, .to = longest_s / unit.size};
  const Box whole{left, fields_top, longest_s * 1e12 * scale, top - fields_top};
  top = add_axis_below(drawing, whole, axis, scale_with_room(axis, {0, longest_s / unit.size}, whole.width));
  for (Shape& shape : panels.shapes) drawing.add(std::move(shape));
  const std::size_t workers = known.by_worker.size();
  const std::string some =
      workers > most_rows_drawn ? fmt::format("the worst {} of {} ", most_rows_drawn, workers) : "";
  drawing.height =
      add_note(drawing, top + 4, fmt::format("Rows are {}workers: computation above, communication below.", some)) +
      style::margin;
  return drawing;
}

}  // namespace allreplay
