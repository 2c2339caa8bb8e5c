#include "sim/training/fidelity_note.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

constexpr double much = 0.5;                     // of a time
constexpr double small_for_all_pairs = 1 << 20;  // bytes

bool decides(double part, double all) { return part > much * all; }

// What the fidelity assumes of calls that start so many bytes at a time, at least.
std::vector<std::string> assumptions(const Job& job, const Call& asked, double least_bytes) {
  std::vector<std::string> notes;
  const Call& call = job.rounds->calls()[job.rounds->id_of(asked)];
  const Algorithm& algorithm = *call.algorithm;
  const bool fluid = job.choice.fidelity == Fidelity::Fluid, differ = job.rounds->routes_differ(call);
  const bool all_pairs = algorithm.servers || algorithm.purpose == Purpose::AllToAll;
  if (fluid && differ && all_pairs && least_bytes < small_for_all_pairs)
    notes.emplace_back("fluid has all wait for the farthest: below 1 MiB message is up to a fifth faster");
  if (fluid && differ && algorithm.name == "double-binary-tree")
    notes.emplace_back("where routes or links differ, fluid takes 0.8 to 1.5 times as long as message for these trees");
  if (job.topology->routing().kind == Routing::Kind::Adaptive)
    notes.emplace_back("adaptive spreads each message evenly over all ways: real switches reorder, and do worse");
  return notes;
}

std::string joined(const std::vector<std::string>& notes) { return fmt::format("{}", fmt::join(notes, "; ")); }

}  // namespace

std::string fidelity_note(const Job& job, CollectiveOp op, const std::vector<Bytes>& sizes) {
  if (!job.rounds || job.scenario.workers == 1 || sizes.empty()) return "";
  const CommCost cost = job.fabric->price(op);
  std::vector<std::string> notes;
  const auto started = [&](Bytes bytes) {
    const double all = to_seconds(cost(bytes));
    return bytes > 0 && decides(all - to_seconds(cost.transfer(bytes)), all);
  };
  const auto largest = std::find_if(sizes.rbegin(), sizes.rend(), started);
  if (largest != sizes.rend())
    notes.push_back(fmt::format("up to {} more than half of the time is start-ups: alpha and latencies decide there",
                                format_size(*largest)));
  for (std::string& note : assumptions(job, op, static_cast<double>(sizes.front()))) notes.push_back(std::move(note));
  return joined(notes);
}

std::string fidelity_note(const Job& job, const Plan& plan) {
  if (!job.rounds || job.scenario.workers == 1 || job.scenario.options.parallel.any()) return "";
  double all = 0, moving = 0, least = 0;
  for (const Transfer& transfer : plan.transfers) {
    const CommCost cost = job.fabric->price(Call(transfer.op, plan.groups[transfer.group].group));
    all += to_seconds(cost(transfer.bytes));
    moving += to_seconds(cost.transfer(transfer.bytes));
    least = least > 0 ? std::min(least, transfer.bytes.count) : transfer.bytes.count;
  }
  std::vector<std::string> notes;
  if (decides(all - moving, all))
    notes.push_back(fmt::format("{:.0f} % of what the collectives take is start-ups: alpha and latencies decide",
                                100 * (all - moving) / all));
  for (const Call& one : calls_of(plan))
    for (std::string& note : assumptions(job, one, least))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  return joined(notes);
}

}  // namespace allreplay
