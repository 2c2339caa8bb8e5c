// A collective as a file: rounds of sends of chunks, checked over symbols before anything is timed
// (docs/formats.md, "Collective").
#pragma once

#include <memory>
#include <string>

#include "sim/collective/algorithm.hpp"
#include "sim/core/json.hpp"

namespace allreplay {

struct CollectiveFile {
  std::string name;
  Algorithm algorithm;  ///< a row of its own, called `name`
};

/// Throws InputError for what is no such file, for a send of what is not there, for chunks written twice in a round,
/// and where in the end a rank lacks what the operation promises. The row's functions throw it for other numbers of
/// workers than the file's.
std::shared_ptr<const CollectiveFile> read_collective(const Json& json);

/// Whether a collective's name is that of a file.
bool names_a_file(std::string_view collective);

}  // namespace allreplay
