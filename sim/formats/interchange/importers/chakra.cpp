// Imports MLCommons Chakra execution traces of data-parallel training. The names of compute nodes give the layer and
// pass, as in traces of Chakra's converter from ASTRA-sim's text and of `allreplay export`; all-reduces give the sizes.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/chakra/trace.hpp"
#include "sim/formats/interchange/importers/importer.hpp"

namespace allreplay {

namespace {

constexpr std::string_view prefix = "COMP_NODE_";
constexpr std::array<std::string_view, 4> suffixes{"_FWD", "_BWD", "_BWD_WG", "_BWD_IG"};

struct Part {
  std::string layer;
  std::string_view suffix;

  bool forward() const { return suffix == suffixes[0]; }
};

// Splits "COMP_NODE_conv1_BWD_WG", the weight-gradient part of conv1's backward pass.
std::optional<Part> part_of(std::string_view name) {
  for (const std::string_view suffix : suffixes) {
    if (!name.ends_with(suffix)) continue;
    std::string_view layer = name.substr(0, name.size() - suffix.size());
    if (layer.starts_with(prefix)) layer.remove_prefix(prefix.size());
    return Part{std::string(layer), suffix};
  }
  return std::nullopt;
}

Time time_of(const ChakraNode& node) {
  const Time time = measured_us(node.microseconds, node.place);
  // `allreplay export` also writes exact times; they are used unless the whole microseconds were changed since.
  const auto exact = attribute<std::int64_t>(node.attributes, "duration_ps");
  if (exact && *exact >= 0 && std::abs(static_cast<double>(*exact) * 1e-6 - node.microseconds) < 1) return Time(*exact);
  return time;
}

// In JSON a floating-point number may be written like an integer.
std::optional<double> number(const ChakraAttributes& attributes, const std::string& name) {
  if (const auto whole = attribute<std::int64_t>(attributes, name)) return static_cast<double>(*whole);
  return attribute<double>(attributes, name);
}

std::optional<Bytes> activation_bytes_of(const ChakraNode& node) {
  const auto bytes = attribute<std::int64_t>(node.attributes, "activation_bytes");
  constexpr Bytes most = Bytes{1} << 53;
  if (bytes && (*bytes < 0 || *bytes > most))
    throw InputError(node.place, fmt::format("{} bytes of activations", *bytes), "0 to 2^53");
  return bytes;
}

// Returns every node after its dependencies, which `waits_for[i]` lists for node i (Kahn's algorithm with a queue).
// Nodes become ready by index first, then in the order in which their last dependency is visited. Nodes on a cycle, or
// that depend on one, are missing.
std::vector<std::size_t> topological_order(const std::vector<std::vector<std::size_t>>& waits_for) {
  const std::size_t nodes = waits_for.size();
  std::vector<std::vector<std::size_t>> frees(nodes);
  std::vector<std::size_t> missing(nodes), order;
  for (std::size_t node = 0; node < nodes; ++node) {
    missing[node] = waits_for[node].size();
    for (const std::size_t other : waits_for[node]) frees[other].push_back(node);
    if (missing[node] == 0) order.push_back(node);
  }
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const std::size_t freed : frees[order[next]])
      if (--missing[freed] == 0) order.push_back(freed);
  return order;
}

// Returns the first node that is missing from such an order. REQUIRES: one is.
std::size_t first_missing(const std::vector<std::size_t>& order, std::size_t nodes) {
  std::vector<bool> reached(nodes);
  for (const std::size_t node : order) reached[node] = true;
  return static_cast<std::size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
}

class TraceReader {
 public:
  TraceReader(const ChakraTrace& trace, const std::string& file, const ImportOptions& options)
      : trace_(trace), file_(file), options_(options) {}

