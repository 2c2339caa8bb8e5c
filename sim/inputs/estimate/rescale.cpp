// Rescales a profile to other conditions, each layer's times by the ratio of two rooflines.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/inputs/estimate/estimate.hpp"

namespace allreplay {

namespace {

// The factors on a layer's times.
struct Ratio {
  double forward = 1, backward = 1;
};

// The FLOPs per sample, forward and backward, that grow with the square of its number of tokens.
double attention_flops(const Computation& work) {
  double macs = 0;
  for (const ComputationLayer& layer : work.layers)
    for (const Operator& one : layer.operators)
      if (const auto* attention = std::get_if<Attention>(&one))
        macs += 2.0 * static_cast<double>(attention->tokens) * static_cast<double>(attention->tokens) *
                static_cast<double>(attention->heads * attention->head_size);
  return 6 * macs;
}

bool has_macs(const Model& model) {
  for (const ModelLayer& layer : model.layers)
    if (!layer.forward_macs || !layer.activation_bytes) return false;
  return true;
}

class Rescaling {
 public:
  Rescaling(const Files& files, const Profile& profile, const Model& model, const Change& change)
      : profile_(profile), model_(model) {
    if (!profile.batch_size)
      throw InputError(estimate_option("--from"), "has no batch size", "a profile; a CSV table has none");
    batch_ = *profile.batch_size;
    new_batch_ = change.batch.value_or(batch_);
    precision_ = change.precision.empty() ? profile.precision : change.precision;
    tokens_ = tokens_of(model.input);
    new_tokens_ = change.tokens.value_or(tokens_);
    if (change.tokens && tokens_ == 0)
      throw InputError(estimate_option("--seq"),
                       fmt::format("the model of {} does not say how many tokens a sample has", profile.name),
                       "a model with \"input\": \"1024 tokens\"");
    if (is_narrow(precision_) && precision_ != profile.precision)
      throw InputError(
          estimate_option("--precision"),
          fmt::format("only products of blocks run in {}, and a profile does not say which layers those are",
                      precision_),
          "--model, with the profile's device and batch");
    find_devices(files, change);
    if (old_ && has_macs(model)) by_rooflines();
  }

  Estimate result() const {
    Estimate made;
    Profile& profile = made.profile = profile_;
    profile.origin = Origin::Estimated;
    profile.batch_size = new_batch_;
    profile.precision = precision_;
    if (device_) profile.device = device_->name;
    profile.source = fmt::format("{}, {}, rescaled", profile_.name, to_string(profile_.origin));
    if (tokens_ > 0) profile.tokens_per_sample = new_tokens_;
    if (new_tokens_ != tokens_) profile.flops_per_sample = flops_of_new_length();
    const double work_ratio = static_cast<double>(new_batch_) / static_cast<double>(batch_) * token_ratio();
    const double element = static_cast<double>(*element_bytes(precision_));
    const double element_ratio = element / static_cast<double>(*element_bytes(profile_.precision));
    for (Layer& layer : profile.layers) {
      const auto found = ratios_.find(layer.name);
      const Ratio ratio =
          found != ratios_.end() ? found->second : fallback_ratio(layer.name, work_ratio, element_ratio);
      layer.forward = scaled(layer.forward, ratio.forward);
      layer.backward = scaled(layer.backward, ratio.backward);
      scale_parallel_parts(layer, work_ratio * element_ratio, ratio.backward);
      if (layer.activation_bytes)
        layer.activation_bytes =
            static_cast<Bytes>(static_cast<double>(*layer.activation_bytes) * work_ratio * element_ratio + 0.5);
    }
    for (Tensor& tensor : profile.tensors) tensor.bytes = tensor.elements * static_cast<Bytes>(element);
    if (profile.update && old_) profile.update = scaled(*profile.update, old_->bandwidth / new_->bandwidth);
    made.notes = notes();
    return made;
  }

 private:
  // The new number of tokens of a sample over the old one.
  double token_ratio() const { return tokens_ ? static_cast<double>(new_tokens_) / static_cast<double>(tokens_) : 1; }

  // Attention grows by the square, everything else in proportion; unknown if attention's part is not known.
  std::optional<double> flops_of_new_length() const {
    if (!profile_.flops_per_sample || !has_macs(model_)) return std::nullopt;
    const double pairs = attention_flops(from_model(model_, estimate_option("--from")));
    return (*profile_.flops_per_sample - pairs) * token_ratio() + pairs * token_ratio() * token_ratio();
  }

