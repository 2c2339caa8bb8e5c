#include "sim/studies/experiment/sweep_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/descriptor.hpp"
#include "sim/base/core/digest.hpp"
#include "sim/base/core/error.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr std::uint64_t most_result_bytes = std::uint64_t{512} << 20;  // 100,000 rows of five kilobytes each
constexpr std::string_view records_head = "allreplay sweep rows 1\n";

bool is_regular(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

bool exists(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0;
}

// Returns the complete lines; text after the last line end was cut off by a kill.
std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

// A line of FILE.rows: "NUMBER INPUTS DIGEST", followed by the row's text if FILE itself does not have it yet.
struct RowNote {
  std::uint64_t inputs = 0, row = 0;
  std::optional<std::string> text;

  static std::string line(std::size_t number, std::uint64_t inputs, const std::string& row, bool with_text) {
    const std::string line = fmt::format("{} {:016x} {:016x}", number, inputs, digest(row));
    return (with_text ? line + " " + row : line) + "\n";
  }
};

using Read = std::string (Files::*)(const std::string& file, std::uint64_t most) const;

// Reads the records, by row number; a row's last one counts. Returns none if there is no file, or it is not a sweep's.
std::map<std::size_t, RowNote> read_records(const Files& files, const std::string& path, Read read_text) {
  std::map<std::size_t, RowNote> records;
  const std::string name = path + ".rows";
  const std::string text = exists(name) ? (files.*read_text)(name, 2 * most_result_bytes) : "";
  if (!text.starts_with(records_head)) return records;
  for (const std::string_view line : whole_lines(text)) {
    std::size_t number = 0;
    RowNote record;
    const char *at = line.data(), *end = at + line.size();
    const auto read = [&](auto& value, int base) {
      const auto [rest, error] = std::from_chars(at, end, value, base);
      if (error != std::errc()) return false;
      at = rest;
      return true;
    };
    const auto space = [&] { return at != end && *at++ == ' '; };
    if (!read(number, 10) || !space() || !read(record.inputs, 16) || !space() || !read(record.row, 16)) continue;
    if (at != end) {
      if (!space()) continue;
      record.text = std::string(at, end);
      if (digest(*record.text) != record.row) continue;
    }
    records[number] = std::move(record);
  }
  return records;
}

// Finds the row that each line of a file is. Rows may be missing in the file but have the order of the sweep.
class Finder {
 public:
  Finder(const std::string& file, const std::vector<std::string>& columns, const FileRows& rows,
         const std::map<std::size_t, RowNote>& records)
      : file_(file), columns_(columns), rows_(rows) {
    for (std::size_t i = 0; i < rows.numbers.size(); ++i)
      if (const auto record = records.find(rows.numbers[i]); record != records.end())
        noted_[record->second.row].push_back(i);
    for (const std::string_view name : rows.identifying)
      places_.push_back(static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin()));
    width_ = columns.size();
  }

  // Finds the line's row, after the row found last. Throws InputError if there is none.
  std::size_t find(const CsvRow& line, std::string_view text) {
    std::size_t found = noted(text);
    if (found == rows_.numbers.size() || difference(line, found))
      for (found = next_; found < rows_.numbers.size() && difference(line, found);) ++found;
    if (found == rows_.numbers.size()) fail(line);
    next_ = found + 1;
    return found;
  }

 private:
  // Returns the first remaining row whose record has the digest of this line, else the number of rows.
  std::size_t noted(std::string_view text) const {
    const auto known = noted_.find(digest(text));
    if (known == noted_.end()) return rows_.numbers.size();
    const auto row = std::lower_bound(known->second.begin(), known->second.end(), next_);
    return row == known->second.end() ? rows_.numbers.size() : *row;
  }

  struct Difference {
    std::size_t column;  // index in the file
    std::string_view expected;
  };

  // Returns the first identifying column in which the line differs from the row; none if it is that row.
  std::optional<Difference> difference(const CsvRow& line, std::size_t row) const {
    std::string_view left = rows_.identities[row];
    for (const std::size_t place : places_) {
      const std::string_view expected = left.substr(0, left.find('\n'));
      if (line.fields.size() != width_ || line.fields[place] != expected) return Difference{place, expected};
      left.remove_prefix(std::min(left.size(), expected.size() + 1));
    }
    return std::nullopt;
  }

  [[noreturn]] void fail(const CsvRow& line) const {
    const SourceLocation place{file_, fmt::format("line {}", line.line)};
    if (next_ == rows_.numbers.size()) throw InputError(place, "comes after the last row", "the file of this sweep");
    const auto [column, expected] = *difference(line, next_);
    throw InputError(place, fmt::format("is not the sweep's row {}", rows_.numbers[next_] + 1),
                     fmt::format("{} = '{}' there; is it the file of another sweep?", columns_[column], expected));
  }

  const std::string& file_;
  const std::vector<std::string>& columns_;
  const FileRows& rows_;
  std::map<std::uint64_t, std::vector<std::size_t>> noted_;  // rows by the digests of their lines
  std::vector<std::size_t> places_;                          // indices of the identifying columns
  std::size_t width_ = 0, next_ = 0;
};

