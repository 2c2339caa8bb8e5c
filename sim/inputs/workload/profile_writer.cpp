#include "sim/inputs/workload/profile_writer.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/core/units.hpp"

namespace allreplay {

namespace {

std::string quoted(const std::string& text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer(buffer).String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

std::string tensor_text(const std::string& name, const std::vector<std::int64_t>& shape, std::int64_t fused,
                        const std::string& muon_us) {
  std::string extras = fused > 1 ? fmt::format(R"(, "fused": {})", fused) : "";
  if (!muon_us.empty()) extras += fmt::format(R"(, "muon_us": {})", muon_us);
  return fmt::format(R"({{"name": {}, "shape": [{}]{}}})", quoted(name), fmt::join(shape, ", "), extras);
}

std::string model_layers(const Profile& profile) {
  std::vector<std::string> lines;
  auto tensor = profile.tensors.begin();
  for (LayerId layer = 0; layer < profile.layers.size(); ++layer) {
    std::vector<std::string> tensors;
    for (; tensor != profile.tensors.end() && tensor->layer == layer; ++tensor)
      tensors.push_back(
          tensor_text(tensor->name, shape_of(*tensor), tensor->fused, tensor->muon ? write_us(*tensor->muon) : ""));
    lines.push_back(fmt::format(R"(  {{"name": {}, "tensors": [{}]}})", quoted(profile.layers[layer].name),
                                fmt::join(tensors, ", ")));
  }
  return fmt::format("{}", fmt::join(lines, ",\n"));
}

std::string layer_text(const ModelLayer& layer) {
  std::vector<std::string> tensors;
  for (const ModelTensor& tensor : layer.tensors)
    tensors.push_back(
        tensor_text(tensor.name, tensor.shape, tensor.fused, tensor.muon_us ? fmt::format("{}", *tensor.muon_us) : ""));
  std::string counts;
  if (layer.forward_macs) counts += fmt::format(R"("forward_macs": {}, )", *layer.forward_macs);
  if (layer.activation_bytes) counts += fmt::format(R"("activation_bytes": {}, )", *layer.activation_bytes);
  return fmt::format(R"(  {{"name": {}, {}"tensors": [{}]}})", quoted(layer.name), counts, fmt::join(tensors, ", "));
}

std::string model_text(const Profile& profile, const Model* model) {
  std::string head = fmt::format(R"("name": {})", quoted(profile.model));
  if (!model) return fmt::format("{}, \"layers\": [\n{}]", head, model_layers(profile));
  for (const auto& [key, text] : {std::pair{"description", &model->description}, std::pair{"source", &model->source},
                                  std::pair{"input", &model->input}})
    if (!text->empty()) head += fmt::format(R"(, "{}": {})", key, quoted(*text));
  std::vector<std::string> lines;
  for (const ModelLayer& layer : model->layers) lines.push_back(layer_text(layer));
  return fmt::format("{}, \"layers\": [\n{}]", head, fmt::join(lines, ",\n"));
}

// The optional keys of a layer.
std::string extras(const Layer& layer) {
  std::string text;
  if (!layer.group.empty()) text += fmt::format(R"(, "group": {})", quoted(layer.group));
  if (layer.activation_bytes) text += fmt::format(R"(, "activation_bytes": {})", *layer.activation_bytes);
  if (layer.backward_weight) text += fmt::format(R"(, "backward_weight": {})", write_us(*layer.backward_weight));
  if (layer.output_bytes) text += fmt::format(R"(, "output_bytes": {})", *layer.output_bytes);
  if (layer.expert) text += R"(, "expert": true)";
  if (layer.frozen) text += R"(, "frozen": true)";
  if (layer.collectives.empty()) return text;
  std::vector<std::string> list;
  for (const LayerCollective& one : layer.collectives)
    list.push_back(fmt::format(R"({{"op": "{}", "group": "{}", "bytes": {}, "pass": "{}"}})", to_string(one.op),
                               name_of(layer_collective_groups, one.group), one.bytes,
                               name_of(layer_collective_passes, one.backward)));
  return text + fmt::format(R"(, "collectives": [{}])", fmt::join(list, ", "));
}

std::string host_text(const HostFloors& host) {
  std::vector<std::string> parts;
  for (const auto& [key, time] :
       {std::pair{"block_forward", host.block_forward}, {"block_backward", host.block_backward}, {"step", host.step}})
    if (time > Time(0)) parts.push_back(fmt::format(R"("{}": "{}")", key, write_duration(time)));
  return fmt::format(R"(, "host": {{{}}})", fmt::join(parts, ", "));
}

// The optional keys of the profile itself.
std::string extras(const Profile& profile) {
  std::string text;
  if (profile.update) text += fmt::format(R"(, "update": {})", write_us(*profile.update));
  if (profile.host.any()) text += host_text(profile.host);
  if (profile.tokens_per_sample) text += fmt::format(R"(, "tokens_per_sample": {})", *profile.tokens_per_sample);
  if (profile.flops_per_sample) text += fmt::format(R"(, "flops_per_sample": {})", *profile.flops_per_sample);
  if (!profile.recompute.empty()) text += fmt::format(R"(, "recompute": "{}")", profile.recompute);
  if (profile.tied)
    text += fmt::format(R"(, "tied": [{}, {}])", quoted(profile.tensors[profile.tied->first].name),
                        quoted(profile.tensors[profile.tied->second].name));
  if (const auto& degrees = profile.degrees)
    text += fmt::format(R"(, "parallel": {{"tp": {}, "cp": {}{}}})", degrees->tp, degrees->cp,
                        degrees->ep ? fmt::format(R"(, "ep": {})", *degrees->ep) : "");
  return text;
}

std::string times(const Profile& profile) {
  std::vector<std::string> lines;
  for (const Layer& layer : profile.layers)
    lines.push_back(fmt::format(R"(  {{"name": {}, "forward": {}, "backward": {}{}}})", quoted(layer.name),
                                write_us(layer.forward), write_us(layer.backward), extras(layer)));
  return fmt::format("{}", fmt::join(lines, ",\n"));
}

std::string details(std::span<const std::string> notes) {
  if (notes.empty()) return "";
  std::vector<std::string> lines;
  for (const std::string& note : notes) lines.push_back("  " + quoted(note));
  return fmt::format(" \"details\": {{\"notes\": [\n{}]}},\n", fmt::join(lines, ",\n"));
}

}  // namespace

std::string profile_json(const Profile& profile, std::span<const std::string> notes, const Model* model) {
  if (!profile.batch_size) throw std::logic_error("a profile needs a batch size");
  return fmt::format(
      "{{\"device\": {}, \"framework\": {}, \"batch_size\": {}, \"precision\": {}, \"origin\": {}, \"source\": {}, "
      "\"unit\": \"us\"{},\n{} \"model\": {{{}}},\n \"layers\": [\n{}]}}\n",
      quoted(profile.device), quoted(profile.framework), *profile.batch_size, quoted(profile.precision),
      quoted(to_string(profile.origin)), quoted(profile.source), extras(profile), details(notes),
      model_text(profile, model), times(profile));
}

}  // namespace allreplay
