#include "sim/output/view/timeline_canvas.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_rows = 8;  // rows of classes of workers

std::vector<Interval> common(const std::vector<Interval>& some, const std::vector<Interval>& others) {
  std::vector<Interval> both;
  for (const Interval& a : some)
    for (const Interval& b : others) {
      const Interval part{std::max(a.from, b.from), std::min(a.to, b.to)};
      if (part.to > part.from) both.push_back(part);
    }
  return both;
}

constexpr double thin = 1.2;  // in pixels: thinner bars are merged with their neighbours

// Returns the longest caption that fits: a block's tensors or its number in the plan, any other bar's name.
std::string caption_of(const Bar& bar, double room) {
  const bool is_block = bar.activity > Activity::Update && bar.item != Payload::just_bytes;
  const std::string number = is_block ? std::to_string(bar.item) : "";
  for (const std::string& words : {is_block ? bar.tensors : bar.name, number})
    if (text_width(words, style::small_size) + 6 <= room) return words;
  return "";
}

}  // namespace

const Look next_iteration_look{.fill = colour(0xE3EDF4)};
const char* const gradients_are_ready = "gradients are ready ↓";
const Look send_look{.line = colour(0x8F5577), .width = 0.6};

std::string length_and_time(double from, double to) {
  return fmt::format("{}, from {} to {}", format_duration(to - from), format_duration(from), format_duration(to));
}

Look edged(Look look, bool is_large) {
  if (is_large) look.line = colour(0xFFFFFF), look.width = 0.7;
  return look;
}

DrawnIteration::DrawnIteration(const Outcome& one, std::string its_name)
    : outcome(one), name(std::move(its_name)), rows(timeline_rows(one, one.result.episodes.back())) {
  pipeline() ? set_times_of_ranks() : set_times();
  has_inside = std::ranges::any_of(rows.streams, [](const TimelineRow& row) {
    return std::ranges::any_of(row.bars, [](const Bar& bar) { return is_inside_layer(bar.activity); });
  });
}

void DrawnIteration::set_times() {
  const Episode& episode = outcome.result.episodes.back();
  zero = episode.start;
  for (std::size_t c = 0; c < outcome.result.classes.size(); ++c) {
    starts.push_back(to_seconds(episode.timeline.spans[outcome.result.unrolled.lead_in(c)].end));
    ends.push_back(at(rows.streams[c].bars.back().end));
  }
  // A mark draws nothing, but the work after it may wait for a transfer.
  const std::vector<Label>& labels = outcome.result.unrolled.labels;
  for (TaskId task = 0; task < labels.size(); ++task)
    if (labels[task].kind == Activity::Mark)
      ends[labels[task].worker_class] =
          std::max(ends[labels[task].worker_class], to_seconds(episode.timeline.spans[task].end));
  iteration = {*std::max_element(starts.begin(), starts.end()), *std::max_element(ends.begin(), ends.end())};
}

// A rank's iteration begins with its first work, or for all ranks with the episode if the plan runs them together.
void DrawnIteration::set_times_of_ranks() {
  const Result& result = outcome.result;
  zero = rows.streams[0].bars.front().start;
  for (const auto* part : {&rows.streams, &rows.network})
    for (const TimelineRow& row : *part) zero = std::min(zero, row.bars.front().start);
  if (result.plan.together) zero = result.episodes.back().start;
  for (const TimelineRow& row : rows.streams) {
    starts.push_back(result.plan.together ? 0 : at(row.bars.front().start));
    ends.push_back(starts.back() + result.metrics.iteration_s);
  }
  iteration = {starts.front(), ends.front()};
}

std::vector<Interval> DrawnIteration::gaps(const TimelineRow& row, double from, double to) const {
  std::vector<Interval> gaps;
  for (const Bar& bar : row.bars) {
    if (at(bar.start) > from) gaps.push_back({from, at(bar.start)});
    from = at(bar.end);
  }
  if (to > from) gaps.push_back({from, to});
  return gaps;
}

