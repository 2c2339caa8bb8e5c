#include "sim/studies/experiment/side_by_side.hpp"

#include <mutex>
#include <utility>

#include "sim/base/farm/batch.hpp"
#include "sim/studies/experiment/progress.hpp"

namespace allreplay {

std::vector<Attempt> run_side_by_side(const std::vector<Scenario>& scenarios, const SideBySide& how) {
  std::vector<Attempt> attempts(scenarios.size());
  std::mutex mutex;
  const std::function<void()> advance = [&] {
    if (!how.advance) return;
    const std::lock_guard lock(mutex);
    how.advance();
  };
  const auto attempt = [&](std::size_t i) {
    StepsLeft steps(steps_of(scenarios[i]), advance);
    try {
      Outcome outcome = run_alongside(scenarios[i], [&] { steps.advance(); });
      if (!how.keep_timelines) {
        outcome.result.episodes = {};
        outcome.result.unrolled = {};
      }
      attempts[i].outcome = std::move(outcome);
    } catch (const InputError& error) {
      attempts[i].wrong = error;
    }
    steps.finish();
  };
  run_in_threads(how.jobs, scenarios.size(), attempt);
  return attempts;
}

RequestChange option_change(const std::string& name, const std::string& value) {
  return [=](Request& request) { set_option(request, name, value); };
}

RequestChange flag_change(const std::string& name, const std::string& value) {
  return [=](Request& request) { request.changes.push_back({name, value, {"command line", "--" + name}}); };
}

std::vector<Attempt> attempt_requests(
    Library& library, std::span<const Request> requests,
    const std::function<std::vector<Attempt>(const std::vector<Scenario>&, const std::vector<std::size_t>&)>& run) {
  std::vector<Attempt> attempts(requests.size());
  std::vector<Scenario> scenarios;
  std::vector<std::size_t> possible;  // index of each scenario's request
  for (std::size_t i = 0; i < requests.size(); ++i) try {
      scenarios.push_back(library.resolve(requests[i]));
      possible.push_back(i);
    } catch (const InputError& error) {
      attempts[i].wrong = error;
    }
  std::vector<Attempt> made = run(scenarios, possible);
  for (std::size_t i = 0; i < made.size(); ++i) attempts[possible[i]] = std::move(made[i]);
  return attempts;
}

}  // namespace allreplay
