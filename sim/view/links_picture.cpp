#include "sim/view/links_picture.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/picture/drawing_parts.hpp"
#include "sim/picture/style.hpp"
#include "sim/report/phrases.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_nodes = 400, most_folded = 120;
constexpr double radius = 4.5, stub = 12;

// A node of the picture: one of the topology, or several that look alike.
struct Spot {
  std::string name;
  std::int64_t count = 1;
  int tier = 0;  // from the workers up
  std::int64_t order = 0;
  Position at;
};

struct Line {
  std::size_t a = 0, b = 0;
  std::int64_t count = 0;
  double there = 0, back = 0;  // the most of the links that it stands for
  double use() const { return std::max(there, back); }
};

struct Sketch {
  std::vector<Spot> spots;
  std::vector<Line> lines;
};

// How many links a node is from the nearest worker.
std::vector<int> tiers_of(const Topology& topology) {
  std::vector<std::vector<NodeId>> beside(static_cast<std::size_t>(topology.nodes()));
  for (const Link& link : topology.links()) beside[link.from].push_back(link.to);
  std::vector<int> tiers(beside.size(), -1);
  std::deque<NodeId> next;
  for (NodeId host = 0; host < topology.hosts(); ++host) tiers[host] = 0, next.push_back(host);
  for (; !next.empty(); next.pop_front())
    for (const NodeId node : beside[next.front()])
      if (tiers[node] < 0) tiers[node] = tiers[next.front()] + 1, next.push_back(node);
  for (int& tier : tiers) tier = std::max(tier, 0);
  return tiers;
}

// Each node's class: its own, unless there are many; then nodes that look alike share one.
using Classes = std::vector<std::size_t>;

std::size_t count_of(const Classes& classes) { return *std::max_element(classes.begin(), classes.end()) + 1; }

Classes by_kind(const Topology& topology) {
  Classes classes;
  std::map<std::string, std::size_t> known;
  for (NodeId node = 0; node < topology.nodes(); ++node)
    classes.push_back(known.emplace(node_kind(topology.name(node)), known.size()).first->second);
  return classes;
}

// Colour refinement: alike are those whose links, with bandwidth and use, lead to the same numbers of nodes alike.
Classes folded(const LinkUsage& usage, const std::vector<double>& uses) {
  const auto links = usage.topology->links();
  Classes classes = by_kind(*usage.topology);
  using Sight = std::tuple<std::size_t, double, double, double>;  // class, bandwidth, use there and back
  for (;;) {
    std::vector<std::vector<Sight>> sights(classes.size());
    for (LinkId link = 0; link < links.size(); ++link)
      sights[links[link].from].emplace_back(classes[links[link].to], links[link].bandwidth, uses[link], uses[link ^ 1]);
    std::map<std::pair<std::size_t, std::vector<Sight>>, std::size_t> known;
    Classes finer;
    for (std::size_t node = 0; node < classes.size(); ++node) {
      std::sort(sights[node].begin(), sights[node].end());
      finer.push_back(known.emplace(std::pair(classes[node], std::move(sights[node])), known.size()).first->second);
    }
    if (known.size() == count_of(classes) || known.size() > most_folded) return classes;
    classes = std::move(finer);
  }
}

Sketch sketch_of(const LinkUsage& usage) {
  const Topology& topology = *usage.topology;
  const auto links = topology.links();
  std::vector<double> uses;
  for (LinkId link = 0; link < links.size(); ++link) uses.push_back(usage.utilisation(link));
  const bool whole = static_cast<std::size_t>(topology.nodes()) <= most_nodes;
  const Classes classes = whole ? Classes() : folded(usage, uses);
  const std::vector<int> tiers = tiers_of(topology);
  Sketch sketch;
  sketch.spots.resize(whole ? static_cast<std::size_t>(topology.nodes()) : count_of(classes));
  for (Spot& spot : sketch.spots) spot.count = 0;
  const auto place = [&](NodeId node) { return whole ? std::size_t{node} : classes[node]; };
  for (NodeId node = 0; node < topology.nodes(); ++node) {
    Spot& spot = sketch.spots[place(node)];
    if (spot.count++ == 0) {
      spot.name = whole ? topology.name(node) : node_kind(topology.name(node));
      spot.tier = tiers[node];
      spot.order = node;
    }
  }
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  for (LinkId link = 0; link + 1 < links.size(); link += 2) {
    std::size_t a = place(links[link].from), b = place(links[link].to);
    double there = uses[link], back = uses[link + 1];
    if (a > b) std::swap(a, b), std::swap(there, back);
    const auto [found, fresh] = known.emplace(std::pair(a, b), sketch.lines.size());
    if (fresh) sketch.lines.push_back({a, b});
    Line& line = sketch.lines[found->second];
    ++line.count;
    line.there = std::max(line.there, there);
    line.back = std::max(line.back, back);
  }
  return sketch;
}

