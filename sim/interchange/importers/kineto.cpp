// GPU kernels -> the operator that launched them -> its layer. A layer is an outermost forward operator whose backward
// nodes end in AccumulateGrad: autograd runs that as soon as a gradient is there, so the trace itself says which
// parameters a layer has, with their shapes. Forward and backward meet in autograd's sequence number. What has no
// parameters (activations, pooling, the loss) adds its time to the layer before it. What a job of several ranks does
// for its communication (NCCL, and the copies around it) is no part of any layer.
#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/interchange/importers/kineto_events.hpp"
#include "sim/interchange/importers/kineto_messages.hpp"
#include "sim/interchange/importers/overlap.hpp"
#include "sim/interchange/importers/readers.hpp"

namespace allreplay {

namespace {

using Kind = KinetoSpan::Kind;
using Id = std::uint32_t;
constexpr Id none = ~Id{0};

constexpr auto right_trace = "a training run profiled on the GPU with record_shapes=True";

// An operator inside no other; or inside another, for what the job does there for its communication.
struct Root {
  std::int64_t start = 0, end = 0;
  Id name = 0, dims = 0;
  Id module = none;   // the innermost nn.Module around it
  Id step = none;     // where it starts
  Id creator = none;  // backward: the forward root whose node it runs
  Id outer = none;    // the root around it
  std::uint16_t thread = 0;
  bool backward = false;
  bool optimizer = false;
  bool copies = false;  // of gradients and parameters, for communication
};

struct Gradient {
  Id root = none;  // of the forward pass
  Id dims = 0;
  std::int64_t at = 0;
};

struct Step {
  std::int64_t start = 0, end = 0;
  std::uint16_t thread = 0;
};

// What says where an iteration ends.
enum class Marks : std::uint8_t { Profiler, Optimizer, None };

// Where the time of a kernel goes that belongs to no layer.
enum class Elsewhere : std::uint8_t { BeforeFirst, Optimizer, Communication, Copies, Unmatched, Other, count };
constexpr std::string_view elsewhere_names[] = {"before the first layer (copies of the input)",
                                                "the optimizer",
                                                "communication (NCCL)",
                                                "copies for communication",
                                                "backward nodes without a forward operator",
                                                "operators outside forward and backward passes",
                                                "kernels that no recorded operator launched"};
constexpr auto elsewhere_count = static_cast<std::size_t>(Elsewhere::count);

// Of one pass of one layer; `beside`: while communication ran.
struct PassTime {
  std::int64_t all = 0, beside = 0;
};

struct LayerTimes {
  PassTime forward, backward;
};

// One iteration: its layers (roots, in forward order) and what each took.
struct ProfiledIteration {
  std::vector<Id> layers;
  std::vector<std::vector<Id>> gradients;  // dims, in the order of becoming ready
  std::vector<LayerTimes> times;
  Id last = none;  // the last root of the forward pass
  std::int64_t elsewhere[elsewhere_count] = {};
  std::int64_t loading = 0;    // the CPU's time in the DataLoader
  std::int64_t reordered = 0;  // layers whose gradients became ready before those of a layer behind them
};

class Attribution {
 public:
  Attribution(KinetoTrace trace, const std::string& file, const ImportOptions& options)
      : trace_(std::move(trace)), file_{file, ""}, options_(options) {}

  Imported run() {
    if (trace_.kernels.empty()) throw InputError(file_, "has no GPU kernels", "profile with ProfilerActivity.CUDA");
    communicates_ = std::any_of(trace_.kernels.begin(), trace_.kernels.end(),
                                [](const KinetoKernel& kernel) { return kernel.communication; });
    find_steps();
    find_roots();
    match_backward();
    find_layers();
    add_kernels();
    return result();
  }

 private:
  bool named(const KinetoSpan& span, std::string_view start) const {
    return trace_.names.text(span.name).starts_with(start);
  }

