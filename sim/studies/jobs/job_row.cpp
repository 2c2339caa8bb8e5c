#include "sim/plans/collective/algorithm.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"

namespace allreplay {

namespace {

template <double MeasuredTimes::*member>
Cell together(const JobResult& job) {
  return job.together ? Cell((*job.together).*member) : Cell();
}

template <std::optional<double> JobResult::*member>
Cell of_job(const JobResult& job) {
  return cell_of(job.*member);
}

template <std::optional<double> JobsResult::*member>
Cell of_all(const JobRecord& record) {
  return cell_of(record.found->result.*member);
}

// A column of the registry and its cell: without functions, as for the job's scenario.
struct JobColumn {
  std::string_view key;
  Cell (*get)(const JobRecord& record) = nullptr;
  Cell (*measured)(const JobResult& job) = nullptr;
};

constexpr JobColumn time_of(std::string_view key, Cell (*measured)(const JobResult&)) {
  return {key, nullptr, measured};
}

constexpr JobColumn all_job_columns[] = {
    {"jobs", [](const JobRecord& r) -> Cell { return r.file.name; }},
    {"job", [](const JobRecord& r) -> Cell { return r.entry.name; }},
    {"profile"},
    {"cluster"},
    {"strategy"},
    {"workers"},
    {"collective"},
    {"fidelity"},
    {"codec"},
    {"origin"},
    {"placements", [](const JobRecord& r) { return r.placements.empty() ? Cell() : Cell(r.placements); }},
    {"search", [](const JobRecord& r) -> Cell { return r.search; }},
    {"options"},
    {"routing"},
    {"placement", [](const JobRecord& r) -> Cell { return r.entry.seats.text; }},
    time_of("iterations",
            [](const JobResult& job) -> Cell { return job.together ? std::ssize(job.together->each) : 0; }),
    time_of("alone_s", [](const JobResult& job) { return job.alone ? Cell(job.alone->mean) : Cell(); }),
    time_of("iteration_s", together<&MeasuredTimes::mean>),
    time_of("p50_s", together<&MeasuredTimes::p50>),
    time_of("p99_s", together<&MeasuredTimes::p99>),
    time_of("least_s", together<&MeasuredTimes::least>),
    time_of("most_s", together<&MeasuredTimes::most>),
    time_of("slowdown", of_job<&JobResult::slowdown>),
    time_of("exposed_comm_s", of_job<&JobResult::exposed_s>),
    time_of("exposed_alone_s", of_job<&JobResult::exposed_alone_s>),
    time_of("samples_per_s", of_job<&JobResult::samples_per_s>),
    time_of("start_s", [](const JobResult& job) -> Cell { return to_seconds(job.seated.start); }),
    time_of("end_s", [](const JobResult& job) { return job.end ? Cell(to_seconds(*job.end)) : Cell(); }),
    time_of("lost_s", of_job<&JobResult::lost_s>),
    {"found_placement", [](const JobRecord& r) -> Cell { return r.found->choices[r.job].text; }},
    {"offset_s", [](const JobRecord& r) -> Cell { return to_seconds(r.found->offsets[r.job]); }},
    {"worst_slowdown", [](const JobRecord& r) -> Cell { return r.found->worst; }},
    {"mean_slowdown", [](const JobRecord& r) -> Cell { return r.found->mean; }},
    {"fairness", of_all<&JobsResult::fairness>},
    {"period_s", of_all<&JobsResult::period_s>},
    {"makespan_s", of_all<&JobsResult::makespan_s>},
    {"runs", [](const JobRecord& r) -> Cell { return r.found->evaluations; }},
    {"events", [](const JobRecord& r) -> Cell { return r.found->result.events; }},
    {"wall_s", [](const JobRecord& r) -> Cell { return r.wall_s; }},
};

Row job_row_of(const JobRecord& record, bool identity_only) {
  const CollectiveChoice choice = collective_of(record.scenario);
  const Result none;
  const Record scenario{record.scenario, choice, none};
  Row row;
  for (const JobColumn& one : all_job_columns) {
    const Column& described = column_of(one.key);
    if (described.role != ColumnRole::Identity && identity_only) continue;
    row.push_back({described, one.measured ? one.measured(record.found->result.jobs[record.job])
                              : one.get    ? one.get(record)
                                           : described.get(scenario)});
  }
  return row;
}

}  // namespace

std::vector<std::string_view> job_keys() {
  std::vector<std::string_view> keys;
  for (const JobColumn& one : all_job_columns) keys.push_back(one.key);
  return keys;
}

Row job_identity(const JobRecord& record) { return job_row_of(record, true); }

Row job_row(const JobRecord& record) { return job_row_of(record, false); }

Row job_times(const JobResult& job) {
  Row row;
  for (const JobColumn& one : all_job_columns)
    if (one.measured) row.push_back({one.key, one.measured(job)});
  return row;
}

}  // namespace allreplay