// Pale where little is carried, through orange to a dark red.
Colour heat(double use) {
  const double at = std::clamp(use, 0.0, 1.0);
  constexpr Colour cold = colour(0xD8D8D8), warm = style::orange, hot = colour(0x8B0000);
  const auto mix = [](std::uint8_t from, std::uint8_t to, double share) {
    return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
  };
  const Colour &from = at < 0.5 ? cold : warm, &to = at < 0.5 ? warm : hot;
  const double share = at < 0.5 ? 2 * at : 2 * at - 1;
  return {mix(from.red, to.red, share), mix(from.green, to.green, share), mix(from.blue, to.blue, share)};
}

// Wider, too, so that it is told in grey.
Look line_look(double use) { return {.line = heat(use), .width = 0.8 + 3.2 * std::clamp(use, 0.0, 1.0)}; }

// Rows by tier, the workers at the bottom; without switches a grid, or a circle.
double lay_out(Sketch& sketch, const TopologySpec& spec, double top, double width) {
  std::map<int, std::vector<Spot*>> tiers;
  for (Spot& spot : sketch.spots) tiers[spot.tier].push_back(&spot);
  const double inner = width - 2 * style::margin - 40, left = style::margin + 20;
  if (tiers.size() > 1) {
    constexpr double apart = 90;
    double y = top + 24;
    for (auto tier = tiers.rbegin(); tier != tiers.rend(); ++tier, y += apart) {
      std::sort(tier->second.begin(), tier->second.end(),
                [](const Spot* a, const Spot* b) { return a->order < b->order; });
      const double step = inner / static_cast<double>(tier->second.size());
      for (std::size_t i = 0; i < tier->second.size(); ++i)
        tier->second[i]->at = {left + step * (static_cast<double>(i) + 0.5), y};
    }
    return y - apart + 40;
  }
  const std::size_t count = sketch.spots.size();
  if (spec.kind == TopologyKind::Torus && count <= most_nodes && sketch.spots.front().count == 1) {
    const auto across = static_cast<std::size_t>(spec.dimensions.back());
    const double step = std::min(inner / static_cast<double>(across + 1), 60.0);
    double bottom = top;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = i / across;
      const double slab = spec.dimensions.size() == 3
                              ? std::floor(static_cast<double>(row) / static_cast<double>(spec.dimensions[1]))
                              : 0;
      sketch.spots[i].at = {left + step * (static_cast<double>(i % across) + 1),
                            top + step * (static_cast<double>(row) + 1 + slab)};
      bottom = std::max(bottom, sketch.spots[i].at.y);
    }
    return bottom + step;
  }
  const double size = std::min(inner, std::max(160.0, 14.0 * static_cast<double>(count) / std::numbers::pi)) / 2;
  const Position centre{width / 2, top + size + 24};
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count);
    sketch.spots[i].at = {centre.x + size * std::sin(angle), centre.y - size * std::cos(angle)};
  }
  return centre.y + size + 40;
}

// A torus's link around its edge would lie on all others of the row: its ends alone are drawn.
bool goes_around(const Line& line, const TopologySpec& spec, const Sketch& sketch) {
  if (spec.kind != TopologyKind::Torus || sketch.spots.front().count > 1) return false;
  const Position &a = sketch.spots[line.a].at, &b = sketch.spots[line.b].at;
  return std::hypot(a.x - b.x, a.y - b.y) > 62 && (a.x == b.x || a.y == b.y);
}

