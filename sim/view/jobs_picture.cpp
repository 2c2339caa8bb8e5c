#include "sim/view/jobs_picture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/network/link_load.hpp"
#include "sim/picture/chart.hpp"
#include "sim/picture/figure.hpp"

namespace allreplay {

namespace {

constexpr std::size_t drawn_links = 3, bins = 160;

FigurePanel panel(const std::string& title, Chart chart) {
  return {title,
          [chart = std::move(chart)](Drawing& drawing, const Box& room) { return add_chart(drawing, room, chart); }};
}

Chart slowdowns(const JobsResult& result) {
  const auto jobs = static_cast<double>(result.jobs.size());
  Chart chart;
  chart.height = 200;
  chart.x = {.name = "job", .label = [&result](double place) {
               const auto job = static_cast<std::size_t>(std::lround(place - 1));
               return place < 1 || job >= result.jobs.size() ? std::string() : result.jobs[job].seated.name;
             }};
  for (double place = 0; place <= jobs + 1; ++place) chart.x.ticks.push_back(place);
  chart.y = {.name = "iteration, times that alone"};
  Series mean{.name = "mean", .points = {}, .line = false, .style = 0};
  bool named = false;
  for (std::size_t job = 0; job < result.jobs.size(); ++job) {
    const JobResult& one = result.jobs[job];
    if (!one.slowdown) continue;
    const double at = static_cast<double>(job) + 1, alone = one.alone->mean;
    mean.points.push_back({at, *one.slowdown});
    chart.series.push_back({.name = std::exchange(named, true) ? "" : "least to most",
                            .points = {{at, one.together->least / alone}, {at, one.together->most / alone}},
                            .markers = false,
                            .style = 1});
  }
  chart.series.push_back(std::move(mean));
  return chart;
}

// By job, by bin: bytes per second, of one link.
using Load = std::vector<std::vector<double>>;

class Loads {
 public:
  Loads(const JobsResult& result, const JobsRecord& record) : result_(result), record_(record) {
    std::tie(from_, to_) = record.window();
    for (const JobResult& job : result.jobs) {
      auto& of_job = loads_.emplace_back();
      const Topology& topology = *job.seated.job.topology;
      for (const Call& call : job.seated.job.rounds->calls())
        of_job.push_back(link_loads(job.seated.job.rounds->rounds_of_call(call, topology.group_size()), topology));
    }
  }

  // By their mean use.
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
    Load load(result_.jobs.size(), std::vector<double>(bins, 0));
    const double width = to_seconds(to_ - from_) / static_cast<double>(bins);
    for_each_transfer([&](std::size_t job, const std::vector<double>& per_byte, double bytes, const Span& span) {
      if (per_byte[link] == 0 || span.end <= span.start) return;
      const double first = to_seconds(span.start - from_) / width, last = to_seconds(span.end - from_) / width;
      const double rate = per_byte[link] * bytes / to_seconds(span.end - span.start);
      const auto begin = static_cast<std::size_t>(std::max(0., std::floor(first)));
      const std::size_t end = std::min(bins, static_cast<std::size_t>(std::ceil(last)));
      for (std::size_t bin = begin; bin < end; ++bin) {
        const auto at = static_cast<double>(bin);
        load[job][bin] += rate * (std::min(last, at + 1) - std::max(first, at));
      }
    });
    const double bandwidth = result_.jobs.front().seated.job.topology->links()[link].bandwidth;
    Chart chart;
    chart.height = 130;
    chart.x = {.name = "time (s)", .from = 0};
    chart.y = {.name = "of its bandwidth (%)", .from = 0, .to = 100};
    // One upon the other: the sums of all first, and those of fewer before them.
    for (std::size_t job = 1; job < load.size(); ++job)
      for (std::size_t bin = 0; bin < bins; ++bin) load[job][bin] += load[job - 1][bin];
    for (std::size_t job = load.size(); job-- > 0;) {
      Series series{.name = result_.jobs[job].seated.name, .points = {}, .style = job, .bar_width = width};
      for (std::size_t bin = 0; bin < bins; ++bin)
        series.points.push_back({width * (static_cast<double>(bin) + 0.5), 100 * load[job][bin] / bandwidth});
      chart.series.push_back(std::move(series));
    }
    return chart;
  }

 private:
  template <class Visit>
  void for_each_transfer(const Visit& visit) const {
    for (std::size_t job = 0; job < record_.jobs.size(); ++job) {
      const Unrolled& unrolled = record_.jobs[job].unrolled;
      for (const JobsRecord::Replay& replay : record_.jobs[job].replays)
        for (std::size_t i = 0; i < unrolled.transfers; ++i) {
          const Task& task = unrolled.graph.tasks()[unrolled.transfer(i)];
          const Span& span = replay.spans[unrolled.transfer(i)];
          if (span.end > from_) visit(job, loads_[job][task.call_id], task.bytes.count, span);
        }
    }
  }

  const JobsResult& result_;
  const JobsRecord& record_;
  Time from_{0}, to_{0};
  std::vector<std::vector<std::vector<double>>> loads_;  // by job, call and link: bytes per byte
};

}  // namespace

Drawing jobs_picture(const JobsResult& result, const JobsRecord& record) {
  Figure figure{.title = fmt::format("{} jobs on {}", result.jobs.size(), result.cluster), .columns = 1};
  figure.panel_width = 820;
  const Chart slow = slowdowns(result);
  if (slow.series.size() > 1) {
    figure.legend = legend_of(slow);
    figure.panels.push_back(panel("Slow-down", slow));
  }
  const Loads loads(result, record);
  const Topology& topology = *result.jobs.front().seated.job.topology;
  bool named = false;
  for (const LinkId link : loads.busiest()) {
    Chart chart = loads.chart(link);
    if (!std::exchange(named, true))
      for (LegendEntry& entry : legend_of(chart)) figure.legend.push_back(std::move(entry));
    const Link& one = topology.links()[link];
    figure.panels.push_back(panel(fmt::format("{} -> {}", topology.name(one.from), topology.name(one.to)), chart));
  }
  if (figure.panels.empty())
    figure.panels.push_back(panel("nothing was measured", Chart{.series = {{.points = {{0, 0}}}}}));
  figure.note = fmt::format("{}. Bytes of a transfer are spread evenly over its time in flight.",
                            result.period_s ? "Steady" : "The last iterations");
  return draw(figure);
}

}  // namespace allreplay
