#include "sim/view/diagnosis_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/core/units.hpp"
#include "sim/picture/axes.hpp"
#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"
#include "sim/report/diagnosis_report.hpp"

namespace allreplay {

namespace {

constexpr double page = 900, names_width = 70;
constexpr std::size_t most_rows_drawn = 16;

Colour between(Colour a, Colour b, double share) {
  const auto mix = [share](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::lround(x + share * (y - x)));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// White at 1 and below, vermilion at the worst, and at least at what is called straggling.
Colour heat(double slowdown, double worst) {
  constexpr double straggling_heat = 1.03;
  const double share = (slowdown - 1) / (std::max(worst, straggling_heat) - 1);
  return between(colour(0xFFFFFF), style::vermilion, std::clamp(share, 0.0, 1.0));
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
      return {.fill = style::yellow};
    default:
      return {.fill = style::orange};
  }
}

bool is_compute_kind(OpKind kind) {
  return kind == OpKind::ForwardCompute || kind == OpKind::BackwardCompute || kind == OpKind::Gc ||
         kind == OpKind::Optimizer;
}

std::vector<LegendEntry> kinds_legend(const JobGraph& graph) {
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
  add(OpKind::Gc, "garbage collection");
  add(OpKind::Optimizer, "update");
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

// A row of bars for each worker: computing above, what it sends below. Times in picoseconds.
double add_step(Drawing& drawing, const Diagnosis& known, const Box& field, const std::string& name,
                const std::function<std::pair<double, double>(std::uint32_t)>& times, double scale) {
  constexpr double height = 22, bar = 9;
  const JobGraph& graph = known.job.graph;
  double top = field.y;
  drawing.add(Text{.at = {style::margin, top + 11}, .text = name, .colour = style::ink, .bold = true});
  top += 18;
  for (const auto& [replica, stage] : rows_drawn(known)) {
    drawing.add(Text{.at = {field.x - 6, top + 13},
                     .text = graph.stages == 1
                                 ? fmt::format("rank {}", known.job.ranks[known.job.worker(replica, stage)])
                             : graph.replicas == 1 ? fmt::format("stage {}", stage)
                                                   : fmt::format("{}, {}", replica, stage),
                     .size = style::small_size,
                     .align = Align::End,
                     .colour = style::ink});
    for (std::uint32_t op = 0; op < graph.ops.size(); ++op) {
      const JobOp& one = graph.ops[op];
      if (one.replica != replica || one.stage != stage) continue;
      const auto [start, end] = times(op);
      if (end <= start) continue;
      const double y = top + (is_compute_kind(one.kind) ? 1 : 1 + bar);
      drawing.add(Rectangle{
          {field.x + start * scale, y, (end - start) * scale, bar},
          kind_look(one.kind),
          {"op", fmt::format("{} {} of {}: {}", name_of(one.kind), one.seq, worker_words(known, {replica, stage}),
                             format_duration((end - start) * 1e-12))}});
    }
    top += height;
  }
  return top;
}

}  // namespace

Drawing workers_picture(const Diagnosis& known) {
  const JobGraph& graph = known.job.graph;
  const double worst = *std::max_element(known.by_worker.begin(), known.by_worker.end());
  const double cell_width = std::clamp((page - names_width - 2 * style::margin) / graph.stages, 1.0, 70.0);
  const double cell_height = std::clamp(700.0 / graph.replicas, 1.0, 24.0);
  Drawing drawing{.width = std::max(420.0, names_width + 2 * style::margin + cell_width * graph.stages),
                  .title = "How much longer a step takes if one worker alone is as slow as it was"};
  double top = add_title(drawing, style::margin, drawing.title);
  const double left = style::margin + names_width;
  top += 22;
  const bool numbered = cell_width >= 36 && cell_height >= 14;
  const auto every = [](double size, double room) {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(room / size)));
  };
  for (std::uint32_t stage = 0; stage < graph.stages; stage += every(cell_width, 24))
    drawing.add(Text{.at = {left + (stage + 0.5) * cell_width, top - 6},
                     .text = std::to_string(stage),
                     .align = Align::Middle,
                     .colour = style::ink});
  drawing.add(Text{.at = {style::margin, top - 6}, .text = "stage", .colour = style::faint_ink});
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
          Rectangle{box, look, {"worker", fmt::format("{}: {:.3f}", worker_words(known, {replica, stage}), slowdown)}});
      if (numbered)
        drawing.add(Text{.at = {box.x + cell_width / 2, y + cell_height / 2 + 4},
                         .text = fmt::format("{:.3f}", slowdown),
                         .size = style::small_size,
                         .align = Align::Middle,
                         .colour = style::ink});
    }
  }
  top += graph.replicas * cell_height + 8;
  std::vector<LegendEntry> legend{swatch("1 and below", {.fill = heat(1, worst), .line = style::grid})};
  if (worst > 1) legend.push_back(swatch(fmt::format("{:.3f}", worst), {.fill = heat(worst, worst)}));
  top = add_legend(drawing, top, legend);
  drawing.height = top + style::margin;
  return drawing;
}

