// Profiles that a request estimates from a model and a device, as `allreplay estimate` does.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "sim/inputs/estimate/estimate.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/model.hpp"
#include "sim/studies/experiment/request.hpp"

namespace allreplay {

/// All that the profile depends on.
struct EstimateWords {
  std::string model, device, precision, recompute;  ///< precision: "" is the device's bf16, else fp32
  std::string tokens;                               ///< "": the model's positions
  std::int64_t batch = 0;
  Split split;

  std::string text() const;  ///< equal for equal words
};

/// The words of a request with a model. Its changes of batch, precision and recomputation are applied before the
/// estimate, not to it. Throws InputError.
EstimateWords estimate_words(const Request& request, const ParallelOptions& parallel);

Profile estimated_profile(const Files& files, const EstimateWords& words);

/// "llama3-8b_h100_b2_tp8_full".
std::string name_of_estimate(const std::string& model, const std::string& device, std::int64_t batch,
                             const Split& split, Recompute recompute);

/// The file of a model: a name in the first of these folders that has it, a path, or a folder with a config.json.
/// Transformers have units and activations, which the files of models/ do not. Throws InputError.
std::string file_of_model(const Files& files, const std::string& name, const SourceLocation& place,
                          std::initializer_list<std::string_view> folders = {"models/transformers", "models"});

/// Reads such a file. Throws InputError.
std::variant<Transformer, Model> read_named_model(const Files& files, const std::string& file);

/// Throws InputError if there is anything to split: a model of layers has neither heads nor tokens nor experts.
void refuse_split(const Split& split, const std::string& model);

}  // namespace allreplay
