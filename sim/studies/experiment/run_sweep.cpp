#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/sweep_file.hpp"
#include "sim/studies/experiment/wire_format.hpp"

namespace allreplay {

namespace {

// Called with the rows of the question with this index among the missing ones.
using Keep = std::function<void(std::size_t missing, const std::vector<SimulatedRow>& rows)>;

// Simulates the missing questions in this process, `jobs` at a time, and keeps their rows in order. Many threads call
// `advance`.
void run_here(const SweepQuestions& sweep, const std::vector<std::size_t>& missing,
              const std::vector<std::size_t>& steps, int jobs, const Keep& keep, const std::function<void()>& advance) {
  namespace tbb = oneapi::tbb;
  const auto threads = static_cast<std::size_t>(jobs);
  const tbb::global_control most(tbb::global_control::max_allowed_parallelism, threads);
  // The pipeline passes indices into this buffer, since TBB leaks values in a pipeline that an error stops.
  struct InFlight {
    SweepQuestions::Answer answer;
    std::vector<SimulatedRow> rows;
  };
  std::vector<InFlight> in_flight(2 * threads);
  std::size_t taken = 0;
  const auto slot = [&](std::size_t number) -> InFlight& { return in_flight[number % in_flight.size()]; };
  const auto take = [&](tbb::flow_control& control) -> std::size_t {
    if (taken == missing.size()) return control.stop(), taken;
    slot(taken).answer = sweep.ask(missing[taken]);
    return taken++;
  };
  const auto simulate = [&](std::size_t number) {
    StepsLeft left(steps[missing[number]], advance);
    slot(number).rows = std::exchange(slot(number).answer, {})([&] { left.advance(); });
    left.finish();
    return number;
  };
  const auto keep_rows = [&](std::size_t number) { keep(number, slot(number).rows); };
  tbb::parallel_pipeline(in_flight.size(),
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, take) &
                             tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, simulate) &
                             tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, keep_rows));
}

// A question of rank 0, with its digest of the question's inputs.
struct RowJob {
  std::size_t question;
  std::uint64_t inputs;
};

// Lets the farm's other processes simulate the missing questions, and keeps rows as they arrive.
void run_there(const SweepQuestions& sweep, const std::vector<std::size_t>& missing, const SweepRows& rows, Farm& farm,
               const Keep& keep, const std::function<void()>& advance) {
  std::vector<FarmJob> jobs;
  for (const std::size_t question : missing)
    jobs.push_back({row_work(question, rows.all.inputs[rows.first[question]]), rows.costs[question]});
  farm.run(jobs, [&](std::size_t job, const std::string& answer) {
    Unpacker unpacker(answer);
    std::vector<SimulatedRow> answered(unpacker.take<std::size_t>());
    for (SimulatedRow& row : answered) row = unpack_swept(unpacker, sweep.columns);
    keep(job, answered);
    StepsLeft(rows.steps[missing[job]], advance).finish();
  });
}

// Describes rows with the same identity, if any: a sweep may list a strategy twice, or an option's default explicitly.
std::string said_twice(const std::vector<std::string>& identities) {
  std::unordered_map<std::string_view, std::size_t> known;
  std::string first;
  std::size_t count = 0;
  for (std::size_t row = 0; row < identities.size(); ++row) {
    const auto [same, fresh] = known.emplace(identities[row], row);
    if (fresh) continue;
    if (++count == 1) first = fmt::format("row {} repeats row {}", row + 1, same->second + 1);
  }
  return count < 2 ? first : fmt::format("{}; {} rows repeat others", first, count);
}

}  // namespace

Farm::Answer answer_rows(SweepQuestions sweep) {
  return [sweep = std::move(sweep)](const std::string& work) {
    const auto [question, inputs] = Unpacker(work).take<RowJob>();
    const SweepQuestions::Answer answer = sweep.ask(question);
    if (sweep.digest_of(question) != inputs)
      throw RankError(
          fmt::format("{}: row {} has other inputs there, or the program differs (use the same files and the same "
                      "program on all hosts)",
                      host_name(), question + 1));
    const std::vector<SimulatedRow> rows = answer({});
    Packer packer;
    packer.add(rows.size());
    for (const SimulatedRow& row : rows) pack(packer, row);
    return packer.bytes();
  };
}

std::string row_work(std::size_t question, std::uint64_t inputs) {
  return Packer().add(RowJob{question, inputs}).bytes();
}

Swept run_sweep(const SweepQuestions& sweep, const SweepRun& how) { return run_rows(sweep, sweep.check(), how); }

Swept run_rows(const SweepQuestions& sweep, SweepRows rows, const SweepRun& how) {
  if (const std::string twice = said_twice(rows.all.identities); how.note && !twice.empty()) how.note(twice);
  const std::vector<std::size_t> mine = share_out(how.share.count, rows.costs)[how.share.index];
  const std::vector<std::size_t> my_rows = rows.rows_of(mine);
  std::optional<SweepFile> file;
  if (how.out)
    file.emplace(sweep.files, *how.out, chosen(rows.all, my_rows),
                 SweepFile::Existing{.resume = how.resume, .force = how.force});
  if (file && how.note && !file->remark().empty()) how.note(file->remark());
  rows.all.identities = {};  // frees memory; the file has its own copy
  struct Missing {
    std::size_t in_file, among_simulated;  // indices of its first row
  };
  std::vector<std::size_t> missing;  // questions with a row that is not in the file
  std::vector<Missing> places;
  std::size_t in_file = 0, simulated = 0;
  for (const std::size_t question : mine) {
    const std::size_t first = in_file;
    in_file += rows.count_of(question);
    bool kept = file.has_value();
    for (std::size_t row = first; row < in_file; ++row) kept = kept && file->keeps(row);
    if (kept) continue;
    missing.push_back(question);
    places.push_back({first, simulated});
    simulated += in_file - first;
  }
  std::size_t steps = 0;
  for (const std::size_t question : missing) steps += rows.steps[question];
  Progress progress("sweep", steps);
  std::mutex mutex;
  const auto advance = [&] {
    const std::lock_guard lock(mutex);
    if (how.progress) progress.advance();
  };
  const auto keep = [&](std::size_t i, const std::vector<SimulatedRow>& answered) {
    for (std::size_t row = 0; row < answered.size(); ++row) {
      if (file && !file->keeps(places[i].in_file + row))
        file->write(places[i].in_file + row, to_csv(answered[row].row));
      if (how.each) how.each(places[i].among_simulated + row, answered[row]);
    }
  };
  if (how.has_workers())
    run_there(sweep, missing, rows, *how.farm, keep, advance);
  else
    run_here(sweep, missing, rows.steps, how.jobs, keep, advance);
  if (file) file->finish();
  return {simulated, my_rows.size()};
}

}  // namespace allreplay
