#include "sim/experiment/combinations.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

namespace {

RequestSetting named(std::string Request::*word, const std::string& name) {
  return [=](Request& request) { request.*word = name; };
}

}  // namespace

TEST_CASE("combinations: the last list goes fastest, and what no list sets is the base's") {
  Request base;
  base.profile = "p";
  base.collective = "ring";
  const std::vector<std::vector<RequestSetting>> lists{
      {named(&Request::cluster, "a"), named(&Request::cluster, "b")},
      {[](Request&) {}},
      {named(&Request::strategy, "x"), named(&Request::strategy, "y"), named(&Request::strategy, "z")}};
  const auto all = combinations(base, lists, 6);
  REQUIRE(all);
  std::string said;
  for (const Request& one : *all) {
    said += one.cluster + one.strategy + " ";
    CHECK(one.profile + one.collective == "pring");
  }
  CHECK(said == "ax ay az bx by bz ");
  CHECK_FALSE(combinations(base, lists, 5));  // 2 · 1 · 3 are 6
  CHECK(combinations(base, {}, 1)->size() == 1);
  CHECK(combinations(base, {{}}, 1)->empty());
}
