#include "sim/output/view/jobs_picture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/output/picture/chart.hpp"
#include "sim/output/picture/figure.hpp"
#include "sim/replay/network/link_load.hpp"

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
  chart.y = {.name = "iteration, relative to alone"};
  chart.series.push_back({.name = "alone", .points = {{0, 1}, {jobs + 1, 1}}, .reference = true});
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

// The bytes that a transfer sends over a link, by bin of time.
struct LinkBytes {
  std::size_t job = 0, first = 0;
  std::vector<double> bytes;
};

// A record does not say when a transfer's bytes moved within its span: spreads them evenly, as far as the link's
// bandwidth allows.
void make_room(std::vector<LinkBytes>& transfers, double room) {
  constexpr int most_passes = 1000;
  for (int pass = 0; pass < most_passes; ++pass) {
    std::vector<double> sums(bins, 0);
    for (const LinkBytes& one : transfers)
      for (std::size_t i = 0; i < one.bytes.size(); ++i) sums[one.first + i] += one.bytes[i];
    if (*std::max_element(sums.begin(), sums.end()) <= room * (1 + 1e-6)) return;
    for (LinkBytes& one : transfers) {
      double beyond = 0, free = 0;
      for (std::size_t i = 0; i < one.bytes.size(); ++i) {
        const double sum = sums[one.first + i];
        if (sum > room) beyond += one.bytes[i] * (1 - room / sum);
        free += std::max(0., room - sum);
      }
      if (!(beyond > 0 && free > 0)) continue;
      for (std::size_t i = 0; i < one.bytes.size(); ++i) {
        const double sum = sums[one.first + i];
        one.bytes[i] = sum > room ? one.bytes[i] * room / sum : one.bytes[i] + beyond * (room - sum) / free;
      }
    }
  }
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
    std::vector<LinkBytes> transfers;
    const double width = to_seconds(to_ - from_) / static_cast<double>(bins);
    for_each_transfer([&](std::size_t job, const std::vector<double>& per_byte, double bytes, const Span& span) {
      if (per_byte[link] == 0 || span.end <= span.start) return;
      const double first = to_seconds(span.start - from_) / width, last = to_seconds(span.end - from_) / width;
      const double in_a_bin = per_byte[link] * bytes / (last - first);
      const auto begin = static_cast<std::size_t>(std::max(0., std::floor(first)));
      const std::size_t end = std::min(bins, static_cast<std::size_t>(std::ceil(last)));
      LinkBytes one{job, begin, {}};
      for (std::size_t bin = begin; bin < end; ++bin) {
        const auto at = static_cast<double>(bin);
        one.bytes.push_back(in_a_bin * (std::min(last, at + 1) - std::max(first, at)));
      }
      transfers.push_back(std::move(one));
    });
    const double bandwidth = result_.jobs.front().seated.job.topology->links()[link].bandwidth;
    Chart chart;
    chart.height = 130;
    chart.x = {.name = "time (s)", .from = 0};
    chart.y = {.name = "use of its bandwidth (%)", .from = 0, .to = 100};
    make_room(transfers, bandwidth * width);
    std::vector<std::vector<double>> load(result_.jobs.size(), std::vector<double>(bins, 0));  // of the bandwidth
    for (const LinkBytes& one : transfers)
      for (std::size_t i = 0; i < one.bytes.size(); ++i)
        load[one.job][one.first + i] += one.bytes[i] / (bandwidth * width);
    // Stacks the jobs: the total is drawn first, smaller sums over it.
    for (std::size_t job = 1; job < load.size(); ++job)
      for (std::size_t bin = 0; bin < bins; ++bin) load[job][bin] += load[job - 1][bin];
    for (std::size_t job = load.size(); job-- > 0;) {
      Series series{.name = result_.jobs[job].seated.name, .points = {}, .style = job, .bar_width = width};
      for (std::size_t bin = 0; bin < bins; ++bin)
        series.points.push_back({width * (static_cast<double>(bin) + 0.5), 100 * load[job][bin]});
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
  const Chart slow = slowdowns(result);
  if (slow.series.size() > 2) {
    figure.legend = legend_of(slow);
    figure.panels.push_back(panel("Slow-down of " + figure.title, slow));
  }
  const Loads loads(result, record);
  const Topology& topology = *result.jobs.front().seated.job.topology;
  bool named = false;
  for (const LinkId link : loads.busiest()) {
    Chart chart = loads.chart(link);
    std::vector<LegendEntry> names = legend_of(chart);  // begins with the last job, as series are drawn
    if (!std::exchange(named, true)) figure.legend.insert(figure.legend.end(), names.rbegin(), names.rend());
    const Link& one = topology.links()[link];
    figure.panels.push_back(
        panel(fmt::format("Load of {} -> {}", topology.name(one.from), topology.name(one.to)), chart));
  }
  if (figure.panels.empty())
    figure.panels.push_back(panel("no measured iterations", Chart{.series = {{.points = {{0, 0}}}}}));
  figure.note =
      fmt::format("{}. The bytes of a transfer are spread evenly over its time in flight, as far as links have room.",
                  result.period_s ? "Steady" : "The last iterations");
  return draw(figure);
}

}  // namespace allreplay
