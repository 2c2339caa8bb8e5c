// PipeDream's graph.txt: a node per module with times in milliseconds, and the edges between them, in any order.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/interchange/importers/readers.hpp"

namespace allreplay {

namespace {

struct Operation {
  std::string description;
  Time forward{0}, backward{0};
  std::int64_t parameters = 0;
  double output = 0;  // bytes of fp32; 0 where the node has several, or does not say
  std::vector<std::string> next;
  std::int64_t waits_for = 0;  // nodes before it that have not been listed
  int line = 0;
};

// node2 before node10.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Operations = std::map<std::string, Operation, ByNumber>;

constexpr auto a_line = "'node1 -- Conv2d(…) -- forward_compute_time=…, …' or '\\tnode1 -- node2'";

class GraphReader {
 public:
  explicit GraphReader(const std::string& file) : file_(file) {}

  Operations read(const std::string& text) {
    std::vector<std::pair<int, std::string_view>> edges;
    for (const std::string_view raw : split(text, "\n")) {
      ++line_;
      const std::string_view line = raw.substr(0, raw.find_last_not_of(" \t\r") + 1);
      if (line.empty()) continue;
      if (line.find("forward_compute_time=") != std::string_view::npos)
        add_node(line);
      else
        edges.emplace_back(line_, line.substr(line.find_first_not_of(" \t")));
    }
    for (const auto& [number, edge] : edges) {
      line_ = number;
      add_edge(edge);
    }
    return std::move(graph_);
  }

  bool has_stages() const { return has_stages_; }

 private:
  SourceLocation place() const { return {file_, fmt::format("line {}", line_)}; }

  // The id, a description that may hold anything, the numbers, and perhaps a stage_id.
  void add_node(std::string_view line) {
    std::vector<std::string_view> parts = split(line, " -- ");
    if (parts.back().starts_with("stage_id=")) {
      parts.pop_back();
      has_stages_ = true;
    }
    const std::size_t first = line.find(" -- ");
    if (parts.size() < 3 || !parts.back().starts_with("forward_compute_time="))
      throw InputError(place(), "is not a node", a_line);
    Operation node;
    const auto numbers = static_cast<std::size_t>(parts.back().data() - line.data());
    node.description = line.substr(first + 4, numbers - first - 8);
    node.forward = measured_us(1000 * number(parts.back(), "forward_compute_time="), place());
    node.backward = measured_us(1000 * number(parts.back(), "backward_compute_time="), place());
    node.parameters = parameter_count(number(parts.back(), "parameter_size=") / 4, place());  // bytes of fp32
    if (const auto at = parts.back().find("activation_size="); at != std::string_view::npos)
      std::from_chars(parts.back().data() + at + 16, parts.back().data() + parts.back().size(), node.output);
    node.line = line_;
    if (!graph_.emplace(parts.front(), std::move(node)).second)
      throw InputError(place(), fmt::format("a second node '{}'", parts.front()), "each node once");
  }

  double number(std::string_view numbers, std::string_view key) const {
    const std::size_t at = numbers.find(key);
    if (at == std::string_view::npos) throw InputError(place(), fmt::format("has no {}…", key), a_line);
    const std::string_view value = numbers.substr(at + key.size());
    return parse_number(value.substr(0, value.find_first_of(", ")), place());
  }

  void add_edge(std::string_view edge) {
    const std::vector<std::string_view> ends = split(edge, " -- ");
    if (ends.size() != 2) throw InputError(place(), "is neither a node nor an edge", a_line);
    for (const std::string_view end : ends)
      if (!graph_.contains(std::string(end)))
        throw InputError(place(), fmt::format("there is no node '{}'", end), "an edge between two of the file's nodes");
    graph_[std::string(ends[0])].next.emplace_back(ends[1]);
    ++graph_[std::string(ends[1])].waits_for;
  }

