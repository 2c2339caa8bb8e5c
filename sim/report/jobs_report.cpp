#include "sim/report/jobs_report.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/goodput_report.hpp"
#include "sim/report/jobs_notes.hpp"
#include "sim/report/jobs_search_report.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

namespace {

std::string link_name(const SeatedJob& job, LinkId link) {
  const Topology& topology = *job.job.topology;
  const Link& one = topology.links()[link];
  return fmt::format("{} -> {}", topology.name(one.from), topology.name(one.to));
}

std::string contention_text(const JobsResult& result, const Contention& one, const SeatedJob& job) {
  return fmt::format("{} and {} share {} while it is full, {} of {}'s time", job.name,
                     result.jobs[one.with].seated.name, link_name(job, one.link), percent(one.share), job.name);
}

// The links that each shares longest. What two jobs share is said once, of the first.
std::vector<std::string> contention_lines(const JobsResult& result) {
  constexpr std::size_t most = 3;  // of each job
  std::vector<std::string> lines;
  std::set<std::tuple<std::size_t, std::size_t, std::string>> said;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobResult& job = result.jobs[i];
    for (std::size_t n = 0; n < std::min(most, job.contention.size()); ++n) {
      const Contention& one = job.contention[n];
      const auto [first, second] = std::minmax<std::size_t>(i, one.with);
      if (!said.emplace(first, second, link_name(job.seated, one.link)).second) continue;
      std::string line = contention_text(result, one, job.seated);
      for (const Contention& back : result.jobs[one.with].contention)
        if (back.with == i && link_name(result.jobs[one.with].seated, back.link) == link_name(job.seated, one.link))
          line += fmt::format(", {} of {}'s", percent(back.share), result.jobs[one.with].seated.name);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

JsonValue placement_json(const SeatChoice& choice) {
  if (choice.placement.kind != Placement::Kind::Listed) return choice.text;
  JsonValue hosts = JsonValue::array();
  for (const NamedHost& host : choice.placement.hosts) hosts.push_back(host.name);
  return hosts;
}

// The square of the standard error of a mean.
double error_of(const MeasuredTimes& times) {
  const auto count = static_cast<double>(times.each.size());
  if (count < 2) return 0;
  double sum = 0;
  for (const double one : times.each) sum += (one - times.mean) * (one - times.mean);
  return sum / (count - 1) / count;
}

// What random times alone may make of a slow-down: twice the standard error of the difference of the means.
double noise_of(const JobResult& job) {
  if (!job.seated.job.scenario.stragglers.jitter) return 0;
  return 2 * std::sqrt(error_of(*job.alone) + error_of(*job.together)) / job.alone->mean;
}

bool is_slowed(const JobResult& job) {
  return job.slowdown && *job.slowdown - 1 >= std::max(least_slowdown, noise_of(job));
}

std::string verdict(const JobsFile& file, const JobsResult& result, const JobsResult* undisturbed) {
  const auto measured = [](const JobResult& job) { return job.slowdown.has_value(); };
  if (std::none_of(result.jobs.begin(), result.jobs.end(), measured)) return "No iteration was measured";
  const JobResult* worst = most_slowed(result);
  if (!worst) return "No job is slowed down";
  std::string text = fmt::format("{} is slowed down most: an iteration takes {:.3f} times as long as alone",
                                 worst->seated.name, *worst->slowdown);
  const std::string others = disturbances_text(file);
  if (!worst->contention.empty())
    text += "; " + contention_text(result, worst->contention.front(), worst->seated);
  else if (!others.empty())
    text += "; it shares no full link with another job";
  if (!undisturbed) return text;
  const auto& without = undisturbed->jobs[static_cast<std::size_t>(worst - result.jobs.data())].slowdown;
  return without ? text + fmt::format("; without {} it takes {:.3f} times as long", others, *without) : text;
}

}  // namespace

const JobResult* most_slowed(const JobsResult& result) {
  const JobResult* worst = nullptr;
  for (const JobResult& job : result.jobs)
    if (is_slowed(job) && (!worst || *job.slowdown > *worst->slowdown)) worst = &job;
  return worst;
}

std::string disturbances_text(const JobsFile& file) {
  if (file.background.empty()) return file.events.empty() ? "" : "events";
  return file.events.empty() ? "background" : "events and background";
}

std::string jobs_report(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed, const Screen& screen) {
  const auto time = [](const char* name) { return TableColumn(name).like("alone"); };
  Table table({"job", "strategy", "workers", "alone", time("together"), time("p99"), "slow-down", "exposed comm.",
               "samples/s"});
  std::vector<std::string> slow;
  for (const JobResult& job : result.jobs) {
    const auto seconds = [](const std::optional<double>& value) {
      return value ? cell::seconds(*value) : TableCell("-");
    };
    const auto& together = job.together;
    table.add(
        {job.seated.name, job.seated.job.scenario.strategy->name,
         cell::count(static_cast<std::int64_t>(job.seated.seats.size())),
         seconds(job.alone ? std::optional(job.alone->mean) : std::nullopt),
         seconds(together ? std::optional(together->mean) : std::nullopt),
         seconds(together ? std::optional(together->p99) : std::nullopt),
         job.slowdown ? cell::number(*job.slowdown, 3) : TableCell("-"), seconds(job.exposed_s),
         job.samples_per_s ? cell::number(*job.samples_per_s, rate_decimals(*job.samples_per_s)) : TableCell("-")});
    if (computes_slowly(file, job)) slow.push_back(job.seated.name);
  }
  std::string text = fmt::format("{} on {}, {}\n\n{}\n", counted(std::ssize(result.jobs), "job"), result.cluster,
                                 to_string(result.fidelity), table.text(screen));
  const auto say = [&](const std::string& line) { text += wrapped(line + "\n", screen.width); };
  for (const std::string& line : contention_lines(result)) say(line);
  if (!slow.empty())
    say(fmt::format("exposed comm. of {} includes slower computation (events, stragglers, jitter)", listed(slow)));
  if (result.makespan_s) say(fmt::format("the last job finished after {}", format_duration(*result.makespan_s)));
  if (result.fairness) say(fmt::format("fairness {:.3f}", *result.fairness));
  for (const JobResult& job : result.jobs)
    if (job.goodput)
      text += fmt::format("\n{}:{}", job.seated.name, goodput_report(*job.goodput, *job.reliability, screen));
  say(result.period_s ? fmt::format("periodic, every {}", format_duration(*result.period_s))
                      : "not periodic; means are over the measured iterations");
  if (found) {
    text += "\n";
    for (const std::string& line : jobs_search_lines(result, *found)) say(line);
  }
  say(verdict(file, result, undisturbed));
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
    row["slowdown"] = job.slowdown;
    row["exposed_comm_s"] = job.exposed_s;
    row["exposed_alone_s"] = job.exposed_alone_s;
    row["samples_per_s"] = job.samples_per_s;
    row["start_s"] = to_seconds(job.seated.start);
    row["end_s"] = job.end ? JsonValue(to_seconds(*job.end)) : JsonValue();
    row["lost_s"] = job.lost_s;
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
                    {"period_s", result.period_s},
                    {"makespan_s", result.makespan_s},
                    {"fairness", result.fairness},
                    {"jobs", std::move(jobs)},
                    {"events", result.events}};
  if (found) {
    json["before"] = {{"worst", found->worst_before}, {"mean", found->mean_before}};
    json["search"] = {{"evaluations", found->evaluations}, {"worst", found->worst}, {"mean", found->mean}};
  }
  return json;
}

}  // namespace allreplay
