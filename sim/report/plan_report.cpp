#include "sim/report/plan_report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/report.hpp"
#include "sim/training/job.hpp"

namespace allreplay {

namespace {

std::string window_text(const Window& window) {
  if (window.bytes != Window::unlimited)
    return fmt::format("while less than {} is in flight", write_size(window.bytes));
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
      return "by priority (the smallest of those ready)";
  }
  return "";
}

std::string lane_text(const Lane& lane) {
  std::string text = fmt::format("{}, {}", order_text(lane.order), window_text(lane.window));
  if (lane.tick > Time(0)) text += fmt::format(", at ticks of {}", write_duration(lane.tick));
  return text;
}

// One rank's lanes are as another's: "reduce 0" and "reduce 1" are one. Those of sends leave nothing to choose.
std::vector<std::string> lanes_of_ranks(const Plan& plan) {
  std::set<std::size_t> of_sends;
  for (const Transfer& one : plan.transfers)
    if (one.op == CollectiveOp::Send) of_sends.insert(one.lane);
  std::vector<std::string> texts;
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    const std::string& name = plan.lanes[lane].name;
    const std::size_t end = name.find_last_not_of("0123456789 ");
    const std::string text = fmt::format("{}: {}", name.substr(0, end + 1), lane_text(plan.lanes[lane]));
    if (!of_sends.contains(lane) && std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

std::string heading_of_pipeline(const Plan& plan) {
  const auto sends = std::count_if(plan.transfers.begin(), plan.transfers.end(),
                                   [](const Transfer& one) { return one.op == CollectiveOp::Send; });
  std::string text =
      fmt::format("{}: {} in {} of {}, and {} between these", plan.strategy, counted(std::ssize(plan.blocks), "block"),
                  counted(std::ssize(plan.transfers) - sends, "transfer"), counted(std::ssize(plan.roles), "rank"),
                  counted(sends, "send"));
  for (const std::string& lane : lanes_of_ranks(plan)) text += "; " + lane;
  return text;
}

std::string heading(const Plan& plan) {
  if (plan.pipeline) return heading_of_pipeline(plan);
  const std::size_t count = plan.blocks.size();
  const std::string blocks = fmt::format("{}: {} block{}", plan.strategy, count, count == 1 ? "" : "s");
  if (!plan.queueing) {
    std::string text = fmt::format("{} in {} transfers", blocks, plan.transfers.size());
    for (const Lane& lane : plan.lanes) text += fmt::format("; {}: {}", lane.name, lane_text(lane));
    return text;
  }
  const QueueingPolicy& travel = *plan.queueing;
  std::string text = fmt::format("{}, sent {}", blocks, lane_text({"", travel.order, travel.window, travel.tick}));
  if (travel.release == Release::Backward) text += ", none before the backward pass ends";
  if (travel.split) text += "; each is reduced and scattered first, and gathered after the backward pass";
  text += travel.barrier == Barrier::Iteration
              ? "; the next forward pass starts when all have arrived"
              : "; in the next forward pass each layer waits for its own gradients only";
  return text;
}

}  // namespace

std::string plan_report(const Scenario& scenario, const Plan& plan, const Screen& screen) {
  const std::optional<Compression> codec = job_of(scenario).compression;
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
