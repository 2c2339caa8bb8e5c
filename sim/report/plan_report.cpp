#include "sim/report/plan_report.hpp"

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/report.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace {

std::string window_text(const Window& window) {
  if (window.bytes != Window::unlimited) return write_size(window.bytes);
  if (window.count == Window::unlimited) return "unlimited";
  return fmt::format("{} block{}", window.count, window.count == 1 ? "" : "s");
}

std::string lane_text(const Lane& lane) {
  std::string text = fmt::format("{}, window {}", to_string(lane.order), window_text(lane.window));
  if (lane.tick > Time(0)) text += fmt::format(", ready at multiples of {}", write_duration(lane.tick));
  return text;
}

std::string heading(const Plan& plan) {
  if (!plan.travel) {
    std::string text =
        fmt::format("{}: {} blocks in {} transfers", plan.strategy, plan.blocks.size(), plan.transfers.size());
    for (const Lane& lane : plan.lanes) text += fmt::format("; {}: {}", lane.name, lane_text(lane));
    return text;
  }
  const Travel& travel = *plan.travel;
  std::string text =
      fmt::format("{}: {} blocks, {}, window {}, the next forward waits for its {}", plan.strategy, plan.blocks.size(),
                  to_string(travel.order), window_text(travel.window), to_string(travel.barrier));
  if (travel.split) text += ", reduce-scatters first, all-gathers after the backward pass";
  if (travel.release == Release::Backward) text += ", none before the backward pass ends";
  if (travel.tick > Time(0)) text += fmt::format(", ready at multiples of {}", write_duration(travel.tick));
  return text;
}

}  // namespace

std::string plan_report(const Scenario& scenario, const Plan& plan, const Screen& screen) {
  const std::optional<Compression> codec = communication_of(scenario).compression;
  std::vector<TableColumn> columns{"block", {"size", "B"}};
  if (codec) columns.insert(columns.end(), {{"on the wire", "B"}, "encoding", "decoding"});
  columns.insert(columns.end(), {"slices", "priority", "tensors"});
  Table table(columns);
  for (std::size_t index = 0; index < plan.blocks.size(); ++index) {
    const Block& block = plan.blocks[index];
    std::vector<TableCell> row{cell::count(static_cast<std::int64_t>(index)), cell::count(block.bytes())};
    if (codec)
      row.insert(row.end(), {cell::count(codec->wire_bytes(block.bytes())),
                             cell::seconds(to_seconds(codec->encode(block.bytes()))),
                             cell::seconds(to_seconds(codec->decode(block.bytes())))});
    row.insert(row.end(), {cell::count(static_cast<std::int64_t>(block.slices.size())), cell::count(block.priority),
                           names_of(block, scenario.profile)});
    table.add(std::move(row));
  }
  return wrapped(heading(plan), screen.width) + "\n\n" + table.text(screen) +
         wrapped(caveat(scenario.profile), screen.width, 2);
}

}  // namespace allreplay
