#include "sim/inputs/workload/profile_file.hpp"

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/json.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr double longest_us = 1e12;  // 11 days for one layer: surely a mistaken unit
constexpr Bytes most_bytes = Bytes{1} << 53;
constexpr std::int64_t most_parameters = 1'000'000'000'000;
constexpr std::int64_t most_tokens = 1'000'000'000;
constexpr double most_flops = 1e30;

Time microseconds(double value, const SourceLocation& place) {
  if (!(value >= 0 && value <= longest_us))
    throw InputError(place, fmt::format("{} us is not a layer's time", value), "0 to 1e12 microseconds");
  return to_time(value * 1e-6);
}

Origin read_origin(const Json& json) {
  return choose_by_name(origins, json.text(), json.place(), "'{}' is not an origin").value;
}

Bytes read_precision(const Json& json) {
  return choose_by_name(precisions, json.text(), json.place(), "unknown precision '{}'").bytes;
}

std::string read_group(const Json& json) {
  const std::string name = read_name(json);
  if (name.empty()) json.fail("is empty", "the name of the layer's unit, or leave it out");
  return name;
}

double read_flops(const Json& json) {
  const double flops = json.number();
  if (!(flops > 0 && flops <= most_flops))
    json.fail(fmt::format("{} is not a number of operations", flops), "above 0, at most 1e30, or leave it out");
  return flops;
}

template <class Words>
auto read_word_of(const Words& words, const Json& json) {
  return choose_by_name(words, json.text(), json.place(), "'{}' is none of these").value;
}

// Reads what pipelines and parallelism inside layers need from a layer.
void read_parallel_parts(const Json& json, Layer& layer) {
  if (const auto weights = json.find("backward_weight")) {
    layer.backward_weight = microseconds(weights->number(), weights->place());
    if (*layer.backward_weight > layer.backward) weights->fail("is more than backward", "a part of backward");
  }
  if (const auto bytes = json.find("output_bytes")) layer.output_bytes = bytes->integer(0, most_bytes);
  if (const auto expert = json.find("expert")) layer.expert = expert->boolean();
  if (const auto frozen = json.find("frozen")) layer.frozen = frozen->boolean();
  const auto list = json.find("collectives");
  if (!list) return;
  for (const Json& one : list->items()) {
    one.allow_only({"op", "group", "bytes", "pass"});
    layer.collectives.push_back({read_word_of(operations_with(&OperationRow::in_layers), one.at("op")),
                                 read_word_of(layer_collective_groups, one.at("group")),
                                 one.at("bytes").integer(0, most_bytes),
                                 read_word_of(layer_collective_passes, one.at("pass"))});
  }
}

TensorId read_tied(const Json& json, const Profile& profile) {
  const std::string name = json.text();
  const auto named = [&](const Tensor& one) { return one.name == name; };
  const auto found = std::find_if(profile.tensors.begin(), profile.tensors.end(), named);
  if (found == profile.tensors.end())
    json.fail(fmt::format("the model has no tensor '{}'", name), suggest(name, names_of(profile.tensors)));
  return static_cast<TensorId>(found - profile.tensors.begin());
}

void read_parallel_parts(const Json& object, Profile& profile) {
  if (const auto tied = object.find("tied")) {
    const auto names = tied->items();
    if (names.size() != 2) tied->fail(fmt::format("names {} tensors", names.size()), "two");
    profile.tied = {read_tied(names[0], profile), read_tied(names[1], profile)};
    const Tensor &one = profile.tensors[profile.tied->first], &other = profile.tensors[profile.tied->second];
    if (profile.tied->first == profile.tied->second) tied->fail(fmt::format("ties '{}' to itself", one.name), "two");
    if (one.elements != other.elements)
      tied->fail(
          fmt::format("'{}' has {} elements, but '{}' has {}", one.name, one.elements, other.name, other.elements),
          "two tensors with equally many");
    if (profile.is_frozen(profile.tied->first) != profile.is_frozen(profile.tied->second))
      tied->fail(fmt::format("of '{}' and '{}' only one is frozen", one.name, other.name), "both, or neither");
    if (profile.is_frozen(profile.tied->first)) profile.tied.reset();  // no gradients add up
  }
  if (const auto parallel = object.find("parallel")) {
    parallel->allow_only({"tp", "cp", "ep"});
    const auto degree = [&](const char* key) {
      const auto value = parallel->find(key);
      return value ? value->integer(1, 1 << 24) : 1;
    };
    profile.degrees = {degree("tp"), degree("cp"), {}};
    if (parallel->find("ep")) profile.degrees->ep = degree("ep");
  }
}

