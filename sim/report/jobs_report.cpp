#include "sim/report/jobs_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/goodput_report.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

JsonValue optional_json(const std::optional<double>& value) { return value ? JsonValue(*value) : JsonValue(); }

std::string link_name(const SeatedJob& job, LinkId link) {
  const Topology& topology = *job.job.topology;
  const Link& one = topology.links()[link];
  return fmt::format("{} -> {}", topology.name(one.from), topology.name(one.to));
}

std::string name_of(const JobsResult& result, const Contention& one, const SeatedJob& job) {
  return fmt::format("{} with {} ({})", link_name(job, one.link), result.jobs[one.with].seated.name,
                     percent(one.share));
}

JsonValue placement_json(const SeatChoice& choice) {
  if (choice.placement.kind != Placement::Kind::Listed) return choice.text;
  JsonValue hosts = JsonValue::array();
  for (const NamedHost& host : choice.placement.hosts) hosts.push_back(host.name);
  return hosts;
}

std::string verdict(const JobsResult& result) {
  const JobResult* worst = nullptr;
  for (const JobResult& job : result.jobs)
    if (job.slowdown && (!worst || *job.slowdown > *worst->slowdown)) worst = &job;
  if (!worst) return "No iteration was measured";
  if (*worst->slowdown < 1 + 1e-9) return "No job slows another";
  std::string text = fmt::format("{} is slowed most: an iteration takes {:.3f} times as long as alone",
                                 worst->seated.name, *worst->slowdown);
  if (!worst->contention.empty()) text += "; it waits on " + name_of(result, worst->contention.front(), worst->seated);
  return text;
}

}  // namespace

std::string jobs_report(const JobsResult& result, const FoundJobs* found, const Screen& screen) {
  Table table({"job", "strategy", "workers", "alone", "together", "99th %", "slow-down", "exposed comm.", "samples/s"});
  for (const JobResult& job : result.jobs) {
    const auto seconds = [](const std::optional<double>& value) {
      return value ? cell::seconds(*value) : TableCell("-");
    };
    const auto& together = job.together;
    table.add({job.seated.name, job.seated.job.scenario.strategy->name,
               cell::count(static_cast<std::int64_t>(job.seated.seats.size())),
               seconds(job.alone ? std::optional(job.alone->mean) : std::nullopt),
               seconds(together ? std::optional(together->mean) : std::nullopt),
               seconds(together ? std::optional(together->p99) : std::nullopt),
               job.slowdown ? cell::number(*job.slowdown, 3) : TableCell("-"), seconds(job.exposed_s),
               job.samples_per_s ? cell::number(*job.samples_per_s, 1) : TableCell("-")});
  }
  std::string text = fmt::format("{} jobs on {}, {}\n\n{}\n", result.jobs.size(), result.cluster,
                                 to_string(result.fidelity), table.text(screen));
  const auto say = [&](const std::string& line) { text += wrapped(line + "\n", screen.width); };
  for (const JobResult& job : result.jobs)
    for (std::size_t i = 0; i < std::min<std::size_t>(3, job.contention.size()); ++i)
      say(fmt::format("{} waits on {}", job.seated.name, name_of(result, job.contention[i], job.seated)));
  if (result.makespan_s) say(fmt::format("all that ends has ended after {}", format_duration(*result.makespan_s)));
  if (result.fairness) say(fmt::format("fairness {:.3f}", *result.fairness));
  for (const JobResult& job : result.jobs)
    if (job.goodput)
      text += fmt::format("\n{}:{}", job.seated.name, goodput_report(*job.goodput, *job.reliability, screen));
  say(result.period_s ? fmt::format("it repeats every {}", format_duration(*result.period_s))
                      : "it does not repeat: means are of what was measured");
  if (found) {
    text += "\n";
    say(fmt::format("the file's own: the largest slow-down {:.3f}, the mean {:.3f}", found->worst_before,
                    found->mean_before));
    say(fmt::format("found in {} runs: {:.3f}, {:.3f}", found->evaluations, found->worst, found->mean));
    for (std::size_t i = 0; i < result.jobs.size(); ++i)
      say(fmt::format("{}: placement {}, {} later", result.jobs[i].seated.name, found->choices[i].text,
                      format_duration(to_seconds(found->offsets[i]))));
    if (!result.period_s) say("offsets hold only where phases do, and these periods drift against each other");
  }
  say(verdict(result));
  return text;
}

JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each) {
  JsonValue jobs = JsonValue::array();
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobResult& job = result.jobs[i];
    JsonValue row = {{"name", job.seated.name},
                     {"strategy", job.seated.job.scenario.strategy->name},
                     {"workers", static_cast<std::int64_t>(job.seated.seats.size())},
                     {"hosts", job.seated.hosts}};
    if (!job.seated.batches.empty()) row["batches"] = job.seated.batches;
    const auto of = [&](double MeasuredTimes::*member) {
      return job.together ? JsonValue((*job.together).*member) : JsonValue();
    };
    row["iterations"] = job.together ? static_cast<std::int64_t>(job.together->each.size()) : std::int64_t{0};
    row["alone_s"] = job.alone ? JsonValue(job.alone->mean) : JsonValue();
    row["iteration_s"] = of(&MeasuredTimes::mean);
    row["p50_s"] = of(&MeasuredTimes::p50);
    row["p99_s"] = of(&MeasuredTimes::p99);
    row["least_s"] = of(&MeasuredTimes::least);
    row["most_s"] = of(&MeasuredTimes::most);
    row["slowdown"] = optional_json(job.slowdown);
    row["exposed_comm_s"] = optional_json(job.exposed_s);
    row["exposed_alone_s"] = optional_json(job.exposed_alone_s);
    row["samples_per_s"] = optional_json(job.samples_per_s);
    row["start_s"] = to_seconds(job.seated.start);
    row["end_s"] = job.end ? JsonValue(to_seconds(*job.end)) : JsonValue();
    row["lost_s"] = optional_json(job.lost_s);
    JsonValue contention = JsonValue::array();
    for (const Contention& one : job.contention)
      contention.push_back({{"link", link_name(job.seated, one.link)},
                            {"with", result.jobs[one.with].seated.name},
                            {"share", one.share}});
    row["contention"] = std::move(contention);
    if (job.goodput) row["goodput"] = goodput_json(*job.goodput);
    if (found) {
      row["placement"] = placement_json(found->choices[i]);
      row["offset_s"] = to_seconds(found->offsets[i]);
    }
    if (each) row["each_s"] = job.together && !found ? JsonValue(job.together->each) : JsonValue::array();
    jobs.push_back(std::move(row));
  }
  JsonValue json = {{"cluster", result.cluster},
                    {"fidelity", to_string(result.fidelity)},
                    {"steady", result.period_s.has_value()},
                    {"period_s", optional_json(result.period_s)},
                    {"makespan_s", optional_json(result.makespan_s)},
                    {"fairness", optional_json(result.fairness)},
                    {"jobs", std::move(jobs)},
                    {"events", result.events}};
  if (found) {
    json["before"] = {{"worst", found->worst_before}, {"mean", found->mean_before}};
    json["search"] = {{"evaluations", found->evaluations}, {"worst", found->worst}, {"mean", found->mean}};
  }
  return json;
}

}  // namespace allreplay
