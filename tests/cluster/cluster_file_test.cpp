// What a cluster's file leaves out.
#include "tests/catch.hpp"

#include "sim/cluster/cluster.hpp"

using namespace allreplay;

TEST_CASE("NCCL runs on NVLink beside processors of Intel, where nothing is said") {
  const auto nccl = [](const std::string& words) {
    return *read_cluster(
                Json::parse(R"({"name": "c", "workers": 16, "network": {"alpha": "5 us", "bandwidth": "50 GB/s",
"node": {"workers": 8, "alpha": "1 us", "bandwidth": "300 GB/s"}, "nccl": {)" +
                                words + "}}}",
                            "c.json"))
                .network.nccl;
  };
  const NcclSetup plain = nccl(R"("gpu": "a100")");
  CHECK(plain.gpu == NcclSetup::Gpu::Ampere);
  CHECK(!plain.pcie);
  CHECK(!plain.amd);
  const NcclSetup other = nccl(R"("gpu": "v100", "link": "pcie", "cpu": "amd")");
  CHECK(other.gpu == NcclSetup::Gpu::Volta);
  CHECK(other.pcie);
  CHECK(other.amd);
}
