#include "sim/formats/interchange/importers/kineto_messages.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

// Reads c10d's names, such as "_allgather_base" and "all_gather_into_tensor"; only letters count.
std::string_view collective_of(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c))) letters += c;
  for (const OperationRow& row : operations_with(&OperationRow::measured)) {
    std::string bare(row.name);
    std::erase(bare, '-');
    if (letters.find(bare) != letters.npos) return row.name;
  }
  return {};
}

// Returns the size of an element of c10's type; 0 if unknown.
Bytes bytes_of(std::string_view type) {
  static constexpr std::pair<std::string_view, Bytes> sizes[] = {
      {"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8},        {"Int", 4},
      {"Long", 8},  {"Char", 1}, {"Byte", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
  for (const auto& [name, bytes] : sizes)
    if (name == type) return bytes;
  return 0;
}

// True if an operator of this name can have a layer's tensors as parameters; always, if the name is unknown.
bool plausible(const std::string& name, const ModelLayer& layer) {
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  const std::size_t extents = layer.tensors.front().shape.size();
  if (has("norm"))
    return std::all_of(layer.tensors.begin(), layer.tensors.end(),
                       [](const ModelTensor& tensor) { return tensor.shape.size() == 1; });
  if (has("conv")) return extents >= 3;
  if (has("linear") || has("addmm") || has("matmul") || has("embedding")) return extents == 2;
  return true;
}

}  // namespace

std::optional<MeasuredCollective> measured_collective(const KinetoMessage& message, std::int64_t nanoseconds) {
  const std::string_view name = collective_of(message.collective);
  const Bytes bytes = bytes_of(message.type);
  if (name.empty() || bytes == 0 || message.in <= 0 || message.in > std::numeric_limits<Bytes>::max() / bytes ||
      nanoseconds <= 0)
    return std::nullopt;
  return MeasuredCollective{std::string(name), std::max<std::int64_t>(message.workers, 0), message.in * bytes,
                            Time(1000 * nanoseconds)};
}

Bytes whole_bytes(const KinetoMessage& message) {
  const Bytes bytes = bytes_of(message.type);
  const std::int64_t elements = std::max(message.in, message.out);
  return bytes == 0 || elements <= 0 || elements > std::numeric_limits<Bytes>::max() / bytes ? 0 : elements * bytes;
}

std::vector<std::vector<std::int64_t>> elements_by_order(std::span<const ShapelessLayer> layers, const Model& model,
                                                         const SourceLocation& file) {
  constexpr auto hint = "a trace of that model, or one with record_shapes=True";
  std::vector<std::vector<std::int64_t>> elements;
  for (const ModelLayer& layer : model.layers) {
    if (layer.tensors.empty()) continue;
    if (elements.size() == layers.size())
      throw InputError(file,
                       fmt::format("has {} with gradients, but none for '{}' of the model '{}'",
                                   counted(std::ssize(layers), "operator"), layer.name, model.name),
                       hint);
    const ShapelessLayer& seen = layers[elements.size()];
    if (seen.gradients != layer.tensors.size() || !plausible(seen.name, layer))
      throw InputError(
          file,
          fmt::format("has no shapes, and its operator {} with gradients, {} with {}, is not '{}' of "
                      "the model '{}', with {} of {}",
                      elements.size() + 1, seen.name, seen.gradients, layer.name, model.name,
                      counted(std::ssize(layer.tensors), "tensor"), fmt::join(layer.tensors.front().shape, "x")),
          hint);
    auto& of_layer = elements.emplace_back();
    for (const ModelTensor& tensor : layer.tensors) of_layer.push_back(tensor.elements);
  }
  if (elements.size() < layers.size())
    throw InputError(
        file,
        fmt::format("has {} with gradients, but the model '{}' has {} with tensors",
                    counted(std::ssize(layers), "operator"), model.name, counted(std::ssize(elements), "layer")),
        hint);
  return elements;
}

}  // namespace allreplay
