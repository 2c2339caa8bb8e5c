#include "sim/report/jobs_notes.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/goodput_report.hpp"
#include "sim/report/phrases.hpp"

namespace allreplay {

namespace {

bool is_measured_during(const ClusterEvent& event, const JobResult& job) {
  return event.at < job.to && event.end() > job.from;
}

std::vector<std::size_t> felt_by(const JobResult& job) {
  std::vector<std::size_t> events;
  for (const auto& of_class : job.seated.events) events.insert(events.end(), of_class.begin(), of_class.end());
  return events;
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
    if (of_nobody) unmeasured["of any job: no worker is placed there"].push_back(number);
    if (!names.empty() && (file.events[i].slowdown || !measured)) unmeasured["of " + listed(names)].push_back(number);
  }
  std::vector<std::string> notes;
  for (const auto& [whose, events] : unmeasured)
    notes.push_back(fmt::format("event{} {} {} outside the measured time {}", events.size() == 1 ? "" : "s",
                                listed(events), events.size() == 1 ? "lies" : "lie", whose));
  return notes;
}

}  // namespace

bool computes_slowly(const JobsFile& file, const JobResult& job) {
  const std::vector<std::size_t> events = felt_by(job);
  return job.together && (job.seated.job.scenario.stragglers.jitter ||
                          std::any_of(job.seated.classes.begin(), job.seated.classes.end(),
                                      [](const WorkerClass& one) { return one.slowdown != 1; }) ||
                          std::any_of(events.begin(), events.end(),
                                      [&](std::size_t event) { return is_measured_during(file.events[event], job); }));
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

}  // namespace allreplay
