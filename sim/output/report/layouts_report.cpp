#include "sim/output/report/layouts_report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

namespace {

std::string recompute_text(const ModelLayout& layout) {
  return std::string(name_of(recompute_rules, layout.recompute));
}

std::string schedule_text(const ModelLayout& layout) {
  if (layout.pp == 1) return "-";
  return layout.chunks > 1 ? fmt::format("{} x{}", layout.schedule, layout.chunks) : layout.schedule;
}

bool fits(const LayoutTrial& trial) { return fits(trial.outcome.scenario, trial.outcome.result); }

double seconds_of(const LayoutTrial& trial) { return trial.outcome.result.metrics.iteration_s; }

auto own_of(const LayoutAdvice& advice) {
  return std::ranges::find_if(advice.ranking, [](const LayoutTrial& one) { return one.is_own; });
}

}  // namespace

std::string layout_words(const ModelLayout& layout) {
  std::string text;
  for (const auto& [name, degree] :
       {std::pair("pp", layout.pp), {"tp", layout.tp}, {"cp", layout.cp}, {"ep", layout.ep}})
    if (degree > 1) text += fmt::format("{} {}, ", name, degree);
  if (layout.ep_overlap) text += "token exchange overlaps, ";
  if (layout.pp > 1) text += schedule_text(layout) + ", ";
  text += fmt::format("{} x {}, ", layout.micro_batches, counted(layout.samples, "sample"));
  if (layout.recompute != Recompute::None) text += "recompute " + recompute_text(layout) + ", ";
  return text + layout.strategy;
}

JsonValue layouts_json(const LayoutAdvice& advice, const WinningRule& rule, const Training& training) {
  const bool any_own = own_of(advice) != advice.ranking.end();
  return array_of(advice.ranking, [&](const LayoutTrial& one) {
    Row row = row_of(one.outcome);
    row.push_back({"micro_batch", one.layout.samples});
    row.push_back({"recompute", recompute_text(one.layout)});
    row.push_back({"framework", one.framework.empty() ? Cell() : Cell(one.framework)});
    row.push_back({"settings", one.settings.empty() ? Cell() : Cell(one.settings)});
    row.push_back({"tie", rule.tie});
    append_cost(row, training, one.outcome);
    JsonValue json = json_of(row);
    json["doubted_iteration_s"] = one.outcome.result.doubted_s;
    json["estimate"] = one.estimate;
    json["run"] = one.run;
    if (any_own) json["yours"] = one.is_own;
    return json;
  });
}

