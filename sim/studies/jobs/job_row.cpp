#include "sim/studies/jobs/job_row.hpp"

#include "sim/plans/collective/algorithm.hpp"
#include "sim/replay/training/collective_choice.hpp"

namespace allreplay {

namespace {

Cell cell_of(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

const JobResult& result_of(const JobRecord& record) { return record.found->result.jobs[record.job]; }

template <double MeasuredTimes::*member>
Cell together(const JobRecord& record) {
  const auto& times = result_of(record).together;
  return times ? Cell((*times).*member) : Cell();
}

template <std::optional<double> JobResult::*member>
Cell of_job(const JobRecord& record) {
  return cell_of(result_of(record).*member);
}

template <std::optional<double> JobsResult::*member>
Cell of_all(const JobRecord& record) {
  return cell_of(record.found->result.*member);
}

constexpr bool identifies = true;

constexpr JobColumn all_job_columns[] = {
    {"jobs", "the name of the jobs file", [](const JobRecord& r) -> Cell { return r.file.name; }, identifies},
    {"job", "the name of the job in it", [](const JobRecord& r) -> Cell { return r.entry.name; }, identifies},
    {"profile", "the name of the job's profile", [](const JobRecord& r) -> Cell { return r.scenario.profile->name; },
     identifies},
    {"cluster", "the name of the cluster", [](const JobRecord& r) -> Cell { return r.scenario.cluster.name; },
     identifies},
    {"strategy", "how its communication is scheduled",
     [](const JobRecord& r) -> Cell { return std::string(r.scenario.strategy->name); }, identifies},
    {"workers", "number of its workers", [](const JobRecord& r) -> Cell { return r.scenario.workers; }, identifies},
    {"collective", "the collective that carries its gradients",
     [](const JobRecord& r) -> Cell { return std::string(collective_of(r.scenario).algorithm->name); }, identifies},
    {"fidelity", "how communication is simulated",
     [](const JobRecord& r) -> Cell { return to_string(collective_of(r.scenario).fidelity); }, identifies},
    {"codec", "the codec that compresses its gradients; null (empty): none",
     [](const JobRecord& r) { return r.scenario.codec ? Cell(r.scenario.codec->name) : Cell(); }, identifies},
    {"origin", "of the profile: measured, imported, reconstructed",
     [](const JobRecord& r) -> Cell { return to_string(r.scenario.profile->origin); }, identifies},
    {"placements", "placements of all jobs of the run in the sweep; null (empty) if those of the file are used",
     [](const JobRecord& r) { return r.placements.empty() ? Cell() : Cell(r.placements); }, identifies},
    {"search", "none, or the search: place;stagger=K;minimise=mean",
     [](const JobRecord& r) -> Cell { return r.search; }, identifies},
    {"options", "the options in use; in CSV key=value;key=value",
     [](const JobRecord& r) -> Cell { return options_in_effect(r.scenario); }, identifies},
    {"routing", "routing of messages; null (empty) if neither the cluster's file nor the sweep gives it",
     [](const JobRecord& r) {
       const auto& topology = r.scenario.cluster.network.topology;
       return topology && topology->routing.given ? Cell(in_words(topology->routing)) : Cell();
     },
     identifies},
    {"placement", "its placement, as in the file or the sweep",
     [](const JobRecord& r) -> Cell { return r.entry.seats.text; }},
    {"iterations", "measured",
     [](const JobRecord& r) -> Cell {
       const auto& times = result_of(r).together;
       return times ? std::ssize(times->each) : std::int64_t{0};
     }},
    {"alone_s", "mean seconds of an iteration alone, on the same seats",
     [](const JobRecord& r) {
       const auto& alone = result_of(r).alone;
       return alone ? Cell(alone->mean) : Cell();
     }},
    {"iteration_s", "mean seconds of an iteration together", together<&MeasuredTimes::mean>},
    {"p50_s", "median of these", together<&MeasuredTimes::p50>},
    {"p99_s", "99th percentile of these", together<&MeasuredTimes::p99>},
    {"least_s", "shortest of these", together<&MeasuredTimes::least>},
    {"most_s", "longest of these", together<&MeasuredTimes::most>},
    {"slowdown", "iteration_s / alone_s", of_job<&JobResult::slowdown>},
    {"exposed_comm_s", "seconds: iteration_s - computation of its slowest class", of_job<&JobResult::exposed_s>},
    {"exposed_alone_s", "the same alone", of_job<&JobResult::exposed_alone_s>},
    {"samples_per_s", "samples/s; null (empty) if the batch size is unknown", of_job<&JobResult::samples_per_s>},
    {"start_s", "seconds until it started",
     [](const JobRecord& r) -> Cell { return to_seconds(result_of(r).seated.start); }},
    {"end_s", "seconds until it ended; null (empty) if it does not",
     [](const JobRecord& r) {
       const auto& end = result_of(r).end;
       return end ? Cell(to_seconds(*end)) : Cell();
     }},
    {"lost_s", "seconds more than the same iterations alone take; null (empty) if the run is steady",
     of_job<&JobResult::lost_s>},
    {"found_placement", "placement that the search found",
     [](const JobRecord& r) -> Cell { return r.found->choices[r.job].text; }},
    {"offset_s", "seconds by which the search delays its start",
     [](const JobRecord& r) -> Cell { return to_seconds(r.found->offsets[r.job]); }},
    {"worst_slowdown", "largest slow-down of the jobs of the run",
     [](const JobRecord& r) -> Cell { return r.found->worst; }},
    {"mean_slowdown", "mean slow-down of the jobs of the run",
     [](const JobRecord& r) -> Cell { return r.found->mean; }},
    {"fairness", "Jain's fairness index of the slow-downs of the run", of_all<&JobsResult::fairness>},
    {"period_s", "seconds after which the run repeats; null (empty) if it is not steady",
     of_all<&JobsResult::period_s>},
    {"makespan_s", "seconds until the last job of the run ends, of those that end", of_all<&JobsResult::makespan_s>},
    {"runs", "number of runs of the search", [](const JobRecord& r) -> Cell { return r.found->evaluations; }},
    {"events", "events of the simulation of the last run",
     [](const JobRecord& r) -> Cell { return r.found->result.events; }},
    {"wall_s", "seconds that all runs took", [](const JobRecord& r) -> Cell { return r.wall_s; }},
};

Row job_row_of(const JobRecord& record, bool identity_only) {
  Row row;
  for (const JobColumn& column : all_job_columns)
    if (column.identifies || !identity_only) row.push_back({column.name, column.get(record)});
  return row;
}

}  // namespace

std::span<const JobColumn> job_columns() { return all_job_columns; }

Row job_identity(const JobRecord& record) { return job_row_of(record, true); }

Row job_row(const JobRecord& record) { return job_row_of(record, false); }

}  // namespace allreplay