  std::vector<Step> annotations(std::string_view start) const {
    std::vector<Step> found;
    for (const KinetoSpan& span : trace_.spans)
      if (span.kind == Kind::Annotation && named(span, start)) found.push_back({span.start, span.end, span.thread});
    std::sort(found.begin(), found.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
    return found;
  }

  // The ProfilerStep#n annotations; without them, an iteration ends with Optimizer.step; without that, all is one.
  void find_steps() {
    steps_ = annotations("ProfilerStep");
    marks_ = steps_.empty() ? Marks::Optimizer : Marks::Profiler;
    if (steps_.empty()) {
      std::int64_t before = 0;
      for (const Step& update : annotations("Optimizer.step#")) {
        if (update.start < before) continue;  // within another
        steps_.push_back({before, update.end, update.thread});
        before = update.end;
      }
    }
    if (steps_.empty()) {
      marks_ = Marks::None;
      steps_.push_back({0, std::numeric_limits<std::int64_t>::max(), 0});
    }
    iterations_.resize(steps_.size());
    for (const Step& load : annotations("enumerate(DataLoader)"))
      if (const Id step = step_at(load.start); step != none) iterations_[step].loading += load.end - load.start;
  }

  Id step_at(std::int64_t time) const {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                        [](std::int64_t t, const Step& step) { return t < step.start; });
    if (after == steps_.begin() || time >= std::prev(after)->end) return none;
    return static_cast<Id>(after - steps_.begin() - 1);
  }

  // The forward pass runs where the steps are; without steps, where most forward operators are.
  std::uint16_t find_forward_thread() const {
    if (marks_ != Marks::None) return steps_.front().thread;
    std::map<std::uint16_t, std::int64_t> votes;
    for (const KinetoSpan& span : trace_.spans) votes[span.thread] += span.sequence >= 0 && !span.backward;
    std::uint16_t best = 0;
    for (const auto& [thread, count] : votes)
      if (count > votes[best]) best = thread;
    return best;
  }

  // A span that holds the present one.
  struct Around {
    Id span = none;
    std::int64_t end = 0;
  };

  // The spans of a thread nest: a walk in the order of their starts meets every root, with what is around it.
  void find_roots() {
    std::sort(trace_.spans.begin(), trace_.spans.end(), [](const KinetoSpan& a, const KinetoSpan& b) {
      return std::tuple(a.thread, a.start, b.end, a.external) < std::tuple(b.thread, b.start, a.end, b.external);
    });
    forward_thread_ = find_forward_thread();
    root_of_.assign(trace_.spans.size(), none);
    std::vector<Around> around;
    for (Id i = 0; i < trace_.spans.size(); ++i) {
      const KinetoSpan& span = trace_.spans[i];
      while (!around.empty() &&
             (trace_.spans[around.back().span].thread != span.thread || around.back().end <= span.start))
        around.pop_back();
      if (span.kind == Kind::Operator) add_operator(i, around);
      // Rounded to microseconds, a span may seem to outlast the one that holds it.
      const std::int64_t end = around.empty() ? span.end : std::min(span.end, around.back().end);
      if (end > span.start) around.push_back({i, end});
    }
  }

  void add_operator(Id i, const std::vector<Around>& around) {
    const KinetoSpan& span = trace_.spans[i];
    Root root{span.start, span.end, span.name, span.dims};
    bool in_gradient = false;  // within AccumulateGrad itself
    for (const Around& one : around) {
      const KinetoSpan& other = trace_.spans[one.span];
      if (other.kind == Kind::Operator) {
        root.outer = root_of_[one.span];
        in_gradient |= is_accumulation(other);
      } else if (other.kind == Kind::Module) {
        root.module = other.name;
      } else {
        root.optimizer |= named(other, "Optimizer.");
        root.copies |= communicates_ && is_of_communication(other);
      }
    }
    root.copies |= communicates_ && is_of_communication(span);
    if (root.outer != none) {
      const Root& outer = roots_[root.outer];
      // What runs behind a gradient's accumulation, in the node that ends in it, is a hook: DDP's copy into its bucket.
      root.copies |= communicates_ && is_gradient_node(outer) && !in_gradient && !is_accumulation(span);
      root.backward = outer.backward;
      root_of_[i] = root.outer;
    }
    if (root.outer == none || (root.copies && !roots_[root.outer].copies)) {
      root.thread = span.thread;
      root.step = step_at(span.start);
      root_of_[i] = static_cast<Id>(roots_.size());
      roots_.push_back(root);
    }
    Root& mine = roots_[root_of_[i]];
    mine.backward |= span.backward || is_accumulation(span);
    // Every operator notes the number of the next node, so the last to start with a number is the one that made it.
    if (span.sequence >= 0 && !span.backward && span.thread == forward_thread_ && !mine.backward)
      makers_[span.sequence] = root_of_[i];
  }

  bool is_accumulation(const KinetoSpan& span) const {
    return trace_.names.text(span.name) == "torch::autograd::AccumulateGrad";
  }

