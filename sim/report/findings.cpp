#include "sim/report/findings.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/report/phrases.hpp"

namespace allreplay {

namespace {

using Series = std::vector<std::string>;

bool has(const Series& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(Series& names, const std::string& name) {
  if (!has(names, name)) names.push_back(name);
}

const ResultRow& first_of(const SweepResult& result, const ResultGroup& group) {
  return result.rows[group.rows.front()];
}

// --- of one group ----------------------------------------------------------------------------------------------------

std::vector<WinnerFinding> winners_of(const SweepResult& result, const ResultGroup& group) {
  std::vector<WinnerFinding> all;
  for (const auto& [workers, race] : group.by_workers) {
    const std::string winner = race.rows.empty() ? "" : result.rows[race.rows.front()].series;
    if (all.empty() || all.back().series != winner) all.push_back({.from = workers, .to = workers, .series = winner});
    all.back().to = workers;
    for (std::size_t i = 1; i < race.tied; ++i) {
      const ResultRow& tied = result.rows[race.rows[i]];
      if (tied.series == winner) continue;
      add_once(all.back().ties, tied.series);
      if (tied.seconds_of_equal_work() < result.rows[race.rows.front()].seconds_of_equal_work())
        all.back().fastest = false;
    }
  }
  return all;
}

CaseFinding case_of(const SweepResult& result, const ResultGroup& group) {
  const ResultRow& any = first_of(result, group);
  const bool one_collective = std::all_of(group.rows.begin(), group.rows.end(), [&](std::size_t row) {
    return result.rows[row].collective == any.collective;
  });
  CaseFinding found{.about = fmt::format("{} on {}, {}{}", any.profile, any.network,
                                         one_collective ? any.collective + ", " : "", any.fidelity),
                    .winners = winners_of(result, group)};
  const auto& [workers, race] = *group.by_workers.rbegin();
  found.largest = workers;
  found.per_sample = race.per_sample;
  if (!race.rows.empty()) {
    found.best = race.rows.front();
    if (race.rows.size() > race.tied) found.slowest = race.rows.back();
  }
  std::map<std::string, std::int64_t> below;  // by series
  for (const auto& [size, racing] : group.by_workers)
    for (const std::size_t row : racing.rows)
      if (result.rows[row].relative_efficiency < 0.5) below.emplace(result.rows[row].series, size);
  Series known;
  for (const std::size_t row : group.rows)
    if (result.rows[row].fits) add_once(known, result.rows[row].series);
  for (const std::string& series : known) {
    const auto from = below.find(series);
    (from == below.end() ? found.never_below : found.below_half[from->second]).push_back(series);
  }
  return found;
}

// --- across groups ---------------------------------------------------------------------------------------------------

// Whether the sweep has several of them: a codec brings its own collective.
bool several(const SweepResult& result, std::string ResultRow::*name) {
  return std::any_of(result.groups.begin(), result.groups.end(), [&](const ResultGroup& group) {
    return first_of(result, group).*name != first_of(result, result.groups.front()).*name;
  });
}

void find_wins(const SweepResult& result, SweepFindings& found) {
  bool choice = false;  // something else might have won
  for (const ResultGroup& group : result.groups) {
    const auto& [workers, race] = *group.by_workers.rbegin();
    choice = choice || std::count_if(group.rows.begin(), group.rows.end(), [&, size = workers](std::size_t row) {
                         return result.rows[row].workers == size;
                       }) > 1;
    found.none_fits += race.rows.empty();
    if (race.rows.empty()) continue;
    if (std::find(found.sizes.begin(), found.sizes.end(), workers) == found.sizes.end()) found.sizes.push_back(workers);
    const ResultRow& winner = result.rows[race.rows.front()];
    const auto won = std::find_if(found.wins.begin(), found.wins.end(),
                                  [&](const Wins& one) { return one.series == winner.series; });
    ++(won == found.wins.end() ? found.wins.insert(won, {winner.series, 0}) : won)->cases;
    found.ties = found.ties || race.tied > 1;
    found.per_sample = found.per_sample || race.per_sample;
    if (race.tied < race.rows.size())
      found.margins.push_back(result.rows[race.rows[race.tied]].seconds_of_equal_work() /
                              winner.seconds_of_equal_work());
  }
  if (!choice) found.wins.clear();
  std::stable_sort(found.wins.begin(), found.wins.end(),
                   [](const Wins& a, const Wins& b) { return a.cases > b.cases; });
}

// With how many workers most of the groups can be compared; of such sizes the largest.
std::int64_t common_size(const std::vector<const ResultGroup*>& groups) {
  std::map<std::int64_t, std::size_t> have;
  for (const ResultGroup* group : groups)
    for (const auto& [workers, race] : group->by_workers)
      if (!race.rows.empty()) ++have[workers];
  std::pair<std::size_t, std::int64_t> best;
  for (const auto& [workers, count] : have) best = std::max(best, {count, workers});
  return best.second;
}

// One profile in one fidelity: who wins at each place, a cluster or else a collective.
PlaceFinding places_of(const SweepResult& result, const std::vector<const ResultGroup*>& groups) {
  PlaceFinding found{.workers = common_size(groups)};
  const auto time = [&](std::size_t row) { return result.rows[row].seconds_of_equal_work(); };
  std::map<std::string, std::size_t> fastest;
  for (const ResultGroup* group : groups) {
    const auto race = group->by_workers.find(found.workers);
    if (race == group->by_workers.end() || race->second.rows.empty()) continue;
    const std::size_t row = race->second.rows.front();
    const std::string& place =
        several(result, &ResultRow::network) ? result.rows[row].network : result.rows[row].collective;
    const auto [known, fresh] = fastest.emplace(place, row);
    if (!fresh && time(row) < time(known->second)) known->second = row;
  }
  for (const auto& [place, row] : fastest) {
    found.winners.push_back(row);
    found.per_sample = found.per_sample || result.rows[row].batches != result.rows[found.winners.front()].batches;
  }
  std::sort(found.winners.begin(), found.winners.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(time(a), a) < std::pair(time(b), b); });
  return found;
}

void find_places(const SweepResult& result, SweepFindings& found) {
  std::vector<std::pair<std::string, std::vector<const ResultGroup*>>> fields;  // a profile in a fidelity
  for (const ResultGroup& group : result.groups) {
    const std::string name = first_of(result, group).profile + "\n" + first_of(result, group).fidelity;
    auto field = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; });
    if (field == fields.end()) field = fields.insert(field, {name, {}});
    field->second.push_back(&group);
  }
  for (const auto& [name, groups] : fields)
    if (PlaceFinding places = places_of(result, groups); places.winners.size() > 1)
      found.places.push_back(std::move(places));
}

}  // namespace

