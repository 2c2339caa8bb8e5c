#include "sim/output/report/recommend_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/inputs/cluster/describe.hpp"
#include "sim/output/report/notes.hpp"
#include "sim/output/report/report.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }
const Strategy& strategy(const Advice& advice) { return *advice.tuned.scenario.strategy; }
bool fits(const Advice& advice) { return fits(advice.tuned.scenario, advice.tuned.result); }
double efficiency(const Advice& advice) { return advice.reference.relative(advice.tuned); }

std::vector<Outcome> outcomes_of(const std::vector<Advice>& ranking) {
  std::vector<Outcome> outcomes;
  for (const Advice& one : ranking) outcomes.push_back(one.tuned);
  return outcomes;
}

NamedNumbers exposed_parts(const Reasons& why) {
  NamedNumbers parts;
  for (std::size_t i = 1; i < bound_count; ++i)
    parts.emplace_back(name_of(bounds, static_cast<Bound>(i)), why.seconds[i]);
  return parts;
}

// True if the GPU waits longer for its host than for anything else.
bool waits_for_host(const Advice& advice) {
  constexpr double hardly = 0.02;  // share of an iteration
  const Metrics& m = metrics(advice);
  return m.host_s > std::max(advice.why.exposed(), hardly * m.iteration_s);
}

JsonValue row_json(const Advice& advice, const WinningRule& rule, const Training& training) {
  Row row = row_of(advice.tuned);
  const std::string_view framework = strategy(advice).offer.framework;
  const auto& bound = metrics(advice).lower_bound_s;
  row.push_back({"gap", bound ? Cell(metrics(advice).iteration_s / *bound - 1) : Cell()});
  row.push_back({"bound_s", bound ? Cell(*bound) : Cell()});
  row.push_back({"bound_by", waits_for_host(advice) ? "host" : std::string(name_of(bounds, advice.why.most()))});
  row.push_back({"exposed_by", exposed_parts(advice.why)});
  row.push_back({"untuned_iteration_s", advice.given_s});
  const auto& doubted = advice.tuned.result.doubted_s;
  row.push_back({"doubted_iteration_s", doubted ? Cell(*doubted) : Cell()});
  row.push_back({"framework", framework.empty() ? Cell() : Cell(std::string(framework))});
  row.push_back({"settings", advice.settings});
  if (!advice.schedule.empty()) row.push_back({"schedule", advice.schedule});
  row.push_back({"reference_workers", advice.reference.workers});
  row.push_back({"relative_efficiency", efficiency(advice)});
  row.push_back({"tie", rule.tie});
  append_cost(row, training, advice.tuned);
  JsonValue json = json_of(row);
  json["run"] = advice.run;
  return json;
}

// A verdict with the settings that run the winner.
JsonValue advice_json(const std::vector<const Advice*>& ranked, std::size_t tied, const WinningRule& rule) {
  std::vector<Racer> racers;
  for (const Advice* one : ranked) racers.push_back(racer_of(one->tuned, name_of(*one)));
  const Advice& best = *ranked.front();
  JsonValue json = verdict_of(racers, tied, false, doubt_on(best.tuned.scenario, rule));
  json["saves_share"] = std::max(0.0, 1 - metrics(best).iteration_s / best.given_s);
  const bool is_code = best.settings.find('\n') != std::string::npos;
  json[is_code ? "code" : "settings"] = best.settings;
  if (!best.run.empty()) json["run"] = best.run;
  return json;
}

std::vector<const Advice*> all_of(const std::vector<Advice>& ranking) {
  std::vector<const Advice*> all;
  for (const Advice& one : ranking) all.push_back(&one);
  return all;
}

// The strategies of maintained frameworks that fit, ranked among themselves.
struct OfferedRanking {
  std::vector<const Advice*> order;
  std::size_t tied = 0;
};

OfferedRanking offered_ranking(const std::vector<Advice>& ranking, const WinningRule& rule) {
  std::vector<const Advice*> some;
  std::vector<Contender> contenders;
  for (const Advice& advice : ranking) {
    const bool shards = advice.tuned.scenario.options.strategy.sharding.shards_optimizer();
    if (!fits(advice) || offered(strategy(advice), shards) > Offered::Replaced) continue;
    some.push_back(&advice);
    contenders.push_back(contender_of(advice.tuned, rule));
  }
  const Ranking order = rank(contenders, rule);
  OfferedRanking result{.order = {}, .tied = order.tied};
  for (const std::size_t place : order.order) result.order.push_back(some[place]);
  return result;
}

