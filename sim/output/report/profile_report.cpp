#include "sim/output/report/profile_report.hpp"

#include "sim/output/report/notes.hpp"

namespace allreplay {

namespace {

// The bytes of the collectives of a micro-batch.
Bytes sent_inside_layers(const Profile& profile) {
  Bytes sent = 0;
  for (const Layer& layer : profile.layers)
    for (const LayerCollective& one : layer.collectives) sent += one.bytes;
  return sent;
}

Bytes activations_of(const Profile& profile) {
  Bytes kept = 0;
  for (const Layer& layer : profile.layers) kept += layer.activation_bytes.value_or(0);
  return kept;
}

}  // namespace

JsonValue profile_summary(const Profile& profile) {
  JsonValue json{{"model", profile.model},
                 {"source", profile.source},
                 {"device", profile.device},
                 {"precision", profile.precision},
                 {"batch_size", profile.batch_size},
                 {"layers", profile.layers.size()},
                 {"tensors", profile.tensors.size()},
                 {"parameters", profile.elements_with_frozen()},
                 {"forward_s", to_seconds(profile.forward())},
                 {"backward_s", to_seconds(profile.backward())}};
  if (profile.has_frozen()) json["trained_parameters"] = profile.elements();
  if (profile.update) json["update_s"] = to_seconds(*profile.update);
  for (const auto& [key, time] : {std::pair{"host_block_forward_s", profile.host.block_forward},
                                  {"host_block_backward_s", profile.host.block_backward},
                                  {"host_step_s", profile.host.step}})
    if (time > Time(0)) json[key] = to_seconds(time);
  if (const Bytes kept = activations_of(profile); kept > 0) json["activation_bytes"] = kept;
  return json;
}

JsonValue estimate_json(const Estimate& made, const std::string& input, const Device* device, const Outcome& outcome,
                        bool has_setting) {
  const Profile& profile = made.profile;
  JsonValue json = profile_summary(profile);
  json["notes"] = JsonValue::array();
  if (!input.empty()) json["input"] = input;
  const auto [tp, cp, given_ep] = profile.degrees.value_or(ProfileDegrees{});
  const std::int64_t ep = given_ep.value_or(1);
  if (made.active_parameters < made.model_parameters) {
    json["active_parameters"] = made.active_parameters;
    if (tp * ep > 1) json["model_parameters"] = made.model_parameters;
  }
  if (tp * cp * ep > 1) {
    json["tp"] = tp, json["cp"] = cp;
    if (ep > 1) json["ep"] = ep;
    json["group_bytes"] = sent_inside_layers(profile);
    if (!has_setting) json["notes"].push_back({{"note", "speed without group"}});
  }
  if (has_setting) {
    const Scenario& setting = outcome.scenario;
    json.update(
        {{"workers", setting.workers}, {"cluster", setting.cluster.name}, {"strategy", setting.strategy->name}});
    json["iteration_s"] = outcome.result.metrics.iteration_s;
    json["exposed_comm_s"] = outcome.result.metrics.exposed_comm_s;
  }
  // Without a setting, a worker was replayed as if it did all of a sample that its group shares.
  const double group = has_setting ? 1 : static_cast<double>(tp * cp);
  const SpeedPerGpu speed = speed_per_gpu(outcome.scenario, outcome.result.metrics);
  json["samples_per_s"] = speed.samples_per_s.value() / group;
  if (speed.tokens_per_s) json["tokens_per_s"] = *speed.tokens_per_s / group;
  if (speed.mfu) json["mfu"] = *speed.mfu / group;
  const auto [products, attention, source] = made.efficiency;
  if (products > 0) json["roofline_share"] = products;
  if (attention != products) json["roofline_attention_share"] = attention;
  if (device) {
    json["device_bytes"] = device->memory;
    if (activations_of(profile) > device->memory) json["notes"].push_back({{"note", "activations do not fit"}});
  }
  append(json["notes"], notes_on_origins({{profile.model, {to_string(profile.origin)}}}));
  return json;
}

const View& profile_view() {
  static const View view{{
      ViewFacts{{
          {"model", "{model}"},
          {"one worker of", "tp {tp}, cp {cp}[, ep {ep}]"},
          {"source", "{source}"},
          {"device", "{device}, {precision}"},
          {"batch size", "{batch_size}[ of {input}]"},
          {"layers", "{layers}"},
          {"tensors", "{tensors}"},
          {"parameters", "{parameters:grouped}[ of {model_parameters:grouped}]"},
          {"trained parameters", "{trained_parameters:grouped}"},
          {"active parameters", "{active_parameters:grouped}"},
          {"forward", "{forward_s}"},
          {"backward", "{backward_s}"},
          {"update", "{update_s}"},
          {"host's floor of a block", "{host_block_forward_s} forward, {host_block_backward_s} backward"},
          {"host's part of a step", "{host_step_s}"},
          {"activations", "{activation_bytes}"},
          {"sent inside layers", "{group_bytes}"},
          {"setting", "{workers} workers of {cluster}, {strategy}"},
          {"iteration", "{iteration_s}"},
          {"exposed communication", "{exposed_comm_s}"},
          {"samples/s of a GPU", "{samples_per_s}"},
          {"tokens/s of a GPU", "{tokens_per_s:0}"},
          {"MFU", "{mfu}"},
          {"device's memory", "{device_bytes}"},
      }},
      ViewNotes{},
  }};
  return view;
}

}  // namespace allreplay
