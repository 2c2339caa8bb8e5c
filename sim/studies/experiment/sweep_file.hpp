// The CSV file of a sweep, locked while it is written, and FILE.rows, which records each row's inputs for --resume.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/file.hpp"
#include "sim/base/core/file_lock.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

/// The rows that a file will hold, in order: all rows of a sweep, or a share.
struct FileRows {
  std::string header;                         ///< the CSV header line with all columns
  std::vector<std::string_view> identifying;  ///< the columns that identify a row, in the order of `identities`
  std::vector<std::size_t> numbers;           ///< in the sweep, from 0; ascending
  std::vector<std::string> identities;        ///< joined(identity()) of each row
  std::vector<std::uint64_t> inputs;          ///< digest of each row's inputs
};

/// The cells as in CSV, unquoted, one per line. Line ends inside cells are not escaped: no valid row contains them.
std::string joined(const Row& row);

/// The rows that an existing file already holds.
struct KeptRows {
  std::vector<std::optional<std::string>> lines;  ///< by row; only those unchanged and made from the same inputs
  std::string others;                             ///< how many others there are, and why they are not kept; "": none
};

/// Reads the file of a sweep, which may be unfinished or have gaps. `read` is Files::read_output(), or Files::read() if
/// the file is an input. Throws InputError if the file belongs to another sweep.
KeptRows read_rows(const Files& files, const std::string& file, const FileRows& rows,
                   std::string (Files::*read)(const std::string& file, std::uint64_t most) const);

/// Throws InputError unless a sweep may replace the file: it does not exist, or a sweep wrote it and it has not been
/// changed since.
void require_replaceable(const Files& files, const std::string& file, const std::string& header);

/// Writes finished rows in the order of the sweep; if the process is killed, at most the last row is incomplete. Before
/// a row is written, FILE.rows gets a line with its number, a digest of its inputs and one of the row. If an earlier
/// row is still missing, that line also has the text of the row, so that a kill loses no finished row.
class SweepFile {
 public:
  struct Existing {
    bool resume = false;  ///< keep unchanged rows that were made from the same inputs
    bool force = false;   ///< replace a file that no sweep wrote
  };

  /// Opens or creates the file. Throws InputError if another process is writing it, it was not written by a sweep or
  /// (with `resume`) belongs to another one, or it cannot be written.
  SweepFile(Files files, const std::string& file, FileRows rows, Existing existing);
  ~SweepFile();

  /// True if the row with this index in FileRows was kept or written.
  bool keeps(std::size_t row) const { return kept_[row].has_value(); }

  /// Says which rows of the file are recomputed, and why; "" if there are none.
  const std::string& remark() const { return remark_; }

  /// Adds a row that is not kept, as a line without line end. It goes to the file once all earlier rows are there.
  void write(std::size_t row, const std::string& line);

  /// Leaves out the first row that is missing, so that later ones can be written.
  void leave_out();

  /// Closes the file after the last row. Throws InputError if the file was replaced meanwhile, or writing failed.
  void finish();

 private:
  class Output;

  void require_own_records(bool force) const;
  void write_kept();

  Files files_;
  std::string file_, path_;  // as given, and with links followed
  FileRows rows_of_file_;
  std::vector<std::optional<std::string>> kept_;
  std::string remark_;
  std::size_t next_ = 0;  // the first row that is not in the file yet
  std::optional<FileLock> lock_;
  std::unique_ptr<Output> rows_, records_;
};

// The rows of a sweep before they are simulated: identities, digests of inputs, costs; and their division into shares.

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
  std::vector<std::size_t> steps;    ///< by question: how often its answer calls `after_step`, at most

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
