#include "sim/html/summary.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/html/fastest.hpp"
#include "sim/html/verdict.hpp"
#include "sim/html/words.hpp"

namespace allreplay {

namespace {

class GroupFinder {
 public:
  GroupFinder(const SweepResult& result, const ResultGroup& group) : result_(result), group_(group) {}

  Finding find() const {
    const ResultRow& any = result_.rows[group_.rows.front()];
    const bool one_collective = std::all_of(group_.rows.begin(), group_.rows.end(), [&](std::size_t row) {
      return result_.rows[row].collective == any.collective;
    });
    Finding finding{fmt::format("{} on {}, {}{}", any.profile, any.cluster, one_collective ? any.collective + ", " : "",
                                any.fidelity),
                    {}};
    finding.sentences.push_back(who_is_fastest());
    finding.sentences.push_back(at_the_largest());
    if (std::string sentence = below_one_half(); !sentence.empty()) finding.sentences.push_back(std::move(sentence));
    return finding;
  }

 private:
  // Sizes that follow each other and have a winner in common are told together, and who is as fast at some of them.
  std::string who_is_fastest() const {
    struct Run {
      std::int64_t from, to;
      std::vector<std::string> names, some;
    };
    std::vector<Run> runs;
    const auto among = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    const bool searched = has_search_and_others(result_, group_.rows);
    for (const auto& [workers, all] : group_.by_workers) {
      const Rows rows = searched ? without_search(result_, all) : all;
      if (rows.empty() && !all.empty()) continue;
      const std::vector<std::string> names =
          rows.empty() ? std::vector<std::string>{"none (nothing fits into memory)"} : fastest_series(result_, rows);
      std::vector<std::string> common, some;
      if (!runs.empty()) {
        some = runs.back().some;
        for (const std::string& name : runs.back().names) (among(names, name) ? common : some).push_back(name);
      }
      if (common.empty()) {
        runs.push_back({workers, workers, names, {}});
        continue;
      }
      for (const std::string& name : names)
        if (!among(common, name) && !among(some, name)) some.push_back(name);
      runs.back() = {runs.back().from, workers, common, some};
    }
    std::vector<std::string> parts;
    for (const Run& run : runs) {
      const std::string where = runs.size() == 1 ? (group_.by_workers.size() == 1 ? "" : " at every size")
                                                 : " with " + workers_text(run.from, run.to);
      parts.push_back(listed(run.names) + where +
                      (run.some.empty() ? "" : fmt::format(" ({} as fast at some)", listed(run.some, 3))));
    }
    return fmt::format("Fastest{}: {}.", searched ? " besides the search, best" : "", fmt::join(parts, "; "));
  }

  std::string at_the_largest() const {
    const auto& [workers, rows] = *group_.by_workers.rbegin();
    if (rows.empty()) return fmt::format("With {}, nothing fits into memory.", workers_text(workers));
    const ResultRow &best = result_.rows[rows.front()], &worst = result_.rows[rows.back()];
    std::string text =
        fmt::format("With {}, {} takes {} an iteration: speed-up {:.4g}, efficiency {}", workers_text(workers),
                    best.series, format_duration(best.iteration_s), best.speedup, ratio_text(best.efficiency));
    if (best.lower_bound_s && *best.lower_bound_s > 0)
      text += fmt::format(", {} above the lower bound", ratio_text(best.iteration_s / *best.lower_bound_s - 1));
    if (const double times = worst.iteration_s / best.iteration_s; times > as_fast)
      text += fmt::format("; {}, the slowest, takes {:.2f} times as long", worst.series, times);
    return text + ".";
  }

  // Each series with the first size at which it is below, or never; "" where nothing fits into memory.
  std::string below_one_half() const {
    std::vector<std::string> order;
    std::map<std::string, std::optional<std::int64_t>> first;
    std::int64_t largest = 0;
    for (const std::size_t index : group_.rows) {
      const ResultRow& row = result_.rows[index];
      if (!row.fits) continue;
      if (first.emplace(row.series, std::nullopt).second) order.push_back(row.series);
      largest = std::max(largest, row.workers);
    }
    if (order.empty()) return "";
    for (const auto& [workers, rows] : group_.by_workers)
      for (const std::size_t index : rows)
        if (const ResultRow& row = result_.rows[index]; row.efficiency < 0.5 && !first[row.series])
          first[row.series] = workers;
    std::vector<std::string> never;
    std::map<std::int64_t, std::vector<std::string>> from;
    for (const std::string& name : order) first[name] ? from[*first[name]].push_back(name) : never.push_back(name);
    if (from.empty()) return fmt::format("Efficiency stays above 50 % up to {}.", workers_text(largest));
    std::vector<std::string> parts;
    for (const auto& [workers, names] : from)
      parts.push_back(fmt::format("from {} on for {}", workers_text(workers), listed(names)));
    if (group_.by_workers.size() == 1) parts = {fmt::format("for {}", listed(from.begin()->second))};
    return fmt::format("Efficiency is below 50 % {}{}.", fmt::join(parts, ", "),
                       never.empty() ? "" : fmt::format("; never for {}", listed(never)));
  }

  const SweepResult& result_;
  const ResultGroup& group_;
};

// What is said of profiles whose times nobody measured; "" where there are none.
std::string caution(const std::vector<std::string>& profiles, std::string_view what, std::string_view whence) {
  if (profiles.empty()) return "";
  const bool one = profiles.size() == 1;
  return fmt::format(
      "{} {} {}: {} layer times are {}, not measured. What is said here of {} holds as far as that {} does.",
      listed(profiles), one ? "is" : "are", what, one ? "its" : "their", whence, one ? "it" : "them",
      what == "estimated" ? "model" : "inference");
}

}  // namespace

Summary summarize(const SweepResult& result) {
  std::set<std::string> profiles, clusters, strategies;
  std::vector<std::string> reconstructed, estimated;
  std::int64_t least = result.rows.front().workers, most = least;
  for (const ResultRow& row : result.rows) {
    if (profiles.insert(row.profile).second) {
      if (row.origin == "reconstructed") reconstructed.push_back(row.profile);
      if (row.origin == "estimated") estimated.push_back(row.profile);
    }
    clusters.insert(row.cluster);
    strategies.insert(row.strategy);
    least = std::min(least, row.workers);
    most = std::max(most, row.workers);
  }
  Summary summary;
  summary.overview = fmt::format(
      "{}: {} on {} with {}, under {}.", counted(std::ssize(result.rows), "row"),
      counted(std::ssize(profiles), "profile"), counted(std::ssize(clusters), "cluster"), workers_text(least, most),
      strategies.size() == 1 ? *strategies.begin() : fmt::format("{} strategies", strategies.size()));
  if (const auto large =
          std::count_if(result.rows.begin(), result.rows.end(), [](const ResultRow& row) { return !row.fits; });
      large > 0)
    summary.overview += fmt::format(" {} in more memory than a worker has.", counted(large, "row"));
  summary.warning = caution(reconstructed, "reconstructed", "inferred from published totals");
  if (const std::string more = caution(estimated, "estimated", "a model's"); !more.empty())
    summary.warning += (summary.warning.empty() ? "" : " ") + more;
  summary.verdict = verdict(result);
  for (const ResultGroup& group : result.groups) summary.findings.push_back(GroupFinder(result, group).find());
  return summary;
}

}  // namespace allreplay
