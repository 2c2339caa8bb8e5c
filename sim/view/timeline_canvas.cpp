#include "sim/view/timeline_canvas.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/picture/style.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_rows = 8;  // of classes of workers

}  // namespace

const Look next_iteration_look{.fill = colour(0xE3EDF4)};
const char* const gradients_are_ready = "gradients are ready ↓";

DrawnIteration::DrawnIteration(const Outcome& one)
    : outcome(one), rows(timeline_rows(one, one.result.episodes.back())) {
  const Episode& episode = one.result.episodes.back();
  zero = episode.start;
  for (std::size_t c = 0; c < one.result.classes.size(); ++c) {
    starts.push_back(to_seconds(episode.timeline.spans[one.result.unrolled.lead_in(c)].end));
    ends.push_back(at(rows.streams[c].bars.back().end));
  }
  iteration = {*std::max_element(starts.begin(), starts.end()), *std::max_element(ends.begin(), ends.end())};
}

std::vector<Interval> DrawnIteration::waits(std::size_t c) const {
  std::vector<Interval> waits;
  double until = starts[c];
  for (const Bar& bar : rows.streams[c].bars) {
    if (at(bar.start) > until) waits.push_back({until, at(bar.start)});
    until = at(bar.end);
  }
  return waits;
}

std::size_t DrawnIteration::reference() const {
  const auto& classes = outcome.result.classes;
  const auto least = std::min_element(classes.begin(), classes.end(), [](const WorkerClass& a, const WorkerClass& b) {
    return a.slowdown < b.slowdown;
  });
  return static_cast<std::size_t>(least - classes.begin());
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

std::string DrawnIteration::gate_says() const {
  if (outcome.result.unrolled.decodes) return "decoding may begin ↑";
  return shards() ? "computing may go on ↑" : "forward may go on ↑";
}

bool is_of_block(const Bar& bar) {
  return bar.activity != Activity::Backward && bar.activity != Activity::Forward && bar.activity != Activity::Update;
}

std::string words_of(const Bar& bar, BlockWords words) {
  if (!is_of_block(bar)) return bar.name;
  switch (words) {
    case BlockWords::Tensors:
      return bar.tensors;
    case BlockWords::Block:
      return fmt::format("block {}", bar.item);
    default:
      return std::to_string(bar.item);
  }
}

BlockWords words_for(const std::vector<DrawnIteration>& timelines, double pixels_per_second) {
  constexpr double beside = 6;  // of the words, within their bar
  bool tensors = true, block = true;
  for (const DrawnIteration& one : timelines)
    for (const auto* rows : {&one.rows.streams, &one.rows.network})
      for (const TimelineRow& row : *rows)
        for (const Bar& bar : row.bars) {
          const double room = pixels_per_second * to_seconds(bar.end - bar.start) - beside;
          const auto fits = [&](BlockWords words) {
            return text_width(words_of(bar, words), style::small_size) <= room;
          };
          if (!is_of_block(bar) || !fits(BlockWords::Number)) continue;
          tensors = tensors && bar.tensors.find('[') == std::string::npos && fits(BlockWords::Tensors);  // no slices
          block = block && fits(BlockWords::Block);
        }
  return tensors ? BlockWords::Tensors : block ? BlockWords::Block : BlockWords::Number;
}

void TimelineCanvas::add_row_name(double middle, const std::string& name) {
  drawing_.add(Text{.at = {left_ - 8, middle + 3.5},
                    .text = fitted(name, 10, left_ - 8 - style::margin),
                    .size = 10,
                    .align = Align::End,
                    .colour = style::ink,
                    .kind = "row"});
}

}  // namespace allreplay
