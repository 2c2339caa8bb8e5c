// The effects of events and background traffic on a job, derived by hand.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/studies/jobs/jobs_run.hpp"

using namespace allreplay;

namespace {

const std::string four_iterations = R"("iterations": 4)";

// One job on a star of four hosts, of 1.9 ms of computing in an iteration of a worker; `keys` are the file's.
JobsResult run(std::int64_t workers, const std::string& keys, const std::string& of_job = four_iterations) {
  Files files;
  files.add("p.csv", "layer,params,forward_us,backward_us\na,250000,400,500\nb,250000,300,700\n");
  const std::string text = fmt::format(
      R"({{"cluster": {{"name": "c", "workers": 4, "network": {{"alpha": "1 us", "gamma": "0 s/B", "collective": "ring", "fidelity": "fluid",
"topology": {{"kind": "star", "link": {{"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}}}}}, "iterations": 2, {}
"jobs": [{{"name": "j", "profile": "p.csv", "workers": {}, {}}}]}})",
      keys, workers, of_job);
  const JobsFile file = read_jobs(files, Json::parse(text, "jobs.json"));
  Library library({files});
  return JobsRunner(library, files, file).run(choices_of(file), starts_of(file));
}

Time end_of(const std::string& events, const std::string& of_job = four_iterations) {
  return *run(1, events.empty() ? "" : R"("events": [)" + events + "],", of_job).jobs.front().end;
}

constexpr Time us{1'000'000};

}  // namespace

TEST_CASE("a slowdown takes so much longer for the work that falls into it") {
  const Time undisturbed = end_of("");
  // 1.9 ms at half the speed do 0.95 ms of work; at a quarter, by two simultaneous events, 0.475.
  const std::string half = R"({"at": "1 ms", "for": "1.9 ms", "job": "j", "worker": 0, "slowdown": 2})";
  CHECK(end_of(half) - undisturbed == 950 * us);
  CHECK(end_of(half + ", " + half) - undisturbed == 1425 * us);
  CHECK(end_of(half + R"(, {"at": "4 ms", "node": "h0", "stall": "100 us"})") - undisturbed == 1050 * us);
  CHECK(end_of(R"({"at": "1 ms", "node": "h1", "stall": "1 ms"})") == undisturbed);  // somebody else's
}

TEST_CASE("jitter draws from the first iteration on, from its seed") {
  const std::string one = R"("iterations": 1)",
                    jitter = R"("jitter": {"distribution": "lognormal", "sigma": 0.05, "seed": 1}, )";
  CHECK(end_of("", jitter + four_iterations) == end_of("", jitter + four_iterations));
  CHECK(end_of("", jitter + four_iterations) != end_of(""));
  CHECK(end_of("", jitter + one) != end_of("", one));
}

TEST_CASE("events must not disconnect the hosts of a job or of background traffic") {
  const auto refusal = [](std::int64_t workers, const std::string& background) {
    return error_place([&] {
      run(workers,
          R"("events": [{"at": "1 ms", "link": ["h3", "s0"], "down": true}], "background": [)" + background + "],");
    });
  };
  const std::string near = R"({"from": "h0", "to": "h1", "rate": "1 Gbit/s"})",
                    far = R"({"from": "h0", "to": "h3", "rate": "1 Gbit/s"})";
  CHECK(refusal(2, near).empty());
  CHECK(refusal(2, near + ", " + far) == "jobs.json: /events/0");
  CHECK(refusal(4, near) == "jobs.json: /events/0");
}
