// Schedules as rows: what PyTorch writes, laws of all of them, and what is refused.
#include "sim/plans/pipeline/schedules.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/base/core/named.hpp"
#include "sim/plans/pipeline/rows.hpp"

using namespace allreplay;

namespace {

const ScheduleRow& named(std::string_view name) { return find_by_name(schedules(), name, {}, "{}"); }

ActionRows rows(std::string_view name, std::int64_t ranks, std::int64_t batches, std::int64_t chunks = 0) {
  const ScheduleRow& schedule = named(name);
  return make_rows(schedule,
                   {.ranks = ranks, .chunks = chunks > 0 ? chunks : schedule.chunks, .micro_batches = batches});
}

std::string message(std::string_view name, ScheduleRequest request) {
  return error_place([&] { make_rows(named(name), request); });
}

// The chunks a rank must have.
std::size_t chunks_of(std::string_view name) { return static_cast<std::size_t>(named(name).chunks); }

}  // namespace

TEST_CASE("gpipe runs all forward passes, then all backward passes") {
  CHECK(write_rows(rows("gpipe", 2, 2)) == "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
}

// P − 1 − r forward passes ahead: two on rank 0 of 3, one on rank 1, none on rank 2; min(…, M) with fewer
// micro-batches.
TEST_CASE("1f1b: a rank runs ahead by the number of ranks after it") {
  CHECK(write_rows(rows("1f1b", 3, 3)) ==
        "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1B0,1F2,1B1,1B2\n2F0,2B0,2F1,2B1,2F2,2B2\n");
  CHECK(write_rows(rows("1f1b", 3, 1)) == "0F0,0B0\n1F0,1B0\n2F0,2B0\n");
}

// Five micro-batches in groups of 3 and 2. Rank 1 of 2 is (V − 1)·3 + 0 = 3 forward passes ahead; forward each group
// passes chunk 1, then 3, backward 3, then 1.
TEST_CASE("interleaved passes chunks in groups of the size that is asked for") {
  const ScheduleRequest request{.ranks = 2, .chunks = 2, .micro_batches = 5, .microbatch_group = 3};
  const std::string text = write_rows(make_rows(named("interleaved"), request));
  CHECK(text.substr(text.find('\n') + 1) ==
        "1F0,1F1,1F2,3F0,3B0,3F1,3B1,3F2,3B2,1F3,1B0,1F4,1B1,3F3,1B2,3F4,3B3,3B4,1B3,1B4\n");
}

TEST_CASE("looped-bfs runs chunk after chunk, and back") {
  CHECK(write_rows(rows("looped-bfs", 2, 1, 2)) == "0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n");
}

// Forward, both chunks and micro-batches ascend; backward, both descend, as in PyTorch's ScheduleLoopedBFS.
TEST_CASE("looped-bfs takes micro-batches in descending order on the way back") {
  CHECK(write_rows(rows("looped-bfs", 2, 3, 2)) ==
        "0F0,0F1,0F2,2F0,2F1,2F2,2B2,2B1,2B0,0B2,0B1,0B0\n1F0,1F1,1F2,3F0,3F1,3F2,3B2,3B1,3B0,1B2,1B1,1B0\n");
  CHECK(write_rows(rows("looped-bfs", 1, 2, 1)) == "0F0,0F1,0B1,0B0\n");
}

// V = 1 and P = 2: rank 0 is one forward pass ahead, and its W follow from its first I on; rank 1's from its second.
TEST_CASE("zb-h1 fills in the weights' part") {
  CHECK(write_rows(rows("zb-h1", 2, 3)) ==
        "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0I2,0W2\n1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1W2\n");
}

// The rule by hand, for P = 2 and M = 3. Rank 0: 3 · aF; 2 · bF bI bW; aI aW bF bI bW, until bF has caught up; 2 · aI
// aW. Rank 1: aF; bF aF; bF bI bW; aF, then aI aW bF bI bW; aI bI; aI aW; the W that are left, b's first.
TEST_CASE("zbv splits all backward passes") {
  CHECK(write_rows(rows("zbv", 2, 3)) ==
        "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0I0,0W0,3F2,3I2,3W2,0I1,0W1,0I2,0W2\n"
        "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1I1,2I2,1I2,1W1,2W2,1W2\n");
}

// The rule of part 4, by hand, for P = 1: 0 · aF; 1 · aF bF; no bI; M − 2 + 1 = 1 · aF bB (not joined on the last rank)
// bF+aB; then bX aX with X = B, and from the aX of i = 0 on X = I: 1B1 0I1; the oldest W, 0W1.
TEST_CASE("dualpipe-v joins a forward and a backward pass") {
  CHECK(write_rows(rows("dualpipe-v", 1, 2)) == "0F0,1F0,0F1,1B0,(1F1;0B0)OVERLAP_F_B,1B1,0I1,0W1\n");
}

// Each chunk and micro-batch has what it needs, on one rank, and nothing waits in a circle: index_of() says so.
TEST_CASE("every schedule is complete and can start") {
  for (const ScheduleRow& schedule : schedules())
    for (std::int64_t ranks = 2; ranks <= 5; ++ranks)
      for (const std::int64_t batches : {1, 2, 3, 4, 7, 8, 10, 12})
        for (const std::int64_t chunks : {1, 2, 3}) {
          if (chunks != schedule.chunks && (!schedule.any_chunks || chunks < schedule.chunks)) continue;
          const ScheduleRequest request{.ranks = ranks, .chunks = chunks, .micro_batches = batches};
          const std::int64_t rounds = std::max<std::int64_t>(1, batches / ranks);
          const bool grouped = chunks > 1 && (schedule.name == "interleaved" || schedule.name == "zb-h1");
          if (grouped && batches % rounds != 0) continue;
          if (schedule.name == "dualpipe-v" && batches < 2 * ranks) continue;
          CAPTURE(schedule.name, ranks, batches, chunks);
          const ActionRows made = make_rows(schedule, request);
          const RowIndex index = index_of(made, ranks, {});
          CHECK(index.micro_batches == batches);
          CHECK(index.chunks() == ranks * chunks);
          const bool in_v = schedule.name == "zbv" || schedule.name == "dualpipe-v";
          for (std::uint32_t chunk = 0; chunk < index.chunks(); ++chunk)
            CHECK(index.rank_of[chunk] == (in_v && chunk >= ranks ? 2 * ranks - 1 - chunk : chunk % ranks));
          CHECK(parse_rows(write_rows(made), "rows") == made);
        }
}

TEST_CASE("schedules reject impossible numbers") {
  CHECK(chunks_of("zbv") == 2);
  CHECK(message("1f1b", {.ranks = 2, .chunks = 2, .micro_batches = 2}) == "no place");
  CHECK(message("interleaved", {.ranks = 2, .chunks = 1, .micro_batches = 2}) == "no place");
  // 5 div 2 = 2 rounds do not divide 5.
  CHECK(message("interleaved", {.ranks = 2, .chunks = 2, .micro_batches = 5}) == "no place");
  CHECK(message("dualpipe-v", {.ranks = 2, .chunks = 2, .micro_batches = 3}) == "no place");
  // Megatron's rule: at least P, at most M, remainder 0 or at least P.
  for (const std::int64_t group : {1, 9, 7})
    CHECK(message("interleaved", {.ranks = 2, .chunks = 2, .micro_batches = 8, .microbatch_group = group}) ==
          "no place");
}
