#include "sim/studies/experiment/what_if.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/farm/batch.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/sweep_file.hpp"
#include "sim/studies/experiment/tuning.hpp"
#include "sim/studies/experiment/what_if_questions.hpp"
#include "sim/studies/experiment/wire_format.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_combined = 6;  // changes that are combined, in pairs and triples

// The kind of work that another process of a farm does.
enum class FarmWork : std::uint8_t { Run, Advice };

FarmJob job_of(FarmWork what, const Request& request, const Scenario& scenario) {
  Packer packer;
  pack(packer.add(what), request);
  return {packer.bytes(), expected_cost(scenario)};
}

class WhatIfSearch {
  using Combination = std::vector<const WhatIfQuestion*>;      // changes made together
  using OptionalRows = std::vector<std::optional<WhatIfRow>>;  // none: not possible

 public:
  WhatIfSearch(Library& library, const RecommendRequest& how, Farm* farm) : library_(library), how_(how), farm_(farm) {}

  WhatIf answer(Request request) {
    base_ = std::move(request);
    take_base();
    result_.base.change = "as it is";
    const Outcome& base = result_.base.outcome;
    std::vector<WhatIfQuestion> all = what_if_questions(base);
    append_frameworks(all);
    std::vector<Combination> single;
    for (const WhatIfQuestion& one : all) single.push_back({&one});
    OptionalRows rows = run_all(single, true);
    find_limits(all, rows);
    combine(all, rows);
    for (auto& row : rows)
      if (row) result_.rows.push_back(std::move(*row));
    std::stable_sort(result_.rows.begin(), result_.rows.end(), [](const WhatIfRow& a, const WhatIfRow& b) {
      return a.fits != b.fits ? a.fits : a.gain > b.gain;
    });
    result_.bound_s = base.result.metrics.lower_bound_s;
    if (result_.bound_s) result_.bound_gain = base.result.metrics.iteration_s / *result_.bound_s - 1;
    return std::move(result_);
  }

 private:
  void take_base() {
    result_.base = row_from("", base_, run_with_usual_strategy(library_, base_));
    result_.base.gain = 0;
  }

  WhatIfRow row_from(const std::string& name, const Request& request, Outcome outcome) const {
    outcome.result.episodes.clear();
    outcome.result.unrolled = {};
    WhatIfRow row{name, run_flags(request), std::move(outcome)};
    row.fits = fits(row.outcome.scenario, row.outcome.result);
    row.gain = speed(row.outcome) / speed(result_.base.outcome) - 1;
    return row;
  }

  // Returns samples per second, with a batch size of 1 if it is unknown.
  static double speed(const Outcome& outcome) {
    const auto& [scenario, result, wall_s] = outcome;
    if (result.metrics.iteration_s == 0) return 1;
    return static_cast<double>(degrees_of(scenario).dp * result.plan.sharding.accumulate *
                               scenario.profile->batch_size.value_or(1)) /
           result.metrics.iteration_s;
  }

