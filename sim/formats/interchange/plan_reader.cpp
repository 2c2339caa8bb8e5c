#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/name.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/formats/interchange/plan_parts.hpp"
#include "sim/formats/interchange/plan_words.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/plans/pipeline/planned.hpp"
#include "sim/plans/schedule/needs.hpp"

namespace allreplay {

namespace {

// Reads the name of a family of groups, which files call an axis.
std::uint32_t read_axis(const Json& json, const Plan& plan) {
  std::vector<std::string> names = names_of(plan.groups);
  const auto found = std::find(names.begin(), names.end(), json.text());
  if (found == names.end())
    json.fail(fmt::format("'{}' is not one of these", json.text()), fmt::format("{}", fmt::join(names, ", ")));
  return static_cast<std::uint32_t>(found - names.begin());
}

class PlanReader {
 public:
  PlanReader(const Json& json, const Profile& profile, std::int64_t workers)
      : json_(json),
        profile_(profile),
        workers_(workers),
        layers_(profile.layers, "layer"),
        tensors_(profile.tensors, "tensor") {}

  Plan read() {
    if (json_.find("ranks")) return read_pipeline();
    json_.allow_only({"strategy", "description", "order", "window", "barrier", "stages", "release", "tick", "blocks",
                      "lanes", "program", "transfers", "step", "copy", "holding", "gradient_dtype", "parameter_dtype",
                      "quantise", "outer_update"});
    if (const auto text = json_.find("description")) text->text();
    const bool in_full = json_.find("transfers").has_value();
    const bool in_short = std::any_of(std::begin(keys_of_queueing), std::end(keys_of_queueing),
                                      [&](std::string_view key) { return json_.find(key).has_value(); });
    for (const char* key : {"lanes", "program"})
      if (const auto part = json_.find(key); part && !in_full)
        part->fail("has no effect without transfers", "add \"transfers\"");
    Plan plan;
    const ShardingConfig step = read_step(json_, profile_);
    if (!in_full || in_short) {
      if (step.shards_parameters())
        json_.at("step").at("zero").fail("needs the gathers of parameters", "lanes, program and transfers");
      if (step.averages())
        json_.at("step").at("sync_every").fail("needs the averages of a round", "lanes, program and transfers");
      BucketSchedule schedule{read_queueing(json_), strategy(), blocks()};
      if (schedule.split && step.shards_optimizer())
        json_.at("stages").fail("are those of an all-reduce, but the plan shards", "zero 0, or no stages");
      plan = expand(std::move(schedule), profile_, step);
    }
    if (!in_full) return plan;
    Plan full = plan_in_full({});
    if (!in_short) return full;
    if (!same(plan, full))
      json_.at("transfers")
          .fail("do not match order, window, barrier and stages", "leave out those, or lanes, program and transfers");
    return plan;
  }

 private:
  std::string strategy() const {
    const auto name = json_.find("strategy");
    return name ? name_in(*name) : "";
  }

  static std::string name_in(const Json& name) {
    const std::string text = read_name(name);
    if (text.empty()) name.fail("is empty", "a word for tables and rows, or leave it out");
    return text;
  }

  std::vector<Block> blocks() const {
    std::vector<Block> blocks;
    for (const Json& json : json_.at("blocks").items()) {
      json.allow_only({"slices", "priority", "tick"});
      Block& block = blocks.emplace_back();
      constexpr std::int64_t latest = std::numeric_limits<std::uint32_t>::max();
      if (const auto tick = json.find("tick")) block.tick = static_cast<std::uint32_t>(tick->integer(0, latest));
      if (const auto priority = json.find("priority")) block.priority = any_integer(*priority);
      for (const Json& slice : json.at("slices").items()) block.slices.push_back(slice_of(slice));
      if (block.slices.empty()) json.at("slices").fail("is empty", "at least one slice");
    }
    if (blocks.empty() && !profile_.tensors.empty())
      json_.at("blocks").fail("is empty", "every gradient in one of them");
    return blocks;
  }

  // A tensor's name without offset and bytes is the whole tensor.
  Slice slice_of(const Json& json) const {
    if (!json.is_object()) {
      const TensorId tensor = tensors_.read(json);
      return {tensor, 0, profile_.tensors[tensor].bytes};
    }
    json.allow_only({"tensor", "offset", "bytes"});
    const TensorId tensor = tensors_.read(json.at("tensor"));
    const Bytes all = profile_.tensors[tensor].bytes;
    Slice slice{tensor, 0, all};
    if (const auto offset = json.find("offset")) slice.offset = offset->integer(0, all - 1);
    slice.bytes = all - slice.offset;
    if (const auto bytes = json.find("bytes")) slice.bytes = bytes->integer(1, slice.bytes);
    return slice;
  }