  bool is_gradient_node(const Root& root) const {
    return trace_.names.text(root.name) == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
  }

  // What DDP and FSDP call their own work: copies into buckets and flat parameters and out of them.
  bool is_of_communication(const KinetoSpan& span) const {
    static constexpr std::string_view names[] = {
        "torch.distributed.ddp.", "torch::distributed::reducer", "c10d::", "fsdp::", "FSDP::", "nccl:"};
    return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) { return named(span, name); }) ||
           (named(span, "FullyShardedDataParallel.") &&
            trace_.names.text(span.name) != "FullyShardedDataParallel.forward");
  }

  // Before PyTorch 1.10 no node held the copies behind a gradient: they follow it.
  bool copies_like_a_hook(const Root& root) const {
    const std::string& name = trace_.names.text(root.name);
    return name == "aten::mul" || name == "aten::copy_" || name == "aten::div_" || name == "aten::div";
  }

  // Backward roots in the order of their starts: each runs the node of a forward root, or follows one that does.
  void match_backward() {
    std::uint16_t thread = 0;
    Id step = none, creator = none;
    Id root = none;
    bool behind_gradient = false;
    for (Id i = 0; i < trace_.spans.size(); ++i) {
      const KinetoSpan& span = trace_.spans[i];
      if (root_of_[i] == none) continue;
      Root& mine = roots_[root_of_[i]];
      if (mine.thread != thread || mine.step != step) creator = none;
      thread = mine.thread;
      step = mine.step;
      if (root_of_[i] != root) {
        root = root_of_[i];
        if (thread != forward_thread_ && creator != none) mine.backward = true;  // what autograd does between nodes
        mine.creator = mine.backward ? creator : none;
        mine.copies |= communicates_ && behind_gradient && !span.backward && copies_like_a_hook(mine);
        behind_gradient = mine.copies || is_accumulation(span);
      }
      if (!mine.backward) continue;
      if (span.backward) {
        const auto maker = makers_.find(span.sequence);
        if (maker != makers_.end() && roots_[maker->second].step == step) mine.creator = creator = maker->second;
      }
      if (is_accumulation(span) && step != none && mine.creator != none) add_gradient(span, mine.creator, step);
    }
  }

  void add_gradient(const KinetoSpan& span, Id creator, Id step) {
    gradients_[step].push_back({creator, span.dims, span.start});
    if (span.element != KinetoSpan::Element::Unknown) element_ = span.element;
  }

  // A step's layers are the forward roots that gradients came from.
  void find_layers() {
    for (Id step = 0; step < iterations_.size(); ++step) {
      ProfiledIteration& iteration = iterations_[step];
      std::map<Id, std::vector<Id>> found;  // roots of a thread are in the order of their starts
      Id before = none;
      for (const Gradient& gradient : gradients_[step]) {
        found[gradient.root].push_back(gradient.dims);
        if (before != none && gradient.root > before) ++iteration.reordered;
        before = gradient.root;
      }
      for (const auto& [root, dims] : found) {
        iteration.layers.push_back(root);
        iteration.gradients.push_back(dims);
      }
      iteration.times.resize(iteration.layers.size());
    }
    for (const Root& root : roots_)
      if (root.creator != none && root.step != none) {
        Id& last = iterations_[root.step].last;
        if (last == none || root.creator > last) last = root.creator;
      }
  }

  // The layer that a forward root belongs to: the last that starts no later; none before the first.
  static std::optional<std::size_t> layer_of(const ProfiledIteration& iteration, Id root) {
    const auto after = std::upper_bound(iteration.layers.begin(), iteration.layers.end(), root);
    if (after == iteration.layers.begin()) return std::nullopt;
    return static_cast<std::size_t>(after - iteration.layers.begin() - 1);
  }

