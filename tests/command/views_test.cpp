// Every value that a view shows is in the document of its command: each view is shown with inputs that have all of
// them.
#include <map>

#include "tests/catch.hpp"

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
    "run --profile resnet50_k80_b16 --cluster fat-tree-16 --workers 64 --strategy wfbp --fidelity fluid --links",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2 --budget 1",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy ddp --budget 1",
    "whatif --profile resnet50_k80_b16 --cluster k80-56gbib --budget 1",
    "topology --cluster fat-tree-4",
    "collective --cluster fat-tree-4 --collective ring --fidelity message --operation all-gather --bytes 1MiB",
    "collective --cluster dgx-8x8-100gbps --collective nccl --fidelity alpha-beta --bytes 1MiB",
    "plan --profile resnet50_k80_b16 --cluster k80-10gbe --strategy mg-wfbp --codec dgc",
    "codec --codec gtopk --elements 1000 --workers 2 --iterations 2 --repetitions 1",
    "codec --codec dgc --elements 1000 --iterations 2 --repetitions 1",
    "goodput --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --mtbf 2000s --checkpoint 1s --restart 1s "
    "--spares 0 --repair 2000s --horizon 100000s --elastic",
    "estimate --model llama3-8b --device h100 --batch 1 --tp 2",
    "estimate --model llama3-8b --device h100 --batch 1 --cluster h100x8-8x400gbps --workers 8 --strategy fsdp2",
};

}  // namespace

TEST_CASE("every key of every view is in a document") {
  std::map<const View*, std::vector<JsonValue>> samples;
  for (const std::string line : command_lines) {
    INFO(line);
    Context context{{}, Console(true)};
    std::vector<std::string> words;
    for (const std::string_view word : split(line, " ")) words.emplace_back(word);
    REQUIRE_NOTHROW(run_words(words, context));
    for (auto& [view, document] : context.console.shown) samples[view].push_back(document);
  }
  for (const auto& [view, documents] : samples) {
    INFO(rendered(*view, documents.front()));
    CHECK(unresolved(*view, documents) == std::vector<std::string>());
  }
}
