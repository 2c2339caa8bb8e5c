#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/interchange/chakra/trace.hpp"
#include "sim/formats/interchange/exporters/chakra_notes.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/replay/training/unroll.hpp"

namespace allreplay {

namespace {

// Returns a plan in which every tensor is a separate block.
Plan tensor_by_tensor(const Profile& profile) {
  const std::vector<Gradient> list = gradients(profile);
  std::vector<std::size_t> ends(list.size());
  std::iota(ends.begin(), ends.end(), std::size_t{1});
  return expand(merge("wfbp", list, ends), profile);
}

Plan without_ticks(Plan plan) {
  for (Lane& lane : plan.lanes) lane.tick = Time(0);
  return plan;
}

// Writes a node for each task of one worker.
class Writer {
 public:
  Writer(const Profile& profile, const Plan& plan, std::int64_t workers, std::int64_t worker)
      : profile_(profile),
        plan_(plan),
        workers_(workers),
        worker_(worker),
        unrolled_(unroll(profile, without_ticks(plan), {WorkerClass{1, {0}}}, nullptr, std::nullopt,
                         plan.sharding.optimizer_shards(workers))),
        before_(unrolled_.labels.size()),
        nodes_(unrolled_.labels.size()) {
    for (TaskId task = 0; task < unrolled_.labels.size(); ++task)
      for (const TaskId next : unrolled_.graph.successors(task)) before_[next].push_back(task);
    number_nodes();
  }

  ChakraTrace trace() {
    add_metadata();
    tensors_of_layer_.resize(profile_.layers.size());
    for (const Tensor& tensor : profile_.tensors) tensors_of_layer_[tensor.layer].push_back(&tensor);
    if (is_training_step(plan_)) {
      add_step();
      return std::move(trace_);
    }
    add_works(Activity::Backward);
    add_transfers();
    add_works(Activity::Forward);
    return std::move(trace_);
  }

  /// The number of compute nodes that take time, but have a rounded duration of 0.
  std::size_t vanished() const { return vanished_; }

 private:
  const Label& label(TaskId task) const { return unrolled_.labels[task]; }
  const Transfer& transfer_of(TaskId task) const { return plan_.transfers[label(task).item]; }

  // ASTRA-sim starts the ready node with the lowest id, one collective at a time. Therefore ids
  // follow the order of the compute stream, then that of the transfers in their queues. The file lists each node after
  // those that it depends on.
  void number_nodes() {
    for (std::size_t place = 0; place < unrolled_.works(0); ++place) nodes_[unrolled_.work(0, place)] = place;
    std::vector<std::int64_t> keys(unrolled_.transfers);
    std::int64_t place = 0;
    for (const TaskId task : order()) {
      const Transfer& one = transfer_of(task);
      const Order rule = plan_.lanes[one.lane].order;
      keys[label(task).item] = rule == Order::Priority ? one.priority : rule == Order::FirstReady ? place : 0;
      ++place;
    }
    by_urgency_.resize(unrolled_.transfers);
    std::iota(by_urgency_.begin(), by_urgency_.end(), std::size_t{0});
    std::stable_sort(by_urgency_.begin(), by_urgency_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(plan_.transfers[a].lane, keys[a]) < std::pair(plan_.transfers[b].lane, keys[b]);
    });
    for (std::size_t i = 0; i < by_urgency_.size(); ++i)
      nodes_[unrolled_.transfer(by_urgency_[i])] = unrolled_.works(0) + i;
  }

  ChakraNode& add(TaskId task, std::string name, ChakraKind kind, std::vector<std::uint64_t> waits_for) {
    ChakraNode& node = trace_.nodes.emplace_back();
    node.id = nodes_[task];
    node.name = std::move(name);
    node.kind = static_cast<std::uint64_t>(kind);
    node.data_dependencies = std::move(waits_for);
    node.attributes["is_cpu_op"] = false;
    return node;
  }

