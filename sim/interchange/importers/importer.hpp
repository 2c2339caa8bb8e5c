// What others measured, made a profile: one importer per file format, found by name or by the look of the file.
// What each reads, attributes and subtracts: docs/importing.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/interchange/importers/byte_source.hpp"
#include "sim/workload/model.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

/// What users may say about a file. What they leave out comes from the file, where it has it.
struct ImportOptions {
  std::optional<std::int64_t> batch_size;
  std::string model, device, framework, precision;
  std::string source;                   ///< where the times are from, in words; "": the file's name and its format
  std::optional<double> forward_ratio;  ///< every layer's forward time becomes this times its backward time
  std::optional<Model> match;           ///< whose layers the file's are, in order: gives them names and tensors
};

/// A collective that a file measured, on one rank: with what that waited for the others.
struct MeasuredCollective {
  std::string name;          ///< all-reduce, all-gather, reduce-scatter, broadcast
  std::int64_t workers = 0;  ///< 0: the file does not say
  Bytes bytes = 0;           ///< of a gradient; of an all-gather, each worker's payload
  Time time{0};

  bool operator==(const MeasuredCollective&) const = default;
};

struct Imported {
  /// Layers in forward order with their times, tensors with their elements; device, framework, model, precision, batch
  /// size, update as far as the file tells. The rest (bytes, origin, source, unique names) import_profile() sets.
  Profile profile;
  std::vector<std::string> notes;  ///< what was skipped, subtracted or attributed, with numbers: a sentence each

  // Of one rank of a job.
  std::vector<MeasuredCollective> collectives;  ///< of the iterations that the times are means of, as they ran
  std::vector<std::vector<Time>> iterations;    ///< each layer's forward and then each one's backward time
  std::optional<std::int64_t> rank, workers;
};

struct Importer {
  std::string_view name;
  std::string_view summary;
  /// Whether a file of this name that starts with `head` is of this format. Must not take another format's.
  bool (*recognises)(std::string_view file, std::string_view head);
  /// Throws InputError.
  Imported (*read)(ByteSource& source, const ImportOptions& options);
};

std::span<const Importer> importers();

/// Throws InputError at `place`, naming the nearest known one.
const Importer& find_importer(std::string_view name, const SourceLocation& place);

/// The first importer that recognises the source. Throws InputError.
const Importer& recognise(const ByteSource& source);

/// Reads the source and makes of it a profile that is complete: origin `imported`, a source (file and format),
/// names that are text and unique, something to communicate, times that are not all zero, a batch size.
/// Throws InputError.
Imported import_profile(const Importer& importer, ByteSource& source, const ImportOptions& options);

/// CSV for `allreplay calibrate`. Throws InputError at `file` where there is nothing to write.
std::string collectives_csv(const Imported& imported, const SourceLocation& file);

/// For importers: a layer's time. Throws InputError unless it is between 0 and an hour: anything else is no
/// measurement, or not in this unit.
Time measured_us(double microseconds, const SourceLocation& place);

/// For importers: parameters in a tensor. Throws InputError unless it is a whole number between 0 and 1e12.
std::int64_t parameter_count(double count, const SourceLocation& place);

}  // namespace allreplay