  // Adds the fastest strategy of each maintained framework, tuned.
  void append_frameworks(std::vector<WhatIfQuestion>& all) {
    std::vector<Request> requests;
    std::vector<Scenario> scenarios;
    std::vector<std::string_view> offering;  // the framework of each request
    for (const Framework& framework : frameworks())
      for (const Strategy* one : framework.strategies) {
        if (one->local_steps || !one->offer.maintained()) continue;
        Request request = base_;
        set_strategy(request, *one);
        Scenario scenario = library_.resolve(request);
        if (!is_compatible(scenario)) continue;
        requests.push_back(std::move(request));
        scenarios.push_back(std::move(scenario));
        offering.push_back(framework.name);
      }
    std::vector<Answered> answers = advice_on(requests, scenarios);
    for (std::size_t first = 0, end = 0; first < answers.size(); first = end) {
      while (end < answers.size() && offering[end] == offering[first]) ++end;
      const auto part = [&](auto& list) {
        return std::vector(std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(first)),
                           std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(end)));
      };
      append_fastest(offering[first], part(answers), part(scenarios), all);
    }
  }

  void append_fastest(std::string_view framework, std::vector<Answered> answers, const std::vector<Scenario>& scenarios,
                      std::vector<WhatIfQuestion>& all) try {
    std::vector<RuledOut> ruled_out;
    const std::vector<Advice> ranking = ranked(std::move(answers), scenarios, WinningRule{}, ruled_out);
    for (const RuledOut& one : ruled_out)
      result_.left_out.push_back(fmt::format("{}: {}: {}", framework, one.strategy, one.why));
    const Scenario& tuned = ranking.front().tuned.scenario;
    const auto given = std::find_if(scenarios.begin(), scenarios.end(),
                                    [&](const Scenario& one) { return one.strategy == tuned.strategy; });
    const auto options = changed_options(*given, tuned);
    result_.trials = how_.budget;
    all.push_back({WhatIfKind::Strategy, fmt::format("{}'s best: {}", framework, tuned.strategy->name),
                   [strategy = tuned.strategy, options](Request& request) {
                     set_strategy(request, *strategy);
                     for (const auto& [key, value] : options) set_option(request, key, value);
                   }});
  } catch (const InputError& error) {
    result_.left_out.push_back(fmt::format("{}: {}", framework, error.what()));
  }

  std::vector<Answered> advice_on(const std::vector<Request>& requests, const std::vector<Scenario>& scenarios) {
    std::vector<Answered> answers(requests.size());
    // The trials of one scenario already run in parallel.
    const Batch one_at_a_time{1, farm_, watched(how_.watch, requests.size())};
    one_at_a_time.run(
        {.count = requests.size(),
         .here = [&](std::size_t i) { answers[i] = advise(scenarios[i], how_); },
         .asked = [&](std::size_t i) { return job_of(FarmWork::Advice, requests[i], scenarios[i]); },
         .take = [&](std::size_t i, const std::string& bytes) { answers[i] = unpacked_advice(scenarios[i], bytes); }});
    return answers;
  }

  Request with(const Combination& questions) const {
    Request request = base_;
    for (const WhatIfQuestion* one : questions) one->change(request);
    return request;
  }

  static std::string name_of(const Combination& questions) {
    std::string name;
    for (const WhatIfQuestion* one : questions) name += (name.empty() ? "" : " + ") + one->name;
    return name;
  }

  // Runs the combinations of changes. Impossible ones give no row, and if `says_why` they are added to left_out.
  OptionalRows run_all(const std::vector<Combination>& combinations, bool says_why) {
    std::vector<Request> requests;
    for (const Combination& one : combinations) requests.push_back(with(one));
    const auto run_them = [&](const std::vector<Scenario>& scenarios, const std::vector<std::size_t>& which) {
      std::vector<Attempt> attempts(scenarios.size());
      const Batch batch{how_.jobs, farm_, watched(how_.watch, scenarios.size())};
      batch.run({.count = scenarios.size(),
                 .here = [&](std::size_t i) { attempts[i] = attempt(scenarios[i]); },
                 .asked = [&](std::size_t i) { return job_of(FarmWork::Run, requests[which[i]], scenarios[i]); },
                 .take =
                     [&](std::size_t i, const std::string& bytes) {
                       Unpacker unpacker(bytes);
                       if (const auto wrong = take_error(unpacker))
                         attempts[i].wrong = InputError(*wrong);
                       else
                         attempts[i].outcome = unpack(unpacker, scenarios[i]);
                     }});
      return attempts;
    };
    std::vector<Attempt> attempts = attempt_requests(library_, requests, run_them);
    OptionalRows rows(attempts.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (attempts[i].outcome)
        rows[i] = row_from(name_of(combinations[i]), requests[i], std::move(*attempts[i].outcome));
      else if (says_why)
        result_.left_out.push_back(fmt::format("{}: {}", name_of(combinations[i]), attempts[i].wrong->what()));
    return rows;
  }

  static Attempt attempt(const Scenario& scenario) try { return {run(scenario), {}}; } catch (const InputError& error) {
    return {{}, error};
  }

  // Finds levels of the network that gain nothing because another one binds, by trying the two together.
  void find_limits(const std::vector<WhatIfQuestion>& all, const OptionalRows& rows) {
    constexpr double nothing = 0.002, something = 0.01;
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (rows[i] && all[i].is_level) levels.push_back(i);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // a level that gains nothing, and another level
    std::vector<Combination> combinations;
    for (const std::size_t one : levels)
      for (const std::size_t other : levels)
        if (all[one].kind != all[other].kind && rows[one]->gain < nothing) {
          pairs.emplace_back(one, other);
          combinations.push_back({&all[one], &all[other]});
        }
    const OptionalRows both = run_all(combinations, false);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [one, other] = pairs[i];
      if (both[i] && both[i]->gain > std::max(rows[other]->gain, 0.0) + something)
        result_.held_back.push_back({all[one].name,
                                     limit_of(all[other].kind, result_.base.outcome.scenario.cluster.network),
                                     all[other].name, both[i]->gain});
    }
  }

  // Takes the best change of each kind, and combines the best few of these in pairs and triples.
  void combine(const std::vector<WhatIfQuestion>& all, const OptionalRows& rows) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (rows[i] && rows[i]->gain > 1e-3 && all[i].kind != WhatIfKind::Workers && all[i].kind != WhatIfKind::Best)
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rows[a]->fits != rows[b]->fits ? rows[a]->fits : rows[a]->gain > rows[b]->gain;
    });
    for (const std::size_t i : order)
      if (rows[i]->fits) best_gain_ = std::max(best_gain_, rows[i]->gain);
    std::set<WhatIfKind> taken;
    std::vector<const WhatIfQuestion*> few;
    for (const std::size_t i : order)
      if (few.size() < most_combined && taken.insert(all[i].kind).second) few.push_back(&all[i]);
    std::vector<Combination> twos, threes;
    for (std::size_t a = 0; a < few.size(); ++a)
      for (std::size_t b = a + 1; b < few.size(); ++b) {
        twos.push_back({few[a], few[b]});
        for (std::size_t c = b + 1; c < few.size(); ++c) threes.push_back({few[a], few[b], few[c]});
      }
    append_best_combination(2, twos);
    append_best_combination(3, threes);
  }

  void append_best_combination(int changes, const std::vector<Combination>& combinations) {
    std::optional<WhatIfRow> most;
    for (auto& row : run_all(combinations, false))
      if (row && (!most || (row->fits != most->fits ? row->fits : row->gain > most->gain))) most = std::move(row);
    const bool helps = most && (most->fits || !result_.base.fits) && most->gain > best_gain_ + 1e-3;
    if (most) most->changes = changes;
    if (helps) best_gain_ = most->gain;
    if (helps) result_.together.push_back(std::move(*most));
  }

  Library& library_;
  const RecommendRequest& how_;
  Farm* farm_;
  Request base_;
  WhatIf result_;
  double best_gain_ = 0;  // largest gain of changes that fit: single ones first, then combined ones
};

}  // namespace

Outcome run_with_usual_strategy(Library& library, Request& request) {
  const bool is_free = request.strategy.empty() && request.plan.empty();
  if (is_free) request.strategy = "ddp";
  Outcome outcome = run(library.resolve(request));
  if (!is_free || fits(outcome.scenario, outcome.result)) return outcome;
  Request sharded = request;
  sharded.strategy = "fsdp2";
  Scenario scenario = library.resolve(sharded);
  if (!is_compatible(scenario)) return outcome;
  request = std::move(sharded);
  return run(std::move(scenario));
}

WhatIf what_if(Library& library, Request request, const RecommendRequest& how, Farm* farm) {
  return WhatIfSearch(library, how, farm).answer(std::move(request));
}

Farm::Answer answer_questions(const Inputs& inputs, const RecommendRequest& how) {
  return [wanted = how, library = std::make_shared<Library>(inputs)](const std::string& work) {
    Unpacker unpacker(work);
    const auto asked = unpacker.take<FarmWork>();
    const Scenario scenario = library->resolve(unpack_request(unpacker));
    if (asked == FarmWork::Advice) return packed_advice(scenario, wanted);
    return pack_or_error([&](Packer& packer) { pack(packer, run(scenario)); });
  };
}

}  // namespace allreplay
