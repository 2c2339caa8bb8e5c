#include "sim/programs/command/operation_argument.hpp"

#include "sim/programs/command/command.hpp"

namespace allreplay {

namespace {

std::string letters_of(std::string name) {
  if (name.ends_with("_perf")) name.resize(name.size() - 5);
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  return name;
}

}  // namespace

CollectiveOp parse_operation(const std::string& name) {
  const auto rows = operations_with(&OperationRow::usual);
  for (const OperationRow& row : rows)
    if (letters_of(std::string(row.name)) == letters_of(name)) return row.value;
  fail_with_all(name, names_of(rows), argument("--operation"), "unknown operation '{}'");
}

}  // namespace allreplay
