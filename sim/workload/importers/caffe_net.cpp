#include "sim/workload/importers/caffe_net.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "sim/core/units.hpp"
#include "sim/workload/importers/importer.hpp"

namespace allreplay {

namespace {

// A message of protobuf's text format: `key: value` and `key { … }`, in any number and order.
struct Message {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::pair<std::string, Message>> messages;
  Place place;

  std::vector<std::string> all(std::string_view key) const {
    std::vector<std::string> found;
    for (const auto& [name, value] : values)
      if (name == key) found.push_back(value);
    return found;
  }
  std::string one(std::string_view key, std::string_view otherwise) const {
    const std::vector<std::string> found = all(key);
    return found.empty() ? std::string(otherwise) : found.back();
  }
  std::int64_t count(std::string_view key, std::int64_t otherwise) const {
    return parse_integer(one(key, std::to_string(otherwise)), 0, 1'000'000'000'000, place);
  }
  bool flag(std::string_view key, bool otherwise) const { return one(key, otherwise ? "true" : "false") == "true"; }
  const Message* message(std::string_view key) const {
    for (const auto& [name, message] : messages)
      if (name == key) return &message;
    return nullptr;
  }
};

class Parser {
 public:
  Parser(const std::vector<TextLine>& lines, const std::string& file) : file_(file) {
    for (const TextLine& line : lines) tokenize(line);
  }

