#include <algorithm>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

constexpr double compute_height = 26, codec_height = 14;

class StreamPainter : public TimelineCanvas {
 public:
  explicit StreamPainter(const TimelineCanvas& canvas) : TimelineCanvas(canvas) {}

  double add(double top) {
    const std::vector<std::size_t> shown = timeline_.shown();
    for (const std::size_t c : shown) top = add_streams(c, top);
    if (shown.size() == timeline_.ends.size()) return top;
    note(top, fmt::format("and {} workers that end earlier", timeline_.ends.size() - shown.size()));
    return top + 14;
  }

 private:
  void note(double top, const std::string& text) {
    drawing_.add(Text{
        .at = {left_, top + 10}, .text = text, .size = style::small_size, .colour = style::faint_ink, .italic = true});
  }

  double add_streams(std::size_t c, double top) {
    top = add_compute(c, top);
    const std::size_t codec = timeline_.ends.size() + c;
    if (codec >= timeline_.rows.streams.size()) return top;
    const TimelineRow& row = timeline_.rows.streams[codec];
    add_row_name(top + codec_height / 2, row.name);
    add_bars(row, top, codec_height);
    add_labels(row, top, codec_height);
    return top + codec_height + 4;
  }

  double add_compute(std::size_t c, double top) {
    const TimelineRow row = joined(timeline_.rows.streams[c]);
    const double bars = top + 13;
    for (std::uint32_t micro_batch = 0; micro_batch < timeline_.outcome.result.plan.sharding.accumulate;
         ++micro_batch) {
      add_phase(row, Activity::Backward, micro_batch, top);
      add_phase(row, Activity::Forward, micro_batch, top);
    }
    add_phase(row, Activity::Update, 0, top);
    add_phase(row, Activity::HostStep, 0, top);
    add_row_name(bars + compute_height / 2, row.name);
    for (const Interval& wait : timeline_.waits(c)) add_wait(wait, bars);
    add_bars(row, bars, compute_height);
    add_labels(row, bars, compute_height);
    add_next(c, bars, compute_height);
    add_strip(c, bars + compute_height, 1);
    return bars + compute_height + strip_height() + 4;
  }

  // Returns the row with collectives inside layers as a part of the layers' bars.
  static TimelineRow joined(const TimelineRow& row) {
    TimelineRow whole{.name = row.name, .bars = {}};
    for (const Bar& bar : row.bars)
      if (is_inside_layer(bar.activity))
        whole.bars.back().end = bar.end;
      else
        whole.bars.push_back(bar);
    return whole;
  }

  // Writes "backward 255.9 ms" above the bars of the phase.
  void add_phase(const TimelineRow& row, Activity activity, std::uint32_t micro_batch, double top) {
    Time sum{0}, from = never, to{0};
    for (const Bar& bar : row.bars) {
      if (bar.activity != activity || bar.micro_batch != micro_batch) continue;
      if (activity == Activity::Update && bar.item != everything) return;  // layer by layer, within the forward pass
      sum += bar.end - bar.start;
      from = std::min(from, bar.start);
      to = std::max(to, bar.end);
    }
    std::string text = title_of(activity) + " " + format_duration(to_seconds(sum));
    if (timeline_.micro_batches() && is_pass(activity)) text = fmt::format("{}: {}", micro_batch + 1, text);
    const double left = x(timeline_.at(from)), right = x(timeline_.at(to));
    if (text_width(text, style::small_size) > right - left) return;
    if (scale_ * to_seconds(sum) < (right - left) / 2) return;  // mostly waiting, which the caption would seem to name
    drawing_.add(Text{.at = {(left + right) / 2, top + 9.5},
                      .text = text,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = style::faint_ink,
                      .kind = "phase"});
  }

  void add_wait(const Interval& wait, double top) {
    const std::string length = format_duration(wait.to - wait.from);
    const double from = x(wait.from), width = x(wait.to) - from, wide = text_width(length, style::small_size) + 6;
    Look look = look_of_waiting();
    if (width < 3) look.line.reset();
    drawing_.add(Rectangle{{from, top, width, compute_height}, look, {"waiting", "computation waits " + length}});
    if (wide + 4 > width) return;
    drawing_.add(
        Rectangle{{from + (width - wide) / 2, top + 6, wide, compute_height - 12}, {.fill = colour(0xFFFFFF)}, {}});
    drawing_.add(Text{.at = {from + width / 2, top + compute_height / 2 + 3.4},
                      .text = length,
                      .size = style::small_size,
                      .align = Align::Middle,
                      .colour = style::vermilion,
                      .kind = "wait"});
  }
};

}  // namespace

double add_timeline_streams(const TimelineCanvas& canvas, double top) { return StreamPainter(canvas).add(top); }

}  // namespace allreplay