  static std::int64_t any_integer(const Json& json) {
    return json.integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  }

  static std::uint32_t block_of(const Json& json, const Plan& plan) {
    return static_cast<std::uint32_t>(json.integer(0, static_cast<std::int64_t>(plan.blocks.size()) - 1));
  }

  // `plan` already has the layout of a pipeline; else it is empty.
  Plan plan_in_full(Plan plan) {
    plan.strategy = strategy();
    plan.sharding = read_step(json_, profile_);
    if (plan.pipeline) plan.sharding.experts = profile_.has_experts() ? plan.pipeline->ep : 1;
    if (!plan.pipeline) plan.groups = data_parallel_groups(plan.sharding);
    plan.blocks = blocks();
    if (const auto rate = json_.find("copy")) plan.copy_rate = parse_rate(rate->text(), rate->place());
    if (const auto rate = json_.find("quantise")) plan.quantise_rate = parse_rate(rate->text(), rate->place());
    if (const auto time = json_.find("outer_update")) plan.outer_update = to_time(time->duration());
    plan.memory_policy = read_memory_policy(json_, profile_, layers_, plan.blocks.size());
    read_lanes(plan);
    read_programs(plan);
    const std::vector<Json> items = json_.at("transfers").items();
    for (const Json& json : items) plan.transfers.push_back(transfer_of(json, plan));
    for (std::size_t index = 0; index < items.size(); ++index) {
      if (const auto after = items[index].find("after"))
        for (const Json& json : after->items())
          plan.gates.push_back({point(json, plan), transfer(index), says_next(json, plan)});
      if (const auto before = items[index].find("before"))
        for (const Json& json : before->items()) {
          plan.gates.push_back({transfer(index), point(json, plan), says_next(json, plan)});
          if (std::holds_alternative<StartPoint>(plan.gates.back().after))
            json.fail("comes before the start", "a work or a transfer");
        }
    }
    return plan;
  }

  // Reads a computation in a lane.
  Transfer computation_of(const Json& json, const Plan& plan) const {
    json.allow_only({"computes", "block", "bytes", "lane", "payload", "batch", "after", "before"});
    Transfer one{.op = CollectiveOp::Send, .group = group_shard, .computes = read_computation(json.at("computes"))};
    one.lane = lane_of(plan, json.at("lane"));
    if (!plan.lanes[one.lane].stream) json.at("lane").fail("does not compute", "a lane with \"stream\": true");
    if (const auto batch = json.find("batch")) one.micro_batch = batch_of(*batch, plan);
    one.payload = {read_payload(json).value_or(Payload::Kind::Gradients), block_of(json.at("block"), plan)};
    one.bytes = bytes_of(json.at("bytes"));
    return one;
  }