  Message net() {
    Message net = message(0);
    if (next_ < tokens_.size()) fail(tokens_[next_], "a '}' too many");
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

  Message message(int depth) {
    constexpr int deepest = 50;
    Message message;
    message.place = {file_, tokens_.empty() ? "" : fmt::format("line {}", tokens_[std::min(next_, tokens_.size() - 1)].line)};
    while (next_ < tokens_.size() && tokens_[next_].text != "}") {
      const Token key = tokens_[next_++];
      if (depth == deepest) fail(key, "too many nested braces");
      if (next_ == tokens_.size()) fail(key, fmt::format("nothing after '{}'", key.text));
      if (tokens_[next_].text == ":") ++next_;
      if (next_ == tokens_.size()) fail(key, fmt::format("nothing after '{}'", key.text));
      if (tokens_[next_].text == "{") {
        ++next_;
        message.messages.emplace_back(key.text, this->message(depth + 1));
        if (next_ == tokens_.size()) fail(key, fmt::format("'{}' is never closed", key.text));
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
};

// What a layer type's parameters follow from.
class CaffeLayer {
 public:
  CaffeLayer(const Message& layer, std::optional<CaffeShape> bottom, const std::string& file)
      : layer_(layer), bottom_(std::move(bottom)), file_(file) {}

  std::vector<CaffeBlob> blobs() const {
    const std::string type = layer_.one("type", "");
    if (type == "Convolution" || type == "Deconvolution") return convolution();
    if (type == "InnerProduct") {
      const Message& product = parameters("inner_product_param");
      const double inputs = extent(static_cast<std::size_t>(product.count("axis", 1)), bottom().size());
      const auto outputs = static_cast<double>(product.count("num_output", 0));
      return made(inputs * outputs, outputs, product.flag("bias_term", true));
    }
    if (type == "Embed") {
      const Message& embed = parameters("embed_param");
      const auto outputs = static_cast<double>(embed.count("num_output", 0));
      return made(static_cast<double>(embed.count("input_dim", 0)) * outputs, outputs, embed.flag("bias_term", true));
    }
    if (type == "Scale") {
      if (layer_.all("bottom").size() > 1) return {};  // it scales by the second bottom
      static const Message defaults;
      const Message* given = layer_.message("scale_param");
      const Message& scale = given ? *given : defaults;
      const auto axis = static_cast<std::size_t>(scale.count("axis", 1));
      const double size = extent(axis, axis + static_cast<std::size_t>(scale.count("num_axes", 1)));
      return made(size, size, scale.flag("bias_term", false));
    }
    if (type == "PReLU") {
      const Message* given = layer_.message("prelu_param");
      return made(given && given->flag("channel_shared", false) ? 1 : extent(1, 2), 0, false);
    }
    // What stays: types without parameters, and those whose statistics are never communicated.
    if (layer_.message("param") && type != "BatchNorm")
      throw InputError(layer_.place,
                       fmt::format("the layer '{}' of type {} has parameters that cannot be counted here",
                                   layer_.one("name", ""), type),
                       "Convolution, Deconvolution, InnerProduct, Embed, Scale or PReLU");
    return {};
  }

 private:
  // A deconvolution has as many weights, in another shape.
  std::vector<CaffeBlob> convolution() const {
    const Message& given = parameters("convolution_param");
    const auto outputs = static_cast<double>(given.count("num_output", 0));
    double kernel = 1;
    const std::vector<std::string> sizes = given.all("kernel_size");
    if (sizes.empty())
      kernel = static_cast<double>(given.count("kernel_h", 0)) * static_cast<double>(given.count("kernel_w", 0));
    for (std::size_t axis = 2; !sizes.empty() && axis < bottom().size(); ++axis)
      kernel *= static_cast<double>(
          parse_integer(sizes[std::min(axis - 2, sizes.size() - 1)], 0, 1'000'000'000, given.place));
    const auto groups = static_cast<double>(std::max<std::int64_t>(1, given.count("group", 1)));
    return made(outputs * extent(1, 2) / groups * kernel, outputs, given.flag("bias_term", true));
  }

  const Message& parameters(std::string_view key) const {
    if (const Message* found = layer_.message(key)) return *found;
    throw InputError(layer_.place, fmt::format("the layer '{}' has no {}", layer_.one("name", ""), key),
                     "the net as Caffe prints it");
  }

  const CaffeShape& bottom() const {
    if (bottom_) return *bottom_;
    throw InputError({file_, ""}, fmt::format("does not say the shape of the input of '{}'", layer_.one("name", "")),
                     "Caffe's lines 'Setting up' and 'Top shape'");
  }

  double extent(std::size_t from, std::size_t to) const {
    double product = 1;
    for (std::size_t axis = from; axis < std::min(to, bottom().size()); ++axis)
      product *= static_cast<double>(bottom()[axis]);
    return product;
  }

  std::vector<CaffeBlob> made(double weights, double bias, bool has_bias) const {
    const std::string name = layer_.one("name", "");
    std::vector<CaffeBlob> all{{name + ".weight", parameter_count(weights, layer_.place)}};
    if (has_bias) all.push_back({name + ".bias", parameter_count(bias, layer_.place)});
    std::erase_if(all, [](const CaffeBlob& blob) { return blob.elements == 0; });
    return all;
  }

  const Message& layer_;
  std::optional<CaffeShape> bottom_;
  const std::string& file_;
};

}  // namespace

std::map<std::string, std::vector<CaffeBlob>> caffe_blobs(const std::vector<TextLine>& lines,
                                                          const std::map<std::string, std::vector<CaffeShape>>& shapes,
                                                          const std::string& file) {
  const Message net = Parser(lines, file).net();
  std::map<std::string, CaffeShape> shape_of_blob;
  std::map<std::string, std::vector<CaffeBlob>> blobs;
  for (const auto& [key, layer] : net.messages) {
    if (key != "layer") continue;
    const std::vector<std::string> bottoms = layer.all("bottom"), tops = layer.all("top");
    std::optional<CaffeShape> bottom;
    if (!bottoms.empty())
      if (const auto found = shape_of_blob.find(bottoms[0]); found != shape_of_blob.end()) bottom = found->second;
    const std::string name = layer.one("name", "");
    std::vector<CaffeBlob> own = CaffeLayer(layer, bottom, file).blobs();
    if (!own.empty()) blobs[name] = std::move(own);
    if (const auto found = shapes.find(name); found != shapes.end())
      for (std::size_t i = 0; i < std::min(tops.size(), found->second.size()); ++i)
        shape_of_blob[tops[i]] = found->second[i];
  }
  return blobs;
}

}  // namespace allreplay
