#include "sim/report/plan_report.hpp"

#include <fmt/format.h>

#include "sim/report/report.hpp"
#include "sim/report/table.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace {

std::string window_text(const Window& window) {
  if (window.bytes != Window::unlimited) return format_size(window.bytes);
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

std::string plan_report(const Scenario& scenario, const Plan& plan) {
  const std::optional<Compression> codec = communication_of(scenario).compression;
  std::vector<std::vector<std::string>> rows{{"block", "bytes", "slices", "priority", "tensors"}};
  if (codec) rows[0].insert(rows[0].begin() + 2, {"on the wire", "encoding", "decoding"});
  for (std::size_t index = 0; index < plan.blocks.size(); ++index) {
    const Block& block = plan.blocks[index];
    rows.push_back({std::to_string(index), std::to_string(block.bytes()), std::to_string(block.slices.size()),
                    std::to_string(block.priority), names_of(block, scenario.profile)});
    if (!codec) continue;
    const auto seconds = [](Time time) { return format_duration(to_seconds(time)); };
    rows.back().insert(rows.back().begin() + 2,
                       {std::to_string(codec->wire_bytes(block.bytes())), seconds(codec->encode(block.bytes())),
                        seconds(codec->decode(block.bytes()))});
  }
  return heading(plan) + "\n\n" + format_table(rows) + caveat(scenario.profile);
}

}  // namespace allreplay
