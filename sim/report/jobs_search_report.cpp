#include "sim/report/jobs_search_report.hpp"

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/report/phrases.hpp"

namespace allreplay {

namespace {

// "first packed, second random:1".
std::string choices_text(const JobsResult& result, std::span<const SeatChoice> choices) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < choices.size(); ++i)
    texts.push_back(fmt::format("{} {}", result.jobs[i].seated.name, choices[i].text));
  return listed(texts, 20);
}

std::string shorter_text(const JobsResult& result, const TriedPlacements& shorter) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    const auto& found = result.jobs[i].together;
    if (found && shorter.means_s[i] > 0 && std::abs(shorter.means_s[i] / found->mean - 1) >= least_slowdown)
      texts.push_back(fmt::format("{} {} (found: {})", result.jobs[i].seated.name, format_duration(shorter.means_s[i]),
                                  format_duration(found->mean)));
  }
  return fmt::format(
      "a trial with shorter iterations: with {}, an iteration of {}; the search minimises the slow-down relative to "
      "each job alone on the same seats",
      choices_text(result, shorter.choices), listed(texts, 20));
}

}  // namespace

std::vector<std::string> jobs_search_lines(const JobsResult& result, const FoundJobs& found) {
  const bool place = found.search.place;
  // Offsets that gain less than what is printed are none.
  const bool helps =
      found.worst_placed - found.worst >= least_slowdown || found.mean_placed - found.mean >= least_slowdown;
  const bool later = found.search.stagger && helps;
  std::vector<std::string> lines{
      fmt::format("{}: largest slow-down {:.3f}, mean {:.3f}", place ? "the first placements" : "as in the file",
                  found.worst_before, found.mean_before),
      fmt::format("found in {} runs: largest slow-down {:.3f}, mean {:.3f}", found.evaluations, found.worst,
                  found.mean)};
  for (std::size_t i = 0; (place || later) && i < result.jobs.size(); ++i)
    lines.push_back(fmt::format("{}: {}{}{}", result.jobs[i].seated.name,
                                place ? "placement " + found.choices[i].text : "", place && later ? ", " : "",
                                later ? format_duration(to_seconds(found.offsets[i])) + " later" : ""));
  if (found.shorter) lines.push_back(shorter_text(result, *found.shorter));
  if (found.search.stagger && !helps) lines.push_back("no start offset helps");
  if (later && !result.period_s)
    lines.push_back("offsets help only while phases stay aligned, but these periods drift against each other");
  return lines;
}

}  // namespace allreplay