  Imported read() {
    if (trace_.nodes.empty()) fail("has no nodes", "the nodes of one worker");
    if (!names_passes())
      fail("no compute node names its pass",
           "names that end in _FWD, _BWD, _BWD_WG or _BWD_IG; if chakra_trace_link made this trace, import the Kineto "
           "trace it was linked with");
    read_metadata();
    const std::vector<std::size_t> order = sort();
    for (const std::size_t index : order) take_compute(index);
    if (backward_of_.empty())
      fail("has no backward compute nodes", "nodes whose names end in _BWD, _BWD_WG or _BWD_IG");
    add_layers();
    if (!take_listed_tensors())
      for (const std::size_t index : order) take_collective(index);
    std::stable_sort(imported_.profile.tensors.begin(), imported_.profile.tensors.end(),
                     [](const Tensor& a, const Tensor& b) { return a.layer < b.layer; });
    if (imported_.profile.tensors.empty())
      fail("no all-reduce waits for a backward node: this is not data-parallel", "COMM_COLL_NODEs of comm_type 0");
    report();
    return std::move(imported_);
  }

 private:
  [[noreturn]] void fail(std::string_view wrong, std::string_view right) const {
    throw InputError({file_, ""}, wrong, right);
  }

  void note(std::string text) { imported_.notes.push_back(std::move(text)); }

  void read_metadata() {
    Profile& profile = imported_.profile;
    const auto text = [&](const char* name) { return attribute<std::string>(trace_.metadata, name).value_or(""); };
    profile.model = text("model");
    profile.device = text("device");
    profile.framework = text("framework");
    profile.precision = text("precision");
    for (const Origin origin : {Origin::Reconstructed, Origin::Estimated})
      if (text("origin") == to_string(origin))
        note(fmt::format("the times were {}, not measured ({})", to_string(origin), as_text(text("source"))));
    if (const auto batch = attribute<std::int64_t>(trace_.metadata, "batch_size"); batch && *batch > 0)
      profile.batch_size = batch;
    if (const auto update = attribute<std::int64_t>(trace_.metadata, "update_ps"); update && *update >= 0)
      profile.update = Time(*update);
    for (const char* rule : {"full", "selective"})
      if (text("recompute") == rule) profile.recompute = rule;
    if (const auto tokens = attribute<std::int64_t>(trace_.metadata, "tokens_per_sample"); tokens && *tokens > 0)
      profile.tokens_per_sample = tokens;
    if (const auto flops = number(trace_.metadata, "flops_per_sample"); flops && *flops > 0)
      profile.flops_per_sample = flops;
  }

  bool names_passes() const {
    return std::any_of(trace_.nodes.begin(), trace_.nodes.end(), [&](const ChakraNode& node) {
      return node.kind == static_cast<std::uint64_t>(ChakraKind::Compute) && !on_cpu(node) && part_of(node.name);
    });
  }

