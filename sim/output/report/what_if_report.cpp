#include "sim/output/report/what_if_report.hpp"

#include <algorithm>
#include <cmath>
#include <string>
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
  return array_of(rows, [](const WhatIfRow& row) { return json_of(row); });
}

void add_details(JsonValue& object, const WhatIfRow& row, const std::vector<Flag>& common) {
  object["own_flags"] = words_of(minus(pairs_of(row.flags), common));
  object["negligible"] = row.fits && std::abs(row.gain) < no_gain;
  add_marks(object, row.outcome, WinningRule());
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
  append(document["notes"], notes_on(outcomes, {}));
  return document;
}

const View& what_if_view() {
  static const View view{{
      ViewText{"{title}"},
      ViewText{
          "As it is, an iteration takes {base/iteration_s}. Each row is `allreplay run {common_flags:words}` and its "
          "flags."},
      ViewTable{.rows = "base rows together",
                .columns = {{"change", "{change}"},
                            quantity("{gain}"),
                            quantity("{memory_bytes}", "", "! !fits|* tight"),
                            {"flags", "{own_flags:words}", "", "", true}},
                .when = "!negligible"},
      ViewNotes{},
      ViewList{"rows", "{change}: less than 0.05 % either way", "negligible"},
      ViewList{"held_back", "{change} gains nothing: {limit} binds ({gain} with {with})"},
      ViewList{"left_out", "left out: {.}"},
      ViewText{"Perfect overlap of the same traffic would gain {bound/gain:percent} ({bound/iteration_s})."},
      ViewText{"Communication is hidden except for {exposed_comm_share}: further gains can only come from computation.",
               "hidden"},
      ViewText{"A framework's best is the best of {trials:nonzero} trials for each of its strategies (--budget); "
               "`recommend` tries more."},
  }};
  return view;
}

namespace {

JsonValue json_of(const TargetStep& step, const TargetSearch& search) {
  JsonValue row{{"value", step.value}, {"flags", step.flags}, {"meets", step.meets}, {"fits", step.fits}};
  if (!step.outcome) {
    row["impossible"] = step.wrong;
    return row;
  }
  row.update(json_of(row_of(*step.outcome)));
  row["fits"] = step.fits;  // null in the row if there is no limit
  row[std::string(search.target.quantity->key)] = step.measured;
  if (step.usd) row["cost_usd"] = *step.usd;
  if (step.parts)
    row["parts"] = {{"gpus", step.parts->gpus},
                    {"hosts", step.parts->hosts},
                    {"switches", step.parts->switches},
                    {"ports", step.parts->ports}};
  return row;
}

JsonValue step_rows(const std::vector<TargetStep>& steps, const TargetSearch& search) {
  return array_of(steps, [&](const TargetStep& one) { return json_of(one, search); });
}

void mark_steps(JsonValue& rows, const std::vector<TargetStep>& steps, const TargetSearch& search, JsonValue& notes) {
  if (search.target.quantity->name == "efficiency")
    for (std::size_t i = 0; i < steps.size(); ++i) rows[i]["targeted_efficiency"] = steps[i].measured;
  for (std::size_t i = 0; i < steps.size(); ++i)
    steps[i].outcome ? add_marks(rows[i], *steps[i].outcome, WinningRule())
                     : add_marks(rows[i], steps[i].fits, false, {}, WinningRule());
  add_notes_on_marks(notes, rows, WinningRule());
}

// Adds what the best step that misses a target for exposed communication leaves exposed, and the part that no network
// changes.
void add_rest(const std::vector<TargetStep>& steps, JsonValue& document) {
  const TargetStep* best = nullptr;
  for (const TargetStep& one : steps)
    if (one.measured && (!best || *one.measured < *best->measured)) best = &one;
  if (!best) return;
  const Metrics& m = best->outcome->result.metrics;
  document["rest_share"] = *best->measured;
  if (m.copy_s > 0) document["copies_share"] = m.copy_s / m.iteration_s;
}

}  // namespace

