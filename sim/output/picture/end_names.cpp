#include "sim/output/picture/end_names.hpp"

#include <algorithm>
#include <numeric>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

constexpr double name_size = 10, name_height = 13;
constexpr double to_sample = 18, to_name = 27;  // distances from the field

// Returns places at least `apart` from each other, in the order of those wanted and as near to them as possible by
// least squares: those that would touch are merged into a run and moved together.
std::vector<double> spread(const std::vector<double>& wanted, double apart, double from, double to) {
  struct Run {
    double sum = 0;  // of the members' wanted places, less their distances from the first
    std::size_t count = 0;
    double start = 0;
  };
  const auto start_of = [&](const Run& run) {
    const double last = to - apart * static_cast<double>(run.count - 1);
    return std::max(from, std::min(last, run.sum / static_cast<double>(run.count)));
  };
  std::vector<Run> runs;
  for (const double place : wanted) {
    runs.push_back({place, 1, 0});
    runs.back().start = start_of(runs.back());
    while (runs.size() > 1) {
      Run& before = runs[runs.size() - 2];
      const Run& last = runs.back();
      const double length = apart * static_cast<double>(before.count);
      if (before.start + length <= last.start) break;
      before.sum += last.sum - length * static_cast<double>(last.count);
      before.count += last.count;
      before.start = start_of(before);
      runs.pop_back();
    }
  }
  std::vector<double> places;
  for (const Run& run : runs)
    for (std::size_t i = 0; i < run.count; ++i) places.push_back(run.start + apart * static_cast<double>(i));
  return places;
}

}  // namespace

Look reference_look() { return {.line = style::faint_ink, .width = 1, .dashes = {2.5, 2.5}}; }

double width_of_end_names(const std::vector<EndName>& names) {
  double widest = 0;
  for (const EndName& name : names) widest = std::max(widest, text_width(name.text, name_size));
  return to_name + widest;
}

bool end_names_fit(std::size_t names, double height) {
  return name_height * static_cast<double>(names) <= height + name_height;
}

void add_end_names(Drawing& drawing, const Box& field, std::vector<EndName> names) {
  std::stable_sort(names.begin(), names.end(), [](const EndName& a, const EndName& b) { return a.end.y < b.end.y; });
  std::vector<double> wanted;
  for (const EndName& name : names) wanted.push_back(name.end.y);
  const std::vector<double> places =
      spread(wanted, name_height, field.y,
             std::max(field.bottom(), field.y + name_height * static_cast<double>(names.size() - 1)));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const EndName& name = names[i];
    const Position sample{field.right() + to_sample, places[i]};
    const std::size_t first = drawing.shapes.size();
    Look lead = name.look ? line_look(*name.look) : reference_look();
    lead.width = 0.7;
    if (name.look) lead.dashes.clear();
    drawing.add(Path{.points = {name.end, {sample.x - 6, sample.y}}, .look = lead, .meaning = {"lead", name.text}});
    if (name.look)
      add_marker(drawing, *name.look, sample);
    else
      drawing.add(Path{.points = {{sample.x - 6, sample.y}, {sample.x + 6, sample.y}}, .look = reference_look()});
    drawing.add(Text{.at = {field.right() + to_name, sample.y + 3.6},
                     .text = name.text,
                     .size = name_size,
                     .colour = style::ink,
                     .kind = "series"});
    drawing.mark_series(name.text, first);
  }
}

}  // namespace allreplay
