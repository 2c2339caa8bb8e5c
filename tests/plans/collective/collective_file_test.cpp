#include "sim/plans/collective/collective_file.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;

namespace {

std::shared_ptr<const CollectiveFile> file_of(std::string_view text) {
  return read_collective(Json::parse(text, "FILE.json"));
}

// The file that says what a built-in algorithm sends, repetitions written out.
std::string text_of(const Rounds& rounds, std::string_view operation) {
  std::string text = fmt::format(R"({{"name": "copy", "operation": "{}", "ranks": {}, "chunks": {}, "rounds": [)",
                                 operation, rounds.ranks, rounds.pieces);
  std::string between_rounds;
  for (const Round& round : rounds.rounds)
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
      text += between_rounds + R"({"sends": [)";
      between_rounds = ", ";
      std::string between;
      for (Rank from = 0; from < rounds.ranks; ++from) {
        std::vector<Send> sends;
        round.sends(from, turn, sends);
        for (const Send& send : sends) {
          text +=
              between + fmt::format(R"({{"from": {}, "to": {}, "chunk": {}, "count": {}, "reduce": {}, "stream": {}}})",
                                    from, send.to, send.first, send.count, send.reduce, send.stream);
          between = ", ";
        }
      }
      text += "]}";
    }
  return text + "]}";
}

std::string complaint(std::string_view operation, std::int64_t chunks, std::string_view rounds) {
  return error_place([&] {
    file_of(fmt::format(R"({{"name": "x", "operation": "{}", "ranks": 2, "chunks": {}, "rounds": [{}]}})", operation,
                        chunks, rounds));
  });
}

}  // namespace

TEST_CASE("files of ring and halving-doubling equal the built-in algorithms") {
  for (const char* name : {"ring", "halving-doubling"}) {
    const Algorithm& built_in = find_algorithm(name, {});
    const Rounds rounds = rounds_of(built_in, 8, {}, CollectiveOp::AllReduce, {});
    const auto file = file_of(text_of(rounds, "all-reduce"));
    const Rounds copy = rounds_of(file->algorithm, 8, {}, CollectiveOp::AllReduce, {});
    CHECK(copy.length() == rounds.length());
    CHECK(copy.piece_share == rounds.piece_share);
    CHECK(copy.channels == 0);
    // Among a power of two the closed forms count the same rounds, and the same bytes a rank.
    const Coefficients a = built_in.coefficients(8, {}), b = file->algorithm.coefficients(8, {});
    CHECK(b.alpha == Approx(a.alpha));
    CHECK(b.beta == Approx(a.beta));
    CHECK(b.gamma == Approx(a.gamma));
  }
}

TEST_CASE("halves and a broadcast as files") {
  const Algorithm& ring = find_algorithm("ring", {});
  CHECK(file_of(text_of(rounds_of(find_algorithm("pat", {}), 2, {}, CollectiveOp::AllGather, {}), "all-gather"))
            ->algorithm.operation == CollectiveOp::AllGather);
  // A ring leaves rank p with piece p + 1, a file's ranks have what bears their number.
  const std::string scattered = text_of(rounds_of(ring, 4, {}, CollectiveOp::ReduceScatter, {}), "reduce-scatter");
  CHECK(error_place([&] { file_of(scattered); }) == "FILE.json: /rounds");
  CHECK_NOTHROW(file_of(
      text_of(rounds_of(find_algorithm("chain", {}), 4, {.chunks = 3}, CollectiveOp::Broadcast, {}), "broadcast")));
}

TEST_CASE("invalid files of collectives") {
  constexpr std::string_view there = R"({"sends": [{"from": 0, "to": 1, "chunk": 0, "reduce": true}]})";
  constexpr std::string_view back = R"({"sends": [{"from": 1, "to": 0, "chunk": 0}]})";
  CHECK(complaint("all-reduce", 1, fmt::format("{}, {}", there, back)).empty());
  // Rank 0 lacks 1's; with a second reduction rank 1 has 0's twice.
  CHECK(complaint("all-reduce", 1, there) == "FILE.json: /rounds");
  CHECK(complaint("all-reduce", 1, fmt::format("{}, {}, {}", there, there, back)) == "FILE.json: /rounds");
  CHECK(complaint("broadcast", 1, back) == "FILE.json: /rounds/0/sends/0");
  CHECK(complaint("all-gather", 2, R"({"sends": [{"from": 0, "to": 1, "chunk": 1}]})") ==
        "FILE.json: /rounds/0/sends/0");
  CHECK(
      complaint("all-reduce", 1,
                R"({"sends": [{"from": 0, "to": 1, "chunk": 0, "reduce": true}, {"from": 0, "to": 1, "chunk": 0}]})") ==
      "FILE.json: /rounds/0/sends/1");
  CHECK(complaint("all-reduce", 1, R"({"sends": [{"from": 0, "to": 2, "chunk": 0}]})") ==
        "FILE.json: /rounds/0/sends/0/to");
  CHECK(complaint("all-to-all", 1, there) == "FILE.json: /operation");
  // Both simultaneously read the contents from before the round: an exchange, not a chain.
  const auto exchange =
      file_of(R"({"name": "x", "operation": "all-reduce", "ranks": 2, "chunks": 1, "rounds": [{"sends": [
      {"from": 0, "to": 1, "chunk": 0, "reduce": true}, {"from": 1, "to": 0, "chunk": 0, "reduce": true}]}]})");
  CHECK(error_place([&] { rounds_of(exchange->algorithm, 4, {}, CollectiveOp::AllReduce, {}); }) ==
        "FILE.json: /ranks");
  CHECK(error_place([&] { exchange->algorithm.coefficients(4, {}); }) == "FILE.json: /ranks");
}
