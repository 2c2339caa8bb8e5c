// slowest PROFILE CLUSTER STRATEGY: which transfer of an iteration is in flight longest.
#include <algorithm>
#include <cstdio>

#include "sim/allreplay.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    allreplay::Library library;
    const allreplay::Outcome outcome =
        allreplay::run(library.resolve({.profile = argv[1], .cluster = argv[2], .strategy = argv[3]}));
    const auto& [scenario, result, wall_s] = outcome;
    const auto& spans = result.episodes.back().timeline.spans;
    std::size_t slowest = 0;
    const auto length = [&](std::size_t i) {
      const allreplay::Span& span = spans[result.unrolled.transfer(i)];
      return span.end - span.start;
    };
    for (std::size_t i = 1; i < result.plan.transfers.size(); ++i)
      if (length(i) > length(slowest)) slowest = i;
    const std::string block =
        allreplay::describe(result.plan, result.plan.transfers[slowest].payload.block, scenario.profile);
    std::printf("allreplay %s: an iteration takes %.6f s; longest in flight is %s, %.6f s\n",
                allreplay::version().c_str(), result.metrics.iteration_s, block.c_str(),
                allreplay::to_seconds(length(slowest)));
  } catch (const allreplay::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
