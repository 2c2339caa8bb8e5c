// Executes an algorithm of MSCCL symbolically, as its interpreter does, and takes its messages down in rounds. A
// message's round is the least that follows the messages that it depends on: steps of a threadblock follow each other,
// a step follows the one that it names, a receipt its message. Local steps take no time.

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/plans/collective/file_schedule.hpp"
#include "sim/plans/collective/msccl_program.hpp"

namespace allreplay {

namespace {

// A chunk of the collective, and which ranks have contributed to it (a bit each).
struct Content {
  std::int64_t chunk = -1;  // -1: empty
  std::vector<std::uint64_t> ranks;
  std::int64_t message = -1;  // that brought it to this GPU; -1: none
};

struct InFlight {
  std::int64_t message = 0;
  std::vector<Content> contents;
};

class MscclMachine {
 public:
  explicit MscclMachine(const MscclProgram& program) : program_(program), words_((program.ranks + 63) / 64) {
    const std::int64_t most = most_words / program.ranks / words_of_chunk();
    if (program.cells > most)
      throw InputError(program.place,
                       fmt::format("{} chunks on {} GPUs are too much to check", program.cells, program.ranks),
                       fmt::format("at most {}", most));
    for (Rank rank = 0; rank < program.ranks; ++rank) {
      cells_.emplace_back(static_cast<std::size_t>(program.cells));
      if (program.operation == CollectiveOp::Broadcast && rank > 0) continue;
      for (std::int64_t chunk = 0; chunk < program.input_chunks(); ++chunk) {
        Content& cell = cells_[rank][static_cast<std::size_t>(program.input_cell(rank, chunk))];
        cell.chunk = holds_own_chunks() ? rank * program.input_chunks() + chunk : chunk;
        cell.ranks.assign(words_, 0);
        cell.ranks[rank / 64] |= std::uint64_t{1} << rank % 64;
      }
    }
    for (const std::vector<MscclBlock>& blocks : program.blocks) states_.emplace_back(blocks.size());
    find_streams();
  }

