#include "sim/interchange/importers/caffe_net.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/units.hpp"
#include "sim/interchange/importers/importer.hpp"

namespace allreplay {

namespace {

// A message of protobuf's text format: `key: value` and `key { … }`, in any number and order.
struct Message {
  std::string key;
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<Message> messages;
  SourceLocation place;

  std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> found;
    for (const auto& [one, value] : values)
      if (one == name) found.push_back(value);
    return found;
  }
  std::string one(std::string_view name, std::string_view otherwise) const {
    const std::vector<std::string> found = all(name);
    return found.empty() ? std::string(otherwise) : found.back();
  }
  std::int64_t count(std::string_view name, std::int64_t otherwise) const {
    return parse_integer(one(name, std::to_string(otherwise)), 0, 1'000'000'000'000, place);
  }
  bool flag(std::string_view name, bool otherwise) const { return one(name, otherwise ? "true" : "false") == "true"; }
  const Message* message(std::string_view name) const {
    for (const Message& message : messages)
      if (message.key == name) return &message;
    return nullptr;
  }
};

class Parser {
 public:
  Parser(const std::vector<TextLine>& lines, const std::string& file) : file_(file) {
    for (const TextLine& line : lines) tokenize(line);
  }

  // All layers up to where the text was cut, if it was.
  Message net() {
    Message net = message(0);
    if (next_ < tokens_.size()) fail(tokens_[next_], "one '}' too many");
    if (cut_ && !net.messages.empty()) net.messages.pop_back();
    return net;
  }

 private:
  struct Token {
    std::string text;
    int line;
  };

  [[noreturn]] void fail(const Token& token, std::string_view wrong) const {
    throw InputError({file_, fmt::format("line {}", token.line)}, fmt::format("{} in the net", wrong),
                     "the net as Caffe prints it");
  }

  void tokenize(const TextLine& line) {
    std::string_view text = line.text;
    while (!(text = trimmed(text)).empty() && text[0] != '#') {
      std::size_t end = 1;
      if (text[0] == '"')
        end = std::min(text.find('"', 1), text.size() - 1) + 1;
      else if (text[0] != '{' && text[0] != '}' && text[0] != ':')
        end = std::min(text.find_first_of(" \t{}:\""), text.size());
      tokens_.push_back({std::string(text.substr(0, end)), line.number});
      text.remove_prefix(end);
    }
  }

  bool at_end() {
    cut_ = cut_ || next_ == tokens_.size();
    return cut_;
  }

  Message message(int depth) {
    constexpr int deepest = 50;
    Message message;
    if (next_ < tokens_.size()) message.place = {file_, fmt::format("line {}", tokens_[next_].line)};
    while (next_ < tokens_.size() && tokens_[next_].text != "}") {
      const Token key = tokens_[next_++];
      if (depth == deepest) fail(key, "too many nested braces");
      if (at_end()) break;
      if (tokens_[next_].text == ":") ++next_;
      if (at_end()) break;
      if (tokens_[next_].text == "{") {
        ++next_;
        message.messages.push_back(this->message(depth + 1));
        message.messages.back().key = key.text;
        if (at_end()) break;
        ++next_;  // its }
      } else {
        const std::string& value = tokens_[next_++].text;
        const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
        message.values.emplace_back(key.text, quoted ? value.substr(1, value.size() - 2) : value);
      }
    }
    return message;
  }

  const std::string& file_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  bool cut_ = false;
};

// How many parameters a layer has: by its definition and the shapes of its first bottom and top.
class CaffeLayer {
 public:
  CaffeLayer(const std::string& name, const Message& definition, const CaffeShape& bottom, const CaffeShape& top,
             const SourceLocation& place)
      : name_(name), definition_(definition), bottom_(bottom), top_(top), place_(place) {}

  std::vector<CaffeBlob> blobs() const {
    const std::string type = definition_.one("type", "");
    if (type == "Convolution" || type == "Deconvolution") return convolution();
    if (type == "InnerProduct") {
      const Message& product = parameters("inner_product_param");
      const double inputs = extent(bottom_, product.count("axis", 1), most_axes), outputs = last(top_);
      return made(inputs * outputs, outputs, product.flag("bias_term", true));
    }
    if (type == "Embed") {
      const Message& embed = parameters("embed_param");
      return made(static_cast<double>(embed.count("input_dim", 0)) * last(top_), last(top_),
                  embed.flag("bias_term", true));
    }
    if (type == "Scale" && definition_.all("bottom").size() < 2) {  // by a second bottom, it has no factors of its own
      const Message& scale = parameters("scale_param");
      const std::int64_t axis = scale.count("axis", 1);
      const double size = extent(bottom_, axis, axis + scale.count("num_axes", 1));
      return made(size, size, scale.flag("bias_term", false));
    }
    if (type == "PReLU") {
      const bool shared = parameters("prelu_param").flag("channel_shared", false);
      return made(shared ? 1 : extent(bottom_, 1, 2), 0, false);
    }
    // What is left has no parameters, or (BatchNorm) statistics, which have no gradients.
    if (definition_.message("param") && type != "BatchNorm")
      throw InputError(place_,
                       fmt::format("the layer '{}' of type {} has parameters that cannot be counted", name_, type),
                       "Convolution, Deconvolution, InnerProduct, Embed, Scale or PReLU");
    return {};
  }

