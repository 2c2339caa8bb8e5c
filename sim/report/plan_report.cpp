#include "sim/report/plan_report.hpp"

#include <fmt/format.h>

#include "sim/report/report.hpp"
#include "sim/report/table.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace {

std::string window_text(const Window& window) {
  if (window.bytes != Window::unlimited)
    return fmt::format("while less than {} is in flight", format_size(window.bytes));
  if (window.count == Window::unlimited) return "any number at a time";
  return window.count == 1 ? "one at a time" : fmt::format("up to {} at a time", window.count);
}

std::string order_text(Order order) {
  switch (order) {
    case Order::FirstReady:
      return "as they become ready";
    case Order::AsListed:
      return "in this order";
    case Order::Priority:
      return "by priority (the smallest that is ready first)";
  }
  return "";
}

std::string lane_text(const Lane& lane) {
  std::string text = fmt::format("{}, {}", order_text(lane.order), window_text(lane.window));
  if (lane.tick > Time(0)) text += fmt::format(", at ticks of {}", write_duration(lane.tick));
  return text;
}

std::string heading(const Plan& plan) {
  const std::size_t count = plan.blocks.size();
  const std::string blocks = fmt::format("{}: {} block{}", plan.strategy, count, count == 1 ? "" : "s");
  if (!plan.travel) {
    std::string text = fmt::format("{} in {} transfers", blocks, plan.transfers.size());
    for (const Lane& lane : plan.lanes) text += fmt::format(";\n{}: {}", lane.name, lane_text(lane));
    return text;
  }
  const Travel& travel = *plan.travel;
  std::string text = fmt::format("{}, sent {}", blocks, lane_text({"", travel.order, travel.window, travel.tick}));
  if (travel.release == Release::Backward) text += ", none before the backward pass ends";
  if (travel.split) text += ";\neach is reduced and scattered first, and gathered after the backward pass";
  text += travel.barrier == Barrier::Iteration
              ? ";\nthe next forward pass starts when all have arrived"
              : ";\nin the next forward pass each layer waits for its own gradients only";
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
