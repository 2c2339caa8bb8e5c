#include "sim/network/fabric.hpp"

namespace allreplay {

std::unique_ptr<Server> AlphaBetaFabric::server() const {
  if (sharing_ == Sharing::Fair) return std::make_unique<FairChannel>(costs_);
  return std::make_unique<SerialChannel>(costs_, rates_);
}

}  // namespace allreplay
