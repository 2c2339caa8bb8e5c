#include "sim/report/verdict.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

OutcomeGroup group_of_all(const std::vector<Outcome>& outcomes) {
  OutcomeGroup all{"", std::vector<std::size_t>(outcomes.size())};
  std::iota(all.places.begin(), all.places.end(), std::size_t{0});
  return all;
}

}  // namespace

std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  return races(outcomes, rule, group_of_all(outcomes));
}

std::vector<OutcomeGroup> groups_of(const std::vector<Outcome>& outcomes, const WinningRule& rule, bool by_offer) {
  if (!by_offer) return {group_of_all(outcomes)};
  OutcomeGroup maintained{"Maintained frameworks", {}}, others{"Research, plans and searches", {}};
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    (contender_of(outcomes[i], rule).offered <= Offered::Replaced ? maintained : others).places.push_back(i);
  if (maintained.places.empty() || others.places.empty()) return {group_of_all(outcomes)};
  return {std::move(maintained), std::move(others)};
}

std::vector<Ranking> races(const std::vector<Outcome>& outcomes, const WinningRule& rule, const OutcomeGroup& group) {
  std::vector<std::vector<std::size_t>> fields;
  const auto competes = [&](std::size_t a, std::size_t b) {
    return outcomes[a].scenario.workers == outcomes[b].scenario.workers &&
           outcomes[a].result.fidelity == outcomes[b].result.fidelity;
  };
  for (const std::size_t i : group.places) {
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
    all.push_back(rank(contenders, rule));
    for (std::size_t& place : all.back().order) place = field[place];
  }
  return all;
}

bool differ_in_samples(const Ranking& race, const std::vector<Outcome>& outcomes) {
  return std::any_of(race.order.begin(), race.order.end(), [&](std::size_t one) {
    return batches_of_iteration(outcomes[one]) != batches_of_iteration(outcomes[race.order.front()]);
  });
}

namespace {

class Verdict {
 public:
  Verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule)
      : outcomes_(outcomes), rule_(rule), names_(labels_of(outcomes)) {}

  std::string text(const std::vector<OutcomeGroup>& groups) const {
    std::string text;
    for (const OutcomeGroup& group : groups)
      for (const Ranking& race : races(outcomes_, rule_, group)) {
        if (groups.size() > 1)
          text += group.title + ": " + sentence(race) + "\n";
        else if (race.order.size() > 1)
          text += sentence(race) + "\n";
      }
    return text;
  }

 private:
  // What is said of a race goes for all that is in it.
  std::string label(std::size_t one) const { return names_.label(one, {"workers", "fidelity"}); }
  double pace(std::size_t one) const { return seconds_of_equal_work(outcomes_[one]); }
  bool takes_part(std::size_t one) const { return fits(outcomes_[one].scenario, outcomes_[one].result); }

  // What ranks it.
  std::string pace_text(std::size_t one, bool per_sample) const {
    const Metrics& m = outcomes_[one].result.metrics;
    if (!per_sample) return format_duration(m.iteration_s);
    return rate_text(m.samples_per_s, static_cast<double>(batches_of_iteration(outcomes_[one])) / m.iteration_s);
  }

  // "On 16 workers, run …", where there are several races.
  std::string headed(const Ranking& race, std::string text) const {
    const std::size_t any = race.order.front();
    std::string which;
    if (names_.differ_in("workers")) which += fmt::format("on {} workers, ", names_.name(any, "workers"));
    if (names_.differ_in("fidelity")) which += fmt::format("by {}, ", names_.name(any, "fidelity"));
    if (which.empty()) return text;
    which[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(which[0])));
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return which + text;
  }

  std::string sentence(const Ranking& race) const {
    if (race.tied == 0) return headed(race, "Nothing fits into memory.");
    const bool per_sample = differ_in_samples(race, outcomes_);
    std::vector<Racer> tied, others;
    for (const std::size_t one : race.order)
      (tied.size() < race.tied ? tied : others)
          .push_back({label(one), pace_text(one, per_sample), pace(one),
                      free_share(outcomes_[one].scenario.options.memory.limit, outcomes_[one].result.memory.peak)});
    const Metrics& m = outcomes_[race.order.front()].result.metrics;
    if (m.lower_bound_s)
      tied.front().pace += fmt::format(" ({} its lower bound)", beside_bound(m.iteration_s / *m.lower_bound_s));
    std::string text = headed(race, winner_text(std::move(tied), others, rule_.tie));
    const bool next = race.tied < race.order.size() && takes_part(race.order[race.tied]);
    if (next) text += fmt::format(" Next: {}.", beside(race.order[race.tied], race.order.front(), per_sample));
    return text + elsewhere(race, next ? race.tied + 1 : race.tied, per_sample);
  }

  static std::string beside_bound(double ratio) {
    const std::string above = percent(ratio - 1);
    if (above == "0.0 %") return "at";
    return ratio < 1.05 ? above + " above" : fmt::format("{:.2f}x", ratio);
  }

  std::string beside(std::size_t one, std::size_t winner, bool per_sample) const {
    return fmt::format("{}, {}, {}", label(one), pace_text(one, per_sample),
                       longer_text(pace(one) / pace(winner), per_sample));
  }

  // The best of each cluster that has not been named.
  std::string elsewhere(const Ranking& race, std::size_t first, bool per_sample) const {
    std::set<std::string> named;
    std::string text;
    for (std::size_t i = 0; i < race.order.size(); ++i) {
      const std::size_t one = race.order[i];
      if (!takes_part(one) || !named.insert(names_.name(one, "cluster")).second || i < first) continue;
      text += fmt::format("{} {}", text.empty() ? " Elsewhere:" : ";", beside(one, race.order.front(), per_sample));
    }
    return text.empty() ? "" : text + ".";
  }

  const std::vector<Outcome>& outcomes_;
  const WinningRule& rule_;
  ScenarioLabels names_;
};

}  // namespace

std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule) {
  return verdict(outcomes, rule, {group_of_all(outcomes)});
}

std::string verdict(const std::vector<Outcome>& outcomes, const WinningRule& rule,
                    const std::vector<OutcomeGroup>& groups) {
  return Verdict(outcomes, rule).text(groups);
}

}  // namespace allreplay
