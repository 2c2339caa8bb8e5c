// The rows of a sweep before they are simulated: identities, digests of inputs, costs; and their division into shares.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace allreplay {

/// Rejects different files with the same name in results. Rows name profiles by their file's stem, clusters and
/// collectives by the names in their files.
class NamesOfFiles {
 public:
  /// Adds the names of a request, which resolves to `scenario`. Throws InputError if another file has one of them.
  void add(const Request& request, const Scenario& scenario);

 private:
  std::map<std::string, std::string> profiles_, plans_, clusters_, collectives_;  // files by name
};

struct SweepRows {
  /// `keys`: of the rows' columns.
  explicit SweepRows(std::span<const std::string_view> keys);

  FileRows all;
  std::vector<std::size_t> first;    ///< by question: its first row
  std::vector<std::uint64_t> costs;  ///< by question: expected_cost()

  /// Adds the next row of the last question. `inputs`: the digest of the question's inputs.
  void add(std::string identity, std::uint64_t inputs);
  std::size_t size() const { return all.numbers.size(); }
  /// The number of rows of a question.
  std::size_t count_of(std::size_t question) const;
  /// The rows of these questions.
  std::vector<std::size_t> rows_of(const std::vector<std::size_t>& questions) const;
};

/// Like run_sweep(), for rows that have been checked.
Swept run_rows(const SweepQuestions& sweep, SweepRows rows, const SweepRun& how);

/// Packs a job for a process of a farm: a question, and the digest of its inputs, which must be the same there.
std::string row_work(std::size_t question, std::uint64_t inputs);

/// A rough estimate of the time to simulate the scenario, for balancing; no unit.
std::uint64_t expected_cost(const Scenario& scenario);

/// Divides questions into `count` shares: by falling cost, each goes to the share with the least cost so far. Returns
/// the ascending questions of each share, which depend only on the costs and so are the same on every machine.
std::vector<std::vector<std::size_t>> share_out(std::size_t count, const std::vector<std::uint64_t>& costs);

/// Only these rows of `all`.
FileRows chosen(const FileRows& all, const std::vector<std::size_t>& rows);

}  // namespace allreplay
