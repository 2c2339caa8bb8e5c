// Files of jobs, op by op: a CSV, the trace of the straggler analyser of OSDI'25, PyTorch's traces of several ranks.
#pragma once

#include <span>
#include <string>

#include "sim/interchange/importers/byte_source.hpp"
#include "sim/interchange/timelines/measured_job.hpp"

namespace allreplay {

class Files;

/// Times and numbers of ops as text, into a job: what all readers check alike.
class OpReader {
 public:
  OpReader(MeasuredJob& job, const StepChoice& steps) : job_(job), steps_(steps) {}

  /// The next op as the file has it. Empty: rank not said, chunk 0.
  struct Words {
    std::string_view step, replica, stage, kind, seq, chunk, rank, start_us, duration_us;
  };

  /// Adds it, if its step is chosen. Throws InputError at its entry.
  void add(const Words& words, std::uint32_t entry);

  /// Throws InputError at `file` where nothing was added.
  void require_ops(const std::string& file) const;

 private:
  MeasuredJob& job_;
  const StepChoice& steps_;
  std::optional<std::int64_t> origin_us_, least_left_out_, most_left_out_;  // steps
};

/// Of a file with steps from `first` to `last`, none of them chosen.
InputError none_of_these_steps(const std::string& file, std::int64_t first, std::int64_t last);

bool is_op_table(std::string_view head);
void read_op_table(ByteSource& source, OpReader& reader, MeasuredJob& job);

/// A JSON of trace events, whoever wrote it.
bool is_chrome_trace(std::string_view head);
bool is_op_trace(std::string_view head);
void read_op_trace(ByteSource& source, OpReader& reader, MeasuredJob& job);

/// Throws InputError, also for a single file.
MeasuredJob read_kineto_job(const Files& files, std::span<const std::string> names, const StepChoice& steps);

/// All files of one job. Throws InputError.
MeasuredJob read_measured_job(const Files& files, std::span<const std::string> names, const StepChoice& steps);

}  // namespace allreplay