  Transfer transfer_of(const Json& json, Plan& plan) const {
    if (!plan.pipeline && json.find("computes")) return computation_of(json, plan);
    Transfer transfer{.op = read_op(json.at("op"), plan.pipeline.has_value())};
    const bool just_bytes = plan.pipeline && json.find("bytes");
    if (just_bytes)
      json.allow_only({"op", "bytes", "lane", "priority", "axis", "batch", "after", "before"});
    else if (plan.pipeline)
      json.allow_only(
          {"op", "block", "lane", "priority", "axis", "batch", "after", "before", "ticks_from", "held_until"});
    else
      json.allow_only(
          {"op", "block", "lane", "priority", "axis", "batch", "after", "before", "held_until", "payload", "wire"});
    if (plan.pipeline)
      transfer.group = axis_of_pipeline(json.at("axis"), plan);
    else if (const auto axis = json.find("axis"))
      transfer.group = read_axis(*axis, plan);
    if (const auto batch = json.find("batch")) transfer.micro_batch = batch_of(*batch, plan);
    if (const auto lane = json.find("lane")) transfer.lane = lane_of(plan, *lane);
    if (const auto priority = json.find("priority")) transfer.priority = any_integer(*priority);
    if (const auto mark = json.find("ticks_from")) transfer.ticks_from = work_point(*mark, plan);
    if (const auto held = json.find("held_until")) transfer.held_until = work_point(*held, plan);
    if (just_bytes) {
      const bool sends = transfer.op == CollectiveOp::Send;
      transfer.payload.kind = sends ? Payload::Kind::Activations : Payload::Kind::Gradients;
      transfer.bytes = bytes_of(json.at("bytes"));
      return transfer;
    }
    const bool parameters = transfer.op == CollectiveOp::AllGather && plan.sharding.shards_optimizer();
    transfer.payload = {parameters ? Payload::Kind::Parameters : Payload::Kind::Gradients,
                        block_of(json.at("block"), plan)};
    if (const auto kind = plan.pipeline ? std::nullopt : read_payload(json)) transfer.payload.kind = *kind;
    if (const auto wire = plan.pipeline ? std::nullopt : json.find("wire")) transfer.payload.wire = read_wire(*wire);
    if (plan.lanes[transfer.lane].stream) json.fail("is in a lane that computes", "another lane");
    transfer.bytes = wire_bytes(plan, transfer.group, transfer.payload, profile_);
    if (transfer.op == CollectiveOp::AllToAll && transfer.payload.kind == Payload::Kind::Matrices)  // a rank's shards
      transfer.bytes = transfer.bytes / static_cast<double>(plan.groups[transfer.group].group.of(workers_).ranks);
    return transfer;
  }

  static double bytes_of(const Json& json) {
    constexpr double most = 1e15;  // as many as a profile's output_bytes may be
    const double bytes = json.number();
    if (!(bytes >= 0 && bytes <= most)) json.fail("is not a number of bytes", "0 to 1e15");
    return bytes;
  }

  static bool says_next(const Json& json, const Plan& plan) {
    if (!plan.pipeline || !json.is_object()) return false;
    const auto next = json.find("next");
    return next && next->boolean();
  }

  // Reads a pipeline's plan: its degrees and chunks, and a program for each rank.
  Plan read_pipeline() {
    json_.allow_only({"strategy", "description", "blocks", "lanes", "parallel", "ranks", "transfers", "step", "copy",
                      "holding", "gradient_dtype", "parameter_dtype"});
    if (const auto text = json_.find("description")) text->text();
    const Json parallel = json_.at("parallel");
    parallel.allow_only({"pp", "tp", "cp", "ep", "schedule", "stages", "update_barrier", "barrier", "ep_overlap"});
    Plan plan;
    PlannedPipeline& pipeline = plan.pipeline.emplace();
    const auto degree = [&](const char* key) {
      const auto json = parallel.find(key);
      return json ? json->integer(1, most_workers) : 1;
    };
    pipeline.tp = degree("tp");
    pipeline.cp = degree("cp");
    pipeline.ep = degree("ep");
    pipeline.schedule = parallel.find("schedule") ? name_in(parallel.at("schedule")) : "by-hand";
    if (const auto barrier = parallel.find("barrier")) pipeline.barrier = read_barrier(*barrier);
    if (const auto overlap = parallel.find("ep_overlap")) pipeline.ep_overlap = overlap->boolean();
    plan.together = true;
    if (const auto barrier = parallel.find("update_barrier")) {
      if (barrier->text() != "all" && barrier->text() != "stage")
        barrier->fail(fmt::format("'{}' is not one of these", barrier->text()), "all, stage");
      plan.together = barrier->text() == "all";
    }
    const auto ranks = static_cast<std::size_t>(degree("pp"));
    if (ranks < 2 || json_.at("ranks").items().size() != ranks)
      json_.at("ranks").fail(fmt::format("has {} entries, but pp is {}", json_.at("ranks").items().size(), ranks),
                             "as many as pp, and at least two");
    for (const Json& layers : parallel.at("stages").items()) pipeline.layers.push_back(layers.integer(1, 1'000'000));
    const ParallelOptions degrees_of_file{
        .pp = static_cast<std::int64_t>(ranks), .tp = pipeline.tp, .cp = pipeline.cp, .ep = pipeline.ep};
    const Degrees degrees = degrees_of(degrees_of_file, workers_, parallel.place(), parallel.place());
    plan.roles.resize(ranks);
    plan.groups.clear();
    for (std::int64_t rank = 0; rank < degrees.pp; ++rank) {
      Role& role = plan.roles[static_cast<std::size_t>(rank)];
      role.name = fmt::format("rank {}", rank);
      for (std::int64_t i = 0; i < degrees.rank_workers(); ++i)
        role.workers.push_back(rank * degrees.rank_workers() + i);
      plan.groups.push_back({fmt::format("data {}", rank), degrees.gradients(rank)});
    }
    for (std::int64_t rank = 0; rank < degrees.pp && degrees.ep > 1 && profile_.has_experts(); ++rank)
      plan.groups.push_back({fmt::format("expert {}", rank), degrees.expert_gradients(rank)});
    degrees_ = degrees;
    require_all_passes(read_step(json_, profile_));
    plan = plan_in_full(std::move(plan));
    set_channels(plan);
    const Pipeline laid_out = pipeline_of(plan, degrees, profile_, json_.place());
    if (const auto wrong = find_plan_error(plan, laid_out, profile_))
      throw InputError(json_.place(), wrong->what, wrong->remedy);
    return plan;
  }