// Adds the limits that no schedule changes: computation, the time to send all gradients, and the efficiency that these
// allow without sharding (with it the traffic depends on the schedule).
void add_limits(const std::vector<Advice>& ranking, JsonValue& document) {
  const Advice& best = ranking.front();
  const auto& [scenario, result, wall_s] = best.tuned;
  const Metrics& m = result.metrics;
  const auto bound = least_bounds(outcomes_of(ranking)).any;
  if (!m.lower_bound_s || !bound || result.plan.sharding.shards_optimizer()) return;
  document["compute_s"] = slowest_factor(scenario) * (m.iteration_s - m.straggler_s - m.exposed_comm_s);
  document["all_gradients_s"] =
      to_seconds(job_of(scenario).fabric->price(planned_call(scenario))(scenario.profile->bytes()));
  document["highest_efficiency"] = efficiency(best) * m.iteration_s / *bound;
}

void add_compression(const std::vector<Advice>& ranking, JsonValue& document) {
  if (!ranking.front().tuned.scenario.codec) return;
  const auto fastest = std::min_element(ranking.begin(), ranking.end(),
                                        [](const Advice& a, const Advice& b) { return a.given_s < b.given_s; });
  const auto [name, least] = fastest_uncompressed(ranking);
  document["compressed"] = {{"codec", fastest->tuned.scenario.codec->name},
                            {"name", name_of(*fastest)},
                            {"iteration_s", fastest->given_s},
                            {"uncompressed", name},
                            {"uncompressed_iteration_s", least}};
}

JsonValue heading_of(const Advice& advice) {
  const auto& [scenario, result, wall_s] = advice.tuned;
  return {{"title", title(scenario)},
          {"forward_s", result.metrics.forward_s},
          {"backward_s", result.metrics.backward_s},
          {"gradient_bytes", scenario.profile->bytes()},
          {"tensors", scenario.profile->tensors.size()}};
}

}  // namespace

JsonValue recommend_json(const std::vector<std::vector<Advice>>& sizes, const WinningRule& rule,
                         const Training& training) {
  auto rows = JsonValue::array();
  for (const auto& ranking : sizes)
    for (const Advice& advice : ranking) rows.push_back(row_json(advice, rule, training));
  return rows;
}

JsonValue recommend_document(const std::vector<Advice>& ranking, const WinningRule& rule, const Training& training) {
  const Advice& best = ranking.front();
  JsonValue document = heading_of(best);
  document["rows"] = JsonValue::array();
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const Advice& one = ranking[i];
    JsonValue row = row_json(one, rule, training);
    add_marks(row, one.tuned, rule, one.ties);
    row["rank"] = i + 1;
    row["name"] = name_of(one);
    if (one.given_s > metrics(one).iteration_s) row["slower_untuned_s"] = one.given_s;
    document["rows"].push_back(std::move(row));
  }
  document["exposed_s"] = best.why.exposed();
  document["computing_s"] = best.why.of(Bound::Computing);
  if (waits_for_host(best)) document["waits_for_host_s"] = metrics(best).host_s;
  add_limits(ranking, document);
  add_compression(ranking, document);
  const OfferedRanking offered = offered_ranking(ranking, rule);
  const auto tied = static_cast<std::size_t>(
      std::count_if(ranking.begin(), ranking.end(), [&](const Advice& one) { return &one == &best || one.ties; }));
  const bool is_offered = offered.order.empty() || offered.order.front() == &best || offered.order.front()->ties;
  document["races"] = JsonValue::array();
  if (!is_offered) {
    document["races"].push_back(advice_json(offered.order, offered.tied, rule));
    document["races"].back()["group"] = "maintained frameworks";
  }
  document["races"].push_back(advice_json(all_of(ranking), tied, rule));
  const std::vector<ScalingReference> references(ranking.size(), best.reference);
  add_references(document, document["rows"], references);
  document["notes"] = JsonValue::array();
  add_notes_on_marks(document["notes"], document["rows"], rule, document["races"]);
  append(document["notes"], notes_on(outcomes_of(ranking), references));
  append(document["notes"], note_on_short_sums(best.tuned.scenario));
  return document;
}

namespace {

// The table with the columns on the costs of a training, before the last `after` ones.
ViewTable with_training(ViewTable table, std::ptrdiff_t after = 0) {
  const std::vector<ViewColumn> more = training_columns();
  table.columns.insert(table.columns.end() - after, more.begin(), more.end());
  return table;
}

}  // namespace

