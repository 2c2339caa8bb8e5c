#include "sim/report/verdict.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/experiment/ranking.hpp"
#include "sim/report/table.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

std::vector<Race> races(const std::vector<Outcome>& outcomes) {
  std::vector<Race> all;
  const auto competes = [&](std::size_t a, std::size_t b) {
    return outcomes[a].scenario.workers == outcomes[b].scenario.workers &&
           outcomes[a].result.fidelity == outcomes[b].result.fidelity;
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto race = std::find_if(all.begin(), all.end(), [&](const Race& one) { return competes(one.front(), i); });
    (race == all.end() ? all.emplace_back() : *race).push_back(i);
  }
  for (Race& race : all)
    std::stable_sort(race.begin(), race.end(),
                     [&](std::size_t a, std::size_t b) { return goes_before(outcomes[a], outcomes[b]); });
  std::stable_sort(all.begin(), all.end(), [&](const Race& a, const Race& b) {
    return outcomes[a.front()].scenario.workers < outcomes[b.front()].scenario.workers;
  });
  return all;
}

namespace {

bool takes_part(const Outcome& one) { return fits(one.scenario, one.result); }

std::string time_of(const Outcome& one) { return format_duration(one.result.metrics.iteration_s); }

// Below it, percentages tell more than "1.02x".
constexpr double plainly = 1.05;
constexpr double hardly_more = 1.0005;  // 0.0 %

// How much longer something takes.
std::string beyond(double ratio) {
  if (ratio < hardly_more) return "hardly more";
  return ratio < plainly ? fmt::format("{} more", percent(ratio - 1)) : fmt::format("{:.2f}x that", ratio);
}

std::string beside_bound(double ratio) {
  if (ratio < hardly_more) return "at";
  return ratio < plainly ? percent(ratio - 1) + " above" : fmt::format("{:.2f}x", ratio);
}

}  // namespace

std::vector<std::size_t> winners(const Race& race, const std::vector<Outcome>& outcomes) {
  if (race.size() < 2 || !takes_part(outcomes[race.front()])) return {};
  const std::string least = time_of(outcomes[race.front()]);
  std::vector<std::size_t> first;
  for (const std::size_t one : race)
    if (takes_part(outcomes[one]) && time_of(outcomes[one]) == least) first.push_back(one);
  return first;
}

std::vector<Standing> in_order(const std::vector<Outcome>& outcomes) {
  std::vector<Standing> all;
  for (const Race& race : races(outcomes)) {
    const std::vector<std::size_t> first = winners(race, outcomes);
    for (const std::size_t one : race) all.push_back({one, std::find(first.begin(), first.end(), one) != first.end()});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Standing& a, const Standing& b) {
    const Outcome &one = outcomes[a.place], &other = outcomes[b.place];
    if (one.scenario.workers != other.scenario.workers) return one.scenario.workers < other.scenario.workers;
    return goes_before(one, other);
  });
  return all;
}

namespace {

class Verdict {
 public:
  explicit Verdict(const std::vector<Outcome>& outcomes)
      : outcomes_(outcomes), names_(labels_of(outcomes)), races_(races(outcomes)) {}

  std::string text() const {
    std::string text;
    for (const Race& race : races_)
      if (race.size() > 1) text += sentence(race) + "\n";
    return text;
  }

 private:
  // What is said of a race goes for all that is in it.
  std::string label(std::size_t one) const { return names_.label(one, {"workers", "fidelity"}); }

  std::string heading(const Race& race) const {
    std::string text = "Fastest";
    if (names_.differ_in("workers")) text += fmt::format(" on {} workers", names_.name(race.front(), "workers"));
    if (names_.differ_in("fidelity")) text += fmt::format(" by {}", names_.name(race.front(), "fidelity"));
    return text;
  }

  std::string sentence(const Race& race) const {
    const std::vector<std::size_t> first = winners(race, outcomes_);
    if (first.empty()) return heading(race) + ": none, as nothing fits into memory.";
    const Metrics& best = outcomes_[first.front()].result.metrics;
    std::string text = fmt::format("{}: {}, {}{}", heading(race), together(first), time_of(outcomes_[first.front()]),
                                   first.size() > 1 ? " each" : "");
    if (best.lower_bound_s)
      text += fmt::format(", {} {} lower bound", beside_bound(best.iteration_s / *best.lower_bound_s),
                          first.size() > 1 ? "the" : "its");
    text += ".";
    const auto next = std::find_if(race.begin(), race.end(), [&](std::size_t one) {
      return takes_part(outcomes_[one]) && std::find(first.begin(), first.end(), one) == first.end();
    });
    if (next != race.end()) text += fmt::format(" Next: {}.", beside(*next, best.iteration_s));
    return text + elsewhere(race, first, next == race.end() ? race.front() : *next);
  }

  std::string beside(std::size_t one, double best) const {
    return fmt::format("{}, {}, {}", label(one), time_of(outcomes_[one]),
                       beyond(outcomes_[one].result.metrics.iteration_s / best));
  }

  // The best of each cluster that has not been named.
  std::string elsewhere(const Race& race, const std::vector<std::size_t>& first, std::size_t next) const {
    std::string text;
    std::vector<std::string_view> named{names_.name(next, "cluster")};
    for (const std::size_t one : first) named.emplace_back(names_.name(one, "cluster"));
    for (const std::size_t one : race) {
      const std::string& cluster = names_.name(one, "cluster");
      if (!takes_part(outcomes_[one]) || std::find(named.begin(), named.end(), cluster) != named.end()) continue;
      named.emplace_back(cluster);
      text += fmt::format("{} {}", text.empty() ? " Elsewhere:" : ";",
                          beside(one, outcomes_[first.front()].result.metrics.iteration_s));
    }
    return text.empty() ? "" : text + ".";
  }

  // "a", "a and b", "a, b, c and 3 more".
  std::string together(const std::vector<std::size_t>& ones) const {
    constexpr std::size_t most = 4;
    std::vector<std::string> labels;
    for (const std::size_t one : ones) labels.push_back(label(one));
    std::string last = labels.back();
    const std::size_t shown = labels.size() > most ? most - 1 : labels.size() - 1;
    if (labels.size() > most) last = fmt::format("{} more", labels.size() - shown);
    labels.resize(shown);
    return labels.empty() ? last : fmt::format("{} and {}", fmt::join(labels, ", "), last);
  }

  const std::vector<Outcome>& outcomes_;
  ScenarioLabels names_;
  std::vector<Race> races_;
};

}  // namespace

std::string verdict(const std::vector<Outcome>& outcomes) { return Verdict(outcomes).text(); }

}  // namespace allreplay
