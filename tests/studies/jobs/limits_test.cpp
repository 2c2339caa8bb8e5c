// Runs that would not end, or keep too much: refused, and with what is to blame.
#include <string>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

#include "sim/studies/jobs/jobs_run.hpp"

using namespace allreplay;

namespace {

// Two jobs of two workers on a star, which never meet: the second's profile, and further keys of the file.
class TwoJobs {
 public:
  explicit TwoJobs(const char* second = "p.csv", const char* keys = "") {
    files_.add("p.csv", "layer,params,forward_us,backward_us\na,250000,400,500\nb,250000,300,700\n");
    files_.add("fast.csv", "layer,params,forward_us,backward_us\na,1,0.001,0.001\n");
    const std::string text = fmt::format(
        R"({{"cluster": {{"name": "c", "workers": 4, "network": {{"alpha": "1 us", "gamma": "0 s/B", "collective": "ring", "fidelity": "fluid",
"topology": {{"kind": "star", "link": {{"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}}}}}, "iterations": 50, {}
"jobs": [{{"profile": "p.csv", "workers": 2}}, {{"profile": "{}", "workers": 2}}]}})",
        keys, second);
    file = read_jobs(files_, Json::parse(text, "jobs.json"));
  }

  void run(JobsRecord* record = nullptr) {
    Library library({files_});
    JobsRunner(library, files_, file).run(choices_of(file), starts_of(file), record);
  }
  std::string refusal() {
    return error_place([&] { run(); });
  }

  JobsFile file;

 private:
  Files files_;
};

}  // namespace

TEST_CASE("a run with too many steps is refused, with the cause") {
  // Identical and undisturbed jobs: a state repeats after a few iterations of some ten steps each.
  TwoJobs alike;
  alike.file.limits.steps = 10'000;
  CHECK(alike.refusal() == "");

  // An iteration takes 1.9 ms of computing: 10,000 steps are over long before 100 s.
  TwoJobs late;
  late.file.jobs[1].start = to_time(100);
  late.file.limits.steps = 10'000;
  CHECK(late.refusal() == "jobs.json: /jobs/1/start");

  // Two million turns in a millisecond, of the second.
  TwoJobs turning("p.csv", R"("background": [{"from": "h0", "to": "h3", "rate": "1 Gbit/s", "on": "1 s", "off": "1 s"},
{"from": "h1", "to": "h2", "rate": "1 Gbit/s", "on": "1 ps", "off": "1 ns"}],)");
  turning.file.limits.steps = 10'000;
  CHECK(turning.refusal() == "jobs.json: /background/1/on");

  // A message takes 2·(1 + 2) us and more, an iteration less than 10 us: hundreds in one of the first.
  TwoJobs unequal("fast.csv");
  unequal.file.limits.steps = 10'000;
  CHECK(unequal.refusal() == "jobs.json: /iterations");
}

TEST_CASE("a run keeps no more than it may") {
  // 32 B for each of hundreds of iterations of the faster one, which may be as many as there are steps.
  TwoJobs jobs("fast.csv");
  jobs.file.limits.bytes = 10e3;
  CHECK(jobs.refusal() == "jobs.json: /iterations");
}

TEST_CASE("jobs and workers that differ have no more passes than a run can hold") {
  // Two layers, forward and backward: four passes of a class, and each job is one class.
  TwoJobs jobs;
  jobs.file.limits.passes = 8;
  CHECK(jobs.refusal() == "");
  jobs.file.limits.passes = 7;
  const std::string right = "more identical workers, or fewer layers, micro-batches or jobs";
  CHECK(jobs.refusal() == "jobs.json: /jobs/1");
  // A second class of the first job, which is slower.
  jobs.file.jobs[0].stragglers.slow = {{1, 2}};
  CHECK(jobs.refusal() == "jobs.json: /jobs/0");
}

TEST_CASE("jobs have no more messages in an iteration than can be simulated") {
  // Two layers whose gradients travel for themselves, in a ring of two workers: 2 · 2 · 1 · 2 messages a job.
  TwoJobs jobs("p.csv", R"("fidelity": "message",)");
  jobs.file.limits.messages = 16;
  CHECK(jobs.refusal() == "");
  jobs.file.limits.messages = 15;
  CHECK(jobs.refusal() == "jobs.json: /jobs/1");
  TwoJobs fluid;
  fluid.file.limits.messages = 1;
  CHECK(fluid.refusal() == "");
}

TEST_CASE("of background that turns often, only the last times are recorded") {
  // 7 iterations of at least 1.9 ms have more than 6000 times of 1 us, and as many pauses.
  TwoJobs jobs(
      "p.csv",
      R"("warm_up": 1, "background": [{"from": "h0", "to": "h3", "rate": "1 Gbit/s", "on": "1 us", "off": "1 us"}],)");
  jobs.file.iterations = 6;
  JobsRecord record;
  jobs.run(&record);
  REQUIRE(record.others.size() == 1);
  CHECK(record.others[0].size() == JobsRecord::times_of_a_flow);
  // They are its last: each takes 1 us, with starts every 2 us, up to the end.
  for (std::size_t i = 1; i < record.others[0].size(); ++i)
    CHECK(record.others[0][i].from - record.others[0][i - 1].to == Time(1'000'000));
  CHECK(record.others[0].back().from <= record.end);
}
