#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/programs/command/sweep.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_shares = 100'000;  // as many as a sweep may have rows

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::int64_t number_in(const char* name, std::int64_t least) {
  return parse_integer(environment(name).value_or(""), least, INT64_MAX, {"environment", name});
}

Share share_of(std::int64_t index, std::int64_t count, const SourceLocation& place) {
  if (count < 1 || count > most_shares)
    throw InputError(place, fmt::format("{} shares", count), fmt::format("1 to {}", most_shares));
  if (index < 0 || index >= count)
    throw InputError(place, fmt::format("there is no share {} of {}", index, count), fmt::format("0 to {}", count - 1));
  return {static_cast<std::size_t>(index), static_cast<std::size_t>(count)};
}

// The tasks of an array job may start anywhere and go in steps, but leave none out.
std::optional<Share> share_of_array() {
  if (!environment("SLURM_ARRAY_TASK_ID")) return std::nullopt;
  const std::int64_t step = environment("SLURM_ARRAY_TASK_STEP") ? number_in("SLURM_ARRAY_TASK_STEP", 1) : 1;
  const std::int64_t task = number_in("SLURM_ARRAY_TASK_ID", 0) - number_in("SLURM_ARRAY_TASK_MIN", 0);
  const std::int64_t count = number_in("SLURM_ARRAY_TASK_COUNT", 1);
  if (task % step != 0 || task / step >= count)
    throw InputError({"environment", "SLURM_ARRAY_TASK_ID"}, fmt::format("the array of {} tasks has gaps", count),
                     "an array from M to N, or --shard I/N");
  return share_of(task / step, count, {"environment", "SLURM_ARRAY_TASK_ID"});
}

}  // namespace

Share parse_shard(const std::string& text) {
  const SourceLocation place = argument("--shard");
  if (text != "auto") {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos)
      throw InputError(place, fmt::format("'{}' is not a valid share", text), "I/N, the first is 0/N; or auto");
    return share_of(parse_integer(text.substr(0, slash), 0, INT64_MAX, place),
                    parse_integer(text.substr(slash + 1), 0, INT64_MAX, place), place);
  }
  if (const auto share = share_of_array()) return *share;
  constexpr std::pair<const char*, const char*> ranks[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                           {"PMI_RANK", "PMI_SIZE"}};
  for (const auto& [rank, size] : ranks)
    if (environment(rank)) return share_of(number_in(rank, 0), number_in(size, 1), {"environment", rank});
  throw InputError(place,
                   "cannot determine which share this is: no SLURM_ARRAY_TASK_ID, OMPI_COMM_WORLD_RANK, PMI_RANK",
                   "a task of a Slurm array, mpirun, or --shard I/N");
}

}  // namespace allreplay