  // Returns an order in which the nodes can run. Control dependencies on nodes outside the file are ignored, data
  // dependencies on them are errors. In some traces control dependencies name the calling operator, which may itself
  // depend on what it called; if they contradict data dependencies they are ignored.
  std::vector<std::size_t> sort() {
    std::map<std::uint64_t, std::size_t> index;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const ChakraNode& node = trace_.nodes[i];
      if (node.kind >= chakra_kinds)
        throw InputError(node.place, fmt::format("unknown node type {}", node.kind),
                         fmt::format("0 to {}", chakra_kinds - 1));
      if (!index.emplace(node.id, i).second)
        throw InputError(node.place, fmt::format("a second node {}", node.id), "each id once");
    }
    std::vector<std::vector<std::size_t>> data(trace_.nodes.size());
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const ChakraNode& node = trace_.nodes[i];
      for (const std::uint64_t id : node.data_dependencies) {
        if (!index.contains(id))
          throw InputError(node.place, fmt::format("waits for node {}, which is not in the file", id), "a node's id");
        data[i].push_back(index.at(id));
      }
    }
    waits_for_ = data;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i)
      for (const std::uint64_t id : trace_.nodes[i].control_dependencies)
        if (index.contains(id))
          waits_for_[i].push_back(index.at(id));
        else
          ++cut_;
    std::vector<std::size_t> order = topological_order(waits_for_);
    if (order.size() == trace_.nodes.size()) return order;
    waits_for_ = std::move(data);
    order = topological_order(waits_for_);
    if (order.size() < trace_.nodes.size()) {
      const ChakraNode& node = trace_.nodes[first_missing(order, trace_.nodes.size())];
      throw InputError(node.place, fmt::format("the data dependencies are cyclic at '{}'", as_text(node.name)),
                       "data dependencies in which no node waits for itself");
    }
    note("control dependencies contradict the data dependencies, and were left out");
    return order;
  }

  bool on_cpu(const ChakraNode& node) const { return attribute<bool>(node.attributes, "is_cpu_op").value_or(false); }

  void skip(const std::string& what, Time time) {
    auto& [count, sum] = skipped_[what];
    ++count;
    sum = add(sum, time);
  }

  void take_compute(std::size_t index) {
    const ChakraNode& node = trace_.nodes[index];
    if (node.kind == static_cast<std::uint64_t>(ChakraKind::Collective)) return;  // see take_collective()
    const Time time = time_of(node);
    if (node.kind != static_cast<std::uint64_t>(ChakraKind::Compute)) return skip(chakra_kind_name(node.kind), time);
    if (on_cpu(node)) return skip("operator on the CPU", time);
    const auto part = part_of(node.name);
    if (!part && node.name.ends_with("_UPDATE") && imported_.profile.update)
      return;  // the metadata has the whole update
    if (!part) return skip("compute node outside the layers' passes", time);
    if (!seen_.insert({part->layer, part->suffix}).second) return skip("compute node of a later iteration", time);
    const auto [place, fresh] = layer_index_.emplace(part->layer, layers_.size());
    if (fresh) layers_.push_back({.name = part->layer});
    Layer& layer = layers_[place->second];
    Time& sum = part->forward() ? layer.forward : layer.backward;
    sum = add(sum, time);
    if (part->forward()) {
      forward_order_.push_back(place->second);
      layer.group = attribute<std::string>(node.attributes, "group").value_or("");
      layer.activation_bytes = activation_bytes_of(node);
      layer.frozen = attribute<bool>(node.attributes, "frozen").value_or(false);
    }
    if (!part->forward()) backward_of_[index] = place->second;
  }

  // Adds the layers in the order of the forward pass.
  void add_layers() {
    position_.assign(layers_.size(), layers_.size());
    for (std::size_t i = 0; i < forward_order_.size(); ++i) {
      position_[forward_order_[i]] = i;
      imported_.profile.layers.push_back(layers_[forward_order_[i]]);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (position_[i] == layers_.size())
        fail(fmt::format("the backward pass of '{}' has no forward node", as_text(layers_[i].name)),
             "both passes of every layer");
  }

  // Adds the tensors that `allreplay export` lists at each backward node. Returns false if there are none.
  bool take_listed_tensors() {
    for (const auto& [index, layer] : backward_of_) {
      const ChakraNode& node = trace_.nodes[index];
      const auto names = attribute<std::vector<std::string>>(node.attributes, "tensors");
      const auto elements = attribute<std::vector<std::int64_t>>(node.attributes, "tensor_elements");
      if (!names || !elements) continue;
      if (names->size() != elements->size())
        throw InputError(node.place, fmt::format("{} tensors but {} sizes", names->size(), elements->size()),
                         "as many tensor_elements as tensors");
      for (std::size_t i = 0; i < names->size(); ++i)
        add_tensor((*names)[i], static_cast<double>((*elements)[i]), layer, node.place);
    }
    return !imported_.profile.tensors.empty();
  }

  void add_tensor(const std::string& name, double elements, std::size_t layer, const SourceLocation& place) {
    if (const std::int64_t count = parameter_count(elements, place); count > 0)
      imported_.profile.tensors.push_back({name, count, 0, static_cast<LayerId>(position_[layer])});
  }

  // An all-reduce has the gradients of the layer whose backward node it depends on; if of several, of the last to run.
  void take_collective(std::size_t index) {
    const ChakraNode& node = trace_.nodes[index];
    if (node.kind != static_cast<std::uint64_t>(ChakraKind::Collective)) return;
    const auto type = attribute<std::int64_t>(node.attributes, "comm_type");
    if (!type || *type != static_cast<std::int64_t>(ChakraCollective::AllReduce))
      return skip("collective other than all-reduce", Time(0));
    const auto bytes = attribute<std::int64_t>(node.attributes, "comm_size");
    if (!bytes || *bytes < 0) throw InputError(node.place, "an all-reduce without a comm_size", "its bytes, 0 or more");
    if (node.name.ends_with("_ALLREDUCE") && !taken_.insert(node.name).second)
      return skip("all-reduce of a later iteration", Time(0));
    std::optional<std::size_t> layer;
    for (const std::size_t other : waits_for_[index])
      if (const auto found = backward_of_.find(other); found != backward_of_.end())
        if (!layer || position_[found->second] < position_[*layer]) layer = found->second;
    if (!layer) return skip("all-reduce that waits for no backward node", Time(0));
    const Bytes element =
        element_bytes(options_.precision.empty() ? imported_.profile.precision : options_.precision).value_or(4);
    if (*bytes % element != 0)
      throw InputError(node.place, fmt::format("{} bytes of gradients are not a whole number of elements", *bytes),
                       fmt::format("a multiple of {}, or another --precision", element));
    add_tensor(layers_[*layer].name, static_cast<double>(*bytes / element), *layer, node.place);
  }

  void report() {
    const auto collectives = std::count_if(trace_.nodes.begin(), trace_.nodes.end(), [](const ChakraNode& node) {
      return node.kind == static_cast<std::uint64_t>(ChakraKind::Collective);
    });
    note(fmt::format("{} nodes; how the {} collectives were merged, ordered and waited for was left out",
                     trace_.nodes.size(), collectives));
    for (const auto& [what, sum] : skipped_)
      note(fmt::format("left out: {} nodes ({}){}", sum.first, what,
                       sum.second > Time(0) ? ", " + format_duration(to_seconds(sum.second)) + " in total" : ""));
    if (cut_ > 0) note(fmt::format("{} control dependencies on nodes that are not in the file were left out", cut_));
  }

  const ChakraTrace& trace_;
  const std::string& file_;
  const ImportOptions& options_;
  Imported imported_;
  std::vector<std::vector<std::size_t>> waits_for_;          // by node
  std::vector<Layer> layers_;                                // in order of first occurrence
  std::map<std::string, std::size_t> layer_index_;           // index in layers_
  std::vector<std::size_t> forward_order_;                   // indices in layers_
  std::vector<std::size_t> position_;                        // by index in layers_: position in the forward pass
  std::map<std::size_t, std::size_t> backward_of_;           // by backward node: its layer
  std::set<std::pair<std::string, std::string_view>> seen_;  // parts of the first iteration
  std::set<std::string> taken_;                              // all-reduces of the first iteration
  std::map<std::string, std::pair<int, Time>> skipped_;
  int cut_ = 0;
};

}  // namespace

bool is_chakra(std::string_view, std::string_view head) { return is_chakra_protobuf(head); }

bool is_chakra_json(std::string_view, std::string_view head) {
  if (!head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size())).starts_with('{')) return false;
  return head.find("\"workload_graph\"") != std::string_view::npos ||
         (head.find("\"schema\"") != std::string_view::npos && head.find("chakra") != std::string_view::npos);
}

Imported read_chakra(ByteSource& source, const ImportOptions& options) {
  const ChakraTrace trace = decode_chakra(source.rest(), source.file());
  return TraceReader(trace, source.file(), options).read();
}

Imported read_chakra_json(ByteSource& source, const ImportOptions& options) {
  const ChakraTrace trace = parse_chakra_json(Json::parse(source.rest(), source.file()));
  return TraceReader(trace, source.file(), options).read();
}

}  // namespace allreplay
