#include "sim/workload/trace_writer.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/core/units.hpp"

namespace allreplay {

namespace {

std::string quoted(const std::string& text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer(buffer).String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

std::string model_layers(const Profile& profile) {
  std::vector<std::string> lines;
  auto tensor = profile.tensors.begin();
  for (LayerId layer = 0; layer < profile.layers.size(); ++layer) {
    std::vector<std::string> tensors;
    for (; tensor != profile.tensors.end() && tensor->layer == layer; ++tensor)
      tensors.push_back(fmt::format(R"({{"name": {}, "shape": [{}]}})", quoted(tensor->name), tensor->elements));
    lines.push_back(fmt::format(R"(  {{"name": {}, "tensors": [{}]}})", quoted(profile.layers[layer].name),
                                fmt::join(tensors, ", ")));
  }
  return fmt::format("{}", fmt::join(lines, ",\n"));
}

std::string times(const Profile& profile) {
  std::vector<std::string> lines;
  for (const Layer& layer : profile.layers)
    lines.push_back(fmt::format(R"(  {{"name": {}, "forward": {}, "backward": {}}})", quoted(layer.name),
                                write_us(layer.forward), write_us(layer.backward)));
  return fmt::format("{}", fmt::join(lines, ",\n"));
}

std::string details(std::span<const std::string> notes) {
  if (notes.empty()) return "";
  std::vector<std::string> lines;
  for (const std::string& note : notes) lines.push_back("  " + quoted(note));
  return fmt::format(" \"details\": {{\"notes\": [\n{}]}},\n", fmt::join(lines, ",\n"));
}

}  // namespace

std::string trace_json(const Profile& profile, std::span<const std::string> notes) {
  if (!profile.batch_size) throw std::logic_error("a trace needs a batch size");
  return fmt::format(
      "{{\"device\": {}, \"framework\": {}, \"batch_size\": {}, \"precision\": {}, \"origin\": {}, \"source\": {}, "
      "\"unit\": \"us\",\n{} \"model\": {{\"name\": {}, \"layers\": [\n{}]}},\n \"layers\": [\n{}]}}\n",
      quoted(profile.device), quoted(profile.framework), *profile.batch_size, quoted(profile.precision),
      quoted(to_string(profile.origin)), quoted(profile.source), details(notes), quoted(profile.model),
      model_layers(profile), times(profile));
}

}  // namespace allreplay
