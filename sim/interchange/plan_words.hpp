// What a plan file writes in words, both ways: layers and tensors by name, windows, how blocks travel.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/core/json_value.hpp"
#include "sim/schedule/plan.hpp"
#include "sim/training/options.hpp"

namespace allreplay {

/// Layers or tensors, by name where only one has it, else by number.
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

  /// Throws InputError where there is none, or several have the name.
  std::uint32_t read(const Json& json) const;

 private:
  std::string_view noun_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::uint32_t>> by_name_;
};

/// The start of a program, as the end of a gate; and the whole model, as what an update updates.
constexpr std::string_view start_word = "start", everything_word = "everything";

/// Whether a work's item is a layer; else it is a block, or of a mark a chunk.
bool is_of_layer(Activity kind);

Order read_order(const Json& json);
Barrier read_barrier(const Json& json);
JsonValue write_dtype(Dtype dtype);
Dtype read_dtype(const Json& json);

/// `of_pipeline`: whose ranks send, too.
CollectiveOp read_op(const Json& json, bool of_pipeline);

JsonValue write_window(const Window& window);
Window read_window(const Json& json);

/// 1 ps to a day.
Time read_tick(const Json& json);

/// The rules of a plan whose blocks all travel alike: its short form.
void write_queueing(JsonValue& plan, const QueueingPolicy& travel);
QueueingPolicy read_queueing(const Json& plan);

/// Their keys.
inline constexpr std::string_view keys_of_queueing[] = {"order", "window", "barrier", "stages", "release", "tick"};

}  // namespace allreplay
