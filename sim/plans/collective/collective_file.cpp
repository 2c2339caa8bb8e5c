#include "sim/plans/collective/collective_file.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/plans/collective/file_schedule.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_repeats = 65'536;

FileSend read_send(const Json& json, const FileSchedule& schedule) {
  json.allow_only({"from", "to", "chunk", "count", "reduce", "stream"});
  FileSend one{.place = json.place()};
  one.from = static_cast<Rank>(json.at("from").integer(0, schedule.ranks - 1));
  one.send.to = static_cast<Rank>(json.at("to").integer(0, schedule.ranks - 1));
  if (one.send.to == one.from) json.at("to").fail(fmt::format("rank {} sends to itself", one.from), "another rank");
  one.send.first = json.at("chunk").integer(0, schedule.chunks - 1);
  if (const auto count = json.find("count")) one.send.count = count->integer(1, schedule.chunks - one.send.first);
  if (const auto reduce = json.find("reduce")) one.send.reduce = reduce->boolean();
  if (const auto stream = json.find("stream"))
    one.send.stream = one.send.into = static_cast<std::uint16_t>(stream->integer(0, 1023));
  return one;
}

FileRound read_round(const Json& json, const FileSchedule& schedule) {
  json.allow_only({"repeat", "sends"});
  FileRound round;
  if (const auto repeat = json.find("repeat")) round.repeat = repeat->integer(1, most_repeats);
  for (const Json& item : json.at("sends").items()) round.sends.push_back(read_send(item, schedule));
  if (round.sends.empty()) json.at("sends").fail("is empty", "at least one send");
  std::ranges::stable_sort(round.sends, {}, &FileSend::from);
  return round;
}

std::size_t words_of(Rank ranks) { return (ranks + 63) / 64; }

// The words that the check moves for a chunk: its bits, and its place.
double work_of_chunk(Rank ranks) { return static_cast<double>(words_of(ranks) + 3); }

double work_of(const FileRound& round, Rank ranks) {
  double chunks = 0;
  for (const FileSend& one : round.sends) chunks += static_cast<double>(one.send.count);
  return static_cast<double>(ranks) + static_cast<double>(round.repeat) * chunks * work_of_chunk(ranks);
}

FileSchedule read_schedule(const Json& json) {
  json.allow_only({"name", "operation", "ranks", "chunks", "rounds"});
  FileSchedule schedule{.place = json.place()};
  const Json operation = json.at("operation");
  schedule.operation = choose_by_name(operations_with(&OperationRow::measured), operation.text(), operation.place(),
                                      "unknown operation '{}'")
                           .value;
  schedule.ranks = static_cast<Rank>(json.at("ranks").integer(2, most_file_ranks));
  schedule.chunks = json.at("chunks").integer(1, most_file_chunks);
  if (schedule.chunks > most_file_bits / schedule.ranks / schedule.ranks)
    json.at("chunks").fail(
        fmt::format("{} chunks among {} ranks are too much to check", schedule.chunks, schedule.ranks),
        fmt::format("at most {}", most_file_bits / schedule.ranks / schedule.ranks));
  double work = 0;
  for (const Json& round : json.at("rounds").items()) {
    schedule.rounds.push_back(read_round(round, schedule));
    work += work_of(schedule.rounds.back(), schedule.ranks);
    if (work > most_file_work)
      round.fail(fmt::format("the rounds up to here are too much to check among {} ranks", schedule.ranks),
                 fmt::format("at most {:.0f} chunks sent in total, in {:.0f} rounds",
                             std::floor(most_file_work / work_of_chunk(schedule.ranks)),
                             std::floor(most_file_work / schedule.ranks)));
  }
  if (schedule.rounds.empty()) json.at("rounds").fail("is empty", "at least one round");
  for (const FileRound& round : schedule.rounds)
    for (const FileSend& one : round.sends)
      schedule.streams = std::max<std::uint32_t>(schedule.streams, one.send.stream + std::uint32_t{1});
  return schedule;
}

