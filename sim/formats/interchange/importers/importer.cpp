#include "sim/formats/interchange/importers/importer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/inputs/workload/profile_file.hpp"

namespace allreplay {

namespace {

constexpr double longest_us = 3.6e9;
constexpr double most_parameters = 1e12;

// Makes names valid and unique: a second "relu" becomes "relu#2".
class UniqueNames {
 public:
  std::string unique(const std::string& name, const std::string& otherwise) {
    const std::string text = name.empty() ? otherwise : as_name(name);
    std::string one = text;
    for (int& count = last_[text]; !taken_.insert(one).second;) one = fmt::format("{}#{}", text, ++count + 1);
    return one;
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> last_;  // by name, one less than the last number used
};

void set_if_given(std::string& value, const std::string& given, const std::string& otherwise) {
  if (!given.empty()) value = given;
  if (value.empty()) value = otherwise;
  value = as_name(value);
}

// Notes options that contradict what the file states.
void note_contradictions(Imported& imported, const ImportOptions& options) {
  const Profile& profile = imported.profile;
  const auto note = [&](std::string_view what, const auto& given, std::string_view option, const auto& stated) {
    imported.notes.push_back(fmt::format("the {} is {}, as {} says, not {}", what, given, option, stated));
  };
  if (options.batch_size && profile.batch_size && *options.batch_size != *profile.batch_size)
    note("batch size", *options.batch_size, "--batch", *profile.batch_size);
  // "v100" is short for "Tesla V100-DGXS-32GB".
  if (!options.device.empty() && !profile.device.empty() &&
      lower_case(profile.device).find(lower_case(options.device)) == std::string::npos)
    note("device", options.device, "--device", profile.device);
  // TF32 computes with tensors of fp32.
  const auto stored = [](const std::string& precision) { return precision == "tf32" ? "fp32" : precision; };
  if (!options.precision.empty() && !profile.precision.empty() &&
      stored(options.precision) != stored(profile.precision))
    note("precision", options.precision, "--precision", profile.precision);
}

// Returns "resnet50_torch1.9" for "there/resnet50_torch1.9.pt.trace.json.gz".
std::string stem(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  const std::set<std::string> known{".gz", ".json", ".trace", ".pt", ".txt", ".csv", ".log", ".et"};
  while (known.contains(name.extension().string())) name = name.stem();
  return name.string();
}

// Gives the layers with parameters the names and tensors of the model's layers.
void match(Profile& profile, const Model& model, const SourceLocation& file) {
  std::map<LayerId, std::int64_t> parameters;
  for (const Tensor& tensor : profile.tensors) parameters[tensor.layer] += tensor.elements;
  profile.tensors.clear();
  auto next = parameters.begin();
  for (const ModelLayer& layer : model.layers) {
    std::int64_t expected = 0;
    for (const ModelTensor& tensor : layer.tensors) expected += tensor.elements;
    if (expected == 0) continue;
    if (next == parameters.end())
      throw InputError(file, fmt::format("has no layer for '{}' of the model '{}'", layer.name, model.name),
                       fmt::format("{} parameters", expected));
    if (next->second != expected)
      throw InputError(file,
                       fmt::format("the layer '{}' has {} parameters, but '{}' of the model '{}' has {}",
                                   profile.layers[next->first].name, next->second, layer.name, model.name, expected),
                       "the same layers in the same order");
    profile.layers[next->first].name = layer.name;
    for (const ModelTensor& tensor : layer.tensors)
      profile.tensors.push_back({tensor.name, tensor.elements, 0, next->first, tensor.shape});
    ++next;
  }
  if (next != parameters.end())
    throw InputError(file,
                     fmt::format("the layer '{}' has parameters, and no layer of the model '{}' is left for them",
                                 profile.layers[next->first].name, model.name),
                     "the same layers in the same order");
  profile.model = model.name;
}

void set_forward(Imported& imported, const ImportOptions& options) {
  if (!options.forward_ratio) return;
  for (Layer& layer : imported.profile.layers) layer.forward = scaled(layer.backward, *options.forward_ratio);
  imported.notes.push_back(
      fmt::format("every layer's forward time was set to {:g} times its backward time", *options.forward_ratio));
}

void require_complete(const Profile& profile, const SourceLocation& file) {
  if (profile.layers.empty()) throw InputError(file, "has no layers", "at least one layer with its times");
  require_bearable_layers(profile, file);
  for (const Tensor& tensor : profile.tensors)
    if (tensor.elements < 1)
      throw InputError(file,
                       fmt::format("a tensor of the layer '{}' has no elements", profile.layers[tensor.layer].name),
                       "extents of at least 1 in its shape");
  if (profile.tensors.empty())
    throw InputError(file, "has no parameters: nothing would be communicated",
                     "a file that says how many parameters the layers have");
  if (add(profile.forward(), profile.backward()) == Time(0))
    throw InputError(file, "every layer's time is zero", "measured times");
  if (!profile.batch_size) throw InputError(file, "does not say the batch size", "give --batch B");
}

bool is_csv(std::string_view, std::string_view head) {
  const std::string_view header = head.substr(0, head.find('\n'));
  return header.find("backward_us") != std::string_view::npos && header.find(',') != std::string_view::npos;
}

Imported read_csv(ByteSource& source, const ImportOptions& options) {
  const std::string text = source.rest();
  Imported imported{read_table(source.file(), text, options.forward_ratio.has_value())};
  imported.profile.precision.clear();  // a table does not state it
  return imported;
}

}  // namespace

std::span<const Importer> importers() {
  static const std::vector<Importer> all{
      {"kineto", "PyTorch profiler (Kineto): a Chrome trace of training on a GPU", is_kineto, read_kineto},
      {"chakra", "MLCommons Chakra execution trace, protobuf (.et)", is_chakra, read_chakra},
      {"chakra-json", "MLCommons Chakra execution trace, JSON", is_chakra_json, read_chakra_json},
      {"csv", "a table with the columns layer, params, forward_us, backward_us; tensors, update_us, group", is_csv,
       read_csv},
  };
  return all;
}

const Importer& find_importer(std::string_view name, const SourceLocation& place) {
  return find_by_name(importers(), name, place, "unknown format '{}'");
}

const Importer& recognise(const ByteSource& source) {
  std::vector<std::string_view> names;
  for (const Importer& importer : importers()) {
    if (importer.recognises(source.file(), source.head())) return importer;
    names.push_back(importer.name);
  }
  throw InputError({source.file(), ""},
                   source.head().empty() ? "is empty" : "does not look like a format that can be imported",
                   fmt::format("one of {}; --from FORMAT chooses one", fmt::join(names, ", ")));
}

Imported import_profile(const Importer& importer, ByteSource& source, const ImportOptions& options) {
  const SourceLocation file{source.file(), ""};
  Imported imported = importer.read(source, options);
  Profile& profile = imported.profile;
  if (options.match) {
    match(profile, *options.match, file);
    imported.notes.push_back(fmt::format(
        "layers with parameters are named as those of the model '{}', and have its tensors", options.match->name));
  }
  note_contradictions(imported, options);
  set_if_given(profile.model, options.model, stem(source.file()));
  set_if_given(profile.device, options.device, "unknown");
  set_if_given(profile.framework, options.framework, "unknown");
  set_if_given(profile.precision, options.precision, "fp32");
  const Bytes bytes = choose_by_name(precisions, profile.precision, file, "unknown precision '{}'").bytes;
  if (options.batch_size) profile.batch_size = options.batch_size;
  profile.name = profile.model;
  profile.origin = Origin::Imported;
  set_if_given(profile.source, options.source,
               fmt::format("{} ({})", std::filesystem::path(source.file()).filename().string(), importer.name));
  UniqueNames layers, tensors;
  for (Layer& layer : profile.layers) {
    layer.name = layers.unique(layer.name, "layer");
    if (!layer.group.empty()) layer.group = as_name(layer.group);
  }
  for (Tensor& tensor : profile.tensors) {
    tensor.name = tensors.unique(tensor.name, profile.layers[tensor.layer].name);
    tensor.bytes = tensor.elements * bytes;
  }
  set_forward(imported, options);
  require_complete(profile, file);
  for (std::string& note : imported.notes) note = one_line(note, 4 * longest_name);
  return imported;
}

std::string collectives_csv(const Imported& imported, const SourceLocation& file) {
  if (imported.collectives.empty())
    throw InputError(file, "has no collective whose size is known", "a trace of a job of several ranks, with NCCL");
  const bool counted = std::all_of(imported.collectives.begin(), imported.collectives.end(),
                                   [](const MeasuredCollective& one) { return one.workers > 0; });
  std::string text = fmt::format("collective,{}bytes,time_us\n", counted ? "workers," : "");
  for (const MeasuredCollective& one : imported.collectives)
    text += fmt::format("{},{}{},{}\n", one.name, counted ? fmt::format("{},", one.workers) : "", one.bytes,
                        static_cast<double>(one.time.count()) / 1e6);
  return text;
}

Time measured_us(double microseconds, const SourceLocation& place) {
  if (!(microseconds >= 0 && microseconds <= longest_us))
    throw InputError(place, fmt::format("{} us is not a measured time", microseconds), "0 to 3.6e9 us (an hour)");
  return to_time(microseconds * 1e-6);
}

std::int64_t parameter_count(double count, const SourceLocation& place) {
  if (!(count >= 0 && count <= most_parameters && count == std::floor(count)))
    throw InputError(place, fmt::format("{} is not a number of parameters", count), "a whole number, 0 to 1e12");
  return static_cast<std::int64_t>(count);
}

}  // namespace allreplay
