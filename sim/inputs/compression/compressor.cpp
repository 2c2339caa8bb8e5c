#include "sim/inputs/compression/compressor.hpp"

#include "sim/base/core/named.hpp"
#include "sim/inputs/compression/kinds.hpp"

namespace allreplay {

namespace {

template <Choice choice>
std::unique_ptr<Compressor> sparsifier(const CompressionOptions& options, std::uint64_t stream) {
  return make_sparsifier(choice, options, stream);
}

template <Scale scale>
std::unique_ptr<Compressor> sign(const CompressionOptions&, std::uint64_t) {
  return make_sign(scale);
}

std::unique_ptr<Compressor> signum(const CompressionOptions&, std::uint64_t) {
  return make_sign(Scale::One, signum_momentum);
}

std::unique_ptr<Compressor> half(const CompressionOptions&, std::uint64_t) { return make_half(); }

constexpr CompressorKind table[] = {
    {"topk", Aggregation::AllGather, true, sparsifier<Choice::Strongest>},
    {"gtopk", Aggregation::GTopKTree, true, sparsifier<Choice::Strongest>},
    {"dgc", Aggregation::AllGather, true, sparsifier<Choice::Sampled>},
    {"randk", Aggregation::AllGather, true, sparsifier<Choice::Random>},
    {"fp16", Aggregation::AllReduce, false, half},
    {"qsgd", Aggregation::AllGather, false, make_qsgd},
    {"signsgd", Aggregation::AllGather, false, sign<Scale::One>},
    {"ef-signsgd", Aggregation::AllGather, true, sign<Scale::Mean>},
    {"onebit", Aggregation::AllGather, true, sign<Scale::TwoMeans>},
    {"signum", Aggregation::AllGather, false, signum},
};

}  // namespace

std::span<const CompressorKind> compressors() { return table; }

const CompressorKind& find_compressor(std::string_view name, const SourceLocation& place) {
  return find_by_name(table, name, place, "no codec '{}'");
}

}  // namespace allreplay
