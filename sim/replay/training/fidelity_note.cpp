#include "sim/replay/training/fidelity_note.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

constexpr double much = 0.5, little = 0.05;       // fractions of a time
constexpr double small_for_all_pairs = 1 << 20;   // bytes
constexpr std::int64_t most_workers_laid = 1024;  // a note should not take longer than its result

bool decides(double part, double all) { return part > much * all; }

// Returns the fidelity's assumptions that matter for calls with at least this many bytes.
std::vector<std::string> assumptions(const Job& job, const Call& asked, double least_bytes, double rings_above) {
  std::vector<std::string> notes;
  const Call& call = job.rounds->calls()[job.rounds->id_of(asked)];
  const Algorithm& algorithm = *call.algorithm;
  const bool fluid = job.choice.fidelity == Fidelity::Fluid, differ = job.rounds->routes_differ(call);
  const bool all_pairs = algorithm.servers || algorithm.operation == CollectiveOp::AllToAll;
  if (fluid && differ && all_pairs && least_bytes < small_for_all_pairs)
    notes.emplace_back("in fluid all workers wait for the farthest: below 1 MiB message is up to a fifth faster");
  if (fluid && differ && algorithm.name == "double-binary-tree")
    notes.emplace_back("if routes or links differ, fluid takes 0.8 to 1.5 times as long as message for these trees");
  if (fluid && rings_above > 1 + little)
    notes.push_back(
        fmt::format("concurrent rings share links: fluid takes up to {:.2f} times as long as message", rings_above));
  if (job.topology->routing().kind == Routing::Kind::Adaptive)
    notes.emplace_back(
        "adaptive spreads each message evenly over all routes: real switches reorder packets and do worse");
  return notes;
}

// Returns the same job in fluid if its hosts share links, which alpha-beta ignores; else none.
std::optional<Job> on_shared_links(const Job& job) {
  const Scenario& scenario = job.scenario;
  if (job.rounds || scenario.workers > most_workers_laid || scenario.options.parallel.any() ||
      !suits_fluid(scenario, job.choice))
    return std::nullopt;
  Scenario in_fluid = scenario;
  in_fluid.fidelity = to_string(Fidelity::Fluid);
  try {
    return job_of(std::move(in_fluid));
  } catch (const InputError&) {  // a note never stops a result that alpha-beta has
    return std::nullopt;
  }
}

// Returns a note if shared links take more time than alpha-beta computes.
std::string shared_links_note(double seconds, double in_fluid) {
  if (seconds <= 0 || in_fluid <= (1 + little) * seconds) return "";
  return fmt::format(
      "alpha-beta ignores that transfers share links: the busiest ones take {:.2f} times as long (fluid)",
      in_fluid / seconds);
}

double seconds_of(const Job& job, const Plan& plan) {
  double sum = 0;
  for (const Transfer& transfer : plan.transfers)
    sum += job.fabric->price(Call(transfer.op, plan.groups[transfer.group].group)).seconds(transfer.bytes);
  return sum;
}

std::string joined(const std::vector<std::string>& notes) { return fmt::format("{}", fmt::join(notes, "; ")); }

}  // namespace

std::string fidelity_note(const Job& job, CollectiveOp op, const std::vector<Bytes>& sizes) {
  if (job.scenario.workers == 1 || sizes.empty()) return "";
  if (const auto fluid = on_shared_links(job))
    return shared_links_note(job.fabric->price(op).seconds(sizes.back()),
                             fluid->fabric->price(op).seconds(sizes.back()));
  if (!job.rounds) return "";
  const CommCost cost = job.fabric->price(op);
  std::vector<std::string> notes;
  const auto started = [&](Bytes bytes) {
    return bytes > 0 && decides(job.rounds->start_ups(bytes, op), cost.seconds(bytes));
  };
  const auto largest = std::find_if(sizes.rbegin(), sizes.rend(), started);
  if (largest != sizes.rend())
    notes.push_back(
        fmt::format("up to {}, start-up is more than half of the time: the result depends on alpha and latencies",
                    format_size(*largest)));
  double rings_above = 1;
  for (const Bytes bytes : sizes) rings_above = std::max(rings_above, job.rounds->rings_above_message(bytes, op));
  for (std::string& note : assumptions(job, op, static_cast<double>(sizes.front()), rings_above))
    notes.push_back(std::move(note));
  return joined(notes);
}

std::string fidelity_note(const Job& job, const Plan& plan) {
  if (job.scenario.workers == 1 || job.scenario.options.parallel.any()) return "";
  if (const auto fluid = on_shared_links(job))
    return shared_links_note(seconds_of(job, plan), seconds_of(prepared_for(plan, *fluid), plan));
  if (!job.rounds) return "";
  double all = 0, start_ups = 0, least = 0, rings_above = 1;
  for (const Transfer& transfer : plan.transfers) {
    if (!transfer.travels()) continue;
    const Call call = call_of(plan, transfer);
    all += job.fabric->price(call).seconds(transfer.bytes);
    start_ups += job.rounds->start_ups(transfer.bytes, call);
    rings_above = std::max(rings_above, job.rounds->rings_above_message(transfer.bytes, call));
    least = least > 0 ? std::min(least, transfer.bytes.count) : transfer.bytes.count;
  }
  std::vector<std::string> notes;
  if (decides(start_ups, all))
    notes.push_back(
        fmt::format("start-ups are {:.0f} % of the collectives' time: the result depends on alpha and latencies",
                    100 * start_ups / all));
  for (const Call& one : calls_of(plan))
    for (std::string& note : assumptions(job, one, least, rings_above))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  return joined(notes);
}

}  // namespace allreplay
