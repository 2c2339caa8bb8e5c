// Every value that a view shows is in the document of its command: each view is shown with inputs that have all of
// them.
#include <map>

#include "tests/catch.hpp"
#include "tests/command/view_inputs.hpp"

#include "sim/command/console.hpp"
#include "sim/command/program.hpp"
#include "sim/core/text.hpp"

using namespace allreplay;

namespace {

// Command lines that between them fill every hole of every view.
const char* const command_lines[] = {
    "run --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategy fsdp2 --option pp=4 --option "
    "accumulate=8",
    "run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 4 --strategy wfbp --codec dgc --stragglers "
    "0:1.5",
    "run --profile resnet50_k80_b16 --cluster leaf-spine-64 --strategy wfbp --links",
    "run --profile resnet50_k80_b16 --cluster fat-tree-16 --strategy wfbp --collective halving-doubling "
    "--fidelity fluid --links",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2 --budget 1",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy ddp --budget 1",
    "whatif --profile resnet50_k80_b16 --cluster v100-56gbib --budget 1",
    "diagnose worker.csv",
    "diagnose stage.csv",
    "diagnose replica.csv",
    "diagnose kind.csv",
    "calibrate line.log.csv --workers 8 --collective double-binary-tree --option tree_bandwidth=physical",
    "calibrate steps.log.csv --workers 8",
    "calibrate line.log.csv --workers 8 two.log.csv --workers 16",
    "calibrate line.log.csv --workers 8 two.log.csv --workers 16 --table",
    "calibrate nccl8.csv --workers 8 nccl16.csv --workers 16 --collective nccl --cluster gh200x4-4x200gbps",
    "validate beta.csv --where-it-matters 5%",
    "validate both.csv",
    "validate launch.csv",
    "validate collectives.csv",
};

// Files in the folder end in ".csv".
void run(const std::string& line, const OwnFolder& folder, Context& context) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, " "))
    words.push_back(word.ends_with(".csv") ? folder(std::string(word)) : std::string(word));
  REQUIRE_NOTHROW(run_words(words, context));
}

// Times of NCCL's model on a cluster that has all its factors between nodes.
std::string nccl_log(int workers, const OwnFolder& folder) {
  Context context{{}, Console(true)};
  run(fmt::format("collective --cluster gh200x4-4x200gbps --workers {} --bytes 1KiB:1GiB:x4 --json", workers), folder,
      context);
  std::string text = "bytes,time_s\n";
  const JsonValue rows = JsonValue::parse(context.console.printed);
  for (const JsonValue& row : rows.items())
    text += fmt::format("{},{}\n", row.at("bytes").number(), row.at("time_s").number());
  return text;
}

}  // namespace

TEST_CASE("every key of every view is in a document") {
  const OwnFolder folder;
  view_inputs::write_to(folder);
  for (const int workers : {8, 16}) folder.write(fmt::format("nccl{}.csv", workers), nccl_log(workers, folder));
  std::map<const View*, std::vector<JsonValue>> samples;
  for (const std::string line : command_lines) {
    INFO(line);
    Context context{{}, Console(true)};
    run(line, folder, context);
    for (auto& [view, document] : context.console.shown) samples[view].push_back(document);
  }
  for (const auto& [view, documents] : samples) {
    INFO(rendered(*view, documents.front()));
    CHECK(unresolved(*view, documents) == std::vector<std::string>());
  }
}