  // Bounds tables by layer and micro-batch by the size of the file.
  void require_all_passes(const ShardingConfig& step) const {
    std::size_t works = 0;
    for (const Json& rank : json_.at("ranks").items()) works += rank.at("program").items().size();
    const std::size_t passes = 2 * profile_.layers.size() * static_cast<std::size_t>(step.accumulate);
    if (works < passes)
      json_.at("ranks").fail(fmt::format("run {} works, but {} micro-batches of {} layers are {} passes", works,
                                         step.accumulate, profile_.layers.size(), passes),
                             "a forward and a backward pass of each layer and micro-batch");
  }

  // Reads the group of a pipeline's transfer: "data 0" (gradients of a rank), or "0 to 1" (a send between ranks).
  std::uint32_t axis_of_pipeline(const Json& json, Plan& plan) const {
    const std::string text = json.text();
    const auto known =
        std::find_if(plan.groups.begin(), plan.groups.end(), [&](const NamedGroup& one) { return one.name == text; });
    if (known != plan.groups.end()) return static_cast<std::uint32_t>(known - plan.groups.begin());
    for (std::int64_t from = 0; from < degrees_.pp; ++from)
      if (const std::string start = fmt::format("{} to ", from); text.starts_with(start))
        for (std::int64_t to = 0; to < degrees_.pp; ++to)
          if (to != from && text == start + std::to_string(to)) {
            plan.groups.push_back({text, degrees_.pairs(from, to)});
            return static_cast<std::uint32_t>(plan.groups.size() - 1);
          }
    json.fail(fmt::format("'{}' is not an axis of {} ranks", text, degrees_.pp), "such as \"data 0\" or \"0 to 1\"");
  }

  void read_lanes(Plan& plan) const {
    if (const auto list = json_.find("lanes"))
      allreplay::read_lanes(*list, plan);
    else
      plan.lanes = {{.name = "network"}};
  }

  static std::uint32_t lane_of(const Plan& plan, const Json& json) {
    std::vector<std::string> names;
    for (const Lane& lane : plan.lanes) {
      if (lane.name == json.text()) return static_cast<std::uint32_t>(names.size());
      names.push_back(lane.name);
    }
    json.fail(fmt::format("there is no lane '{}'", json.text()), suggest(json.text(), names));
  }

  static std::uint32_t batch_of(const Json& json, const Plan& plan) {
    return static_cast<std::uint32_t>(json.integer(0, plan.sharding.micro_batches() - 1));
  }

  void read_programs(Plan& plan) {
    if (plan.pipeline) {
      const std::vector<Json> ranks = json_.at("ranks").items();
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        ranks[rank].allow_only({"program", "pairs"});
        read_program(ranks[rank].at("program"), plan, plan.roles[rank]);
        if (const auto pairs = ranks[rank].find("pairs")) read_pairs(*pairs, plan, plan.roles[rank]);
      }
      return;
    }
    const auto list = json_.find("program");
    if (list)
      read_program(*list, plan, plan.roles.front());
    else
      plan.program() = one_iteration(profile_, plan.sharding);
    if (const auto wrong = find_iteration_error(plan, profile_))
      (list ? *list : json_).fail(wrong->what, wrong->remedy);
    if (!list) places_.emplace_back(plan.program());
  }

  void read_program(const Json& list, const Plan& plan, Role& role) {
    for (const Json& json : list.items()) role.program.push_back(work_of(json, plan));
    places_.emplace_back(role.program);
  }