Drawing step_picture(const Diagnosis& known) {
  const MeasuredSteps& job = known.job;
  const JobGraph& graph = job.graph;
  std::size_t worst = 0;
  for (std::size_t step = 1; step < job.steps.size(); ++step)
    if (known.replayed_s[step] * known.ideal_s[worst] > known.replayed_s[worst] * known.ideal_s[step]) worst = step;
  const double* own = known.durations.own.data() + worst * graph.ops.size();
  const ReplayedStep replayed = replay_step(graph, [own](std::uint32_t op) { return own[op]; });
  const ReplayedStep ideal =
      replay_step(graph, [&](std::uint32_t op) { return known.durations.ideal_of(graph.ops[op].kind); });
  const double longest_s = std::max(known.measured_s[worst], known.replayed_s[worst]);
  Drawing drawing{
      .width = page,
      .title = fmt::format("Step {}: measured, replayed, and if all ops of a kind took alike", job.steps[worst])};
  double top = add_title(drawing, style::margin, drawing.title);
  top = add_legend(drawing, top + 6, kinds_legend(graph)) + 8;
  const double left = style::margin + names_width;
  const double scale = (page - left - style::margin - 12) / (longest_s * 1e12);
  const double fields_top = top;
  Drawing panels{.width = page};
  const auto add = [&](const std::string& name, const std::function<std::pair<double, double>(std::uint32_t)>& times) {
    top = add_step(panels, known, {left, top, page - left, 0}, name, times, scale) + 6;
  };
  const std::size_t base = worst * graph.ops.size();
  add("measured", [&](std::uint32_t op) { return std::pair(job.start[base + op], job.end[base + op]); });
  add("replayed", [&](std::uint32_t op) { return std::pair(replayed.start[op], replayed.end[op]); });
  add("ideal", [&](std::uint32_t op) { return std::pair(ideal.start[op], ideal.end[op]); });
  const FittingUnit unit = unit_of_duration(longest_s);
  const ChartAxis axis{
      .name = fmt::format("time since the step began ({})", unit.name), .from = 0, .to = longest_s / unit.size};
  const Box whole{left, fields_top, longest_s * 1e12 * scale, top - fields_top};
  top = add_axis_below(drawing, whole, axis, scale_with_room(axis, {0, longest_s / unit.size}, whole.width));
  for (Shape& shape : panels.shapes) drawing.add(std::move(shape));
  const std::size_t workers = known.by_worker.size();
  const std::string some =
      workers > most_rows_drawn ? fmt::format("the worst {} of {} ", most_rows_drawn, workers) : "";
  drawing.height = add_note(drawing, top + 4,
                            fmt::format("Rows are {}workers{}.", some,
                                        graph.replicas > 1 && graph.stages > 1 ? ": replica, stage" : "")) +
                   style::margin;
  return drawing;
}

}  // namespace allreplay
