#include "sim/plans/collective/file_schedule.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace allreplay {

namespace {

void require_ranks(const FileSchedule& schedule, std::int64_t workers) {
  if (workers != schedule.ranks)
    throw InputError(schedule.place / "ranks",
                     fmt::format("is for {} ranks, but there are {} workers", schedule.ranks, workers),
                     fmt::format("{} workers", schedule.ranks));
}

// Each round costs α, and β and γ for the rank that sends or receives, and reduces, the most.
Coefficients coefficients_of(const FileSchedule& schedule) {
  Coefficients sum;
  std::vector<std::array<std::int64_t, 3>> chunks;  // by rank: sent, received, reduced
  for (const FileRound& round : schedule.rounds) {
    chunks.assign(schedule.ranks, {});
    std::int64_t most = 0, reduced = 0;
    for (const FileSend& one : round.sends) {
      most = std::max({most, chunks[one.from][0] += one.send.count, chunks[one.send.to][1] += one.send.count});
      if (one.send.reduce) reduced = std::max(reduced, chunks[one.send.to][2] += one.send.count);
    }
    const auto repeat = static_cast<double>(round.repeat), share = repeat / static_cast<double>(schedule.chunks);
    sum.alpha += repeat;
    sum.beta += share * static_cast<double>(most);
    sum.gamma += share * static_cast<double>(reduced);
  }
  return sum;
}

Rounds rounds_of_file(std::shared_ptr<const FileSchedule> schedule) {
  Rounds rounds{.ranks = schedule->ranks,
                .pieces = schedule->chunks,
                .piece_share = 1 / static_cast<double>(schedule->chunks),
                .streams = schedule->streams};
  for (std::size_t number = 0; number < schedule->rounds.size(); ++number)
    rounds.rounds.push_back({schedule->rounds[number].repeat, [=](Rank from, std::int64_t, std::vector<Send>& out) {
                               const std::vector<FileSend>& sends = schedule->rounds[number].sends;
                               for (auto one = std::ranges::lower_bound(sends, from, {}, &FileSend::from);
                                    one != sends.end() && one->from == from; ++one)
                                 out.push_back(one->send);
                             }});
  return rounds;
}

}  // namespace

std::shared_ptr<const CollectiveFile> collective_of(std::string name, FileSchedule given) {
  auto file = std::make_shared<CollectiveFile>();
  const auto schedule = std::make_shared<const FileSchedule>(std::move(given));
  file->name = std::move(name);
  file->algorithm.name = file->name;
  file->algorithm.summary = "rounds from a file";
  file->algorithm.operation = schedule->operation;
  file->algorithm.halves = Halves::None;
  file->algorithm.from_file = true;
  file->algorithm.coefficients = [schedule](double workers, const CollectiveOptions&) {
    require_ranks(*schedule, static_cast<std::int64_t>(workers));
    return coefficients_of(*schedule);
  };
  file->algorithm.rounds = [schedule](std::int64_t workers, const CollectiveOptions&, CollectiveOp,
                                      const SourceLocation&) {
    require_ranks(*schedule, workers);
    return rounds_of_file(schedule);
  };
  return file;
}

}  // namespace allreplay
