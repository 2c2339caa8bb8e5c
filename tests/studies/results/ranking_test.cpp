#include "tests/catch.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/plans/schedule/offer.hpp"
#include "sim/studies/results/outcome.hpp"

using namespace allreplay;

namespace {

using Places = std::vector<std::size_t>;

Contender taking(double seconds, std::size_t changed = 0, Offered offered = Offered::Maintained) {
  return {.iteration_s = seconds, .offered = offered, .changed = changed};
}

}  // namespace

TEST_CASE("beyond the tie the faster wins, whatever it takes to run") {
  // 103 / 100 is 3 % more: more than the tie, and more than 1.02 * 100 = 102.
  const Ranking ranking = rank({taking(103), taking(100, 9, Offered::AsPlan)}, {.tie = 0.02});
  CHECK(ranking.order == Places{1, 0});
  CHECK(ranking.tied == 1);
}

TEST_CASE(
    "of a tie what runs now wins, then a framework's default, then the fewest options changed, then code, a plan") {
  std::vector<Contender> all{taking(100, 0, Offered::AsPlan),
                             taking(100.5, 0, Offered::AsCode),
                             taking(100.2, 3),
                             taking(101, 1),
                             taking(102),
                             taking(101.5, 2, Offered::AsCode)};
  all.back().runs_now = true;
  const Ranking ranking = rank(all, {.tie = 0.02});
  CHECK(ranking.order == Places{5, 4, 3, 2, 1, 0});
  CHECK(ranking.tied == 6);
}

TEST_CASE("maintained strategies win ties against FSDP1, which Composer uses and FSDP2 has replaced") {
  const auto of = [](const char* name, bool zero = false) { return offered(find_strategy(name, {}), zero); };
  for (const char* name : {"ddp", "fsdp2", "horovod", "zero-1", "zero-2", "zero-3", "megatron"})
    CHECK(of(name) == Offered::Maintained);
  CHECK(of("fsdp1") == Offered::Replaced);
  CHECK(of("composer") == Offered::Replaced);
  CHECK(of("ddp", true) == Offered::AsPlan);  // DistributedDataParallel does not shard
  CHECK(of("optimal-merge") == Offered::AsCode);
  CHECK(of("best") == Offered::AsPlan);
  CHECK(rank({taking(100, 0, Offered::Replaced), taking(101, 3)}, {.tie = 0.02}).order == Places{1, 0});
}

TEST_CASE("the tie ends at its share of the least time that fits") {
  // Next to 100, 102 is within 2 % and 102.1 is not. A contender that does not fit sets no mark.
  std::vector<Contender> all{taking(102.1), taking(102), taking(100, 1), taking(50)};
  all.back().fits = false;
  const Ranking ranking = rank(all, {.tie = 0.02});
  CHECK(ranking.order == Places{1, 2, 0, 3});
  CHECK(ranking.tied == 2);
  CHECK(rank(all, {.tie = 0}).order == Places{2, 1, 0, 3});
  CHECK(rank(all, {.tie = 0}).tied == 1);
}

TEST_CASE("with these equal, the faster wins, then fewer collectives, then less memory") {
  std::vector<Contender> all(4, taking(100));
  all[0].memory_bytes = 2;
  all[1].memory_bytes = 1;
  all[2].collectives = 1;
  all[3].iteration_s = 100.5;
  CHECK(rank(all, {.tie = 0.02}).order == Places{1, 0, 2, 3});
}

TEST_CASE("a plan that leaves less than the headroom free wins only if all do") {
  // The second is faster by more than the tie, but leaves 1 % free; the third does not fit at all.
  std::vector<Contender> all{taking(110), taking(100), taking(90)};
  all[0].free = 0.3;
  all[1].free = 0.01;
  all[2].free = -0.1;
  all[2].fits = false;
  CHECK(rank(all, {.tie = 0.02}).order == Places{0, 1, 2});
  CHECK(rank(all, {.tie = 0.02}).tied == 1);
  CHECK(rank(all, {.tie = 0.02, .headroom = 0.01}).order == Places{1, 0, 2});
  all[0].free = 0.09;  // below the tenth, too
  CHECK(rank(all, {.tie = 0.02}).order == Places{1, 0, 2});
  CHECK(leaves_room(std::nullopt, {}));
  CHECK(*free_share(Bytes{200}, 150) == Approx(0.25));
}

TEST_CASE("in a tie, plans that leave less than a fifth of the memory free are ranked by memory before simplicity") {
  // As fast: a framework's default that leaves 15 % free, one with two options changed and 18 %, code with 40 %.
  std::vector<Contender> all{taking(100), taking(100, 2), taking(100, 0, Offered::AsCode)};
  const double free[] = {0.15, 0.18, 0.4};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].free = free[i];
    all[i].memory_bytes = 100 * (1 - free[i]);
  }
  CHECK(rank(all, {.tie = 0.02}).order == Places{2, 1, 0});
  for (Contender& one : all) one.free = 0.2;  // ample: simplicity decides, whatever they need
  CHECK(rank(all, {.tie = 0.02}).order == Places{0, 1, 2});
  all[0].free = 0.15;  // but what runs now has shown that it fits
  all[0].runs_now = true;
  CHECK(rank(all, {.tie = 0.02}).order.front() == 0);
}

TEST_CASE("without a plan that fits there is no winner") {
  std::vector<Contender> all{taking(2), taking(1)};
  for (Contender& one : all) one.fits = false;
  CHECK(rank(all, {.tie = 0.02}).tied == 0);
  CHECK(rank(all, {.tie = 0.02}).order == Places{1, 0});
}

TEST_CASE("options count as changed if they differ from the framework's defaults") {
  Profile profile;
  profile.tensors.push_back({"t", 1000, 4000, 0});
  const auto changed = [&](const char* name, const NamedValues& options) {
    return options_changed(find_strategy(name, {}), options, profile);
  };
  CHECK(changed("ddp", {{"bucket_cap", "25 MiB"}, {"first_bucket", "1 MiB"}, {"memory", "80 GB"}}) == 0);
  CHECK(changed("ddp", {{"bucket_cap", "50 MiB"}, {"first_bucket", "1 MiB"}, {"zero", "1"}}) == 2);
  // Options that are written out at their defaults are not changes: units as the profile's layers, freed everywhere by
  // fsdp1, all but the last by fsdp2; ZeRO 3 overlaps, ZeRO 2 does not.
  CHECK(changed("fsdp1", {{"wrap", "layer"}, {"reshard", "all"}, {"backward_prefetch", "pre"}, {"limit", "2"}}) == 0);
  CHECK(changed("fsdp1", {{"wrap", "100 MB"}, {"reshard", "none"}}) == 2);
  CHECK(changed("fsdp2", {{"wrap", "layer"}, {"reshard", "but-last"}}) == 0);
  CHECK(changed("fsdp2", {{"reshard", "all"}}) == 1);
  CHECK(changed("zero-3", {{"overlap_comm", "true"}}) == 0);
  CHECK(changed("zero-2", {{"overlap_comm", "true"}}) == 1);
  profile.layers.push_back({"l", Time(1), Time(1)});
  profile.layers[0].group = "g";
  CHECK(changed("fsdp2", {{"wrap", "group"}}) == 0);
  CHECK(changed("fsdp2", {{"wrap", "layer"}}) == 1);
  // Megatron-LM comes without either.
  CHECK(changed("megatron", {{"distributed_optimizer", "true"}, {"overlap_grad_reduce", "true"}}) == 2);
  CHECK(changed("megatron", {{"distributed_optimizer", "false"}}) == 0);
}
