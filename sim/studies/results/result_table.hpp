// Tables of results: the rows of a sweep, or any CSV file with a header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/results/row.hpp"

namespace allreplay {

class Files;

/// Texts in one piece of memory, each after its size, since a large sweep has millions.
class Texts {
 public:
  Texts() = default;
  explicit Texts(std::span<const std::string> texts);
  bool operator==(const Texts&) const = default;

  void push_back(std::string_view text);
  std::size_t size() const { return count_; }
  std::string_view operator[](std::size_t i) const;  ///< takes time in proportion to `i`
  std::vector<std::string_view> all() const;

 private:
  std::string_view take(std::size_t& at) const;

  std::string all_;
  std::uint32_t count_ = 0;
};

/// A row as text, without its column names.
struct ResultLine {
  int line = 0;  ///< line number in the file, from 1
  Texts cells;
  bool fits = true;  ///< its memory_bytes fit into the limit in its options, if there is one
};

inline constexpr double most_drawn = 1e100;  ///< numbers in pictures; at the end of double's range axes overflow

struct ResultTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<ResultLine> rows;  ///< at least one

  bool has(const std::string& column) const;
  /// The index of a column. Throws InputError if there is none of that name.
  std::size_t place(const std::string& column) const;
  std::string_view text(const ResultLine& row, const std::string& column) const { return row.cells[place(column)]; }
  /// The cell as a number. Throws InputError unless it is at least 0, and at most most_drawn.
  double number(const ResultLine& row, const std::string& column) const;
  /// The location of a row, or of its cell in `column`, for errors.
  SourceLocation place_of(const ResultLine& row, const std::string& column = "") const;
  /// Sets a row, as if the table had been read from its CSV. Rows may be set in any order.
  void set(std::size_t index, const Row& row);
};

/// The memory limit in a row's options; none without one. Throws InputError at `place`.
std::optional<double> memory_limit(std::string_view options, const SourceLocation& place);

/// Reads a CSV file. Throws InputError if it is malformed or has no rows.
ResultTable read_results(const Files& files, const std::string& file);

/// The same for a text; `file` is the name in errors. Lines before the header that start with "# " are comments.
ResultTable parse_results(const std::string& text, const std::string& file);

std::string to_csv(const Texts& cells);  ///< one line, without line end

/// Returns CSV for other programs: a comment with this program's version, then the columns in which a row has a value.
std::string tidy_csv(const ResultTable& table);

}  // namespace allreplay