std::vector<Interval> DrawnIteration::waits(std::size_t c) const { return gaps(rows.streams[c], starts[c], ends[c]); }

std::vector<Interval> DrawnIteration::exposing() const {
  if (pipeline()) {
    std::vector<Interval> all = waits(0);
    for (std::size_t c = 1; c < ends.size(); ++c) all = common(all, waits(c));
    for (const TimelineRow& row : rows.network)
      if (row.bars.front().activity == Activity::Send) all = common(all, gaps(row, iteration.from, iteration.to));
    return all;
  }
  const auto& classes = outcome.result.classes;
  const auto least = std::min_element(classes.begin(), classes.end(), [](const WorkerClass& a, const WorkerClass& b) {
    return a.slowdown < b.slowdown;
  });
  return waits(static_cast<std::size_t>(least - classes.begin()));
}

std::vector<std::size_t> DrawnIteration::shown() const {
  std::vector<std::size_t> shown(ends.size());
  for (std::size_t c = 0; c < shown.size(); ++c) shown[c] = c;
  if (shown.size() <= most_rows) return shown;
  std::stable_sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) { return ends[a] > ends[b]; });
  shown.resize(most_rows);
  std::sort(shown.begin(), shown.end());
  return shown;
}

std::string DrawnIteration::gate_text() const {
  if (outcome.result.unrolled.decodes) return "decoding may begin ↑";
  return shards() ? "computation may continue ↑" : "forward may continue ↑";
}

void TimelineCanvas::add_row_name(double middle, const std::string& name) {
  drawing_.add(Text{.at = {left_ - 8, middle + 3.5},
                    .text = fitted(name, 10, left_ - 8 - style::margin),
                    .size = 10,
                    .align = Align::End,
                    .colour = style::ink,
                    .kind = "row"});
}

void TimelineCanvas::add_next(std::size_t c, double top, double height) {
  const double end = x(timeline_.ends[c]);
  drawing_.add(
      Rectangle{{end, top, next_iteration_width, height}, next_iteration_look, {"next", "the next iteration"}});
  drawing_.add(Path{.points = {{end, top - 2}, {end, top + height + 2}}, .look = {.line = style::ink, .width = 1.2}});
}

void TimelineCanvas::add_arrow(const std::vector<Position>& points, const Look& line, double head,
                               const Meaning& meaning) {
  drawing_.add(Path{.points = points, .look = line, .meaning = meaning});
  const Position &from = points[points.size() - 2], &to = points.back();
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const double ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
  const Position base{to.x - head * ux, to.y - head * uy};
  drawing_.add(Path{.points = {to,
                               {base.x - 0.45 * head * uy, base.y + 0.45 * head * ux},
                               {base.x + 0.45 * head * uy, base.y - 0.45 * head * ux}},
                    .closed = true,
                    .look = {.fill = line.line}});
}

void TimelineCanvas::add_bars(const TimelineRow& row, double top, double height) {
  for (std::size_t first = 0; first < row.bars.size();) {
    const std::size_t last = last_of_group(row, first);
    if (row.bars[last].end > row.bars[first].start) add_group(row, first, last, top, height);
    first = last + 1;
  }
}

