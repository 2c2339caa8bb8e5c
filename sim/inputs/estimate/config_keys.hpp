// Numbers and flags in Hugging Face's config.json, where a key with the value null is the same as no key.
#pragma once

#include <cstdint>

#include "sim/base/core/json.hpp"
#include "sim/inputs/estimate/transformer.hpp"

namespace allreplay {

std::int64_t count_or(const Json& json, const char* key, std::int64_t default_value);
bool flag_or(const Json& json, const char* key, bool default_value);

/// The default of the configuration class for a missing key, which is recorded in `t.left_out`.
std::int64_t count_or_note(Transformer& t, const Json& json, const char* key, std::int64_t default_value);

/// Reads gemma2, gemma3_text, phi3, olmo2, opt, gpt_neox and falcon; none if the type is another. Throws InputError.
std::optional<Transformer> read_other_decoder(const Json& json, const std::string& type);

/// The types that read_other_decoder() knows, "gemma2, …".
std::string other_decoders();

}  // namespace allreplay
