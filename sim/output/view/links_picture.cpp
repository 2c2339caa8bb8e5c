#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/inputs/cluster/topology_spec.hpp"
#include "sim/output/picture/drawing_parts.hpp"
#include "sim/output/picture/series_look.hpp"
#include "sim/output/picture/style.hpp"
#include "sim/output/report/phrases.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/topology_sketch.hpp"
#include "sim/replay/training/link_usage.hpp"

namespace allreplay {

namespace {

constexpr double slide = 960, names_column = 100, facts_column = 236;
constexpr double field_left = style::margin + names_column,
                 field_width = slide - 2 * style::margin - names_column - facts_column;
constexpr double radius = 4.5, line_height = 14;

// Returns a colour from pale grey (unused) through orange to dark red (fully used).
Colour heat(double use) {
  const double at = std::clamp(use, 0.0, 1.0);
  constexpr Colour cold = colour(0xD8D8D8), warm = style::orange, hot = colour(0x8B0000);
  return at < 0.5 ? mixed(cold, warm, 2 * at) : mixed(warm, hot, 2 * at - 1);
}

std::string rates_text(const KindUse& kind) {
  if (kind.down == kind.links) return "down";
  std::string text = format_rate(kind.slowest);
  if (kind.slowest < kind.fastest) text += " to " + format_rate(kind.fastest);
  return kind.down > 0 ? fmt::format("{}, {} down", text, kind.down) : text;
}

// Width grows with utilisation as well, so that links differ in greyscale print.
Look used_look(double use) { return {.line = heat(use), .width = 0.8 + 3.2 * std::clamp(use, 0.0, 1.0)}; }
Look down_look() { return {.line = style::faint_ink, .width = 1, .dashes = {4, 3}}; }
Look unused_look() { return {.line = colour(0x999999), .width = 1}; }

LegendEntry line_sample(const std::string& name, const Look& look, bool crossed = false) {
  return {name, [look, crossed](Drawing& on, const Box& box) {
            const double y = box.y + box.height / 2;
            on.add(Path{.points = {{box.x, y}, {box.right(), y}}, .look = look});
            if (crossed) add_cross(on, {box.x + box.width / 2, y});
          }};
}

class LinksPicture {
 public:
  LinksPicture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title)
      : usage_(usage), drawing_{.width = slide, .title = title}, grid_(spec, field_width) {
    const auto nodes = static_cast<std::size_t>(usage.topology->nodes());
    sketch_ = sketch_of(usage, grid_.step > 0 ? SketchLimits{.alone = nodes} : SketchLimits{});
    double top = add_title(drawing_, style::margin, title);
    top = add_legend(drawing_, top + 6, legend()) + 6;
    layout_ = lay_out(sketch_, grid_, {field_left, top, field_width, 0});
  }

  Drawing draw() {
    set_names();
    for (const EqualParts& part : sketch_.parts) add_frame(part);
    std::vector<const Cable*> order;
    for (const Cable& cable : sketch_.cables) order.push_back(&cable);
    std::stable_sort(order.begin(), order.end(), [](const Cable* a, const Cable* b) {
      return std::pair(a->down > 0, std::max(a->there, a->back)) <
             std::pair(b->down > 0, std::max(b->there, b->back));  // links that are down and busy ones on top
    });
    for (const Cable* cable : order) add_cable(*cable);
    for (std::size_t spot = 0; spot < sketch_.spots.size(); ++spot) add_spot(spot);
    for (const EqualParts& part : sketch_.parts) add_count(part);
    add_row_names();
    const double bottom = std::max(layout_.bottom, add_facts());
    drawing_.height = add_note(drawing_, bottom, note()) + style::margin - 4;
    return std::move(drawing_);
  }

 private:
  bool is_used() const { return !usage_.sent.empty(); }

  std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> entries;
    if (is_used())
      for (const double use : {0.0, 0.25, 0.5, 0.75, 1.0})
        entries.push_back(line_sample(fmt::format("{:.0f} %", 100 * use), used_look(use)));
    if (std::any_of(sketch_.cables.begin(), sketch_.cables.end(), [](const Cable& one) { return one.down > 0; }))
      entries.push_back(line_sample("down", down_look(), true));
    return entries;
  }