SweepFindings find(const SweepResult& result) {
  SweepFindings found;
  for (const ResultGroup& group : result.groups) found.cases.push_back(case_of(result, group));
  if (result.groups.size() < 2) return found;
  find_wins(result, found);
  find_places(result, found);
  return found;
}

// --- in words --------------------------------------------------------------------------------------------------------

namespace {

std::string pace_text(const ResultRow& row, bool per_sample) {
  if (per_sample) return rate_text(row.metrics.samples_per_s, row.batches / row.metrics.iteration_s);
  return format_duration(row.metrics.iteration_s) + " an iteration";
}

std::string who_wins(const CaseFinding& found, double tie) {
  Series parts;
  const bool one_size = found.winners.front().from == found.largest;
  for (const WinnerFinding& one : found.winners) {
    std::string part = one.series.empty() ? "nothing (nothing fits into memory)" : one.series;
    if (found.winners.size() > 1)
      part += " with " + workers_text(one.from, one.to);
    else if (!one_size)
      part += " at every size";
    if (!one.ties.empty()) {
      const std::string sizes = one.from == one.to ? "" : " at some sizes", names = listed(one.ties, 4);
      part += one.fastest ? fmt::format(" (also within {}{}: {})", tie_text(tie), sizes, names)
                          : fmt::format(" (within {} of {}{}, and simpler to run)", tie_text(tie), names, sizes);
    }
    parts.push_back(part);
  }
  return fmt::format("Run {}.", fmt::join(parts, "; "));
}

std::string at_the_largest(const SweepResult& result, const CaseFinding& found, std::int64_t reference) {
  if (!found.best) return fmt::format("With {}, nothing fits into memory.", workers_text(found.largest));
  const ResultRow& best = result.rows[*found.best];
  const Metrics& m = best.metrics;
  std::string text = fmt::format("With {}, {} takes {} an iteration", workers_text(found.largest), best.series,
                                 format_duration(m.iteration_s));
  if (best.speed.tokens_per_s)
    text += fmt::format(", {:.4g} tokens/s per GPU", *best.speed.tokens_per_s);
  else if (best.speed.samples_per_s)
    text += fmt::format(", {:.4g} samples/s per GPU", *best.speed.samples_per_s);
  if (best.speed.mfu) text += fmt::format(", {} MFU", percent(*best.speed.mfu));
  text += fmt::format(": efficiency {}{}", percent(best.relative_efficiency),
                      reference == 1 ? "" : fmt::format(" of that on {}", workers_text(reference)));
  if (m.lower_bound_s && *m.lower_bound_s > 0)
    text += fmt::format(", {} above the lower bound", percent(m.iteration_s / *m.lower_bound_s - 1));
  if (found.slowest)
    text += fmt::format("; {}, the slowest, takes {}", result.rows[*found.slowest].series,
                        longer_text(result.rows[*found.slowest].seconds_of_equal_work() / best.seconds_of_equal_work(),
                                    found.per_sample));
  return text + ".";
}

std::string below_one_half(const CaseFinding& found, bool one_size) {
  if (found.below_half.empty() && found.never_below.empty()) return "";
  if (found.below_half.empty())
    return one_size ? "Efficiency is above 50 % for all."
                    : fmt::format("Efficiency stays above 50 % up to {}.", workers_text(found.largest));
  Series parts;
  for (const auto& [workers, names] : found.below_half)
    parts.push_back(one_size ? "for " + listed(names)
                             : fmt::format("from {} on for {}", workers_text(workers), listed(names)));
  return fmt::format("Efficiency is below 50 % {}{}.", fmt::join(parts, ", "),
                     found.never_below.empty() ? "" : fmt::format("; never for {}", listed(found.never_below)));
}

// What the groups are, with the word before it: "on 3 of 5 clusters", "for every profile".
struct CaseNoun {
  std::string_view before = "in", noun = "case", nouns = "cases";
  std::string detail = "";
};

CaseNoun case_noun(const SweepResult& result) {
  struct Kind {
    std::string ResultRow::*name;
    std::string_view before, noun, nouns;
  };
  const Kind kinds[] = {{&ResultRow::profile, "for", "profile", "profiles"},
                        {&ResultRow::network, "on", "cluster", "clusters"},
                        {&ResultRow::collective, "with", "collective", "collectives"},
                        {&ResultRow::fidelity, "in", "fidelity", "fidelities"}};
  std::vector<const Kind*> differ;
  Series details;
  for (const Kind& kind : kinds) {
    std::set<std::string> names;
    for (const ResultGroup& group : result.groups)
      if (const ResultRow& row = first_of(result, group); kind.name != &ResultRow::collective || row.codec.empty())
        names.insert(row.*kind.name);
    if (names.size() < 2) continue;
    differ.push_back(&kind);
    details.push_back(fmt::format("{} {}", names.size(), kind.nouns));
  }
  if (differ.size() == 1) return {differ[0]->before, differ[0]->noun, differ[0]->nouns};
  return {.detail = details.empty() ? "" : fmt::format(" ({})", fmt::join(details, ", "))};
}

std::string wins_text(const SweepResult& result, const SweepFindings& found) {
  if (found.wins.empty()) return "";
  const CaseNoun noun = case_noun(result);
  std::string text =
      found.sizes.size() == 1 ? "With " + workers_text(found.sizes.front()) : "At the largest size of each";
  const std::size_t cases = found.cases.size();
  if (found.wins.front().cases == cases) {
    text += fmt::format(", {} wins {} {}{}", found.wins.front().series, noun.before,
                        noun.noun == "case" ? fmt::format("all {} cases", cases) : fmt::format("every {}", noun.noun),
                        noun.detail);
    if (!found.margins.empty()) {
      const auto [least, most] = std::minmax_element(found.margins.begin(), found.margins.end());
      text += fmt::format("; the next takes {}{}", longer_text(*least, *most), found.per_sample ? " per sample" : "");
    }
  } else {
    Series parts;
    for (const auto& [series, count] : found.wins)
      parts.push_back(parts.empty() ? fmt::format("{} wins {} {} of {} {}{}", series, noun.before, count, cases,
                                                  noun.nouns, noun.detail)
                                    : fmt::format("{} {} {}", series, noun.before, count));
    text += ", " + listed(parts, 6);
    if (found.none_fits > 0) text += fmt::format("; nothing fits into memory {} {}", noun.before, found.none_fits);
  }
  if (found.ties) text += fmt::format("; within {} the simplest to run wins", tie_text(result.rule.tie));
  return text + ".";
}

std::string places_text(const SweepResult& result, const PlaceFinding& found) {
  const bool clusters = several(result, &ResultRow::network), collectives = several(result, &ResultRow::collective);
  const ResultRow& first = result.rows[found.winners.front()];
  const auto place = [&](const ResultRow& row) {
    if (!clusters) return row.collective;
    return collectives ? fmt::format("{} ({})", row.network, row.collective) : row.network;
  };
  const auto later = [&](std::size_t index, std::string_view role) {
    const ResultRow& row = result.rows[index];
    return fmt::format("{}{} takes {} with {}", place(row), role,
                       longer_text(row.seconds_of_equal_work() / first.seconds_of_equal_work(), found.per_sample),
                       row.series);
  };
  std::string text = several(result, &ResultRow::profile) ? first.profile + ": with " : "With ";
  text += workers_text(found.workers) + ", ";
  if (several(result, &ResultRow::fidelity)) text += "in " + first.fidelity + ", ";
  text += fmt::format("of the winners {} with {} is the fastest: {}", place(first), first.series,
                      pace_text(first, found.per_sample));
  const bool more = found.winners.size() > 2;
  text += "; " + later(found.winners[1], more ? ", the next," : "");
  if (more) text += ", and " + later(found.winners.back(), ", the last,");
  return text + ".";
}

// What is said of profiles whose times nobody measured; "" where there are none.
std::string caution(const Series& profiles, std::string_view what, std::string_view whence, std::string_view source) {
  if (profiles.empty()) return "";
  const bool one = profiles.size() == 1;
  return fmt::format("{} {} {}: {} layer times are {}, not measured. Statements about {} are only as good as that {}.",
                     listed(profiles), one ? "is" : "are", what, one ? "its" : "their", whence, one ? "it" : "them",
                     source);
}

std::string overview(const SweepResult& result) {
  std::set<std::string> profiles, clusters, strategies;
  std::int64_t least = result.rows.front().workers, most = least, large = 0;
  for (const ResultRow& row : result.rows) {
    profiles.insert(row.profile);
    clusters.insert(row.cluster);
    strategies.insert(row.strategy);
    least = std::min(least, row.workers);
    most = std::max(most, row.workers);
    large += !row.fits;
  }
  std::string text = fmt::format(
      "{}: {} on {} with {}, under {}.", counted(std::ssize(result.rows), "row"),
      counted(std::ssize(profiles), "profile"), counted(std::ssize(clusters), "cluster"), workers_text(least, most),
      strategies.size() == 1 ? *strategies.begin() : fmt::format("{} strategies", strategies.size()));
  if (large > 0) text += fmt::format(" {} need more memory than a worker has.", counted(large, "row"));
  return text;
}

std::string warning(const SweepResult& result) {
  Series reconstructed, estimated;
  for (const ResultRow& row : result.rows) {
    if (row.origin == "reconstructed") add_once(reconstructed, row.profile);
    if (row.origin == "estimated") add_once(estimated, row.profile);
  }
  const std::string first = caution(reconstructed, "reconstructed", "inferred from published totals", "inference"),
                    second = caution(estimated, "estimated", "a model's", "model");
  return first + (first.empty() || second.empty() ? "" : " ") + second;
}

}  // namespace

Summary summarize(const SweepResult& result) {
  constexpr std::size_t most_places = 4;  // profiles whose places are told
  const SweepFindings found = find(result);
  Summary summary{.overview = overview(result), .warning = warning(result)};
  if (const std::string wins = wins_text(result, found); !wins.empty()) summary.verdict.push_back(wins);
  for (std::size_t i = 0; i < std::min(found.places.size(), most_places); ++i)
    summary.verdict.push_back(places_text(result, found.places[i]));
  for (std::size_t i = 0; i < found.cases.size(); ++i) {
    const ResultGroup& group = result.groups[i];
    Summary::Case one{found.cases[i].about, {}};
    for (const std::string& sentence :
         {who_wins(found.cases[i], result.rule.tie), at_the_largest(result, found.cases[i], group.reference_workers),
          below_one_half(found.cases[i], group.by_workers.size() == 1)})
      if (!sentence.empty()) one.sentences.push_back(sentence);
    summary.cases.push_back(std::move(one));
  }
  return summary;
}

}  // namespace allreplay
