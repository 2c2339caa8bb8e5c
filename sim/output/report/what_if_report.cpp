#include "sim/output/report/what_if_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

namespace {

constexpr double little = 0.02;     // share of an iteration that no change of schedule or network is worth
constexpr double no_gain = 0.0005;  // printed as 0.0 %

// A flag with its value.
using Flag = std::pair<std::string, std::string>;

std::vector<Flag> pairs_of(const std::vector<std::string>& words) {
  std::vector<Flag> flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
    flags.emplace_back(words[i], has_value ? words[i + 1] : "");
    if (has_value) ++i;
  }
  return flags;
}

JsonValue words_of(const std::vector<Flag>& flags) {
  auto words = JsonValue::array();
  for (const auto& [flag, value] : flags) {
    words.push_back(flag);
    if (!value.empty()) words.push_back(value);
  }
  return words;
}

std::vector<Flag> minus(std::vector<Flag> flags, const std::vector<Flag>& others) {
  for (const Flag& one : others)
    if (const auto found = std::find(flags.begin(), flags.end(), one); found != flags.end()) flags.erase(found);
  return flags;
}

// True if the flag may stand before the others: they have it, too, or another value of its option, which then counts.
bool may_precede(const Flag& flag, const std::vector<Flag>& others) {
  const auto name_of = [](const Flag& one) { return one.second.substr(0, one.second.find('=')); };
  return std::any_of(others.begin(), others.end(), [&](const Flag& other) {
    return other == flag || (flag.first == "--option" && other.first == flag.first && name_of(other) == name_of(flag));
  });
}

// The flags that every row has, at least with another value.
std::vector<Flag> common_flags(const WhatIf& answer) {
  std::vector<Flag> common = pairs_of(answer.base.flags);
  for (const auto* rows : {&answer.rows, &answer.together})
    for (const WhatIfRow& row : *rows)
      std::erase_if(common, [&](const Flag& flag) { return !may_precede(flag, pairs_of(row.flags)); });
  return common;
}

JsonValue json_of(const WhatIfRow& row) {
  JsonValue object{{"change", row.change}, {"gain", row.gain}, {"fits", row.fits}, {"flags", row.flags}};
  object.update(json_of(row_of(row.outcome)));
  object["fits"] = row.fits;  // null in the row if there is no limit
  return object;
}

JsonValue json_of(const std::vector<WhatIfRow>& rows) {
  auto array = JsonValue::array();
  for (const WhatIfRow& row : rows) array.push_back(json_of(row));
  return array;
}

void add_details(JsonValue& object, const WhatIfRow& row, const std::vector<Flag>& common) {
  object["own_flags"] = words_of(minus(pairs_of(row.flags), common));
  object["negligible"] = row.fits && std::abs(row.gain) < no_gain;
  const auto free = free_share(row.outcome.scenario.options.memory.limit, row.outcome.result.memory.peak);
  add_standing(object, {.fits = row.fits, .is_roomy = leaves_room(free, WinningRule())});
}

}  // namespace

JsonValue what_if_json(const WhatIf& answer) {
  JsonValue object{{"base", json_of(answer.base)},         {"rows", json_of(answer.rows)},
                   {"together", json_of(answer.together)}, {"bound", nullptr},
                   {"held_back", JsonValue::array()},      {"left_out", answer.left_out}};
  for (const HeldBack& one : answer.held_back)
    object["held_back"].push_back(
        {{"change", one.change}, {"limit", one.limit}, {"with", one.other}, {"gain", one.gain}});
  if (answer.bound_s) object["bound"] = {{"iteration_s", *answer.bound_s}, {"gain", answer.bound_gain}};
  return object;
}

JsonValue what_if_document(const WhatIf& answer) {
  const std::vector<Flag> common = common_flags(answer);
  const auto& [scenario, result, wall_s] = answer.base.outcome;
  JsonValue document = what_if_json(answer);
  document["title"] = title(scenario);
  document["common_flags"] = words_of(common);
  const double exposed = result.metrics.exposed_comm_s / result.metrics.iteration_s;
  document["exposed_comm_share"] = exposed;
  document["hidden"] = exposed < little;
  document["trials"] = answer.trials;
  add_details(document["base"], answer.base, common);
  std::vector<Outcome> outcomes{answer.base.outcome};
  for (const auto& [name, rows] : {std::pair("rows", &answer.rows), {"together", &answer.together}})
    for (std::size_t i = 0; i < rows->size(); ++i) {
      add_details(document[name][i], (*rows)[i], common);
      outcomes.push_back((*rows)[i].outcome);
    }
  document["notes"] = JsonValue::array();
  for (const char* rows : {"rows", "together"}) add_notes_on_marks(document["notes"], document[rows], WinningRule());
  append(document["notes"], notes_on(outcomes, std::vector<ScalingReference>(outcomes.size(), answer.reference)));
  return document;
}

const View& what_if_view() {
  static const View view{{
      ViewText{"{title}"},
      ViewText{
          "As it is, an iteration takes {base/iteration_s}. Each row is `allreplay run {common_flags:words}` and its "
          "flags."},
      ViewText{},
      ViewTable{.rows = "base rows together",
                .columns = {{"change", "{change}"},
                            quantity("{gain}"),
                            quantity("{memory_bytes}", "", "! !fits|* tight"),
                            {"flags", "{own_flags:words}", "", "", true}},
                .when = "!negligible"},
      ViewText{},
      ViewNotes{},
      ViewList{"rows", "{change}: less than 0.05 % either way", "negligible"},
      ViewList{"held_back", "{change} gains nothing: {limit} binds ({gain} with {with})"},
      ViewList{"left_out", "left out: {.}"},
      ViewText{},
      ViewText{"Perfect overlap of the same traffic would gain {bound/gain:percent} ({bound/iteration_s})."},
      ViewText{"Communication is hidden except for {exposed_comm_share}: further gains can only come from computation.",
               "hidden"},
      ViewText{"A framework's best is the best of {trials:nonzero} trials for each of its strategies (--budget); "
               "`recommend` tries more."},
  }};
  return view;
}

}  // namespace allreplay
