#include "sim/replay/network/fabric.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace allreplay {

std::optional<CallId> Fabric::find(const Call& call) const {
  const Group group = call.group.of(workers_);
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const Call& one) {
    return one.op == call.op && one.group == group && (!call.algorithm || one.algorithm == call.algorithm);
  });
  if (found == calls_.end()) return std::nullopt;
  return static_cast<CallId>(found - calls_.begin());
}

CallId Fabric::id_of(const Call& call) const {
  if (const auto id = find(call)) return *id;
  throw std::logic_error(fmt::format("the fabric was not made for a {}", to_string(call.op)));
}

std::unique_ptr<Server> Fabric::server_per_rank(const Parties& /*parties*/) const {
  throw std::logic_error("only messages know who has started");
}

std::unique_ptr<Server> AlphaBetaFabric::server() const {
  if (sharing_ == Sharing::Fair) return std::make_unique<FairChannel>(costs_);
  return std::make_unique<SerialChannel>(costs_, rates_);
}

}  // namespace allreplay
