// CSV files of sweeps, written by hand.
#pragma once

#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "sim/base/core/file.hpp"
#include "sim/studies/results/sweep_result.hpp"

namespace allreplay {

inline const std::string result_header =
    "profile,cluster,strategy,workers,collective,fidelity,origin,iteration_s,forward_s,backward_s,exposed_comm_s,"
    "comm_busy_s,codec_s,collectives,speedup,efficiency,samples_per_s,lower_bound_s,options,events,wall_s\n";

/// Returns a row with forward 1 s, backward 2 s, bound 3 s and `iteration` seconds.
inline std::string result_row(const std::string& profile, const std::string& strategy, int workers, double iteration,
                              const std::string& options = "", const std::string& origin = "measured",
                              const std::string& cluster = "c", const std::string& collective = "ring") {
  const double efficiency = 3 / iteration;
  return profile + "," + cluster + "," + strategy + "," + std::to_string(workers) + "," + collective + ",alpha-beta," +
         origin + "," + std::to_string(iteration) + ",1,2," + std::to_string(iteration - 3) + ",1,0,4," +
         std::to_string(workers * efficiency) + "," + std::to_string(efficiency) + ",,3," + options + ",10,0.5\n";
}

/// result_row() on a cluster.
inline std::string row_on(const std::string& cluster, const std::string& strategy, int workers, double iteration,
                          const std::string& collective = "ring", const std::string& profile = "p") {
  return result_row(profile, strategy, workers, iteration, "", "measured", cluster, collective);
}

inline const std::string limit_80_gb = "memory=80 GB";

/// Parses rows with the memory of a worker, in GB.
inline SweepResult sized_result(const std::vector<std::pair<std::string, int>>& rows) {
  const auto ended = [](std::string line, const std::string& cell) { return line.insert(line.size() - 1, "," + cell); };
  std::string text = ended(result_header, "memory_bytes");
  for (const auto& [row, gigabytes] : rows) text += ended(row, std::to_string(gigabytes) + "000000000");
  return sweep_result_of(parse_results(text, "r.csv"));
}

/// A separate folder for this process, removed at its end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("allreplay_html_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Writes the text to a file of this name in that folder. Returns its path.
inline std::string result_file(const std::string& name, const std::string& text) {
  static const Folder folder;
  Files().write(folder.file(name), text);
  return folder.file(name);
}

inline SweepResult result_of(const std::string& rows) {
  return sweep_result_of(read_results(Files(), result_file("result.csv", result_header + rows)));
}

}  // namespace allreplay