  void add_kernels() {
    // Traces of 2022 and 2023 have the launch's number where the operator's should stand: it may be another's.
    const bool of_operators = std::any_of(trace_.kernels.begin(), trace_.kernels.end(), [](const KinetoKernel& kernel) {
      return kernel.external != kernel.correlation;
    });
    std::vector<std::pair<Id, Id>> operators;  // external id, span
    for (Id i = 0; of_operators && i < trace_.spans.size(); ++i)
      if (trace_.spans[i].external != 0 && root_of_[i] != none) operators.emplace_back(trace_.spans[i].external, i);
    std::sort(operators.begin(), operators.end());
    std::sort(trace_.launches.begin(), trace_.launches.end(),
              [](const KinetoLaunch& a, const KinetoLaunch& b) { return a.correlation < b.correlation; });
    std::vector<Interval> carried;
    for (const KinetoKernel& kernel : trace_.kernels)
      if (kernel.communication) carried.push_back({kernel.start, kernel.start + kernel.duration});
    const std::vector<Interval> communication = joined(std::move(carried));
    for (const KinetoKernel& kernel : trace_.kernels) {
      const auto found = std::lower_bound(operators.begin(), operators.end(), std::pair(kernel.external, Id{0}));
      const bool known = kernel.external != 0 && found != operators.end() && found->first == kernel.external;
      root_of_kernel_.push_back(known ? root_of_[found->second] : launching_root(kernel.correlation));
      const Interval ran{kernel.start, kernel.start + kernel.duration};
      add_kernel(kernel, root_of_kernel_.back(), known ? trace_.spans[found->second].dims : 0,
                 kernel.communication ? 0 : shared_length(ran, communication));
    }
  }

  const KinetoLaunch* launch_of(Id correlation) const {
    const auto launch = std::lower_bound(trace_.launches.begin(), trace_.launches.end(), correlation,
                                         [](const KinetoLaunch& a, Id wanted) { return a.correlation < wanted; });
    return correlation != 0 && launch != trace_.launches.end() && launch->correlation == correlation ? &*launch
                                                                                                     : nullptr;
  }

  // Without an external id: the root that was running on the thread that launched the kernel.
  Id launching_root(Id correlation) const {
    const KinetoLaunch* launch = launch_of(correlation);
    if (!launch) return none;
    const auto after = std::upper_bound(
        roots_.begin(), roots_.end(), std::pair(launch->thread, launch->start),
        [](const auto& wanted, const Root& root) { return wanted < std::pair(root.thread, root.start); });
    Id at = after == roots_.begin() ? none : static_cast<Id>(after - roots_.begin() - 1);
    while (at != none && (roots_[at].thread != launch->thread || launch->start >= roots_[at].end))
      at = roots_[at].outer;
    return at;
  }

  // `dims`: of the operator that launched it, 0 where only its root is known. `beside`: how much of it ran while
  // communication did.
  void add_kernel(const KinetoKernel& kernel, Id at, Id dims, std::int64_t beside) {
    if (at == none) {
      unlaunched_ += kernel.duration;
      return;
    }
    const Root& root = roots_[at];
    if (root.step == none) {
      outside_ += kernel.duration;
      return;
    }
    ProfiledIteration& iteration = iterations_[root.step];
    const auto elsewhere = [&](Elsewhere where) {
      iteration.elsewhere[static_cast<std::size_t>(where)] += kernel.duration;
    };
    const auto layer_pass = [&](PassTime& pass, Id forward) {
      pass.all += kernel.duration;
      pass.beside += beside;
      if (communicates_ && kernel.work != 0)
        slowdown_.add(std::uint64_t{kernel.work} << 32 | (dims != 0 ? dims : roots_[forward].dims), kernel.duration,
                      beside);
    };
    if (kernel.communication) return elsewhere(Elsewhere::Communication);
    if (root.optimizer) return elsewhere(Elsewhere::Optimizer);
    if (root.copies || (root.creator != none && roots_[root.creator].copies)) return elsewhere(Elsewhere::Copies);
    if (iteration.layers.empty()) return elsewhere(Elsewhere::Other);
    if (root.backward) {
      if (root.creator == none) return elsewhere(Elsewhere::Unmatched);
      layer_pass(iteration.times[layer_of(iteration, root.creator).value_or(0)].backward, root.creator);
    } else if (root.thread != forward_thread_ || at > iteration.last) {
      elsewhere(Elsewhere::Other);
    } else if (const auto layer = layer_of(iteration, at)) {
      layer_pass(iteration.times[*layer].forward, at);
    } else {
      elsewhere(Elsewhere::BeforeFirst);
    }
  }

  // What two whole iterations have in common: the same gradients of the same layers, and GPU time in the same places.
  std::string signature(const ProfiledIteration& iteration) const {
    std::string text;
    for (std::size_t i = 0; i < iteration.layers.size(); ++i) {
      text += fmt::format("{}:{}{}", roots_[iteration.layers[i]].name, iteration.times[i].forward.all > 0,
                          iteration.times[i].backward.all > 0);
      for (const Id dims : iteration.gradients[i]) text += fmt::format(",{}", dims);
      text += ';';
    }
    return text;
  }

