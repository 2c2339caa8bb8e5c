// The CSV file of a sweep: locked while it is written, and beside it, in FILE.rows, what each row was made from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/file_lock.hpp"
#include "sim/experiment/row.hpp"

namespace allreplay {

/// Where the rows go that a sweep has finished. Rows stand in the order of the sweep; at any moment at most the last is
/// cut. A line of FILE.rows holds a row's number, a digest of its inputs and one of the row, and stands there before
/// the row does; where an earlier row is computed again it also keeps the text of the later one, so that a kill loses
/// none.
class SweepFile {
 public:
  struct Existing {
    bool resume = false;  ///< keep the rows that were made from the same inputs, and have not been changed
    bool force = false;   ///< replace a file that no sweep has written
  };

  /// Row i will be called `identities[i]` and is made from what `inputs[i]` is the digest of. Throws InputError when
  /// another process writes the file, when it is no sweep's, or not this one's, or cannot be written.
  SweepFile(const std::string& file, std::string header, const std::vector<Row>& identities,
            std::vector<std::uint64_t> inputs, Existing existing);
  ~SweepFile();

  bool keeps(std::size_t row) const { return kept_[row].has_value(); }

  /// Which rows of the file are computed again, and why; "" where none is.
  const std::string& remark() const { return remark_; }

  /// Adds the next row that is not kept: a line without its end.
  void write(const std::string& line);

 private:
  class Output;
  struct Record;

  std::vector<std::optional<Record>> read_records() const;
  void require_own_records(bool force) const;
  void require_own(const std::string& text) const;
  void keep_rows(const std::string& text, const std::vector<Row>& identities);
  void write_kept();

  std::string file_, path_;  // as it was named, and behind its links
  std::string header_;
  std::vector<std::uint64_t> inputs_;
  std::vector<std::optional<std::string>> kept_;
  std::string remark_;
  std::size_t next_ = 0;  // the row that the file has not yet
  std::optional<FileLock> lock_;
  std::unique_ptr<Output> rows_, records_;
};

}  // namespace allreplay
