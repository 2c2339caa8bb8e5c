// ASTRA-sim 1.0's workload text: a line with the kind of parallelism, one with the number of layers, and one per layer:
//
//   NAME RESERVED  FORWARD TYPE BYTES  INPUT-GRADIENT TYPE BYTES  WEIGHT-GRADIENT TYPE BYTES  UPDATE-DELAY
//
// where FORWARD, INPUT-GRADIENT and WEIGHT-GRADIENT are cycles of compute, and TYPE BYTES what is communicated after
// them (README of its workload_inputs). A cycle is a nanosecond there (CLOCK_PERIOD in its Common.hh), unless RESERVED,
// which nobody else reads, is the clock in -kHz, as `allreplay export` writes it.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/units.hpp"
#include "sim/interchange/importers/readers.hpp"
#include "sim/interchange/importers/text_lines.hpp"

namespace allreplay {

namespace {

struct Parallelism {
  std::string_view name;
  bool hybrid;              // some workers share a layer, and exchange activations
  std::string_view refuse;  // why it is no data-parallel training; "" where it is
};

constexpr std::array<Parallelism, 12> parallelisms{{
    {"DATA", false, ""},
    {"MICRO", false, ""},
    {"HYBRID_DLRM", true, ""},
    {"HYBRID_DLRM_ENHANCED", true, ""},
    {"HYBRID_TRANSFORMER", true, ""},
    {"HYBRID_DATA_MODEL", true, ""},
    {"HYBRID_MODEL_DATA", true, ""},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", true, "its backward pass repeats forward passes that the lines do not show"},
    {"HYBRID_CUSTOMIZED", true, "each of its layers has its own parallelism"},
    {"MODEL", true, "its workers share every layer, and no gradients"},
    {"DISTRIBUTED_INFERENCE", true, "it trains nothing"},
    {"PIPELINE", true, "its workers have different layers"},
}};

const Parallelism* parallelism_of(std::string_view line) {
  const std::vector<std::string_view> first = words(line);
  if (first.empty()) return nullptr;
  const auto found = std::find_if(parallelisms.begin(), parallelisms.end(),
                                  [&](const Parallelism& one) { return one.name == first[0]; });
  return found == parallelisms.end() ? nullptr : &*found;
}

constexpr std::size_t columns = 12;
constexpr std::int64_t most_cycles = std::int64_t{1} << 53;
constexpr std::array<std::string_view, 7> communications{"NONE",          "ALLREDUCE",         "ALLGATHER", "ALLTOALL",
                                                         "REDUCESCATTER", "ALLREDUCEALLTOALL", "ALLTOALLV"};

// Compute, and what is communicated after it.
struct Phase {
  std::int64_t cycles;
  std::string_view type;
  Bytes bytes;

  bool communicates() const { return type != "NONE" && bytes > 0; }
};

struct Row {
  std::string_view name;
  std::int64_t reserved;
  Phase forward, input_gradient, weight_gradient;
  std::int64_t update_delay;
};

Phase read_phase(const std::vector<std::string_view>& fields, std::size_t at, const SourceLocation& place) {
  const Phase phase{parse_integer(fields[at], 0, most_cycles, place), fields[at + 1],
                    parse_integer(fields[at + 2], 0, most_cycles, place)};
  if (std::find(communications.begin(), communications.end(), phase.type) == communications.end())
    throw InputError(place, fmt::format("unknown communication '{}'", phase.type),
                     fmt::format("{}", fmt::join(communications, ", ")));
  return phase;
}

Row read_row(std::string_view line, const SourceLocation& place) {
  const std::vector<std::string_view> fields = words(line);
  if (fields.size() != columns)
    throw InputError(place, fmt::format("{} columns", fields.size()),
                     fmt::format("{}: a name, a reserved number, three times compute, communication and bytes, and the "
                                 "update's delay",
                                 columns));
  return {fields[0],
          parse_integer(fields[1], -most_cycles, most_cycles, place),
          read_phase(fields, 2, place),
          read_phase(fields, 5, place),
          read_phase(fields, 8, place),
          parse_integer(fields[11], 0, most_cycles, place)};
}

class WorkloadReader {
 public:
  WorkloadReader(const std::string& file, const Parallelism& parallelism, const ImportOptions& options)
      : file_(file),
        parallelism_(parallelism),
        given_(options.clock),
        element_bytes_(element_bytes(options.precision).value_or(4)) {
    imported_.profile.framework = "ASTRA-sim 1.0";
    if (parallelism.name == "MICRO")
      note("MICRO: ASTRA-sim itself only sends the gradients of such a file and computes nothing");
  }