namespace {

// Each part as a share of the iteration.
void add_shares(JsonValue& row, const Outcome& outcome) {
  const Metrics& m = outcome.result.metrics;
  const auto& parallel = outcome.result.parallel;
  // Without the transfers an iteration may take longer, since passes then start in another order: none of it is theirs.
  const auto share = [&](const char* name, double seconds) { row[name] = std::max(seconds / m.iteration_s, 0.0); };
  share("bubble_share", parallel ? parallel->bubble_s : 0);
  share("gradients_share", parallel ? parallel->exposed_dp_s : m.exposed_comm_s);
  share("sends_share", parallel ? parallel->exposed_p2p_s : 0);
  share("in_layers_share", parallel ? parallel->layer_comm_s : 0);
  if (m.straggler_s != 0) share("straggler_share", m.straggler_s);
}

std::string name_at(std::size_t place) { return fmt::format("layout {}", place + 1); }

// All layouts have the same samples in an iteration, and none a lower bound.
Racer racer_of(const LayoutTrial& trial, std::size_t place) {
  Racer racer = racer_of(trial.outcome, name_at(place));
  racer.lower_bound_s.reset();
  racer.equal_work_s = racer.iteration_s;
  return racer;
}

JsonValue race_of(const LayoutAdvice& advice, const LayoutSearch& search) {
  std::vector<Racer> racers;
  for (std::size_t i = 0; i < advice.ranking.size(); ++i) racers.push_back(racer_of(advice.ranking[i], i));
  return verdict_of(racers, advice.tied, false, doubt_on(advice.ranking.front().outcome.scenario, search.rule));
}

// The names in the sentences on a verdict.
std::set<std::string> names_in_race(const JsonValue& race) {
  std::set<std::string> names;
  for (const char* key : {"fastest", "fragile", "crowded", "next", "doubt", "successor"})
    if (race.contains(key)) names.insert(race.at(key).at("name"));
  for (const char* key : {"ties", "set_back"})
    for (std::size_t i = 0; race.contains(key) && i < std::min(most_listed, race.at(key).size()); ++i)
      names.insert(race.at(key).at(i));
  return names;
}

// The user's own layout, compared with the first; null without one.
JsonValue own_json(const LayoutAdvice& advice) {
  const auto own = own_of(advice);
  if (own == advice.ranking.end()) return {};
  const LayoutTrial& best = advice.ranking.front();
  JsonValue json{{"rank", own - advice.ranking.begin() + 1},
                 {"layout", layout_words(own->layout)},
                 {"iteration_s", seconds_of(*own)}};
  NamedValues options = without(options_to_show(own->outcome.scenario), options_to_show(best.outcome.scenario));
  constexpr std::string_view in_layout[] = {"pp",     "tp",     "cp",         "ep",           "schedule",
                                            "chunks", "stages", "accumulate", "global_batch", "ep_overlap"};
  std::erase_if(options, [&](const auto& one) {
    return std::find(std::begin(in_layout), std::end(in_layout), one.first) != std::end(in_layout);
  });
  if (!options.empty()) json["options"] = json_of(options);
  if (!fits(*own))
    json["too_large_bytes"] = own->outcome.result.memory.peak;
  else if (seconds_of(*own) > seconds_of(best))
    json["gain"] = seconds_of(*own) / seconds_of(best) - 1;
  return json;
}

// The fastest layout of each framework, with the settings that run it.
JsonValue settings_by_framework(const LayoutAdvice& advice) {
  std::set<std::string> seen;
  auto list = JsonValue::array();
  for (const LayoutTrial& one : advice.ranking)
    if (!one.settings.empty() && fits(one) && seen.insert(one.framework).second)
      list.push_back({{"framework", one.framework},
                      {"iteration_s", one.outcome.result.metrics.iteration_s},
                      {"settings", one.settings}});
  return list;
}

JsonValue notes_of(const JsonValue& rows, const JsonValue& races, const LayoutAdvice& advice, const WinningRule& rule) {
  auto notes = JsonValue::array();
  add_notes_on_marks(notes, rows, rule, races);
  auto uneven = JsonValue::array();
  for (const JsonValue& row : rows)
    if (advice.ranking[row.at("rank").get<std::size_t>() - 1].layout.last_less > 0) uneven.push_back(row.at("rank"));
  if (!uneven.empty()) notes.push_back({{"note", "uneven stages"}, {"rows", uneven}});
  const Outcome& best = advice.ranking.front().outcome;
  append(notes, note_on_short_sums(best.scenario));
  append(notes, note_on_origin(best));
  return notes;
}

}  // namespace

std::vector<std::size_t> layouts_to_show(const LayoutAdvice& advice, const LayoutSearch& search) {
  const std::set<std::string> named = names_in_race(race_of(advice, search));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < advice.ranking.size(); ++i)
    if (i < layouts_shown || advice.ranking[i].is_own || named.contains(name_at(i))) places.push_back(i);
  return places;
}

