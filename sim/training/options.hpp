// Every option that a run takes, under the one name that files and the command line use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/core/error.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/schedule/strategy.hpp"

namespace allreplay {

struct Options {
  StrategyOptions strategy;
  CollectiveOptions collective;
  CodecOptions codec;
  Sharing sharing = Sharing::Serial;
  std::map<std::string, Place> places;  ///< of the options that were set
  std::int64_t iterations = 100;        ///< replayed when there is jitter; without it the period is exact

  /// Sets one option from its text. Throws InputError at `place` for an unknown name or a bad value.
  void set(std::string_view name, const std::string& value, const Place& place);

  /// Where the option was set; nowhere in particular when it was not.
  Place place_of(const std::string& name) const;

  /// The option's value as a user would write it.
  std::string get(std::string_view name) const;
};

struct OptionHelp {
  std::string name;
  std::string help;  ///< what it is and its default
};
std::vector<OptionHelp> option_help();

}  // namespace allreplay
