#include "sim/formats/interchange/exporters/exporter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

std::span<const Exporter> exporters() {
  static const std::vector<Exporter> all{
      {"chakra", "an iteration as an MLCommons Chakra execution trace (.et), for ASTRA-sim 2.0", ".et", true,
       export_chakra, "origin"},
      {"chakra-json", "the same as JSON", ".json", true, export_chakra_json, "\"origin\""},
      {"csv", "a table with the columns layer, params, tensors, forward_us, backward_us, update_us, group", ".csv",
       false, export_csv, "layer,params,tensors,"},
  };
  return all;
}

const Exporter& find_exporter(std::string_view name, const SourceLocation& place) {
  return find_by_name(exporters(), name, place, "unknown format '{}'");
}

namespace {

// Adds a note of the profile's facts that a table has no column for.
void add_note_of_facts(const Profile& profile, std::vector<std::string>& notes) {
  std::vector<std::string> facts;
  if (!profile.recompute.empty()) facts.push_back(fmt::format("recompute ({})", profile.recompute));
  if (profile.tokens_per_sample) facts.push_back("tokens_per_sample");
  if (profile.flops_per_sample) facts.push_back("flops_per_sample");
  const auto add = [&](const char* name, auto&& says) {
    if (const auto count = std::count_if(profile.layers.begin(), profile.layers.end(), says); count > 0)
      facts.push_back(fmt::format("{} (of {})", name, counted(count, "layer")));
  };
  add("activation_bytes", [](const Layer& layer) { return layer.activation_bytes.has_value(); });
  add("output_bytes", [](const Layer& layer) { return layer.output_bytes.has_value(); });
  add("collectives", [](const Layer& layer) { return !layer.collectives.empty(); });
  add("expert", [](const Layer& layer) { return layer.expert; });
  add("frozen", [](const Layer& layer) { return layer.frozen; });
  if (!facts.empty())
    notes.push_back(fmt::format("left out of the profile: {}; `--to chakra` keeps it", fmt::join(facts, ", ")));
}

}  // namespace

Exported export_csv(const ExportRequest& request) {
  const Profile& profile = request.profile;
  Exported exported{"layer,params,tensors,forward_us,backward_us,update_us,group\n", {}};
  std::string update = profile.update ? write_us(*profile.update) : "";
  auto tensor = profile.tensors.begin();
  for (LayerId i = 0; i < profile.layers.size(); ++i) {
    const Layer& layer = profile.layers[i];
    std::int64_t parameters = 0;
    std::vector<std::string> shapes;
    for (; tensor != profile.tensors.end() && tensor->layer == i; ++tensor) {
      parameters += tensor->elements;
      shapes.push_back(fmt::format("{}", fmt::join(shape_of(*tensor), "x")));
    }
    exported.text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(as_text(layer.name)), parameters,
                                 fmt::join(shapes, ";"), write_us(layer.forward), write_us(layer.backward),
                                 std::exchange(update, ""), csv_field(as_text(layer.group)));
  }
  exported.notes.push_back("a table has no batch size, model, device, framework and tensor names");
  add_note_of_facts(profile, exported.notes);
  const auto one = profile.tensors.begin();
  if (one != profile.tensors.end() && one->bytes != 4 * one->elements)
    exported.notes.push_back(
        fmt::format("a table's gradients have 4 bytes per element, unlike these ({}): import it with --precision {}",
                    profile.precision, profile.precision));
  return exported;
}

}  // namespace allreplay