  void add(std::string_view line, int number) {
    const SourceLocation place{file_, fmt::format("line {}", number)};
    const Row row = read_row(line, place);
    Profile& profile = imported_.profile;
    if (profile.layers.empty())
      set_clock(row, place);
    else if (row.reserved != reserved_ && (row.reserved < -1 || reserved_ < -1))
      throw InputError(place, "has another clock than the line before",
                       fmt::format("{} in its second column", reserved_));
    skip("forward", row.forward, row.name);
    skip("input-gradient", row.input_gradient, row.name);
    if (row.weight_gradient.communicates()) {
      if (row.weight_gradient.type == "ALLREDUCE")
        profile.tensors.push_back({std::string(row.name), elements(row.weight_gradient.bytes, place), 0,
                                   static_cast<LayerId>(profile.layers.size())});
      else if (parallelism_.hybrid)
        skip("weight-gradient", row.weight_gradient, row.name);
      else
        throw InputError(place, fmt::format("the gradients are sent by {}", row.weight_gradient.type),
                         "ALLREDUCE or NONE: anything else is not data-parallel");
    }
    const Time input = time(row.input_gradient.cycles, place), weight = time(row.weight_gradient.cycles, place);
    if (profile.layers.empty()) first_input_ = input;
    input_ = allreplay::add(input_, input);
    longest_input_ = std::max(longest_input_, input);
    delays_ += row.update_delay > 0;
    profile.layers.push_back({std::string(row.name), time(row.forward.cycles, place), allreplay::add(input, weight)});
  }

  Imported finish() {
    if (input_ > Time(0))
      note(
          fmt::format("a layer's backward time is its weight-gradient and its input-gradient part ({} in total); its "
                      "gradient counts as ready after both, in ASTRA-sim after the first, up to {} earlier",
                      format_duration(to_seconds(input_)), format_duration(to_seconds(longest_input_))));
    if (first_input_ > Time(0) && parallelism_.name == "DATA")
      note(fmt::format("the input gradient of the first layer, which ASTRA-sim never computes, is counted: {}",
                       format_duration(to_seconds(first_input_))));
    if (delays_ > 0) note(fmt::format("the update delays of {} layers were left out", delays_));
    for (const auto& [what, sum] : skipped_)
      note(fmt::format("not data-parallel, left out: {} {}{}, {} in total, the first of '{}'", sum.count, what,
                       sum.count == 1 ? "" : "s", format_size(sum.bytes), sum.first));
    if (parallelism_.hybrid)
      note(
          fmt::format("{}: the profile is one worker's share, and only its gradients are all-reduced; what workers "
                      "that share a layer exchange is missing from its iteration",
                      parallelism_.name));
    return std::move(imported_);
  }

 private:
  // The file's, where it says one; the user's, who may not contradict; or ASTRA-sim's own.
  void set_clock(const Row& row, const SourceLocation& place) {
    reserved_ = row.reserved;
    const bool said = reserved_ < -1;
    clock_ = said ? -1e3 * static_cast<double>(reserved_) : given_.value_or(1e9);
    if (said && given_ && std::abs(*given_ - clock_) > 1e-9 * clock_)
      throw InputError(
          place, fmt::format("was written in cycles of {:g} GHz, but --clock is {:g}", clock_ / 1e9, *given_ / 1e9),
          "no --clock, or the same");
    note(fmt::format("compute was counted in cycles, taken at {:g} GHz{}", clock_ / 1e9,
                     said     ? ", as the file says"
                     : given_ ? ""
                              : ": nanoseconds, as in ASTRA-sim 1.0; if they are microseconds, as from Chakra's text "
                                "converter, use --clock 0.001"));
  }

