#include "sim/studies/calibration/measured_file.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr std::string_view own_columns[] = {"profile", "cluster", "workers",       "strategy", "collective", "fidelity",
                                            "codec",   "bytes",   "forward_ratio", "group",    "calibrate"};

constexpr std::size_t most_points = 200'000;  // each takes kilobytes

bool has(const std::vector<std::string>& columns, std::string_view name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

SourceLocation line_of(const std::string& file, int line) { return {file, fmt::format("line {}", line)}; }

void require_columns(const std::vector<std::string>& columns, const SourceLocation& place) {
  std::vector<std::string> known(std::begin(own_columns), std::end(own_columns));
  for (const auto& row : quantities) known.emplace_back(row.name);
  for (const OptionRow& row : option_rows()) known.emplace_back(row.name);
  std::map<std::string_view, std::string> seen;  // by the option's main name
  for (const std::string& name : columns) {
    const OptionRow* option = option_named(name);  // also finds its other name
    if (!option && !has(known, name))
      throw InputError(place, fmt::format("unknown column '{}'", name), suggest(name, known));
    const auto [other, fresh] = seen.emplace(option ? option->name : std::string_view(name), name);
    if (fresh) continue;
    if (other->second == name) throw InputError(place, fmt::format("has the column {} twice", name), "once");
    throw InputError(place, fmt::format("has the columns {} and {}, which are the same option", other->second, name),
                     "one of them");
  }
}

Quantity quantity_of(const std::vector<std::string>& columns, const SourceLocation& place) {
  std::vector<std::string> found;
  for (const auto& row : quantities)
    if (has(columns, row.name)) found.emplace_back(row.name);
  if (found.size() != 1)
    throw InputError(place,
                     found.empty() ? "has no measured column"
                                   : fmt::format("has the measured columns {}", fmt::join(found, " and ")),
                     "one column of iteration_s, samples_per_s or speedup; or time_s, for single collectives");
  return row_named(quantities, found.front())->value;
}

// Rejects missing columns and those that do not apply, for measured collectives and for measured iterations.
void require_kind(const std::vector<std::string>& columns, Quantity quantity, const SourceLocation& place) {
  const bool alone = quantity == Quantity::CollectiveTime;
  std::vector<std::string_view> needed{"cluster"}, refused;
  for (const std::string_view name : {"profile", "strategy"}) (alone ? refused : needed).push_back(name);
  for (const std::string_view name : {"bytes"}) (alone ? needed : refused).push_back(name);
  for (const std::string_view name : needed)
    if (!has(columns, name))
      throw InputError(
          place, fmt::format("has no column {}", name),
          alone ? "cluster,collective,workers,bytes,time_s" : "profile,cluster,workers,strategy and a measured column");
  for (const std::string_view name : refused)
    if (has(columns, name))
      throw InputError(place, fmt::format("has both columns {} and {}", name, name_of(quantities, quantity)),
                       alone ? "a single collective has none" : "time_s: bytes are those of a single collective");
}

// The default columns: constants of the network, launches and spreads are a cluster's, the update is a profile's,
// interference is both's, and the time that a library takes per tensor is a group's.
std::vector<std::string> default_scope(Constant constant) {
  switch (constant) {
    case Constant::Update:
    case Constant::HostBlock:
    case Constant::HostStep:
      return {"profile"};
    case Constant::Interference:
      return {"cluster", "profile"};
    case Constant::LaunchTensor:
      return {"group"};
    default:
      return {"cluster"};
  }
}

bool is_of_training(Constant constant) {
  return constant == Constant::Update || constant == Constant::LaunchTensor || constant == Constant::Interference ||
         constant == Constant::Spread || constant == Constant::HostBlock || constant == Constant::HostStep;
}

// Parses "beta by cluster workers; launch by strategy".
std::vector<FitRequest> parse_fits(std::string_view text, const std::vector<std::string>& columns, Quantity quantity,
                                   const SourceLocation& place) {
  std::vector<FitRequest> fits;
  while (!trim(text).empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::vector<std::string> words;
    for (std::string_view rest = trim(text.substr(0, end)); !rest.empty();) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      words.emplace_back(rest.substr(0, blank));
      rest = trim(rest.substr(blank));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    FitRequest fit{choose_by_name(constant_words, words[0], place, "'{}' is not a constant that rows can fit").value,
                   {}};
    if (quantity == Quantity::CollectiveTime && is_of_training(fit.constant))
      throw InputError(place, fmt::format("a single collective does not determine {}", words[0]),
                       "launch, alpha, beta or server");
    if (words.size() == 2 || (words.size() > 2 && words[1] != "by"))
      throw InputError(place, fmt::format("'{}' is not a valid `by` for {}", words[1], words[0]),
                       fmt::format("such as: {} by cluster workers", words[0]));
    fit.by.assign(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end());
    const bool may_differ_by_nodes = fit.constant == Constant::Alpha || fit.constant == Constant::Beta;
    for (const std::string& column : fit.by)
      if (!(column == by_nodes && may_differ_by_nodes) &&
          (!has(columns, column) || column == "calibrate" || column == name_of(quantities, quantity)))
        throw InputError(place, fmt::format("{} cannot be fitted by '{}'", words[0], column),
                         "columns of the file that describe the run");
    if (fit.by.empty()) fit.by = default_scope(fit.constant);
    if (fit.by == std::vector<std::string>{std::string(by_nodes)}) fit.by.insert(fit.by.begin(), "cluster");
    for (const FitRequest& other : fits)
      if (other.constant == fit.constant) throw InputError(place, fmt::format("fits {} twice", words[0]), "once");
    fits.push_back(std::move(fit));
  }
  return fits;
}

void require_not_given(const MeasuredPoint& point) {
  for (const FitRequest& fit : point.fits) {
    const std::string name = option_of(fit.constant);
    const auto own = point.cells.find(name);
    if (own != point.cells.end() && !own->second.empty())
      throw InputError(point.place, fmt::format("both fits and gives {}", name), "one of the two");
  }
}

void require_few(const MeasuredFile& measured) {
  std::set<std::string> names;
  for (const MeasuredPoint& point : measured.points)
    for (const FitRequest& fit : point.fits) names.emplace(name_of(constant_words, fit.constant));
  if (names.size() > most_constants)
    throw InputError({measured.file, "calibrate"}, fmt::format("fits {}", fmt::join(names, ", ")),
                     "at most four constants: with more, anything fits");
  static_assert(most_constants == 4);
}

class PointReader {
 public:
  PointReader(const MeasuredFile& measured, const CsvRow& row) : measured_(measured) {
    point_.place = line_of(measured.file, row.line);
    if (row.fields.size() != measured.columns.size())
      throw InputError(point_.place, fmt::format("has {} fields", row.fields.size()),
                       fmt::format("the {} of the header", measured.columns.size()));
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const std::string& column = measured.columns[i];
      point_.cells[column] = std::string(trim(row.fields[i]));
      if (const OptionRow* option = option_named(column); option && option->name != column) {
        point_.cells[std::string(option->name)] = point_.cells[column];
        other_names_[option->name] = column;
      }
    }
  }

  MeasuredPoint read() {
    read_names();
    read_numbers();
    for (const OptionRow& option : option_rows())
      if (const std::string value = cell(option.name); !value.empty())
        point_.request.options.push_back({std::string(option.name), value, place(option.name)});
    point_.fits = parse_fits(cell("calibrate"), measured_.columns, measured_.quantity, place("calibrate"));
    require_not_given(point_);
    return std::move(point_);
  }

 private:
  std::string cell(std::string_view column) const {
    const auto found = point_.cells.find(std::string(column));
    return found == point_.cells.end() ? "" : found->second;
  }

  SourceLocation place(std::string_view column) const {
    const auto other = other_names_.find(column);
    return {point_.place.file,
            fmt::format("{}, {}", point_.place.path, other == other_names_.end() ? column : other->second)};
  }

  const Files& files() const { return measured_.inputs.files; }

  std::string named(std::string_view column, std::string_view folder) const {
    const std::string name = beside(files(), measured_.file, cell(column));
    if (!files().locate_data(folder, name))
      throw InputError(place(column), fmt::format("no {} '{}'", column, cell(column)),
                       suggest(cell(column), files().list_data(folder)));
    return name;
  }

  void read_names() {
    Request& request = point_.request;
    request.cluster = named("cluster", "topologies");
    if (measured_.quantity != Quantity::CollectiveTime) {
      request.profile = {named("profile", "traces"), place("profile")};
      request.strategy = {cell("strategy"), place("strategy")};
      if (request.strategy.empty()) throw InputError(place("strategy"), "is empty", "a strategy's name");
    }
    request.collective = {cell("collective"), place("collective")};
    request.fidelity = {cell("fidelity"), place("fidelity")};
    request.codec = {cell("codec"), place("codec")};
    if (const std::string near = beside(files(), measured_.file, request.codec);
        !request.codec.empty() && files().is_file(near))
      request.codec = near;
    request.forward_ratio.place = place("forward_ratio");
    request.workers.place = place("workers");
    point_.group = cell("group");
    if (point_.group.empty()) point_.group = request.strategy.empty() ? cell("collective") : request.strategy.value;
    if (point_.group.empty()) point_.group = cell("cluster");
    require_name(point_.group, place("group"));
    point_.cells["group"] = point_.group;
  }

  void read_numbers() {
    Request& request = point_.request;
    if (const std::string text = cell("workers"); !text.empty())
      request.workers = parse_integer(text, 1, most_workers, place("workers"));
    if (const std::string text = cell("forward_ratio"); !text.empty())
      request.forward_ratio = parse_number(text, place("forward_ratio"));
    if (measured_.quantity == Quantity::CollectiveTime) {
      const std::string text = cell("bytes");
      const bool plain = text.find_first_not_of("0123456789+-.eE ") == std::string::npos;
      point_.bytes = parse_size(plain ? text + " B" : text, place("bytes"));
      if (point_.bytes < 1)
        throw InputError(place("bytes"), fmt::format("'{}' is not a number of bytes to send", text), "1 or more");
    }
    const std::string_view column = name_of(quantities, measured_.quantity);
    point_.value = parse_number(cell(column), place(column));
    if (!(point_.value > 0))
      throw InputError(place(column), fmt::format("{} was not measured", cell(column)), "a number above zero");
  }

  const MeasuredFile& measured_;
  MeasuredPoint point_;
  std::map<std::string_view, std::string_view> other_names_;  // by option: the column that has its other name
};

}  // namespace