void TimelineCanvas::add_strip(std::size_t c, double top, double shrink) {
  struct Sum {
    std::size_t count = 0;
    Bytes bytes = 0;
    Bar last;
    Time length{0};
  };
  std::map<Activity, Sum> sums;
  Time all{0};
  const auto draw = [&](Time end) {
    double at = timeline_.at(end - all);
    for (const auto& [activity, sum] : sums) {
      const double length = to_seconds(sum.length), width = scale_ * length;
      const std::string what = title_of(activity);
      const std::string says = sum.count == 1
                                   ? fmt::format("{} {}: {}", what, sum.last.name, length_and_time(at, at + length))
                                   : fmt::format("{}: {} in {} layers", what, format_duration(length), sum.count);
      Look look = look_of(activity);
      if (width < thin) look.line = look.fill, look.width = 0.6;
      drawing_.add(Rectangle{{x(at), top + shrink, width, shrink * (strip_height() - 1)},
                             look,
                             {what, fmt::format("{}, {}", says, format_size(sum.bytes))}});
      at += length;
    }
    sums.clear();
    all = Time(0);
  };
  Time end{0};
  for (const Bar& bar : timeline_.rows.streams[c].bars) {
    if (!is_inside_layer(bar.activity)) continue;
    Sum& sum = sums[bar.activity];
    sum = {sum.count + 1, sum.bytes + bar.bytes, bar, sum.length + (bar.end - bar.start)};
    all += bar.end - bar.start;
    end = bar.end;
    if (scale_ * to_seconds(all) >= thin * static_cast<double>(sums.size())) draw(end);
  }
  draw(end);
}

void TimelineCanvas::add_labels(const TimelineRow& row, double top, double height) {
  for (const Bar& bar : row.bars)
    add_label(bar, {x(timeline_.at(bar.start)), top, scale_ * to_seconds(bar.end - bar.start), height});
}

// Returns the last bar of a group that is drawn as one shape: bars without gaps, as long as together they are thin.
std::size_t TimelineCanvas::last_of_group(const TimelineRow& row, std::size_t first) const {
  const auto width = [&](std::size_t from, std::size_t to) {
    return scale_ * to_seconds(row.bars[to].end - row.bars[from].start);
  };
  std::size_t last = first;
  while (last + 1 < row.bars.size() && row.bars[last + 1].activity == row.bars[first].activity &&
         row.bars[last + 1].start == row.bars[last].end &&
         (width(first, last) < thin || width(last + 1, last + 1) < thin) && width(first, last + 1) < 2 * thin)
    ++last;
  return last;
}

void TimelineCanvas::add_group(const TimelineRow& row, std::size_t first, std::size_t last, double top, double height) {
  const Bar &from = row.bars[first], &to = row.bars[last];
  const double start = timeline_.at(from.start), end = timeline_.at(to.end), width = scale_ * (end - start);
  const std::string what = title_of(from.activity);
  std::string count = first == last ? "" : fmt::format(" and {} more", last - first);
  if (timeline_.micro_batches() && from.activity != Activity::Update && from.activity != Activity::HostStep)
    count += fmt::format(" (micro-batch {})", from.micro_batch + 1);
  std::string transfer;
  if (from.activity >= Activity::Transfer) {
    Bytes bytes = 0;
    for (std::size_t i = first; i <= last; ++i) bytes += row.bars[i].bytes;
    transfer = ", " + format_size(bytes);
    if (from.start > from.ready) transfer += ", waited " + format_duration(to_seconds(from.start - from.ready));
  }
  Look look = edged(look_of(from.activity), width > 3 && height > 4);
  if (width < thin) {  // otherwise it would fade
    look.line = look.fill;
    look.width = 0.6;
  }
  drawing_.add(
      Rectangle{{x(start), top, width, height},
                look,
                {what, fmt::format("{} {}{}: {}{}", what, from.name, count, length_and_time(start, end), transfer)}});
}

// Writes the caption if it fits.
void TimelineCanvas::add_label(const Bar& bar, const Box& box) {
  constexpr double size = style::small_size;
  if (box.height < size + 2) return;
  const std::string words = caption_of(bar, box.width);
  if (words.empty()) return;
  const double width = text_width(words, size) + 4, middle = box.x + box.width / 2;
  const Box patch{middle - width / 2, box.y + 3, width, box.height - 6};  // keeps hatches from crossing the letters
  drawing_.add(Rectangle{patch, {.fill = look_of(bar.activity).fill}, {}});
  drawing_.add(Text{.at = {box.x + box.width / 2, box.y + box.height / 2 + 3.4},
                    .text = words,
                    .size = size,
                    .align = Align::Middle,
                    .colour = ink_on(bar.activity),
                    .kind = "name"});
}

}  // namespace allreplay