  // The steps that look like most do. Those that a profile's window cut lack layers, or the time of some.
  std::vector<Id> whole_steps() const {
    std::map<std::string, std::vector<Id>> alike;
    for (Id step = 0; step < iterations_.size(); ++step)
      if (!iterations_[step].layers.empty()) alike[signature(iterations_[step])].push_back(step);
    if (alike.empty())
      throw InputError(file_, "has no backward pass: no AccumulateGrad that a forward operator led to", right_trace);
    return std::max_element(alike.begin(), alike.end(),
                            [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
        ->second;
  }

  // "32x3x224x224;64x3x7x7;" -> {32, 3, 224, 224}.
  static std::vector<std::int64_t> first_shape(const std::string& dims) {
    std::vector<std::int64_t> shape;
    const char* at = dims.data();
    const char* end = dims.data() + dims.find(';', 0);
    while (at < end) {
      std::int64_t extent = 0;
      const auto [next, error] = std::from_chars(at, end, extent);
      if (error != std::errc() || extent < 0) return {};
      shape.push_back(extent);
      at = next == end ? end : next + 1;
    }
    return shape;
  }

  static std::int64_t product(const std::vector<std::int64_t>& shape, const Place& file) {
    double count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<double>(extent);
    return parameter_count(count, file);
  }

  bool is_compiled(Id root) const { return trace_.names.text(roots_[root].name).starts_with("CompiledFunction"); }

  // The elements of each layer's tensors: those of its gradients, or of the model's layers where the trace has no
  // shapes.
  std::vector<std::vector<std::int64_t>> elements(const ProfiledIteration& iteration) const {
    const auto shapeless = [&](const std::vector<Id>& gradients) {
      return std::any_of(gradients.begin(), gradients.end(), [&](Id dims) { return trace_.dims.text(dims).empty(); });
    };
    const auto without = std::find_if(iteration.gradients.begin(), iteration.gradients.end(), shapeless);
    const std::size_t compiled = compiled_layers(iteration);
    if (compiled > 0 && (without != iteration.gradients.end() || options_.match))
      throw InputError(
          file_,
          fmt::format("is of a compiled model: {} graph{} has the gradients of all layers, which cannot be "
                      "told apart",
                      compiled, compiled == 1 ? "" : "s"),
          without == iteration.gradients.end() ? "leave --match out, for one layer of each graph"
                                               : "a trace without torch.compile, with record_shapes=True");
    if (without == iteration.gradients.end()) {
      std::vector<std::vector<std::int64_t>> all;
      for (const std::vector<Id>& gradients : iteration.gradients) {
        auto& of_layer = all.emplace_back();
        // Within a layer the last tensor comes first in backward order.
        for (auto dims = gradients.rbegin(); dims != gradients.rend(); ++dims)
          of_layer.push_back(product(first_shape(trace_.dims.text(*dims)), file_));
      }
      return all;
    }
    std::vector<ShapelessLayer> layers;
    for (std::size_t i = 0; i < iteration.layers.size(); ++i)
      layers.push_back({operator_name(roots_[iteration.layers[i]]), iteration.gradients[i].size()});
    if (!options_.match)
      throw InputError(file_,
                       fmt::format("does not say the shape of a gradient of {}",
                                   layers[static_cast<std::size_t>(without - iteration.gradients.begin())].name),
                       fmt::format("{}, or --match MODEL with the model that it is of", right_trace));
    return elements_by_order(layers, *options_.match, file_);
  }

  std::size_t compiled_layers(const ProfiledIteration& iteration) const {
    return static_cast<std::size_t>(
        std::count_if(iteration.layers.begin(), iteration.layers.end(), [&](Id root) { return is_compiled(root); }));
  }

  // Without marks only one pass can be told from the next.
  void require_one_pass() const {
    if (marks_ != Marks::None || gradients_.empty()) return;
    const std::vector<Gradient>& gradients = gradients_.begin()->second;
    if (roots_[iterations_[0].layers.back()].start > gradients.front().at)
      throw InputError(file_, "has several forward and backward passes, and nothing marks where an iteration ends",
                       "a trace with profiler.step() after each, or of one iteration");
  }

  std::string operator_name(const Root& root) const {
    const std::string& name = trace_.names.text(root.name);
    const std::size_t colons = name.rfind("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
  }

  std::string layer_name(const Root& root) const {
    if (root.module != none) return trace_.names.text(root.module);
    return root.copies ? "unit" : operator_name(root);  // of FSDP, whose parameters a copy makes
  }

  Imported result() {
    const std::vector<Id> steps = whole_steps();
    require_one_pass();
    const auto count = static_cast<double>(steps.size());
    const ProfiledIteration& first = iterations_[steps.front()];
    const auto slowdown = slowdown_.result();
    // What of the time beside communication is that of the work alone.
    const double alone = slowdown && slowdown->factor > 1 ? 1 / slowdown->factor : 1;
    const auto time = [&](const PassTime& pass) {
      return static_cast<double>(pass.all) - static_cast<double>(pass.beside) * (1 - alone);
    };
    Imported imported;
    Profile& profile = imported.profile;
    const auto mean_us = [&](auto value) {
      double sum = 0;
      for (const Id step : steps) sum += static_cast<double>(value(iterations_[step]));
      return sum / count / 1000;
    };
    const std::vector<std::vector<std::int64_t>> counts = elements(first);
    bool any_backward = false;
    for (std::size_t i = 0; i < first.layers.size(); ++i) {
      const std::string name = layer_name(roots_[first.layers[i]]);
      const double forward = mean_us([&](const ProfiledIteration& one) { return time(one.times[i].forward); });
      const double backward = mean_us([&](const ProfiledIteration& one) { return time(one.times[i].backward); });
      any_backward |= backward > 0;
      for (const std::int64_t elements : counts[i])
        profile.tensors.push_back({"", elements, 0, static_cast<LayerId>(i)});
      profile.layers.push_back({name, measured_us(forward, file_), measured_us(backward, file_)});
    }
    if (!any_backward) throw InputError(file_, "has no kernels of a backward pass", right_trace);
    profile.framework = "PyTorch";
    profile.precision = element_ == KinetoSpan::Element::Half       ? "fp16"
                        : element_ == KinetoSpan::Element::BFloat16 ? "bf16"
                                                                    : "fp32";
    const auto device = std::max_element(trace_.used_by.begin(), trace_.used_by.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (const auto name = trace_.devices.find(device->first); name != trace_.devices.end())
      profile.device = name->second;
    const double update = mean_us(
        [](const ProfiledIteration& one) { return one.elsewhere[static_cast<std::size_t>(Elsewhere::Optimizer)]; });
    if (update > 0) profile.update = measured_us(update, file_);
    for (const Id step : steps) {
      std::vector<Time>& times = imported.iterations.emplace_back();
      for (const LayerTimes& layer : iterations_[step].times)
        for (const PassTime& pass : {layer.forward, layer.backward})
          times.push_back(measured_us(time(pass) / 1000, file_));
    }
    if (trace_.rank >= 0) imported.rank = trace_.rank;
    if (trace_.workers > 0) imported.workers = trace_.workers;
    imported.notes = notes(steps, mean_us, time);
    if (counts.size() > 1 && std::all_of(first.gradients.begin(), first.gradients.end(), [&](const auto& gradients) {
          return trace_.dims.text(gradients.front()).empty();
        }))
      imported.notes.push_back(fmt::format(
          "the trace says no shapes: its {} operators with gradients are the model's layers in order, with as many "
          "tensors each, of the same kind",
          counts.size()));
    if (const std::size_t compiled = compiled_layers(first); compiled > 0)
      imported.notes.push_back(
          fmt::format("the model was compiled: {} of {} layers {} a whole graph, whose gradients count as ready at its "
                      "end; a trace without torch.compile tells its layers apart",
                      compiled, first.layers.size(), compiled == 1 ? "is" : "are"));
    if (communicates_) add_communication(steps, slowdown, imported);
    const std::vector<std::int64_t> input = first_shape(trace_.dims.text(roots_[first.layers.front()].dims));
    if (!input.empty() && input.front() > 0 && !roots_[first.layers.front()].copies) {
      profile.batch_size = input.front();
      imported.notes.push_back(
          fmt::format("the batch size, {}, is the first extent of the first layer's input", input.front()));
    }
    return imported;
  }

  template <class Mean, class OfPass>
  std::vector<std::string> notes(const std::vector<Id>& steps, const Mean& mean_us, const OfPass& time) const {
    std::vector<std::string> notes;
    if (marks_ == Marks::None)
      notes.emplace_back("the trace has no ProfilerStep: all of it was taken as one iteration");
    else
      notes.push_back(
          fmt::format("times are means over {} of {} steps{}; {}", steps.size(), steps_.size(),
                      marks_ == Marks::Optimizer ? ", which end with Optimizer.step, as there is no ProfilerStep" : "",
                      steps.size() == steps_.size() ? "none was incomplete"
                                                    : "the others have other layers or lack some's kernels"));
    const double attributed = mean_us([&](const ProfiledIteration& one) {
      double sum = 0;
      for (const LayerTimes& layer : one.times) sum += time(layer.forward) + time(layer.backward);
      return sum;
    });
    notes.push_back(
        fmt::format("GPU time of layers: {} an iteration; operators without parameters count to the layer "
                    "before them",
                    format_duration(attributed * 1e-6)));
    for (std::size_t where = 0; where < elsewhere_count; ++where)
      if (const double us = mean_us([&](const ProfiledIteration& one) { return one.elsewhere[where]; }); us > 0)
        notes.push_back(fmt::format("{}: {} an iteration of {}",
                                    static_cast<Elsewhere>(where) == Elsewhere::Optimizer ? "the update" : "left out",
                                    format_duration(us * 1e-6), elsewhere_names[where]));
    if (outside_ > 0)
      notes.push_back(fmt::format("left out: {} in the whole trace outside of all steps",
                                  format_duration(static_cast<double>(outside_) * 1e-9)));
    if (unlaunched_ > 0)
      notes.push_back(fmt::format("left out: {} in the whole trace of kernels that no recorded operator launched",
                                  format_duration(static_cast<double>(unlaunched_) * 1e-9)));
    add_host(steps, notes);
    if (const auto reordered = iterations_[steps.front()].reordered; reordered > 0)
      notes.push_back(
          fmt::format("the gradients of {} layers became ready before those of a layer behind them, as "
                      "branches allow; the profile has them in the order of the forward pass",
                      reordered));
    if (trace_.used_by.size() > 1)
      notes.push_back(fmt::format("kernels ran on {} devices; their times were added", trace_.used_by.size()));
    return notes;
  }

  // When the device was busy with the kernels of these steps; those of communication alone, or all others.
  std::vector<Interval> busy(const std::vector<Id>& steps, bool communication) const {
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
      const KinetoKernel& kernel = trace_.kernels[i];
      const Id root = root_of_kernel_[i];
      if (kernel.communication == communication && root != none &&
          std::binary_search(steps.begin(), steps.end(), roots_[root].step))
        intervals.push_back({kernel.start, kernel.start + kernel.duration});
    }
    return joined(std::move(intervals));
  }

  // How long steps lasted, and what of it the GPU was idle. Where Optimizer.step marks them, nothing marks the first's
  // start.
  void add_host(std::vector<Id> steps, std::vector<std::string>& notes) const {
    if (marks_ == Marks::Optimizer && steps.front() == 0) steps.erase(steps.begin());
    if (marks_ == Marks::None || steps.empty()) return;
    double lasted = 0, loading = 0;
    for (const Id step : steps) {
      lasted += static_cast<double>(steps_[step].end - steps_[step].start);
      loading += static_cast<double>(iterations_[step].loading);
    }
    std::vector<Interval> all = busy(steps, false);
    const std::vector<Interval> carried = busy(steps, true);
    all.insert(all.end(), carried.begin(), carried.end());
    const double idle = lasted - static_cast<double>(length(joined(std::move(all))));
    const auto each = [&](double sum) { return format_duration(sum * 1e-9 / static_cast<double>(steps.size())); };
    notes.push_back(fmt::format("a step lasted {} under the profiler{}{}", each(lasted),
                                idle > 0 ? fmt::format(", and the GPU was idle for {} of it", each(idle)) : "",
                                loading > 0 ? fmt::format("; its data loading took the CPU {}", each(loading)) : ""));
  }

  // The collective of a kernel: as it says itself, or as the annotation around its launch does.
  std::optional<MeasuredCollective> collective_of(std::size_t i, std::span<const Id> annotated) const {
    const KinetoKernel& kernel = trace_.kernels[i];
    if (const auto message = trace_.messages.find(i); message != trace_.messages.end())
      return measured_collective(message->second, kernel.duration);
    const KinetoLaunch* launch = launch_of(kernel.correlation);
    if (!launch) return std::nullopt;
    const auto after = std::upper_bound(
        annotated.begin(), annotated.end(), std::pair(launch->thread, launch->start), [&](const auto& wanted, Id span) {
          return wanted < std::pair(trace_.spans[span].thread, trace_.spans[span].start);
        });
    if (after == annotated.begin()) return std::nullopt;
    const KinetoSpan& span = trace_.spans[*std::prev(after)];
    const std::vector<std::int64_t> shape = first_shape(trace_.dims.text(span.dims));
    if (span.thread != launch->thread || launch->start >= span.end || shape.empty()) return std::nullopt;
    const char* type = span.element == KinetoSpan::Element::Float      ? "Float"
                       : span.element == KinetoSpan::Element::Half     ? "Half"
                       : span.element == KinetoSpan::Element::BFloat16 ? "BFloat16"
                                                                       : "";
    return measured_collective({trace_.names.text(span.name), type, product(shape, file_), 0, trace_.workers},
                               kernel.duration);
  }

  void add_communication(const std::vector<Id>& steps, const std::optional<SlowdownEstimate::Result>& slowdown,
                         Imported& imported) const {
    std::vector<Id> annotated;
    for (Id i = 0; i < trace_.spans.size(); ++i)
      if (named(trace_.spans[i], "nccl:")) annotated.push_back(i);
    std::vector<std::pair<std::int64_t, MeasuredCollective>> found;  // by their start
    std::int64_t unknown = 0;
    for (std::size_t i = 0; i < trace_.kernels.size(); ++i) {
      const Id root = root_of_kernel_[i];
      if (!trace_.kernels[i].communication || root == none ||
          !std::binary_search(steps.begin(), steps.end(), roots_[root].step))
        continue;
      if (const auto one = collective_of(i, annotated))
        found.emplace_back(trace_.kernels[i].start, *one);
      else
        ++unknown;
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [start, one] : found) imported.collectives.push_back(std::move(one));
    const std::vector<Interval> carried = busy(steps, true);
    const std::int64_t hidden = shared_length(busy(steps, false), carried);
    const auto each = [&](std::int64_t sum) {
      return format_duration(static_cast<double>(sum) * 1e-9 / static_cast<double>(steps.size()));
    };
    if (length(carried) > 0)
      imported.notes.push_back(
          fmt::format("communication ran for {} an iteration, {} of it beside computing, with its waits for other "
                      "ranks; {} collectives of known size in these steps{} (--communication-out)",
                      each(length(carried)), each(hidden), found.size(),
                      unknown > 0 ? fmt::format(", and {} others", unknown) : ""));
    if (slowdown && slowdown->factor > 1)
      imported.notes.push_back(fmt::format(
          "subtracted: what communication slowed computing down by, {:.3f} times, as \"interference\": {{\"compute\": "
          "{:.3f}}} in a cluster file ({} kernels of {} kinds ran beside it and alone, too: {:.0f} % of the time "
          "beside "
          "it)",
          slowdown->factor, slowdown->factor, slowdown->pieces, slowdown->kinds, slowdown->covered * 100));
    else if (hidden > 0)
      imported.notes.push_back(
          slowdown
              ? fmt::format("computing was not slowed down by communication: {:.3f} times its time alone",
                            slowdown->factor)
              : "what communication slows computing down by cannot be told: too little of the same work ran beside "
                "it and alone");
  }

  KinetoTrace trace_;
  Place file_;
  const ImportOptions& options_;
  std::vector<Step> steps_;
  Marks marks_ = Marks::None;
  bool communicates_ = false;
  std::vector<ProfiledIteration> iterations_;
  std::vector<Root> roots_;  // by thread, then start
  std::vector<Id> root_of_;  // of each span; none for annotations and modules
  std::uint16_t forward_thread_ = 0;
  std::unordered_map<std::int32_t, Id> makers_;    // the forward root that made the node of this number
  std::map<Id, std::vector<Gradient>> gradients_;  // by step, as they became ready
  KinetoSpan::Element element_ = KinetoSpan::Element::Unknown;
  std::vector<Id> root_of_kernel_;
  SlowdownEstimate slowdown_;
  std::int64_t outside_ = 0, unlaunched_ = 0;
};

}  // namespace

bool is_kineto(std::string_view, std::string_view head) {
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || head[start] != '{') return false;
  for (const auto key : {"\"traceEvents\"", "\"deviceProperties\"", "\"baseTimeNanoseconds\""})
    if (head.find(key) != std::string_view::npos) return true;
  return false;
}

Imported read_kineto(ByteSource& source, const ImportOptions& options) {
  return Attribution(read_kineto_events(source), source.file(), options).run();
}

}  // namespace allreplay
