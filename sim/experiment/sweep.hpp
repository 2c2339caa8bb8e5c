// Sweeps: every combination of a configuration file, a row each. Files: configs/*.json.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"

namespace allreplay {

struct Sweep {
  std::string name;
  std::string reproduces;  ///< the figure or table that it regenerates; may be empty
  std::vector<Request> requests;
};

/// What the command line says instead of the file's lists; "" where it says nothing.
struct SweepOverrides {
  std::string collective;
  std::string fidelity;
  std::string codec;
  Place place_of_collective, place_of_fidelity, place_of_codec;
  bool reuse = true;                  ///< see Request::reuse
  std::vector<ChangeText> changes{};  ///< of every row's profile and cluster
};

/// Reads and expands a sweep file: the values of an option vary fastest, then strategies, codecs, fidelities,
/// collectives, workers, clusters and profiles. A cluster's entry may have lists of its own instead of the sweep's.
/// Paths stand relative to the file, or to the working directory. Throws InputError.
Sweep read_sweep(const std::string& name, const SweepOverrides& instead = {});

struct SweepRun {
  int jobs = 1;
  std::optional<std::string> out;  ///< a CSV file that gets each row as it is finished
  bool resume = false;             ///< keep the rows of an existing `out` that were made from the same inputs
  bool progress = true;
  bool force = false;                                   ///< replace an `out` that no sweep wrote
  std::function<void(const std::string& text)> note{};  ///< what a user should know, such as rows that are not kept
};

/// Simulates all rows, `jobs` at a time; the outcomes and the rows of the file are in the order of the sweep,
/// whatever `jobs` is. Everything is checked before anything is written. Rows that `resume` finds done are not
/// simulated and not returned. Throws InputError.
std::vector<Outcome> run_sweep(const Sweep& sweep, const SweepRun& how);

}  // namespace allreplay