  struct Skipped {
    std::int64_t count = 0;
    Bytes bytes = 0;
    std::string first;
  };

  void note(std::string text) { imported_.notes.push_back(std::move(text)); }

  void skip(std::string_view pass, const Phase& phase, std::string_view layer) {
    if (!phase.communicates()) return;
    Skipped& sum = skipped_[fmt::format("{} {}", pass, phase.type)];
    if (sum.count++ == 0) sum.first = layer;
    sum.bytes = std::min(sum.bytes + phase.bytes, most_cycles);
  }

  Time time(std::int64_t cycles, const SourceLocation& place) const {
    return measured_us(static_cast<double>(cycles) / clock_ * 1e6, place);
  }

  std::int64_t elements(Bytes bytes, const SourceLocation& place) const {
    if (bytes % element_bytes_ != 0)
      throw InputError(place, fmt::format("{} bytes of gradients are not a whole number of elements", bytes),
                       fmt::format("a multiple of {}, or another --precision", element_bytes_));
    return parameter_count(static_cast<double>(bytes / element_bytes_), place);
  }

  const std::string& file_;
  const Parallelism& parallelism_;
  std::optional<double> given_;  // Hz
  double clock_ = 1e9;           // likewise
  std::int64_t reserved_ = -1;
  Bytes element_bytes_;
  Imported imported_;
  Time input_{0}, longest_input_{0}, first_input_{0};
  int delays_ = 0;
  std::map<std::string, Skipped> skipped_;
};

}  // namespace

bool is_astra_sim(std::string_view, std::string_view head) {
  const std::vector<TextLine> lines = text_lines(head.substr(0, 1024));
  if (lines.size() < 2 || !parallelism_of(lines[0].text)) return false;
  const std::vector<std::string_view> second = words(lines[1].text);
  return second.size() == 1 && second[0].find_first_not_of("0123456789") == std::string_view::npos;
}

Imported read_astra_sim(ByteSource& source, const ImportOptions& options) {
  const std::string text = source.rest();
  std::vector<TextLine> lines = text_lines(text);
  std::erase_if(lines, [](const TextLine& line) { return words(line.text).empty(); });
  if (lines.size() < 2)
    throw InputError({source.file(), ""}, "is too short for a workload",
                     "a line with the parallelism, one with the number of layers, and one per layer");
  const SourceLocation first{source.file(), fmt::format("line {}", lines[0].number)};
  const Parallelism* parallelism = parallelism_of(lines[0].text);
  if (!parallelism) {
    std::vector<std::string> known;
    for (const Parallelism& one : parallelisms)
      if (one.refuse.empty()) known.emplace_back(one.name);
    throw InputError(first, fmt::format("unknown parallelism '{}'", words(lines[0].text)[0]),
                     suggest(words(lines[0].text)[0], known));
  }
  if (!parallelism->refuse.empty())
    throw InputError(first, fmt::format("{} is not data-parallel: {}", parallelism->name, parallelism->refuse),
                     "DATA, or a hybrid whose gradients are all-reduced");
  const SourceLocation second{source.file(), fmt::format("line {}", lines[1].number)};
  const auto count = static_cast<std::size_t>(parse_integer(words(lines[1].text)[0], 1, 1'000'000, second));
  if (lines.size() - 2 != count)
    throw InputError(second, fmt::format("{} layers, but {} lines follow", count, lines.size() - 2),
                     "a line for each layer");
  WorkloadReader reader(source.file(), *parallelism, options);
  for (std::size_t i = 2; i < lines.size(); ++i) reader.add(lines[i].text, lines[i].number);
  return reader.finish();
}

}  // namespace allreplay