  std::string note() const {
    std::string text;
    if (is_used())
      text =
          fmt::format("use of each link's bandwidth over {}, in the busier direction", format_duration(usage_.seconds));
    if (sketch_.spots.size() < static_cast<std::size_t>(usage_.topology->nodes()))
      text += fmt::format("{}×: number of equal parts, drawn once{}", text.empty() ? "" : "; ",
                          is_used() ? ", each link the most used of them" : "");
    return text;
  }

  std::string label(const Spot& spot) const {
    const std::string name = usage_.topology->name(spot.node);
    return spot.count > 1 ? fmt::format("{} ×{}", node_kind(name), spot.count) : name;
  }
  double half_width(std::size_t spot) const {
    return text_width(label(sketch_.spots[spot]), style::small_size) / 2 + 2;
  }

  // Hides the names at a height (in a circle: all names) if they would overlap; hovering still shows them.
  void set_names() {
    const bool circle = sketch_.rows.size() == 1 && grid_.step == 0;
    std::map<double, std::vector<std::size_t>> groups;
    for (std::size_t spot = 0; spot < sketch_.spots.size(); ++spot)
      groups[circle ? 0 : std::round(layout_.at[spot].y)].push_back(spot);
    const auto collide = [&](std::size_t one, std::size_t other) {
      const Position &a = layout_.at[one], &b = layout_.at[other];
      return std::abs(a.x - b.x) < half_width(one) + half_width(other) && std::abs(a.y - b.y) < 13;
    };
    named_.assign(sketch_.spots.size(), false);
    for (const auto& [height, spots] : groups) {
      bool room = grid_.step == 0 || grid_.step >= 30;
      for (std::size_t i = 0; i < spots.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) room = room && !collide(spots[i], spots[j]);
      for (const std::size_t spot : spots)
        room = room &&
               std::abs(layout_.at[spot].x - field_left - field_width / 2) + half_width(spot) <= field_width / 2 + 8;
      for (const std::size_t spot : spots) named_[spot] = room;
    }
  }

  // Returns the number of parts nested in this one.
  std::ptrdiff_t depth(const EqualParts& part) const {
    return std::count_if(sketch_.parts.begin(), sketch_.parts.end(), [&](const EqualParts& other) {
      return other.spots.size() < part.spots.size() &&
             std::includes(part.spots.begin(), part.spots.end(), other.spots.begin(), other.spots.end());
    });
  }

  Box frame(const EqualParts& part) const {
    double left = slide, right = 0, top = layout_.bottom, bottom = 0;
    for (const std::size_t spot : part.spots) {
      const Position& at = layout_.at[spot];
      const double half = named_[spot] ? half_width(spot) : radius + 2;
      left = std::min(left, at.x - half);
      right = std::max(right, at.x + half);
      top = std::min(top, at.y);
      bottom = std::max(bottom, at.y);
    }
    const double room = 3 + 5 * static_cast<double>(std::min<std::ptrdiff_t>(depth(part), 4));
    return {left - room, top - 12 - room, right - left + 2 * room, bottom - top + 44 + 2 * room};
  }

  void add_frame(const EqualParts& part) {
    drawing_.add(
        Rectangle{frame(part), {.line = colour(0xAAAAAA), .width = 1}, {"part", fmt::format("×{}", part.count)}});
  }

  // Writes the count of equal parts below the workers if no link is in the way; if the part contains other parts, at
  // its upper edge.
  void add_count(const EqualParts& part) {
    const Box box = frame(part);
    const double y = depth(part) == 0 ? box.bottom() - 4 : box.y + 4;
    add_label({box.right() - 4, y}, fmt::format("×{}", part.count), style::text_size, Align::End, true);
  }