JsonValue layouts_document(const LayoutAdvice& advice, const LayoutSearch& search, const Training& training) {
  const std::vector<std::size_t> places = layouts_to_show(advice, search);
  const LayoutTrial& best = advice.ranking.front();
  std::set<std::string> strategies, recomputes;
  for (const std::size_t i : places) {
    strategies.insert(advice.ranking[i].layout.strategy);
    recomputes.insert(recompute_text(advice.ranking[i].layout));
  }
  const auto searched = std::ranges::count_if(advice.ranking, [](const auto& one) { return !one.estimate.empty(); });
  JsonValue document{{"model", search.model.name},
                     {"cluster", best.outcome.scenario.cluster.name},
                     {"workers", search.workers},
                     {"global_batch", search.global_batch},
                     {"tokens", search.tokens},
                     {"possible", advice.possible},
                     {"simulated", searched},
                     {"too_slow", advice.too_slow},
                     {"left_over", advice.left_over},
                     {"skipped", advice.skipped},
                     {"rows", JsonValue::array()},
                     {"races", JsonValue::array({race_of(advice, search)})},
                     {"yours", own_json(advice)},
                     {"frameworks", settings_by_framework(advice)},
                     {"estimate", best.estimate.empty() ? JsonValue() : JsonValue(best.estimate)},
                     {"run", best.run}};
  if (strategies.size() == 1) document["strategy"] = *strategies.begin();
  if (recomputes.size() == 1) document["recompute"] = *recomputes.begin();
  const JsonValue all = layouts_json(advice, search.rule, training);
  for (const std::size_t i : places) {
    const LayoutTrial& one = advice.ranking[i];
    JsonValue row = all[i];
    add_shares(row, one.outcome);
    row["rank"] = i + 1;
    row["layout"] = {{"pp", one.layout.pp},
                     {"tp", one.layout.tp},
                     {"cp", one.layout.cp},
                     {"schedule", schedule_text(one.layout)},
                     {"micro_batches", one.layout.micro_batches}};
    if (search.model.experts.count > 0) row["layout"]["ep"] = one.layout.ep;
    if (one.layout.ep_overlap) row["layout"]["exchange"] = "overlaps";
    if (strategies.size() > 1) row["layout"]["strategy"] = one.layout.strategy;
    if (recomputes.size() > 1) row["layout"]["recompute"] = recompute_text(one.layout);
    add_marks(row, one.outcome, search.rule, i > 0 && i < advice.tied);
    document["rows"].push_back(std::move(row));
  }
  document["notes"] = notes_of(document["rows"], document["races"], advice, search.rule);
  return document;
}

const View& layouts_view() {
  static const View view{{
      ViewText{"{model} on {cluster}: {workers} workers, {global_batch} samples of {tokens} tokens an iteration"},
      ViewText{
          "layouts: {possible} possible, {simulated} simulated[, {too_slow:nonzero} too slow in computation alone][, "
          "{left_over:nonzero} not tried (--budget)]"},
      ViewList{"skipped", "skipped {.}"},
      ViewText{"all rows: {strategy}"},
      ViewText{"all rows: recompute {recompute}"},
      ViewTable{"rows",
                {{"", "{rank}"},
                 {"pp", "{layout/pp}"},
                 {"tp", "{layout/tp}"},
                 {"cp", "{layout/cp}"},
                 {"ep", "{layout/ep}[ {layout/exchange}]"},
                 {"schedule", "{layout/schedule}"},
                 {"batch", "{layout/micro_batches} x {micro_batch}"},
                 {"recompute", "{layout/recompute}"},
                 {"strategy", "{layout/strategy}"},
                 quantity("{iteration_s}", "", "~ ties"),
                 quantity("{mfu}"),
                 {"bubble", "{bubble_share}"},
                 {"slow", "{straggler_share}"},
                 {"grads", "{gradients_share}"},
                 {"sends", "{sends_share}"},
                 {"in layers", "{in_layers_share}"},
                 quantity("{memory_bytes}", "", "! !fits|* tight")}},
      ViewText{
          "Parts of the iteration: ranks waiting for each other (bubble), for slow workers (slow), exposed gradients "
          "and sends, collectives inside layers; batch: micro-batches x samples."},
      ViewNotes{},
      &verdict_view(),
      ViewText{"Yours is layout {yours/rank} ({yours/layout}[, {yours/options}]): {yours/iteration_s}[; layout 1 is "
               "{yours/gain:percent} faster][. It needs {yours/too_large_bytes}, which does not fit into memory]."},
      ViewText{"The training in the first row: " + training_text("rows/0/") + "."},
      ViewList{"frameworks", "{framework}, {iteration_s}: {settings}"},
      ViewText{"To repeat the first row:"},
      ViewCode{"allreplay estimate {estimate:words}", true},
      ViewCode{"allreplay run {run:words}", true},
  }};
  return view;
}

}  // namespace allreplay
