#include "sim/jobs/job_row.hpp"

#include "sim/collective/algorithm.hpp"
#include "sim/training/collective_choice.hpp"

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
    {"job", "which of its jobs", [](const JobRecord& r) -> Cell { return r.entry.name; }, identifies},
    {"profile", "the name of its profile", [](const JobRecord& r) -> Cell { return r.scenario.profile->name; },
     identifies},
    {"cluster", "the name of the cluster", [](const JobRecord& r) -> Cell { return r.scenario.cluster.name; },
     identifies},
    {"strategy", "how its communication is scheduled",
     [](const JobRecord& r) -> Cell { return std::string(r.scenario.strategy->name); }, identifies},
    {"workers", "how many it has", [](const JobRecord& r) -> Cell { return r.scenario.workers; }, identifies},
    {"collective", "what carries its gradients",
     [](const JobRecord& r) -> Cell { return std::string(collective_of(r.scenario).algorithm->name); }, identifies},
    {"fidelity", "how communication is simulated",
     [](const JobRecord& r) -> Cell { return to_string(collective_of(r.scenario).fidelity); }, identifies},
    {"codec", "what compresses; null (empty): gradients as they are",
     [](const JobRecord& r) { return r.scenario.codec ? Cell(r.scenario.codec->name) : Cell(); }, identifies},
    {"origin", "of the profile: measured, imported, reconstructed",
     [](const JobRecord& r) -> Cell { return to_string(r.scenario.profile->origin); }, identifies},
    {"placements", "where the sweep puts all jobs of the run; null (empty) where the file says it",
     [](const JobRecord& r) { return r.placements.empty() ? Cell() : Cell(r.placements); }, identifies},
    {"search", "none, or what was searched: place;stagger=K;minimise=mean",
     [](const JobRecord& r) -> Cell { return r.search; }, identifies},
    {"options", "those that matter to it; in CSV key=value;key=value",
     [](const JobRecord& r) -> Cell { return options_that_matter(r.scenario); }, identifies},
    {"routing", "of messages; null (empty) where neither the cluster's file nor the sweep says it",
     [](const JobRecord& r) {
       const auto& topology = r.scenario.cluster.network.topology;
       return topology && topology->routing.given ? Cell(in_words(topology->routing)) : Cell();
     },
     identifies},
    {"placement", "where it sits, as the file or the sweep has it",
     [](const JobRecord& r) -> Cell { return r.entry.seats.text; }},
    {"iterations", "measured",
     [](const JobRecord& r) -> Cell {
       const auto& times = result_of(r).together;
       return times ? std::ssize(times->each) : std::int64_t{0};
     }},
    {"alone_s", "seconds of an iteration alone, on the same seats: the mean",
     [](const JobRecord& r) {
       const auto& alone = result_of(r).alone;
       return alone ? Cell(alone->mean) : Cell();
     }},
    {"iteration_s", "seconds of an iteration together: the mean", together<&MeasuredTimes::mean>},
    {"p50_s", "their median", together<&MeasuredTimes::p50>},
    {"p99_s", "99 % are at most that", together<&MeasuredTimes::p99>},
    {"least_s", "the shortest", together<&MeasuredTimes::least>},
    {"most_s", "the longest", together<&MeasuredTimes::most>},
    {"slowdown", "iteration_s / alone_s", of_job<&JobResult::slowdown>},
    {"exposed_comm_s", "seconds: iteration_s - computing of its slowest class", of_job<&JobResult::exposed_s>},
    {"exposed_alone_s", "the same alone", of_job<&JobResult::exposed_alone_s>},
    {"samples_per_s", "null (empty) where the batch size is unknown", of_job<&JobResult::samples_per_s>},
    {"start_s", "seconds: when it began",
     [](const JobRecord& r) -> Cell { return to_seconds(result_of(r).seated.start); }},
    {"end_s", "seconds: when it ended; null (empty) where it does not",
     [](const JobRecord& r) {
       const auto& end = result_of(r).end;
       return end ? Cell(to_seconds(*end)) : Cell();
     }},
    {"lost_s", "seconds beyond as many iterations alone; null (empty) where the run is steady",
     of_job<&JobResult::lost_s>},
    {"found_placement", "where the search has put it",
     [](const JobRecord& r) -> Cell { return r.found->choices[r.job].text; }},
    {"offset_s", "seconds by which the search delays it",
     [](const JobRecord& r) -> Cell { return to_seconds(r.found->offsets[r.job]); }},
    {"worst_slowdown", "of the run: the largest of its jobs",
     [](const JobRecord& r) -> Cell { return r.found->worst; }},
    {"mean_slowdown", "of the run: the mean of its jobs", [](const JobRecord& r) -> Cell { return r.found->mean; }},
    {"fairness", "of the run: Jain's, of the slow-downs", of_all<&JobsResult::fairness>},
    {"period_s", "of the run: seconds after which it repeats; null (empty) where it is not steady",
     of_all<&JobsResult::period_s>},
    {"makespan_s", "of the run: when the last job ends that does", of_all<&JobsResult::makespan_s>},
    {"runs", "how many the search took", [](const JobRecord& r) -> Cell { return r.found->evaluations; }},
    {"events", "of the simulation of the last run", [](const JobRecord& r) -> Cell { return r.found->result.events; }},
    {"wall_s", "seconds that all its runs took", [](const JobRecord& r) -> Cell { return r.wall_s; }},
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
