#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/plans/pipeline/schedules.hpp"
#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

struct ScheduleArguments {
  std::string name, ranks, micro_batches, chunks, group;
};

void execute(Context& context, const ScheduleArguments& arguments) {
  const ScheduleRow& schedule =
      find_by_name(schedules(), arguments.name, argument("schedule"), "unknown schedule '{}'");
  constexpr std::int64_t many = 10'000;
  ScheduleRequest request{
      .ranks = parse_integer(arguments.ranks, 1, many, argument("--pp")),
      .chunks = schedule.chunks,
      .micro_batches = parse_integer(arguments.micro_batches, 1, 100 * many, argument("--micro-batches"))};
  if (!arguments.chunks.empty()) request.chunks = parse_integer(arguments.chunks, 1, many, argument("--chunks"));
  if (!arguments.group.empty())
    request.microbatch_group = parse_integer(arguments.group, 1, 100 * many, argument("--microbatch-group"));
  request.place_of_chunks = argument("--chunks");
  request.place_of_micro_batches = argument("--micro-batches");
  request.place_of_group = argument("--microbatch-group");
  constexpr std::int64_t most_actions = 20'000'000;
  if (request.ranks > most_actions / request.chunks / request.micro_batches)
    throw InputError(argument("schedule"), fmt::format("has more than {} actions", most_actions),
                     "fewer ranks, chunks or micro-batches");
  context.console.print("{}", write_rows(make_rows(schedule, request)));
}

}  // namespace

void add_schedule(CommandLine& app) {
  auto [command, arguments] = app.add<ScheduleArguments>(
      "schedule", "print the schedule of a pipeline, a row per rank, in PyTorch's format", execute);
  command.add_option("name", arguments.name, {"NAME", "schedules"}, "see `allreplay list schedules`").required();
  command.add_option("--pp", arguments.ranks, {"P"}, "ranks of the pipeline").required();
  command.add_option("--micro-batches", arguments.micro_batches, {"M"}, "micro-batches of an iteration").required();
  command.add_option("--chunks", arguments.chunks, {"V"}, "chunks of the model on each rank (the schedule's)");
  command.add_option("--microbatch-group", arguments.group, {"G"},
                     "interleaved: this many micro-batches pass a chunk before the next chunk runs");
  command.footer =
      "Example:\n  allreplay schedule 1f1b --pp 4 --micro-batches 8\n"
      "  allreplay schedule zbv --pp 4 --micro-batches 8";
}

}  // namespace allreplay
