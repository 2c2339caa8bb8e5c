// Reads OSU micro-benchmarks (osu_allreduce, …): `# OSU MPI Allreduce Latency Test v7.4`, `# Size  Avg Latency(us)  …`,
// rows. The number of processes is not printed; logs of B-Caffe, for example, have it before the size, "8,4096".

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

constexpr Benchmark osu_benchmarks[] = {{"Allreduce", CollectiveOp::AllReduce},
                                        {"Allgather", CollectiveOp::AllGather},
                                        {"Reduce_scatter", CollectiveOp::ReduceScatter},
                                        {"Broadcast", CollectiveOp::Broadcast},
                                        {"Bcast", CollectiveOp::Broadcast}};

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr TimeUnit units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

struct OsuColumns {
  std::size_t count = 0, time = 0;
  double scale = 1e-6;
};

// Splits a header such as "Size       Avg Latency(us)   Min Latency(us)" at tabs and at two or more blanks.
std::vector<std::string> titles(std::string_view header) {
  std::vector<std::string> found;
  bool open = false;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool blank =
        header[i] == ' ' && i + 1 < header.size() && header[i + 1] != ' ' && open;  // a single one, within a title
    if (header[i] == '\t' || (header[i] == ' ' && !blank)) {
      open = false;
      continue;
    }
    if (!open) found.emplace_back();
    open = true;
    found.back() += header[i];
  }
  return found;
}

OsuColumns osu_columns(std::string_view header, const LogRequest& request, const SourceLocation& place) {
  const std::vector<std::string> names = titles(header);
  const std::string wanted = request.time.empty() ? "avg" : lower_case(request.time.value);
  for (std::size_t i = 1; i < names.size(); ++i) {
    const std::string name = lower_case(names[i]);
    if (!name.starts_with(wanted + " lat")) continue;
    const std::size_t open = name.find('('), close = name.find(')');
    for (const TimeUnit& unit : units)
      if (open < close && close != name.npos && name.substr(open + 1, close - open - 1) == unit.name)
        return {names.size(), i, unit.seconds};
    throw InputError(place, fmt::format("'{}' has no known unit", names[i]), "us, ms or s");
  }
  throw InputError(request.time.empty() ? place : request.time.place,
                   fmt::format("there is no '{}' latency among the columns {}", wanted,
                               fmt::join(names.begin() + 1, names.end(), ", ")),
                   "avg, min or max, as osu_allreduce -f prints them");
}

// Removes the number of workers before a size, "8,4096", and returns it; 0 if there is none.
std::int64_t take_workers(std::string_view& size, const SourceLocation& place) {
  const std::size_t comma = size.find(',');
  if (comma == size.npos) return 0;
  const std::int64_t workers = parse_integer(size.substr(0, comma), 1, most_workers, place);
  size.remove_prefix(comma + 1);
  return workers;
}

// Returns "MPI-CUDA Allreduce" of "# OSU MPI-CUDA Allreduce Latency Test v7.4"; "" for other lines.
std::string_view title_in_comment(std::string_view comment) {
  const std::size_t begin = comment.find("OSU "), end = comment.find(" Test");
  if (begin == comment.npos || end == comment.npos || end < begin) return {};
  std::string_view title = comment.substr(begin + 4, end - begin - 4);
  if (title.ends_with(" Latency")) title.remove_suffix(8);
  return title;
}

}  // namespace

bool is_osu(std::string_view text) {
  return text.find("# OSU ") != text.npos || (text.find("# Size") != text.npos && text.find("Latency") != text.npos);
}

void read_osu(std::string_view text, const LogRequest& request, MeasurementLog& log) {
  OsuColumns columns;
  std::string type;
  WorkersColumn tagged;
  std::size_t index = 0;
  for (const std::string_view line : lines_of(text)) {
    const SourceLocation place = line_of(log, index++);
    const std::string_view content = without_prefix(line);
    if (content.starts_with('#')) {
      const std::vector<std::string_view> words = words_of(content.substr(1));
      if (const std::string_view title = title_in_comment(content); !title.empty())
        set_benchmark(log, title, osu_benchmarks, place);
      if (words.size() > 1 && words[0] == "Size") columns = osu_columns(content.substr(1), request, place);
      if (words.size() > 1 && words[0] == "Datatype:") require_one_type(type, words[1], place);
    } else if (columns.count > 0 && looks_like_row(content)) {
      std::vector<std::string_view> row = words_of(content);
      require_width(row.size(), columns.count, place);
      const std::int64_t workers = take_workers(row[0], place);
      const Measurement point{parse_log_size(row[0], 1, place),
                              parse_log_time(row[columns.time], columns.scale, place)};
      if (workers > 0)
        tagged.add(workers, point);
      else
        log.points.push_back(point);
    }
  }
  log.time = request.time.empty() ? "avg" : lower_case(request.time.value);
  tagged.choose(request, log);
}

}  // namespace allreplay