JsonValue target_json(const TargetAnswer& answer, const TargetSearch& search) {
  JsonValue json{{"target", search.target.text}, {"base", json_of(row_of(answer.base))}};
  json["base"][std::string(search.target.quantity->key)] = search.target.quantity->of(answer.base);
  if (search.axis) {
    json["vary"] = search.axis->name;
    json["answer"] = answer.answer ? JsonValue(answer.steps[*answer.answer].value) : JsonValue();
    json["is_least"] = answer.is_least;
    json["is_monotone"] = answer.is_monotone;
    json["all_meet"] = answer.all_meet;
    json["steps"] = step_rows(answer.steps, search);
  }
  if (search.prices) {
    json["fabrics"] = step_rows(answer.fabrics, search);
    json["cheapest"] = answer.cheapest ? JsonValue(answer.fabrics[answer.cheapest->rather].value) : JsonValue();
    json["least_cost"] = answer.cheapest ? JsonValue(answer.fabrics[answer.cheapest->least].value) : JsonValue();
  }
  return json;
}

JsonValue target_document(const TargetAnswer& answer, const TargetSearch& search) {
  JsonValue document = target_json(answer, search);
  document["title"] = title(answer.base.scenario);
  document["strategy"] = strategy_text(answer.base.scenario);
  auto notes = JsonValue::array();
  if (search.axis) {
    mark_steps(document["steps"], answer.steps, search, notes);
    document["first"] = answer.steps.front().value;
    document["last"] = answer.steps.back().value;
    const char* kind = !answer.answer ? "none" : answer.all_meet ? "all" : answer.is_least ? "least" : "most";
    document["kind"] = kind;
    if (!answer.answer && search.target.quantity->key == "exposed_comm_share") add_rest(answer.steps, document);
    if (answer.answer) document["chosen"] = document["steps"][*answer.answer];
  }
  if (!answer.fabrics.empty()) {
    mark_steps(document["fabrics"], answer.fabrics, search, notes);
    document["none_of_the_fabrics"] = !answer.cheapest;
    if (const auto& chosen = answer.cheapest) {
      document["least_fabric"] = document["fabrics"][chosen->least];
      if (chosen->rather != chosen->least) {
        document["rather_fabric"] = document["fabrics"][chosen->rather];
        document["more_share"] = *answer.fabrics[chosen->rather].usd / *answer.fabrics[chosen->least].usd - 1;
      }
    }
  }
  append(notes, note_on_origin(answer.base));
  document["notes"] = std::move(notes);
  return document;
}

namespace {

ViewTable table_on(const std::string& rows, const std::string& first) {
  return {.rows = rows,
          .columns = {{first, "{value}"},
                      {"meets it", "{meets}"},
                      {"iteration", "{iteration_s}"},
                      {"exposed", "{exposed_comm_share}"},
                      {"MFU", "{mfu}"},
                      {"efficiency over one worker", "{targeted_efficiency}"},
                      {"tokens/s", "{tokens_per_s}"},
                      {"samples/s", "{samples_per_s}"},
                      {"memory", "{memory_bytes}", "", "! !fits|* tight"},
                      {"GPUs", "{parts/gpus}"},
                      {"hosts", "{parts/hosts}"},
                      {"switches", "{parts/switches}"},
                      {"ports", "{parts/ports}"},
                      {"cost ($)", "{cost_usd:grouped}"},
                      {"impossible", "{impossible}"}}};
}

}  // namespace

const View& target_view() {
  static const View view{{
      ViewText{"{title}, {strategy}: {target}"},
      table_on("steps", "{vary}"),
      table_on("fabrics", "fabric"),
      ViewNotes{},
      ViewText{"{target} with {vary} {answer} or more. To replay it: `allreplay run {chosen/flags:words}`.",
               "kind=least"},
      ViewText{"{target} with {vary} {answer} or less. To replay it: `allreplay run {chosen/flags:words}`.",
               "kind=most"},
      ViewText{"All that were tried, {vary} {first} to {last}, meet {target}.", "kind=all"},
      ViewText{"Nothing that was tried from {vary} {first} to {last} reaches {target}[: at best {rest_share} stays "
               "exposed][, "
               "of which {copies_share} are copies on the GPU, which depend on no network].",
               "kind=none"},
      ViewText{"It does not fit into memory.", "chosen !chosen/fits"},
      ViewText{"Not monotone: these values were scanned, and others may differ.", "vary !is_monotone"},
      ViewText{
          "Cheapest fabric: {least_cost}, ${least_fabric/cost_usd:grouped}, {least_fabric/iteration_s} an iteration[. "
          "For {more_share} more, {rather_fabric/value} takes {rather_fabric/iteration_s}]."},
      ViewText{"None of the fabrics reaches {target}.", "none_of_the_fabrics"},
  }};
  return view;
}

}  // namespace allreplay
