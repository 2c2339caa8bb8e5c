#include "sim/network/fabric.hpp"

#include <stdexcept>

namespace allreplay {

std::unique_ptr<Server> Fabric::server_apart(const Parties& /*parties*/) const {
  throw std::logic_error("only messages know who has started");
}

std::unique_ptr<Server> AlphaBetaFabric::server() const {
  if (sharing_ == Sharing::Fair) return std::make_unique<FairChannel>(costs_);
  return std::make_unique<SerialChannel>(costs_, rates_);
}

}  // namespace allreplay
