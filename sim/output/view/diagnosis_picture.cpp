#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/report/diagnosis_report.hpp"
#include "sim/output/view/pictures.hpp"

namespace allreplay {

namespace {

constexpr double page = 900, names_width = 70;
constexpr std::size_t most_rows_drawn = 16;

// Returns pale grey at a slowdown of 1 or less, vermilion at the worst slowdown or at `straggling`, if that is larger.
Colour heat(double slowdown, double worst) {
  const double share = (slowdown - 1) / (std::max(worst, straggling) - 1);
  return mixed(colour(0xEEEEEE), style::vermilion, std::clamp(share, 0.0, 1.0));
}

// The look of an op that waits for its group to start.
Look waiting_look() {
  return {.fill = colour(0xF4F4F4), .hatch = Hatch::Rising, .hatch_colour = style::faint_ink, .line = style::grid};
}

// Ops with the same look.
struct OpLook {
  const char* name;
  Colour fill;
  std::vector<OpKind> kinds;
};

const std::vector<OpLook>& op_looks() {
  static const std::vector<OpLook> looks{
      {"forward", style::sky, {OpKind::ForwardCompute}},
      {"backward", style::blue, {OpKind::BackwardCompute}},
      {"sends and receives",
       style::yellow,
       {OpKind::ForwardSend, OpKind::ForwardRecv, OpKind::BackwardSend, OpKind::BackwardRecv}},
      {"collectives",
       style::orange,
       {OpKind::ParamsAllGather, OpKind::GradsReduceScatter, OpKind::SeparateGradsAllReduce,
        OpKind::LayernormGradsAllReduce, OpKind::EmbeddingGradsAllReduce}},
      {"gathers", style::yellow, {OpKind::UnitForwardGather, OpKind::UnitBackwardGather}},
      {"reductions", style::orange, {OpKind::UnitReduce, OpKind::UnitReplicate}},
      {"other collectives", style::purple, {OpKind::OtherCollective}},
      {"garbage collection", style::black, {OpKind::Gc}},
      {"update", style::green, {OpKind::Optimizer, OpKind::OptimizerClipMainGrad}},
  };
  return looks;
}

bool covers(const OpLook& look, OpKind kind) { return std::ranges::find(look.kinds, kind) != look.kinds.end(); }

Look kind_look(OpKind kind) {
  return {.fill = std::ranges::find_if(op_looks(), [&](const OpLook& one) { return covers(one, kind); })->fill};
}

std::vector<LegendEntry> kinds_legend(const JobGraph& graph, bool waits) {
  std::vector<LegendEntry> legend;
  for (const OpLook& look : op_looks())
    if (std::ranges::any_of(graph.ops, [&](const JobOp& op) { return covers(look, op.kind); }))
      legend.push_back(swatch(look.name, {.fill = look.fill}));
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
  for (const WorkerPlace& row : rows_drawn(known)) {
    drawing.add(Text{.at = {field.x - 6, top + 13},
                     .text = row_name(known, row),
                     .size = style::small_size,
                     .align = Align::End,
                     .colour = style::ink});
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      const JobOp& one = graph.ops[op];
      if (WorkerPlace(one.replica, one.stage) != row) continue;
      const OpTimes at = times(op);
      const double y = top + (is_compute(one.kind) ? 1 : 1 + bar);
      const auto add = [&](double from, double to, const Look& look, const char* kind, std::string_view how) {
        if (to <= from) return;
        drawing.add(Rectangle{
            {field.x + from * scale, y, (to - from) * scale, bar},
            look,
            {kind, fmt::format("{} of {}{}: {}", op_name(known.job, one), worker_name(known, row), how,
                               format_duration((to - from) * 1e-12))}});
      };
      add(at.start, at.waited, waiting_look(), "wait", " waits for others");
      add(at.waited, at.end, kind_look(one.kind), "op", "");
    }
    top += height;
  }
  return top;
}

double slowest_of(const Diagnosis& known, std::uint32_t replica) {
  double slowest = 0;
  for (std::uint32_t stage = 0; stage < known.job.graph.stages; ++stage)
    slowest = std::max(slowest, known.by_worker[known.job.worker(replica, stage)]);
  return slowest;
}

// Returns the index of the step that lost most time.
std::size_t worst_step(const Diagnosis& known) {
  std::size_t worst = 0;
  for (std::size_t step = 1; step < known.job.steps.size(); ++step)
    if (known.replayed_s[step] * known.ideal_s[worst] > known.replayed_s[worst] * known.ideal_s[step]) worst = step;
  return worst;
}

}  // namespace

