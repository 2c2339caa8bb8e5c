// Converts parts of a plan to and from the JSON of plan files: names of layers and tensors, windows, queueing rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/json.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/plans/schedule/plan.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay {

/// Names layers or tensors: by name if it is unique, else by index.
class PlanNames {
 public:
  template <class Named>
  PlanNames(const std::vector<Named>& all, std::string_view noun) : noun_(noun) {
    for (const Named& one : all) {
      by_name_[one.name].push_back(static_cast<std::uint32_t>(names_.size()));
      names_.push_back(one.name);
    }
  }

  JsonValue write(std::uint32_t index) const;

  /// Throws InputError if the name is unknown or ambiguous.
  std::uint32_t read(const Json& json) const;

 private:
  std::string_view noun_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::uint32_t>> by_name_;
};

/// The start of a program, as an end of a gate; the whole model, as the item of an update.
constexpr std::string_view start_word = "start", everything_word = "everything", outer_word = "optim";

/// True if a work's item is a layer; the item of a mark is a chunk, that of other works a block.
bool is_of_layer(Activity kind);

Order read_order(const Json& json);
Barrier read_barrier(const Json& json);
JsonValue write_dtype(Dtype dtype);
Dtype read_dtype(const Json& json);

/// `of_pipeline`: the plan is a pipeline's, which also has sends.
CollectiveOp read_op(const Json& json, bool of_pipeline);

/// The kind of a transfer's data, if the operation does not imply it.
std::string_view name_of_payload(Payload::Kind kind);
std::optional<Payload::Kind> read_payload(const Json& transfer);
JsonValue write_wire(const WireType& wire);
WireType read_wire(const Json& json);

/// Reads the activity that a lane computes in place of a transfer.
Activity read_computation(const Json& json);

JsonValue write_window(const Window& window);
Window read_window(const Json& json);

/// Reads a tick between 1 ps and a day.
Time read_tick(const Json& json);

/// The queueing rules that apply to all blocks: the short form of a plan.
void write_queueing(JsonValue& plan, const QueueingPolicy& travel);
QueueingPolicy read_queueing(const Json& plan);

/// The keys of the short form.
inline constexpr std::string_view keys_of_queueing[] = {"order", "window", "barrier", "stages", "release", "tick"};

}  // namespace allreplay
