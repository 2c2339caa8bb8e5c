#include "sim/inputs/workload/model.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_elements = 1'000'000'000'000;  // the bytes of 10^15 parameters would still fit

ModelTensor read_tensor(const Json& json) {
  json.allow_only({"name", "shape", "fused", "muon_us"});
  ModelTensor tensor{read_name(json.at("name")), {}, 1};
  for (const Json& extent : json.at("shape").items()) tensor.shape.push_back(extent.integer(1, most_elements));
  const auto elements = element_count(tensor.shape);
  if (!elements) json.at("shape").fail("has too many elements", fmt::format("at most {}", most_elements));
  tensor.elements = *elements;
  if (const auto fused = json.find("fused")) {
    tensor.fused = fused->integer(1, 1'000'000);
    const auto divides = [&](std::int64_t extent) { return extent % tensor.fused == 0; };
    if (tensor.shape.size() != 2 || !std::any_of(tensor.shape.begin(), tensor.shape.end(), divides))
      fused->fail("matrices do not fit into this shape", "a number that divides the rows or columns of a matrix");
  }
  if (const auto time = json.find("muon_us")) {
    constexpr double longest = 1e12;
    tensor.muon_us = time->number();
    if (!(*tensor.muon_us >= 0 && *tensor.muon_us <= longest))
      time->fail("is not the time of an update", "0 to 1e12 microseconds");
  }
  return tensor;
}

ModelLayer read_layer(const Json& json) {
  json.allow_only({"name", "forward_macs", "activation_bytes", "frozen", "tensors"});
  ModelLayer layer{read_name(json.at("name")), {}};
  // Estimates of times need both, replays need neither.
  if (const auto macs = json.find("forward_macs")) layer.forward_macs = macs->integer(0, std::int64_t{1} << 53);
  if (const auto bytes = json.find("activation_bytes")) layer.activation_bytes = bytes->integer(0, Bytes{1} << 53);
  if (const auto frozen = json.find("frozen")) layer.frozen = frozen->boolean();
  if (const auto tensors = json.find("tensors"))
    for (const Json& tensor : tensors->items()) layer.tensors.push_back(read_tensor(tensor));
  return layer;
}

}  // namespace

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent > most_elements / elements) return std::nullopt;
    elements *= extent;
  }
  return elements;
}

double newton_schulz_operations(std::span<const std::int64_t> shape, std::int64_t fused) {
  double rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  (shape[0] % fused == 0 ? rows : columns) /= static_cast<double>(fused);
  const double m = std::min(rows, columns), n = std::max(rows, columns);
  return static_cast<double>(fused) * 5 * (4 * m * m * n + 2 * m * m * m);
}

Model read_model(const Json& json) {
  json.allow_only({"name", "description", "source", "input", "layers"});
  Model model;
  model.name = read_name(json.at("name"));
  for (const auto& [key, text] : {std::pair{"description", &model.description}, std::pair{"source", &model.source},
                                  std::pair{"input", &model.input}})
    if (const auto value = json.find(key)) *text = value->text();
  std::set<std::string> layers, tensors;
  for (const Json& item : json.at("layers").items()) {
    model.layers.push_back(read_layer(item));
    if (!layers.insert(model.layers.back().name).second)
      item.at("name").fail(fmt::format("a second layer '{}'", model.layers.back().name), "each name once");
    for (const ModelTensor& tensor : model.layers.back().tensors)
      if (!tensors.insert(tensor.name).second)
        item.at("tensors").fail(fmt::format("a second tensor '{}'", tensor.name), "each name once");
  }
  if (model.layers.empty()) json.at("layers").fail("is empty", "at least one layer");
  return model;
}

}  // namespace allreplay
