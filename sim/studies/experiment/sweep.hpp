// Reads sweep files (configs/*.json), which list settings; simulates every combination as a row of results, in this
// process or on a farm; and merges shares that ran separately.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/base/farm/farm.hpp"
#include "sim/studies/experiment/requests.hpp"
#include "sim/studies/results/result_table.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

struct Sweep {
  std::string name;
  std::string reproduces;  ///< the figure or table that it regenerates; may be empty
  Requests requests;
  Inputs inputs;                              ///< where the requests' names are looked up
  bool seeded = false, varies_sigma = false;  ///< its rows have statistics over seeds; the sigmas of jitter and spread
};

/// Values from the command line that replace the file's lists; "" or empty: the file's.
struct SweepOverrides {
  Given<std::string> collective, fidelity, codec;
  bool reuse = true;  ///< see Request::reuse
  std::vector<std::uint64_t> seeds{};
  std::vector<ChangeText> changes{};  ///< to the profile and cluster of every row
};

/// Reads and expands a sweep file: the values of an option vary fastest, then strategies, codecs, fidelities,
/// collectives, workers, clusters and profiles. A cluster's entry may have lists of its own instead of the sweep's.
/// Paths are relative to the file or to the working directory. Throws InputError.
Sweep read_sweep(const Inputs& inputs, const std::string& name, const SweepOverrides& instead = {});

/// The same for a file's contents.
Sweep read_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead = {});

/// Expands the lists of a sweep file. A list may be left out: requests then leave that setting open. Throws InputError.
Requests read_requests(const Inputs& inputs, const Json& json, const SweepOverrides& instead);

/// Throws InputError if a sweep would have more rows than allowed.
void require_rows(std::size_t rows, const Json& json);

/// Share number `index`, from 0, of `count` shares of a sweep's rows.
struct Share {
  std::size_t index = 0, count = 1;
};

/// A row that was simulated.
struct SimulatedRow {
  Row row;
  std::string warning;  ///< Result::warning
};

struct SweepRows;

/// A sweep as numbered questions, and the functions that answer them. A question yields the rows of one simulation: one
/// row for a request, several for jobs that share a cluster.
struct SweepQuestions {
  using Answer = std::function<std::vector<SimulatedRow>(const std::function<void()>& after_step)>;

  SweepQuestions() = default;
  SweepQuestions(const Sweep& sweep);  // NOLINT: implicit conversion

  Files files{};
  std::vector<std::string_view> columns{};  ///< of all rows
  std::function<SweepRows()> check{};       ///< resolves all questions; throws InputError if one is impossible
  /// Resolves a question. May be called by one thread at a time; its answer may run in another. Throws InputError.
  std::function<Answer(std::size_t question)> ask{};
  /// A digest of the inputs of a question that was asked.
  std::function<std::uint64_t(std::size_t question)> digest_of{};
};

struct SweepRun {
  int jobs = 1;                    ///< questions that this process simulates at a time
  std::optional<std::string> out;  ///< a CSV file that gets each row as it is finished
  bool resume = false;             ///< keep the rows of an existing `out` that were made from the same inputs
  bool progress = true;            ///< show progress
  bool force = false;              ///< replace an `out` that no sweep wrote
  std::function<void(const std::string& text)> note{};  ///< gets notes for the user, such as rows that are recomputed
  Share share{};
  /// Gets each simulated row, in any order, with its index among the simulated rows. Only `out` stores rows.
  std::function<void(std::size_t place, const SimulatedRow& row)> each{};
  Farm* farm = nullptr;  ///< if it has other processes, these simulate the rows (answer_rows())

  bool has_workers() const { return farm && farm->workers() > 0; }
};

struct Swept {
  std::size_t simulated = 0;
  std::size_t rows = 0;  ///< of this share, including those that `resume` kept
};

/// Simulates the rows of the share. The file has the rows in the order of the sweep, regardless of `jobs` and `farm`.
/// All questions are checked before anything is written. Rows that `resume` keeps are not simulated. Throws InputError.
Swept run_sweep(const SweepQuestions& sweep, const SweepRun& how);

/// The function with which the other processes of a farm answer run_sweep().
Farm::Answer answer_rows(SweepQuestions sweep);

struct MergedSweep {
  std::vector<std::size_t> missing;  ///< numbers, from 0, of the rows that are in no part
  std::size_t rows = 0;              ///< number of rows of the sweep
};

/// Merges the parts that shares of the sweep wrote into `out`. Throws InputError if a part belongs to another sweep or
/// was made from other inputs, or if two parts overlap.
MergedSweep merge_sweep(const SweepQuestions& sweep, const std::vector<std::string>& parts, const std::string& out,
                        bool force);

/// Returns "3 of 40 rows are missing: 4, 17-18"; counts from 1.
std::string missing_rows(const std::vector<std::size_t>& missing, std::size_t rows);

/// Inserts the columns `nodes`, `gpus_per_node`, `rails` and `bandwidth_GBps` after `cluster`. `table` has a row for
/// each request, in their order. Throws InputError.
void add_cluster_columns(ResultTable& table, const Inputs& inputs, const Requests& requests);

}  // namespace allreplay
