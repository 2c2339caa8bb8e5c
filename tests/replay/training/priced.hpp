// Simulations in which a test states the price of every call, as in worked examples.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/replay/training/scenario.hpp"

#include "sim/replay/training/job.hpp"

/// Simulates the scenario's plan on a network of such prices. Calls with a common channel wait for each other.
inline allreplay::Result simulate_priced(const allreplay::Scenario& scenario,
                                         const std::function<allreplay::ChannelCost(const allreplay::Call&)>& price) {
  using namespace allreplay;
  Job job = job_of(scenario);
  const Plan plan = plan_of(job);
  std::vector<Call> calls = calls_of(plan);
  ChannelCosts costs;
  for (Call& call : calls) {
    call.group = call.group.of(scenario.workers);
    costs.push_back(price(call));
  }
  job.fabric = std::make_shared<AlphaBetaFabric>(std::move(calls), scenario.workers, std::move(costs), Sharing::Serial);
  return simulate(job, plan);
}

/// The works of the first class and the transfers that take time, by their starts: "F1 0-1 …", in nanoseconds.
inline std::string course_of(const allreplay::Result& result, const allreplay::Profile& profile) {
  using namespace allreplay;
  const Plan& plan = result.plan;
  std::multimap<Time, std::string> lines;
  const auto add = [&](const std::string& name, TaskId id) {
    const Span& span = result.episodes.back().timeline.spans[id];
    const auto ns = [](Time time) { return std::to_string(time.count() / 1000); };
    if (span.start != span.end) lines.emplace(span.start, name + " " + ns(span.start) + "-" + ns(span.end));
  };
  const auto layer = [&](const Block& block) {
    return std::to_string(profile.tensors[block.slices.front().tensor].layer + 1);
  };
  for (std::size_t place = 0; place < plan.program().size(); ++place) {
    const Work& work = plan.program()[place];
    constexpr const char* letters[] = {"B", "",  "",  "F", "U", "H", "C",
                                       "c", "D", "Q", "N", "O", ""};  // as Activity has them
    const bool block = work.kind > Activity::Update && work.kind != Activity::Mark;
    add(letters[static_cast<std::size_t>(work.kind)] + (block                     ? layer(plan.blocks[work.item])
                                                        : work.item == everything ? ""
                                                                                  : std::to_string(work.item + 1)),
        result.unrolled.work(0, place));
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& one = plan.transfers[i];
    const char* letter = !one.travels()                      ? (one.computes == Activity::NewtonSchulz ? "N" : "q")
                         : one.op == CollectiveOp::AllGather ? "G"
                         : one.op == CollectiveOp::AllToAll  ? "X"
                         : one.op == CollectiveOp::Gather    ? "g"
                         : one.op == CollectiveOp::Scatter   ? "s"
                         : one.op == CollectiveOp::AllReduce ? "A"
                                                             : "R";
    add(letter + layer(plan.block_of(one)), result.unrolled.transfer(i));
  }
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : " ") + line.second;
  return text;
}
