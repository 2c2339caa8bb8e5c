// Defaults for what a cluster's file leaves out.
#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/inputs/cluster/cluster.hpp"

using namespace allreplay;

TEST_CASE("NCCL's defaults are NVLink and Intel processors") {
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

TEST_CASE("NCCL's model asks for links of both levels that take time per byte") {
  const auto complaint = [](const std::string& inside, const std::string& between) {
    return error_place([&] {
      read_cluster(Json::parse(R"({"name": "c", "workers": 16, "network": {"alpha": "5 us", "beta": ")" + between +
                                   R"(", "node": {"workers": 8, "alpha": "1 us", "beta": ")" + inside +
                                   R"("}, "nccl": {"gpu": "a100"}}})",
                               "c.json"));
    });
  };
  CHECK(complaint("1 ns/B", "1 ns/B").empty());
  for (const auto& [inside, between] : {std::pair("0 ns/B", "1 ns/B"), {"1 ns/B", "0 ns/B"}})
    CHECK(complaint(inside, between) == "c.json: /network/nccl");
}
