// The CSV file of a sweep: locked while it is written, and beside it, in FILE.rows, what each row was made from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/file.hpp"
#include "sim/core/file_lock.hpp"
#include "sim/experiment/row.hpp"

namespace allreplay {

/// The rows that a file shall hold, in their order: all of a sweep, or a share of them.
struct FileRows {
  std::string header;                         ///< the names of all columns, as a CSV has them
  std::vector<std::string_view> identifying;  ///< the columns that say which row it is, in the order of identities
  std::vector<std::size_t> numbers;           ///< in the sweep, from 0; rising
  std::vector<std::string> identities;        ///< joined(identity()): what they are called
  std::vector<std::uint64_t> inputs;          ///< digests of what they are made from
};

/// The cells as a CSV has them, before quoting, a line each. A line end in a cell stays: it could not be in a row.
std::string joined(const Row& row);

/// What a file has of the rows that it shall hold.
struct KeptRows {
  std::vector<std::optional<std::string>> lines;  ///< of each row that was made from the same inputs, and is unchanged
  std::string others;  ///< how many others there are, and why they do not count; "" where there are none
};

/// Reads what a sweep has written, finished or not, gaps and all. `read` is Files::read_output(), or Files::read()
/// where the file is an input. Throws InputError when it is of another sweep.
KeptRows read_rows(const Files& files, const std::string& file, const FileRows& rows,
                   std::string (Files::*read)(const std::string& file, std::uint64_t most) const);

/// Throws InputError unless a sweep may write over the file: there is none, or a sweep wrote it and nobody changed it.
void require_replaceable(const Files& files, const std::string& file, const std::string& header);

/// Where the rows go that a sweep has finished. Rows stand in the order of the sweep; at any moment at most the last is
/// cut. A line of FILE.rows holds a row's number, a digest of its inputs and one of the row, and stands there before
/// the row does; where an earlier row is not there yet it also keeps the text of the later one, so that a kill loses
/// none.
class SweepFile {
 public:
  struct Existing {
    bool resume = false;  ///< keep the rows that were made from the same inputs, and have not been changed
    bool force = false;   ///< replace a file that no sweep has written
  };

  /// Throws InputError when another process writes the file, when it is no sweep's, or not this one's, or cannot be
  /// written.
  SweepFile(Files files, const std::string& file, FileRows rows, Existing existing);
  ~SweepFile();

  /// By their places in FileRows.
  bool keeps(std::size_t row) const { return kept_[row].has_value(); }

  /// Which rows of the file are computed again, and why; "" where none is.
  const std::string& remark() const { return remark_; }

  /// Adds a row that is not kept, a line without its end: to the file once all before it are there.
  void write(std::size_t row, const std::string& line);

  /// The first row that is not there stays missing; those after it follow.
  void leave_out();

  /// Once all rows are there. Throws InputError where they did not arrive: the file was replaced, or a disk is full.
  void finish();

 private:
  class Output;

  void require_own_records(bool force) const;
  void write_kept();

  Files files_;
  std::string file_, path_;  // as it was named, and behind its links
  FileRows rows_of_file_;
  std::vector<std::optional<std::string>> kept_;
  std::string remark_;
  std::size_t next_ = 0;  // the row that the file has not yet
  std::optional<FileLock> lock_;
  std::unique_ptr<Output> rows_, records_;
};

}  // namespace allreplay
