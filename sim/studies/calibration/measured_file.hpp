// Reads measurements of real clusters from a CSV: each row is a measured point, with the setting that predicts it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/named.hpp"
#include "sim/studies/experiment/request.hpp"

namespace allreplay {

/// The measured quantity, which has the name of its column.
enum class Quantity : std::uint8_t { IterationTime, Throughput, Speedup, CollectiveTime };
inline constexpr Word<Quantity> quantities[] = {{Quantity::IterationTime, "iteration_s"},
                                                {Quantity::Throughput, "samples_per_s"},
                                                {Quantity::Speedup, "speedup"},
                                                {Quantity::CollectiveTime, "time_s"}};
inline bool is_time(Quantity quantity) {
  return quantity == Quantity::IterationTime || quantity == Quantity::CollectiveTime;
}

/// The constants that can be fitted to measured rows.
enum class Constant : std::uint8_t {
  Launch,
  Alpha,
  Beta,
  Update,
  Server,  ///< β of the links of parameter servers
  LaunchTensor,
  Interference,  ///< its `compute`
  Spread,        ///< its sigma
  HostBlock,     ///< the host's floor of a block's forward pass
  HostStep,      ///< the host's part of a step
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
    {Constant::HostBlock, "host.block"},
    {Constant::HostStep, "host.step"},
};
inline constexpr std::size_t most_constants = 4;

/// A word after `by` that is not a column: the number of nodes of a row, by which alpha and beta between nodes may be
/// fitted. Rows of other numbers of nodes then use interpolated values (settle_by_nodes()).
inline constexpr std::string_view by_nodes = "nodes";

/// The option that sets the constant, and the column in which a row gives its own value.
inline std::string option_of(Constant constant) {
  if (constant == Constant::HostBlock) return "host_block";
  if (constant == Constant::HostStep) return "host_step";
  return std::string(name_of(constant_words, constant));
}

/// A constant to be fitted to a row. It holds for all rows with the same cells in the columns `by`.
struct FitRequest {
  Constant constant = Constant::Launch;
  std::vector<std::string> by;
};

struct MeasuredPoint {
  Request request;
  Bytes bytes = 0;   ///< if only a collective was measured
  double value = 0;  ///< as measured
  std::string group;
  std::map<std::string, std::string> cells;  ///< by column, always with those of `group` and, in fits, of `by_nodes`
  std::vector<FitRequest> fits;              ///< if any: the row is not scored
  SourceLocation place;

  bool scored() const { return fits.empty(); }
};

struct MeasuredFile {
  Inputs inputs;  ///< resolve the names in the file
  std::string file;
  Quantity quantity = Quantity::IterationTime;
  std::vector<std::string> columns;
  std::vector<MeasuredPoint> points;
};

/// Paths of profiles, clusters and codecs are relative to the file or to the working directory. Throws InputError.
MeasuredFile read_measured_file(const Inputs& inputs, const std::string& file);
MeasuredFile parse_measured_file(const Inputs& inputs, const std::string& text, const std::string& file);

}  // namespace allreplay
