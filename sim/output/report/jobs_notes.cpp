#include "sim/output/report/jobs_notes.hpp"

#include <algorithm>

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

// True if the job's workers could feel the event: one on a link concerns all jobs.
bool concerns(const JobsFile& file, std::size_t event, const JobResult& job) {
  const std::vector<std::size_t> felt = felt_by(job);
  return !file.events[event].slowdown || std::find(felt.begin(), felt.end(), event) != felt.end();
}

// Jobs that end are measured from their first iteration to their last, a steady run over its period. All others should
// be measured for at least one iteration of the longest.
void add_note_on_phases(const JobsResult& result, JsonValue& notes) {
  if (result.period_s) return;
  const JobResult* longest = nullptr;
  for (const JobResult& job : result.jobs)
    if (job.together && (!longest || job.together->mean > longest->together->mean)) longest = &job;
  auto jobs = JsonValue::array();
  for (const JobResult& job : result.jobs)
    if (job.together && !job.seated.iterations && to_seconds(job.to - job.from) < longest->together->mean)
      jobs.push_back(job.seated.name);
  if (!jobs.empty())
    notes.push_back({{"note", "one phase"},
                     {"jobs", std::move(jobs)},
                     {"longest", longest->seated.name},
                     {"iteration_s", longest->together->mean}});
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

JsonValue unmeasured_events(const JobsFile& file, const JobsResult& result) {
  auto events = JsonValue::array();
  for (std::size_t i = 0; i < file.events.size(); ++i) {
    auto jobs = JsonValue::array();
    bool is_of_a_job = false, is_measured = false;
    for (const JobResult& job : result.jobs) {
      if (!concerns(file, i, job)) continue;
      is_of_a_job = true;
      if (job.together && is_measured_during(file.events[i], job))
        is_measured = true;
      else if (job.together)
        jobs.push_back(job.seated.name);
    }
    if (!is_of_a_job || (!jobs.empty() && (file.events[i].slowdown || !is_measured)))
      events.push_back({{"event", i}, {"jobs", std::move(jobs)}});
  }
  return events;
}

JsonValue jobs_notes(const JobsFile& file, const JobsResult& result) {
  auto notes = JsonValue::array();
  if (std::any_of(result.jobs.begin(), result.jobs.end(),
                  [&](const JobResult& job) { return computes_slowly(file, job); }))
    notes.push_back({{"note", "slow computation"}});
  add_note_on_phases(result, notes);
  return notes;
}

}  // namespace allreplay
