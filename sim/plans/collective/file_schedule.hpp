// The rounds of sends that a collective file describes, in JSON or in MSCCL's XML, and the algorithm made from them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/plans/collective/collective_file.hpp"

namespace allreplay {

struct FileSend {
  Rank from = 0;
  Send send;
  SourceLocation place;
};

struct FileRound {
  std::int64_t repeat = 1;
  std::vector<FileSend> sends;  ///< by sender
};

/// The block is `chunks` equal chunks; for an all-to-all, those of one rank.
struct FileSchedule {
  CollectiveOp operation = CollectiveOp::AllReduce;
  Rank ranks = 0;
  std::int64_t chunks = 1;
  std::uint32_t streams = 1;
  std::vector<FileRound> rounds;
  SourceLocation place;

  Rank owner(std::int64_t chunk) const { return static_cast<Rank>(chunk * ranks / chunks); }
};

inline constexpr std::int64_t most_file_ranks = 65'536, most_file_chunks = 1 << 24;
// Limits of symbolic execution: bits of memory (ranks x chunks x ranks), and work, in words moved (2.4 GB if all move
// in one round) plus the ranks of each round.
inline constexpr std::int64_t most_file_bits = std::int64_t{1} << 33;
inline constexpr double most_file_work = 3e8;

/// REQUIRES: the schedule was executed symbolically. Its functions throw InputError for other numbers of workers.
std::shared_ptr<const CollectiveFile> collective_of(std::string name, FileSchedule schedule);

}  // namespace allreplay
