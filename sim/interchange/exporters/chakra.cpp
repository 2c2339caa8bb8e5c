#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/units.hpp"
#include "sim/interchange/chakra/trace.hpp"
#include "sim/interchange/exporters/exporter.hpp"
#include "sim/schedule/gradients.hpp"
#include "sim/training/unroll.hpp"

namespace allreplay {

namespace {

// Every tensor a block of its own.
Plan tensor_by_tensor(const Profile& profile) {
  const std::vector<Gradient> list = gradients(profile);
  std::vector<std::size_t> ends(list.size());
  std::iota(ends.begin(), ends.end(), std::size_t{1});
  return merge("wfbp", list, ends);
}

class Writer {
 public:
  Writer(const Profile& profile, const Plan& plan, std::int64_t workers)
      : profile_(profile), plan_(plan), workers_(workers), done_(plan.blocks.size()) {}

  ChakraTrace trace() {
    add_metadata();
    tensors_of_layer_.resize(profile_.layers.size());
    for (const Tensor& tensor : profile_.tensors) tensors_of_layer_[tensor.layer].push_back(&tensor);
    for (std::size_t layer = profile_.layers.size(); layer-- > 0;) add_backward(layer);
    add_blocks();
    for (std::size_t layer = 0; layer < profile_.layers.size(); ++layer) add_forward(layer);
    return std::move(trace_);
  }

 private:
  ChakraNode& add(std::string name, ChakraKind kind, std::vector<std::uint64_t> waits_for) {
    ChakraNode& node = trace_.nodes.emplace_back();
    node.id = trace_.nodes.size() - 1;
    node.name = std::move(name);
    node.kind = static_cast<std::uint64_t>(kind);
    node.data_dependencies = std::move(waits_for);
    node.attributes["is_cpu_op"] = false;
    return node;
  }

  void add_metadata() {
    ChakraAttributes& metadata = trace_.metadata;
    metadata["workload_name"] = profile_.name;
    metadata["model"] = profile_.model;
    metadata["device"] = profile_.device;
    metadata["framework"] = profile_.framework;
    metadata["precision"] = profile_.precision;
    metadata["source"] = profile_.source;
    metadata["origin"] = to_string(profile_.origin);
    metadata["strategy"] = plan_.strategy;
    if (profile_.batch_size) metadata["batch_size"] = *profile_.batch_size;
  }

  // The compute stream is a chain. Its ends, not its durations, are rounded to whole microseconds: errors do not add
  // up.
  ChakraNode& add_compute(const std::string& name, Time time, std::vector<std::uint64_t> waits_for) {
    if (compute_) waits_for.push_back(*compute_);
    ChakraNode& node = add(name, ChakraKind::Compute, std::move(waits_for));
    constexpr std::int64_t ps = 1'000'000;  // in a microsecond
    const auto rounded = [](Time end) { return (end.count() + ps / 2) / ps; };
    const Time end = allreplay::add(clock_, time);
    node.microseconds = static_cast<double>(rounded(end) - rounded(clock_));
    node.attributes["duration_ps"] = time.count();
    clock_ = end;
    compute_ = node.id;
    return node;
  }

  void add_backward(std::size_t layer) {
    ChakraNode& node =
        add_compute(fmt::format("COMP_NODE_{}_BWD", profile_.layers[layer].name), profile_.layers[layer].backward, {});
    backward_.resize(profile_.layers.size());
    backward_[layer] = node.id;
    if (tensors_of_layer_[layer].empty()) return;
    std::vector<std::string> names;
    std::vector<std::int64_t> elements;
    for (const Tensor* tensor : tensors_of_layer_[layer]) {
      names.push_back(tensor->name);
      elements.push_back(tensor->elements);
    }
    node.attributes["tensors"] = std::move(names);
    node.attributes["tensor_elements"] = std::move(elements);
  }

  void add_forward(std::size_t layer) {
    std::vector<std::uint64_t> waits_for;
    for (std::size_t block = 0; block < plan_.blocks.size(); ++block) {
      const LayerId gate = plan_.barrier == Barrier::Iteration ? 0 : first_layer(plan_.blocks[block], profile_);
      if (gate == layer) waits_for.push_back(done_[block]);
    }
    add_compute(fmt::format("COMP_NODE_{}_FWD", profile_.layers[layer].name), profile_.layers[layer].forward,
                std::move(waits_for));
  }

