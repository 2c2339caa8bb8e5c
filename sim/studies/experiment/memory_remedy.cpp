#include "sim/studies/experiment/memory_remedy.hpp"

#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/side_by_side.hpp"

namespace allreplay {

namespace {

class RemedySearch {
  struct Step {
    std::vector<std::string> flags;
    RequestChange change;
  };
  using Steps = std::vector<Step>;

 public:
  RemedySearch(Library& library, const Request& request)
      : library_(library), request_(request), base_(library.resolve(request)) {}

  std::optional<MemoryRemedy> answer() const {
    const Steps usual = usual_steps();
    for (const Step& one : usual)
      if (const auto found = attempt({one})) return found;
    if (usual.size() > 1)
      if (const auto found = attempt(usual)) return found;
    const std::int64_t batch = base_.profile->batch_size.value_or(1);
    std::vector<Steps> starts{{}};
    if (!usual.empty()) starts.push_back(usual);
    for (const Steps& start : starts) {
      if (batch == 1 || !attempt(with(start, batch_of(1)))) continue;
      for (std::int64_t less = batch / 2; less >= 1; less /= 2)
        if (const auto found = attempt(with(start, batch_of(less)))) return found;
    }
    return on_more_workers(batch > 1 ? with(usual, batch_of(1)) : usual);
  }

 private:
  static Steps with(Steps steps, Step more) {
    steps.push_back(std::move(more));
    return steps;
  }

  static Step batch_of(std::int64_t samples) {
    return {{"--batch", std::to_string(samples)}, flag_change("batch", std::to_string(samples))};
  }

  Steps usual_steps() const {
    Steps steps;
    if (!base_.options.parallel.pipeline() && stage_of(base_) < 3)
      steps.push_back({{"--strategy", "fsdp2"}, [](Request& request) {
                         request.strategy = "fsdp2";
                         set_option(request, "zero", "");
                       }});
    if (const std::string& rule = base_.profile->recompute;
        base_.profile->has_activations() && (rule.empty() || (rule != "full" && !request_.model.empty())))
      steps.push_back({{"--recompute", "full"}, flag_change("recompute", "full")});
    return steps;
  }

  // Shards become smaller on more workers.
  std::optional<MemoryRemedy> on_more_workers(const Steps& steps) const {
    if (!request_.cluster_words.empty()) return std::nullopt;  // these would need more nodes, too
    constexpr std::int64_t most_times = 64;
    for (std::int64_t times = 2; times <= most_times && base_.workers * times <= most_workers; times *= 2) {
      const std::int64_t workers = times * base_.workers;
      const Step more{{"--workers", std::to_string(workers)}, [=](Request& request) { request.workers = workers; }};
      if (const auto found = attempt(with(steps, more))) return found;
    }
    return std::nullopt;
  }

  std::optional<MemoryRemedy> attempt(const Steps& steps) const try {
    Request request = request_;
    MemoryRemedy remedy;
    for (const Step& one : steps) {
      one.change(request);
      remedy.flags.insert(remedy.flags.end(), one.flags.begin(), one.flags.end());
    }
    Scenario scenario = library_.resolve(request);
    scenario.parts = false;
    const Outcome outcome = run(std::move(scenario));
    remedy.bytes = outcome.result.memory.peak;
    return fits(outcome.scenario, remedy.bytes) ? std::optional(remedy) : std::nullopt;
  } catch (const InputError&) {  // not possible here
    return std::nullopt;
  }

  Library& library_;
  const Request& request_;
  Scenario base_;
};

}  // namespace

std::optional<MemoryRemedy> memory_remedy(Library& library, const Request& request) {
  if (!request.plan.empty()) return std::nullopt;
  return RemedySearch(library, request).answer();
}

}  // namespace allreplay
