#include "sim/report/recommend_report.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cluster/describe.hpp"
#include "sim/core/json_value.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/framework_words.hpp"
#include "sim/report/phrases.hpp"
#include "sim/report/report.hpp"
#include "sim/report/result_rows.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/training/job.hpp"
#include "sim/training/memory.hpp"
#include "sim/training/sharding.hpp"

namespace allreplay {

namespace {

const Metrics& metrics(const Advice& advice) { return advice.tuned.result.metrics; }
const Strategy& strategy(const Advice& advice) { return *advice.tuned.scenario.strategy; }
bool fits(const Advice& advice) { return fits(advice.tuned.scenario, advice.tuned.result); }

std::string heading(const Advice& advice) {
  const auto& [scenario, result, wall_s] = advice.tuned;
  const Metrics& m = result.metrics;
  const ScalingReference& reference = advice.reference;
  const std::string scaling =
      reference.workers == 1
          ? ""
          : fmt::format("\nefficiency: a GPU's throughput relative to that on {}, the smallest size that {} fits",
                        workers_text(reference.workers), reference.strategy);
  const std::int64_t accumulate = result.plan.sharding.accumulate;
  const std::string batches = accumulate > 1 ? fmt::format("{} micro-batches, each: ", accumulate) : "";
  return fmt::format("{} on {}, {}, {}{}\n{}forward {}, backward {}, {} of gradients in {} tensors{}",
                     scenario.profile->name, named_with_routing(scenario.cluster), result.collective,
                     to_string(result.fidelity), scenario.codec ? ", " + scenario.codec->name : "", batches,
                     format_duration(m.forward_s), format_duration(m.backward_s),
                     format_size(scenario.profile->bytes()), scenario.profile->tensors.size(), scaling);
}

// Without their plans: a table's.
std::vector<Outcome> outcomes_of(const std::vector<Advice>& ranking) {
  std::vector<Outcome> outcomes;
  for (const Advice& one : ranking) outcomes.push_back(one.tuned);
  return outcomes;
}

std::vector<ScalingReference> references_of(const std::vector<Advice>& ranking) {
  return std::vector<ScalingReference>(ranking.size(), ranking.front().reference);
}

double efficiency(const Advice& advice) { return advice.reference.relative(advice.tuned); }

// What a part of the iteration is for.
std::string part_text(Bound bound, const Advice& advice) {
  switch (bound) {
    case Bound::Stragglers:
      return "waiting for the slowest worker";
    case Bound::Traffic:
      return "because sending takes longer than computation";
    case Bound::FirstLayer:
      return "for the first layer's block, made last and needed first";
    case Bound::StartUps:
      return fmt::format("for the start-ups of {}", counted(metrics(advice).collectives, "collective"));
    case Bound::Copies:
      return "for copies";
    case Bound::Schedule:
      return "not overlapped";
    case Bound::Computing:
      break;
  }
  return "";
}

// Of the fastest.
std::string why_text(const Advice& advice) {
  const Metrics& m = metrics(advice);
  const double exposed = advice.why.exposed();
  std::string text = fmt::format("{} takes {}: {} of computation, and {} ({}) beyond it", name_of(advice),
                                 format_duration(m.iteration_s), format_duration(advice.why.of(Bound::Computing)),
                                 format_duration(exposed), percent(exposed / m.iteration_s));
  std::string parts;
  constexpr double little = 0.0005;  // of an iteration: not worth a word
  for (std::size_t i = 1; i < bound_count; ++i) {
    const double part = advice.why.seconds[i];
    if (part > little * m.iteration_s)
      parts += fmt::format("{}{} {}", parts.empty() ? " (" : ", ", format_duration(part),
                           part_text(static_cast<Bound>(i), advice));
  }
  return text + parts + (parts.empty() ? ".\n" : ").\n");
}

// What no schedule can change.
std::string limits(const std::vector<Advice>& ranking) {
  const Advice& advice = ranking.front();
  const auto& [scenario, result, wall_s] = advice.tuned;
  const Metrics& m = result.metrics;
  if (!m.lower_bound_s || result.plan.sharding.shards_optimizer())
    return "";  // sharded, what is sent is the schedule's own
  // All that an unslowed worker computes, the update too.
  const double compute = m.iteration_s - m.straggler_s - m.exposed_comm_s;
  const double all = to_seconds(job_of(scenario).fabric->price(planned_call(scenario))(scenario.profile->bytes()));
  const double factor = slowest_factor(scenario);
  std::string text =
      fmt::format("Computation takes {}{}, and sending all gradients at once {}. ", format_duration(factor * compute),
                  factor > 1 ? " on the slowest worker" : "", format_duration(all));
  const double ceiling = efficiency(advice) * m.iteration_s / *least_bounds(outcomes_of(ranking)).any;
  if (factor > 1 && all <= factor * compute)
    text += fmt::format(
        "The slowest worker is the limit: the others wait for it, and no schedule without sharding exceeds {} "
        "efficiency. Without it, an iteration would be {} shorter.",
        percent(ceiling), format_duration((factor - 1) * compute));
  else if (all > compute)
    text += fmt::format(
        "The network is the limit: no lossless schedule without sharding exceeds {} efficiency with this collective. "
        "Only fewer bytes (compression, half precision), more work per iteration (larger or accumulated batches) or a "
        "faster network can improve on that.",
        percent(ceiling));
  else
    text +=
        fmt::format("Communication can be hidden behind computation: up to {} efficiency is possible without sharding.",
                    percent(ceiling));
  return text + "\n";
}

// Lines of code stay lines: where one is too long, what is left of it is set in.
std::string indented(const std::string& code, const Screen& screen) {
  std::string text = "    ";
  for (std::size_t i = 0; i < code.size(); ++i) {
    text += code[i];
    if (code[i] == '\n' && code[i + 1] != '\n') text += "    ";
  }
  return wrapped(text, screen.width, 8);
}

std::string saving(double from, double to) { return fmt::format("{:.1f} % less", 100 * (1 - to / from)); }

// What frameworks offer, with a tie of its own, the winner first.
struct OfferedRanking {
  std::vector<const Advice*> order;
  std::size_t tied = 0;
};

OfferedRanking offered_ranking(const std::vector<Advice>& ranking, const WinningRule& rule) {
  std::vector<const Advice*> some;
  std::vector<Contender> contenders;
  for (const Advice& advice : ranking) {
    const Options& options = advice.tuned.scenario.options;
    if (!fits(advice) || offered(strategy(advice), options.strategy.sharding.shards_optimizer()) > Offered::Replaced)
      continue;
    some.push_back(&advice);
    contenders.push_back(contender_of(advice.tuned, rule));
  }
  const Ranking order = rank(contenders, rule);
  OfferedRanking result{.tied = order.tied};
  for (const std::size_t place : order.order) result.order.push_back(some[place]);
  return result;
}

// Both as they come: tuning is no merit of compression.
std::string whether_compression_pays(const std::vector<Advice>& ranking) {
  const auto fastest = std::min_element(ranking.begin(), ranking.end(),
                                        [](const Advice& a, const Advice& b) { return a.given_s < b.given_s; });
  const auto [name, least] = fastest_uncompressed(ranking);
  const std::string& codec = fastest->tuned.scenario.codec->name;
  return fmt::format("Untuned, {} takes {} with {}, and {} {} without: {}.\n", name_of(*fastest),
                     format_duration(fastest->given_s), codec, name, format_duration(least),
                     fastest->given_s < least ? fmt::format("{} pays off, {}", codec, saving(least, fastest->given_s))
                                              : fmt::format("{} does not pay off here", codec));
}

// What was simulated, word for word.
std::string replayed_by(const Advice& advice, const Screen& screen) {
  if (advice.run.empty()) return "";
  return wrapped(fmt::format("To replay it: `allreplay run {}`.\n", shell_words(advice.run)), screen.width, 2);
}

// What to set, or to paste, after what is `said` of it.
std::string settings_text(const std::string& said, const Advice& advice, const Screen& screen) {
  const bool short_settings = advice.settings.find('\n') == std::string::npos;
  return wrapped(said + "\n" + (short_settings ? fmt::format("Settings: {}\n", advice.settings) : "\n"), screen.width) +
         (short_settings ? "" : indented(advice.settings, screen) + "\n\n") + replayed_by(advice, screen);
}

// What is on as given, and off as the framework comes; "" where nothing is.
std::string switched_on_text(const Advice& advice) {
  std::vector<std::string> on;
  for (const std::string_view name : strategy(advice).offer.switched_on)
    if (!name.empty() && advice.given.get(name) == "true") on.emplace_back(name);
  if (on.empty()) return "";
  return fmt::format(", where {} {} on, which {} has off by default", listed(on), on.size() == 1 ? "is" : "are",
                     strategy(advice).offer.framework);
}

// What the settings bring, after what is said of them.
std::string gain_of(const Advice& advice) {
  const double now = metrics(advice).iteration_s;
  const bool gains = now < advice.given_s * (1 - 1e-4);
  const std::string than =
      gains ? fmt::format(", {} time than untuned ({})", saving(advice.given_s, now), format_duration(advice.given_s))
      : now > advice.given_s ? ""
                             : ", untuned";
  return than + switched_on_text(advice);
}

Racer racer_of(const Advice& one) {
  return {name_of(one), format_duration(metrics(one).iteration_s), seconds_of_equal_work(one.tuned),
          free_share(one.tuned.scenario.options.memory.limit, one.tuned.result.memory.peak)};
}

// The winner of the ranking among what is as fast.
std::string winner_of(const std::vector<Advice>& ranking, double tie) {
  std::vector<Racer> tied, others;
  for (const Advice& one : ranking) (&one == ranking.data() || one.ties ? tied : others).push_back(racer_of(one));
  tied.front().pace += gain_of(ranking.front());
  return winner_text(std::move(tied), others, tie);
}

std::string winner_of(const OfferedRanking& ranking, double tie) {
  std::vector<Racer> tied;
  for (std::size_t i = 0; i < ranking.tied; ++i) tied.push_back(racer_of(*ranking.order[i]));
  tied.front().pace += gain_of(*ranking.order.front());
  return winner_text(std::move(tied), {}, tie);
}

std::string what_to_do(const std::vector<Advice>& ranking, const WinningRule& rule, const Screen& screen) {
  const double tie = rule.tie;
  const Advice& best = ranking.front();
  if (best.tuned.scenario.codec)
    return replayed_by(best, screen) + wrapped(whether_compression_pays(ranking), screen.width);
  if (!fits(best))
    return settings_text(fmt::format("Nothing fits into the memory; the fastest is {}.", name_of(best)), best, screen);
  const OfferedRanking frameworks = offered_ranking(ranking, rule);
  if (frameworks.order.empty() || frameworks.order.front() == &best || frameworks.order.front()->ties)
    return settings_text(winner_of(ranking, tie), best, screen);
  const Advice& offered = *frameworks.order.front();
  return settings_text("Of maintained frameworks: " + winner_of(frameworks, tie), offered, screen) +
         settings_text(fmt::format("Of all: {} It takes {} time than {}.", winner_of(ranking, tie),
                                   saving(metrics(offered).iteration_s, metrics(best).iteration_s), name_of(offered)),
                       best, screen);
}

// Those whose settings what_to_do() prints.
std::vector<const Advice*> explained_below(const std::vector<Advice>& ranking, const WinningRule& rule) {
  const Advice& best = ranking.front();
  if (best.tuned.scenario.codec) return {};
  const OfferedRanking frameworks = offered_ranking(ranking, rule);
  if (!fits(best) || frameworks.order.empty() || frameworks.order.front() == &best || frameworks.order.front()->ties)
    return {&best};
  return {frameworks.order.front(), &best};
}

// "computing 55 %, bytes 41 %": what makes up an iteration, the most first, without what is hardly worth a word.
std::string bound_by(const Advice& advice) {
  constexpr double little = 0.05;  // of an iteration
  std::vector<std::pair<double, std::string_view>> parts;
  for (const auto& [bound, name] : bounds)
    if (const double share = advice.why.of(bound) / metrics(advice).iteration_s; share >= little)
      parts.emplace_back(share, name);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [share, name] : parts) texts.push_back(fmt::format("{} {:.0f} %", name, 100 * share));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string recommend_report(const std::vector<Advice>& ranking, const WinningRule& rule, const Screen& screen) {
  const std::vector<Outcome> outcomes = outcomes_of(ranking);
  const bool memory = shows_memory(outcomes);
  std::vector<TableColumn> columns{"", "strategy", "iteration", TableColumn("untuned").like("iteration")};
  columns.insert(columns.end(), {efficiency_column(ranking.front().reference.workers), exposed_column, "above bound"});
  if (memory) columns.emplace_back("memory");
  columns.emplace_back("bound by");
  columns.emplace_back("settings");
  Table table(columns, 2);
  std::vector<ResultNumbers> marked;
  const std::vector<const Advice*> explained = explained_below(ranking, rule);
  for (const Advice& advice : ranking) {
    const Metrics& m = metrics(advice);
    const bool first = &advice == ranking.data();
    const Tone tone = first ? Tone::Best : Tone::Plain;
    const double bytes = advice.tuned.result.memory.peak;
    const bool roomy = leaves_room(free_share(advice.tuned.scenario.options.memory.limit, bytes), rule);
    marked.push_back(
        {.metrics = m, .fits = fits(advice), .wins = first, .ties = advice.ties, .bubble_s = {}, .roomy = roomy});
    const TableCell time = cell::seconds(m.iteration_s).with(tone);
    std::vector<TableCell> row{cell::count(1 + (&advice - ranking.data())),
                               TableCell(name_of(advice)).with(tone),
                               advice.ties ? time.marked("~") : time,
                               advice.given_s > m.iteration_s ? cell::seconds(advice.given_s) : TableCell(),
                               cell::percent(efficiency(advice)),
                               exposed_cell(m),
                               above_bound_cell(m)};
    if (memory) row.push_back(memory_cell(bytes, fits(advice), roomy));
    row.emplace_back(bound_by(advice));
    const bool below = std::find(explained.begin(), explained.end(), &advice) != explained.end();
    row.emplace_back(below ? "see below" : in_one_line(advice.settings));
    table.add(std::move(row));
  }
  const Scenario& scenario = ranking.front().tuned.scenario;
  std::string least = bounds_text(outcomes);
  if (!least.empty()) least[0] = 'L', least += ".\n";
  return wrapped(fmt::format("{}: {}", workers_text(scenario.workers), heading(ranking.front())), screen.width) +
         "\n\n" + table.text(screen) +
         wrapped(marks_note(marked, rule) + limit_note(outcomes.front(), memory) +
                     efficiency_note(outcomes, references_of(ranking)) + doubts(outcomes) + short_sums_note(scenario) +
                     caveat(scenario.profile),
                 screen.width, 2) +
         "\n" + wrapped(why_text(ranking.front()) + least + limits(ranking), screen.width) +
         what_to_do(ranking, rule, screen);
}

namespace {

std::string above_bound_text(const Advice& advice) {
  const Metrics& m = metrics(advice);
  if (!m.lower_bound_s) return "";
  return fmt::format(" ({} above the lower bound of {})", percent(m.iteration_s / *m.lower_bound_s - 1),
                     format_duration(*m.lower_bound_s));
}

// Which of the sizes, rising, it is true of.
std::string which_text(const std::vector<bool>& of, const std::vector<std::string>& sizes) {
  const auto how_many = std::count(of.begin(), of.end(), true), all = std::ssize(of);
  if (how_many == all) return "every size";
  if (how_many == 0) return "no size";
  const bool ends = std::is_sorted(of.rbegin(), of.rend()), begins = std::is_sorted(of.begin(), of.end());
  if (ends) return "up to " + sizes[how_many - 1];
  if (begins) return "from " + sizes[all - how_many];
  std::vector<std::string> these;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (of[i]) these.push_back(sizes[i]);
  return fmt::format("at {}", fmt::join(these, ", "));
}

}  // namespace

std::string scaling_report(const std::vector<std::vector<Advice>>& sizes, double line, const WinningRule& rule,
                           const Screen& screen) {
  std::vector<TableColumn> columns{"efficiency with"};
  std::vector<std::string> counts;
  for (const auto& ranking : sizes) counts.push_back(std::to_string(ranking.front().tuned.scenario.workers));
  columns.insert(columns.end(), counts.begin(), counts.end());
  columns.emplace_back(fmt::format("at least {} %", 100 * line));
  Table table(columns);
  struct Reached {
    double efficiency;
    bool fits = true;
  };
  bool all_fit = true;
  const auto append = [&](const std::string& name, const auto& reached) {
    std::vector<TableCell> row{name};
    std::vector<bool> above;  // by size
    for (const auto& ranking : sizes) {
      const std::optional<Reached> value = reached(ranking);
      above.push_back(value && value->fits && value->efficiency >= line);
      const TableCell cell = value ? cell::percent(value->efficiency) : TableCell("-");
      row.push_back(value && !value->fits ? cell.marked("!") : cell);
      all_fit = all_fit && (!value || value->fits);
    }
    row.emplace_back(which_text(above, counts));
    table.add(std::move(row));
  };
  for (const Advice& advice : sizes.back())
    append(name_of(advice), [&](const std::vector<Advice>& ranking) {
      const auto found = std::find_if(ranking.begin(), ranking.end(),
                                      [&](const Advice& other) { return name_of(other) == name_of(advice); });
      if (found == ranking.end()) return std::optional<Reached>();  // ruled out for this number of workers
      return std::optional(Reached{efficiency(*found), fits(*found)});
    });
  const auto add_bound = [&](std::optional<double> LeastBounds::*bound_of, const char* name) {
    const auto reached = [&](const std::vector<Advice>& ranking) {
      const auto bound = least_bounds(outcomes_of(ranking)).*bound_of;
      return bound ? std::optional(Reached{efficiency(ranking.front()) * metrics(ranking.front()).iteration_s / *bound})
                   : std::nullopt;
    };
    if (std::any_of(sizes.begin(), sizes.end(), reached)) append(name, reached);
  };
  add_bound(&LeastBounds::any, "(bound without shards)");
  add_bound(&LeastBounds::sharded, "(least bound with shards)");
  std::string notes = all_fit ? "" : unfit_note, efficiencies;
  for (const auto& ranking : sizes)
    if (efficiencies.empty()) efficiencies = efficiency_note(outcomes_of(ranking), references_of(ranking));
  notes += efficiencies + caveat(sizes.front().front().tuned.scenario.profile);
  std::string text = wrapped(heading(sizes.front().front()), screen.width) + "\n\n" + table.text(screen) +
                     wrapped(notes, screen.width, 2) +
                     (sizes.front().front().tuned.scenario.codec ? "\nThe schedule to use with compression:\n"
                                                                 : "\nWhat to run, of maintained frameworks:\n");
  for (const auto& ranking : sizes) {
    const std::vector<const Advice*> offered = offered_ranking(ranking, rule).order;
    const bool coded = ranking.front().tuned.scenario.codec.has_value();
    const Advice& advice = coded || offered.empty() ? ranking.front() : *offered.front();
    text += wrapped(
        fmt::format("{:>8} workers: {}{}, {}{}, {} exposed, bound by {}. Settings: {}\n", advice.tuned.scenario.workers,
                    name_of(advice), fits(advice) ? "" : " (nothing fits into the memory)",
                    format_duration(metrics(advice).iteration_s), above_bound_text(advice),
                    percent(advice.why.exposed() / metrics(advice).iteration_s), bound_by(advice),
                    in_one_line(advice.settings)),
        screen.width, 10);
  }
  return text;
}

namespace {

NamedNumbers exposed_parts(const Reasons& why) {
  NamedNumbers parts;
  for (std::size_t i = 1; i < bound_count; ++i)
    parts.emplace_back(name_of(bounds, static_cast<Bound>(i)), why.seconds[i]);
  return parts;
}

}  // namespace

JsonValue recommend_json(const std::vector<std::vector<Advice>>& sizes, const WinningRule& rule) {
  auto rows = JsonValue::array();
  for (const auto& ranking : sizes)
    for (const Advice& advice : ranking) {
      Row row = row_of(advice.tuned);
      const std::string_view framework = strategy(advice).offer.framework;
      const auto& bound = metrics(advice).lower_bound_s;
      row.push_back({"gap", bound ? Cell(metrics(advice).iteration_s / *bound - 1) : Cell()});
      row.push_back({"bound_s", bound ? Cell(*bound) : Cell()});
      row.push_back({"bound_by", std::string(name_of(bounds, advice.why.most()))});
      row.push_back({"exposed_by", exposed_parts(advice.why)});
      row.push_back({"untuned_iteration_s", advice.given_s});
      row.push_back({"framework", framework.empty() ? Cell() : Cell(std::string(framework))});
      row.push_back({"settings", advice.settings});
      if (!advice.schedule.empty()) row.push_back({"schedule", advice.schedule});
      row.push_back({"reference_workers", advice.reference.workers});
      row.push_back({"relative_efficiency", efficiency(advice)});
      row.push_back({"tie", rule.tie});
      rows.push_back(json_of(row));
      rows.back()["run"] = advice.run;
    }
  return rows;
}

}  // namespace allreplay
