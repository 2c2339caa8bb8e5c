#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include "sim/experiment/progress.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/sweep_rows.hpp"
#include "sim/experiment/wire_format.hpp"

namespace allreplay {

namespace {

using Keep = std::function<void(std::size_t missing, const SweptRow& row)>;  // of the row missing[...]

SweptRow swept(const Scenario& scenario) {
  const Outcome outcome = run_among_others(scenario);
  return {row_of(outcome), outcome.result.warning};
}

// Side by side in this process, kept in their order.
void run_here(const Sweep& sweep, const std::vector<std::size_t>& missing, int jobs, Library& library,
              const Keep& keep) {
  namespace tbb = oneapi::tbb;
  const auto threads = static_cast<std::size_t>(jobs);
  const tbb::global_control most(tbb::global_control::max_allowed_parallelism, threads);
  // What is in flight lies here and only its number goes through: a pipeline that an error stops destroys no values.
  struct InFlight {
    Scenario scenario;
    SweptRow row;
  };
  std::vector<InFlight> in_flight(2 * threads);
  std::size_t taken = 0;
  const auto slot = [&](std::size_t number) -> InFlight& { return in_flight[number % in_flight.size()]; };
  const auto take = [&](tbb::flow_control& control) -> std::size_t {
    if (taken == missing.size()) return control.stop(), taken;
    slot(taken).scenario = library.resolve(sweep.requests[missing[taken]]);
    return taken++;
  };
  const auto simulate_row = [&](std::size_t number) {
    slot(number).row = swept(std::move(slot(number).scenario));
    return number;
  };
  const auto keep_row = [&](std::size_t number) { keep(number, slot(number).row); };
  tbb::parallel_pipeline(in_flight.size(),
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, take) &
                             tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, simulate_row) &
                             tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, keep_row));
}

// What rank 0 asks for: a row, and what it knows it to be made from.
struct RowJob {
  std::size_t row;
  std::uint64_t inputs;
};

// By the other processes, kept as they come.
void run_there(const std::vector<std::size_t>& missing, const SweepRows& rows, Farm& farm, const Keep& keep) {
  std::vector<FarmJob> jobs;
  for (const std::size_t row : missing) jobs.push_back({row_work(row, rows.all.inputs[row]), rows.costs[row]});
  farm.run(jobs, [&](std::size_t job, const std::string& answer) {
    Unpacker unpacker(answer);
    keep(job, unpack_swept(unpacker));
  });
}

// A strategy that a sweep lists twice, or an option beside its default, makes rows that nothing tells apart.
std::string said_twice(const std::vector<std::string>& identities) {
  std::unordered_map<std::string_view, std::size_t> known;
  std::string first;
  std::size_t count = 0;
  for (std::size_t row = 0; row < identities.size(); ++row) {
    const auto [same, fresh] = known.emplace(identities[row], row);
    if (fresh) continue;
    if (++count == 1) first = fmt::format("row {} is row {} again", row + 1, same->second + 1);
  }
  return count < 2 ? first : fmt::format("{}; there are {} such rows", first, count);
}

}  // namespace

Farm::Answer answer_rows(Sweep sweep) {
  auto library = std::make_shared<Library>(sweep.inputs);
  return [sweep = std::move(sweep), library](const std::string& work) {
    const auto [row, inputs] = Unpacker(work).take<RowJob>();
    Scenario scenario = library->resolve(sweep.requests[row]);
    if (library->digest_of(sweep.requests[row]) != inputs)
      throw RankError(
          fmt::format("{}: row {} has other inputs there, or the program is another (the same files and "
                      "the same program on all hosts)",
                      host_name(), row + 1));
    Packer packer;
    pack(packer, swept(std::move(scenario)));
    return packer.bytes();
  };
}

std::string row_work(std::size_t row, std::uint64_t inputs) { return Packer().add(RowJob{row, inputs}).bytes(); }

Swept run_sweep(const Sweep& sweep, const SweepRun& how) {
  Library library(sweep.inputs);
  return run_rows(sweep, check_rows(sweep, library), library, how);
}

Swept run_rows(const Sweep& sweep, SweepRows rows, Library& library, const SweepRun& how) {
  if (const std::string twice = said_twice(rows.all.identities); how.note && !twice.empty()) how.note(twice);
  const std::vector<std::size_t> mine = share_out(how.share.count, rows.costs)[how.share.index];
  std::optional<SweepFile> file;
  if (how.out)
    file.emplace(sweep.inputs.files, *how.out, csv_header(), chosen(rows.all, mine),
                 SweepFile::Existing{.resume = how.resume, .force = how.force});
  if (file && how.note && !file->remark().empty()) how.note(file->remark());
  rows.all.identities = {};                  // the file has those that it needs
  std::vector<std::size_t> missing, places;  // in the sweep, in the file
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (file && file->keeps(i)) continue;
    missing.push_back(mine[i]);
    places.push_back(i);
  }
  Progress progress("sweep", how.progress ? missing.size() : 0);
  const auto keep = [&](std::size_t i, const SweptRow& row) {
    if (file) file->write(places[i], to_csv(row.row));
    if (how.each) how.each(i, row);
    if (how.progress) progress.advance();
  };
  if (how.has_workers())
    run_there(missing, rows, *how.farm, keep);
  else
    run_here(sweep, missing, how.jobs, library, keep);
  if (file) file->finish();
  return {missing.size(), mine.size()};
}

}  // namespace allreplay