  // A new device, precision or number of tokens changes the rates, so it needs both devices. With an unknown device
  // only the batch can change; times are then proportional to it.
  void find_devices(const Files& files, const Change& change) {
    auto from = change.measured ? change.measured : device_called(files, profile_.device);
    const bool rates_change = change.device || !change.precision.empty() || change.tokens;
    if (!from && rates_change)
      throw InputError(estimate_option("--from-device"),
                       fmt::format("the device '{}' of {} is not known", profile_.device, profile_.name),
                       "one of `allreplay list devices`, or a file");
    if (!from) return;
    device_ = change.device;
    old_ = rates_of(*from, profile_.precision, estimate_option(change.measured ? "--from-device" : "--from"));
    new_ = rates_of(change.device ? *change.device : *from, precision_, estimate_option("--precision"));
  }

  void by_rooflines() {
    Computation old = from_model(model_, estimate_option("--from")),
                work = from_model(model_, estimate_option("--seq"), new_tokens_);
    std::set<std::string> frozen;
    for (const Layer& layer : profile_.layers)
      if (layer.frozen) frozen.insert(layer.name);
    for (Computation* one : {&old, &work})
      for (ComputationLayer& layer : one->layers) layer.frozen = frozen.contains(layer.model.name);
    for (std::size_t i = 0; i < old.layers.size(); ++i) {
      const LayerSeconds before = layer_seconds(old.layers[i], *old_, batch_),
                         after = layer_seconds(work.layers[i], *new_, new_batch_);
      if (before.forward.total() > 0 && before.backward.total() > 0)
        ratios_[old.layers[i].model.name] = {
            after.forward.at(new_->efficiency) / before.forward.at(old_->efficiency),
            after.backward.at(new_->efficiency) / before.backward.at(old_->efficiency)};
    }
  }

  // For layers whose work is unknown: those with matrices scale by the peak rate, others by the memory's bandwidth.
  Ratio fallback_ratio(const std::string& name, double work_ratio, double element_ratio) const {
    if (!old_) return {work_ratio, work_ratio};
    for (const ModelLayer& layer : model_.layers)
      if (layer.name == name)
        for (const ModelTensor& tensor : layer.tensors)
          if (tensor.shape.size() > 1) {
            const double ratio =
                work_ratio * old_->matrix * old_->efficiency.products / (new_->matrix * new_->efficiency.products);
            return {ratio, ratio};
          }
    const double ratio = work_ratio * element_ratio * old_->bandwidth / new_->bandwidth;
    return {ratio, ratio};
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> changes;
    if (new_batch_ != batch_) changes.push_back(fmt::format("batch {} -> {}", batch_, new_batch_));
    if (new_tokens_ != tokens_) changes.push_back(fmt::format("tokens {} -> {}", tokens_, new_tokens_));
    if (device_) changes.push_back(fmt::format("{} -> {}", profile_.device, device_->name));
    if (precision_ != profile_.precision) changes.push_back(fmt::format("{} -> {}", profile_.precision, precision_));
    std::vector<std::string> notes{fmt::format("{}: {}", profile_.name, fmt::join(changes, ", "))};
    if (!old_)
      notes.push_back(
          fmt::format("in proportion to the batch: the device '{}' is not known (--from-device)", profile_.device));
    else if (ratios_.empty())
      notes.push_back("the model has no MACs: layers with matrices by the peak, others by memory bandwidth");
    else if (const std::size_t rest = profile_.layers.size() - ratios_.size(); rest > 0)
      notes.push_back(fmt::format("{} of {} layers by memory bandwidth: the model does not have them", rest,
                                  profile_.layers.size()));
    return notes;
  }

  const Profile& profile_;
  const Model& model_;
  std::int64_t batch_ = 1, new_batch_ = 1, tokens_ = 0, new_tokens_ = 0;
  std::string precision_;
  std::optional<Device> device_;
  std::optional<Rates> old_, new_;
  std::map<std::string, Ratio> ratios_;
};

}  // namespace

Estimate rescaled(const Files& files, const Profile& profile, const Model& model, const Change& change) {
  return Rescaling(files, profile, model, change).result();
}

}  // namespace allreplay