// Returns for each row its line in the file, if there is one. Throws InputError if the file has other columns or rows.
std::vector<std::optional<std::string_view>> lines_by_row(const std::string& file, const std::string& text,
                                                          const FileRows& rows,
                                                          const std::map<std::size_t, RowNote>& records) {
  std::vector<std::optional<std::string_view>> by_row(rows.numbers.size());
  const std::vector<std::string_view> lines = whole_lines(text);
  if (lines.empty() && rows.header.starts_with(text)) return by_row;  // cut off before the first row
  const std::string whole(text.substr(0, text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1));
  const std::vector<CsvRow> table = parse_csv(whole, file);
  const auto columns = parse_csv(rows.header, file).front().fields;
  if (table.empty() || table.front().fields != columns)
    throw InputError({file, "line 1"}, "has other columns than this version writes",
                     "a file of this version: sweep again, to another file");
  if (table.size() - 1 > rows.numbers.size())
    throw InputError({file, ""}, fmt::format("has {} rows, the sweep {}", table.size() - 1, rows.numbers.size()),
                     "the file of this sweep");
  Finder finder(file, columns, rows, records);
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i].line != static_cast<int>(i) + 1)
      throw InputError({file, fmt::format("line {}", i + 1)}, "is not a row", "one row per line");
    by_row[finder.find(table[i], lines[i])] = lines[i];
  }
  return by_row;
}

}  // namespace

std::string joined(const Row& row) {
  std::string text;
  for (const NamedCell& column : row) text += (&column == row.data() ? "" : "\n") + unquoted_text(column.cell);
  return text;
}

