// Transformers from Hugging Face's config.json, and the numbers and flags of configurations, in which a key with the
// value null is the same as no key.
#pragma once

#include <cstdint>

#include "sim/base/core/json.hpp"
#include "sim/inputs/estimate/transformer.hpp"

namespace allreplay {

std::int64_t count_or(const Json& json, const char* key, std::int64_t default_value);
bool flag_or(const Json& json, const char* key, bool default_value);

/// Reads a configuration with a "model_type". Throws InputError.
Transformer transformer_of_config(const Json& json);

/// The place of the key that gives a number of our own files ("heads", "experts/top_k"); the file's, if it has none.
SourceLocation place_in_config(const Json& json, std::string_view name);

}  // namespace allreplay
