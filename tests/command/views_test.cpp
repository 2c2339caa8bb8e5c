// Every value that a view shows is in the document of its command: each view is shown with inputs that have all of
// them.
#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.hpp"

#include "sim/command/console.hpp"
#include "sim/command/program.hpp"
#include "sim/core/text.hpp"
#include "sim/report/verdict.hpp"

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
    "whatif --profile resnet50_k80_b16 --cluster v100-56gbib --budget 1",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 8,16 --strategies ddp,wfbp,best,zero-3",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategies fsdp2,ddp,zero-3,megatron --pp "
    "1,2 "
    "--accumulate 2",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --strategies wfbp,s-sgd --micro-batches 1,2 --codec dgc",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp,fsdp2,byteps,mg-wfbp --budget 2",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies ddp,wfbp --stragglers 0:1.5 --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies wfbp,mg-wfbp --codec dgc --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp,wfbp --workers 8,16 --budget 1",
    "recommend --model llama3-8b --device h100 --cluster h100x8-8x400gbps --workers 64 --global-batch 512 --budget 20",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies fsdp2,best --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies fsdp2 --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp --spread 20% --budget 1",
    "recommend --model llama3-8b --device h100 --cluster h100x8-8x400gbps --workers 16 --global-batch 16 --strategies "
    "megatron --recompute none --budget 4",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe,fat-tree-16 --workers 16 --collective "
    "ring,halving-doubling "
    "--fidelity alpha-beta,fluid --codec none,dgc --strategies wfbp,s-sgd",
    "collective --cluster fat-tree-16 --workers 16 --collective parameter-server --fidelity fluid --bytes 1MB --links",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --budget 1",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --strategies best,zero-3,wfbp --zero 3",
    "compare --profile mine.csv --cluster k80-10gbe --strategies wfbp,s-sgd --micro-batches 1,2",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies ddp,horovod,best --budget 1",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --strategies wfbp,zero-3",
    "sweep small.json",
    "sweep mgwfbp_fig11 --table",
    "sweep gtopk_fig10 --table",
    "tune --profile resnet50_k80_b16 --cluster k80-10gbe --strategy ddp --budget 3",
};

bool contains(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

TEST_CASE("every key of every view is in a document") {
  std::map<const View*, std::vector<JsonValue>> samples;
  for (const std::string line : command_lines) {
    INFO(line);
    Context context{{}, Console(true)};
    context.inputs.files.add("mine.csv", "layer,params,forward_us,backward_us\na,1000000,10,20\n");
    context.inputs.files.add("small.json", R"({"name": "small", "profiles": ["llama3-8b_h100_b1_bf16"],
"clusters": ["h100x8-8x400gbps"], "workers": [64],
"strategies": [{"name": "fsdp2", "pp": [1, 4], "accumulate": 8}, {"name": "ddp", "bucket_cap": ["25 MB", "50 MB"]}]})");
    std::vector<std::string> words;
    for (const std::string_view word : split(line, " ")) words.emplace_back(word);
    REQUIRE_NOTHROW(run_words(words, context));
    for (auto& [view, document] : context.console.shown) samples[view].push_back(document);
  }
  std::set<std::string> shared;  // keys of the parts that several views share, with a value in some document
  for (const auto& [view, documents] : samples)
    for (const std::string& key : unresolved(*view, {}))
      if (!contains(unresolved(*view, documents), key)) shared.insert(key);
  const auto is_shared = [&](const std::string& key) {
    return shared.contains(key) && (key.starts_with("names/") || contains(unresolved(verdict_view(), {}), key));
  };
  for (const auto& [view, documents] : samples) {
    std::vector<std::string> missing = unresolved(*view, documents);
    std::erase_if(missing, is_shared);
    INFO(rendered(*view, documents.front()));
    CHECK(missing == std::vector<std::string>());
  }
}
