// What is known of a sweep's rows before any is simulated, and how they are shared out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/experiment/sweep.hpp"
#include "sim/experiment/sweep_file.hpp"

namespace allreplay {

/// Rows name a profile by its file's stem, and clusters and collectives by what their files call them: two files of one
/// name could not be told apart.
class NamesOfFiles {
 public:
  /// Throws InputError where another file has one of the request's names. `scenario`: what it means.
  void add(const Request& request, const Scenario& scenario);

 private:
  std::map<std::string, std::string> profiles_, clusters_, collectives_;  // files, by name
};

struct SweepRows {
  FileRows all;
  std::vector<std::uint64_t> costs;  ///< expected_cost()
};

/// Resolves every row. Throws InputError unless all are possible.
SweepRows check_rows(const Sweep& sweep, Library& library);

/// run_sweep() of rows that have been checked.
Swept run_rows(const Sweep& sweep, SweepRows rows, Library& library, const SweepRun& how);

/// What a farm's process is asked for: a row, and what it is known to be made from.
std::string row_work(std::size_t row, std::uint64_t inputs);

/// About how long it takes to simulate, in no unit: to balance by.
std::uint64_t expected_cost(const Scenario& scenario);

/// The rows of each share, rising: the costly ones first, each goes to the share that has least so far. By the costs
/// alone, which no clock has part in, so that every machine shares alike.
std::vector<std::vector<std::size_t>> share_out(std::size_t count, const std::vector<std::uint64_t>& costs);

/// Those rows alone.
FileRows chosen(const FileRows& all, const std::vector<std::size_t>& rows);

}  // namespace allreplay
