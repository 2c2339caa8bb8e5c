// What real clusters did, out of a CSV: a row for each measured point, and how to predict it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.hpp"
#include "sim/experiment/request.hpp"

namespace allreplay {

/// What was measured; the columns have the same names.
enum class Quantity : std::uint8_t { IterationTime, Throughput, Speedup, CollectiveTime };
inline constexpr Word<Quantity> quantities[] = {{Quantity::IterationTime, "iteration_s"},
                                                {Quantity::Throughput, "samples_per_s"},
                                                {Quantity::Speedup, "speedup"},
                                                {Quantity::CollectiveTime, "time_s"}};
inline bool is_time(Quantity quantity) {
  return quantity == Quantity::IterationTime || quantity == Quantity::CollectiveTime;
}

/// What measured rows may fit.
enum class Constant : std::uint8_t {
  Launch,
  Alpha,
  Beta,
  Update,
  Server,  ///< β of the links of parameter servers
  LaunchTensor,
  Interference,  ///< its `compute`
  Spread,        ///< its sigma
};
inline constexpr Word<Constant> constant_words[] = {
    {Constant::Launch, "launch"},
    {Constant::Alpha, "alpha"},
    {Constant::Beta, "beta"},
    {Constant::Update, "update"},
    {Constant::Server, "server"},
    {Constant::LaunchTensor, "launch_tensor"},
    {Constant::Interference, "interference"},
    {Constant::Spread, "spread"},
};
inline constexpr std::size_t most_constants = 4;

/// A constant that a row fits, and for which rows it then holds: those with the same cells in these columns.
struct FitRequest {
  Constant constant = Constant::Launch;
  std::vector<std::string> by;
};

struct MeasuredPoint {
  Request request;
  Bytes bytes = 0;   ///< of a collective alone
  double value = 0;  ///< as measured
  std::string group;
  std::map<std::string, std::string> cells;  ///< by column; and always that of `group`
  std::vector<FitRequest> fits;              ///< such a row is not scored
  SourceLocation place;

  bool scored() const { return fits.empty(); }
};

struct MeasuredFile {
  Inputs inputs;  ///< what the names in it mean
  std::string file;
  Quantity quantity = Quantity::IterationTime;
  std::vector<std::string> columns;
  std::vector<MeasuredPoint> points;
};

/// Profiles, clusters and codecs stand relative to the file, or to the working directory. Throws InputError.
MeasuredFile read_measured_file(const Inputs& inputs, const std::string& file);
MeasuredFile parse_measured_file(const Inputs& inputs, const std::string& text, const std::string& file);

}  // namespace allreplay
