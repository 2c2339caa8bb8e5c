#include "sim/studies/jobs/reliability.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

double parse_long_duration(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  for (const auto& [unit, seconds] : {std::pair("min", 60.), {"h", 3600.}, {"d", 86400.}, {"y", 365 * 86400.}})
    if (trimmed.ends_with(unit)) {
      const double count = parse_number(trimmed.substr(0, trimmed.size() - std::string_view(unit).size()), place);
      if (count < 0) throw InputError(place, fmt::format("\"{}\" is negative", text), "a duration such as \"8 h\"");
      return count * seconds;
    }
  try {
    return parse_duration(text, place);
  } catch (const InputError&) {
    throw InputError(place, fmt::format("\"{}\" is not a duration", text),
                     "such as \"90 s\", \"30 min\", \"8 h\", \"5 d\" or \"2 y\"");
  }
}

double read_long_duration(const Json& text) {
  if (!text.is_string()) text.fail(fmt::format("{} has no unit", text.dump()), "a string such as \"90 s\"");
  return parse_long_duration(text.text(), text.place());
}

CheckpointInterval parse_checkpoint_interval(std::string_view text, const SourceLocation& place) {
  const std::string_view trimmed = trim(text);
  if (trimmed == "optimal") return {};
  if (!trimmed.empty() && trimmed.find_first_not_of("0123456789") == std::string_view::npos)
    return {.seconds = {}, .iterations = parse_integer(trimmed, 1, 1'000'000'000'000'000'000, place)};
  try {
    return {.seconds = parse_long_duration(trimmed, place), .iterations = {}};
  } catch (const InputError&) {
    throw InputError(place, fmt::format("\"{}\" is not an interval between checkpoints", text),
                     "optimal, a number of iterations, or a duration such as \"30 min\"");
  }
}

Reliability read_reliability(const Json& object) {
  object.allow_only({"mtbf", "checkpoint", "restart", "interval", "repair", "spares", "elastic", "horizon", "seed"});
  Reliability reliability;
  reliability.mtbf = read_long_duration(object.at("mtbf"));
  reliability.checkpoint = read_long_duration(object.at("checkpoint"));
  reliability.restart = read_long_duration(object.at("restart"));
  if (const auto interval = object.find("interval"))
    reliability.interval =
        interval->is_number()
            ? CheckpointInterval{.seconds = {}, .iterations = interval->integer(1, 1'000'000'000'000'000'000)}
            : parse_checkpoint_interval(interval->text(), interval->place());
  if (const auto repair = object.find("repair")) reliability.repair = read_long_duration(*repair);
  if (const auto spares = object.find("spares")) reliability.spares = spares->integer(0, most_spares);
  if (const auto elastic = object.find("elastic")) reliability.elastic = elastic->boolean();
  if (const auto horizon = object.find("horizon")) reliability.horizon = read_long_duration(*horizon);
  if (const auto seed = object.find("seed"))
    reliability.seed = static_cast<std::uint64_t>(seed->integer(0, std::numeric_limits<std::int64_t>::max()));
  require_possible(reliability, object.place() / "mtbf", object.place() / "horizon");
  return reliability;
}

void require_possible(const Reliability& reliability, const SourceLocation& place_of_mtbf,
                      const SourceLocation& place_of_horizon) {
  if (!(reliability.mtbf > 0))
    throw InputError(place_of_mtbf, "mtbf is 0", "the mean time between failures of a node: \"200 d\"");
  if (reliability.horizon && !(*reliability.horizon > 0))
    throw InputError(place_of_horizon, "horizon is 0", "how long to simulate: \"30 d\"");
  if (!std::isfinite(reliability.mtbf) || reliability.mtbf > 1e15)
    throw InputError(place_of_mtbf, "mtbf is out of range", "at most 1e15 s");
}

}  // namespace allreplay