const View& recommend_view() {
  static const View advice{{
      ViewText{winner_text},
      ViewText{"Settings: {settings}"},
      ViewCode{"{code}"},
      ViewText{"To replay it: `allreplay run {run:words}`."},
  }};
  static const View view{{
      ViewText{"{title}"},
      ViewText{"a micro-batch: forward {forward_s}, backward {backward_s}, {gradient_bytes} of gradients in {tensors} "
               "tensors"},
      &reference_view(),
      with_training({"rows",
                     {{"", "{rank}"},
                      {"strategy", "{name}"},
                      quantity("{iteration_s}", "", "~ ties"),
                      {"untuned", "{slower_untuned_s}", "iteration"},
                      quantity("{relative_efficiency}"),
                      quantity("{exposed_comm_s}", "iteration_s"),
                      quantity("{above_bound_share}"),
                      quantity("{memory_bytes}", "", "! !fits|* tight"),
                      {"bound by", "{bound_by}"}},
                     2}),
      ViewNotes{},
      ViewText{"{rows/0/name} takes {rows/0/iteration_s}: {computing_s} of computation, {exposed_s} beyond it "
               "({rows/0/exposed_by:times})."},
      ViewText{"Computation takes {compute_s}, sending all gradients {all_gradients_s}: without sharding a "
               "scaling efficiency of at most {highest_efficiency}."},
      ViewText{"The host is the limit: in {waits_for_host_s} of an iteration the GPU waits for launches and the step's "
               "overhead. CUDA graphs, compilation or larger micro-batches help."},
      ViewText{"Untuned, {compressed/name} takes {compressed/iteration_s} with {compressed/codec}, and "
               "{compressed/uncompressed} {compressed/uncompressed_iteration_s} without."},
      ViewEach{"races", &advice},
      ViewText{"The settings of the other rows: --json."},
  }};
  return view;
}

JsonValue scaling_document(const std::vector<std::vector<Advice>>& sizes, double line, const WinningRule& rule,
                           const Training& training) {
  const Scenario& scenario = sizes.front().front().tuned.scenario;
  JsonValue document{{"title", fmt::format("{} on {}", scenario.profile->name, named_with_routing(scenario.cluster))},
                     {"line_share", line},
                     {"sizes", JsonValue::array()}};
  std::vector<const Outcome*> winners;
  for (const auto& ranking : sizes) {
    const auto offered = offered_ranking(ranking, rule).order;
    const bool is_compressed = ranking.front().tuned.scenario.codec.has_value();
    const Advice& best = is_compressed || offered.empty() ? ranking.front() : *offered.front();
    winners.push_back(&best.tuned);
    JsonValue row = row_json(best, rule, training);
    row["name"] = name_of(best);
    row["fits"] = fits(best);
    row["settings_in_one_line"] = in_one_line(best.settings);
    document["sizes"].push_back(std::move(row));
  }
  if (const auto chosen = cheapest(training, winners, rule)) {
    const auto named = [&](std::size_t place) -> NamedCost {
      const Outcome& one = *winners[place];
      return {fmt::format("{} on {} workers", strategy_text(one.scenario), one.scenario.workers),
              cost_of(training, one)};
    };
    document["cheapest"] = cheapest_json(named(chosen->least), named(chosen->rather));
  }
  document["strategies"] = JsonValue::array();
  for (const Advice& advice : sizes.back()) {
    JsonValue row{{"name", name_of(advice)}};
    bool reached = true;
    for (const auto& ranking : sizes) {
      const auto found = std::find_if(ranking.begin(), ranking.end(),
                                      [&](const Advice& other) { return name_of(other) == name_of(advice); });
      if (found == ranking.end()) continue;
      if (!row.contains("smallest_efficiency")) row["smallest_efficiency"] = efficiency(*found);
      row["largest_efficiency"] = efficiency(*found);
      reached = reached && fits(*found) && efficiency(*found) >= line;
      if (reached) row["reached_until"] = found->tuned.scenario.workers;
    }
    document["strategies"].push_back(std::move(row));
  }
  add_references(document, document["sizes"], {sizes.front().front().reference});
  document["notes"] = JsonValue::array();
  add_note_on_misfits(document["notes"], document["sizes"]);
  append(document["notes"], note_on_origin(*winners.back()));
  return document;
}

const View& scaling_view() {
  static const View view{{
      ViewText{"{title}"},
      &reference_view(),
      ViewTable{"strategies",
                {{"strategy", "{name}"},
                 {"scaling eff. at the smallest size", "{smallest_efficiency}"},
                 {"scaling eff. at the largest size", "{largest_efficiency}"},
                 {"at least {line_share:percent} up to", "{reached_until}"}}},
      ViewNotes{},
      ViewText{"What to run, of maintained frameworks if there is one:"},
      with_training({"sizes",
                     {{"workers", "{workers}"},
                      {"strategy", "{name}"},
                      quantity("{iteration_s}"),
                      quantity("{relative_efficiency}"),
                      quantity("{gap:percent}"),
                      quantity("{memory_bytes}", "", "! !fits"),
                      {"bound by", "{bound_by}"},
                      {"settings", "{settings_in_one_line}"}},
                     2},
                    1),
      cheapest_text(),
  }};
  return view;
}

}  // namespace allreplay