  // The order in which blocks start is known beforehand unless urgent ones may overtake.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> order(plan_.blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (plan_.order == Order::AsListed) return order;
    std::vector<Time> ready(profile_.layers.size());
    for (const Gradient& gradient : gradients(profile_))
      ready[profile_.tensors[gradient.tensor].layer] = gradient.ready;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (plan_.release == Release::Backward) return false;
      return ready[first_layer(plan_.blocks[a], profile_)] < ready[first_layer(plan_.blocks[b], profile_)];
    });
    return order;
  }

  void add_collective(std::size_t index, std::string_view kind, ChakraCollective type, Bytes bytes,
                      std::vector<std::uint64_t> waits_for) {
    ChakraNode& node = add(fmt::format("COMM_COLL_NODE_{}_{}", describe(plan_.blocks[index], profile_, index), kind),
                           ChakraKind::Collective, std::move(waits_for));
    node.attributes["comm_type"] = static_cast<std::int64_t>(type);
    node.attributes["comm_size"] = bytes;
    if (!urgency_.empty()) node.attributes["comm_priority"] = urgency_[index];
    done_[index] = node.id;
  }

  void add_blocks() {
    const std::vector<std::size_t> order = this->order();
    const bool one_by_one = plan_.order != Order::Priority && plan_.window.count == 1;
    if (plan_.order == Order::Priority) set_urgency();
    const bool split = plan_.stages == Stages::Split;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Block& block = plan_.blocks[order[i]];
      std::vector<std::uint64_t> waits_for{backward_[ready_layer(plan_, block, profile_)]};
      if (one_by_one && i > 0) waits_for.push_back(done_[order[i - 1]]);
      if (split)
        add_collective(order[i], "REDUCESCATTER", ChakraCollective::ReduceScatter, block.bytes(), waits_for);
      else
        add_collective(order[i], "ALLREDUCE", ChakraCollective::AllReduce, block.bytes(), waits_for);
    }
    if (!split) return;
    for (const std::size_t index : order)  // each worker gives its share
      add_collective(index, "ALLGATHER", ChakraCollective::AllGather,
                     (plan_.blocks[index].bytes() + workers_ - 1) / workers_, {done_[index], backward_[0]});
  }

  // comm_priority: the largest goes first.
  void set_urgency() {
    std::vector<std::size_t> by_priority(plan_.blocks.size());
    std::iota(by_priority.begin(), by_priority.end(), std::size_t{0});
    std::stable_sort(by_priority.begin(), by_priority.end(),
                     [&](std::size_t a, std::size_t b) { return plan_.blocks[a].priority < plan_.blocks[b].priority; });
    urgency_.resize(plan_.blocks.size());
    for (std::size_t i = 0; i < by_priority.size(); ++i)
      urgency_[by_priority[i]] = static_cast<std::int64_t>(by_priority.size() - i);
  }

  const Profile& profile_;
  const Plan& plan_;
  std::int64_t workers_;
  ChakraTrace trace_;
  std::vector<std::vector<const Tensor*>> tensors_of_layer_;
  std::vector<std::uint64_t> backward_;   // nodes, by layer
  std::vector<std::uint64_t> done_;       // the node that ends each block
  std::vector<std::int64_t> urgency_;     // by block; none where the order is known
  std::optional<std::uint64_t> compute_;  // the last node of the compute stream
  Time clock_{0};
};

std::vector<std::string> notes_of(const Profile& profile, const Plan& plan, bool given) {
  std::vector<std::string> notes;
  if (!given) notes.push_back("no --strategy: every tensor is all-reduced alone, one after another");
  const auto rounded = std::count_if(profile.layers.begin(), profile.layers.end(), [](const Layer& layer) {
    return layer.forward.count() % 1'000'000 != 0 || layer.backward.count() % 1'000'000 != 0;
  });
  if (rounded > 0)
    notes.push_back(
        fmt::format("durations are whole microseconds: those of {} layers were rounded, so that every end is "
                    "right to 0.5 us; duration_ps beside them, which `allreplay import` reads, is exact",
                    rounded));
  notes.push_back("tensors, batch size, device and precision stand in attributes that other programs do not read");
  if (plan.order == Order::Priority)
    notes.push_back(
        "which ready block goes first is for the simulator to decide: comm_priority says it, the largest first");
  if (plan.order == Order::Priority || plan.window.count != 1)
    notes.push_back("how many blocks may be in flight is for the simulator to decide");
  if (plan.window.bytes != Window::unlimited) notes.push_back("a window in bytes has no counterpart");
  if (plan.tick > Time(0)) notes.push_back(fmt::format("the tick of {} was left out", write_duration(plan.tick)));
  return notes;
}

struct Built {
  ChakraTrace trace;
  std::vector<std::string> notes;
};

Built build(const ExportRequest& request) {
  const Plan plan = request.plan ? *request.plan : tensor_by_tensor(request.profile);
  return {Writer(request.profile, plan, request.workers).trace(),
          notes_of(request.profile, plan, request.plan != nullptr)};
}

using Value = nlohmann::ordered_json;

Value value_of(const ChakraValue& value) {
  return std::visit([](const auto& one) { return Value(one); }, value);
}

}  // namespace

Exported export_chakra(const ExportRequest& request) {
  Built built = build(request);
  return {encode_chakra(built.trace), std::move(built.notes)};
}

Exported export_chakra_json(const ExportRequest& request) {
  Built built = build(request);
  std::string text = "{";
  for (const auto& [name, value] : built.trace.metadata)
    text += fmt::format("{}: {},\n ", Value(name).dump(), value_of(value).dump());
  text += "\"workload_graph\": [";
  const char* separator = "\n  ";
  for (const ChakraNode& node : built.trace.nodes) {
    Value json{{"Id", node.id},
               {"Name", node.name},
               {"NodeType", node.kind},
               {"data_deps", node.data_dependencies},
               {"ctrl_deps", node.control_dependencies},
               {"runtime", static_cast<std::int64_t>(node.microseconds)}};
    for (const auto& [name, value] : node.attributes) json[name] = value_of(value);
    text += separator + json.dump();
    separator = ",\n  ";
  }
  return {text + "]}\n", std::move(built.notes)};
}

}  // namespace allreplay
