#include "sim/output/report/plan_report.hpp"

#include <algorithm>
#include <set>

#include "sim/output/report/notes.hpp"
#include "sim/replay/training/job.hpp"

namespace allreplay {

namespace {

JsonValue lane_json(const Lane& lane) {
  JsonValue json{{"lane", lane.name.substr(0, lane.name.find_last_not_of("0123456789 ") + 1)},
                 {"order", to_string(lane.order)}};
  if (lane.window.count != Window::unlimited) json["transfers_at_a_time"] = lane.window.count;
  if (lane.window.bytes != Window::unlimited) json["bytes_in_flight"] = lane.window.bytes;
  if (lane.tick > Time(0)) json["tick_s"] = to_seconds(lane.tick);
  return json;
}

// The lanes of a pipeline's ranks, "reduce 0" and "reduce 1", are shown once. The order of sends is fixed.
JsonValue lanes_json(const Plan& plan) {
  std::set<std::size_t> of_sends;
  for (const Transfer& one : plan.transfers)
    if (one.op == CollectiveOp::Send) of_sends.insert(one.lane);
  std::set<std::string> shown;
  auto lanes = JsonValue::array();
  for (std::size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    JsonValue json = lane_json(plan.lanes[lane]);
    if (!of_sends.contains(lane) && shown.insert(json_text(json)).second) lanes.push_back(std::move(json));
  }
  return lanes;
}

JsonValue blocks_json(const Scenario& scenario, const Plan& plan) {
  const std::optional<Compression> codec = job_of(scenario).compression;
  auto blocks = JsonValue::array();
  for (const Block& block : plan.blocks) {
    JsonValue json{{"block", blocks.size()},
                   {"bytes", block.bytes()},
                   {"slices", block.slices.size()},
                   {"priority", block.priority},
                   {"tensors", names_of(block, scenario.profile)}};
    if (codec) {
      json["wire_bytes"] = codec->wire_bytes(block);
      json["encode_s"] = to_seconds(codec->encode(block.bytes()));
      json["decode_s"] = to_seconds(codec->decode(block.bytes()));
    }
    blocks.push_back(std::move(json));
  }
  return blocks;
}

}  // namespace

JsonValue plan_summary(const Scenario& scenario, const Plan& plan) {
  const auto sends = std::count_if(plan.transfers.begin(), plan.transfers.end(),
                                   [](const Transfer& one) { return one.op == CollectiveOp::Send; });
  JsonValue json{{"strategy", plan.strategy},         {"blocks", blocks_json(scenario, plan)},
                 {"block_count", plan.blocks.size()}, {"transfers", std::ssize(plan.transfers) - sends},
                 {"lanes", lanes_json(plan)},         {"notes", note_on_origin(scenario.profile)}};
  if (plan.pipeline) {
    json["ranks"] = plan.roles.size();
    json["sends"] = sends;
  } else if (plan.queueing) {
    json["release"] = plan.queueing->release == Release::Backward ? "when the backward pass ends" : "when ready";
    json["barrier"] = to_string(plan.queueing->barrier);
  }
  return json;
}

const View& plan_view() {
  static const View view{{
      ViewFacts{{
          {"strategy", "{strategy}"},
          {"blocks", "{block_count}"},
          {"transfers", "{transfers}"},
          {"ranks", "{ranks}, sends between them: {sends}"},
          {"sent", "{release}"},
          {"barrier", "per {barrier}"},
      }},
      ViewTable{"lanes",
                {{"lane", "{lane}"},
                 {"at a time", "{transfers_at_a_time}"},
                 {"in flight, below", "{bytes_in_flight:exact}"},
                 {"at ticks of", "{tick_s}"},
                 {"order", "{order}"}}},
      ViewTable{"blocks",
                {{"block", "{block}"},
                 {"bytes", "{bytes:0}"},
                 {"on the wire", "{wire_bytes:0}"},
                 {"encoding", "{encode_s}"},
                 {"decoding", "{decode_s}"},
                 {"slices", "{slices}"},
                 {"priority", "{priority}"},
                 {"tensors", "{tensors}"}}},
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
