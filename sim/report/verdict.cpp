#include "sim/report/verdict.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  std::vector<std::vector<std::size_t>> fields;
  const auto competes = [&](std::size_t a, std::size_t b) {
    return outcomes[a].scenario.workers == outcomes[b].scenario.workers &&
           outcomes[a].result.fidelity == outcomes[b].result.fidelity;
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return competes(one.front(), i); });
    (field == fields.end() ? fields.emplace_back() : *field).push_back(i);
  }
  std::stable_sort(fields.begin(), fields.end(), [&](const auto& a, const auto& b) {
    return outcomes[a.front()].scenario.workers < outcomes[b.front()].scenario.workers;
  });
  std::vector<Ranking> all;
  for (const std::vector<std::size_t>& field : fields) {
    std::vector<Contender> contenders;
    for (const std::size_t one : field) contenders.push_back(contender_of(outcomes[one], rule));
    all.push_back(rank(contenders, rule.tie));
    for (std::size_t& place : all.back().order) place = field[place];
  }
  return all;
}

namespace {

class Verdict {
 public:
  Verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule)
      : outcomes_(outcomes), rule_(rule), names_(labels_of(outcomes)) {}

  std::string text() const {
    std::string text;
    for (const Ranking& race : races(outcomes_, rule_))
      if (race.order.size() > 1) text += sentence(race) + "\n";
    return text;
  }

 private:
  // What is said of a race goes for all that is in it.
  std::string label(std::size_t one) const { return names_.label(one, {"workers", "fidelity"}); }
  double seconds(std::size_t one) const { return outcomes_[one].result.metrics.iteration_s; }
  double pace(std::size_t one) const { return seconds_of_equal_work(outcomes_[one]); }
  bool takes_part(std::size_t one) const { return fits(outcomes_[one].scenario, outcomes_[one].result); }

  std::string heading(const Ranking& race) const {
    const std::size_t any = race.order.front();
    std::string text = "Fastest";
    if (names_.differ_in("workers")) text += fmt::format(" on {} workers", names_.name(any, "workers"));
    if (names_.differ_in("fidelity")) text += fmt::format(" by {}", names_.name(any, "fidelity"));
    return text;
  }

  std::string sentence(const Ranking& race) const {
    if (race.tied == 0) return heading(race) + ": none, as nothing fits into memory.";
    const std::size_t winner = race.order.front();
    std::string text = fmt::format("{}: {}, {}", heading(race), label(winner), format_duration(seconds(winner)));
    if (const auto bound = outcomes_[winner].result.metrics.lower_bound_s)
      text += fmt::format(", {} its lower bound", beside_bound(seconds(winner) / *bound));
    text += "." + ties(race);
    const bool next = race.tied < race.order.size() && takes_part(race.order[race.tied]);
    if (next) text += fmt::format(" Next: {}.", beside(race.order[race.tied], winner));
    return text + elsewhere(race, next ? race.tied + 1 : race.tied);
  }

  // Who is as fast, the fastest of them first.
  std::string ties(const Ranking& race) const {
    if (race.tied < 2) return "";
    std::vector<std::size_t> others(race.order.begin() + 1,
                                    race.order.begin() + static_cast<std::ptrdiff_t>(race.tied));
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) { return pace(a) < pace(b); });
    std::vector<std::string> labels;
    for (const std::size_t one : others) labels.push_back(label(one));
    labels.front() += fmt::format(" ({})", format_duration(seconds(others.front())));
    return fmt::format(" As fast, to within {}, and no simpler to run: {}.", tie_text(rule_.tie), listed(labels, 4));
  }

  static std::string beside_bound(double ratio) {
    const std::string above = percent(ratio - 1);
    if (above == "0.0 %") return "at";
    return ratio < 1.05 ? above + " above" : fmt::format("{:.2f}x", ratio);
  }

  std::string beside(std::size_t one, std::size_t winner) const {
    return fmt::format("{}, {}, {}", label(one), format_duration(seconds(one)), longer_text(pace(one) / pace(winner)));
  }

  // The best of each cluster that has not been named.
  std::string elsewhere(const Ranking& race, std::size_t told) const {
    std::set<std::string> named;
    std::string text;
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const std::size_t one = race.order[i];
      if (!takes_part(one) || !named.insert(names_.name(one, "cluster")).second || i < told) continue;
      text += fmt::format("{} {}", text.empty() ? " Elsewhere:" : ";", beside(one, race.order.front()));
    }
    return text.empty() ? "" : text + ".";
  }

  const std::vector<Outcome>& outcomes_;
  const WinningRule& rule_;
  ScenarioLabels names_;
};

}  // namespace

std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  return Verdict(outcomes, rule).text();
}

}  // namespace allreplay