  // Returns the nodes that a task depends on: transfers, then works.
  std::vector<std::uint64_t> waits_for(TaskId task) const {
    std::vector<std::uint64_t> nodes;
    for (const bool transfers : {true, false})
      for (const TaskId one : before_[task])
        if (label(one).kind != Activity::LeadIn && (label(one).kind == Activity::Transfer) == transfers)
          nodes.push_back(nodes_[one]);
    return nodes;
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
    if (profile_.update) metadata["update_ps"] = profile_.update->count();
    if (!profile_.recompute.empty()) metadata["recompute"] = profile_.recompute;
    if (profile_.tokens_per_sample) metadata["tokens_per_sample"] = *profile_.tokens_per_sample;
    if (profile_.flops_per_sample) metadata["flops_per_sample"] = *profile_.flops_per_sample;
    if (!is_training_step(plan_)) return;
    metadata["accumulate"] = plan_.sharding.accumulate;
    metadata["shard_group"] = plan_.sharding.group_size(workers_);
  }

  // Rounds the ends of the works, not their durations, to whole microseconds, so that errors do not add up.
  void add_works(Activity kind) {
    for (std::size_t place = 0; place < unrolled_.works(0); ++place) {
      const TaskId task = unrolled_.work(0, place);
      if (label(task).kind == kind) add_work(task);
    }
  }

  // Returns COMP_NODE_<what>_<pass>, with micro-batches COMP_NODE_<what>_<number>_<pass>.
  std::string name_of_work(TaskId task) const {
    const auto& [kind, worker_class, item, batch, in_pair] = label(task);
    const std::string number = plan_.sharding.micro_batches() > 1 ? fmt::format("_{}", batch + 1) : "";
    const auto named = [&](const std::string& what, std::string_view pass) {
      return fmt::format("COMP_NODE_{}{}_{}", what, number, pass);
    };
    switch (kind) {
      case Activity::Backward:
        return named(profile_.layers[item].name, "BWD");
      case Activity::Forward:
        return named(profile_.layers[item].name, "FWD");
      case Activity::CopyOut:
        return named(describe(plan_, item, profile_), "COPYOUT");
      case Activity::CopyIn:
        return named(describe(plan_, item, profile_), "COPYIN");
      case Activity::Dequantise:
        return named(describe(plan_, item, profile_), "DEQUANTISE");
      case Activity::NewtonSchulz:
        return named(describe(plan_, item, profile_), "NEWTONSCHULZ");
      case Activity::OuterUpdate:
        return named(describe(plan_, item, profile_), "OUTER");
      case Activity::Mark:
        return named(fmt::format("{}", item), "MARK");
      case Activity::HostStep:
        return "COMP_NODE_host_STEP";
      default:
        return fmt::format("COMP_NODE_{}_UPDATE", item == everything ? "all" : profile_.layers[item].name);
    }
  }

  void add_work(TaskId task) {
    const Time time = unrolled_.graph.tasks()[task].duration;
    ChakraNode& node = add(task, name_of_work(task), ChakraKind::Compute, waits_for(task));
    constexpr std::int64_t ps = 1'000'000;  // per microsecond
    const auto rounded = [](Time end) { return (end.count() + ps / 2) / ps; };
    const Time end = allreplay::add(clock_, time);
    node.microseconds = static_cast<double>(rounded(end) - rounded(clock_));
    node.attributes["duration_ps"] = time.count();
    vanished_ += node.microseconds == 0 && time > Time(0);
    clock_ = end;
    if (label(task).kind == Activity::Backward) add_tensors(node, label(task).item);
    if (label(task).kind == Activity::Forward) add_facts(node, profile_.layers[label(task).item]);
  }

  static void add_facts(ChakraNode& node, const Layer& layer) {
    if (!layer.group.empty()) node.attributes["group"] = layer.group;
    if (layer.activation_bytes) node.attributes["activation_bytes"] = *layer.activation_bytes;
    if (layer.frozen) node.attributes["frozen"] = true;
  }

