// The causes that `judge` simulates: changes of a request that make training slower or faster than expected.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/studies/calibration/judgement.hpp"
#include "sim/studies/experiment/side_by_side.hpp"

namespace allreplay {

/// An option ("host_step", "8 ms") if `is_option`, else one of change_rows().
struct CauseWord {
  std::string name, value;
  bool is_option = false;
};

/// A cause of one size.
struct FixedCause {
  std::string name;
  CauseKind kind = CauseKind::Network;
  std::vector<CauseWord> words;
};

/// A cause of any size from `none`, which changes nothing, to `most`.
struct FittedCause {
  CauseKind kind = CauseKind::Network;
  double none = 1, most = 1;
  double usual = 1;  ///< a size that would not be a surprise
  std::function<std::string(const std::string& size)> name;
  std::function<std::string(double size)> text;  ///< the size as the option takes it
  CauseWord word;                                ///< its value has "{}" for the size
};

struct Causes {
  std::vector<FixedCause> fixed;
  std::vector<FittedCause> fitted;
};

/// The causes that could make the expected outcome slower, or faster, in order of plausibility.
Causes causes_of_slowness(const Outcome& expected, double measured_s);
Causes causes_of_speed(const Outcome& expected, const Request& request);

/// Only the causes between nodes and inside them, which need no profile. `latencies`: also those in the start-up of
/// messages.
Causes causes_in_network(const Scenario& scenario, bool slower, bool latencies = false);

/// Applies the words to a request, and returns them as arguments of the command line.
void apply_words(Request& request, const std::vector<CauseWord>& words);
std::vector<std::string> flags_of(const std::vector<CauseWord>& words);

}  // namespace allreplay