// Tracks which ranks have contributed to each rank's copy of each chunk (a bit each), and if one did so twice.
class Contents {
 public:
  explicit Contents(const FileSchedule& schedule)
      : schedule_(schedule),
        words_(words_of(schedule.ranks)),
        bits_(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.chunks) * words_, 0),
        doubled_(static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.chunks), false),
        written_(doubled_.size(), Written::No) {
    for (Rank rank = 0; rank < schedule.ranks; ++rank)
      for (std::int64_t chunk = 0; chunk < schedule.chunks; ++chunk)
        if (begins_with(rank, chunk)) bits_[place(rank, chunk) * words_ + rank / 64] |= std::uint64_t{1} << rank % 64;
  }

  void run(const FileRound& round) {
    std::size_t chunks = 0;
    for (const FileSend& one : round.sends) chunks += static_cast<std::size_t>(one.send.count);
    std::vector<std::uint64_t> bits;  // of the chunks that are sent, before the round
    std::vector<bool> doubled;
    bits.reserve(chunks * words_);
    doubled.reserve(chunks);
    for (const FileSend& one : round.sends)
      for (std::int64_t i = 0; i < one.send.count; ++i) {
        const std::int64_t chunk = one.send.first + i;
        const std::size_t source = place(one.from, chunk), target = place(one.send.to, chunk);
        const auto words = std::span(bits_).subspan(source * words_, words_);
        if (std::all_of(words.begin(), words.end(), [](auto word) { return word == 0; }))
          throw InputError(one.place, fmt::format("rank {} does not have chunk {} to send", one.from, chunk),
                           "a chunk that it had, or received in an earlier round");
        bits.insert(bits.end(), words.begin(), words.end());
        doubled.push_back(doubled_[source]);
        const Written now = one.send.reduce ? Written::Reduced : Written::Replaced;
        const Written before = std::exchange(written_[target], now);
        if (before != Written::No && (before == Written::Replaced || now == Written::Replaced))
          throw InputError(one.place,
                           fmt::format("chunk {} of rank {} is written twice in a round", chunk, one.send.to),
                           "once, or by reductions only");
      }
    std::size_t number = 0;
    for (const FileSend& one : round.sends)
      for (std::int64_t i = 0; i < one.send.count; ++i, ++number) {
        const std::size_t target = place(one.send.to, one.send.first + i);
        bool twice = doubled[number] || (one.send.reduce && doubled_[target]);
        for (std::size_t word = 0; word < words_; ++word) {
          std::uint64_t& has = bits_[target * words_ + word];
          const std::uint64_t came = bits[number * words_ + word];
          twice |= one.send.reduce && (has & came) != 0;
          has = (one.send.reduce ? has : 0) | came;
        }
        doubled_[target] = twice;
        written_[target] = Written::No;
      }
  }

  void require_done() const {
    for (Rank rank = 0; rank < schedule_.ranks; ++rank)
      for (std::int64_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if (is_due(rank, chunk) && !is_complete(rank, chunk))
          throw InputError(
              schedule_.place / "rounds",
              fmt::format("at the end rank {} does not have all of chunk {}, or has a part of it twice", rank, chunk),
              fmt::format("the rounds of a complete {}", to_string(schedule_.operation)));
  }

 private:
  enum class Written : std::uint8_t { No, Reduced, Replaced };  // in this round

  std::size_t place(Rank rank, std::int64_t chunk) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(schedule_.chunks) +
           static_cast<std::size_t>(chunk);
  }
  bool begins_with(Rank rank, std::int64_t chunk) const {
    if (schedule_.operation == CollectiveOp::AllGather) return rank == schedule_.owner(chunk);
    return schedule_.operation != CollectiveOp::Broadcast || rank == 0;
  }
  bool is_due(Rank rank, std::int64_t chunk) const {
    return schedule_.operation != CollectiveOp::ReduceScatter || rank == schedule_.owner(chunk);
  }
  // True if the rank's copy contains the contribution of every rank that began with this chunk, exactly once.
  bool is_complete(Rank rank, std::int64_t chunk) const {
    const std::size_t index = place(rank, chunk);
    for (Rank from = 0; from < schedule_.ranks; ++from)
      if (((bits_[index * words_ + from / 64] >> from % 64 & 1) != 0) != begins_with(from, chunk)) return false;
    return !doubled_[index];
  }

  const FileSchedule& schedule_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<bool> doubled_;
  std::vector<Written> written_;
};

}  // namespace

std::shared_ptr<const CollectiveFile> read_collective(const Json& json) {
  FileSchedule schedule = read_schedule(json);
  Contents contents(schedule);
  for (const FileRound& round : schedule.rounds)
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) contents.run(round);
  contents.require_done();
  return collective_of(read_name(json.at("name")), std::move(schedule));
}

bool names_a_file(std::string_view collective) { return collective.ends_with(".json") || collective.ends_with(".xml"); }

}  // namespace allreplay
