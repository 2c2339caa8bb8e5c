// Reads and checks a collective from a file, as rounds of sends of chunks (docs/formats.md, "Collective").
#pragma once

#include <memory>
#include <string>

#include "sim/base/core/json.hpp"
#include "sim/plans/collective/algorithm.hpp"

namespace allreplay {

struct CollectiveFile {
  std::string name;
  Algorithm algorithm;  ///< views `name`
};

/// Throws InputError if the file is malformed, a rank sends a chunk that it does not have, a chunk is written twice in
/// a round, or a rank lacks its result at the end. The algorithm's functions throw it for other numbers of workers.
std::shared_ptr<const CollectiveFile> read_collective(const Json& json);

/// True if `collective` refers to a file, not to a built-in algorithm.
bool names_a_file(std::string_view collective);

}  // namespace allreplay
