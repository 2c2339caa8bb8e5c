#include "sim/output/report/jobs_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/output/report/notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/run_report.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"

namespace allreplay {

namespace {

constexpr double least_slowdown = 5e-4;  // slow-downs are printed with three decimals

JsonValue placement_json(const SeatChoice& choice) {
  if (choice.placement.kind != Placement::Kind::Listed) return choice.text;
  return array_of(choice.placement.hosts, [](const NamedHost& host) { return host.name; });
}

JsonValue contention_json(const JobsResult& result, const JobResult& job) {
  const Topology& topology = *job.seated.job.topology;
  return array_of(job.contention, [&](const Contention& one) {
    const Link& link = topology.links()[one.link];
    return JsonValue{{"link", fmt::format("{} -> {}", topology.name(link.from), topology.name(link.to))},
                     {"with", result.jobs[one.with].seated.name},
                     {"share", one.share}};
  });
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

// True if the job is measured during the event and feels it; one on a link concerns all jobs.
bool is_felt(const ClusterEvent& event, std::size_t index, const JobResult& job) {
  const auto slows = [&](const std::vector<std::size_t>& of_class) {
    return std::find(of_class.begin(), of_class.end(), index) != of_class.end();
  };
  return job.together && event.at < job.to && event.end() > job.from &&
         (!event.slowdown || std::any_of(job.seated.events.begin(), job.seated.events.end(), slows));
}

// True if something slows the job's computation while it is measured; its exposed communication then includes that.
bool computes_slowly(const JobsFile& file, const JobResult& job) {
  bool slowed = job.seated.job.scenario.stragglers.jitter.has_value();
  for (const WorkerClass& one : job.seated.classes) slowed |= one.slowdown != 1;
  for (std::size_t i = 0; i < file.events.size(); ++i)
    slowed |= file.events[i].slowdown && is_felt(file.events[i], i, job);
  return job.together && slowed;
}

// The numbers of the events that no job feels while it is measured.
JsonValue unfelt_events(const JobsFile& file, const JobsResult& result) {
  auto events = JsonValue::array();
  for (std::size_t i = 0; i < file.events.size(); ++i)
    if (std::none_of(result.jobs.begin(), result.jobs.end(),
                     [&](const JobResult& job) { return is_felt(file.events[i], i, job); }))
      events.push_back(i);
  return events;
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

JsonValue notes_of(const JobsFile& file, const JobsResult& result) {
  auto notes = JsonValue::array();
  if (std::any_of(result.jobs.begin(), result.jobs.end(),
                  [&](const JobResult& job) { return computes_slowly(file, job); }))
    notes.push_back({{"note", "slow computation"}});
  add_note_on_phases(result, notes);
  if (JsonValue events = unfelt_events(file, result); !events.empty())
    notes.push_back({{"note", "unfelt events"}, {"events", std::move(events)}});
  return notes;
}

const ViewTable table_of_jobs{"jobs",
                              {{"job", "{name}"},
                               {"strategy", "{strategy}"},
                               {"workers", "{workers}"},
                               quantity("{alone_s}"),
                               {"together", "{iteration_s}", "isolated"},
                               quantity("{p99_s}", "alone_s"),
                               quantity("{slowdown:3}"),
                               quantity("{exposed_comm_s}", "alone_s", "* computes_slowly"),
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
  json["notes"] = notes_of(file, result);
  return json;
}

const View& jobs_view() {
  static const View of_a_job{{ViewText{"{name}:", "goodput"}, &goodput_view()}};
  static const View view{{
      ViewText{"jobs on {cluster}, {fidelity}"},
      table_of_jobs,
      table_of_links,
      table_of_places,
      facts_of_all,
      ViewEach{"jobs", &of_a_job},
      ViewNotes{},
      ViewText{"Not periodic: means are over the measured iterations.", "!steady"},
      ViewText{"No start offset helps.", "search/offsets !search/offsets_help"},
      ViewText{"No job is slowed down.", "fairness !most_slowed"},
      ViewText{"{most_slowed/name} is slowed down most: an iteration takes {most_slowed/slowdown:3} times as long as "
               "in isolation[, {most_slowed/undisturbed_slowdown:3} times without events and background]."},
  }};
  return view;
}

namespace {

using JobLines = std::vector<const ResultLine*>;

constexpr const char* measures[] = {"alone_s", "iteration_s", "p99_s", "exposed_comm_s", "slowdown"};

std::vector<std::string> identifying_keys() {
  std::vector<std::string> keys;
  for (const std::string_view key : job_keys())
    if (column_of(key).role == ColumnRole::Identity) keys.emplace_back(key);
  return keys;
}

// The identifying columns in which these rows differ, or those in which they do not.
std::vector<std::string> identifying_columns(const ResultTable& result, const JobLines& rows, bool differ) {
  std::vector<std::string> names;
  for (const std::string& name : identifying_keys()) {
    const std::string_view first = result.text(*rows.front(), name);
    const bool same =
        std::all_of(rows.begin(), rows.end(), [&](const ResultLine* row) { return result.text(*row, name) == first; });
    if (same != differ) names.push_back(name);
  }
  return names;
}

JsonValue values_of(const ResultTable& result, const ResultLine& row, const std::vector<std::string>& names) {
  auto values = JsonValue::object();
  for (const std::string& name : names)
    if (const std::string_view value = result.text(row, name); !value.empty()) values[name] = value;
  return values;
}

JsonValue rows_of(const ResultTable& result, const JobLines& lines) {
  const std::vector<std::string> keys = identifying_columns(result, lines, true);
  auto rows = JsonValue::array();
  for (const ResultLine* line : lines) {
    JsonValue row = values_of(result, *line, keys);
    for (const char* name : measures)
      if (!result.text(*line, name).empty()) row[name] = result.number(*line, name);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The rows of each file's first job: one for each run.
std::map<std::string, JobLines> runs_by_file(const ResultTable& result, const JobLines& lines) {
  std::map<std::string, JobLines> files;
  for (const ResultLine* line : lines) {
    JobLines& runs = files[std::string(result.text(*line, "jobs"))];
    if (runs.empty() || result.text(*line, "job") == result.text(*runs.front(), "job")) runs.push_back(line);
  }
  return files;
}

JsonValue ranges_of(const ResultTable& result, const JobLines& lines) {
  auto ranges = JsonValue::array();
  for (const auto& [name, runs] : runs_by_file(result, lines)) {
    const std::vector<std::string> keys = identifying_columns(result, runs, true);
    const auto worst = [&](const ResultLine* run) { return result.number(*run, "worst_slowdown"); };
    const auto [least, most] = std::minmax_element(
        runs.begin(), runs.end(), [&](const ResultLine* a, const ResultLine* b) { return worst(a) < worst(b); });
    if (runs.size() < 2 || worst(*least) == 0) continue;  // nothing to compare, or nothing was measured
    ranges.push_back({{"jobs", name},
                      {"least", worst(*least)},
                      {"least_with", values_of(result, **least, keys)},
                      {"most", worst(*most)},
                      {"most_with", values_of(result, **most, keys)}});
  }
  return ranges;
}

}  // namespace

JsonValue jobs_sweep_document(const ResultTable& result) {
  JobLines lines;
  std::map<std::string, TimesOfProfile> times_by_profile;
  for (const ResultLine& row : result.rows) {
    lines.push_back(&row);
    times_by_profile[std::string(result.text(row, "profile"))].origin = result.text(row, "origin");
  }
  JsonValue document{{"rows", rows_of(result, lines)},
                     {"same", values_of(result, *lines.front(), identifying_columns(result, lines, false))},
                     {"ranges", ranges_of(result, lines)},
                     {"notes", notes_on_origins(times_by_profile)}};
  return document;
}

const View& jobs_sweep_table_view() {
  static const View view = [] {
    ViewTable table{"rows", {}, 0};
    for (const std::string& name : identifying_keys()) table.columns.push_back({name, "{" + name + "}"});
    table.keys = table.columns.size();
    for (const ViewColumn& column :
         {quantity("{alone_s}"), ViewColumn{"together", "{iteration_s}", "isolated"}, quantity("{p99_s}", "alone_s"),
          quantity("{exposed_comm_s}", "alone_s"), quantity("{slowdown:3}")})
      table.columns.push_back(column);
    return View{{ViewText{"{same}", "same"}, std::move(table)}};
  }();
  return view;
}

const View& jobs_sweep_verdict_view() {
  static const View view{{
      ViewNotes{},
      ViewList{"ranges", "{jobs}: the worst slow-down ranges from {least:3} ({least_with}) to {most:3} ({most_with})."},
  }};
  return view;
}

}  // namespace allreplay