 private:
  static constexpr std::int64_t most_axes = 32;  // Caffe's own limit

  // A deconvolution has as many weights as the convolution that it transposes.
  std::vector<CaffeBlob> convolution() const {
    const Message& given = parameters("convolution_param");
    const std::vector<std::string> sizes = given.all("kernel_size");
    double kernel = sizes.empty() ? static_cast<double>(given.count("kernel_h", 0)) *
                                        static_cast<double>(given.count("kernel_w", 0))
                                  : 1;
    for (std::size_t axis = 2; !sizes.empty() && axis < bottom_.size(); ++axis)
      kernel *= static_cast<double>(
          parse_integer(sizes[std::min(axis - 2, sizes.size() - 1)], 0, 1'000'000'000, given.place));
    const auto groups = static_cast<double>(std::max<std::int64_t>(1, given.count("group", 1)));
    const double outputs = extent(top_, 1, 2);
    return made(outputs * extent(bottom_, 1, 2) / groups * kernel, outputs, given.flag("bias_term", true));
  }

  const Message& parameters(std::string_view key) const {
    static const Message defaults;
    const Message* found = definition_.message(key);
    return found ? *found : defaults;
  }

  static double extent(const CaffeShape& shape, std::int64_t from, std::int64_t to) {
    double product = 1;
    for (auto axis = static_cast<std::size_t>(from); axis < std::min(static_cast<std::size_t>(to), shape.size());
         ++axis)
      product *= static_cast<double>(shape[axis]);
    return product;
  }

  static double last(const CaffeShape& shape) { return shape.empty() ? 1 : static_cast<double>(shape.back()); }

  std::vector<CaffeBlob> made(double weights, double bias, bool has_bias) const {
    std::vector<CaffeBlob> all{{name_ + ".weight", parameter_count(weights, place_)}};
    if (has_bias) all.push_back({name_ + ".bias", parameter_count(bias, place_)});
    std::erase_if(all, [](const CaffeBlob& blob) { return blob.elements == 0; });
    return all;
  }

  const std::string& name_;
  const Message& definition_;
  const CaffeShape &bottom_, &top_;
  SourceLocation place_;
};

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

class Net {
 public:
  Net(const std::vector<TextLine>& definition, const std::string& file) : file_(file) {
    definition_ = Parser(definition, file).net();
    for (const Message& layer : definition_.messages) {
      if (layer.key != "layer") continue;
      defined_[layer.one("name", "")] = &layer;
      like_[last_part(layer.one("name", ""))] = &layer;
    }
  }

  CaffeNet count(const std::vector<CaffeSetup>& layers) {
    static const CaffeShape none;
    for (const CaffeSetup& layer : layers) {
      const auto found = layer.bottoms.empty() ? shapes_.end() : shapes_.find(layer.bottoms[0]);
      const CaffeShape bottom = found == shapes_.end() ? none : found->second;
      const CaffeShape& top = layer.shapes.empty() ? none : layer.shapes[0];
      if (const Message* definition = definition_of(layer, bottom, top)) {
        if (!layer.bottoms.empty() && (bottom.empty() || top.empty()))
          throw InputError({file_, ""}, fmt::format("does not say the shapes of '{}'", layer.name),
                           "Caffe's lines 'Setting up' and 'Top shape'");
        auto blobs = CaffeLayer(layer.name, *definition, bottom, top, place_of(*definition)).blobs();
        if (!blobs.empty()) net_.blobs[layer.name] = std::move(blobs);
      }
      for (std::size_t i = 0; i < std::min(layer.tops.size(), layer.shapes.size()); ++i)
        shapes_[layer.tops[i]] = layer.shapes[i];
    }
    return std::move(net_);
  }

 private:
  SourceLocation place_of(const Message& definition) const { return {file_, definition.place.path}; }

  const Message* definition_of(const CaffeSetup& layer, const CaffeShape& bottom, const CaffeShape& top) {
    if (const auto found = defined_.find(layer.name); found != defined_.end()) return found->second;
    if (layer.bottoms.size() != 1 || layer.tops.size() != 1 || layer.bottoms == layer.tops) return nullptr;
    if (const auto found = like_.find(last_part(layer.name)); found != like_.end()) {
      net_.guessed.push_back(fmt::format("'{}' as '{}'", layer.name, found->second->one("name", "")));
      return found->second;
    }
    if (top.size() == 2 && bottom.size() != 2) {
      static const Message product{"layer", {{"type", "InnerProduct"}}, {}, {}};
      net_.guessed.push_back(fmt::format("'{}' as fully connected", layer.name));
      return &product;
    }
    if (layer.name.find("pool") != std::string::npos) {
      net_.guessed.push_back(fmt::format("'{}' as pooling", layer.name));
      return nullptr;
    }
    throw InputError({file_, ""},
                     fmt::format("the definition of '{}' is missing: glog cuts it at 30,000 bytes", layer.name),
                     "a shorter net, or a log that has all of it");
  }

  const std::string& file_;
  Message definition_;
  std::map<std::string, const Message*> defined_, like_;  // by name, by its last part
  std::map<std::string, CaffeShape> shapes_;              // of blobs
  CaffeNet net_;
};

}  // namespace

CaffeNet caffe_net(const std::vector<TextLine>& definition, const std::vector<CaffeSetup>& layers,
                   const std::string& file) {
  return Net(definition, file).count(layers);
}

}  // namespace allreplay
