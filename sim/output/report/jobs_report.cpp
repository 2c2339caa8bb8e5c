#include "sim/output/report/jobs_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/output/report/goodput_report.hpp"
#include "sim/output/report/jobs_notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"

namespace allreplay {

namespace {

constexpr double least_slowdown = 5e-4;  // slow-downs are printed with three decimals

JsonValue placement_json(const SeatChoice& choice) {
  if (choice.placement.kind != Placement::Kind::Listed) return choice.text;
  JsonValue hosts = JsonValue::array();
  for (const NamedHost& host : choice.placement.hosts) hosts.push_back(host.name);
  return hosts;
}

JsonValue contention_json(const JobsResult& result, const JobResult& job) {
  const Topology& topology = *job.seated.job.topology;
  JsonValue contention = JsonValue::array();
  for (const Contention& one : job.contention) {
    const Link& link = topology.links()[one.link];
    contention.push_back({{"link", fmt::format("{} -> {}", topology.name(link.from), topology.name(link.to))},
                          {"with", result.jobs[one.with].seated.name},
                          {"share", one.share}});
  }
  return contention;
}

// The square of the standard error of a mean.
double error_of(const MeasuredTimes& times) {
  const auto count = static_cast<double>(times.each.size());
  if (count < 2) return 0;
  double sum = 0;
  for (const double one : times.each) sum += (one - times.mean) * (one - times.mean);
  return sum / (count - 1) / count;
}

// The slow-down that random times explain: twice the standard error of the difference of the means.
double noise_of(const JobResult& job) {
  if (!job.seated.job.scenario.stragglers.jitter) return 0;
  return 2 * std::sqrt(error_of(*job.alone) + error_of(*job.together)) / job.alone->mean;
}

bool is_slowed(const JobResult& job) {
  return job.slowdown && *job.slowdown - 1 >= std::max(least_slowdown, noise_of(job));
}

// True if the offsets gain as much as is printed.
bool offsets_help(const FoundJobs& found) {
  return found.search.stagger &&
         (found.worst_placed - found.worst >= least_slowdown || found.mean_placed - found.mean >= least_slowdown);
}

JsonValue job_json(const JobsResult& result, std::size_t index, const FoundJobs* found, bool each) {
  const JobResult& job = result.jobs[index];
  JsonValue row = {{"name", job.seated.name},
                   {"strategy", job.seated.job.scenario.strategy->name},
                   {"workers", static_cast<std::int64_t>(job.seated.seats.size())},
                   {"hosts", job.seated.hosts}};
  if (!job.seated.batches.empty()) row["batches"] = job.seated.batches;
  row.update(json_of(job_times(job)));
  row["contention"] = contention_json(result, job);
  if (job.goodput) row["goodput"] = goodput_json(*job.goodput);
  if (found) {
    row["placement"] = placement_json(found->choices[index]);
    row["offset_s"] = to_seconds(found->offsets[index]);
  }
  if (each) row["each_s"] = job.together && !found ? JsonValue(job.together->each) : JsonValue::array();
  return row;
}

JsonValue most_slowed_json(const JobsResult& result, const JobsResult* undisturbed) {
  const JobResult* worst = most_slowed(result);
  if (!worst) return nullptr;
  JsonValue json{{"name", worst->seated.name}, {"slowdown", *worst->slowdown}};
  if (undisturbed)
    json["undisturbed_slowdown"] = undisturbed->jobs[static_cast<std::size_t>(worst - result.jobs.data())].slowdown;
  return json;
}

const ViewTable table_of_jobs{"jobs",
                              {{"job", "{name}"},
                               {"strategy", "{strategy}"},
                               {"workers", "{workers}"},
                               quantity("{alone_s}"),
                               {"together", "{iteration_s}", "isolated"},
                               quantity("{p99_s}", "alone_s"),
                               quantity("{slowdown:3}"),
                               quantity("{exposed_comm_s}", "", "* computes_slowly"),
                               quantity("{samples_per_s}")}};
const ViewTable table_of_links{.rows = "jobs",
                               .columns = {{"job", "{name}"},
                                           {"most contended link", "{contention/0/link}"},
                                           {"with", "{contention/0/with}"},
                                           {"of its time", "{contention/0/share}"}},
                               .when = "contention"};
const ViewTable table_of_places{.rows = "jobs",
                                .columns = {{"job", "{name}"},
                                            {"placement found", "{placement}"},
                                            {"starts later by", "{later_s:nonzero}"},
                                            {"shortest iterations with", "{shortest/placement}"},
                                            {"then", "{shortest/iteration_s}"}},
                                .when = "search"};
const ViewFacts facts_of_all{
    {{"fairness", "{fairness:3}"},
     {"last job finished after", "{makespan_s}"},
     {"repeats every", "{period_s}"},
     {"before the search", "largest slow-down {before/worst:3}, mean {before/mean:3}"},
     {"found", "largest slow-down {search/worst:3}, mean {search/mean:3}; runs: {search/evaluations}"}}};

}  // namespace

const JobResult* most_slowed(const JobsResult& result) {
  const JobResult* worst = nullptr;
  for (const JobResult& job : result.jobs)
    if (is_slowed(job) && (!worst || *job.slowdown > *worst->slowdown)) worst = &job;
  return worst;
}

JsonValue jobs_json(const JobsResult& result, const FoundJobs* found, bool each) {
  JsonValue json = {{"cluster", result.cluster},
                    {"fidelity", to_string(result.fidelity)},
                    {"steady", result.period_s.has_value()},
                    {"period_s", result.period_s},
                    {"makespan_s", result.makespan_s},
                    {"fairness", result.fairness},
                    {"jobs", JsonValue::array()},
                    {"events", result.events}};
  for (std::size_t i = 0; i < result.jobs.size(); ++i) json["jobs"].push_back(job_json(result, i, found, each));
  if (!found) return json;
  json["before"] = {{"worst", found->worst_before}, {"mean", found->mean_before}};
  json["search"] = {{"evaluations", found->evaluations}, {"worst", found->worst}, {"mean", found->mean}};
  return json;
}

JsonValue jobs_document(const JobsFile& file, const JobsResult& result, const FoundJobs* found,
                        const JobsResult* undisturbed) {
  JsonValue json = jobs_json(result, found, false);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const JobResult& job = result.jobs[i];
    JsonValue& row = json["jobs"][i];
    row["computes_slowly"] = computes_slowly(file, job);
    if (job.goodput) row["goodput"] = goodput_document(*job.goodput, *job.reliability);
    if (found && offsets_help(*found)) row["later_s"] = row.at("offset_s");
    if (found && found->shorter)
      row["shortest"] = {{"placement", placement_json(found->shorter->choices[i])},
                         {"iteration_s", found->shorter->means_s[i]}};
  }
  if (found) {
    json["search"]["offsets"] = found->search.stagger;
    json["search"]["offsets_help"] = offsets_help(*found);
  }
  json["most_slowed"] = most_slowed_json(result, undisturbed);
  json["unmeasured_events"] = unmeasured_events(file, result);
  json["notes"] = jobs_notes(file, result);
  return json;
}

const View& jobs_view() {
  static const View of_a_job{{ViewText{"{name}:", "goodput"}, &goodput_view()}};
  static const View view{{
      ViewText{"jobs on {cluster}, {fidelity}"},
      ViewText{},
      table_of_jobs,
      ViewText{},
      table_of_links,
      ViewText{},
      table_of_places,
      ViewText{},
      facts_of_all,
      ViewEach{"jobs", &of_a_job},
      ViewText{},
      ViewNotes{},
      ViewList{"unmeasured_events", "note: event {event} is outside the measured time of {jobs}", "jobs"},
      ViewList{"unmeasured_events", "note: event {event}: no worker of a job is placed there", "!jobs"},
      ViewText{"Not periodic: means are over the measured iterations.", "!steady"},
      ViewText{"No start offset helps.", "search/offsets !search/offsets_help"},
      ViewText{"No job is slowed down.", "fairness !most_slowed"},
      ViewText{"{most_slowed/name} is slowed down most: an iteration takes {most_slowed/slowdown:3} times as long as "
               "in isolation[, {most_slowed/undisturbed_slowdown:3} times without events and background]."},
  }};
  return view;
}

}  // namespace allreplay
