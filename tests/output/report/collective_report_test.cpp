#include "sim/output/report/collective_report.hpp"

#include "tests/catch.hpp"

#include "sim/base/core/json.hpp"

using namespace allreplay;

TEST_CASE("a collective's JSON has the bandwidths, and NCCL's choice if there is one") {
  CollectiveRow row{.bytes = 1'000'000, .time_s = 1.5e-3, .algbw_GBps = 0.5, .busbw_GBps = 0.75};
  const auto json_of = [&] { return Json::parse(collective_rows({row}).dump(), "json").items().front(); };
  CHECK(json_of().at("busbw_GBps").number() == 0.75);
  CHECK(!json_of().find("protocol"));
  row.choice = NcclChoice{.algorithm = "ring", .protocol = "LL"};
  CHECK(json_of().at("protocol").text() == "LL");
}