MeasuredFile read_measured_file(const Inputs& inputs, const std::string& file) {
  return parse_measured_file(inputs, inputs.files.read(file), file);
}

MeasuredFile parse_measured_file(const Inputs& inputs, const std::string& text, const std::string& file) {
  const std::vector<CsvRow> rows = parse_csv(text, file);
  if (rows.empty()) throw InputError({file, ""}, "is empty", "a header and a row for each measured point");
  MeasuredFile measured{.inputs = inputs, .file = file};
  for (const std::string& name : rows[0].fields) measured.columns.emplace_back(trim(name));
  const SourceLocation head = line_of(file, rows[0].line);
  require_columns(measured.columns, head);
  measured.quantity = quantity_of(measured.columns, head);
  require_kind(measured.columns, measured.quantity, head);
  if (rows.size() - 1 > most_points)
    throw InputError(line_of(file, rows[most_points + 1].line), fmt::format("exceeds {} points", most_points),
                     "several files");
  for (std::size_t i = 1; i < rows.size(); ++i) measured.points.push_back(PointReader(measured, rows[i]).read());
  require_few(measured);
  if (std::none_of(measured.points.begin(), measured.points.end(), [](const auto& point) { return point.scored(); }))
    throw InputError({file, ""}, "has no row to score", "rows with an empty calibrate");
  return measured;
}

}  // namespace allreplay