// Reads the times of the profile's layers, and adds the model's tensors to them. Each layer of the model must be in the
// profile, in the same order; layers that only the profile has (activations, pooling) add time but no gradient.
void join_layers(const Json& object, const Model& model, Bytes bytes_per_element, Profile& profile) {
  std::size_t next = 0;  // the model's layer that comes next
  std::set<std::string> names;
  for (const Json& item : object.at("layers").items()) {
    item.allow_only({"name", "forward", "backward", "group", "activation_bytes", "backward_weight", "output_bytes",
                     "expert", "frozen", "collectives"});
    const std::string name = read_name(item.at("name"));
    if (!names.insert(name).second) item.at("name").fail(fmt::format("a second layer '{}'", name), "each name once");
    bool frozen = false;
    if (next < model.layers.size() && model.layers[next].name == name) {
      for (const ModelTensor& tensor : model.layers[next].tensors)
        profile.tensors.push_back({tensor.name, tensor.elements, tensor.elements * bytes_per_element,
                                   static_cast<LayerId>(profile.layers.size()), tensor.shape, tensor.fused,
                                   tensor.muon_us ? std::optional(to_time(*tensor.muon_us * 1e-6)) : std::nullopt});
      frozen = model.layers[next].frozen;
      ++next;
    }
    profile.layers.push_back({name, microseconds(item.at("forward").number(), item.at("forward").place()),
                              microseconds(item.at("backward").number(), item.at("backward").place())});
    Layer& layer = profile.layers.back();
    layer.frozen = frozen;
    if (const auto group = item.find("group")) layer.group = read_group(*group);
    if (const auto bytes = item.find("activation_bytes")) layer.activation_bytes = bytes->integer(0, most_bytes);
    read_parallel_parts(item, layer);
  }
  if (next < model.layers.size())
    object.at("layers").fail(
        fmt::format("the layer '{}' of the model '{}' has no times here", model.layers[next].name, model.name),
        "every layer of the model, in its order");
}

HostFloors read_host(const Json& json) {
  json.allow_only({"block_forward", "block_backward", "step"});
  const auto time = [&](const char* key) {
    const auto value = json.find(key);
    return value ? microseconds(1e6 * value->duration(), value->place()) : Time(0);
  };
  return {time("block_forward"), time("block_backward"), time("step")};
}

