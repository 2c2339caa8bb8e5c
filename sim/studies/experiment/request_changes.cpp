#include "sim/studies/experiment/request_changes.hpp"

#include <utility>

#include "sim/studies/experiment/wire_format.hpp"

namespace allreplay {

RequestChange option_change(const std::string& name, const std::string& value) {
  return [=](Request& request) { set_option(request, name, value); };
}

RequestChange flag_change(const std::string& name, const std::string& value) {
  return [=](Request& request) { request.changes.push_back({name, value, {"command line", "--" + name}}); };
}

void run_requests(Library& library, std::span<const Request> requests, const Batch& batch,
                  const std::function<FarmJob(const Request&, const Scenario&)>& asked,
                  const std::function<void(std::size_t, Outcome)>& take, std::vector<std::string>& wrong) {
  std::vector<Scenario> scenarios;    // the library is not thread-safe
  std::vector<std::size_t> possible;  // index of each scenario's request
  for (std::size_t i = 0; i < requests.size(); ++i) try {
      scenarios.push_back(library.resolve(requests[i]));
      possible.push_back(i);
    } catch (const InputError& error) {
      wrong[i] = error.what();
    }
  batch.run({.count = possible.size(),
             .here =
                 [&](std::size_t job) {
                   try {
                     take(possible[job], run(std::move(scenarios[job])));
                   } catch (const InputError& error) {
                     wrong[possible[job]] = error.what();
                   }
                 },
             .asked = [&](std::size_t job) { return asked(requests[possible[job]], scenarios[job]); },
             .take =
                 [&](std::size_t job, const std::string& bytes) {
                   Unpacker unpacker(bytes);
                   if (const auto line = take_error(unpacker))
                     wrong[possible[job]] = *line;
                   else
                     take(possible[job], unpack(unpacker, std::move(scenarios[job])));
                 }});
}

}  // namespace allreplay
