#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

constexpr double lane_height = 20, lane_height_of_ranks = 14, most_lanes_height = 180;
constexpr std::size_t most_arrows = 24, most_lanes_with_arrows = 4;

class LanePainter : public TimelineCanvas {
 public:
  explicit LanePainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

  double add(double top) {
    if (timeline_.rows.network.empty()) return top;
    const double arrows_top = top;
    const std::vector<Line> arrows = this->arrows();
    top += arrows.empty() ? 6 : 28;
    const std::vector<LaneRows> groups = lane_rows(top);
    if (!arrows.empty()) add_arrows(arrows, arrows_top, groups);
    for (const LaneRows& group : groups) top = add_lane(group);
    return top;
  }

 private:
  // Rows [first, last) of the network belong to one lane.
  struct LaneRows {
    std::size_t first = 0, last = 0;
    double top = 0, height = 0;  // `height` is that of one row
    double bottom() const { return top + height * static_cast<double>(last - first); }
  };

  std::vector<LaneRows> lane_rows(double top) const {
    constexpr double between = 4;
    const auto& rows = timeline_.rows.network;
    std::vector<LaneRows> groups;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].bars.front().activity == Activity::Send) continue;  // drawn as arrows between the ranks
      if (groups.empty() || rows[row].lane != rows[groups.back().first].lane) groups.push_back({row, row});
      groups.back().last = row + 1;
    }
    for (LaneRows& group : groups) {
      group.top = top;
      group.height = std::min(timeline_.pipeline() ? lane_height_of_ranks : lane_height,
                              most_lanes_height / static_cast<double>(group.last - group.first));
      top = group.bottom() + between;
    }
    return groups;
  }

  // An arrow between a stream and a lane: a block becomes ready (`ready`), or computation may continue.
  struct Line {
    double from = 0, to = 0;  // seconds
    std::uint32_t lane = 0;
    bool ready = false;
    auto operator<=>(const Line&) const = default;
  };

  // Returns no arrows if there would be too many.
  std::vector<Line> arrows() const {
    const TimelineRows& rows = timeline_.rows;
    if (timeline_.pipeline() || rows.network.size() > most_lanes_with_arrows) return {};
    std::set<Line> seen;
    std::vector<Line> lines;
    for (const Arrow& made : rows.made) {
      const Line line{timeline_.at(rows.streams[made.before.row].bars[made.before.bar].end),
                      timeline_.at(rows.network[made.after.row].bars[made.after.bar].start),
                      rows.network[made.after.row].lane, true};
      if (seen.insert(line).second) lines.push_back(line);
    }
    for (const Arrow& gate : rows.gates) {
      const Bar& block = rows.network[gate.before.row].bars[gate.before.bar];
      if (rows.streams[gate.after.row].bars[gate.after.bar].start != block.end) continue;  // nothing waited for it
      const double at = timeline_.at(block.end);
      lines.push_back({at, at, rows.network[gate.before.row].lane, false});
    }
    const std::size_t all = timeline_.shards() ? lines.size() : rows.made.size() + rows.gates.size();
    return all > 2 * most_arrows ? std::vector<Line>() : lines;
  }

  double add_lane(const LaneRows& lane) {
    const std::size_t rows = lane.last - lane.first;
    const double gap = lane.height > 6 ? 2 : 0, total = lane.bottom() - lane.top;
    const auto& lanes = timeline_.outcome.result.plan.lanes;
    const std::string name = lanes.size() == 1 ? "communication" : timeline_.rows.network[lane.first].name;
    add_row_name(lane.top + (rows == 1 ? lane.height / 2 : std::min(total / 2, 8.0)), name);
    if (rows > 1 && total > 30)
      drawing_.add(Text{.at = {left_ - 8, lane.top + std::min(total / 2, 8.0) + 15},
                        .text = fmt::format("up to {} in flight", rows),
                        .size = style::small_size,
                        .align = Align::End,
                        .colour = style::faint_ink});
    double top = lane.top;
    for (std::size_t i = lane.first; i < lane.last; ++i) {
      const TimelineRow& row = timeline_.rows.network[i];
      add_bars(row, top, lane.height - gap);
      add_exposed(row, top, lane.height - gap);
      add_labels(row, top, lane.height - gap);
      top += lane.height;
    }
    return lane.bottom();
  }

  void add_exposed(const TimelineRow& lane, double top, double height) {
    std::vector<Interval> parts;
    const std::string says = timeline_.pipeline() ? "exposed: no rank computes" : "exposed: computation waits";
    for (const Interval& wait : timeline_.exposing())
      for (const Bar& bar : lane.bars) {
        const double from = std::max(wait.from, timeline_.at(bar.start)), to = std::min(wait.to, timeline_.at(bar.end));
        if (to <= from) continue;
        if (!parts.empty() && from <= parts.back().to + 1e-12)
          parts.back().to = to;
        else
          parts.push_back({from, to});
      }
    for (const Interval& part : parts)
      drawing_.add(
          Rectangle{{x(part.from), top, x(part.to) - x(part.from), height}, look_of_exposed(), {"exposed", says}});
  }

  // Draws arrows between the streams and the lanes; lanes that they cross are drawn over them.
  void add_arrows(const std::vector<Line>& arrows, double top, const std::vector<LaneRows>& lanes) {
    const auto explain = [&](double y, const std::string& text, Colour ink) {
      drawing_.add(
          Text{.at = {left_ - 8, y}, .text = text, .size = style::small_size, .align = Align::End, .colour = ink});
    };
    explain(top + 10, gradients_are_ready, style::faint_ink);
    explain(top + 22, timeline_.gate_text(), style::vermilion);
    const double bottom = lanes.front().top;
    for (const Line& arrow : arrows) {
      const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const LaneRows& one) {
        return timeline_.rows.network[one.first].lane == arrow.lane;
      });
      std::vector<Position> points{{x(arrow.from), top}, {x(arrow.to), bottom}};
      if (lane->top > bottom) points.push_back({x(arrow.to), lane->top});
      if (!arrow.ready) std::reverse(points.begin(), points.end());
      const Colour ink = arrow.ready ? style::faint_ink : style::vermilion;
      add_arrow(points, {.line = ink, .width = 0.9}, 5, {"arrow", ""});
    }
  }
};

}  // namespace

double add_timeline_lanes(const TimelineCanvas& canvas, double top) { return LanePainter(canvas).add(top); }

}  // namespace allreplay
