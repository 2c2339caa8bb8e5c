#include "sim/output/picture/row_chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/output/picture/axes.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

const Look mark_look{.line = style::ink, .width = 1.6, .dashes = {5, 2.5}};

bool has_bars(const RowChart& chart) {
  return std::ranges::any_of(chart.rows, [](const ChartRow& row) { return !row.parts.empty(); });
}

template <class Visit>
void for_each_error(const ChartRow& row, const Visit& visit) {
  if (row.error) visit(*row.error);
  for (const RowDot& dot : row.dots)
    if (dot.error) visit(*dot.error);
}

// The least and the greatest number shown.
std::pair<double, double> extent_of(const RowChart& chart) {
  double least = std::numeric_limits<double>::infinity(), greatest = -least;
  const auto add = [&](double value) {
    if (!std::isfinite(value)) throw std::logic_error("a chart of rows with a number that is not finite");
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  };
  for (const ChartRow& row : chart.rows) {
    double end = 0;
    for (const RowPart& part : row.parts) add(end += part.value);
    for (const RowDot& dot : row.dots) add(dot.value);
    if (row.box)
      for (const double value : {row.box->least, row.box->middle, row.box->most}) add(value);
    for_each_error(row, [&](const RowError& error) {
      for (const double value : {error.low, error.high})
        if (value > 0 || chart.x.spacing == Spacing::Linear) add(value);
    });
  }
  if (chart.mark) add(chart.mark->value);
  return {least, std::min(greatest, chart.x.to.value_or(greatest))};
}

double widest(const std::vector<ChartRow>& rows, std::string ChartRow::*text, std::string_view font = usual_font) {
  double widest = 0;
  for (const ChartRow& row : rows) widest = std::max(widest, text_width(row.*text, style::text_size, false, font));
  return widest;
}

double width_of_ends(const RowChart& chart, std::string_view font = usual_font) {
  return std::max(widest(chart.rows, &ChartRow::end, font) + 8, style::margin);
}

class RowPainter {
 public:
  RowPainter(Drawing& drawing, const Box& room, const RowChart& chart)
      : drawing_(drawing),
        chart_(chart),
        names_(std::min(widest(chart.rows, &ChartRow::name, drawing.font), 0.55 * room.width)),
        row_height_(std::max(chart.row_height, most_lines() * name_line + 3)),
        field_(field_in(room)),
        inset_(has_bars(chart) ? 0 : 8),
        scale_(scale_with_room(chart.x, extent_of(chart), field_.width, drawing.font)) {
    if (chart.rows.empty() || (has_bars(chart) && chart.x.spacing != Spacing::Linear))
      throw std::logic_error("a chart without rows, or bars on a logarithmic axis");
  }

  double paint() {
    const double bottom = add_axis_below(drawing_, field_, chart_.x, scale_, inset_);
    for_each_row([&](const ChartRow& row, double y) { add_bar(row, y); });
    if (chart_.mark)
      drawing_.add(Path{.points = {{x_of(chart_.mark->value), field_.y}, {x_of(chart_.mark->value), field_.bottom()}},
                        .look = mark_look,
                        .meaning = {"mark", chart_.mark->name}});
    for_each_row([&](const ChartRow& row, double y) {
      for (const RowDot& dot : row.dots) {
        if (dot.error) add_error(*dot.error, {.line = series_look(dot.style).colour}, y);
        add_marker(drawing_, series_look(dot.style), {x_of(dot.value), y}, {"point", dot.title});
        if (dot.crossed) add_cross(drawing_, {x_of(dot.value), y});
      }
    });
    if (has_bars(chart_))
      drawing_.add(Path{.points = {{x_of(0), field_.y}, {x_of(0), field_.bottom()}},
                        .look = {.line = style::ink, .width = 0.8}});
    return bottom;
  }

 private:
  static constexpr double name_line = 12;

  std::vector<std::string> lines_of_name(const ChartRow& row) const {
    return wrapped(row.name, style::text_size, names_, false, drawing_.font);
  }

  double most_lines() const {
    std::size_t most = 1;
    for (const ChartRow& row : chart_.rows) most = std::max(most, lines_of_name(row).size());
    return static_cast<double>(most);
  }

  double gap() const { return 0.32 * chart_.row_height; }

  Box field_in(const Box& room) const {
    const auto groups = std::ranges::count_if(chart_.rows, &ChartRow::starts_group);
    const double left = names_ + 8;
    return {room.x + left, room.y, room.width - left - width_of_ends(chart_, drawing_.font),
            row_height_ * static_cast<double>(chart_.rows.size()) + gap() * static_cast<double>(groups + 1)};
  }

  double x_of(double value) const {
    const double shown = std::min(value, chart_.x.to.value_or(value));
    return field_.x + inset_ + (field_.width - 2 * inset_) * scale_.share(shown);
  }

