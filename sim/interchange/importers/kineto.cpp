// GPU kernels -> the operator that launched them -> its layer. A layer is an outermost forward operator whose backward
// nodes end in AccumulateGrad: autograd runs that as soon as a gradient is there, so the trace itself says which
// parameters a layer has, with their shapes. Forward and backward meet in autograd's sequence number. What has no
// parameters (activations, pooling, the loss) adds its time to the layer before it.
#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/interchange/importers/kineto_events.hpp"
#include "sim/interchange/importers/readers.hpp"

namespace allreplay {

namespace {

using Kind = KinetoSpan::Kind;
using Id = std::uint32_t;
constexpr Id none = ~Id{0};

constexpr auto right_trace = "a training run profiled on the GPU with record_shapes=True";

// An operator inside no other.
struct Root {
  std::int64_t start = 0, end = 0;
  Id name = 0, dims = 0;
  Id module = none;   // the innermost nn.Module around it
  Id step = none;     // where it starts
  Id creator = none;  // backward: the forward root whose node it runs
  std::uint16_t thread = 0;
  bool backward = false;
  bool optimizer = false;
};

struct Gradient {
  Id root = none;  // of the forward pass
  Id dims = 0;
};

struct Step {
  std::int64_t start = 0, end = 0;
  std::uint16_t thread = 0;
  Id name = 0;
};

// Where the time of a kernel goes that belongs to no layer.
enum class Elsewhere : std::uint8_t { BeforeFirst, Optimizer, Communication, Unmatched, Other, count };
constexpr std::string_view elsewhere_names[] = {"before the first layer (copies of the input)",
                                                "the optimizer",
                                                "communication (NCCL)",
                                                "backward nodes without a forward operator",
                                                "operators outside forward and backward passes",
                                                "kernels that no recorded operator launched"};
constexpr auto elsewhere_count = static_cast<std::size_t>(Elsewhere::count);

struct LayerTimes {
  std::int64_t forward = 0, backward = 0;
};

// One iteration: its layers (roots, in forward order) and what each took.
struct ProfiledIteration {
  std::vector<Id> layers;
  std::vector<std::vector<Id>> gradients;  // dims, in the order of becoming ready
  std::vector<LayerTimes> times;
  Id last = none;  // the last root of the forward pass
  std::int64_t elsewhere[elsewhere_count] = {};
  std::int64_t reordered = 0;  // layers whose gradients became ready before those of a layer behind them
};

class Attribution {
 public:
  explicit Attribution(KinetoTrace trace, const std::string& file) : trace_(std::move(trace)), file_{file, ""} {}

  Imported run() {
    if (trace_.kernels.empty()) throw InputError(file_, "has no GPU kernels", "profile with ProfilerActivity.CUDA");
    find_steps();
    find_roots();
    match_backward();
    find_layers();
    add_kernels();
    return result();
  }

 private:
  bool is_step(const KinetoSpan& span) const {
    return span.kind == Kind::Annotation && trace_.names.text(span.name).starts_with("ProfilerStep");
  }

  // The ProfilerStep#n annotations; without them, the whole trace is one.
  void find_steps() {
    for (const KinetoSpan& span : trace_.spans)
      if (is_step(span)) steps_.push_back({span.start, span.end, span.thread, span.name});
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
    has_steps_ = !steps_.empty();
    if (!has_steps_) steps_.push_back({0, std::numeric_limits<std::int64_t>::max(), 0, 0});
    iterations_.resize(steps_.size());
  }

  Id step_at(std::int64_t time) const {
    const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                        [](std::int64_t t, const Step& step) { return t < step.start; });
    if (after == steps_.begin() || time >= std::prev(after)->end) return none;
    return static_cast<Id>(after - steps_.begin() - 1);
  }

