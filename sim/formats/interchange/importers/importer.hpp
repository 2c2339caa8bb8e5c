// Imports measurements of other programs as profiles: one importer per file format, chosen by name or by the file's
// contents. docs/importing.md says what each reads, attributes and subtracts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/formats/interchange/importers/byte_source.hpp"
#include "sim/inputs/workload/model.hpp"
#include "sim/inputs/workload/profile.hpp"

namespace allreplay {

/// Facts that users may state about a file. Omitted ones are read from the file if it has them.
struct ImportOptions {
  std::optional<std::int64_t> batch_size;
  std::string model, device, framework, precision;
  std::string source;                   ///< origin of the times, for readers; "": the file's name and format
  std::optional<double> forward_ratio;  ///< sets every forward time to this times the backward time
  std::optional<Model> match;           ///< a model with the same layers, which gives names and tensors
};

/// A measured collective on one rank. Its time includes waiting for the other ranks.
struct MeasuredCollective {
  std::string name;          ///< all-reduce, all-gather, reduce-scatter, broadcast
  std::int64_t workers = 0;  ///< 0: unknown
  Bytes bytes = 0;           ///< size of the gradient; for an all-gather, each worker's payload
  Time time{0};

  bool operator==(const MeasuredCollective&) const = default;
};

struct Imported {
  /// Layers in forward order with their times, tensors with their elements; device, framework, model, precision, batch
  /// size and update if the file has them. import_profile() sets the rest: bytes, origin, source, unique names.
  Profile profile;
  std::vector<std::string> notes;  ///< what was skipped, subtracted or attributed; one sentence each

  // If the file is a trace of one rank of a job:
  std::vector<MeasuredCollective> collectives;  ///< of the averaged iterations, in order
  std::vector<std::vector<Time>> iterations;    ///< per iteration the forward and backward time of each layer
  std::optional<std::int64_t> rank, workers;
};

struct Importer {
  std::string_view name;
  std::string_view summary;
  /// True if a file with this name and beginning has this format, and no other importer's.
  bool (*recognises)(std::string_view file, std::string_view head);
  /// Throws InputError.
  Imported (*read)(ByteSource& source, const ImportOptions& options);
};

std::span<const Importer> importers();

/// Throws InputError at `place`, naming the most similar format.
const Importer& find_importer(std::string_view name, const SourceLocation& place);

/// Returns the first importer that recognises the source. Throws InputError if none does.
const Importer& recognise(const ByteSource& source);

/// Reads the source into a complete profile: origin `imported`, a source (file and format), unique names, parameters,
/// times that are not all zero, a batch size. Throws InputError if something is missing.
Imported import_profile(const Importer& importer, ByteSource& source, const ImportOptions& options);

/// Returns the collectives as a CSV for `allreplay calibrate`. Throws InputError at `file` if there are none.
std::string collectives_csv(const Imported& imported, const SourceLocation& file);

/// For the table: is_X() recognises a format, read_X() reads it.
bool is_kineto(std::string_view file, std::string_view head);
Imported read_kineto(ByteSource& source, const ImportOptions& options);
bool is_chakra(std::string_view file, std::string_view head);
Imported read_chakra(ByteSource& source, const ImportOptions& options);
bool is_chakra_json(std::string_view file, std::string_view head);
Imported read_chakra_json(ByteSource& source, const ImportOptions& options);

/// For importers: converts a layer's time. Throws InputError unless it is between 0 and an hour.
Time measured_us(double microseconds, const SourceLocation& place);

/// For importers: converts a tensor's number of parameters. Throws InputError unless it is an integer from 0 to 1e12.
std::int64_t parameter_count(double count, const SourceLocation& place);

}  // namespace allreplay
