// Settings of frameworks that are environment variables, as in `HOROVOD_CYCLE_TIME=1 horovodrun …`.
#include <fmt/format.h>

#include "sim/base/core/units.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

struct Variable {
  std::string_view name, strategy, flag;
  enum class Unit : std::uint8_t { Bytes, Milliseconds, Parameters } unit = Unit::Bytes;
};

constexpr Variable variables[] = {
    {"HOROVOD_FUSION_THRESHOLD", "horovod", "--threshold"},
    {"HOROVOD_CYCLE_TIME", "horovod", "--cycle", Variable::Unit::Milliseconds},
    {"BYTEPS_PARTITION_BYTES", "byteps", "--partition"},
    {"BYTESCHEDULER_PARTITION", "bytescheduler", "--partition", Variable::Unit::Parameters},
    {"BYTESCHEDULER_CREDIT", "bytescheduler", "--credit", Variable::Unit::Parameters},
    {"MXNET_KVSTORE_SLICE_THRESHOLD", "p3", "--partition", Variable::Unit::Parameters},
};

}  // namespace

void read_environment(ConfigReader& read) {
  std::string_view strategy;
  for (const Variable& one : variables) {
    const Entry* entry = read.entries.find(one.name);
    if (!entry) continue;
    if (!strategy.empty() && strategy != one.strategy)
      throw InputError(entry->place, fmt::format("sets {}, but another variable {}", one.strategy, strategy),
                       "the variables of one framework");
    if (strategy.empty()) read.set("--strategy", std::string(one.strategy), entry->place);
    strategy = one.strategy;
    if (one.unit == Variable::Unit::Milliseconds) {
      const double value = parse_number(entry->value, entry->place);
      read.set(one.flag, fmt::format("{} ms", value), entry->place);
      continue;
    }
    const std::int64_t value = *read.entries.count(one.name);
    if (one.unit == Variable::Unit::Bytes)
      read.set(one.flag, fmt::format("{} B", value), entry->place);
    else
      read.later(entry->place, [one, value](const ConfigFacts& facts, LaterSettings& settings) {
        if (facts.gradient_bytes > 0) settings.set(one.flag, fmt::format("{} B", value * facts.gradient_bytes));
      });
  }
}

bool has_environment(const Entries& entries) {
  for (const Variable& one : variables)
    if (entries.has(one.name)) return true;
  return false;
}

}  // namespace allreplay