Profile read_profile_object(const Files& files, const Json& object) {
  object.allow_only({"model", "device", "framework", "batch_size", "precision", "origin", "source", "unit", "update",
                     "tokens_per_sample", "flops_per_sample", "recompute", "layers", "details", "tied", "parallel",
                     "host"});
  Profile profile;
  const Model model = model_of_profile(files, object);
  profile.model = model.name;
  profile.device = read_name(object.at("device"));
  profile.framework = read_name(object.at("framework"));
  profile.precision = object.at("precision").text();
  profile.origin = read_origin(object.at("origin"));
  profile.source = object.at("source").text();
  profile.batch_size = object.at("batch_size").integer(1, 1'000'000'000);
  if (object.at("unit").text() != "us")
    object.at("unit").fail(fmt::format("'{}' is not the unit of a profile", object.at("unit").text()), "us");
  if (const auto update = object.find("update")) profile.update = microseconds(update->number(), update->place());
  if (const auto host = object.find("host")) profile.host = read_host(*host);
  if (const auto tokens = object.find("tokens_per_sample")) profile.tokens_per_sample = tokens->integer(1, most_tokens);
  if (const auto flops = object.find("flops_per_sample")) profile.flops_per_sample = read_flops(*flops);
  if (const auto rule = object.find("recompute")) {
    profile.recompute = rule->text();
    if (profile.recompute != "full" && profile.recompute != "selective")
      rule->fail(fmt::format("'{}' is not a rule of recomputation", profile.recompute), "full or selective");
  }
  join_layers(object, model, read_precision(object.at("precision")), profile);
  read_parallel_parts(object, profile);
  return profile;
}

struct NamedShape {
  std::string name;  // "" if the table does not say it
  std::vector<std::int64_t> extents;
};

// Reads "1024x4096;bias=4096": a weight of two extents, and a bias of one with its name.
std::vector<NamedShape> read_shapes(const std::string& text, const SourceLocation& place) {
  std::vector<NamedShape> shapes;
  for (const std::string_view tensor : split(text, ";")) {
    const std::size_t shape = tensor.rfind('=') + 1;  // 0 if there is none
    shapes.push_back({std::string(trim(tensor.substr(0, shape == 0 ? 0 : shape - 1))), {}});
    if (shape > 0) require_name(shapes.back().name, place);
    if (tensor.find_first_not_of("0123456789x ", shape) != std::string_view::npos)
      throw InputError(place, fmt::format("'{}' is not a list of shapes", text), "such as 1024x4096;4096");
    for (const std::string_view extent : split(tensor.substr(shape), "x"))
      shapes.back().extents.push_back(parse_integer(extent, 1, most_parameters, place));
  }
  return shapes;
}

class CsvTable {
 public:
  CsvTable(const std::string& file, std::vector<CsvRow> rows) : file_(file), rows_(std::move(rows)) {
    if (rows_.empty()) throw InputError({file, ""}, "is empty", header_hint);
    for (std::size_t i = 0; i < rows_[0].fields.size(); ++i)
      if (!columns_.emplace(rows_[0].fields[i], i).second)
        throw InputError({file, "line 1"}, fmt::format("the column '{}' appears twice", rows_[0].fields[i]),
                         "each column once");
    for (const auto name : {"layer", "params", "forward_us", "backward_us"})
      if (!columns_.contains(name))
        throw InputError({file, "line 1"}, fmt::format("no column '{}'", name),
                         rows_[0].fields[0].find_first_of(";\t") == std::string::npos
                             ? header_hint
                             : "separate the fields by commas");
    refuse_misspelt();
    for (std::size_t row = 1; row < rows_.size(); ++row)
      if (rows_[row].fields.size() != rows_[0].fields.size())
        throw InputError(
            place(row),
            fmt::format("{} fields, but the header has {}", rows_[row].fields.size(), rows_[0].fields.size()),
            "as many as the header");
  }

  std::size_t end() const { return rows_.size(); }                // data is in rows 1 … end − 1
  bool blank(std::size_t row, const std::string& column) const {  // true also without the column
    return !columns_.contains(column) || field(row, column).empty();
  }
  const std::string& field(std::size_t row, const std::string& column) const {
    return rows_[row].fields[columns_.at(column)];
  }
  SourceLocation place(std::size_t row) const { return {file_, fmt::format("line {}", rows_[row].line)}; }
  SourceLocation place(std::size_t row, const std::string& column) const {
    return {file_, fmt::format("line {}: {}", rows_[row].line, column)};
  }

 private:
  static constexpr auto header_hint = "the header layer,params,forward_us,backward_us";

  // Rejects a column whose name is nearly one of ours; other unknown columns are ignored.
  void refuse_misspelt() const {
    static const std::vector<std::string> ours{"layer",   "params",    "forward_us", "backward_us",
                                               "tensors", "update_us", "group"};
    for (const auto& [name, place] : columns_) {
      const bool known = std::find(ours.begin(), ours.end(), name) != ours.end();
      const std::string meant = known ? "" : nearest(name, ours);
      if (!meant.empty() && !columns_.contains(meant))
        throw InputError({file_, "line 1"}, fmt::format("unknown column '{}'", name),
                         fmt::format("did you mean '{}'?", meant));
    }
  }

  std::string file_;
  std::vector<CsvRow> rows_;
  std::map<std::string, std::size_t> columns_;
};

// Adds the tensors of the row's layer, which is added next. Those without names are called LAYER, LAYER#2, LAYER#3, …
void add_tensors(const CsvTable& table, std::size_t row, Profile& profile) {
  const std::string& layer = table.field(row, "layer");
  const auto params = parse_integer(table.field(row, "params"), 0, most_parameters, table.place(row, "params"));
  const auto id = static_cast<LayerId>(profile.layers.size());
  if (table.blank(row, "tensors")) {
    if (params > 0) profile.tensors.push_back({layer, params, 4 * params, id});
    return;
  }
  const SourceLocation place = table.place(row, "tensors");
  const auto shapes = read_shapes(table.field(row, "tensors"), place);
  std::int64_t left = params;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto elements = element_count(shapes[i].extents);
    if (!elements || *elements > left)
      throw InputError(place, fmt::format("hold more than the {} of params", params), "as many");
    left -= *elements;
    const std::string otherwise = i == 0 ? layer : fmt::format("{}#{}", layer, i + 1);
    profile.tensors.push_back(
        {shapes[i].name.empty() ? otherwise : shapes[i].name, *elements, 4 * *elements, id, shapes[i].extents});
  }
  if (left > 0) throw InputError(place, fmt::format("hold {} less than the {} of params", left, params), "as many");
}

}  // namespace

