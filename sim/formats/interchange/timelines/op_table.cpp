#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"

namespace allreplay {

namespace {

constexpr std::string_view op_columns[] = {"step",        "dp",   "stage", "op",    "seq",    "start_us",
                                           "duration_us", "rank", "chunk", "group", "stream", "part"};
constexpr std::size_t needed_columns = 7;
constexpr std::size_t longest_row = 1 << 16;

// The fields of a row: views into the line, or into unquoted copies.
class RowFields {
 public:
  void split(std::string_view line) {
    fields_.clear();
    if (line.find('"') != std::string_view::npos) {
      const std::vector<CsvRow> rows = parse_csv(line, "");
      quoted_ = rows.empty() ? std::vector<std::string>() : rows.front().fields;
      fields_.assign(quoted_.begin(), quoted_.end());
    } else {
      for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find(',', at), line.size());
        fields_.push_back(line.substr(at, end - at));
        at = end + 1;
      }
    }
  }

  const std::vector<std::string_view>& all() const { return fields_; }

 private:
  std::vector<std::string_view> fields_;
  std::vector<std::string> quoted_;
};

// The rows of a table, line by line.
class OpTableReader {
 public:
  OpTableReader(const std::string& file, OpReader& reader, MeasuredJob& job)
      : file_(file), reader_(reader), job_(job) {}

  void line(std::string_view text) {
    ++number_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (number_ == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.empty()) return;
    try {
      fields_.split(text);
    } catch (const InputError& error) {
      throw InputError(place(), error.wrong(), error.right());
    }
    const std::vector<std::string_view>& fields = fields_.all();
    if (width_ == 0) return header(fields);
    if (fields.size() != width_)
      throw InputError(place(),
                       fmt::format("has {}, and the header has {}",
                                   counted(static_cast<std::int64_t>(fields.size()), "field"), width_),
                       "as many fields as the header: was the file cut off?");
    const auto field = [&](std::size_t column) {
      return column_[column] < width_ ? trim(fields[column_[column]]) : std::string_view();
    };
    constexpr std::size_t chunk = 8;
    if (column_[chunk] < width_ && (field(chunk).empty() || field(chunk).starts_with('-'))) ++without_chunk_;
    reader_.add({.step = field(0),
                 .replica = field(1),
                 .stage = field(2),
                 .kind = field(3),
                 .seq = field(4),
                 .start_us = field(5),
                 .duration_us = field(6),
                 .rank = field(7),
                 .chunk = field(chunk),
                 .group = field(9),
                 .stream = field(10),
                 .part = field(11)},
                number_);
  }

  /// Call after the last line. `is_ended`: it ended with a newline.
  void end(bool is_ended) {
    if (without_chunk_ > 0)
      job_.notes.push_back(fmt::format("{}: {} without a chunk (empty, or below 0): taken as chunk 0", file_,
                                       counted(without_chunk_, "op")));
    if (!is_ended) job_.notes.push_back(fmt::format("{}: its last line is incomplete: was the file cut off?", file_));
  }

 private:
  SourceLocation place() const { return {file_, fmt::format("line {}", number_)}; }

  void header(const std::vector<std::string_view>& fields) {
    width_ = fields.size();
    column_.fill(width_);
    for (std::size_t i = 0; i < width_; ++i) {
      const std::string_view name = trim(fields[i]);
      const auto known = std::find(std::begin(op_columns), std::end(op_columns), name);
      if (known == std::end(op_columns)) {
        if (name != "microbatch")
          job_.notes.push_back(fmt::format("{}: the column '{}' is not used", file_, one_line(name, 40)));
        continue;
      }
      std::size_t& column = column_[static_cast<std::size_t>(known - std::begin(op_columns))];
      if (column < width_) throw InputError(place(), fmt::format("the column {} appears twice", name), "each once");
      column = i;
    }
    for (std::size_t i = 0; i < needed_columns; ++i)
      if (column_[i] == width_)
        throw InputError(place(), fmt::format("has no column {}", op_columns[i]),
                         "step, dp, stage, op, seq, start_us, duration_us");
  }

  const std::string& file_;
  OpReader& reader_;
  MeasuredJob& job_;
  RowFields fields_;
  std::uint32_t number_ = 0;
  std::int64_t without_chunk_ = 0;
  std::size_t width_ = 0;  // of the header; 0 before it is read
  std::array<std::size_t, std::size(op_columns)> column_{};
};

}  // namespace

bool is_op_table(std::string_view head) {
  const std::string_view header = head.substr(0, head.find('\n'));
  return header.find("start_us") != std::string_view::npos && header.find(',') != std::string_view::npos;
}

void read_op_table(ByteSource& source, OpReader& reader, MeasuredJob& job) {
  OpTableReader table(source.file(), reader, job);
  std::string left;  // the part of a line that continues in the next piece
  for (std::string_view piece = source.next(); !piece.empty(); piece = source.next()) {
    for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
      if (left.empty()) {
        table.line(piece.substr(0, end));
      } else {
        left += piece.substr(0, end);
        table.line(left);
        left.clear();
      }
      piece.remove_prefix(end + 1);
    }
    left += piece;
    if (left.size() > longest_row)
      throw InputError({source.file(), ""}, fmt::format("has a line of more than {} bytes", longest_row),
                       "a row for each op");
  }
  const bool is_ended = left.empty();
  if (!is_ended) table.line(left);
  table.end(is_ended);
}

}  // namespace allreplay
