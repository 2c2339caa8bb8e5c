#include "sim/report/jobs_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

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

// Slow-downs are printed with three decimals: less is rounding.
constexpr double least_slowdown = 5e-4;

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
  if (!worst) return "No job is slowed";
  std::string text = fmt::format("{} is slowed most: an iteration takes {:.3f} times as long as alone",
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

bool is_measured_during(const ClusterEvent& event, const JobResult& job) {
  return event.at < job.to && event.end() > job.from;
}

std::vector<std::size_t> felt_by(const JobResult& job) {
  std::vector<std::size_t> events;
  for (const auto& of_class : job.seated.events) events.insert(events.end(), of_class.begin(), of_class.end());
  return events;
}

// What slows a job's computing, which its exposed communication then includes.
bool computes_slowly(const JobsFile& file, const JobResult& job) {
  const std::vector<std::size_t> events = felt_by(job);
  return job.together && (job.seated.job.scenario.stragglers.jitter ||
                          std::any_of(job.seated.classes.begin(), job.seated.classes.end(),
                                      [](const WorkerClass& one) { return one.slowdown != 1; }) ||
                          std::any_of(events.begin(), events.end(),
                                      [&](std::size_t event) { return is_measured_during(file.events[event], job); }));
}

// Jobs that end are measured from their first iteration to their last, a steady run over its period; of all others
// an iteration of the longest should fit into what is measured.
std::string note_on_phases(const JobsResult& result) {
  if (result.period_s) return "";
  const JobResult* longest = nullptr;
  for (const JobResult& job : result.jobs)
    if (job.together && (!longest || job.together->mean > longest->together->mean)) longest = &job;
  std::vector<std::string> names;
  for (const JobResult& job : result.jobs)
    if (job.together && !job.seated.iterations && to_seconds(job.to - job.from) < longest->together->mean)
      names.push_back(job.seated.name);
  if (names.empty()) return "";
  return fmt::format(
      "{} {} measured for less than one iteration of {} ({}), so only in one phase of it: slow-down and fairness hold "
      "for that phase; \"iterations\" of {} measures the others until it is done",
      listed(names), names.size() == 1 ? "was" : "were", longest->seated.name, format_duration(longest->together->mean),
      longest->seated.name);
}

// An event on a link is anybody's; what slows workers is that of their jobs.
std::vector<std::string> notes_on_events(const JobsFile& file, const JobsResult& result) {
  std::map<std::string, std::vector<std::string>> unmeasured;  // whose: events
  for (std::size_t i = 0; i < file.events.size(); ++i) {
    std::vector<std::string> names;
    bool of_nobody = true, measured = false;
    for (const JobResult& job : result.jobs) {
      const std::vector<std::size_t> felt = felt_by(job);
      if (file.events[i].slowdown && std::find(felt.begin(), felt.end(), i) == felt.end()) continue;
      of_nobody = false;
      if (!job.together) continue;
      if (is_measured_during(file.events[i], job))
        measured = true;
      else
        names.push_back(fmt::format("{} ({} to {})", job.seated.name, format_duration(to_seconds(job.from)),
                                    format_duration(to_seconds(job.to))));
    }
    const std::string number = fmt::format("{}", i);
    if (of_nobody) unmeasured["of any job: nobody sits there"].push_back(number);
    if (!names.empty() && (file.events[i].slowdown || !measured)) unmeasured["of " + listed(names)].push_back(number);
  }
  std::vector<std::string> notes;
  for (const auto& [whose, events] : unmeasured)
    notes.push_back(fmt::format("event{} {} {} outside what was measured {}", events.size() == 1 ? "" : "s",
                                listed(events), events.size() == 1 ? "lies" : "lie", whose));
  return notes;
}

// "first packed, second random:1".
std::string choices_text(const JobsResult& result, std::span<const SeatChoice> choices) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < choices.size(); ++i)
    texts.push_back(fmt::format("{} {}", result.jobs[i].seated.name, choices[i].text));
  return listed(texts, 20);
}

