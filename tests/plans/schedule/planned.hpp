// Plans of strategies for small models, in words.
#pragma once

#include <map>

#include "tests/catch.hpp"
#include "tests/plan_words.hpp"

#include "sim/plans/schedule/strategy.hpp"

namespace planned {

using namespace allreplay;

// Makes a layer for each number of elements, with a tensor of that size; with none if it is 0.
inline Profile layers_of(const std::vector<std::int64_t>& elements) {
  Profile profile;
  profile.name = "layers";
  for (LayerId layer = 0; layer < elements.size(); ++layer) {
    profile.layers.push_back({"l" + std::to_string(layer + 1), Time(1), Time(2)});
    if (elements[layer] > 0)
      profile.tensors.push_back({"t" + std::to_string(layer + 1), elements[layer], 4 * elements[layer], layer});
  }
  return profile;
}

// A strategy's plan with its words; the options are set by `change`.
struct Planned {
  template <class Change>
  Planned(std::string_view strategy, Profile of, const Change& change, std::int64_t workers = 4)
      : profile(std::move(of)), plan(made(strategy, change, workers)), words(plan, profile) {}
  Planned(std::string_view strategy, Profile of) : Planned(strategy, std::move(of), [](StrategyOptions&) {}) {}

  // Checks what each task waits for.
  void waits(const std::map<std::string, std::string>& expected) const {
    for (const auto& [name, before] : expected) {
      INFO(name);
      REQUIRE(words.has(name));
      CHECK(words.before(name) == before);
    }
  }

  template <class Change>
  Plan made(std::string_view strategy, const Change& change, std::int64_t workers) const {
    StrategyOptions options;
    change(options);
    return make_plan(find_strategy(strategy, {}), {profile, CommCost(0, 0), options, true, workers});
  }

  Profile profile;
  Plan plan;
  PlanWords words;
};

}  // namespace planned
