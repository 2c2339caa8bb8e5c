// Sweeps: every combination of a configuration file, a row each. Files: configs/*.json.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/experiment/requests.hpp"
#include "sim/experiment/row.hpp"
#include "sim/farm/farm.hpp"

namespace allreplay {

struct Sweep {
  std::string name;
  std::string reproduces;  ///< the figure or table that it regenerates; may be empty
  Requests requests;
  Inputs inputs;  ///< what the names in them mean
};

/// What the command line says instead of the file's lists; "" where it says nothing.
struct SweepOverrides {
  std::string collective;
  std::string fidelity;
  std::string codec;
  SourceLocation place_of_collective, place_of_fidelity, place_of_codec;
  bool reuse = true;                  ///< see Request::reuse
  std::vector<ChangeText> changes{};  ///< of every row's profile and cluster
};

/// Reads and expands a sweep file: the values of an option vary fastest, then strategies, codecs, fidelities,
/// collectives, workers, clusters and profiles. A cluster's entry may have lists of its own instead of the sweep's.
/// Paths stand relative to the file, or to the working directory. Throws InputError.
Sweep read_sweep(const Inputs& inputs, const std::string& name, const SweepOverrides& instead = {});

/// The same of a file's contents.
Sweep read_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead = {});

/// The lists of a sweep's file, each of which may be left out: a request then says nothing of it. Throws InputError.
Requests read_requests(const Inputs& inputs, const Json& json, const SweepOverrides& instead);

/// Throws InputError for more rows than a sweep may make.
void require_rows(std::size_t rows, const Json& json);

/// A share of a sweep's rows: number `index`, from 0, of `count`.
struct Share {
  std::size_t index = 0, count = 1;
};

/// A row that was simulated.
struct SweptRow {
  Row row;
  std::string warning;  ///< Result::warning
};

struct SweepRows;

/// What a sweep asks, and who answers: to each question a row, or several that one simulation gives. A sweep of
/// requests asks for a row each.
struct SweepQuestions {
  using Answer = std::function<std::vector<SweptRow>()>;

  SweepQuestions() = default;
  SweepQuestions(const Sweep& sweep);  // NOLINT: a sweep is its questions

  Files files{};
  std::vector<std::string_view> columns{};  ///< of all rows
  std::function<SweepRows()> check{};       ///< resolves every question; throws InputError unless all are possible
  /// Resolves one; it may be answered in another thread. By one thread at a time. Throws InputError.
  std::function<Answer(std::size_t question)> ask{};
  /// What the question that was asked is made from.
  std::function<std::uint64_t(std::size_t question)> digest_of{};
};

struct SweepRun {
  int jobs = 1;
  std::optional<std::string> out;  ///< a CSV file that gets each row as it is finished
  bool resume = false;             ///< keep the rows of an existing `out` that were made from the same inputs
  bool progress = true;
  bool force = false;                                   ///< replace an `out` that no sweep wrote
  std::function<void(const std::string& text)> note{};  ///< what a user should know, such as rows that are not kept
  Share share{};
  /// Called with each row that was simulated, in any order, and its place among those: what nobody keeps is forgotten.
  std::function<void(std::size_t place, const SweptRow& row)> each{};
  Farm* farm = nullptr;  ///< whose other processes simulate the rows (answer_rows()), where there are any

  bool has_workers() const { return farm && farm->workers() > 0; }
};

struct Swept {
  std::size_t simulated = 0;
  std::size_t rows = 0;  ///< how many the share has
};

/// Simulates the rows of the share, `jobs` at a time; the rows of the file are in the order of the sweep, whatever
/// `jobs` and `farm` are. Everything is checked before anything is written. Rows that `resume` finds done are not
/// simulated. Throws InputError.
Swept run_sweep(const SweepQuestions& sweep, const SweepRun& how);

/// What the other processes of a farm do for run_sweep().
Farm::Answer answer_rows(SweepQuestions sweep);

struct MergedSweep {
  std::vector<std::size_t> missing;  ///< the numbers of the rows, from 0, that are in no part
  std::size_t rows = 0;              ///< how many there are to be
};

/// Puts parts together that shares of the sweep have written. Throws InputError when a part is of another sweep or was
/// made from other inputs, or two parts overlap.
MergedSweep merge_sweep(const SweepQuestions& sweep, const std::vector<std::string>& parts, const std::string& out,
                        bool force);

/// "3 of 40 rows are missing: 4, 17-18", as users count them.
std::string missing_rows(const std::vector<std::size_t>& missing, std::size_t rows);

}  // namespace allreplay
