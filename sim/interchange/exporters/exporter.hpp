// A profile and its plan for other simulators. What each format carries: docs/formats.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/workload/profile.hpp"

namespace allreplay {

struct ExportRequest {
  const Profile& profile;
  const Plan* plan = nullptr;  ///< nullptr: the profile alone
  std::int64_t workers = 1;    ///< that share an all-gather of a plan in two stages
  std::string collective;      ///< which the plan was made for; "": none
  std::int64_t worker = 0;     ///< whose file it is, where workers' files differ
};

struct Exported {
  std::string text;                ///< the file
  std::vector<std::string> notes;  ///< what the format could not carry, with numbers: a sentence each
  /// Who is in which group, as a file of its own, and each worker's file says which are its groups; "": all workers
  /// are in one, and their files are equal.
  std::string groups;
};

struct Exporter {
  std::string_view name;
  std::string_view summary;
  std::string_view extension;
  bool plans;  ///< it can carry a plan
  Exported (*write)(const ExportRequest& request);
};

std::span<const Exporter> exporters();

/// Throws InputError at `place`, naming the nearest known one.
const Exporter& find_exporter(std::string_view name, const SourceLocation& place);

/// layer,params,tensors,forward_us,backward_us,update_us,group: a row per layer, the update in the first one.
Exported export_csv(const ExportRequest& request);

/// One iteration, from the start of the backward pass to the next (as the engine replays it), as an execution trace of
/// MLCommons Chakra: protobuf, or JSON. Without a plan, every tensor is a block of its own, as in wfbp.
Exported export_chakra(const ExportRequest& request);
Exported export_chakra_json(const ExportRequest& request);

}  // namespace allreplay
