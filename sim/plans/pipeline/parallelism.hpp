// Degrees of parallelism, the groups of workers that follow from them, and the other options of pipelines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/plans/collective/group.hpp"
#include "sim/plans/pipeline/chunks.hpp"
#include "sim/plans/pipeline/rows.hpp"
#include "sim/plans/pipeline/schedules.hpp"

namespace allreplay {

/// Overlap: the compute stream continues while data is sent. Blocking: it waits.
enum class P2p : std::uint8_t { Overlap, Blocking };
/// A rank's update waits for all ranks (as a global gradient norm requires), or only for its own.
enum class UpdateBarrier : std::uint8_t { All, Stage };

/// Rows from a file, used instead of a named schedule.
struct GivenRows {
  std::string file;
  ActionRows rows;
};

struct ParallelOptions {
  std::int64_t pp = 1, tp = 1, cp = 1, ep = 1;
  std::string schedule = "1f1b";           ///< a name, or a file
  std::shared_ptr<const GivenRows> given;  ///< the file's content, once it has been read
  std::optional<std::int64_t> chunks;      ///< V, chunks per rank; none: the schedule's default
  StageCut stages;
  P2p p2p = P2p::Overlap;
  std::optional<Bytes> p2p_bytes;  ///< size of every send; none: the profile's output_bytes
  bool p2p_split = false;          ///< each worker of a tensor-parallel group sends an equal share
  std::optional<std::int64_t> microbatch_group;
  bool ep_overlap = false;  ///< a forward and a backward pass run side by side while tokens are exchanged
  std::optional<UpdateBarrier> update_barrier;  ///< none: All, or Stage with barrier layer
  bool align_grad_reduce = true;  ///< megatron: ranks delay a chunk's reductions so that all start together
  bool reduce_grad_waits = true;  ///< fsdp2: the next action waits for reductions

  /// True if several workers together train one copy of the model.
  bool any() const { return pp > 1 || tp > 1 || cp > 1 || ep > 1; }
  bool pipeline() const { return pp > 1; }
};

/// Sizes of the parallel dimensions. Worker w = t + T·(c + C·(d + D·p)), where p is its pipeline rank.
struct Degrees {
  std::int64_t pp = 1, tp = 1, cp = 1, ep = 1, dp = 1;

  std::int64_t workers() const { return pp * rank_workers(); }
  std::int64_t rank_workers() const { return tp * gradient_workers(); }  ///< S: workers of a rank, adjacent
  std::int64_t gradient_workers() const { return cp * dp; }              ///< R: workers that sum their gradients

  // Families of equal groups among the workers of one pipeline rank.
  Group tensor(std::int64_t rank = 0) const { return family(tp, 1, rank); }
  Group context(std::int64_t rank = 0) const { return family(cp, tp, rank); }
  Group expert(std::int64_t rank = 0) const { return family(ep, tp, rank); }
  Group gradients(std::int64_t rank = 0) const { return family(gradient_workers(), tp, rank); }
  /// Workers that hold the same experts: every E-th one among those that sum their gradients.
  Group expert_gradients(std::int64_t rank = 0) const { return family(gradient_workers() / ep, tp * ep, rank); }
  /// Pairs each worker of one pipeline rank with the worker at the same position of another.
  Group pairs(std::int64_t from, std::int64_t to) const {
    return {
        .ranks = 2, .stride = 1, .repeats = rank_workers(), .members = {from * rank_workers(), to * rank_workers()}};
  }

 private:
  Group family(std::int64_t ranks, std::int64_t stride, std::int64_t rank) const {
    return {.ranks = ranks, .stride = stride, .repeats = rank_workers() / ranks, .first = rank * rank_workers()};
  }
};

/// Throws InputError at `place_of_workers` if pp, tp and cp do not divide the workers, and at `place_of_ep` if ep does
/// not divide the workers that sum their gradients.
Degrees degrees_of(const ParallelOptions& parallel, std::int64_t workers, const SourceLocation& place_of_workers,
                   const SourceLocation& place_of_ep);

/// A model cut into chunks, the placement of the chunks on ranks, and the actions of each rank.
struct Pipeline {
  Degrees degrees;
  ActionRows rows;
  RowIndex index;
  std::vector<Chunk> chunks;
  std::optional<std::int64_t> chunks_per_rank;  ///< V; none if ranks hold different numbers

  std::int64_t ranks() const { return degrees.pp; }
  std::vector<std::uint32_t> chunks_of(std::uint32_t rank) const;  ///< ascending
  std::uint32_t chunk_of(LayerId layer) const;
  std::uint32_t rank_of(LayerId layer) const { return index.rank_of[chunk_of(layer)]; }
};

/// Returns the ordered pairs (sender, receiver) of ranks between which activations, gradients or tied tensors travel.
std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const Pipeline& pipeline, const Profile& profile);

/// Returns by chunk the bytes that travel to the next chunk for one micro-batch, and back as the gradient; 0 for the
/// last chunk. Throws InputError if a chunk ends in a layer without output_bytes and p2p_bytes is not given.
std::vector<double> send_bytes(const Pipeline& pipeline, const ParallelOptions& parallel, const Profile& profile);

/// Places that errors about parts of a pipeline refer to.
struct PipelinePlaces {
  SourceLocation schedule, chunks, micro_batches, group, stages;
};

/// `micro_batches` is none if a schedule file determines it; a named schedule then has one. Throws InputError.
Pipeline pipeline_of(const ParallelOptions& parallel, const Degrees& degrees, std::optional<std::int64_t> micro_batches,
                     const Profile& profile, const PipelinePlaces& places);

}  // namespace allreplay