  // Visits each row with the height of its middle, and assigns the shapes drawn to its series.
  template <class Visit>
  void for_each_row(const Visit& visit) {
    double top = field_.y + gap() / 2;
    for (const ChartRow& row : chart_.rows) {
      if (row.starts_group) top += gap();
      const std::size_t first = drawing_.shapes.size();
      visit(row, top + row_height_ / 2);
      drawing_.mark_series(row.series, first);
      top += row_height_;
    }
  }

  void add_bar(const ChartRow& row, double y) {
    const double thickness = chart_.row_height - gap();
    const auto write = [&](double x, double middle, const std::string& text, Align align, const char* kind) {
      drawing_.add(Text{.at = {x, middle + 4}, .text = text, .align = align, .colour = style::ink, .kind = kind});
    };
    const std::vector<std::string> names = lines_of_name(row);
    double line = y - name_line / 2 * static_cast<double>(names.size() - 1);
    for (const std::string& name : names) {
      write(field_.x - 8, line, name, Align::End, "row");
      line += name_line;
    }
    if (!row.dots.empty())
      drawing_.add(Path{.points = {{field_.x, y}, {field_.right(), y}}, .look = {.line = style::grid, .width = 0.5}});
    double end = 0;
    for (const RowPart& part : row.parts) {
      const auto [left, right] = std::minmax({x_of(end), x_of(end + part.value)});
      end += part.value;
      if (part.value != 0)
        drawing_.add(Rectangle{{left, y - thickness / 2, right - left, thickness},
                               part.look,
                               {"part", fmt::format("{}, {}: {}", row.name, part.name, chart_.x.label(part.value))}});
    }
    if (row.box) add_box(*row.box, y, thickness);
    if (row.error)
      for (const Look& look : {Look{.line = colour(0xFFFFFF), .width = 3}, Look{.line = style::ink}})
        add_error(*row.error, look, y);
    if (row.crossed) add_cross(drawing_, {x_of(row.box ? row.box->most : end) - 7, y});
    if (!row.end.empty()) write(field_.right() + 8, y, row.end, Align::Start, "end");
  }

  void add_box(const RowBox& box, double y, double thickness) {
    add_error({box.least, box.most}, {.line = style::ink}, y);
    const auto place = [&](double value) { return std::clamp(x_of(value), field_.x, field_.right()); };
    const double left = place(box.low), right = place(box.high), middle = x_of(box.middle);
    if (right > left)
      drawing_.add(Rectangle{{left, y - thickness / 2, right - left, thickness}, box.look, {"box", box.title}});
    if (middle >= field_.x && middle <= field_.right())
      drawing_.add(Path{.points = {{middle, y - thickness / 2}, {middle, y + thickness / 2}},
                        .look = {.line = style::ink, .width = 2},
                        .meaning = {"median", box.title}});
  }

  // Ends beyond the axis, and those that a logarithmic axis cannot show, are cut off and have no cap.
  void add_error(const RowError& error, const Look& look, double y) {
    const double left = field_.x + inset_, right = field_.right() - inset_;
    const auto place = [&](double value) { return left + (right - left) * scale_.share(value); };
    const double low = place(error.low), high = place(error.high);
    if (low >= right || high <= left) return;
    const bool low_in = low >= left, high_in = high <= right;
    add_error_bar(drawing_, look, {low_in ? low : left, y}, {high_in ? high : right, y}, low_in, high_in);
  }

  Drawing& drawing_;
  const RowChart& chart_;
  double names_;  // width
  double row_height_;
  Box field_;
  double inset_;  // distance of dots from the sides of the field
  Scale scale_;
};

}  // namespace

std::vector<LegendEntry> legend_of(const RowChart& chart) {
  std::vector<LegendEntry> legend;
  for (const ChartRow& row : chart.rows)
    for (const RowPart& part : row.parts)
      if (part.value != 0 && part.name != row.name &&
          std::ranges::find(legend, part.name, &LegendEntry::name) == legend.end())
        legend.push_back(swatch(part.name, part.look));
  if (chart.mark && !chart.mark->name.empty())
    legend.push_back({chart.mark->name, [](Drawing& on, const Box& box) {
                        const double x = box.x + box.width / 2;
                        on.add(Path{.points = {{x, box.y - 2}, {x, box.bottom() + 2}}, .look = mark_look});
                      }});
  return legend;
}

double add_row_chart(Drawing& drawing, const Box& room, const RowChart& chart) {
  return RowPainter(drawing, room, chart).paint();
}

Drawing draw(const RowChart& chart) {
  constexpr double least_width = 760, least_field = 340;
  const double around_field = widest(chart.rows, &ChartRow::name) + width_of_ends(chart) + 8;
  Drawing drawing{.width = std::max(least_width, around_field + least_field + 2 * style::margin), .title = chart.title};
  double top = add_title(drawing, style::margin, chart.title);
  if (!chart.verdict.empty()) top = add_text(drawing, top + 4, chart.verdict);
  top = add_legend(drawing, top + 6, legend_of(chart)) + 8;
  const double bottom = add_row_chart(drawing, {style::margin, top, drawing.width - 2 * style::margin, 0}, chart);
  drawing.height = add_note(drawing, bottom + 4, chart.note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
