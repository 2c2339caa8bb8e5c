// Reads a CSV with a column of sizes (bytes, size_KiB, …) and one of times (time_us, latency_ms, …), whose units may
// also be in the cells, and optional columns of workers (nodes, ranks, …) and of collectives.

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

constexpr std::string_view size_names[] = {"bytes", "size", "message", "message_size", "msg_size", "length"};
constexpr std::string_view time_names[] = {"time", "latency", "duration", "seconds", "avg_time", "avg_latency"};
constexpr std::string_view workers_names[] = {"workers", "ranks", "gpus", "processes", "nodes"};
constexpr std::string_view type_names[] = {"type", "datatype", "dtype"};
constexpr std::string_view collective_names[] = {"collective", "operation"};

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A column's name and unit, which may be "": "latency_us", "Latency (us)", "latency [us]".
struct Title {
  std::string name, unit;
};

Title title_of(std::string_view text) {
  Title title;
  std::string& name = title.name;
  for (const char c : text)
    if (c != ')' && c != ']') name += c == ' ' || c == '(' || c == '[' ? '_' : c;
  name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '_' && b == '_'; }), name.end());
  while (name.ends_with('_')) name.pop_back();
  const std::size_t cut = name.rfind('_');
  static constexpr std::string_view units[] = {"B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "s", "ms", "us", "ns", "ps"};
  if (cut != name.npos && among(std::string_view(name).substr(cut + 1), units)) {
    title.unit = name.substr(cut + 1);
    name.resize(cut);
  }
  name = lower_case(name);
  if (title.unit.empty() && name == "bytes") title.unit = "B";
  if (title.unit.empty() && name == "seconds") title.unit = "s";
  return title;
}

bool is_size(const Title& title) { return among(title.name, size_names); }
bool is_time(const Title& title) { return among(title.name, time_names); }

struct Columns {
  std::optional<std::size_t> size, time, workers, type, collective;
};

Columns columns_of(const std::vector<std::string>& header, const LogRequest& request, const SourceLocation& place) {
  Columns columns;
  std::vector<std::string> times;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const Title title = title_of(header[i]);
    if (is_time(title)) times.push_back(header[i]);
    if (request.time.empty() ? is_time(title) : header[i] == request.time.value) columns.time = i;
    if (is_size(title)) {
      if (columns.size) throw InputError(place, "has two size columns", "one, such as bytes");
      columns.size = i;
    } else if (among(title.name, workers_names)) {
      if (columns.workers) throw InputError(place, "has two columns with numbers of workers", "one, such as workers");
      columns.workers = i;
    } else if (among(title.name, type_names)) {
      columns.type = i;
    } else if (among(title.name, collective_names)) {
      columns.collective = i;
    }
  }
  if (!columns.size) throw InputError(place, "has no size column", "a header such as bytes,time_us");
  if (!request.time.empty() && !columns.time)
    throw InputError(request.time.place, fmt::format("there is no column '{}'", request.time.value),
                     suggest(request.time.value, header));
  if (!columns.time) throw InputError(place, "has no time column", "a header such as bytes,time_us");
  if (request.time.empty() && times.size() > 1)
    throw InputError(place, fmt::format("has several times: {}", fmt::join(times, ", ")), "choose one with --time");
  return columns;
}

// The cell with the column's unit; if the column has none, with its own, or else with the unit `without`.
std::string with_unit(const std::string& cell, const Title& title, std::string_view without) {
  const bool own = cell.find_first_not_of("0123456789+-.eE ") != cell.npos;
  const std::string_view unit = title.unit.empty() && !own ? without : std::string_view(title.unit);
  return unit.empty() ? cell : fmt::format("{} {}", cell, unit);
}

// The collective whose rows are read: the requested one, or the only one. None if there is no such column.
std::optional<CollectiveOp> chosen(const std::vector<CsvRow>& rows, const Columns& columns, const LogRequest& request,
                                   MeasurementLog& log) {
  if (!columns.collective) return std::nullopt;
  std::map<CollectiveOp, std::string_view> known;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].fields.size() == rows[0].fields.size()) {
      const OperationRow one =
          choose_by_name(operations_with(&OperationRow::measured), rows[i].fields[*columns.collective],
                         line_of(log, static_cast<std::size_t>(rows[i].line - 1)), "unknown collective '{}'");
      known.emplace(one.value, one.name);
    }
  if (known.empty()) return std::nullopt;
  auto found = known.begin();
  if (request.operation.value && known.contains(*request.operation.value)) found = known.find(*request.operation.value);
  if (known.size() > 1 && found->first != request.operation.value) {
    std::vector<std::string_view> names;
    for (const auto& [operation, name] : known) names.push_back(name);
    throw InputError({log.file, ""}, fmt::format("has rows of several collectives: {}", fmt::join(names, ", ")),
                     "--collective with an algorithm of one of them");
  }
  if (known.size() > 1)
    log.notes.push_back(fmt::format("rows of other collectives than {} are left out", found->second));
  log.operation = found->first;
  log.benchmark = found->second;
  return found->first;
}

}  // namespace

bool is_measurement_csv(std::string_view text) {
  for (const std::string_view line : lines_of(text)) {
    if (words_of(line).empty()) continue;
    if (line.find(',') == line.npos) return false;
    std::string_view rest = line.starts_with("\xEF\xBB\xBF") ? line.substr(3) : line;
    for (bool size = false, time = false;;) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const Title title = title_of(rest.substr(0, end));
      size |= is_size(title);
      time |= is_time(title);
      if (size && time) return true;
      if (end == rest.size()) return size || time;  // some other CSV: the reader reports the missing columns
      rest.remove_prefix(end + 1);
    }
  }
  return false;
}

void read_measurement_csv(std::string_view text, const LogRequest& request, MeasurementLog& log) {
  const std::vector<CsvRow> rows = parse_csv(text, log.file);
  if (rows.empty()) return;
  const std::vector<std::string>& header = rows[0].fields;
  const Columns columns = columns_of(header, request, line_of(log, 0));
  const Title size = title_of(header[*columns.size]), time = title_of(header[*columns.time]);
  log.time = header[*columns.time];
  WorkersColumn tagged;
  std::string type;
  const std::optional<CollectiveOp> operation = chosen(rows, columns, request, log);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& cells = rows[i].fields;
    const SourceLocation place = line_of(log, static_cast<std::size_t>(rows[i].line - 1));
    if (cells.size() != header.size())
      throw InputError(place, fmt::format("has {} fields", cells.size()),
                       fmt::format("the {} of the header", header.size()));
    if (operation && cells[*columns.collective] != log.benchmark) continue;
    if (columns.type) require_one_type(type, cells[*columns.type], place);
    const std::string& cell = cells[*columns.time];
    const double seconds = parse_duration(with_unit(cell, time, ""), place);
    const Measurement point{parse_size(with_unit(cells[*columns.size], size, "B"), place),
                            require_time(seconds, cell, place)};
    if (columns.workers)
      tagged.add(parse_integer(cells[*columns.workers], 1, most_workers, place), point);
    else
      log.points.push_back(point);
  }
  tagged.choose(request, log);
}

}  // namespace allreplay
