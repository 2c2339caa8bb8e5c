// The output of `caffe time`: the net in protobuf's text format, the shapes of its layers' outputs, and the mean
// forward and backward time of every layer, in milliseconds.

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/core/units.hpp"
#include "sim/interchange/importers/caffe_net.hpp"
#include "sim/interchange/importers/readers.hpp"
#include "sim/interchange/importers/text_lines.hpp"

namespace allreplay {

namespace {

// What glog writes before a message: "I0228 23:02:15.098613 24886 caffe.cpp:308] ".
bool is_logged(std::string_view line) {
  return line.size() > 5 && std::string_view("IWEF").find(line[0]) != std::string_view::npos &&
         line.substr(1, 4).find_first_not_of("0123456789") == std::string_view::npos &&
         line.find("] ") != std::string_view::npos;
}

// The number in "NUMBER ms." that follows `key`, if the line has that key.
std::optional<double> milliseconds(std::string_view message, std::string_view key, const SourceLocation& place) {
  const std::size_t at = message.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> fields = words(message.substr(at + key.size()));
  if (fields.size() != 2 || !fields[1].starts_with("ms"))
    throw InputError(place, "there is no time here", "a number and ms, as `caffe time` prints it");
  return parse_number(fields[0], place);
}

class Log {
 public:
  explicit Log(const std::string& file) : file_(file) {}

  void add(const TextLine& line) {
    if (!is_logged(line.text)) {
      if (in_net_) net_.push_back(line);
      return;
    }
    in_net_ = false;
    const SourceLocation place{file_, fmt::format("line {}", line.number)};
    const std::string_view message = line.text.substr(line.text.find("] ") + 2);
    if (message.starts_with("Initializing net from parameters:")) {
      in_net_ = true;
      net_.clear();
      set_up_.clear();
    } else if (message.starts_with("Creating Layer ")) {
      set_up_.push_back({std::string(message.substr(15)), {}, {}, {}});
    } else if (set_up(message, place)) {
    } else if (message.starts_with("Average time per layer")) {
      layers_.clear();
    } else if (const auto all = milliseconds(message, "Average Forward pass:", place)) {
      forward_pass_ = *all;
    } else if (const auto back = milliseconds(message, "Average Backward pass:", place)) {
      backward_pass_ = *back;
    } else if (const auto forward = milliseconds(message, "\tforward:", place)) {
      layers_.push_back({std::string(trimmed(message.substr(0, message.find("\tforward:")))),
                         measured_us(*forward * 1e3, place), std::nullopt, place});
    } else if (const auto backward = milliseconds(message, "\tbackward:", place)) {
      const std::string_view name = trimmed(message.substr(0, message.find("\tbackward:")));
      if (layers_.empty() || layers_.back().name != name || layers_.back().backward)
        throw InputError(place, fmt::format("the backward time of '{}' does not follow its forward time", name),
                         "the lines in the order in which `caffe time` prints them");
      layers_.back().backward = measured_us(*backward * 1e3, place);
    }
  }

  Imported finish() const {
    if (layers_.empty())
      throw InputError({file_, ""}, "has no times per layer", "the whole output of `caffe time`, standard error too");
    if (net_.empty())
      throw InputError({file_, ""}, "has no net: the sizes of the gradients are unknown",
                       "the whole output of `caffe time`, from its first line");
    const CaffeNet net = caffe_net(net_, set_up_, file_);
    Imported imported;
    Profile& profile = imported.profile;
    profile.framework = "Caffe";
    std::size_t used = 0;
    for (const Timed& layer : layers_) {
      if (!layer.backward)
        throw InputError(layer.place, fmt::format("no backward time of '{}' follows", layer.name),
                         "forward and backward times of every layer");
      if (const auto found = net.blobs.find(layer.name); found != net.blobs.end()) {
        ++used;
        for (const CaffeBlob& blob : found->second)
          profile.tensors.push_back({blob.name, blob.elements, 0, static_cast<LayerId>(profile.layers.size())});
      }
      profile.layers.push_back({layer.name, layer.forward, *layer.backward});
    }
    if (used < net.blobs.size())
      throw InputError({file_, ""}, fmt::format("{} layers with parameters have no times", net.blobs.size() - used),
                       "times of the net that the log prints last");
    if (!set_up_.empty() && !set_up_[0].shapes.empty() && !set_up_[0].shapes[0].empty())
      profile.batch_size = set_up_[0].shapes[0][0];
    compare(imported, "forward", profile.forward(), forward_pass_);
    compare(imported, "backward", profile.backward(), backward_pass_);
    imported.notes.push_back(
        "parameters were counted from the net that the log prints; weights and biases are sent separately");
    if (!net.guessed.empty())
      imported.notes.push_back(
          fmt::format("glog cut off the net's definition; layers taken by name: {}", fmt::join(net.guessed, ", ")));
    return imported;
  }

 private:
  struct Timed {
    std::string name;
    Time forward;
    std::optional<Time> backward;
    SourceLocation place;
  };

  // What Caffe says of the layer that it creates: "NAME <- BLOB", "NAME -> BLOB (in-place)", "Top shape: 128 3 …".
  bool set_up(std::string_view message, const SourceLocation& place) {
    if (set_up_.empty()) return false;
    CaffeSetup& layer = set_up_.back();
    if (message.starts_with("Top shape: ")) {
      layer.shapes.push_back(shape(message.substr(11), place));
      return true;
    }
    if (!message.starts_with(layer.name)) return false;
    message.remove_prefix(layer.name.size());
    const bool bottom = message.starts_with(" <- "), top = message.starts_with(" -> ");
    if (!bottom && !top) return false;
    message.remove_prefix(4);
    const std::string_view blob = message.substr(0, message.find(" (in-place)"));
    (bottom ? layer.bottoms : layer.tops).emplace_back(blob);
    return true;
  }

  // "128 3 224 224 (19267584)"
  static CaffeShape shape(std::string_view text, const SourceLocation& place) {
    CaffeShape shape;
    for (const std::string_view word : words(text.substr(0, text.find('('))))
      shape.push_back(parse_integer(word, 1, 1'000'000'000'000, place));
    return shape;
  }

  void compare(Imported& imported, std::string_view pass, Time sum, std::optional<double> whole_ms) const {
    if (!whole_ms || *whole_ms <= 0) return;
    imported.notes.push_back(
        fmt::format("the layers' {} times sum up to {:.6g} ms, {:.2f} % less than the {:.6g} ms of "
                    "the whole pass: the time between layers was left out",
                    pass, to_seconds(sum) * 1e3, 100 * (1 - to_seconds(sum) * 1e3 / *whole_ms), *whole_ms));
  }

  const std::string& file_;
  bool in_net_ = false;
  std::vector<TextLine> net_;
  std::vector<CaffeSetup> set_up_;
  std::vector<Timed> layers_;
  std::optional<double> forward_pass_, backward_pass_;
};

}  // namespace

bool is_caffe_time(std::string_view, std::string_view head) {
  return head.find(" caffe.cpp:") != std::string_view::npos || head.find(" net.cpp:") != std::string_view::npos;
}

Imported read_caffe_time(ByteSource& source, const ImportOptions&) {
  const std::string text = source.rest();
  Log log(source.file());
  for (const TextLine& line : text_lines(text)) log.add(line);
  return log.finish();
}

}  // namespace allreplay
