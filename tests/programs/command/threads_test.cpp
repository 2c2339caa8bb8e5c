// Commands as functions, called by several threads concurrently, as the Python module does: they share only objects
// made for that, and each has its own inputs, outputs and messages. Under -fsanitize=thread this also finds unguarded
// reads.
#include <thread>

#include <fmt/format.h>

#include "tests/catch.hpp"

#include "sim/plans/schedule/planners.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

using namespace allreplay;

namespace {

// The state that the threads of a process share.
struct Common {
  std::shared_ptr<AddedStrategies> strategies = std::make_shared<AddedStrategies>();
  std::shared_ptr<KeptInputs> kept = std::make_shared<KeptInputs>();
};

// The same names everywhere, and behind each another file: `number` µs of backward pass.
struct Heard {
  std::string printed, picture;
  std::vector<std::string> told;
  bool operator==(const Heard&) const = default;
};

Heard run_one(const Common& common, int number) {
  Context context{{Files(), common.strategies, common.kept}, Console(true)};
  Files& files = context.inputs.files;
  files.add("mine.csv", fmt::format("layer,params,forward_us,backward_us\na,1000000,10,{}\n", number));
  files.add("bars.svg", "");
  common.strategies->add("own", schedule_wfbp);
  run_words({"compare", "--profile=mine.csv", "--cluster=k80-10gbe", "--strategies=own", "--plot=bars.svg", "--csv"},
            context);
  context.console.warn(fmt::format("of {}", number));
  context.console.warn(fmt::format("of {}", number));
  const std::string& csv = context.console.printed;
  const std::string untimed = csv.substr(0, csv.rfind("parameters="));  // wall_s comes later
  return {untimed, files.text("bars.svg"), context.console.stderr_lines};
}

}  // namespace

TEST_CASE("commands called by several threads concurrently do not share files, arguments or results") {
  constexpr int threads = 6, calls = 4;
  std::vector<Heard> expected;
  for (int number = 1; number <= threads; ++number) expected.push_back(run_one(Common(), number));
  CHECK(expected[0].printed != expected[1].printed);
  CHECK(expected[0].picture.starts_with("<svg"));
  CHECK(expected[0].told == std::vector<std::string>{"warning: of 1"});
  const Common common;
  std::vector<std::vector<Heard>> found(threads);
  std::vector<std::thread> all;
  for (int number = 1; number <= threads; ++number)
    all.emplace_back([&, number] {
      for (int call = 0; call < calls; ++call)
        found[static_cast<std::size_t>(number - 1)].push_back(run_one(common, number));
    });
  for (std::thread& one : all) one.join();
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == std::vector<Heard>(calls, expected[i]));
}
