#include "sim/html/verdict.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/html/fastest.hpp"
#include "sim/html/words.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_pairs = 4;  // profiles whose pair is told

// How many profiles, clusters, … the groups have: what makes them several cases.
struct Kinds {
  std::set<std::string> profiles, clusters, collectives, fidelities;

  explicit Kinds(const SweepResult& result) {
    for (const ResultGroup& group : result.groups) {
      const ResultRow& row = result.rows[group.rows.front()];
      profiles.insert(row.profile);
      clusters.insert(row.cluster);
      if (row.codec.empty()) collectives.insert(row.collective);  // a codec brings its own
      fidelities.insert(row.fidelity);
    }
  }
};

// A kind of case, with the word before it: "on 3 of 5 clusters", "for every profile".
struct CaseNoun {
  std::string before, noun, detail;
};

CaseNoun case_noun(const Kinds& kinds) {
  struct Kind {
    std::size_t count;
    std::string_view before, noun, nouns;
  };
  std::vector<Kind> several;
  for (const Kind& kind : {Kind{kinds.profiles.size(), "for", "profile", "profiles"},
                           Kind{kinds.clusters.size(), "on", "cluster", "clusters"},
                           Kind{kinds.collectives.size(), "with", "collective", "collectives"},
                           Kind{kinds.fidelities.size(), "in", "fidelity", "fidelities"}})
    if (kind.count > 1) several.push_back(kind);
  if (several.size() == 1) return {std::string(several[0].before), std::string(several[0].noun), ""};
  std::string detail;
  for (const Kind& kind : several) detail += fmt::format("{}{} {}", detail.empty() ? "" : ", ", kind.count, kind.nouns);
  return {"in", "case", detail.empty() ? "" : " (" + detail + ")"};
}

// "as long", "3.2 % longer", "1.25 times as long".
std::string longer_text(double times) {
  if (times <= as_fast) return "as long";
  if (times < 1.1) return fmt::format("{:.1f} % longer", 100 * (times - 1));
  return fmt::format("{:.2f} times as long", times);
}

// From so many times as long to so many.
std::string longer_text(double least, double most) {
  if (longer_text(least) == longer_text(most)) return longer_text(most);
  if (least <= as_fast) return "at most " + longer_text(most);
  if (most < 1.1) return fmt::format("{:.1f} to {:.1f} % longer", 100 * (least - 1), 100 * (most - 1));
  return fmt::format("{:.2f} to {:.2f} times as long", least, most);
}

class Verdict {
 public:
  explicit Verdict(const SweepResult& result) : result_(result), kinds_(result) {
    Rows all;
    for (std::size_t i = 0; i < result.rows.size(); ++i) all.push_back(i);
    searched_ = has_search_and_others(result, all);
  }

  std::vector<std::string> tell() const {
    std::vector<std::string> sentences;
    if (const std::string sentence = who(); !sentence.empty()) sentences.push_back(sentence);
    std::map<std::pair<std::string, std::string>, std::vector<const ResultGroup*>> fields;
    std::vector<const std::vector<const ResultGroup*>*> order;
    for (const ResultGroup& group : result_.groups) {
      const ResultRow& row = result_.rows[group.rows.front()];
      const auto [place, fresh] = fields.try_emplace({row.profile, row.fidelity});
      place->second.push_back(&group);
      if (fresh) order.push_back(&place->second);
    }
    std::size_t told = 0;
    for (const auto* groups : order) {
      if (told == most_pairs) break;
      const std::string sentence = pair(*groups);
      if (sentence.empty()) continue;
      sentences.push_back(sentence);
      ++told;
    }
    return sentences;
  }

 private:
  Rows told(const Rows& rows) const { return searched_ ? without_search(result_, rows) : rows; }

  // Whether they fit or not.
  Rows rows_with(std::int64_t workers, const ResultGroup& group) const {
    Rows rows;
    for (const std::size_t row : group.rows)
      if (result_.rows[row].workers == workers) rows.push_back(row);
    return rows;
  }