  FileSchedule run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank rank = 0; rank < program_.ranks; ++rank)
        for (std::size_t block = 0; block < program_.blocks[rank].size(); ++block)
          while (step(rank, block)) moved = true;
    }
    require_done();
    FileSchedule schedule{.operation = program_.operation,
                          .ranks = program_.ranks,
                          .chunks = program_.chunks,
                          .streams = streams_,
                          .place = program_.place};
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      schedule.rounds.resize(std::max(schedule.rounds.size(), round_of_[i] + 1));
      schedule.rounds[round_of_[i]].sends.push_back(messages_[i]);
    }
    for (FileRound& round : schedule.rounds) std::ranges::stable_sort(round.sends, {}, &FileSend::from);
    return schedule;
  }

 private:
  static constexpr std::int64_t most_words = std::int64_t{1} << 26;  // 512 MiB of cells, and as much in flight

  std::int64_t words_of_chunk() const { return static_cast<std::int64_t>(words_) + 8; }

  struct BlockState {
    std::vector<std::size_t> rounds_before;  // of the steps done: the round in which a send may follow
    std::uint16_t stream = 0;
  };

  // In these, chunks of different ranks are different.
  bool holds_own_chunks() const {
    return program_.operation == CollectiveOp::AllGather || program_.operation == CollectiveOp::AllToAll;
  }

  // Threadblocks that wait for each other are one stream.
  void find_streams() {
    for (Rank rank = 0; rank < program_.ranks; ++rank) {
      const std::vector<MscclBlock>& blocks = program_.blocks[rank];
      std::vector<std::size_t> root(blocks.size());
      std::iota(root.begin(), root.end(), 0);
      const auto root_of = [&](std::size_t block) {
        while (root[block] != block) block = root[block];
        return block;
      };
      for (std::size_t block = 0; block < blocks.size(); ++block)
        for (const MscclStep& one : blocks[block].steps)
          if (one.other_block >= 0) {
            const auto [low, high] = std::minmax({root_of(block), root_of(static_cast<std::size_t>(one.other_block))});
            root[high] = low;
          }
      std::uint16_t streams = 0;
      for (std::size_t block = 0; block < blocks.size(); ++block)
        states_[rank][block].stream = root[block] == block ? streams++ : states_[rank][root_of(block)].stream;
      streams_ = std::max<std::uint32_t>(streams_, streams);
    }
  }

  // Executes the next step of a threadblock. Returns false if there is none, or it has to wait.
  bool step(Rank rank, std::size_t number) {
    const MscclBlock& block = program_.blocks[rank][number];
    BlockState& state = states_[rank][number];
    if (state.rounds_before.size() == block.steps.size()) return false;
    const MscclStep& step = block.steps[state.rounds_before.size()];
    std::size_t round = state.rounds_before.empty() ? 0 : state.rounds_before.back();
    if (step.other_block >= 0) {
      const std::vector<std::size_t>& other = states_[rank][static_cast<std::size_t>(step.other_block)].rounds_before;
      if (std::cmp_less_equal(other.size(), step.other_step)) return false;
      round = std::max(round, other[static_cast<std::size_t>(step.other_step)]);
    }
    std::deque<InFlight>* arrived = nullptr;
    if (step.kind->receives) {
      arrived = &connections_[{block.from, rank, block.channel}];
      if (arrived->empty()) return false;
      round = std::max(round, round_of_[static_cast<std::size_t>(arrived->front().message)] + 1);
    }
    count_work(step);
    std::vector<Content> result = arrived ? receive(step, state, *arrived) : read(rank, step);
    if (step.kind->reduces && !arrived)
      add(result, cells_of(rank, step.target, step.count), step);
    else if (step.kind->reduces)
      add(result, cells_of(rank, step.source, step.count), step);
    if (step.kind->stores) std::copy(result.begin(), result.end(), cells_[rank].begin() + step.target);
    if (step.kind->sends) send(rank, number, step, round++, std::move(result));
    state.rounds_before.push_back(round);
    return true;
  }

  std::vector<Content> cells_of(Rank rank, std::int64_t first, std::int64_t count) const {
    return {cells_[rank].begin() + first, cells_[rank].begin() + first + count};
  }

  std::vector<Content> read(Rank rank, const MscclStep& step) const {
    if (!step.kind->reads_source()) return {};
    std::vector<Content> contents = cells_of(rank, step.source, step.count);
    for (const Content& one : contents)
      if (one.chunk < 0)
        throw InputError(step.place,
                         fmt::format("GPU {} has nothing there to {}", rank, step.kind->sends ? "send" : "copy"),
                         "a chunk that it had, or received before");
    return contents;
  }

  std::vector<Content> receive(const MscclStep& step, const BlockState& state, std::deque<InFlight>& arrived) {
    InFlight first = std::move(arrived.front());
    arrived.pop_front();
    in_flight_ -= std::ssize(first.contents);
    FileSend& message = messages_[static_cast<std::size_t>(first.message)];
    if (message.send.count != step.count)
      throw InputError(step.place,
                       fmt::format("receives {} chunks of {} that were sent", step.count, message.send.count),
                       "the same cnt on both sides");
    message.send.into = state.stream;
    message.send.reduce = step.kind->reduces;
    return std::move(first.contents);
  }

  // Adds others to contents. A message that was stored, and is only now added, is one that is reduced.
  void add(std::vector<Content>& contents, const std::vector<Content>& others, const MscclStep& step) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      Content& one = contents[i];
      const Content& other = others[i];
      if (one.chunk < 0 || one.chunk != other.chunk)
        throw InputError(step.place, "adds different chunks", "the same chunk of different ranks");
      for (std::size_t word = 0; word < words_; ++word) {
        if ((one.ranks[word] & other.ranks[word]) != 0)
          throw InputError(step.place, "adds a rank's part twice", "each once");
        one.ranks[word] |= other.ranks[word];
      }
      const std::int64_t message = one.message >= 0 ? one.message : other.message;
      if (message >= 0) messages_[static_cast<std::size_t>(message)].send.reduce = true;
      one.message = -1;
    }
  }

  void send(Rank rank, std::size_t number, const MscclStep& step, std::size_t round, std::vector<Content> contents) {
    const MscclBlock& block = program_.blocks[rank][number];
    const auto message = static_cast<std::int64_t>(messages_.size());
    const auto to = static_cast<Rank>(block.to);
    messages_.push_back({rank,
                         {.to = to,
                          .first = contents.front().chunk % program_.chunks,
                          .count = step.count,
                          .stream = states_[rank][number].stream},
                         step.place});
    round_of_.push_back(round);
    in_flight_ += step.count;
    if (in_flight_ > most_words / words_of_chunk())
      throw InputError(step.place, fmt::format("{} chunks in flight are too much to check", in_flight_),
                       fmt::format("at most {}, sent and not yet received", most_words / words_of_chunk()));
    for (Content& one : contents) one.message = message;
    connections_[{rank, to, block.channel}].push_back({message, std::move(contents)});
  }

  void count_work(const MscclStep& step) {
    work_ += static_cast<double>(step.count) * static_cast<double>(words_ + 3);
    if (work_ > most_file_work)
      throw InputError(step.place, "the steps up to here are too much to check", "fewer chunks, GPUs or steps");
  }

  void require_done() const {
    for (Rank rank = 0; rank < program_.ranks; ++rank)
      for (std::size_t block = 0; block < program_.blocks[rank].size(); ++block)
        if (const std::size_t done = states_[rank][block].rounds_before.size();
            done < program_.blocks[rank][block].steps.size())
          throw InputError(program_.blocks[rank][block].steps[done].place,
                           fmt::format("step {} of threadblock {} of GPU {} waits forever", done, block, rank),
                           "what it receives is sent, and the step that it waits for can start");
    for (const auto& [connection, waiting] : connections_)
      if (!waiting.empty())
        throw InputError(messages_[static_cast<std::size_t>(waiting.front().message)].place, "is never received",
                         "a step of the other GPU that receives it");
    for (Rank rank = 0; rank < program_.ranks; ++rank)
      for (std::int64_t chunk = 0; chunk < program_.output_chunks(); ++chunk)
        if (!is_result(rank, chunk))
          throw InputError(program_.place,
                           fmt::format("at the end GPU {} does not have all of output chunk {}", rank, chunk),
                           fmt::format("the steps of a complete {}", to_string(program_.operation)));
  }

  // True if an output chunk is what the collective promises, with every contribution once.
  bool is_result(Rank rank, std::int64_t chunk) const {
    const Content& cell = cells_[rank][static_cast<std::size_t>(program_.output_cell(rank, chunk))];
    std::int64_t due = chunk;
    std::optional<Rank> from;  // the only contributor; none: all
    if (program_.operation == CollectiveOp::ReduceScatter) due = rank * program_.output_chunks() + chunk;
    if (program_.operation == CollectiveOp::Broadcast) from = 0;
    if (program_.operation == CollectiveOp::AllGather) from = static_cast<Rank>(chunk / program_.input_chunks());
    if (program_.operation == CollectiveOp::AllToAll) {
      const std::int64_t part = program_.chunks / program_.ranks;  // of each pair of ranks
      from = static_cast<Rank>(chunk / part);
      due = *from * program_.chunks + rank * part + chunk % part;
    }
    if (cell.chunk != due) return false;
    std::int64_t contributors = 0;
    for (const std::uint64_t word : cell.ranks) contributors += std::popcount(word);
    return from ? contributors == 1 && (cell.ranks[*from / 64] >> *from % 64 & 1) != 0 : contributors == program_.ranks;
  }

  const MscclProgram& program_;
  std::size_t words_;
  std::vector<std::vector<Content>> cells_;      // by GPU
  std::vector<std::vector<BlockState>> states_;  // by GPU and threadblock
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::deque<InFlight>> connections_;
  std::vector<FileSend> messages_;
  std::vector<std::size_t> round_of_;  // of each message
  std::uint32_t streams_ = 1;
  double work_ = 0;
  std::int64_t in_flight_ = 0;  // chunks
};

}  // namespace

std::shared_ptr<const CollectiveFile> read_msccl(std::string_view text, const std::string& file) {
  const MscclProgram program = read_msccl_program(text, file);
  return collective_of(program.name, MscclMachine(program).run());
}

}  // namespace allreplay
