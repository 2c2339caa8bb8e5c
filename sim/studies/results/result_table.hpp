// Reads tables of results from CSV: the files that `sweep --out` and `tune --out` write, and any other with a header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/studies/results/row.hpp"

namespace allreplay {

class Files;

/// Texts in one piece of memory, since a large sweep has millions.
class Texts {
 public:
  Texts() = default;
  explicit Texts(const std::vector<std::string>& texts) {
    std::size_t size = 0;
    for (const std::string& one : texts) size += one.size();
    all_.reserve(size);
    ends_.reserve(texts.size());
    for (const std::string& one : texts) push_back(one);
  }
  bool operator==(const Texts&) const = default;

  void push_back(std::string_view text) {
    all_ += text;
    ends_.push_back(static_cast<std::uint32_t>(all_.size()));
  }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(all_).substr(begin, ends_[i] - begin);
  }
  std::size_t size() const { return ends_.size(); }

 private:
  std::string all_;
  std::vector<std::uint32_t> ends_;
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
};

/// Reads a CSV file. Throws InputError if it is malformed or has no rows.
ResultTable read_results(const Files& files, const std::string& file);

/// The same for a text; `file` is the name in errors. Lines before the header that start with "# " are comments.
ResultTable parse_results(const std::string& text, const std::string& file);

/// Returns CSV for other programs: a comment with this program's version, then the columns in which a row has a value.
std::string tidy_csv(const ResultTable& table);

}  // namespace allreplay
