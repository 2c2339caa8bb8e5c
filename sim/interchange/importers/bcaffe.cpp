// The log of B-Caffe (github.com/shyhuai/B-Caffe): for every learnable blob, in forward order,
//
//   … distributed.cpp:112] [INDEX, ELEMENTS, BACKWARD us, COMMUNICATION us, …]
//
// where BACKWARD is that of the blob's layer. There are neither names nor forward times.

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/units.hpp"
#include "sim/interchange/importers/readers.hpp"
#include "sim/interchange/importers/text_lines.hpp"

namespace allreplay {

namespace {

struct Blob {
  std::int64_t elements;
  Time backward;
  std::vector<double> communication;  // us
  int line;
};

using Iteration = std::vector<Blob>;

// The list behind "] " at the end of a line, or nothing.
std::string_view list_of(std::string_view line) {
  const std::size_t open = line.find("] [");
  if (line.find("distributed.cpp:") == std::string_view::npos || open == std::string_view::npos) return {};
  return trimmed(line.substr(open + 2));
}

std::vector<double> numbers(std::string_view list, const SourceLocation& place) {
  if (list.size() < 2 || list.back() != ']')
    throw InputError(place, "the list is cut off", "[index, elements, backward us, communication us]");
  std::vector<double> all;
  list = list.substr(1, list.size() - 2);
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    all.push_back(parse_number(list.substr(at, end - at), place));
    at = end + 1;
  }
  if (all.size() < 4)
    throw InputError(place, fmt::format("{} columns", all.size()),
                     "at least 4: index, elements, backward us, communication us");
  return all;
}

std::vector<Iteration> read_iterations(std::string_view text, const std::string& file) {
  std::vector<Iteration> iterations;
  for (const TextLine& line : text_lines(text)) {
    const std::string_view list = list_of(line.text);
    if (list.empty()) continue;
    const SourceLocation place{file, fmt::format("line {}", line.number)};
    const std::vector<double> row = numbers(list, place);
    if (row[0] == 0) iterations.emplace_back();
    const double expected = iterations.empty() ? 0 : static_cast<double>(iterations.back().size());
    if (row[0] != expected)
      throw InputError(place, fmt::format("blob {} where {} was expected", row[0], expected),
                       "every iteration's blobs from 0, in order");
    if (!iterations.back().empty() && row.size() != iterations.back()[0].communication.size() + 3)
      throw InputError(place, fmt::format("{} columns", row.size()), "as many as the iteration's first line");
    for (const double value : row)
      if (value < 0) throw InputError(place, fmt::format("{} is negative", value), "0 or more");
    iterations.back().push_back(
        {parameter_count(row[1], place), measured_us(row[2], place), {row.begin() + 3, row.end()}, line.number});
  }
  for (const Iteration& iteration : iterations)
    if (iteration.size() != iterations[0].size())
      throw InputError(
          {file, fmt::format("line {}", iteration.back().line)},
          fmt::format("an iteration of {} blobs ends here, the first has {}", iteration.size(), iterations[0].size()),
          "a complete log");
  return iterations;
}

bool is_timed(const Iteration& iteration) {
  return std::any_of(iteration.begin(), iteration.end(), [](const Blob& blob) { return blob.backward > Time(0); });
}

}  // namespace

bool is_bcaffe(std::string_view, std::string_view head) {
  return !list_of(head.substr(0, head.find('\n'))).empty() || head.find(" distributed.cpp:") != std::string_view::npos;
}

Imported read_bcaffe(ByteSource& source, const ImportOptions&) {
  const std::vector<Iteration> iterations = read_iterations(source.rest(), source.file());
  const auto timed = std::find_if(iterations.rbegin(), iterations.rend(), is_timed);
  if (timed == iterations.rend())
    throw InputError({source.file(), ""}, "has no backward times", "lines [index, elements, backward us, …] with some");
  Imported imported;
  imported.has_forward = false;
  Profile& profile = imported.profile;
  profile.framework = "B-Caffe";
  bool padded = true;
  std::vector<double> communication(timed->front().communication.size());
  for (std::size_t i = 0; i < timed->size(); ++i) {
    const Blob& blob = (*timed)[i];
    padded = padded && blob.elements % 64 == 0;
    if (i == 0 || blob.backward != (*timed)[i - 1].backward)
      profile.layers.push_back({fmt::format("layer{}", profile.layers.size()), Time(0), blob.backward});
    if (blob.elements > 0)
      profile.tensors.push_back(
          {fmt::format("blob{}", i), blob.elements, 0, static_cast<LayerId>(profile.layers.size() - 1)});
    for (std::size_t column = 0; column < communication.size(); ++column)
      communication[column] += blob.communication[column];
  }
  imported.notes.push_back(
      fmt::format("{} iterations were logged; the last with backward times was read", iterations.size()));
  imported.notes.push_back(
      fmt::format("the log names no layers: consecutive blobs with equal backward times are one "
                  "layer's; {} blobs, {} layers",
                  timed->size(), profile.layers.size()));
  if (padded)
    imported.notes.push_back(
        "every blob's elements are a multiple of 64: these are padded sizes as sent; the model has fewer parameters");
  for (std::size_t column = 0; column < communication.size(); ++column)
    imported.notes.push_back(fmt::format("left out: measured communication (column {}), {:.6g} ms in total", column + 4,
                                         communication[column] / 1e3));
  return imported;
}

}  // namespace allreplay
