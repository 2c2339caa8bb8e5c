// Judges a log of a collective (nccl-tests, OSU, CSV) by size: the expected times, and causes of the gap.
#pragma once

#include <string>
#include <vector>

#include "sim/studies/calibration/judgement.hpp"
#include "sim/studies/calibration/measurement_log.hpp"

namespace allreplay {

struct JudgedSize {
  Bytes bytes = 0;
  double time_s = 0, expected_s = 0;
  double busbw_GBps = 0, expected_busbw_GBps = 0;
  double ratio = 1;  ///< measured time over expected one
  SpeedVerdict verdict = SpeedVerdict::AsExpected;
};

/// The sizes of a column of collective_errors().
struct JudgedRange {
  Bytes from = 0;
  std::optional<Bytes> to;  ///< none: without limit
  std::size_t sizes = 0;
  double ratio = 1;  ///< the median
  ErrorQuantiles error;
  SpeedVerdict verdict = SpeedVerdict::AsExpected;
};

struct LogJudgement {
  MeasurementLog log;
  Scenario scenario;
  const CollectiveErrors* errors = nullptr;
  bool is_nccl = true;              ///< else the errors are those of another library
  std::vector<JudgedSize> sizes;    ///< in the order of the log
  std::vector<JudgedRange> ranges;  ///< those with sizes, increasing
  std::vector<Cause> causes;        ///< best first; their time is that of the largest size
  std::vector<std::string> without_effect, left_out;
};

/// `request` names the cluster and its changes; its workers are the log's. Throws InputError.
LogJudgement judge(Library& library, Request request, MeasurementLog log);

}  // namespace allreplay
