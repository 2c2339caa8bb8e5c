// Readers of measured jobs: a CSV, the trace of OSDI'25's straggler analyser, PyTorch traces of several ranks.
#pragma once

#include <span>
#include <string>

#include "sim/formats/interchange/importers/byte_source.hpp"
#include "sim/formats/interchange/timelines/measured_job.hpp"

namespace allreplay {

class Files;

/// Checks the text fields of ops, and adds the ops to a job. Shared by the readers of CSV and analyser traces.
class OpReader {
 public:
  OpReader(MeasuredJob& job, const StepChoice& steps) : job_(job), steps_(steps) {}

  /// The fields of an op as text. `rank`, `chunk` and the later ones may be empty: unknown, and 0.
  struct Words {
    std::string_view step, replica, stage, kind, seq, start_us, duration_us, rank, chunk, group, stream, part;
  };

  /// Adds the op if its step is chosen. Throws InputError at its entry.
  void add(const Words& words, std::uint32_t entry);

  /// Throws InputError at `file` if no op was added.
  void require_ops(const std::string& file) const;

 private:
  MeasuredJob& job_;
  const StepChoice& steps_;
  std::optional<std::int64_t> origin_us_, least_left_out_, most_left_out_;  // steps
};

/// The error for a file with steps from `first` to `last`, none of which is chosen.
InputError no_such_steps_error(const std::string& file, std::int64_t first, std::int64_t last);

bool is_op_table(std::string_view head);
void read_op_table(ByteSource& source, OpReader& reader, MeasuredJob& job);

/// True if it can be a JSON of trace events, by any program.
bool is_chrome_trace(std::string_view head);
bool is_op_trace(std::string_view head);
void read_op_trace(ByteSource& source, OpReader& reader, MeasuredJob& job);

/// Reads PyTorch traces, one per rank. Throws InputError, also for a single file.
MeasuredJob read_kineto_job(const Files& files, std::span<const std::string> names, const StepChoice& steps);

/// Reads all files of one job, in any of these formats. Throws InputError.
MeasuredJob read_measured_job(const Files& files, std::span<const std::string> names, const StepChoice& steps);

}  // namespace allreplay
