// Degrees of parallelism, what else users say of pipelines, and which workers belong together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/group.hpp"
#include "sim/pipeline/chunks.hpp"
#include "sim/pipeline/rows.hpp"
#include "sim/pipeline/schedules.hpp"

namespace allreplay {

/// Whether sends hold the compute stream.
enum class P2p : std::uint8_t { Overlap, Blocking };
/// What a rank's update waits for: all ranks (a norm over all), or this one.
enum class UpdateBarrier : std::uint8_t { All, Stage };

/// Rows in the place of a schedule by name.
struct GivenRows {
  std::string file;
  ActionRows rows;
};

struct ParallelOptions {
  std::int64_t pp = 1, tp = 1, cp = 1, ep = 1;
  std::string schedule = "1f1b";           ///< a name, or a file
  std::shared_ptr<const GivenRows> given;  ///< what the file says, once it has been read
  std::optional<std::int64_t> chunks;      ///< V; none: the schedule's
  StageCut stages;
  P2p p2p = P2p::Overlap;
  std::optional<Bytes> p2p_bytes;  ///< of every send, instead of what the profile says
  bool p2p_split = false;          ///< each worker of a tensor group sends its share
  std::optional<std::int64_t> microbatch_group;
  std::optional<UpdateBarrier> update_barrier;  ///< all; with barrier layer: stage
  bool align_grad_reduce = true;                ///< megatron
  bool reduce_grad_waits = true;                ///< fsdp2

  /// Whether a worker is one of several that hold parts of one model.
  bool any() const { return pp > 1 || tp > 1 || cp > 1 || ep > 1; }
  bool pipeline() const { return pp > 1; }
};

/// Workers by degree: worker w = t + T·(c + C·(d + D·p)).
struct Degrees {
  std::int64_t pp = 1, tp = 1, cp = 1, ep = 1, dp = 1;

  std::int64_t workers() const { return pp * of_rank(); }
  std::int64_t of_rank() const { return tp * of_gradients(); }  ///< S: neighbours in number
  std::int64_t of_gradients() const { return cp * dp; }         ///< R

  // Families of groups among the workers of one rank of the pipeline.
  Group tensor(std::int64_t rank = 0) const { return family(tp, 1, rank); }
  Group context(std::int64_t rank = 0) const { return family(cp, tp, rank); }
  Group expert(std::int64_t rank = 0) const { return family(ep, tp, rank); }
  Group gradients(std::int64_t rank = 0) const { return family(of_gradients(), tp, rank); }
  /// From each worker of a rank to its like on another.
  Group pairs(std::int64_t from, std::int64_t to) const {
    return {.ranks = 2, .stride = 1, .repeats = of_rank(), .members = {from * of_rank(), to * of_rank()}};
  }

 private:
  Group family(std::int64_t ranks, std::int64_t stride, std::int64_t rank) const {
    return {.ranks = ranks, .stride = stride, .repeats = of_rank() / ranks, .first = rank * of_rank()};
  }
};

/// Throws InputError, at `place_of_workers` or at the degree's, where they do not divide the workers.
Degrees degrees_of(const ParallelOptions& parallel, std::int64_t workers, const SourceLocation& place_of_workers,
                   const SourceLocation& place_of_ep);

/// A model in chunks on the ranks of a pipeline, and what each rank does with them.
struct Pipeline {
  Degrees degrees;
  ActionRows rows;
  RowIndex index;
  std::vector<Chunk> chunks;
  std::optional<std::int64_t> chunks_per_rank;  ///< V

  std::int64_t ranks() const { return degrees.pp; }
  std::vector<std::uint32_t> chunks_of(std::uint32_t rank) const;  ///< ascending
};

/// Those ranks between which anything goes, in this direction: activations, gradients, or what is tied.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const Pipeline& pipeline, const Profile& profile);

/// The rank that holds the layer.
std::uint32_t rank_of_layer(const Pipeline& pipeline, LayerId layer);

/// By chunk: the bytes that it hands to the next for one micro-batch, and takes back; 0 for the last. Throws InputError
/// for a cut of which nobody says them.
std::vector<double> send_bytes(const Pipeline& pipeline, const ParallelOptions& parallel, const Profile& profile);

/// Where complaints about its parts point.
struct PipelinePlaces {
  SourceLocation schedule, chunks, micro_batches, group, stages;
};

/// `micro_batches`: none where nobody said any, and a file may. Throws InputError.
Pipeline pipeline_of(const ParallelOptions& parallel, const Degrees& degrees, std::optional<std::int64_t> micro_batches,
                     const Profile& profile, const PipelinePlaces& places);

}  // namespace allreplay