// A file whose lines are written by the time append() returns, so that a kill truncates at most one. The file itself is
// locked, so that no other process writes it under another name.
class SweepFile::Output {
 public:
  // Opens `file`, so that the system follows links unless `flags` forbid it; `path` is the file with links followed.
  Output(std::string file, std::string path, int flags)
      : file_(std::move(file)), path_(std::move(path)), fresh_(!exists(path_)) {
    sink_.reset(open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666));
    struct stat facts {};
    if (!sink_.is_open() || fstat(sink_.number(), &facts) != 0) fail();
    if (!S_ISREG(facts.st_mode)) return;
    lock_opened(sink_.number(), file_, LockMode::Exclusive);
    is_file_ = true;
    require_still();
  }
  ~Output() {
    struct stat facts {};
    const bool is_empty = is_file_ && fstat(sink_.number(), &facts) == 0 && facts.st_size == 0;
    if (fresh_ && is_empty) unlink(path_.c_str());  // nothing was written, because of an error
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void append(std::string_view lines) {
    while (!lines.empty()) {
      const ssize_t written = ::write(sink_.number(), lines.data(), lines.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      lines.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void cut(std::uint64_t length) {
    if (ftruncate(sink_.number(), static_cast<off_t>(length)) != 0) fail();
  }

  void close() {
    require_still();
    if (!sink_.close()) fail();
  }

 private:
  void require_still() const {
    if (is_file_ && !still_names(path_, sink_.number()))
      throw InputError({file_, ""}, "was replaced or removed while it was written", "sweep again, to another file");
  }

  [[noreturn]] void fail() const {
    throw InputError({file_, ""}, fmt::format("cannot be written: {}", std::strerror(errno)),
                     "check the folder, its rights and its space");
  }

  std::string file_, path_;
  bool fresh_, is_file_ = false;
  Descriptor sink_;
};

SweepFile::SweepFile(Files files, const std::string& file, FileRows rows, Existing existing)
    : files_(std::move(files)),
      file_(file),
      path_(link_target(file)),
      rows_of_file_(std::move(rows)),
      kept_(rows_of_file_.numbers.size()) {
  if (exists(path_) && !is_regular(path_)) {  // a device or a pipe cannot be locked or resumed
    if (existing.resume) throw InputError({file_, ""}, "is not a file, and has no rows to keep", "leave out --resume");
    rows_ = std::make_unique<Output>(file_, path_, 0);
    rows_->append(rows_of_file_.header + "\n");
    return;
  }
  if (files_.was_read(path_)) throw InputError({file_, ""}, "is an input", "another file to write");
  lock_.emplace(path_);  // locks the name; Output locks the file itself
  rows_ = std::make_unique<Output>(file_, path_, 0);
  require_own_records(existing.force);
  if (existing.resume) {
    KeptRows kept = read_rows(files_, file_, rows_of_file_, &Files::read_output);
    kept_ = std::move(kept.lines);
    if (!kept.others.empty())
      remark_ = fmt::format("rows of {} that are recomputed: {}", one_line(file_, 4096), kept.others);
  } else if (!existing.force) {
    require_replaceable(files_, file_, rows_of_file_.header);
  }
  const std::string text = exists(path_) ? files_.read_output(path_, most_result_bytes) : "";

  const std::string records = path_ + ".rows";
  const std::vector<std::string_view> lines = whole_lines(text);
  // An editor may have changed its line ends or quotes: then all is written again.
  const bool has_header = !lines.empty() && lines[0] == rows_of_file_.header;
  std::size_t length =
      rows_of_file_.header.size() + 1;  // bytes of the header and the rows before the first that is not kept
  while (has_header && next_ < kept_.size() && next_ + 1 < lines.size() && kept_[next_] == lines[next_ + 1])
    length += lines[++next_].size() + 1;
  const bool resumes = existing.resume && !lines.empty(), appends = resumes && has_header;
  std::string kept_records(records_head);
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (kept_[i])
      kept_records += RowNote::line(rows_of_file_.numbers[i], rows_of_file_.inputs[i], *kept_[i], i >= next_);
  if (resumes) files_.write(records, kept_records);  // before cut() removes rows that are stored nowhere else
  rows_->cut(appends ? length : 0);
  if (!appends) rows_->append(rows_of_file_.header + "\n");
  if (!resumes) files_.write(records, kept_records);
  records_ = std::make_unique<Output>(records, records, O_NOFOLLOW);
  write_kept();
}

SweepFile::~SweepFile() = default;

// Throws InputError unless FILE.rows is missing, empty or a sweep's; `force` allows any file, but no link.
void SweepFile::require_own_records(bool force) const {
  const std::string name = path_ + ".rows";
  struct stat facts {};
  if (lstat(name.c_str(), &facts) != 0) return;
  if (!S_ISREG(facts.st_mode))
    throw InputError({name, ""}, "is not a file", "remove it: a sweep keeps its notes there");
  if (force || facts.st_size == 0) return;
  if (!files_.read_output(name, 2 * most_result_bytes).starts_with(records_head))
    throw InputError({name, ""}, "exists, but does not hold the notes of a sweep",
                     "another --out, or --force to replace it");
}

// Compares the lines with the digests in FILE.rows only, since the file may belong to another sweep with more rows.
void require_replaceable(const Files& files, const std::string& file, const std::string& header) {
  const std::string path = link_target(file);
  if (!exists(path)) return;
  const std::string text = files.read_output(path, most_result_bytes);
  const auto refuse = [&](std::string_view what) {
    throw InputError({file, ""}, what, "another file, or --force to replace it");
  };
  if (text.empty()) return;
  const std::vector<std::string_view> lines = whole_lines(text);
  if (lines.empty() ? !(header + "\n").starts_with(text) : lines[0] != header)
    refuse("exists and is not the result of a sweep");
  if (lines.size() <= 1) return;
  const std::string name = path + ".rows";
  if (!is_regular(name) || !files.read_output(name, 2 * most_result_bytes).starts_with(records_head))
    throw InputError({file, ""}, fmt::format("exists, and no sweep of this version wrote it: there is no {}", name),
                     "--force to replace it, --resume to recompute its rows in place, or another file");
  const auto records = read_records(files, path, &Files::read_output);
  auto record = records.begin();
  for (std::size_t i = 1; i < lines.size(); ++i) {
    while (record != records.end() && record->second.row != digest(lines[i])) ++record;
    if (record == records.end()) refuse(fmt::format("has been changed since a sweep wrote it, in line {}", i + 1));
    ++record;
  }
}

KeptRows read_rows(const Files& files, const std::string& file, const FileRows& rows, Read read) {
  const std::string path = link_target(file);
  const std::string text = read == &Files::read || exists(path) ? (files.*read)(path, most_result_bytes) : "";
  const auto records = read_records(files, path, read);
  const auto lines = lines_by_row(file, text, rows, records);
  // By inputs instead of numbers, since rows have other numbers if the sweep has got more rows since.
  std::multimap<std::uint64_t, const RowNote*> by_inputs;
  for (const auto& [number, record] : records) by_inputs.emplace(record.inputs, &record);
  KeptRows kept;
  kept.lines.resize(rows.numbers.size());
  std::size_t unknown = 0, other = 0, changed = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool there = lines[i].has_value();
    const auto [first, last] = by_inputs.equal_range(rows.inputs[i]);
    for (auto known = first; known != last && !kept.lines[i]; ++known) {
      const RowNote& record = *known->second;
      if (there && digest(*lines[i]) == record.row)
        kept.lines[i] = std::string(*lines[i]);
      else if (record.text)
        kept.lines[i] = record.text;
    }
    if (kept.lines[i]) continue;
    const auto counted = records.find(rows.numbers[i]);
    if (first != last)
      changed += there;
    else if (counted == records.end())
      unknown += there;
    else
      other += there || counted->second.text;
  }
  for (const auto& [count, why] : {std::pair(other, "their inputs or this program changed"),
                                   {changed, "they were changed"},
                                   {unknown, "it is not known from which inputs"}})
    if (count > 0) kept.others += fmt::format("{}{} ({})", kept.others.empty() ? "" : ", ", count, why);
  return kept;
}

void SweepFile::write_kept() {
  for (; next_ < kept_.size() && kept_[next_]; ++next_) {
    rows_->append(*kept_[next_] + "\n");
    kept_[next_] = "";  // still kept; frees the text, which is in the file now
  }
}

void SweepFile::write(std::size_t row, const std::string& line) {
  if (records_)
    records_->append(RowNote::line(rows_of_file_.numbers[row], rows_of_file_.inputs[row], line, row != next_));
  kept_[row] = line;
  write_kept();  // one write() per row
}

void SweepFile::leave_out() {
  ++next_;
  write_kept();
}

void SweepFile::finish() {
  rows_->close();
  if (records_) records_->close();
}

}  // namespace allreplay
