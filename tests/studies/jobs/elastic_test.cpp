// Jobs on fewer of their nodes.
#include <map>

#include <fmt/format.h>

#include "tests/catch.hpp"

#include "sim/studies/jobs/jobs_run.hpp"

using namespace allreplay;

namespace {

// Two layers of a megabyte; 1.9 ms of computing for eight samples, or a multiple of that.
std::string profile_of(int times) {
  return fmt::format(
      R"({{"model": {{"name": "m", "layers": [{{"name": "a", "tensors": [{{"name": "a.w", "shape": [250000]}}]}},
{{"name": "b", "tensors": [{{"name": "b.w", "shape": [250000]}}]}}]}}, "device": "none", "framework": "none", "batch_size": 8,
"precision": "fp32", "origin": "reconstructed", "source": "made up", "unit": "us", "layers": [
{{"name": "a", "forward": {}, "backward": {}}}, {{"name": "b", "forward": {}, "backward": {}}}]}})",
      400 * times, 500 * times, 300 * times, 700 * times);
}

// A number of workers on a star, the first of which is three times as fast as the others; two samples each.
JobResult of_workers(std::int64_t workers, const char* reliability) {
  Files files;
  files.add("fast.json", profile_of(1));
  files.add("slow.json", profile_of(3));
  const std::string slow =
      workers > 1 ? fmt::format(R"(, {{"workers": {}, "profile": "slow.json", "batch": 2}})", workers - 1) : "";
  const std::string text = fmt::format(
      R"({{"cluster": {{"name": "c", "workers": 3, "network": {{"alpha": "1 us", "gamma": "0 s/B", "collective": "ring", "fidelity": "fluid",
"topology": {{"kind": "star", "link": {{"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}}}}}, "iterations": 4,
"jobs": [{{"name": "j", "profile": "fast.json", "workers": {}, "classes": [{{"workers": 1, "batch": 2}}{}]{}}}]}})",
      workers, slow, reliability);
  const JobsFile file = read_jobs(files, Json::parse(text, "jobs.json"));
  Library library({files});
  return JobsRunner(library, files, file).run(choices_of(file), starts_of(file)).jobs.front();
}

}  // namespace

TEST_CASE("on fewer nodes an elastic job runs as its first workers do by themselves") {
  constexpr const char* fails =
      R"(, "reliability": {"mtbf": "10 s", "checkpoint": "100 ms", "restart": "1 s", "repair": "1 min", "spares": 0,
"elastic": true, "horizon": "1 h", "seed": 3})";
  const JobResult all = of_workers(3, fails);
  REQUIRE((all.goodput && all.goodput->elastic && all.together));
  std::map<std::int64_t, double> samples_per_s;
  for (const std::int64_t workers : {1, 2, 3})
    samples_per_s[workers] = 2. * static_cast<double>(workers) / of_workers(workers, "").together->mean;
  CHECK(samples_per_s[2] < samples_per_s[1]);  // two wait for the slow one
  const Reliability reliability =
      read_reliability(Json::parse(std::string(fails).substr(std::string(fails).find('{')), "jobs.json"));
  const Goodput expected =
      goodput_of(reliability,
                 {3, all.together->mean, all.samples_per_s,
                  [&](std::int64_t fewer) { return samples_per_s.at(fewer) / samples_per_s.at(3); }},
                 {"jobs.json", ""});
  CHECK(all.goodput->elastic->failures == expected.elastic->failures);
  CHECK(all.goodput->elastic->useful_fraction == Approx(expected.elastic->useful_fraction).epsilon(1e-9));
}
