#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/output/picture/figure.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/replay/network/link_load.hpp"
#include "sim/studies/jobs/jobs_run.hpp"

namespace allreplay {

namespace {

constexpr std::size_t drawn_links = 3, bins = 160;

// A row for each job, with its least, mean and greatest iteration.
RowChart slowdowns(const JobsResult& result) {
  RowChart chart{.x = {.name = "iteration, relative to alone: least, mean and most", .from_zero = false},
                 .mark = RowMark{"", 1},
                 .row_height = 17};
  for (const JobResult& job : result.jobs) {
    if (!job.slowdown) continue;
    const double alone = job.alone->mean;
    ChartRow row{.name = job.seated.name};
    const auto add = [&](double value, std::size_t style, const char* word) {
      row.dots.push_back({value, style, fmt::format("{}, {}: {:.4g}", job.seated.name, word, value)});
    };
    add(job.together->least / alone, 1, "least");
    add(job.together->most / alone, 1, "most");
    add(*job.slowdown, 0, "mean");
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

class Loads {
 public:
  Loads(const JobsResult& result, const JobsRecord& record) : result_(result), record_(record) {
    std::tie(from_, to_) = record.window();
    for (const JobResult& job : result.jobs) {
      auto& of_job = loads_.emplace_back();
      const Topology& topology = *job.seated.job.topology;
      const RoundsFabric& rounds = *job.seated.job.rounds;
      for (std::uint32_t number = 0; number < rounds.laid(); ++number)
        of_job.push_back(link_loads(rounds.rounds_laid(number, topology.group_size()), topology));
    }
  }

  // Returns the links with the highest mean use.
  std::vector<LinkId> busiest() const {
    const auto links = result_.jobs.front().seated.job.topology->links();
    std::vector<double> use(links.size(), 0);
    for_each_transfer([&](std::size_t, const std::vector<double>& per_byte, double bytes, const Span&) {
      for (LinkId link = 0; link < use.size(); ++link)
        if (links[link].bandwidth > 0) use[link] += per_byte[link] * bytes / links[link].bandwidth;
    });
    std::vector<LinkId> order(use.size());
    std::iota(order.begin(), order.end(), LinkId{0});
    std::stable_sort(order.begin(), order.end(), [&](LinkId a, LinkId b) { return use[a] > use[b]; });
    order.resize(std::min(order.size(), drawn_links));
    std::erase_if(order, [&](LinkId link) { return use[link] == 0; });
    return order;
  }

  Chart chart(LinkId link) const {
    const double bandwidth = result_.jobs.front().seated.job.topology->links()[link].bandwidth;
    const double width = to_seconds(to_ - from_) / static_cast<double>(bins);
    std::vector<std::vector<double>> load(result_.jobs.size(), std::vector<double>(bins, 0));  // of the bandwidth
    for_each_transfer([&](std::size_t job, const std::vector<double>& per_byte, double bytes, const Span& span) {
      if (per_byte[link] == 0 || span.end <= span.start) return;
      const double first = to_seconds(span.start - from_) / width, last = to_seconds(span.end - from_) / width;
      const double in_a_bin = per_byte[link] * bytes / (last - first) / (bandwidth * width);
      const auto begin = static_cast<std::size_t>(std::max(0., std::floor(first)));
      const std::size_t end = std::min(bins, static_cast<std::size_t>(std::ceil(last)));
      for (std::size_t bin = begin; bin < end; ++bin) {
        const auto at = static_cast<double>(bin);
        load[job][bin] += in_a_bin * (std::min(last, at + 1) - std::max(first, at));
      }
    });
    Chart chart{.x = {.name = "time (s)", .from = 0}, .y = {.name = "use of its bandwidth (%)", .from = 0, .to = 100}};
    chart.height = 130;
    // Stacks the jobs: the total is drawn first, smaller sums over it.
    for (std::size_t job = 1; job < load.size(); ++job)
      for (std::size_t bin = 0; bin < bins; ++bin) load[job][bin] += load[job - 1][bin];
    for (std::size_t job = load.size(); job-- > 0;) {
      Series series{.name = result_.jobs[job].seated.name, .points = {}, .style = job, .bar_width = width};
      for (std::size_t bin = 0; bin < bins; ++bin)
        series.points.push_back({width * (static_cast<double>(bin) + 0.5), std::min(100., 100 * load[job][bin])});
      chart.series.push_back(std::move(series));
    }
    return chart;
  }

 private:
  template <class Visit>
  void for_each_transfer(const Visit& visit) const {
    for (std::size_t job = 0; job < record_.jobs.size(); ++job) {
      const Unrolled& unrolled = record_.jobs[job].unrolled;
      const RoundsFabric& rounds = *result_.jobs[job].seated.job.rounds;
      for (const JobsRecord::Replay& replay : record_.jobs[job].replays)
        for (std::size_t i = 0; i < unrolled.transfers; ++i) {
          const Task& task = unrolled.graph.tasks()[unrolled.transfer(i)];
          const Span& span = replay.spans[unrolled.transfer(i)];
          if (span.end <= from_) continue;
          const RoundsFabric::Sent sent = rounds.sent(task.call_id, task.bytes);
          visit(job, loads_[job][sent.rounds], sent.bytes, span);
        }
    }
  }

  const JobsResult& result_;
  const JobsRecord& record_;
  Time from_{0}, to_{0};
  std::vector<std::vector<std::vector<double>>> loads_;  // by job, call and link: bytes per byte of the call
};

}  // namespace

Drawing jobs_picture(const JobsResult& result, const JobsRecord& record) {
  Figure figure{.title = fmt::format("{} jobs on {}", result.jobs.size(), result.cluster), .columns = 1};
  figure.panel_width = 820;
  if (RowChart slow = slowdowns(result); !slow.rows.empty())
    add_panel(figure, "Slow-down of " + figure.title, std::move(slow));
  const Loads loads(result, record);
  const Topology& topology = *result.jobs.front().seated.job.topology;
  for (const LinkId link : loads.busiest()) {
    const Link& one = topology.links()[link];
    add_panel(figure, fmt::format("Load of {} -> {}", topology.name(one.from), topology.name(one.to)),
              loads.chart(link));
  }
  if (figure.panels.empty()) add_panel(figure, "no measured iterations", Chart{.series = {{.points = {{0, 0}}}}});
  figure.note =
      fmt::format("{}. The bytes of a transfer are spread evenly over its time in flight, up to the link's bandwidth.",
                  result.period_s ? "Steady" : "The last iterations");
  return draw(figure);
}

}  // namespace allreplay