  // `as_point`: the work is the end of a gate, which in a pipeline may also have "rank" and "next".
  Work work_of(const Json& json, const Plan& plan, bool as_point = false) const {
    for (const ActivityRow& row : activity_rows) {
      const Activity kind = row.value;
      const std::string word(row.name);
      const auto item = is_work(kind) && kind != Activity::HostStep ? json.find(word) : std::nullopt;
      if (!item || !(plan.pipeline || occurs_without_pipeline(kind))) continue;
      if (as_point && plan.pipeline)
        json.allow_only({word, "batch", "rank", "next", "computed"});
      else
        json.allow_only({word, "batch"});
      Work one{kind};
      if (const auto batch = json.find("batch")) one.micro_batch = batch_of(*batch, plan);
      if (kind == Activity::Update && !item->is_number() && item->text() == everything_word)
        one.item = everything;
      else if (kind == Activity::Mark)
        one.item = static_cast<std::uint32_t>(
            item->integer(0, plan.pipeline ? std::ssize(plan.pipeline->layers) - 1 : plan.sharding.steps() - 1));
      else
        one.item = is_of_layer(kind) ? layers_.read(*item) : block_of(*item, plan);
      return one;
    }
    json.fail("is not a single work", "such as {\"backward\": LAYER} or {\"forward\": LAYER}");
  }

  static bool occurs_without_pipeline(Activity kind) {
    return kind != Activity::BackwardInput && kind != Activity::BackwardWeight;
  }

  WorkPoint work_point(const Json& json, const Plan& plan) const {
    std::uint32_t rank = 0;
    if (plan.pipeline) rank = static_cast<std::uint32_t>(json.at("rank").integer(0, std::ssize(plan.roles) - 1));
    const auto place = places_[rank].find(work_of(json, plan, true));
    if (!place) json.fail("is not in the program", "one of its works");
    const auto computed = plan.pipeline ? json.find("computed") : std::nullopt;
    return {static_cast<std::uint32_t>(*place), rank, computed && computed->boolean()};
  }

  PlanPoint point(const Json& json, const Plan& plan) const {
    if (!json.is_object()) {
      if (json.text() != start_word || plan.pipeline)
        json.fail("is not a valid start or end",
                  plan.pipeline ? "a work or a transfer" : "a work, a transfer or \"start\"");
      return start_of_program();
    }
    const auto other = json.find("transfer");
    if (!other) return work_point(json, plan);
    if (plan.pipeline)
      json.allow_only({"transfer", "next"});
    else
      json.allow_only({"transfer"});
    return transfer(static_cast<std::size_t>(other->integer(0, static_cast<std::int64_t>(plan.transfers.size()) - 1)));
  }

  // Compares gates as sets: a file lists them by transfer.
  static bool same(const Plan& a, const Plan& b) {
    const auto sorted = [](std::vector<Gate> gates) {
      std::sort(gates.begin(), gates.end());
      gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
      return gates;
    };
    return a.transfers == b.transfers && a.lanes == b.lanes && a.program() == b.program() &&
           sorted(a.gates) == sorted(b.gates);
  }

  const Json& json_;
  const Profile& profile_;
  std::int64_t workers_;
  PlanNames layers_, tensors_;
  std::vector<ProgramIndex> places_;  // by role, an index of its program
  Degrees degrees_;                   // if the plan is a pipeline's
};

}  // namespace

Dtypes read_plan_dtypes(const Files& files, const std::string& file) {
  const Json json = Json::read(files, file);
  Dtypes dtypes;
  if (const auto gradient = json.find("gradient_dtype")) dtypes.gradient = read_dtype(*gradient);
  if (const auto parameter = json.find("parameter_dtype")) dtypes.parameter = read_dtype(*parameter);
  return dtypes;
}

Plan read_plan(const Files& files, const std::string& file, const Profile& profile, std::int64_t workers) {
  return read_plan(Json::read(files, file), profile, workers);
}

Plan read_plan(const Json& json, const Profile& profile, std::int64_t workers) {
  Plan plan = PlanReader(json, profile, workers).read();
  if (plan.strategy.empty()) plan.strategy = std::filesystem::path(json.place().file).stem().string();
  if (plan.pipeline) return plan;
  if (const auto wrong = find_plan_error(plan, profile)) throw InputError(json.place(), wrong->what, wrong->remedy);
  return plan;
}

}  // namespace allreplay
