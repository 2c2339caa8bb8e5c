// Judges a measured speed: the expected one with the error of its kind, and possible causes of the gap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/calibration/known_errors.hpp"
#include "sim/studies/calibration/measurement_log.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"

namespace allreplay {

/// The measured quantity. Speeds are those of one worker.
enum class MeasuredKind : std::uint8_t { Iteration, Tokens, Samples, Mfu };

struct MeasuredNumber {
  MeasuredKind kind = MeasuredKind::Iteration;
  double value = 0;  ///< seconds, tokens/s, samples/s, or a share
  SourceLocation place;
};

enum class SpeedVerdict : std::uint8_t { AsExpected, Slow, Fast };
inline constexpr Word<SpeedVerdict> speed_verdicts[] = {
    {SpeedVerdict::AsExpected, "as expected"}, {SpeedVerdict::Slow, "slow"}, {SpeedVerdict::Fast, "suspiciously fast"}};

/// The verdict on a measured time over an expected one.
SpeedVerdict verdict_on(double ratio, double widest);

/// The part of a job that a cause is about; it decides what to measure next.
enum class CauseKind : std::uint8_t { Network, Worker, Host, Computing, Overlap, Setting, Number };
inline constexpr Word<CauseKind> cause_kinds[] = {{CauseKind::Network, "network"}, {CauseKind::Worker, "worker"},
                                                  {CauseKind::Host, "host"},       {CauseKind::Computing, "computing"},
                                                  {CauseKind::Overlap, "overlap"}, {CauseKind::Setting, "setting"},
                                                  {CauseKind::Number, "number"}};

/// The factor that brings a measured time near to the expected one if its unit is wrong: `step` or its inverse. None if
/// the ratio of the two times is not about that.
std::optional<double> unit_slip(double ratio, double step = 1000);

/// One cause in isolation, with the time that it gives.
struct Cause {
  std::string name;  ///< "half of the bandwidth between nodes"
  CauseKind kind = CauseKind::Network;
  double time_s = 0;
  double miss = 0;  ///< |log| of the measured time over this one; the mean if there are several times
  std::vector<std::string> own_flags = {};  ///< added for this cause; empty: no option gives that time
  std::vector<std::string> flags = {};      ///< all flags of `allreplay run` for that time; empty: no option gives it
  bool is_fitted = false;  ///< its size was chosen so that it comes as near to the measurement as it can
  double departure = 0;    ///< of a fitted size: |log| of its factor
};

/// Sorts causes by how well each explains the measurement without the others. A fitted size explains nearly any gap, so
/// it counts as if it also missed by the median error; of fitted sizes, the smaller departure comes first.
void sort_causes(std::vector<Cause>& causes, double median_quotient);

struct Judgement {
  MeasuredNumber measured;
  double measured_s = 0;  ///< of an iteration
  Outcome expected;
  std::vector<std::string> flags;  ///< arguments of `allreplay run` for the expected outcome
  NearestError error;
  SpeedVerdict verdict = SpeedVerdict::AsExpected;
  std::vector<Cause> causes;                ///< best first; empty if the gap is within the median error
  std::vector<std::string> without_effect;  ///< causes that change nothing here
  std::vector<std::string> left_out;        ///< causes that cannot be simulated here, and why
  /// The fewest GPUs to measure with less communication: one, or whole nodes, whose memory the job fits; 0: none.
  std::int64_t fewer_workers = 0;
};

/// Throws InputError for any error in the request, and if its profile lacks the measured quantity.
Judgement judge(Library& library, const Request& request, const MeasuredNumber& measured, int jobs);

/// The measured quantity of an iteration of `seconds`.
double in_unit(const Outcome& expected, MeasuredKind kind, double seconds);

// Judges a log of a collective (nccl-tests, OSU, CSV) by size: the expected times, and causes of the gap.

/// A size that was chosen for all rows of a log must fit them better by this than a cause of one size.
inline constexpr double fitted_miss_in_log = 0.05;

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
  std::size_t sizes = 0, slow = 0, fast = 0;
  double ratio = 1;  ///< the median, in which slow and fast sizes may cancel out
  double worst = 1;  ///< the ratio of the size farthest from what is expected
  Bytes worst_bytes = 0;
  ErrorQuantiles error;
  SpeedVerdict verdict = SpeedVerdict::AsExpected;  ///< as expected if most sizes are
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

/// The verdict on all ranges: slow if one is, else suspiciously fast if one is.
SpeedVerdict verdict_on(const std::vector<JudgedRange>& ranges);

/// `request` names the cluster and its changes; its workers are the log's. Throws InputError.
LogJudgement judge(Library& library, Request request, MeasurementLog log);

}  // namespace allreplay
