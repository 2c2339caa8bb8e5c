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
  std::vector<std::size_t> first;    ///< of each question its first row
  std::vector<std::uint64_t> costs;  ///< of each question: expected_cost()

  /// A question's next row. `inputs`: what the question is made from.
  void add(std::string identity, std::uint64_t inputs);
  std::size_t size() const { return all.numbers.size(); }
  std::size_t count_of(std::size_t question) const;
  /// Those of these questions.
  std::vector<std::size_t> rows_of(const std::vector<std::size_t>& questions) const;
};

/// run_sweep() of rows that have been checked.
Swept run_rows(const SweepQuestions& sweep, SweepRows rows, const SweepRun& how);

/// What a farm's process is asked: a question, and what it is known to be made from.
std::string row_work(std::size_t question, std::uint64_t inputs);

/// About how long it takes to simulate, in no unit: to balance by.
std::uint64_t expected_cost(const Scenario& scenario);

/// The questions of each share, rising: the costly ones first, each goes to the share that has least so far. By the
/// costs alone, which no clock has part in, so that every machine shares alike.
std::vector<std::vector<std::size_t>> share_out(std::size_t count, const std::vector<std::uint64_t>& costs);

/// Those rows alone.
FileRows chosen(const FileRows& all, const std::vector<std::size_t>& rows);

}  // namespace allreplay
