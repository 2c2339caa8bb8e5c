#include "sim/plans/schedule/codec.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace allreplay {

namespace {

// Values and indices have four bytes each (gTop-k, section II-E). At least one element is sent.
Bytes sparse(double elements, const CodecOptions& options) {
  return 8 * std::max<Bytes>(1, std::llround(options.density * elements));
}

Bytes half(double elements, const CodecOptions&) { return static_cast<Bytes>(std::ceil(2 * elements)); }

// The elements, and the norm in four bytes.
Bytes quantised(double elements, const CodecOptions& options) {
  return static_cast<Bytes>(std::ceil(elements * static_cast<double>(options.bits) / 8)) + 4;
}

Bytes signs(double elements, const CodecOptions&) { return static_cast<Bytes>(std::ceil(elements / 8)); }

// The signs, and one scale in four bytes.
Bytes scaled_signs(double elements, const CodecOptions& options) { return signs(elements, options) + 4; }

// The signs, and the mean of each sign's elements.
Bytes two_means(double elements, const CodecOptions& options) { return signs(elements, options) + 8; }

constexpr std::string_view strongest =
    "the k elements of largest magnitude, ties to the lower index; k values, then k indices";

constexpr Codec all[] = {
    {"topk",
     "the k largest gradients of each worker, all gathered",
     strongest,
     "8k",
     {"density"},
     "topk-allgather",
     true,
     sparse},
    {"gtopk", "the k largest of the sum, selected up a tree", strongest, "8k", {"density"}, "gtopk-tree", true, sparse},
    {"dgc",
     "Deep Gradient Compression: top-k by a sampled threshold",
     "as topk, found by a sampled threshold",
     "8k",
     {"density"},
     "all-gather",
     true,
     sparse},
    {"randk", "k random gradients", "k random elements, unscaled", "8k", {"density"}, "all-gather", true, sparse},
    {"fp16",
     "half precision, all-reduced",
     "IEEE binary16, to nearest, ties to even, overflow to infinity",
     "2n",
     {},
     "",
     false,
     half},
    {"qsgd",
     "stochastic rounding to a few levels of the largest",
     "each element as one of 2^bits − 1 evenly spaced levels from −max|x| to max|x| (two with one bit), and max|x|",
     "⌈n·bits/8⌉ + 4",
     {"bits"},
     "all-gather",
     false,
     quantised},
    {"signsgd", "the signs", "the signs, zero as positive; they mean ±1", "⌈n/8⌉", {}, "all-gather", false, signs},
    {"ef-signsgd",
     "the signs and their mean size, with error feedback",
     "the signs, and the mean magnitude",
     "⌈n/8⌉ + 4",
     {},
     "all-gather",
     true,
     scaled_signs},
    {"onebit",
     "the signs and a mean for either, with error feedback",
     "which elements are at least 0, and the means of either kind",
     "⌈n/8⌉ + 8",
     {},
     "all-gather",
     true,
     two_means},
    {"signum",
     "the signs of the momentum",
     "the signs of the momentum m ← 0.9 m + 0.1 x",
     "⌈n/8⌉",
     {},
     "all-gather",
     false,
     signs},
};

const std::vector<std::string_view> formula_names{"rows", "cols", "elements", "rank", "bits"};

// Reads "all-reduce", which is the cluster's, or a collective that carries payloads of all workers.
std::string_view read_carrier(const Json& json) {
  if (json.text() == to_string(CollectiveOp::AllReduce)) return "";
  const Algorithm* found = row_named(algorithms(), json.text());
  if (!found || (found->operation != CollectiveOp::AllGather && found->operation != CollectiveOp::Selection))
    json.fail(fmt::format("'{}' cannot carry a codec's payloads", json.text()),
              "all-reduce, all-gather, topk-allgather or gtopk-tree");
  return found->name;
}

std::shared_ptr<const CodecFormula> read_formula(const Json& json, const std::string& name) {
  const Json bytes = json.at("bytes");
  auto made = std::make_shared<CodecFormula>(
      CodecFormula{.bytes = Formula(bytes.text(), formula_names, bytes.place()), .name = name});
  const auto summary = json.find("summary");
  made->summary = summary ? summary->text() : made->bytes.text() + " bytes";
  made->codec = {.name = made->name,
                 .summary = made->summary,
                 .sent = made->summary,
                 .size = made->bytes.text(),
                 .collective = read_carrier(json.at("collective")),
                 .feedback = json.at("error_feedback").boolean()};
  std::size_t used = 0;
  for (const std::size_t option : {3, 4})
    if (made->bytes.uses(option)) made->codec.options[used++] = formula_names[option];
  return made;
}

CodecTime read_time(const Json& json) {
  json.allow_only({"base", "per_element", "per_element_log2"});
  CodecTime time;
  time.base = json.at("base").duration();
  time.per_element = json.at("per_element").duration();
  if (const auto log2 = json.find("per_element_log2")) time.per_element_log2 = log2->duration();
  return time;
}

}  // namespace

