// MergeComp's groups against brute force over all partitions.
#include <bit>

#include "tests/catch.hpp"
#include "tests/random_profile.hpp"

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

using namespace allreplay;

namespace {

using Ends = std::vector<std::size_t>;

Compression random_compression(Random& random) {
  const auto below = [&](std::uint64_t most) { return static_cast<double>(random.below(most)); };
  CodecCosts costs{"c", &codecs()[random.below(codecs().size())], "", "estimated", "", {}, {}};
  costs.encode = {below(300) * 1e-6, below(20) * 1e-10, below(2) * below(20) * 1e-11};
  costs.decode = {below(100) * 1e-6, below(20) * 1e-10, 0};
  const CodecOptions options{.density = 0.01,
                             .stream = random.below(2) == 0 ? CodecStream::Compute : CodecStream::Side};
  return {costs, options, static_cast<std::int64_t>(1 + random.below(8)), 4};
}

BlockCost random_cost(Random& random) {
  const CommCost cost(static_cast<double>(random.below(500)) * 1e-6, static_cast<double>(random.below(30)) * 1e-10);
  const Time launch(static_cast<std::int64_t>(random.below(3)) * 20'000'000);  // of a tensor: 0, 20 or 40 us
  if (random.below(5) == 0) return {cost, std::nullopt, launch};
  return {cost, random_compression(random), launch};
}

Ends ends_of(const BucketSchedule& plan) {
  Ends ends;
  std::size_t end = 0;
  for (const Block& block : plan.blocks) ends.push_back(end += block.slices.size());
  return ends;
}

// The cuts of `mask`: bit i set where a group ends after gradient i.
Ends partition(std::size_t count, std::uint64_t mask) {
  Ends ends;
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (mask >> i & 1) ends.push_back(i + 1);
  ends.push_back(count);
  return ends;
}

// F of Eq. 7, as the paper writes it: A + Σ h + Σ g − Σ p, with the overlap p taken from the two streams' spans.
Time equation_7(const PlanRequest& request, const Ends& ends) {
  const auto list = gradients(request.profile);
  const auto& codec = request.cost.compression();
  struct Busy {
    Time start, end;
  };
  std::vector<Busy> computing, communicating;
  Time clock{0}, network{0}, sum = add(request.profile.forward(), request.profile.backward());
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    Bytes bytes = 0;
    for (std::size_t i = start; i < end; ++i) bytes += list[i].bytes;
    const Time work = list[end - 1].ready - (start == 0 ? Time(0) : list[start - 1].ready);
    const Time h = codec ? add(codec->encode(bytes), codec->decode(bytes)) : Time(0);
    const Time g = request.cost(bytes, end - start);
    computing.push_back({clock, clock + work + h});
    clock = computing.back().end;
    network = std::max(network, clock);
    communicating.push_back({network, network + g});
    network += g;
    sum += h + g;
    start = end;
  }
  // Backward work after the last gradient was made overlaps, too; forward never does.
  const Time rest = request.profile.backward() - list.back().ready;
  computing.push_back({clock, clock + rest});
  for (const Busy& a : computing)
    for (const Busy& b : communicating) sum -= std::max(Time(0), std::min(a.end, b.end) - std::max(a.start, b.start));
  return sum;
}

}  // namespace

TEST_CASE("the optimum for y groups equals brute force, and Algorithm 2 follows from it") {
  Random random(71, 0);
  for (int round = 0; round < 400; ++round) {
    Profile profile = random_profile(random, 5);
    const std::size_t count = profile.tensors.size();
    if (count > 11) continue;
    StrategyOptions options;
    options.stop = static_cast<double>(random.below(30)) / 100;
    const PlanRequest request{profile, random_cost(random), options};
    INFO("round " << round << ", " << count << " tensors");

    std::vector<Time> best(count + 1, never);  // by the number of groups
    for (std::uint64_t mask = 0; mask < std::uint64_t{1} << (count - 1); ++mask) {
      Time& least = best[static_cast<std::size_t>(std::popcount(mask)) + 1];
      least = std::min(least, mergecomp_objective(request, partition(count, mask)));
    }
    for (std::size_t groups = 1; groups <= count; ++groups) {
      options.groups = static_cast<std::int64_t>(groups);
      options.grouping = Grouping::Optimal;
      const BucketSchedule optimal = schedule_mergecomp(request);
      REQUIRE(optimal.blocks.size() == groups);
      REQUIRE(mergecomp_objective(request, ends_of(optimal)) == best[groups]);

      options.grouping = Grouping::Even;
      const BucketSchedule even = schedule_mergecomp(request);
      REQUIRE(even.blocks.size() == groups);
      REQUIRE(mergecomp_objective(request, ends_of(even)) >= best[groups]);

      // Algorithm 2, read off the table of optima.
      options.grouping = Grouping::Search;
      Time expected = best[1];
      for (std::size_t y = 2; y <= groups; ++y) {
        if (best[y - 1] < best[y]) break;
        expected = best[y];
        if (to_seconds(best[y - 1] - best[y]) < options.stop * to_seconds(best[y - 1])) break;
      }
      const Time found = mergecomp_objective(request, ends_of(schedule_mergecomp(request)));
      REQUIRE(found == expected);
      REQUIRE(found <= best[1]);  // never worse than the whole model in one
    }
  }
}

TEST_CASE("the objective is Eq. 7's identity") {
  Random random(72, 0);
  for (int round = 0; round < 1000; ++round) {
    const Profile profile = random_profile(random, 8);
    BlockCost cost = random_cost(random);
    if (cost.compression() && cost.compression()->stream() == CodecStream::Side) continue;  // Eq. 7 has one stream
    const StrategyOptions options;
    const PlanRequest request{profile, cost, options};
    const Ends ends = partition(profile.tensors.size(), random.below(std::uint64_t{1} << 62));
    REQUIRE(mergecomp_objective(request, ends) == equation_7(request, ends));
  }
}

TEST_CASE("the even partition gives the first groups one tensor more") {
  Profile profile;
  profile.layers.assign(11, {"l", Time(1), Time(1)});
  for (LayerId layer = 0; layer < 11; ++layer) profile.tensors.push_back({"t", 1, 4, layer});
  StrategyOptions options;
  options.grouping = Grouping::Even;
  options.groups = 4;
  CHECK(ends_of(schedule_mergecomp({profile, CommCost(0, 0), options})) == Ends{3, 6, 9, 11});  // 11 = 3 + 3 + 3 + 2
  options.groups = 100;  // no more groups than tensors
  CHECK(schedule_mergecomp({profile, CommCost(0, 0), options}).blocks.size() == 11);
}
