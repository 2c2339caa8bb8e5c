// The number of layouts that are simulated, and the reasons given for the others.
#include "sim/studies/experiment/layouts.hpp"

#include "tests/catch.hpp"
#include "tests/own_folder.hpp"

using namespace allreplay;

namespace {

LayoutAdvice advice_of(const OwnFolder& folder, std::size_t budget) {
  const Files files;
  LayoutSearch search;
  search.model =
      read_transformer(Json::read(files, files.find_data("models/transformers", "bert-base", "transformer")));
  search.model.name = search.model_name = "bert-base";
  search.tokens = 128;
  search.device = read_device(files, "a100-80gb");
  search.device_name = "a100-80gb";
  search.precision = "bf16";
  search.base.cluster = folder("c.json");
  search.workers = 4;
  search.global_batch = 8;
  search.tp = search.cp = 1;
  search.strategies = {"megatron"};
  search.budget = search.in_parts = budget;
  search.jobs = 1;
  Library library;
  return search_layouts(library, search);
}

}  // namespace

TEST_CASE("no more layouts are simulated than the budget allows, and the others are counted") {
  const OwnFolder folder;
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "5 us", "beta": "0.01 ns/B"}})");
  const LayoutAdvice all = advice_of(folder, 1000);
  CHECK(all.left_over == 0);
  CHECK(all.ranking.size() + all.too_slow == all.possible);
  REQUIRE(all.ranking.size() > 3);
  const LayoutAdvice few = advice_of(folder, 2);
  CHECK(few.possible == all.possible);
  CHECK(few.ranking.size() == 2);
  CHECK(few.ranking.size() + few.too_slow + few.left_over == few.possible);
  CHECK(few.left_over > 0);
  CHECK(all.ranking.front().outcome.result.metrics.iteration_s <=
        few.ranking.front().outcome.result.metrics.iteration_s * 1.02);  // the tie
}
