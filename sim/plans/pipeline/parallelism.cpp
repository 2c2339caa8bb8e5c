#include "sim/plans/pipeline/parallelism.hpp"

#include <set>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

Degrees degrees_of(const ParallelOptions& parallel, std::int64_t workers, const SourceLocation& place_of_workers,
                   const SourceLocation& place_of_ep) {
  Degrees degrees{parallel.pp, parallel.tp, parallel.cp, parallel.ep, 1};
  // No degree exceeds the largest number of workers, so products of three degrees do not overflow.
  const std::int64_t model = degrees.pp * degrees.tp;
  if (model > workers || degrees.cp > workers || workers % (model * degrees.cp) != 0)
    throw InputError(place_of_workers,
                     fmt::format("{} workers are not a multiple of pp {} x tp {} x cp {}", workers, degrees.pp,
                                 degrees.tp, degrees.cp),
                     "a number of workers that is a multiple of the degrees' product");
  degrees.dp = workers / (model * degrees.cp);
  if (degrees.gradient_workers() % degrees.ep != 0)
    throw InputError(
        place_of_ep,
        fmt::format("ep {} does not divide the {} workers of a tensor rank", degrees.ep, degrees.gradient_workers()),
        "a divisor of cp x dp");
  return degrees;
}

std::vector<std::uint32_t> Pipeline::chunks_of(std::uint32_t rank) const {
  std::vector<std::uint32_t> own;
  for (std::uint32_t chunk = 0; chunk < index.chunks(); ++chunk)
    if (index.rank_of[chunk] == rank) own.push_back(chunk);
  return own;
}

std::uint32_t Pipeline::chunk_of(LayerId layer) const {
  std::uint32_t chunk = 0;
  while (chunks[chunk].last < layer) ++chunk;
  return chunk;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const Pipeline& pipeline, const Profile& profile) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  const auto add = [&](std::uint32_t one, std::uint32_t other) {
    if (one == other) return;
    pairs.emplace(one, other);
    pairs.emplace(other, one);
  };
  for (std::uint32_t chunk = 0; chunk + 1 < pipeline.index.chunks(); ++chunk)
    add(pipeline.index.rank_of[chunk], pipeline.index.rank_of[chunk + 1]);
  if (profile.tied)
    add(pipeline.rank_of(profile.tensors[profile.tied->first].layer),
        pipeline.rank_of(profile.tensors[profile.tied->second].layer));
  return {pairs.begin(), pairs.end()};
}

std::vector<double> send_bytes(const Pipeline& pipeline, const ParallelOptions& parallel, const Profile& profile) {
  std::vector<double> all(pipeline.chunks.size(), 0);
  for (std::size_t chunk = 0; chunk + 1 < all.size(); ++chunk) {
    const Layer& last = profile.layers[pipeline.chunks[chunk].last];
    const auto bytes = parallel.p2p_bytes ? parallel.p2p_bytes : last.output_bytes;
    if (!bytes)
      throw InputError({profile.name, fmt::format("/layers/{}", pipeline.chunks[chunk].last)},
                       fmt::format("'{}' ends chunk {} but has no output_bytes", last.name, chunk),
                       "output_bytes in the profile, or --option p2p_bytes=SIZE");
    all[chunk] = static_cast<double>(*bytes) / static_cast<double>(parallel.p2p_split ? parallel.tp : 1);
  }
  return all;
}

namespace {

ActionRows rows_of(const ParallelOptions& parallel, std::int64_t micro_batches, const PipelinePlaces& places) {
  if (parallel.given) {
    if (parallel.chunks)
      throw InputError(places.chunks, "cannot be combined with a schedule file, which gives the chunks", "no chunks");
    return parallel.given->rows;
  }
  const ScheduleRow& schedule = find_by_name(schedules(), parallel.schedule, places.schedule, "unknown schedule '{}'");
  return make_rows(schedule,
                   {parallel.pp, parallel.chunks.value_or(schedule.chunks), micro_batches, parallel.microbatch_group,
                    parallel.ep_overlap, places.chunks, places.micro_batches, places.group});
}

}  // namespace

Pipeline pipeline_of(const ParallelOptions& parallel, const Degrees& degrees, std::optional<std::int64_t> micro_batches,
                     const Profile& profile, const PipelinePlaces& places) {
  Pipeline made{.degrees = degrees, .rows = rows_of(parallel, micro_batches.value_or(1), places)};
  const SourceLocation place = parallel.given ? SourceLocation{parallel.given->file, ""} : places.schedule;
  made.index = index_of(made.rows, degrees.pp, place);
  if (micro_batches && made.index.micro_batches != *micro_batches)
    throw InputError(places.micro_batches,
                     fmt::format("{}, but {} has {}", counted(*micro_batches, "micro-batch"),
                                 parallel.given ? parallel.given->file : parallel.schedule, made.index.micro_batches),
                     fmt::format("{}, or none", made.index.micro_batches));
  made.chunks_per_rank = made.index.chunks_per_rank(degrees.pp);
  made.chunks = cut_into_chunks(profile, parallel.stages, made.index.chunks(), places.stages);
  return made;
}

}  // namespace allreplay
