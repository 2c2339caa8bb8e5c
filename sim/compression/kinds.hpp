// The kinds of compressors, for the table in compressor.cpp alone.
#pragma once

#include "sim/compression/compressor.hpp"

namespace allreplay {

enum class Choice { Strongest, Sampled, Random };
/// Sends the kept(density, n) entries that are chosen so, as write_sparse() lays them.
std::unique_ptr<Compressor> make_sparsifier(Choice choice, const CompressionOptions& options, std::uint64_t stream);

/// IEEE 754 binary16, rounded to the nearest, ties to even; beyond 65504 (rounded) infinity.
std::unique_ptr<Compressor> make_half();

/// QSGD (Alistarh et al. 2017) with `bits` bits an element.
std::unique_ptr<Compressor> make_qsgd(const CompressionOptions& options, std::uint64_t stream);

/// What a sign stands for: ±1, ± the mean magnitude, or the mean of those of its sign.
enum class Scale { One, Mean, TwoMeans };
/// A bit an element, set where it (or with `momentum` m the running m·average + (1−m)·element) is at least zero.
std::unique_ptr<Compressor> make_sign(Scale scale, float momentum = 0);

}  // namespace allreplay