std::string shorter_text(const JobsResult& result, const TriedPlacements& shorter) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const auto& found = result.jobs[i].together;
    if (found && shorter.means_s[i] > 0 && std::abs(shorter.means_s[i] / found->mean - 1) >= least_slowdown)
      texts.push_back(fmt::format("{} {} (found: {})", result.jobs[i].seated.name, format_duration(shorter.means_s[i]),
                                  format_duration(found->mean)));
  }
  return fmt::format(
      "shorter iterations, also tried: with {}, an iteration of {}; the search goes by slow-down, against each job "
      "alone on the same seats",
      choices_text(result, shorter.choices), listed(texts, 20));
}

std::vector<std::string> search_lines(const JobsResult& result, const FoundJobs& found) {
  const bool place = found.search.place;
  // Offsets that gain less than what is printed are none.
  const bool helps =
      found.worst_placed - found.worst >= least_slowdown || found.mean_placed - found.mean >= least_slowdown;
  const bool later = found.search.stagger && helps;
  std::vector<std::string> lines{
      fmt::format("{}: the largest slow-down {:.3f}, the mean {:.3f}",
                  place ? "the first placements" : "the file's own", found.worst_before, found.mean_before),
      fmt::format("found in {} runs: the largest slow-down {:.3f}, the mean {:.3f}", found.evaluations, found.worst,
                  found.mean)};
  for (std::size_t i = 0; (place || later) && i < result.jobs.size(); ++i)
    lines.push_back(fmt::format("{}: {}{}{}", result.jobs[i].seated.name,
                                place ? "placement " + found.choices[i].text : "", place && later ? ", " : "",
                                later ? format_duration(to_seconds(found.offsets[i])) + " later" : ""));
  if (found.shorter) lines.push_back(shorter_text(result, *found.shorter));
  if (found.search.stagger && !helps) lines.push_back("no offset to a start helps");
  if (later && !result.period_s)
    lines.push_back("offsets hold only where phases do, and these periods drift against each other");
  return lines;
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

std::vector<std::string> jobs_notes(const JobsFile& file, const JobsResult& result) {
  std::vector<std::string> notes = notes_on_events(file, result);
  if (std::string note = note_on_phases(result); !note.empty()) notes.push_back(std::move(note));
  for (const JobResult& job : result.jobs)
    if (job.reliability)
      if (const std::string idle = idle_reliability(*job.reliability); !idle.empty())
        notes.push_back(fmt::format("{}: {}", job.seated.name, idle));
  return notes;
}

std::string jobs_report(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed, const Screen& screen) {
  const auto time = [](const char* name) { return TableColumn(name).like("alone"); };
  Table table({"job", "strategy", "workers", "alone", time("together"), time("99th %"), "slow-down", "exposed comm.",
               "samples/s"});
  std::vector<std::string> slow;
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
    if (computes_slowly(file, job)) slow.push_back(job.seated.name);
  }
  std::string text = fmt::format("{} on {}, {}\n\n{}\n", counted(std::ssize(result.jobs), "job"), result.cluster,
                                 to_string(result.fidelity), table.text(screen));
  const auto say = [&](const std::string& line) { text += wrapped(line + "\n", screen.width); };
  for (const std::string& line : contention_lines(result)) say(line);
  if (!slow.empty())
    say(fmt::format("exposed comm. of {} includes what slows computing (events, stragglers, jitter)", listed(slow)));
  if (result.makespan_s) say(fmt::format("the last job finished after {}", format_duration(*result.makespan_s)));
  if (result.fairness) say(fmt::format("fairness {:.3f}", *result.fairness));
  for (const JobResult& job : result.jobs)
    if (job.goodput)
      text += fmt::format("\n{}:{}", job.seated.name, goodput_report(*job.goodput, *job.reliability, screen));
  say(result.period_s ? fmt::format("periodic, every {}", format_duration(*result.period_s))
                      : "not periodic; means are over the measured iterations");
  if (found) {
    text += "\n";
    for (const std::string& line : search_lines(result, *found)) say(line);
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