  // Adds works and transfers after their dependencies; transfers as early as possible, in order if the lane is strict.
  void add_step() {
    std::vector<std::size_t> missing(unrolled_.labels.size(), 0);
    for (TaskId task = 0; task < missing.size(); ++task)
      for (const TaskId one : before_[task])
        if (label(one).kind != Activity::LeadIn) ++missing[task];
    std::vector<bool> added(missing.size(), false);
    std::vector<std::optional<std::uint64_t>> last(plan_.lanes.size());
    std::vector<std::size_t> sent(plan_.lanes.size(), 0);  // by lane
    std::vector<std::vector<TaskId>> listed(plan_.lanes.size());
    for (std::size_t index = 0; index < unrolled_.transfers; ++index)
      listed[plan_.transfers[index].lane].push_back(unrolled_.transfer(index));
    const auto done = [&](TaskId task) {
      added[task] = true;
      for (const TaskId next : unrolled_.graph.successors(task)) --missing[next];
    };
    const auto add_ready = [&] {
      for (bool more = true; more;) {
        more = false;
        for (std::size_t index = 0; index < plan_.lanes.size(); ++index) {
          const Lane& lane = plan_.lanes[index];
          for (const TaskId task : listed[index]) {
            if (added[task]) continue;
            if (missing[task] > 0 && lane.order == Order::AsListed) break;
            if (missing[task] > 0) continue;
            const bool serial = lane.order != Order::Priority && lane.window.count == 1;
            add_transfer(task, serial ? last[index] : std::nullopt);
            last[index] = nodes_[task];
            done(task);
            more = true;
          }
        }
      }
    };
    for (std::size_t place = 0; place < unrolled_.works(0); ++place) {
      add_ready();
      add_work(unrolled_.work(0, place));
      done(unrolled_.work(0, place));
    }
    add_ready();
  }

  // Returns the bytes that each worker contributes; to a gather that is its share.
  std::int64_t comm_size(const Transfer& transfer) const {
    const auto ranks = static_cast<double>(plan_.groups[transfer.group].group.of(workers_).ranks);
    return static_cast<std::int64_t>(std::ceil(transfer.bytes / (transfer.op == CollectiveOp::AllGather ? ranks : 1)));
  }

  void add_transfer(TaskId task, const std::optional<std::uint64_t>& behind) {
    const Transfer& transfer = transfer_of(task);
    const auto& [kind, type] = looks(transfer.op);
    std::vector<std::uint64_t> waits = waits_for(task);
    if (behind) waits.push_back(*behind);
    if (!transfer.travels()) return add_computation(task, std::move(waits));
    const std::string number = plan_.sharding.micro_batches() > 1 ? fmt::format("_{}", transfer.micro_batch + 1) : "";
    ChakraNode& node = add(
        task, fmt::format("COMM_COLL_NODE_{}{}_{}", describe(plan_, transfer.payload.block, profile_), number, kind),
        ChakraKind::Collective, std::move(waits));
    node.attributes["comm_type"] = static_cast<std::int64_t>(type);
    node.attributes["comm_size"] = comm_size(transfer);
    const bool among_groups = plan_.sharding.has_groups() && transfer.group != group_all;
    if (among_groups || plan_.groups[transfer.group].group.of(workers_).ranks < workers_)
      node.attributes["pg_name"] = std::to_string(group_number(plan_, transfer.group, workers_, worker_));
    add_priority(node, transfer);
  }

  // A computation in a lane.
  void add_computation(TaskId task, std::vector<std::uint64_t> waits) {
    const Transfer& one = transfer_of(task);
    ChakraNode& node =
        add(task, fmt::format("COMP_NODE_{}_{}", describe(plan_, one.payload.block, profile_), to_string(one.computes)),
            ChakraKind::Compute, std::move(waits));
    const Time time = unrolled_.graph.tasks()[task].duration;
    node.microseconds = std::round(static_cast<double>(time.count()) / 1e6);
    node.attributes["duration_ps"] = time.count();
  }

  // The largest priority goes first; it agrees with the order of ids.
  void add_priority(ChakraNode& node, const Transfer& transfer) const {
    if (plan_.lanes[transfer.lane].order != Order::Priority) return;
    const std::uint64_t place = node.id - unrolled_.works(0);
    node.attributes["comm_priority"] = static_cast<std::int32_t>(by_urgency_.size() - place);
  }

