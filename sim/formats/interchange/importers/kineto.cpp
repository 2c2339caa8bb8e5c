// Converts a PyTorch profiler (Kineto) trace to a profile, the mean of its complete steps (see kineto_layers.hpp).
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/formats/interchange/importers/importer.hpp"
#include "sim/formats/interchange/importers/kineto_layers.hpp"
#include "sim/formats/interchange/importers/kineto_messages.hpp"
#include "sim/formats/interchange/importers/kineto_notes.hpp"

namespace allreplay {

namespace kineto {

namespace {

constexpr auto right_trace = "a training run profiled on the GPU with record_shapes=True";

// Equal for two iterations if these have the same layers and gradients, and GPU time in the same passes.
std::string signature(const Attribution& known, const ProfiledIteration& iteration) {
  std::string text = fmt::format("{}:", iteration.micro_batches);
  for (std::size_t i = 0; i < iteration.layers.size(); ++i) {
    text += fmt::format("{}:{}{}", known.root(iteration.layers[i]).name, iteration.times[i].forward.all > 0,
                        iteration.times[i].backward.all > 0);
    for (const Id dims : iteration.gradients[i]) text += fmt::format(",{}", dims);
    text += ';';
  }
  return text;
}

// The error for a trace in which no gradient belongs to a forward operator.
InputError no_layers_error(const Attribution& known, const SourceLocation& file) {
  const Roots& roots = known.roots;
  if (roots.accumulations == 0)
    return {file, "has no operator torch::autograd::AccumulateGrad, which shows the parameters of a layer",
            "a trace of training: its backward pass computes gradients of parameters"};
  if (roots.in_steps == 0)
    return {file,
            fmt::format("none of its {} AccumulateGrad runs in a step: {} not contain the backward pass",
                        roots.accumulations,
                        known.steps.marks == Marks::Profiler ? "ProfilerStep#n does" : "Optimizer.step does"),
            "profiler.step() after each iteration, so that its step contains both passes"};
  return {file,
          "no AccumulateGrad follows a backward operator with the Sequence number of a forward operator in its step",
          "a trace of steps with both passes of all layers"};
}

// Returns the steps with the most frequent signature. Steps cut off by the profiler's window lack layers or times.
std::vector<Id> whole_steps(const Attribution& known, const SourceLocation& file) {
  std::map<std::string, std::vector<Id>> steps_by_signature;
  for (Id step = 0; step < known.iterations.size(); ++step)
    if (!known.iterations[step].layers.empty())
      steps_by_signature[signature(known, known.iterations[step])].push_back(step);
  if (steps_by_signature.empty()) throw no_layers_error(known, file);
  return std::max_element(steps_by_signature.begin(), steps_by_signature.end(),
                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->second;
}

// True if a layer of a micro-batch runs after gradients of the same micro-batch: these are several passes.
bool has_other_passes(const Attribution& known, Id step) {
  const ProfiledIteration& iteration = known.iterations[step];
  for (const Gradient& gradient : known.roots.gradients.at(step)) {
    const std::size_t micro_batch = iteration.layer_with(gradient.root) / iteration.layers_each();
    const std::size_t last = (micro_batch + 1) * iteration.layers_each() - 1;
    if (known.root(iteration.layers[last]).start > gradient.at) return true;
  }
  return false;
}

// Rejects passes that cannot be separated: several passes without marks, or different ones in a step.
void require_equal_passes(const Attribution& known, Id step, const SourceLocation& file) {
  const bool several = has_other_passes(known, step);
  if (known.steps.marks == Marks::None && (several || known.iterations[step].micro_batches > 1))
    throw InputError(file, "has several forward and backward passes, but no mark where an iteration ends",
                     "a trace with profiler.step() after each, or of one iteration");
  if (several)
    throw InputError(file, "has steps of several forward and backward passes with different layers or gradients",
                     "a trace of steps with one pass, or with equal micro-batches");
}

std::string operator_name(const Attribution& known, const Root& root) {
  const std::string& name = known.trace.names.text(root.name);
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string layer_name(const Attribution& known, const Root& root) {
  if (root.module != none) return known.trace.names.text(root.module);
  return root.copies ? "unit" : operator_name(known, root);  // in FSDP a copy creates the parameters
}

std::size_t compiled_layers(const Attribution& known, const ProfiledIteration& iteration) {
  return static_cast<std::size_t>(std::count_if(iteration.layers.begin(), iteration.layers.end(), [&](Id root) {
    return known.trace.names.text(known.root(root).name).starts_with("CompiledFunction");
  }));
}

bool has_no_shape(const Attribution& known, Id dims) { return known.trace.dims.text(dims).empty(); }

// Returns the elements of a tensor with a gradient of this shape: "64x3;", or ";" for a single number.
std::int64_t gradient_elements(const std::string& dims, const std::string& layer, const SourceLocation& file) {
  const std::vector<std::int64_t> shape = first_shape(dims);
  const std::string text = dims.substr(0, dims.find(';'));
  if ((shape.empty() && !text.empty()) || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; }))
    throw InputError(file, fmt::format("a gradient of {} has the shape {}", layer, text),
                     "extents of at least 1, such as 64x3x7x7");
  return elements_of(shape, file);
}

// Returns the elements of each layer's tensors, from its gradients or, if the trace has no shapes, from the model.
std::vector<std::vector<std::int64_t>> elements(const Attribution& known, const ProfiledIteration& iteration,
                                                const ImportOptions& options, const SourceLocation& file) {
  const auto without =
      std::find_if(iteration.gradients.begin(), iteration.gradients.end(), [&](const std::vector<Id>& gradients) {
        return std::any_of(gradients.begin(), gradients.end(), [&](Id dims) { return has_no_shape(known, dims); });
      });
  const bool all_shapes = without == iteration.gradients.end();
  const std::size_t compiled = compiled_layers(known, iteration);
  if (compiled > 0 && (!all_shapes || options.match))
    throw InputError(
        file,
        fmt::format("is of a compiled model: {} graph{} has the gradients of all layers, which cannot be separated",
                    compiled, compiled == 1 ? "" : "s"),
        all_shapes ? "leave --match out, for one layer of each graph"
                   : "a trace without torch.compile, with record_shapes=True");
  if (all_shapes) {
    std::vector<std::vector<std::int64_t>> all;
    for (std::size_t i = 0; i < iteration.layers.size(); ++i) {
      auto& of_layer = all.emplace_back();
      // Gradients are in backward order, tensors in forward order.
      const std::vector<Id>& gradients = iteration.gradients[i];
      for (auto dims = gradients.rbegin(); dims != gradients.rend(); ++dims)
        of_layer.push_back(
            gradient_elements(known.trace.dims.text(*dims), layer_name(known, known.root(iteration.layers[i])), file));
    }
    return all;
  }
  std::vector<ShapelessLayer> layers;
  for (std::size_t i = 0; i < iteration.layers.size(); ++i)
    layers.push_back({operator_name(known, known.root(iteration.layers[i])), iteration.gradients[i].size()});
  if (!options.match)
    throw InputError(file,
                     fmt::format("does not say the shape of a gradient of {}",
                                 layers[static_cast<std::size_t>(without - iteration.gradients.begin())].name),
                     fmt::format("{}, or --match MODEL with its model", right_trace));
  return elements_by_order(layers, *options.match, file);
}

// Returns the mean time of a layer's pass over all micro-batches.
double mean_pass_us(const Attribution& known, const WholeSteps& steps, std::size_t layer, PassTime LayerTimes::*pass) {
  return steps.mean_us(known, [&](const ProfiledIteration& one) {
    double sum = 0;
    for (std::size_t i = layer; i < one.times.size(); i += one.layers_each()) sum += steps.time(one.times[i].*pass);
    return sum / static_cast<double>(one.micro_batches);
  });
}

Profile profile_of(const Attribution& known, const WholeSteps& steps,
                   const std::vector<std::vector<std::int64_t>>& elements_by_layer, const SourceLocation& file) {
  const ProfiledIteration& first = known.iterations[steps.ids.front()];
  Profile profile;
  bool any_backward = false;
  for (std::size_t i = 0; i < first.layers_each(); ++i) {
    const double forward = mean_pass_us(known, steps, i, &LayerTimes::forward);
    const double backward = mean_pass_us(known, steps, i, &LayerTimes::backward);
    any_backward |= backward > 0;
    for (const std::int64_t count : elements_by_layer[i])
      profile.tensors.push_back({"", count, 0, static_cast<LayerId>(i)});
    profile.layers.push_back(
        {layer_name(known, known.root(first.layers[i])), measured_us(forward, file), measured_us(backward, file)});
  }
  if (!any_backward) throw InputError(file, "has no kernels of a backward pass", "a training run profiled on the GPU");
  profile.framework = "PyTorch";
  if (const ElementRow& row = row_of(known.roots.element); !row.input.empty()) profile.precision = row.precision;
  const auto device = std::max_element(known.trace.used_by.begin(), known.trace.used_by.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (const auto name = known.trace.devices.find(device->first); name != known.trace.devices.end())
    profile.device = name->second;
  const double update = steps.mean_us(known, [](const ProfiledIteration& one) {
    const double all = static_cast<double>(one.in(Elsewhere::Optimizer));
    return one.updates_each ? all / static_cast<double>(one.micro_batches) : all;
  });
  if (update > 0) profile.update = measured_us(update, file);
  return profile;
}

// Returns notes on assumptions about the trace.
std::vector<std::string> notes_on_layers(const Attribution& known, const ProfiledIteration& first) {
  std::vector<std::string> notes;
  const std::size_t layers = first.layers.size();
  if (first.micro_batches > 1)
    notes.push_back(
        fmt::format("{} {} a step: the profile is the mean of one, and has each layer once{}", first.micro_batches,
                    first.updates_each ? "iterations" : "micro-batches",
                    first.updates_each ? "" : fmt::format("; --accumulate {} replays the step", first.micro_batches)));
  if (layers > 1 && std::all_of(first.gradients.begin(), first.gradients.end(), [&](const std::vector<Id>& gradients) {
        return has_no_shape(known, gradients.front());
      }))
    notes.push_back(
        fmt::format("the trace has no shapes: its {} operators with gradients are taken as the model's layers in "
                    "order, with as many tensors each, of the same kind",
                    layers));
  if (const std::size_t compiled = compiled_layers(known, first); compiled > 0)
    notes.push_back(
        fmt::format("the model was compiled: {} of {} layers {} a whole graph, whose gradients count as ready at its "
                    "end; a trace without torch.compile separates its layers",
                    compiled, layers, compiled == 1 ? "is" : "are"));
  return notes;
}

// Returns the first extent of a layer's first input; 0 if the trace does not state it, or if that input is one of the
// layer's own parameters, which has the shape of one of its gradients. An embedding reads its table first, whatever
// shape its gradient has (a shard's, for instance): that extent is the vocabulary.
std::int64_t first_extent_of(const Attribution& known, const ProfiledIteration& first, std::size_t layer) {
  const Root& root = known.root(first.layers[layer]);
  const std::vector<std::int64_t> input = first_shape(known.trace.dims.text(root.dims));
  if (input.empty() || root.copies || known.trace.names.text(root.name).find("embedding") != std::string::npos)
    return 0;
  const auto has_its_shape = [&](Id dims) { return first_shape(known.trace.dims.text(dims)) == input; };
  return std::any_of(first.gradients[layer].begin(), first.gradients[layer].end(), has_its_shape) ? 0 : input.front();
}

// Returns the first extent of the first layer's input. If that layer reads a parameter first, returns the most frequent
// one among the other layers, the earliest in a tie; 0 if unknown.
std::int64_t batch_size_of(const Attribution& known, const ProfiledIteration& first) {
  if (const std::int64_t batch = first_extent_of(known, first, 0); batch > 0) return batch;
  std::vector<std::int64_t> extents;
  for (std::size_t layer = 1; layer < first.layers.size(); ++layer)
    if (const std::int64_t extent = first_extent_of(known, first, layer); extent > 0) extents.push_back(extent);
  std::map<std::int64_t, std::size_t> count;
  for (const std::int64_t extent : extents) ++count[extent];
  const auto most = std::max_element(extents.begin(), extents.end(),
                                     [&](std::int64_t a, std::int64_t b) { return count[a] < count[b]; });
  return most == extents.end() ? 0 : *most;
}

// Reduces a step to its first micro-batch.
ProfiledIteration first_micro_batch(ProfiledIteration step) {
  const std::size_t layers = step.layers_each();
  step.layers.resize(layers);
  step.gradients.resize(layers);
  step.times.resize(layers);
  return step;
}

// Adds the times of each of a step's micro-batches.
void add_passes(const ProfiledIteration& step, const WholeSteps& steps, const SourceLocation& file,
                Imported& imported) {
  for (std::size_t i = 0; i < step.times.size(); ++i) {
    if (i % step.layers_each() == 0) imported.iterations.emplace_back();
    for (const PassTime& pass : {step.times[i].forward, step.times[i].backward})
      imported.iterations.back().push_back(measured_us(steps.time(pass) / 1000, file));
  }
}

Imported imported_from(const Attribution& known, const ImportOptions& options, const SourceLocation& file) {
  const WholeSteps steps{whole_steps(known, file), known.slowdown.result()};
  require_equal_passes(known, steps.ids.front(), file);
  const ProfiledIteration first = first_micro_batch(known.iterations[steps.ids.front()]);
  Imported imported;
  imported.profile = profile_of(known, steps, elements(known, first, options, file), file);
  for (const Id step : steps.ids) add_passes(known.iterations[step], steps, file, imported);
  if (known.trace.rank >= 0) imported.rank = known.trace.rank;
  if (known.trace.workers > 0) imported.workers = known.trace.workers;
  imported.notes = notes_on_time(known, steps);
  for (std::string& note : notes_on_damage(known, steps, !options.precision.empty(), file))
    imported.notes.push_back(std::move(note));
  for (std::string& note : notes_on_layers(known, first)) imported.notes.push_back(std::move(note));
  note_recomputation(known, imported);
  if (known.communicates) {
    add_communication(known, steps, file, imported);
    make_update_whole(known, steps, imported);
  }
  if (const std::int64_t batch = batch_size_of(known, first); batch > 0) {
    imported.profile.batch_size = batch;
    imported.notes.push_back(
        fmt::format("the batch size, {}, is the first extent of {}", batch,
                    first_extent_of(known, first, 0) > 0 ? "the first layer's input" : "most layers' inputs"));
  }
  return imported;
}

}  // namespace

}  // namespace kineto

bool is_kineto(std::string_view, std::string_view head) {
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '{') return false;
  for (const auto key : {"\"traceEvents\"", "\"deviceProperties\"", "\"baseTimeNanoseconds\""})
    if (head.find(key) != std::string_view::npos) return true;
  return false;
}

Imported read_kineto(ByteSource& source, const ImportOptions& options) {
  const SourceLocation file{source.file(), ""};
  KinetoTrace trace = read_kineto_events(source);
  if (trace.kernels.empty()) throw InputError(file, "has no GPU kernels", "profile with ProfilerActivity.CUDA");
  return kineto::imported_from(kineto::attributed(std::move(trace)), options, file);
}

}  // namespace allreplay
