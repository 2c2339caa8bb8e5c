#include "sim/output/report/target_report.hpp"

#include <string>
#include <utility>

#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/studies/results/ranking.hpp"

namespace allreplay {

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
  auto rows = JsonValue::array();
  for (const TargetStep& one : steps) rows.push_back(json_of(one, search));
  return rows;
}

// Marks the answer and the rows that leave too little memory free.
void add_marks(JsonValue& rows, const std::vector<TargetStep>& steps, const std::optional<std::size_t>& best) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::optional<double> free;
    if (const auto& outcome = steps[i].outcome)
      free = free_share(outcome->scenario.options.memory.limit, outcome->result.memory.peak);
    add_standing(rows[i], {.fits = steps[i].fits, .wins = best == i, .is_roomy = leaves_room(free, WinningRule())});
  }
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
    json["cheapest"] = answer.cheapest ? JsonValue(answer.fabrics[*answer.cheapest].value) : JsonValue();
  }
  return json;
}

JsonValue target_document(const TargetAnswer& answer, const TargetSearch& search) {
  JsonValue document = target_json(answer, search);
  document["title"] = title(answer.base.scenario);
  document["strategy"] = strategy_text(answer.base.scenario);
  auto notes = JsonValue::array();
  if (search.axis) {
    add_marks(document["steps"], answer.steps, answer.answer);
    add_notes_on_marks(notes, document["steps"], WinningRule());
    document["first"] = answer.steps.front().value;
    document["last"] = answer.steps.back().value;
    const char* kind = !answer.answer ? "none" : answer.all_meet ? "all" : answer.is_least ? "least" : "most";
    document["kind"] = kind;
    if (answer.answer) document["chosen"] = document["steps"].items()[*answer.answer];
  }
  if (!answer.fabrics.empty()) {
    add_marks(document["fabrics"], answer.fabrics, answer.cheapest);
    add_notes_on_marks(notes, document["fabrics"], WinningRule());
    document["none_of_the_fabrics"] = !answer.cheapest;
    if (answer.cheapest) document["chosen_fabric"] = document["fabrics"].items()[*answer.cheapest];
  }
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
      ViewText{},
      table_on("steps", "{vary}"),
      ViewText{},
      table_on("fabrics", "fabric"),
      ViewText{},
      ViewNotes{},
      ViewText{},
      ViewText{"{target} with {vary} {answer} or more. To replay it: `allreplay run {chosen/flags:words}`.",
               "kind=least"},
      ViewText{"{target} with {vary} {answer} or less. To replay it: `allreplay run {chosen/flags:words}`.",
               "kind=most"},
      ViewText{"{target} from {vary} {first} to {last}.", "kind=all"},
      ViewText{"Nothing that was tried from {vary} {first} to {last} reaches {target}.", "kind=none"},
      ViewText{"It does not fit into memory.", "chosen !chosen/fits"},
      ViewText{"Not monotone: these values were scanned, and others may differ.", "vary !is_monotone"},
      ViewText{
          "Cheapest fabric within the tie: {cheapest}, ${chosen_fabric/cost_usd:grouped}, {chosen_fabric/iteration_s} "
          "an iteration."},
      ViewText{"None of the fabrics reaches {target}.", "none_of_the_fabrics"},
  }};
  return view;
}

}  // namespace allreplay