  void add_tensors(ChakraNode& node, std::size_t layer) const {
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

  // Returns the reductions, then the gathers, in the order of their starts, if urgent ones do not overtake.
  std::vector<TaskId> order() const {
    std::vector<Time> ends(unrolled_.labels.size(), Time(0));  // of works, if nothing delays them
    Time clock{0};
    for (std::size_t place = 0; place < unrolled_.works(0); ++place)
      ends[unrolled_.work(0, place)] = clock =
          allreplay::add(clock, unrolled_.graph.tasks()[unrolled_.work(0, place)].duration);
    const auto ready = [&](TaskId task) {
      Time last{0};
      if (plan_.lanes[transfer_of(task).lane].order != Order::AsListed)
        for (const TaskId one : before_[task]) last = std::max(last, ends[one]);
      return last;
    };
    std::vector<TaskId> order, gathers;
    for (std::size_t index = 0; index < unrolled_.transfers; ++index) {
      const TaskId task = unrolled_.transfer(index);
      (transfer_of(task).op == CollectiveOp::AllGather ? gathers : order).push_back(task);
    }
    std::stable_sort(order.begin(), order.end(), [&](TaskId a, TaskId b) { return ready(a) < ready(b); });
    std::vector<std::size_t> places(unrolled_.labels.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
    const auto reduced = [&](TaskId task) {
      std::size_t last = 0;
      for (const TaskId one : before_[task]) last = std::max(last, places[one]);
      return last;
    };
    std::stable_sort(gathers.begin(), gathers.end(), [&](TaskId a, TaskId b) { return reduced(a) < reduced(b); });
    order.insert(order.end(), gathers.begin(), gathers.end());
    return order;
  }

  void add_transfers() {
    std::vector<std::optional<std::uint64_t>> last(
        plan_.lanes.size());  // by lane: its last reduction, if their order is known
    for (const TaskId task : order()) {
      const Transfer& transfer = transfer_of(task);
      const Lane& lane = plan_.lanes[transfer.lane];
      const bool serial =
          lane.order != Order::Priority && lane.window.count == 1 && transfer.op != CollectiveOp::AllGather;
      add_transfer(task, serial ? last[transfer.lane] : std::nullopt);
      if (serial) last[transfer.lane] = nodes_[task];
    }
  }

  static std::pair<std::string_view, ChakraCollective> looks(CollectiveOp op) {
    if (op == CollectiveOp::ReduceScatter) return {"REDUCESCATTER", ChakraCollective::ReduceScatter};
    if (op == CollectiveOp::AllGather) return {"ALLGATHER", ChakraCollective::AllGather};
    if (op == CollectiveOp::AllToAll) return {"ALLTOALL", ChakraCollective::AllToAll};
    if (op == CollectiveOp::Gather) return {"GATHER", ChakraCollective::Gather};
    if (op == CollectiveOp::Scatter) return {"SCATTER", ChakraCollective::Scatter};
    return {"ALLREDUCE", ChakraCollective::AllReduce};
  }

  const Profile& profile_;
  const Plan& plan_;
  std::int64_t workers_, worker_;
  Unrolled unrolled_;
  std::vector<std::vector<TaskId>> before_;  // by task
  std::vector<std::uint64_t> nodes_;         // by task
  std::vector<std::size_t> by_urgency_;      // transfers, most urgent first
  std::size_t vanished_ = 0;
  ChakraTrace trace_;
  std::vector<std::vector<const Tensor*>> tensors_of_layer_;
  Time clock_{0};
};

struct Built {
  ChakraTrace trace;
  std::vector<std::string> notes;
  std::string groups;
};

Built build(const ExportRequest& request) {
  const Plan plan = request.plan ? *request.plan : tensor_by_tensor(request.profile);
  Writer writer(request.profile, plan, request.workers, request.worker);
  ChakraTrace trace = writer.trace();
  return {std::move(trace), chakra_notes(request, plan, writer.vanished()),
          plan.sharding.has_groups() || plan.sharding.in_nodes() ? groups_text(plan, request.workers) : ""};
}

JsonValue value_of(const ChakraValue& value) {
  return std::visit([](const auto& one) { return JsonValue(one); }, value);
}

}  // namespace

Exported export_chakra(const ExportRequest& request) {
  Built built = build(request);
  return {encode_chakra(built.trace), std::move(built.notes), std::move(built.groups)};
}

Exported export_chakra_json(const ExportRequest& request) {
  Built built = build(request);
  std::string text = "{";
  for (const auto& [name, value] : built.trace.metadata)
    text += fmt::format("{}: {},\n ", json_text(name), json_text(value_of(value)));
  text += "\"workload_graph\": [";
  const char* separator = "\n  ";
  for (const ChakraNode& node : built.trace.nodes) {
    JsonValue json{{"Id", node.id},
                   {"Name", node.name},
                   {"NodeType", node.kind},
                   {"data_deps", node.data_dependencies},
                   {"ctrl_deps", node.control_dependencies},
                   {"runtime", static_cast<std::int64_t>(node.microseconds)}};
    for (const auto& [name, value] : node.attributes) json[name] = value_of(value);
    text += separator + json_text(json);
    separator = ",\n  ";
  }
  return {text + "]}\n", std::move(built.notes), std::move(built.groups)};
}

}  // namespace allreplay
