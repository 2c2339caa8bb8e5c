// Constructors of the compressors, used only by the table in compressor.cpp.
#pragma once

#include "sim/inputs/compression/compressor.hpp"

namespace allreplay {

enum class Choice { Strongest, Sampled, Random };
/// Sends kept(density, n) entries, chosen by `choice`, in the format of write_sparse().
std::unique_ptr<Compressor> make_sparsifier(Choice choice, const CompressionOptions& options, std::uint64_t stream);

/// Sends IEEE 754 binary16, rounded to nearest, ties to even; infinity above 65504 (rounded).
std::unique_ptr<Compressor> make_half();

/// QSGD (Alistarh et al. 2017) with `bits` bits per element.
std::unique_ptr<Compressor> make_qsgd(const CompressionOptions& options, std::uint64_t stream);

/// The values that signs are decoded to: ±1, ± the mean magnitude, or the mean of the elements of that sign.
enum class Scale { One, Mean, TwoMeans };
/// Sends one bit per element: element >= 0 or, with a `momentum` m, running average m·average + (1−m)·element >= 0.
std::unique_ptr<Compressor> make_sign(Scale scale, float momentum = 0);

}  // namespace allreplay