  // Of each case at its largest size; "" where none has a choice.
  std::string who() const {
    const CaseNoun noun = case_noun(kinds_);
    std::vector<std::pair<std::string, std::size_t>> wins;  // by series, in the order in which they win first
    std::vector<Rows> cases;
    std::size_t none = 0;  // cases in which nothing fits into memory
    bool choice = false;   // something else might have won
    std::set<std::int64_t> sizes;
    for (const ResultGroup& group : result_.groups) {
      const auto& [workers, rows] = *group.by_workers.rbegin();
      none += rows.empty();
      choice = choice || told(rows_with(workers, group)).size() > 1;
      const Rows candidates = told(rows);
      if (candidates.empty()) continue;
      sizes.insert(workers);
      cases.push_back(candidates);
      for (const std::string& name : fastest_series(result_, candidates)) {
        const auto found = std::find_if(wins.begin(), wins.end(), [&](const auto& win) { return win.first == name; });
        if (found == wins.end())
          wins.emplace_back(name, 1);
        else
          ++found->second;
      }
    }
    if (!choice || cases.empty()) return "";
    std::stable_sort(wins.begin(), wins.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    const std::string start =
        fmt::format("{}{}", searched_ ? "Besides the search, best: " : "",
                    sizes.size() == 1 ? "with " + workers_text(*sizes.begin()) : "at the largest size of each");
    std::vector<std::string> always;
    for (const auto& [name, count] : wins)
      if (count == cases.size() + none) always.push_back(name);
    std::string text;
    if (!always.empty()) {
      text = fmt::format("{}, {} {} fastest {} {}{}{}", start, listed(always), always.size() == 1 ? "is" : "are",
                         noun.before,
                         noun.noun == "case" ? fmt::format("all {} cases", cases.size()) : "every " + noun.noun,
                         noun.detail, margin(cases, always));
    } else {
      std::vector<std::string> parts;
      for (const auto& [name, count] : wins)
        parts.push_back(parts.empty() ? fmt::format("{} is fastest {} {} of {}{}", name, noun.before, count,
                                                    counted_plural(cases.size() + none, noun.noun), noun.detail)
                                      : fmt::format("{} {} {}", name, noun.before, count));
      text = fmt::format("{}, {}", start, listed(parts, 6));
      std::size_t total = 0;
      for (const auto& [name, count] : wins) total += count;
      if (total > cases.size()) text += "; those within 0.1 % count, too";
      if (none > 0) text += fmt::format("; nothing fits into memory {} {}", noun.before, none);
    }
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text + ".";
  }

  static std::string counted_plural(std::size_t count, const std::string& noun) {
    return noun == "fidelity" ? fmt::format("{} fidelities", count) : counted(static_cast<std::int64_t>(count), noun);
  }

  // How much longer the next series takes, over the cases.
  std::string margin(const std::vector<Rows>& cases, const std::vector<std::string>& winners) const {
    double least = 0, most = 0;
    for (const Rows& rows : cases) {
      const auto next = std::find_if(rows.begin(), rows.end(), [&](std::size_t row) {
        return std::find(winners.begin(), winners.end(), result_.rows[row].series) == winners.end();
      });
      if (next == rows.end()) continue;
      const double times = result_.rows[*next].iteration_s / result_.rows[rows.front()].iteration_s;
      least = least == 0 ? times : std::min(least, times);
      most = std::max(most, times);
    }
    if (least == 0) return "";
    return "; the next takes " + longer_text(least, most);
  }

  // With how many workers most of the groups can be compared; of such sizes the largest.
  std::int64_t common_size(const std::vector<const ResultGroup*>& groups) const {
    std::map<std::int64_t, std::size_t> have;
    for (const ResultGroup* group : groups)
      for (const auto& [workers, rows] : group->by_workers)
        if (!told(rows).empty()) ++have[workers];
    std::pair<std::size_t, std::int64_t> best;
    for (const auto& [workers, count] : have) best = std::max(best, {count, workers});
    return best.second;
  }

  bool by_cluster() const { return kinds_.clusters.size() > 1; }

  // One profile in one fidelity: the strategy and the place, a cluster or else a collective, that are fastest together.
  std::string pair(const std::vector<const ResultGroup*>& groups) const {
    const std::int64_t workers = common_size(groups);
    std::map<std::string, Rows> places;  // with their rows of that size, the fastest collective's
    for (const ResultGroup* group : groups) {
      const auto found = group->by_workers.find(workers);
      const Rows rows = found == group->by_workers.end() ? Rows() : told(found->second);
      if (rows.empty()) continue;
      const ResultRow& row = result_.rows[rows.front()];
      Rows& known = places[by_cluster() ? row.cluster : row.collective];
      if (known.empty() || row.iteration_s < result_.rows[known.front()].iteration_s) known = rows;
    }
    if (places.size() < 2) return "";
    std::vector<Rows> ranked;
    for (const auto& [place, rows] : places) ranked.push_back(rows);
    std::sort(ranked.begin(), ranked.end(), [&](const Rows& a, const Rows& b) {
      return std::pair(result_.rows[a.front()].iteration_s, a.front()) <
             std::pair(result_.rows[b.front()].iteration_s, b.front());
    });
    const ResultRow& first = result_.rows[ranked.front().front()];
    const bool several = kinds_.profiles.size() > 1;
    std::string text = several ? first.profile + ": with " : "With ";
    text += workers_text(workers) + ", ";
    if (kinds_.fidelities.size() > 1) text += "in " + first.fidelity + ", ";
    text += fmt::format("the fastest pair is {} {}: {} an iteration", place_text(first), who_text(ranked.front()),
                        format_duration(first.iteration_s));
    text += fmt::format("; {}", later(ranked[1], first, ranked.size() > 2 ? ", the next," : ""));
    if (ranked.size() > 2) text += fmt::format(", and {}", later(ranked.back(), first, ", the last,"));
    return text + ".";
  }

  std::string who_text(const Rows& rows) const { return "with " + listed(fastest_series(result_, rows), 3); }

  std::string place_text(const ResultRow& row) const {
    if (!by_cluster()) return row.collective;
    return kinds_.collectives.size() > 1 ? fmt::format("{} ({})", row.cluster, row.collective) : row.cluster;
  }

  std::string later(const Rows& rows, const ResultRow& first, const std::string& role) const {
    const ResultRow& row = result_.rows[rows.front()];
    return fmt::format("{}{} takes {} {}", place_text(row), role, longer_text(row.iteration_s / first.iteration_s),
                       who_text(rows));
  }

  const SweepResult& result_;
  Kinds kinds_;
  bool searched_ = false;
};

}  // namespace

std::vector<std::string> verdict(const SweepResult& result) {
  if (result.groups.size() < 2) return {};
  return Verdict(result).tell();
}

}  // namespace allreplay