void draw_line(Drawing& drawing, const Line& line, const Sketch& sketch, const TopologySpec& spec) {
  const Spot &a = sketch.spots[line.a], &b = sketch.spots[line.b];
  const auto percent = [](double use) { return fmt::format("{:.1f} %", 100 * use); };
  const Meaning meaning{"link", fmt::format("{} - {}{}: {} there, {} back", a.name, b.name,
                                            line.count > 1 ? fmt::format(" ({} links, the most used)", line.count) : "",
                                            percent(line.there), percent(line.back))};
  if (line.a == line.b) {  // between nodes that look alike
    drawing.add(Circle{.centre = {a.at.x, a.at.y - 3 * radius},
                       .radius = 3 * radius,
                       .look = line_look(line.use()),
                       .meaning = meaning});
    return;
  }
  if (!goes_around(line, spec, sketch)) {
    drawing.add(Path{.points = {a.at, b.at}, .look = line_look(line.use()), .meaning = meaning});
    return;
  }
  const double far = std::hypot(b.at.x - a.at.x, b.at.y - a.at.y);
  const Position out{stub * (a.at.x - b.at.x) / far, stub * (a.at.y - b.at.y) / far};
  drawing.add(
      Path{.points = {a.at, {a.at.x + out.x, a.at.y + out.y}}, .look = line_look(line.use()), .meaning = meaning});
  drawing.add(
      Path{.points = {b.at, {b.at.x - out.x, b.at.y - out.y}}, .look = line_look(line.use()), .meaning = meaning});
}

std::string label_of(const Spot& spot) {
  return spot.count > 1 ? fmt::format("{} x{}", spot.name, spot.count) : spot.name;
}

void draw_spot(Drawing& drawing, const Spot& spot, bool named) {
  drawing.add(Circle{.centre = spot.at,
                     .radius = radius,
                     .look = {.fill = colour(0xFFFFFF), .line = style::ink, .width = 1},
                     .meaning = {"node", label_of(spot)}});
  if (!named) return;
  const double width = text_width(label_of(spot), style::small_size);
  drawing.add(Rectangle{{spot.at.x - width / 2 - 1, spot.at.y + 8, width + 2, 12}, {.fill = colour(0xFFFFFF)}, {}});
  drawing.add(Text{.at = {spot.at.x, spot.at.y + 17},
                   .text = label_of(spot),
                   .size = style::small_size,
                   .align = Align::Middle,
                   .colour = style::ink,
                   .kind = "name"});
}

// The heights at which names would not run into each other; the others are left to hovering.
std::set<double> named_rows(const Sketch& sketch) {
  std::map<double, std::map<double, const Spot*>> rows;  // by height, then from the left
  for (const Spot& spot : sketch.spots) rows[std::round(spot.at.y)][spot.at.x] = &spot;
  std::set<double> named;
  for (const auto& [height, row] : rows) {
    double free = -1;
    bool room = true;
    for (const auto& [x, spot] : row) {
      const double half = text_width(label_of(*spot), style::small_size) / 2 + 2;
      room = room && x - half >= free;
      free = x + half;
    }
    if (room) named.insert(height);
  }
  return named;
}

}  // namespace

Drawing links_picture(const LinkUsage& usage, const TopologySpec& spec, const std::string& title) {
  Sketch sketch = sketch_of(usage);
  std::map<int, std::size_t> widths;
  for (const Spot& spot : sketch.spots) ++widths[spot.tier];
  std::size_t widest = 0;
  for (const auto& [tier, count] : widths) widest = std::max(widest, count);
  Drawing drawing{.width = std::clamp(14.0 * static_cast<double>(widest), 760.0, 2400.0), .title = title};
  if (widths.size() == 1) drawing.width = 760;
  double top = add_title(drawing, style::margin, title);
  std::vector<LegendEntry> legend;
  for (const double use : {0.0, 0.25, 0.5, 0.75, 1.0})
    legend.push_back({fmt::format("{:.0f} %", 100 * use), [use](Drawing& on, const Box& box) {
                        const double y = box.y + box.height / 2;
                        on.add(Path{.points = {{box.x, y}, {box.right(), y}}, .look = line_look(use)});
                      }});
  top = add_legend(drawing, top + 6, legend) + 6;
  const double bottom = lay_out(sketch, spec, top, drawing.width);
  std::stable_sort(sketch.lines.begin(), sketch.lines.end(),
                   [](const Line& a, const Line& b) { return a.use() < b.use(); });  // the hottest on top
  for (const Line& line : sketch.lines) draw_line(drawing, line, sketch, spec);
  const std::set<double> named = named_rows(sketch);
  for (const Spot& spot : sketch.spots) draw_spot(drawing, spot, named.count(std::round(spot.at.y)) > 0);
  const bool whole = sketch.spots.size() == static_cast<std::size_t>(usage.topology->nodes());
  const std::string note =
      fmt::format("use of each link's bandwidth over {}, of its two directions the larger{}",
                  format_duration(usage.seconds), whole ? "" : "; x: so many alike, of which one is drawn");
  drawing.height = add_note(drawing, bottom, note) + style::margin - 4;
  return drawing;
}

}  // namespace allreplay
