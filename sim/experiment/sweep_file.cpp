#include "sim/experiment/sweep_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sim/core/csv.hpp"
#include "sim/core/digest.hpp"
#include "sim/core/error.hpp"
#include "sim/core/file.hpp"
#include "sim/core/text.hpp"

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

// The lines that are whole; what follows the last line end was cut off.
std::vector<std::string_view> whole_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

// A line of FILE.rows: "ROW INPUTS DIGEST", and the row's text where the file itself does not have it yet.
struct SweepFile::Record {
  std::uint64_t inputs = 0, row = 0;
  std::optional<std::string> text;

  static std::string line(std::size_t number, std::uint64_t inputs, const std::string& row, bool with_text) {
    const std::string line = fmt::format("{} {:016x} {:016x}", number, inputs, digest(row));
    return (with_text ? line + " " + row : line) + "\n";
  }
};

// Lines that are in the file once append() returns: a kill leaves at most one cut.
class SweepFile::Output {
 public:
  Output(std::string file, const std::string& path, int flags) : file_(std::move(file)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0666);
    if (descriptor_ < 0) fail();
  }
  ~Output() { ::close(descriptor_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void append(std::string_view lines) {
    while (!lines.empty()) {
      const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail();
      lines.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void cut(std::uint64_t length) {
    if (ftruncate(descriptor_, static_cast<off_t>(length)) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw InputError({file_, ""}, fmt::format("cannot be written: {}", std::strerror(errno)),
                     "check the folder, its rights and its space");
  }

  std::string file_;
  int descriptor_ = -1;
};

SweepFile::SweepFile(const std::string& file, std::string header, const std::vector<Row>& identities,
                     std::vector<std::uint64_t> inputs, Existing existing)
    : file_(file),
      path_(link_target(file)),
      header_(std::move(header)),
      inputs_(std::move(inputs)),
      kept_(identities.size()) {
  if (exists(path_) && !is_regular(path_)) {  // a device, a pipe: nothing to keep, to lock or to go on with
    if (existing.resume) throw InputError({file_, ""}, "is no file, and has no rows to keep", "leave out --resume");
    rows_ = std::make_unique<Output>(file_, path_, 0);
    rows_->append(header_ + "\n");
    return;
  }
  if (was_read(path_)) throw InputError({file_, ""}, "is one of the files that were read", "another file to write");
  lock_.emplace(path_);
  require_own_records(existing.force);
  const std::string text = exists(path_) ? read_output(path_, most_result_bytes) : "";
  if (existing.resume)
    keep_rows(text, identities);
  else if (!existing.force)
    require_own(text);

  const std::string records = path_ + ".rows";
  const std::vector<std::string_view> lines = whole_lines(text);
  std::size_t length = header_.size() + 1;  // of the file: its header, and the rows up to the first that is not kept
  while (next_ < kept_.size() && next_ + 1 < lines.size() && kept_[next_] == lines[next_ + 1])
    length += lines[++next_].size() + 1;
  const bool goes_on = existing.resume && !lines.empty();
  std::string kept_records(records_head);
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (kept_[i]) kept_records += Record::line(i, inputs_[i], *kept_[i], i >= next_);
  if (goes_on) write_file(records, kept_records);  // before a row is cut off that stands in no other place
  rows_ = std::make_unique<Output>(file_, path_, 0);
  rows_->cut(goes_on ? length : 0);
  if (!goes_on) rows_->append(header_ + "\n");
  if (!goes_on) write_file(records, kept_records);
  records_ = std::make_unique<Output>(records, records, O_NOFOLLOW);
  write_kept();
}

SweepFile::~SweepFile() = default;

// Records by their row; the last of a row counts. None where there is no such file, or it holds something else.
std::vector<std::optional<SweepFile::Record>> SweepFile::read_records() const {
  std::vector<std::optional<Record>> records(kept_.size());
  const std::string name = path_ + ".rows";
  const std::string text = exists(name) ? read_output(name, 2 * most_result_bytes) : "";
  if (!text.starts_with(records_head)) return records;
  for (const std::string_view line : whole_lines(text)) {
    std::size_t number = 0;
    Record record;
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
    if (number < records.size()) records[number] = std::move(record);
  }
  return records;
}

// A sweep keeps its notes in FILE.rows: nobody else's file, and no link to one.
void SweepFile::require_own_records(bool force) const {
  const std::string name = path_ + ".rows";
  struct stat facts {};
  if (lstat(name.c_str(), &facts) != 0) return;
  if (!S_ISREG(facts.st_mode)) throw InputError({name, ""}, "is no file", "remove it: a sweep keeps its notes there");
  if (force || facts.st_size == 0) return;
  if (!read_output(name, 2 * most_result_bytes).starts_with(records_head))
    throw InputError({name, ""}, "exists and holds no notes of a sweep", "another --out, or --force to replace it");
}

// Without --resume: a sweep may write over a file that a sweep has written and nobody has changed.
void SweepFile::require_own(const std::string& text) const {
  if (text.empty()) return;
  const auto refuse = [&](std::string_view what) {
    throw InputError({file_, ""}, what, "another file, or --force to replace it");
  };
  const std::vector<std::string_view> lines = whole_lines(text);
  if (lines.empty() ? !(header_ + "\n").starts_with(text) : lines[0] != header_)
    refuse("exists and is no result of a sweep");
  const std::string name = path_ + ".rows";
  const bool noted = is_regular(name) && read_output(name, 2 * most_result_bytes).starts_with(records_head);
  if (lines.size() > 1 && !noted)
    throw InputError({file_, ""}, fmt::format("exists, and no sweep of this version wrote it: there is no {}", name),
                     "--force to replace it, --resume to compute its rows again in their places, or another file");
  if (lines.size() <= 1) return;
  // The rows may be of another sweep, with more rows than this one: the digests alone count.
  const std::string notes = read_output(name, 2 * most_result_bytes);
  std::vector<std::string> digests(lines.size());
  for (const std::string_view line : whole_lines(notes)) {
    std::size_t number = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    const std::size_t at = static_cast<std::size_t>(rest - line.data()) + 18;  // after the inputs' digest
    if (error == std::errc() && number + 1 < digests.size() && line.size() >= at + 16)
      digests[number + 1] = line.substr(at, 16);
  }
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (digests[i] != fmt::format("{:016x}", digest(lines[i])))
      refuse(fmt::format("has been changed since a sweep wrote it, in line {}", i + 1));
}

// Finds the rows that need not be computed again. Throws when the file is of another sweep.
void SweepFile::keep_rows(const std::string& text, const std::vector<Row>& identities) {
  const std::vector<std::string_view> lines = whole_lines(text);
  if (lines.empty() && header_.starts_with(text)) return;  // cut off before the first row
  const std::string whole(text.substr(0, text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1));
  const std::vector<CsvRow> rows = parse_csv(whole, file_);
  const auto columns = parse_csv(header_, file_).front().fields;
  if (rows.empty() || rows.front().fields != columns)
    throw InputError({file_, "line 1"}, "has other columns than this version writes",
                     "sweep without --resume, to another file");
  if (rows.size() - 1 > identities.size())
    throw InputError({file_, ""}, fmt::format("has {} rows, the sweep {}", rows.size() - 1, identities.size()),
                     "the file of this sweep");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].line != static_cast<int>(i) + 1)
      throw InputError({file_, fmt::format("line {}", i + 1)}, "is no row", "one row a line");
    for (const Column& expected : identities[i - 1]) {
      const auto column =
          static_cast<std::size_t>(std::find(columns.begin(), columns.end(), expected.name) - columns.begin());
      const std::string want = plain_text(expected.cell);
      if (rows[i].fields.size() != columns.size() || rows[i].fields[column] != want)
        throw InputError({file_, fmt::format("line {}", rows[i].line)}, fmt::format("is not the sweep's row {}", i),
                         fmt::format("{} = '{}' there; is it the file of another sweep?", expected.name, want));
    }
  }
  std::size_t unknown = 0, other = 0, changed = 0;
  const auto records = read_records();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool there = i + 1 < rows.size();
    if (!records[i])
      unknown += there;
    else if (records[i]->inputs != inputs_[i])
      other += there || records[i]->text;
    else if (there && digest(lines[i + 1]) == records[i]->row)
      kept_[i] = std::string(lines[i + 1]);
    else if (records[i]->text)
      kept_[i] = records[i]->text;
    else
      changed += there;
  }
  for (const auto& [count, why] : {std::pair(other, "their inputs or this program changed"),
                                   {changed, "they were changed"},
                                   {unknown, "nothing says what they were made from"}})
    if (count > 0) remark_ += fmt::format("{}{} ({})", remark_.empty() ? "" : ", ", count, why);
  if (!remark_.empty()) remark_ = fmt::format("rows of {} that are computed again: {}", one_line(file_, 4096), remark_);
}

void SweepFile::write_kept() {
  for (; next_ < kept_.size() && kept_[next_]; ++next_) rows_->append(*kept_[next_] + "\n");
}

void SweepFile::write(const std::string& line) {
  if (records_) records_->append(Record::line(next_, inputs_[next_], line, false));
  rows_->append(line + "\n");  // one write a row
  ++next_;
  write_kept();
}

}  // namespace allreplay
