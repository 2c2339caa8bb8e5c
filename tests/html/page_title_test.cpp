#include "sim/html/page_title.hpp"

#include "tests/catch.hpp"
#include "tests/report/results.hpp"

using namespace allreplay;

TEST_CASE("a title says models, workers, schedules and network") {
  const SweepResult result = result_of(row_on("k", "a", 4, 5) + row_on("k", "b", 64, 4));
  const NamesInWords names{{{"p", "ResNet-50"}}, {{"k", "10 Gbit/s Ethernet"}}};
  CHECK(title_in_words(result, names) == "ResNet-50 on 4 to 64 workers: two schedules on 10 Gbit/s Ethernet");
  CHECK(title_in_words(result, {}) == "P on 4 to 64 workers: two schedules on k");
  CHECK(title_in_words(result_of(row_on("k", "a", 1, 5)), names) == "ResNet-50 on 1 worker: a on 10 Gbit/s Ethernet");
}

TEST_CASE("many models and clusters are counted, and profiles of one model are one") {
  const SweepResult two = result_of(row_on("k", "a", 8, 5, "ring", "p") + row_on("l", "a", 8, 5, "ring", "q"));
  CHECK(title_in_words(two, {}) == "P and q on 8 workers: a on two clusters");
  CHECK(title_in_words(two, {{{"p", "VGG-16"}, {"q", "VGG-16"}}, {{"k", "1 Gbit/s"}, {"l", "1 Gbit/s"}}}) ==
        "VGG-16 on 8 workers: a on two clusters of 1 Gbit/s");
  std::string rows;
  for (const std::string profile : {"p", "q", "r", "s"}) rows += row_on("k", "a", 8, 5, "ring", profile);
  CHECK(title_in_words(result_of(rows), {}) == "Four models on 8 workers: a on k");
}

TEST_CASE("the first network that is named with its rate") {
  CHECK(network_named_in("10 Gbit/s Ethernet") == "10 Gbit/s Ethernet");
  CHECK(network_named_in("nodes on 56.5 Gbit/s InfiniBand, storage on 10 Gbit/s Ethernet") == "56.5 Gbit/s InfiniBand");
  CHECK(network_named_in("slow Gbit/s Ethernet aside, 100 Gbit/s Ethernet") == "100 Gbit/s Ethernet");
  CHECK(network_named_in("one 10 Gbit/s switch") == "");
}

TEST_CASE("names in words are what the shipped files say, and no others are opened") {
  const SweepResult result = result_of(row_on("k80-10gbe", "a", 8, 5, "ring", "googlenet_k80_b32") +
                                       row_on("star-64-10gbe", "a", 8, 5, "ring", "llama3-8b_h100_b1_bf16") +
                                       row_on("/etc/passwd", "a", 8, 5, "ring", "../mine"));
  const NamesInWords names = names_in_words(Files(), result, std::nullopt);
  CHECK(names.models == std::map<std::string, std::string>{{"googlenet_k80_b32", "GoogLeNet"},
                                                           {"llama3-8b_h100_b1_bf16", "LLaMA-3 8B"}});
  // star-64-10gbe says "one 10 Gbit/s switch", which names no network.
  CHECK(names.networks == std::map<std::string, std::string>{{"k80-10gbe", "10 Gbit/s Ethernet"}});
}