Drawing workers_picture(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  const double worst = *std::max_element(known.by_worker.begin(), known.by_worker.end());
  const double width = std::clamp((page - names_width - 2 * style::margin) / graph.stages, 1.0, 70.0);
  const double height = std::clamp(700.0 / graph.replicas, 2.0, 24.0);
  Drawing drawing{
      .width = std::max(420.0, names_width + 2 * style::margin + width * graph.stages + (height < 14 ? 100 : 0)),
      .title = "Slowdown by worker: the lesser of its replica's and its stage's"};
  double top = add_title(drawing, style::margin, drawing.title) + 26;
  const Box map{style::margin + names_width, top, width * graph.stages, height * graph.replicas};
  const auto write = [&](double x, double y, const std::string& text, Align align) {
    drawing.add(Text{.at = {x, y}, .text = text, .size = style::small_size, .align = align, .colour = style::ink});
  };
  // Only as many names as have room.
  const auto every = [](double size, double room) {
    return static_cast<std::uint32_t>(std::max(1.0, room / size + 1));
  };
  write(style::margin, top - 9, "stage", Align::Start);
  for (std::uint32_t stage = 0; stage < graph.stages; stage += every(width, 24))
    write(map.x + (stage + 0.5) * width, top - 9, std::to_string(stage), Align::Middle);
  for (std::uint32_t replica = 0; replica < graph.replicas; ++replica) {
    const Box row{map.x, map.y + replica * height, width, height};
    if (replica % every(height, 14) == 0)
      write(map.x - 6, row.y + height / 2 + 4, fmt::format("replica {}", replica), Align::End);
    for (std::uint32_t stage = 0; stage < graph.stages; ++stage) {
      const double slowdown = known.by_worker[known.job.worker(replica, stage)];
      const std::string number = fmt::format("{:.3f}", slowdown);
      const Box cell{map.x + stage * width, row.y, width, height};
      drawing.add(Rectangle{
          cell, {.fill = heat(slowdown, worst)}, {"worker", worker_name(known, {replica, stage}) + ": " + number}});
      if (width >= 36 && height >= 14) write(cell.x + width / 2, row.y + height / 2 + 4, number, Align::Middle);
    }
  }
  drawing.add(Rectangle{map, {.line = style::faint_ink}, {}});
  double free_from = 0;  // rows without room for numbers: the names next to the slow ones, as far as they do not touch
  for (std::uint32_t replica = 0; replica < graph.replicas && height < 14; ++replica) {
    const double y = map.y + (replica + 0.5) * height + 4, slowest = slowest_of(known, replica);
    if (slowest < straggling || y < free_from) continue;
    write(map.right() + 8, y, fmt::format("replica {}: {:.3f}", replica, slowest), Align::Start);
    free_from = y + 12;
  }
  std::vector<LegendEntry> legend{swatch("1 and below", {.fill = heat(1, worst), .line = style::grid})};
  if (worst > 1) legend.push_back(swatch(fmt::format("{:.3f}", worst), {.fill = heat(worst, worst)}));
  top = add_legend(drawing, map.bottom() + 8, legend);
  drawing.height =
      add_note(drawing, top + 4, "Where a slow replica and a slow stage cross, the worker may not be slow.") +
      style::margin;
  return drawing;
}

Drawing step_picture(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  const std::size_t worst = worst_step(known);
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