bool CodecFormula::is_by_shape() const { return bytes.uses(0) || bytes.uses(1); }

double CodecFormula::operator()(double rows, double cols, double elements, const CodecOptions& options) const {
  const double values[] = {rows, cols, elements, static_cast<double>(options.rank), static_cast<double>(options.bits)};
  const double size = bytes(values);
  if (!(size > 0 && size <= 1e18))
    throw InputError(bytes.place(), fmt::format("gives {} bytes for {} elements", size, elements), "above 0, to 1e18");
  return size;
}

std::span<const Codec> codecs() { return all; }

const Codec& find_codec(std::string_view name, const SourceLocation& place) {
  return find_by_name(all, name, place, "unknown codec '{}'");
}

bool carries(const Algorithm& algorithm, const Codec& codec) {
  if (codec.collective.empty()) return algorithm.operation == CollectiveOp::AllReduce;
  // Gathered payloads can always be decoded, and selected from, on arrival (gTop-k, Algorithm 2).
  return algorithm.operation == CollectiveOp::AllGather || algorithm.name == codec.collective;
}

double CodecTime::operator()(double elements) const {
  return base + elements * (per_element + per_element_log2 * std::log2(std::max(1.0, elements)));
}

CodecCosts read_codec(const Json& json, const std::string& name) {
  CodecCosts costs;
  costs.name = name;
  if (json.find("bytes")) {
    json.allow_only(
        {"summary", "bytes", "collective", "error_feedback", "device", "origin", "source", "encode", "decode"});
    costs.formula = read_formula(json, name);
    costs.codec = &costs.formula->codec;
  } else {
    json.allow_only({"codec", "device", "origin", "source", "encode", "decode"});
    costs.codec = &find_codec(json.at("codec").text(), json.at("codec").place());
  }
  costs.device = json.at("device").text();
  const Json origin = json.at("origin");
  costs.origin = choose_by_name(codec_origins, origin.text(), origin.place(), "unknown origin '{}'").name;
  costs.source = json.at("source").text();
  costs.encode = read_time(json.at("encode"));
  costs.decode = read_time(json.at("decode"));
  return costs;
}

Compression::Compression(CodecCosts costs, const CodecOptions& options, std::int64_t payloads, Bytes element_bytes,
                         double slowdown, std::shared_ptr<const TensorPayloads> tensors)
    : costs_(std::move(costs)),
      options_(options),
      payloads_(payloads),
      element_bytes_(element_bytes),
      slowdown_(slowdown),
      tensors_(std::move(tensors)) {}

Bytes Compression::wire_bytes(Bytes gradients) const {
  if (gradients <= 0) return 0;
  if (costs_.codec->wire_bytes) return costs_.codec->wire_bytes(elements(gradients), options_);
  const double n = elements(gradients);
  return static_cast<Bytes>(
      std::ceil(tensors_ ? tensors_->mean * static_cast<double>(gradients) : (*costs_.formula)(n, 1, n, options_)));
}

Bytes Compression::wire_bytes(const Block& block) const {
  if (!tensors_) return wire_bytes(block.bytes());
  double sum = 0;
  for (const Slice& slice : block.slices) {
    const Bytes whole = tensors_->gradients[slice.tensor];
    const double bytes = tensors_->bytes[slice.tensor];
    sum += slice.bytes == whole ? bytes : bytes * static_cast<double>(slice.bytes) / static_cast<double>(whole);
  }
  return static_cast<Bytes>(std::ceil(sum));
}

Time Compression::encode(Bytes gradients) const {
  if (gradients <= 0) return Time(0);
  if (options_.encode) return scaled(*options_.encode, slowdown_);
  return scaled(to_time(costs_.encode(elements(gradients))), slowdown_);
}

// Error feedback is one more decoding (MergeComp, section 3.2; docs/models.md, "When codecs run").
Time Compression::decode(Bytes gradients) const {
  if (gradients <= 0) return Time(0);
  if (options_.decode) return scaled(*options_.decode, slowdown_);
  const std::int64_t passes = payloads_ + (costs_.codec->feedback ? 1 : 0);
  return scaled(to_time(static_cast<double>(passes) * costs_.decode(elements(gradients))), slowdown_);
}

}  // namespace allreplay
