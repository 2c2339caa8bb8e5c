#include <fmt/format.h>

#include "sim/output/picture/style.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/timeline_canvas.hpp"

namespace allreplay {

namespace {

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

void TimelineCanvas::add_bars(const TimelineRow& row, double top, double height) {
  for (std::size_t first = 0; first < row.bars.size();) {
    const std::size_t last = last_of_group(row, first);
    if (row.bars[last].end > row.bars[first].start) add_group(row, first, last, top, height);
    first = last + 1;
  }
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
