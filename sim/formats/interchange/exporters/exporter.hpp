// Exports a profile and its plan for other simulators. docs/formats.md says what each format can hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/inputs/workload/profile.hpp"
#include "sim/plans/schedule/plan.hpp"

namespace allreplay {

struct ExportRequest {
  const Profile& profile;
  const Plan* plan = nullptr;  ///< nullptr: only the profile is exported
  std::int64_t workers = 1;    ///< number of workers that run the plan
  std::string collective;      ///< for which the plan was made; "": none
  std::int64_t worker = 0;     ///< the worker whose file is written, if workers' files differ
};

struct Exported {
  std::string text;
  std::vector<std::string> notes;  ///< what the format cannot express; one sentence each
  /// The contents of a separate file with the members of each group; workers' files then name their own groups. "": all
  /// workers are in one group, and their files are equal.
  std::string groups;
};

struct Exporter {
  std::string_view name;
  std::string_view summary;
  std::string_view extension;
  bool plans;  ///< the format can hold a plan
  Exported (*write)(const ExportRequest& request);
  std::string_view mark;  ///< in each of its files
};

std::span<const Exporter> exporters();

/// Throws InputError at `place`, naming the most similar format.
const Exporter& find_exporter(std::string_view name, const SourceLocation& place);

/// Writes layer,params,tensors,forward_us,backward_us,update_us,group: a row per layer, the update in the first one.
Exported export_csv(const ExportRequest& request);

/// Writes one iteration, from the start of a backward pass to the next, as an MLCommons Chakra execution trace, in
/// protobuf or JSON. Without a plan every tensor is a separate block, as in wfbp.
Exported export_chakra(const ExportRequest& request);
Exported export_chakra_json(const ExportRequest& request);

}  // namespace allreplay
