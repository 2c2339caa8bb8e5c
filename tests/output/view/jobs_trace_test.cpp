// Traces of several jobs.
#include <map>
#include <set>

#include "tests/catch.hpp"

#include "sim/base/core/json.hpp"
#include "sim/output/view/traces.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

using namespace allreplay;

TEST_CASE("a trace of jobs has every iteration by its number, every event and all of the background") {
  Files files;
  files.add("p.csv", "layer,params,forward_us,backward_us\na,250000,400,500\nb,250000,300,700\n");
  const JobsFile file =
      read_jobs(files, Json::parse(R"({"cluster": {"name": "c", "workers": 4, "network": {"alpha": "1 us",
"gamma": "0 s/B", "collective": "ring", "fidelity": "fluid",
"topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}, "iterations": 2,
"events": [{"at": "1 ms", "for": "1 ms", "link": ["h0", "s0"], "bandwidth": "x0.5"},
           {"at": "2 ms", "node": "h1", "stall": "500 us"}],
"background": [{"from": "h0", "to": "h1", "rate": "1 Gbit/s", "on": "1 ms", "off": "1 ms"},
               {"from": "h2", "to": "h3", "rate": "1 Gbit/s"}, {"from": "h3", "to": "h2", "rate": "1 Gbit/s"}],
"jobs": [{"name": "j", "profile": "p.csv", "workers": 2, "iterations": 4}]})",
                                   "jobs.json"));
  Library library({files});
  JobsRecord record;
  const JobsResult result = JobsRunner(library, files, file).run(choices_of(file), starts_of(file), &record);
  const Json trace = Json::parse(jobs_trace(result, file, record), "trace");
  std::map<std::int64_t, int> forwards;        // by iteration
  std::map<std::int64_t, std::string> others;  // threads of events and background
  std::map<std::string, double> length;        // of what they show, in us
  for (const Json& event : trace.at("traceEvents").items()) {
    const bool is_job = event.at("pid").number() > 0;
    if (event.at("ph").text() == "M") {
      if (!is_job && event.at("name").text() == "thread_name")
        others[event.at("tid").integer(0, 100)] = event.at("args").at("name").text();
    } else if (is_job) {
      const std::int64_t number = event.at("args").at("iteration").integer(-100, 100);
      forwards[number] += event.at("name").text().find("forward") != std::string::npos;
    } else {
      length[event.at("name").text()] += event.at("dur").number();
    }
  }
  CHECK(forwards.size() == 4);
  CHECK((forwards.begin()->first == 1 && forwards.rbegin()->first == 4));
  for (const auto& [number, count] : forwards) CHECK(count == forwards[1]);
  CHECK(others.size() == 5);
  REQUIRE(length.size() == 5);
  for (const auto& [thread, name] : others) CHECK(length.contains(name));
  const double end = static_cast<double>(record.end.count()) * 1e-6;
  CHECK(length["h2 -> h3"] == Approx(end));
  CHECK(length["h3 -> h2"] == Approx(end));
  CHECK(length["h0 -> h1"] == Approx(end / 2).epsilon(0.2));
}