  // Draws text on a white background, because lines pass below it.
  void add_label(const Position& at, const std::string& text, double size, Align align, bool bold) {
    const double width = text_width(text, size, bold), left = align == Align::End ? at.x - width : at.x - width / 2;
    drawing_.add(Rectangle{{left - 1, at.y - size + 0.5, width + 2, size + 2}, {.fill = colour(0xFFFFFF)}, {}});
    drawing_.add(Text{.at = at,
                      .text = text,
                      .size = size,
                      .align = align,
                      .colour = style::ink,
                      .bold = bold,
                      .kind = bold ? "count" : "name"});
  }

  std::string meaning(const Cable& cable) const {
    const auto end = [&](std::size_t spot, LinkId from) {
      return sketch_.spots[spot].count > 1 ? label(sketch_.spots[spot])
                                           : usage_.topology->name(usage_.topology->port(from));
    };
    std::string text = fmt::format("{} - {}", end(cable.a, cable.link), end(cable.b, cable.link ^ 1U));
    if (cable.count > 1) text += fmt::format(" ({} links{})", cable.count, is_used() ? ", the most used" : "");
    if (cable.is_down()) return text + ": down";
    if (is_used()) text += fmt::format(": {} there, {} back", percent(cable.there), percent(cable.back));
    return cable.down > 0 ? fmt::format("{}, {} down", text, cable.down) : text;
  }

  void add_cable(const Cable& cable) {
    const Look look = cable.is_down() ? down_look()
                      : is_used()     ? used_look(std::max(cable.there, cable.back))
                                      : unused_look();
    const Meaning what{"link", meaning(cable)};
    const Position a = layout_.at[cable.a], b = layout_.at[cable.b];
    if (cable.a == cable.b) {  // links nodes that are drawn as one
      drawing_.add(Circle{.centre = {a.x, a.y - 3 * radius}, .radius = 3 * radius, .look = look, .meaning = what});
      return;
    }
    const double far = std::hypot(b.x - a.x, b.y - a.y);
    if (grid_.step > 0 && far > 1.5 * grid_.step) {  // would cover others: draws only its ends
      const Position out = way_out(cable, a, b, far);
      drawing_.add(Path{.points = {a, {a.x + out.x, a.y + out.y}}, .look = look, .meaning = what});
      drawing_.add(Path{.points = {b, {b.x - out.x, b.y - out.y}}, .look = look, .meaning = what});
      if (cable.down > 0) add_cross(drawing_, {a.x + out.x, a.y + out.y});
      return;
    }
    const std::vector<Position> points = way(cable, a, b, far);
    drawing_.add(Path{.points = points, .look = look, .meaning = what});
    if (cable.down == 0) return;
    const Position &left = points[(points.size() - 1) / 2], &right = points[points.size() / 2];
    add_cross(drawing_, {(left.x + right.x) / 2, (left.y + right.y) / 2});
  }

  // Returns the direction in which a link leaves `a`: beyond the edge of the grid, or diagonally towards the next or
  // previous slab.
  Position way_out(const Cable& cable, const Position& a, const Position& b, double far) const {
    const double length = std::min(12.0, 0.45 * grid_.step);
    const std::size_t from = grid_.slab(cable.a), to = grid_.slab(cable.b);
    if (from == to) return {length * (a.x - b.x) / far, length * (a.y - b.y) / far};
    const double askew = 0.7 * (to == from + 1 ? length : -length);
    return {askew, -askew};
  }

  static std::vector<Position> bow(const Position& a, const Position& b, const Position& height) {
    constexpr int pieces = 12;
    std::vector<Position> points;
    for (int i = 0; i <= pieces; ++i) {
      const double t = static_cast<double>(i) / pieces, high = 4 * t * (1 - t);
      points.push_back({a.x + t * (b.x - a.x) + high * height.x, a.y + t * (b.y - a.y) + high * height.y});
    }
    return points;
  }

  // Returns the points of a link: a bow within one of several rows, or past a node; otherwise a straight line.
  std::vector<Position> way(const Cable& cable, const Position& a, const Position& b, double far) const {
    const std::size_t row = sketch_.spots[cable.a].row, other = sketch_.spots[cable.b].row;
    if (layout_.row.size() > 1 && row == other) return bow(a, b, {0, -10 - std::min(0.06 * far, 18.0)});
    const std::size_t rows = std::max(row, other) - std::min(row, other);
    if (a.x == b.x && rows > 1) return bow(a, b, {14 * static_cast<double>(rows), 0});
    return {a, b};
  }