  // The forward pass runs where the steps are; without steps, where most forward operators are.
  std::uint16_t find_forward_thread() const {
    if (has_steps_) return steps_.front().thread;
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
    for (const Around& outer : around) {
      const KinetoSpan& other = trace_.spans[outer.span];
      if (other.kind == Kind::Operator) {
        root_of_[i] = root_of_[outer.span];
        break;
      }
      if (other.kind == Kind::Module)
        root.module = other.name;
      else
        root.optimizer |= trace_.names.text(other.name).starts_with("Optimizer.");
    }
    if (root_of_[i] == none) {
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

  // Backward roots in the order of their starts: each runs the node of a forward root, or follows one that does.
  void match_backward() {
    std::uint16_t thread = 0;
    Id step = none, creator = none;
    Id root = none;
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
    gradients_[step].push_back({creator, span.dims});
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
    std::vector<std::pair<Id, Id>> operators;  // external id, root
    for (Id i = 0; i < trace_.spans.size(); ++i)
      if (trace_.spans[i].external != 0 && root_of_[i] != none)
        operators.emplace_back(trace_.spans[i].external, root_of_[i]);
    std::sort(operators.begin(), operators.end());
    std::sort(trace_.launches.begin(), trace_.launches.end(),
              [](const KinetoLaunch& a, const KinetoLaunch& b) { return a.correlation < b.correlation; });
    for (const KinetoKernel& kernel : trace_.kernels) {
      const auto found = std::lower_bound(operators.begin(), operators.end(), std::pair(kernel.external, Id{0}));
      const bool known = kernel.external != 0 && found != operators.end() && found->first == kernel.external;
      add_kernel(kernel, known ? found->second : launching_root(kernel.correlation));
    }
  }

  // Without an external id: the root that was running on the thread that launched the kernel.
  Id launching_root(Id correlation) const {
    const auto launch = std::lower_bound(trace_.launches.begin(), trace_.launches.end(), correlation,
                                         [](const KinetoLaunch& a, Id wanted) { return a.correlation < wanted; });
    if (correlation == 0 || launch == trace_.launches.end() || launch->correlation != correlation) return none;
    const auto after = std::upper_bound(
        roots_.begin(), roots_.end(), std::pair(launch->thread, launch->start),
        [](const auto& wanted, const Root& root) { return wanted < std::pair(root.thread, root.start); });
    if (after == roots_.begin()) return none;
    const Root& root = *std::prev(after);
    const bool inside = root.thread == launch->thread && launch->start < root.end;
    return inside ? static_cast<Id>(after - roots_.begin() - 1) : none;
  }

  void add_kernel(const KinetoKernel& kernel, Id at) {
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
    if (kernel.communication) return elsewhere(Elsewhere::Communication);
    if (root.optimizer) return elsewhere(Elsewhere::Optimizer);
    if (iteration.layers.empty()) return elsewhere(Elsewhere::Other);
    if (root.backward) {
      if (root.creator == none) return elsewhere(Elsewhere::Unmatched);
      iteration.times[layer_of(iteration, root.creator).value_or(0)].backward += kernel.duration;
    } else if (root.thread != forward_thread_ || at > iteration.last) {
      elsewhere(Elsewhere::Other);
    } else if (const auto layer = layer_of(iteration, at)) {
      iteration.times[*layer].forward += kernel.duration;
    } else {
      elsewhere(Elsewhere::BeforeFirst);
    }
  }

  // What two whole iterations have in common: the same gradients of the same layers, and GPU time in the same places.
  std::string signature(const ProfiledIteration& iteration) const {
    std::string text;
    for (std::size_t i = 0; i < iteration.layers.size(); ++i) {
      text += fmt::format("{}:{}{}", roots_[iteration.layers[i]].name, iteration.times[i].forward > 0,
                          iteration.times[i].backward > 0);
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

  std::int64_t elements(Id dims, const std::string& layer) const {
    const std::string& text = trace_.dims.text(dims);
    if (text.empty())
      throw InputError(file_, fmt::format("does not say the shape of a gradient of {}", layer), right_trace);
    double count = 1;
    for (const std::int64_t extent : first_shape(text)) count *= static_cast<double>(extent);
    return parameter_count(count, file_);
  }

  std::string layer_name(const Root& root) const {
    if (root.module != none) return trace_.names.text(root.module);
    const std::string& name = trace_.names.text(root.name);
    const std::size_t colons = name.rfind("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
  }

  Imported result() const {
    const std::vector<Id> steps = whole_steps();
    const auto count = static_cast<double>(steps.size());
    const ProfiledIteration& first = iterations_[steps.front()];
    Imported imported;
    Profile& profile = imported.profile;
    const auto mean_us = [&](auto value) {
      double sum = 0;
      for (const Id step : steps) sum += static_cast<double>(value(iterations_[step]));
      return sum / count / 1000;
    };
    bool any_backward = false;
    for (std::size_t i = 0; i < first.layers.size(); ++i) {
      const std::string name = layer_name(roots_[first.layers[i]]);
      const double forward = mean_us([&](const ProfiledIteration& one) { return one.times[i].forward; });
      const double backward = mean_us([&](const ProfiledIteration& one) { return one.times[i].backward; });
      any_backward |= backward > 0;
      // Within a layer the last tensor comes first in backward order.
      for (auto dims = first.gradients[i].rbegin(); dims != first.gradients[i].rend(); ++dims)
        profile.tensors.push_back({"", elements(*dims, name), 0, static_cast<LayerId>(i)});
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
    imported.notes = notes(steps, mean_us);
    const std::vector<std::int64_t> input = first_shape(trace_.dims.text(roots_[first.layers.front()].dims));
    if (!input.empty() && input.front() > 0) {
      profile.batch_size = input.front();
      imported.notes.push_back(
          fmt::format("the batch size, {}, is the first extent of the first layer's input", input.front()));
    }
    return imported;
  }

  template <class Mean>
  std::vector<std::string> notes(const std::vector<Id>& steps, const Mean& mean_us) const {
    std::vector<std::string> notes;
    if (has_steps_)
      notes.push_back(fmt::format("times are means over {} of {} steps; {}", steps.size(), steps_.size(),
                                  steps.size() == steps_.size()
                                      ? "none was incomplete"
                                      : "the others have other layers or lack some's kernels"));
    else
      notes.push_back("the trace has no ProfilerStep: all of it was taken as one iteration");
    const double attributed = mean_us([](const ProfiledIteration& one) {
      std::int64_t sum = 0;
      for (const LayerTimes& layer : one.times) sum += layer.forward + layer.backward;
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
      notes.push_back(
          fmt::format("left out: {} outside of all steps", format_duration(static_cast<double>(outside_) * 1e-9)));
    if (unlaunched_ > 0)
      notes.push_back(fmt::format("left out: {} of kernels that no recorded operator launched",
                                  format_duration(static_cast<double>(unlaunched_) * 1e-9)));
    if (has_steps_) {
      double lasted = 0;
      for (const Id step : steps) lasted += static_cast<double>(steps_[step].end - steps_[step].start) * 1e-9;
      notes.push_back(fmt::format("a step lasted {} under the profiler",
                                  format_duration(lasted / static_cast<double>(steps.size()))));
    }
    if (const auto reordered = iterations_[steps.front()].reordered; reordered > 0)
      notes.push_back(
          fmt::format("the gradients of {} layers became ready before those of a layer behind them, as "
                      "branches allow; the profile has them in the order of the forward pass",
                      reordered));
    if (trace_.used_by.size() > 1)
      notes.push_back(fmt::format("kernels ran on {} devices; their times were added", trace_.used_by.size()));
    return notes;
  }

  KinetoTrace trace_;
  Place file_;
  std::vector<Step> steps_;
  bool has_steps_ = false;
  std::vector<ProfiledIteration> iterations_;
  std::vector<Root> roots_;  // by thread, then start
  std::vector<Id> root_of_;  // of each span; none for annotations and modules
  std::uint16_t forward_thread_ = 0;
  std::unordered_map<std::int32_t, Id> makers_;    // the forward root that made the node of this number
  std::map<Id, std::vector<Gradient>> gradients_;  // by step, as they became ready
  KinetoSpan::Element element_ = KinetoSpan::Element::Unknown;
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

Imported read_kineto(ByteSource& source, const ImportOptions&) {
  return Attribution(read_kineto_events(source), source.file()).run();
}

}  // namespace allreplay