  std::string file_;
  Operations graph_;
  int line_ = 0;
  bool has_stages_ = false;
};

// Every node after those that it waits for; of several, the smallest number first: they were numbered as they ran.
std::vector<std::string> forward_order(Operations& graph, const std::string& file) {
  std::set<std::string, ByNumber> ready;
  for (const auto& [id, node] : graph)
    if (node.waits_for == 0) ready.insert(id);
  std::vector<std::string> order;
  while (!ready.empty()) {
    order.push_back(ready.extract(ready.begin()).value());
    for (const std::string& next : graph[order.back()].next)
      if (--graph[next].waits_for == 0) ready.insert(next);
  }
  for (const auto& [id, node] : graph)
    if (node.waits_for > 0)
      throw InputError({file, fmt::format("line {}", node.line)}, fmt::format("'{}' is on a cycle, or after one", id),
                       "a graph without cycles");
  return order;
}

// A cut file has nodes whose edges are missing: layers that nothing feeds and nothing reads.
void require_joined(const Operations& graph, const std::string& file) {
  for (const auto& [id, node] : graph)
    if (graph.size() > 1 && node.waits_for == 0 && node.next.empty())
      throw InputError({file, fmt::format("line {}", node.line)},
                       fmt::format("no edge connects '{}' to the others", id),
                       "the whole file: all nodes, then all edges");
}

// "Input", "Input0": the loading of data, not a layer.
bool is_input(const Operation& node) {
  return node.description.starts_with("Input") && node.parameters == 0 &&
         node.description.find_first_not_of("0123456789", 5) == std::string::npos;
}

// PipeDream times every module with the same fixed cost on top of the forward time. No module took less, so that the
// shortest of those that do the least, the ones without parameters, is an upper bound of it, and close.
Time fixed_cost(const Operations& graph) {
  Time least{0};
  for (const auto& [id, node] : graph)
    if (node.parameters == 0 && !is_input(node) && node.forward > Time(0) && (least == Time(0) || node.forward < least))
      least = node.forward;
  return least;
}

// The number behind `key` in a module's description: "Linear(in_features=2048, out_features=1000, bias=True)".
double described(const Operation& node, std::string_view key) {
  const std::size_t at = node.description.find(key);
  double value = 0;
  if (at != std::string::npos)
    std::from_chars(node.description.data() + at + key.size(), node.description.data() + node.description.size(),
                    value);
  return value;
}

// Images of a net: every Linear layer's output says how many there are, and the input's size is then that many square
// ones of as many channels as the first convolution reads.
struct Images {
  std::int64_t count = 0, channels = 0, extent = 0;
};

std::optional<Images> images_of(const Operations& graph) {
  Images images;
  double input = 0;
  for (const auto& [id, node] : graph) {
    if (is_input(node)) {
      if (input > 0) return std::nullopt;
      input = node.output;
    } else if (node.description.starts_with("Linear(")) {
      const double rows = node.output / 4 / described(node, "out_features=");
      if (!(rows >= 1 && rows <= 1e9) || rows != std::floor(rows)) return std::nullopt;
      if (images.count > 0 && rows != static_cast<double>(images.count)) return std::nullopt;
      images.count = static_cast<std::int64_t>(rows);
    } else if (node.description.starts_with("Conv2d(") && images.channels == 0) {
      images.channels = static_cast<std::int64_t>(std::clamp(described(node, "Conv2d("), 0.0, 1e6));
    }
  }
  // Infinite, or no number, where there are none of either.
  const double pixels = input / 4 / static_cast<double>(images.count) / static_cast<double>(images.channels);
  if (!(pixels >= 1 && pixels <= 1e12) || std::sqrt(pixels) != std::floor(std::sqrt(pixels))) return std::nullopt;
  images.extent = static_cast<std::int64_t>(std::sqrt(pixels));
  return images;
}

}  // namespace

bool is_pipedream(std::string_view, std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  return line.starts_with("node") && line.find(" -- ") != std::string_view::npos &&
         head.find("forward_compute_time=") != std::string_view::npos;
}

Imported read_pipedream(ByteSource& source, const ImportOptions& options) {
  GraphReader reader(source.file());
  Operations graph = reader.read(source.rest());
  require_joined(graph, source.file());
  const Time cost = options.keep_overhead ? Time(0) : fixed_cost(graph);
  Imported imported;
  imported.profile.framework = "PyTorch";
  Time loading{0}, subtracted{0};
  std::int64_t inputs = 0, timed = 0;
  for (const std::string& id : forward_order(graph, source.file())) {
    const Operation& node = graph[id];
    if (is_input(node)) {
      loading = add(loading, node.forward);
      ++inputs;
      continue;
    }
    const Time minus = std::min(cost, node.forward);
    subtracted = add(subtracted, minus);
    timed += minus > Time(0);
    if (node.parameters > 0)
      imported.profile.tensors.push_back(
          {"", node.parameters, 0, static_cast<LayerId>(imported.profile.layers.size())});
    imported.profile.layers.push_back({fmt::format("{}:{}", id, node.description.substr(0, node.description.find('('))),
                                       node.forward - minus, node.backward});
  }
  imported.notes.push_back(fmt::format("left out: {} input node{} ({} of loading data)", inputs, inputs == 1 ? "" : "s",
                                       format_duration(to_seconds(loading))));
  if (cost > Time(0))
    imported.notes.push_back(
        fmt::format("subtracted: {} from each of {} forward times ({} in total), the smallest of any module without "
                    "parameters, as the profiler's fixed cost (--keep-overhead keeps it)",
                    format_duration(to_seconds(cost)), timed, format_duration(to_seconds(subtracted))));
  if (const auto images = images_of(graph)) {
    imported.profile.batch_size = images->count;
    imported.notes.push_back(
        fmt::format("the batch size, {0}, is taken from an input of {0} images of {1}x{2}x{2} in fp32", images->count,
                    images->channels, images->extent));
  }
  if (reader.has_stages()) imported.notes.emplace_back("left out: stage_id, the pipeline stage of each node");
  return imported;
}

}  // namespace allreplay
