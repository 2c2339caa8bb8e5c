#include "sim/base/core/error.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("a place is a file and a JSON pointer") {
  const SourceLocation place = SourceLocation{"a.json", ""} / "network" / "x/y~z";
  CHECK(place.path == "/network/x~1y~0z");
  CHECK(std::string(InputError(place, "is wrong", "be right").what()) ==
        "a.json: /network/x~1y~0z: is wrong (be right)");
  CHECK(std::string(InputError({"a\nb", ""}, "is\nwrong", "").what()) == "a b: is wrong");
}

TEST_CASE("a near name is suggested, a far one gets the list") {
  const std::vector<std::string> names{"wfbp", "mg-wfbp", "ddp"};
  CHECK(suggest("mgwfbp", names) == "did you mean 'mg-wfbp'?");
  CHECK(suggest("something", names) == "known: wfbp, mg-wfbp, ddp");
  const std::vector<std::string> models{"alexnet_p102", "llama3-8b_h100", "llama3-8b_a100_b1"};
  CHECK(suggest("llama3", models) == "similar: llama3-8b_h100, llama3-8b_a100_b1");
  CHECK(suggest("h100", models) == "did you mean 'llama3-8b_h100'?");
  CHECK(suggest("llama4-8b", models) == "similar: llama3-8b_h100, llama3-8b_a100_b1");  // by what stands before "_"
  // Two of three letters are another word; two that are swapped are one slip.
  CHECK(suggest("man", std::vector<std::string>{"run", "plan", "jobs"}) == "known: run, plan, jobs");
  CHECK(suggest("hlep", std::vector<std::string>{"help", "tune"}) == "did you mean 'help'?");
  CHECK(suggest("test", std::vector<std::string>{"list", "tune"}) == "known: list, tune");
  CHECK(suggest("scheduel", std::vector<std::string>{"schedule", "sched"}) == "did you mean 'schedule'?");
  const std::vector<std::string> many(50, "a-rather-long-name");
  CHECK(suggest("something", many).size() < 180);
  CHECK(suggest("something", many).ends_with("a-rather-long-name, …"));
}