Model model_of_profile(const Files& files, const Json& object) {
  const Json model = object.at("model");
  if (model.is_object()) return read_model(model);
  const auto file = files.locate_data("models", model.text());
  if (!file) model.fail(fmt::format("no model '{}'", model.text()), suggest(model.text(), files.list_data("models")));
  return read_model(Json::read(files, *file));
}

Profile read_table(const std::string& file, const std::string& text, bool forward_follows) {
  std::vector<CsvRow> rows = parse_csv(text, file);
  for (CsvRow& row : rows)
    for (std::string& field : row.fields) field = std::string(trim(field));
  const CsvTable table(file, std::move(rows));
  Profile profile;
  profile.precision = "fp32";
  std::set<std::string> names;
  const auto time = [&](std::size_t row, const std::string& column) {
    return microseconds(parse_number(table.field(row, column), table.place(row, column)), table.place(row, column));
  };
  for (std::size_t row = 1; row < table.end(); ++row) {
    const std::string& name = table.field(row, "layer");
    require_name(name, table.place(row, "layer"));
    if (!names.insert(name).second)
      throw InputError(table.place(row, "layer"), fmt::format("a second layer '{}'", name), "each name once");
    add_tensors(table, row, profile);
    const bool blank = table.blank(row, "forward_us");
    if (blank && !forward_follows)
      throw InputError(table.place(row, "forward_us"), "is empty: the forward time was not measured",
                       "give --forward-ratio R to set it to R times the backward time");
    profile.layers.push_back({name, blank ? Time(0) : time(row, "forward_us"), time(row, "backward_us")});
    if (!table.blank(row, "group")) {
      profile.layers.back().group = table.field(row, "group");
      require_name(profile.layers.back().group, table.place(row, "group"));
    }
    if (!table.blank(row, "update_us")) profile.update = add(profile.update.value_or(Time(0)), time(row, "update_us"));
  }
  return profile;
}

void require_bearable_layers(const Profile& profile, const SourceLocation& place) {
  constexpr std::size_t most_layers = 200'000;  // each takes some kilobytes in a simulation
  if (profile.layers.size() > most_layers)
    throw InputError(place, fmt::format("has {} layers", profile.layers.size()),
                     fmt::format("at most {}", most_layers));
}

Profile read_profile(const Files& files, const std::string& name, std::optional<double> forward_ratio) {
  const std::string file = files.find_data("traces", name, "profile");
  try {
    return parse_profile(files, files.read(file), file, forward_ratio);
  } catch (const TimeOverflow& error) {
    throw InputError({file, ""}, fmt::format("the layers' times together: {}", error.what()), "smaller times");
  }
}

Profile parse_profile(const Files& files, const std::string& text, const std::string& file,
                      std::optional<double> forward_ratio) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool json = (start != std::string::npos && text[start] == '{') || file.ends_with(".json");
  Profile profile =
      json ? read_profile_object(files, Json::parse(text, file)) : read_table(file, text, forward_ratio.has_value());
  profile.name = std::filesystem::path(file).stem().string();
  if (profile.model.empty()) profile.model = profile.name;
  if (forward_ratio)
    for (Layer& layer : profile.layers) layer.forward = scaled(layer.backward, *forward_ratio);
  if (profile.layers.empty()) throw InputError({file, json ? "/layers" : ""}, "has no layers", "at least one layer");
  require_bearable_layers(profile, {file, json ? "/layers" : ""});
  const auto is_silent = [](const Layer& layer) { return layer.collectives.empty(); };
  if (profile.tensors.empty() && std::all_of(profile.layers.begin(), profile.layers.end(), is_silent))
    throw InputError({file, json ? "/model" : ""}, "has no tensors: nothing would be communicated",
                     "at least one layer with parameters");
  if (profile.has_frozen() && profile.elements() == 0)
    throw InputError({file, "/layers"}, "every layer with parameters is frozen: nothing is trained",
                     "at least one layer with parameters that is not \"frozen\"");
  if (add(profile.forward(), profile.backward()) == Time(0))
    throw InputError({file, json ? "/layers" : ""}, "every layer's time is zero", "measured times in microseconds");
  return profile;
}

}  // namespace allreplay
