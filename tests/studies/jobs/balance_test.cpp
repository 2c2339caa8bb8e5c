// Samples of each worker, where workers differ.
#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/studies/jobs/seated_job.hpp"

using namespace allreplay;

namespace {

// One layer that takes so long forward, and as long backward, for eight samples.
Shared<Profile> profile_of(std::int64_t milliseconds) {
  Profile profile;
  profile.name = "p";
  profile.batch_size = 8;
  profile.layers.push_back({"l", Time(milliseconds * 1'000'000'000), Time(milliseconds * 1'000'000'000)});
  return profile;
}

}  // namespace

TEST_CASE("even shares are rounded down, and the rest goes to the first") {
  JobEntry job{.name = "j", .workers = 3, .balanced = true, .batch = 11};
  const std::vector<Shared<Profile>> one{profile_of(1)};
  CHECK(batches_of(job, one[0], one) == std::vector<std::int64_t>{4, 4, 3});
  job.batch.reset();  // as many as the profile has, of each
  CHECK(batches_of(job, one[0], one) == std::vector<std::int64_t>{8, 8, 8});
  job.batch = 2;
  CHECK(error_place([&] { batches_of(job, one[0], one); }) == "no place");
  job.balanced = false;
  CHECK(batches_of(job, one[0], one).empty());
}

TEST_CASE("shares by speed are in proportion to samples per second") {
  // 8 samples in 2 ms, and 8 in 6 ms: three times as fast. Of 10 samples a fifth part each, three for the first.
  JobEntry job{.name = "j", .workers = 3, .kinds = {{.workers = 1}, {.workers = 2}}, .balance = Balance::Speed};
  job.balanced = true;
  job.batch = 10;
  const std::vector<Shared<Profile>> two{profile_of(1), profile_of(3)};
  CHECK(batches_of(job, two[0], two) == std::vector<std::int64_t>{6, 2, 2});
}

TEST_CASE("given batches of some kinds are kept, the others have their profile's") {
  const JobEntry job{.name = "j", .workers = 3, .kinds = {{.workers = 2, .batch = 3}, {.workers = 1}}};
  const std::vector<Shared<Profile>> two{profile_of(1), profile_of(1)};
  CHECK(batches_of(job, two[0], two) == std::vector<std::int64_t>{3, 3, 8});
}
