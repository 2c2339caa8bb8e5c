#include <algorithm>
#include <stdexcept>

#include "sim/inputs/compression/kinds.hpp"
#include "sim/inputs/compression/sparse.hpp"

namespace allreplay {

namespace {

class Sparsifier : public Compressor {
 public:
  Sparsifier(Choice choice, double density, Random random)
      : choice_(choice), density_(density), random_(std::move(random)) {}

  EncodedPayload encode(std::span<const float> values) override {
    return write_sparse(entries_at(values, positions(values, kept(density_, values.size()))));
  }

  void decode(const EncodedPayload& payload, std::span<float> out) const override {
    require_size(payload, 8 * kept(density_, out.size()));
    const Sparse entries = read_sparse(payload);
    if (entries.indices.back() >= out.size()) throw std::logic_error("an index beyond the vector");
    std::fill(out.begin(), out.end(), 0.0f);
    add(entries, out);
  }

 private:
  std::vector<std::uint32_t> positions(std::span<const float> values, std::size_t k) {
    switch (choice_) {
      case Choice::Random:
        return random_positions(values.size(), k, random_);
      case Choice::Sampled:
        return strongest_by_sample(values, k, random_);
      case Choice::Strongest:
        break;
    }
    return strongest(values, k);
  }

  Choice choice_;
  double density_;
  Random random_;
};

}  // namespace

std::unique_ptr<Compressor> make_sparsifier(Choice choice, const CompressionOptions& options, std::uint64_t stream) {
  return std::make_unique<Sparsifier>(choice, options.density, Random(options.seed, stream));
}

}  // namespace allreplay