  void add_spot(std::size_t spot) {
    const Position& at = layout_.at[spot];
    drawing_.add(Circle{.centre = at,
                        .radius = grid_.step > 0 ? std::min(radius, 0.2 * grid_.step) : radius,
                        .look = {.fill = colour(0xFFFFFF), .line = style::ink, .width = 1},
                        .meaning = {"node", label(sketch_.spots[spot])}});
    if (named_[spot]) add_label({at.x, at.y + 17}, label(sketch_.spots[spot]), style::small_size, Align::Middle, false);
  }

  void add_row_names() {
    for (std::size_t row = 0; row < sketch_.rows.size(); ++row) {
      const auto& [kind, nodes] = sketch_.rows[row];
      const std::string text = nodes > 1 ? fmt::format("{} ×{}", kind, nodes) : kind;
      drawing_.add(Text{.at = {style::margin, layout_.row[row] + 4},
                        .text = fitted(text, style::text_size, names_column - 8, true),
                        .colour = style::ink,
                        .bold = true,
                        .kind = "row"});
    }
  }

  // Writes the number, bandwidth and utilisation of each kind of link, from the top down, near its height. Returns
  // their bottom.
  double add_facts() {
    constexpr std::size_t most = 12;
    const std::vector<KindUse> uses = use_by_kind(usage_);
    std::map<std::uint32_t, double> heights;  // by kind
    const auto links = usage_.topology->links();
    for (LinkId link = 0; link < links.size(); link += 2) {
      const auto [low, high] = std::minmax(sketch_.row_of[links[link].from], sketch_.row_of[links[link].to]);
      heights.emplace(usage_.kind_of[link], (layout_.row[high] + layout_.row[low == high ? high : high - 1]) / 2);
    }
    std::vector<std::uint32_t> kinds;
    for (const auto& [kind, height] : heights) kinds.push_back(kind);
    std::ranges::stable_sort(kinds, {},
                             [&](std::uint32_t kind) { return std::pair(heights[kind], -uses[kind].busiest); });
    double free = 0;
    for (std::size_t i = 0; i < std::min(kinds.size(), most); ++i)
      free = add_facts_of(usage_.kinds[kinds[i]], uses[kinds[i]], std::max(free, heights[kinds[i]] - line_height)) + 4;
    if (kinds.size() > most) free = add_fact(fmt::format("and {} more kinds", kinds.size() - most), free, false);
    return free;
  }

  double add_facts_of(const std::string& kind, const KindUse& use, double y) {
    y = add_fact(kind, y, true);
    y = add_fact(fmt::format("{} × {}", use.links, rates_text(use)), y, false);
    if (!is_used()) return y;
    const double x = slide - style::margin - facts_column + 20, middle = y + line_height / 2;
    drawing_.add(Path{.points = {{x, middle}, {x + 16, middle}}, .look = used_look(use.busiest)});
    drawing_.add(Text{.at = {x + 22, y + 11},
                      .text = use.busiest > 0
                                  ? fmt::format("mean {}, busiest {}", percent(use.mean), percent(use.busiest))
                                  : "not used",
                      .colour = style::ink,
                      .kind = "use"});
    return y + line_height;
  }

  double add_fact(const std::string& text, double y, bool bold) {
    for (const std::string& line : wrapped(text, style::text_size, facts_column - 20, bold)) {
      drawing_.add(Text{.at = {slide - style::margin - facts_column + 20, y + 11},
                        .text = line,
                        .colour = style::ink,
                        .bold = bold,
                        .kind = "fact"});
      y += line_height;
    }
    return y;
  }

  const LinkUsage& usage_;
  Drawing drawing_;
  Sketch sketch_;
  TorusGrid grid_;
  TopologyLayout layout_;
  std::vector<bool> named_;  // by spot
};

}  // namespace

Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title) {
  return LinksPicture(usage, spec, title).draw();
}

}  // namespace allreplay
