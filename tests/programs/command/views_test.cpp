// Every value that a view shows is in the document of its command: each view is shown with inputs that have all of
// them.
#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/own_folder.hpp"

#include "sim/base/core/text.hpp"
#include "sim/output/report/result_rows.hpp"
#include "sim/output/report/verdict.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

using namespace allreplay;

namespace {

// Command lines that between them fill every hole of every view.
const char* const command_lines[] = {
    "run --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy ddp --tokens 15T --price "
    "2.5/h",
    "run --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategy fsdp2 --option pp=4 --option "
    "accumulate=8",
    "run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 4 --strategy wfbp --codec dgc --stragglers "
    "0:1.5",
    "run --profile resnet50_k80_b16 --cluster leaf-spine-64 --strategy wfbp --links",
    "run --profile resnet50_k80_b16 --cluster fat-tree-16 --workers 64 --strategy wfbp --fidelity fluid --links",
    "run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 4 --strategy wfbp --option host_step=8ms",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2 --budget 1",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy ddp --budget 1",
    "whatif --profile resnet50_k80_b16 --cluster v100-56gbib --budget 1",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --strategy fsdp2 --target tokens_per_s>1K "
    "--vary rails",
    "whatif --profile resnet50_k80_b16 --cluster fat-tree-4 --strategy wfbp --fidelity fluid --target samples_per_s>1 "
    "--vary oversubscription=1:2 --cost prices.json",
    "whatif --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --target exposed<1% --vary workers=4,400",
    "whatif --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --target exposed<50% --vary bandwidth",
    "whatif --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --target efficiency>50% --vary workers=4,8",
    "whatif --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 1 --strategy fsdp2 --target "
    "exposed<5% "
    "--vary bandwidth",
    "run --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 8 --strategy fsdp2",
    "run --profile llama3-70b_h100_b1_bf16_tp8 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-400gbps --workers 256 --strategies fsdp2,zero-3 "
    "--shard-group 0,8,32",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 8,16 --strategies ddp,wfbp,best,zero-3 --samples "
    "90M --price 0.45/h",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategies fsdp2,ddp,zero-3,megatron --pp "
    "1,2 "
    "--accumulate 2",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --strategies wfbp,s-sgd --micro-batches 1,2 --codec dgc",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp,fsdp2,byteps,mg-wfbp --budget 2 "
    "--samples 90M --price 0.45/h",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies ddp,wfbp --stragglers 0:1.5 --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies wfbp,mg-wfbp --codec dgc --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp,wfbp --workers 8,16 --budget 1 "
    "--samples 90M --price 0.45/h",
    "recommend --model llama3-8b --device h100 --cluster h100x8-8x400gbps --workers 64 --global-batch 512 --budget 20 "
    "--tokens 15T --price 2.5/h",
    "recommend --config " ALLREPLAY_SOURCE_DIR
    "/docs/examples/configs/llama3_8b.toml --device h100 --cluster h100x8-8x400gbps --budget 2",
    "recommend --config " ALLREPLAY_SOURCE_DIR
    "/docs/examples/configs/llama3_8b.toml --device h100 --cluster h100x8-8x400gbps --memory 40GB --budget 2",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies fsdp2,best --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster gtopk-1gbe --strategies fsdp2 --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp --spread 20% --budget 1",
    "recommend --profile resnet50_k80_b16 --cluster k80-10gbe --strategies ddp --option host_step=5s --budget 1",
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
    "compare --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategies fsdp2,megatron",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategies fsdp1,fsdp2",
    "recommend --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategies fsdp2,megatron --budget 1",
    "recommend --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategies best,fsdp2,megatron --zero 3 "
    "--budget 1",
    "recommend --model qwen3-30b-a3b --device h100 --cluster h100x8-8x400gbps --workers 16 --global-batch 64 --budget "
    "3",
    "run --profile qwen3-235b-a22b_h100_b1_bf16_cp4_ep8 --cluster h100x8-8x400gbps --workers 256 --strategy megatron "
    "--option pp=8 --option accumulate=8 --option schedule=interleaved",
    "compare --profile resnet50_a100_b256_bf16 --cluster h100x8-8x400gbps --workers 16 --strategies ddp,fsdp2,best",
    "compare --profile one.csv --cluster two.json --strategies wfbp --codec none,fp16 --encode 1.5ms --decode 1.5ms",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps,gh200x4-4x200gbps --workers 16 --strategies "
    "fsdp2",
    "compare --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 8 --strategies ddp,wfbp",
    "run --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 8 --strategy ddp",
    "sweep small.json",
    "sweep two_references.json --table",
    "sweep seeded.json",
    "recommend --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategies fsdp2,megatron "
    "--memory 85GB --budget 1",
    "run --profile resnet50_k80_b16 --cluster k80-10gbe --workers 2 --strategy wfbp --jitter 5% --seeds 1:2",
    "compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 2 --strategies wfbp,s-sgd --jitter 5% --seeds "
    "1:2",
    "collective --cluster k80-10gbe --bytes 1MiB --seeds 1:2",
    "collective --cluster k80-10gbe --collective ring,binary-tree --bytes 1MiB --seeds 1:2",
    "sweep mgwfbp_fig11 --table",
    "sweep gtopk_fig10 --table",
    "tune --profile resnet50_k80_b16 --cluster k80-10gbe --strategy ddp --budget 3",
    "topology --cluster fat-tree-4",
    "collective --cluster fat-tree-4 --collective ring --fidelity message --operation all-gather --bytes 1MiB",
    "collective --cluster h100x8-8x400gbps --bytes 1MiB",
    "collective --cluster h100x8-8x400gbps --bytes 1MiB --protocol ll,simple --operation all-gather",
    "collective --cluster fat-tree-4,fat-tree-16 --workers 8,16 --collective ring,binary-tree --fidelity "
    "alpha-beta,fluid --bytes 1MiB",
    "plan --profile resnet50_k80_b16 --cluster k80-10gbe --strategy mg-wfbp --codec dgc",
    "plan --profile lenet5_2xk40c_b128 --cluster k80-10gbe --strategy bytescheduler --option credit=4MB",
    "plan --profile lenet5_2xk40c_b128 --cluster k80-10gbe --strategy horovod",
    "plan --profile llama3-8b_h100_b1_bf16 --cluster dgx-8x8-100gbps --strategy fsdp2 --option pp=4 --option "
    "accumulate=8",
    "codec --codec gtopk --elements 1000 --workers 2 --iterations 2 --repetitions 1",
    "codec --codec dgc --elements 1000 --iterations 2 --repetitions 1",
    "goodput --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --mtbf 2000s --checkpoint 1s --restart 1s "
    "--spares 0 --repair 2000s --horizon 100000s --elastic --samples 90M --price 0.45/h",
    "estimate --model llama3-8b --device h100 --batch 1 --tp 2 --host eager",
    "estimate --model mixtral-8x7b --device h100 --batch 1 --ep 2",
    "estimate --model llama3-8b --device h100 --batch 1 --lora 8",
    "import mine.csv --batch 8 --device H100 --framework PyTorch --source mine --out out.json",
    "export --to chakra --profile resnet50_k80_b16 --cluster k80-10gbe --strategy wfbp --out out.json",
    "jobs placed.json",
    "jobs placed.json --place",
    "jobs staggered.json --stagger 8",
    "jobs events.json",
    "estimate --model llama3-8b --device h100 --batch 1 --cluster h100x8-8x400gbps --workers 8 --strategy fsdp2",
    "judge --iteration 4 --model llama3-8b --device h100 --batch 1 --cluster h100x8-8x400gbps --rails 4 --workers 64 "
    "--strategy fsdp2",
    "judge --tokens-per-second 100 --profile llama3-8b_h100_b1_bf16 --cluster nvl72 --workers 64 --strategy ddp",
    "judge --samples-per-second 4900 --profile resnet50_v100_b32 --cluster v100x4-pcie-100gbib --strategy wfbp "
    "--fidelity alpha-beta",
    "judge --tokens-per-second 500000 --profile llama3-8b_h100_b1_bf16 --cluster nvl72 --workers 64 --strategy ddp",
    "judge --samples-per-second 19 --profile resnet50_v100_b32 --cluster v100x4-pcie-100gbib --strategy wfbp",
    "judge --mfu 0.9 --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2",
    "judge nccl.log --cluster k80-10gbe --workers 8",
    "judge --iteration 1350 --profile llama3-8b_h100_b1_bf16 --cluster h100x8-8x400gbps --workers 64 --strategy fsdp2",
    "judge slow.log --cluster k80-10gbe --workers 8",
};

// Files that the command lines name.
const std::pair<const char*, const char*> files[] = {
    {"mine.csv", "layer,params,forward_us,backward_us\na,1000000,9000,9000\nb,100000,3000,20000\n"},
    {"one.csv", "layer,params,forward_us,backward_us\na,1000000,1000,2000\n"},
    {"two.json", R"({"name": "two", "workers": 2, "network": {"alpha": "0 s", "beta": "1 ns/B"}})"},
    {"out.json", ""},
    {"prices.json",
     R"({"gpu_usd": 1000, "switch_usd": 2, "fabrics": ["fat-tree-4", "star-64-10gbe", "bcube-2-2-10gbe"]})"},
    {"nccl.log",
     "# all_reduce_perf\n# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
     "1024 256 float sum -1 90 0 0 0 90 0 0 0\n1048576 262144 float sum -1 9000 0.12 0.2 0 9000 0.12 0.2 0\n"},
    {"slow.log",
     "# all_reduce_perf\n# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
     "1024 256 float sum -1 300000 0 0 0 300000 0 0 0\n1048576 262144 float sum -1 2000000 0 0 0 2000000 0 0 0\n"},
    {"small.json", R"({"name": "small", "profiles": ["llama3-8b_h100_b1_bf16"],
"clusters": ["h100x8-8x400gbps"], "workers": [64],
"strategies": [{"name": "fsdp2", "pp": [1, 4], "accumulate": 8}, {"name": "ddp", "bucket_cap": ["25 MB", "50 MB"]}]})"},
    {"two_references.json", R"({"name": "two", "profiles": ["llama3-8b_h100_b1_bf16", "resnet50_a100_b256_bf16"],
"clusters": ["h100x8-8x400gbps"], "workers": [16], "strategies": ["ddp", "fsdp2"]})"},
    {"seeded.json", R"({"name": "seeded", "profiles": ["resnet50_k80_b16"], "clusters": ["k80-10gbe"], "workers": [2],
"jitter": ["5%"], "seeds": "1:2", "strategies": ["wfbp", "ddp"]})"},
    {"placed.json", R"({"iterations": 5, "cluster": {"name": "fat-tree", "workers": 16, "network": {
"alpha": "10 us", "gamma": "0 s/B", "fidelity": "fluid", "collective": "ring",
"topology": {"kind": "fat-tree", "ports": 4, "oversubscription": 2, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}},
"jobs": [{"name": "a", "profile": "vgg16_v100_b128", "strategy": "ddp", "workers": 8, "placements": ["random:1", "packed"]},
{"name": "b", "profile": "vgg16_v100_b128", "strategy": "ddp", "workers": 8, "placements": ["random:1", "packed"]}]})"},
    {"staggered.json", R"({"iterations": 5, "cluster": {"name": "leaves", "workers": 8, "network": {
"alpha": "1 us", "gamma": "0 s/B", "fidelity": "fluid", "collective": "ring",
"topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1, "oversubscription": 4,
"link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}},
"jobs": [{"name": "a", "profile": "mine.csv", "workers": 4, "strategy": "wfbp", "placement": "spread"},
{"name": "b", "profile": "mine.csv", "workers": 4, "strategy": "wfbp", "placement": "spread"}]})"},
    {"events.json", R"({"cluster": "leaf-spine-64", "fidelity": "fluid", "jobs": [
{"name": "a", "profile": "resnet50_k80_b16", "workers": 8, "iterations": 5, "reliability": {"mtbf": "2 h",
"checkpoint": "60 s", "restart": "5 min", "repair": "8 h", "spares": 2, "elastic": true, "horizon": "9 d"}}],
"events": [{"at": "0 s", "for": "1 h", "job": "a", "worker": 1, "slowdown": 2},
{"at": "2 h", "job": "a", "worker": 1, "slowdown": 2}]})"}};

bool contains(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

TEST_CASE("every key of every view is in a document") {
  const OwnFolder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  std::map<const View*, std::vector<JsonValue>> samples;
  for (const std::string line : command_lines) {
    INFO(line);
    Context context{{}, Console(true)};
    for (const auto& [name, text] : files) context.inputs.files.add(name, text);
    std::vector<std::string> words;
    for (const std::string_view word : split(line, " ")) words.emplace_back(word);
    if (words[0] == "import") words[1] = folder("mine.csv");  // importers read from the disk
    REQUIRE_NOTHROW(run_words(words, context));
    for (auto& [view, document] : context.console.shown) samples[view].push_back(document);
    for (const std::string sign : {"~", "*", "!"}) {
      const std::string& text = context.console.printed;
      const auto count = std::count(text.begin(), text.end(), sign[0]);
      CHECK((text.find("\n" + sign + ": ") == std::string::npos || count > 1));  // a sign that is explained is shown
    }
  }
  std::set<std::string> shared;  // keys of the parts that several views share, with a value in some document
  for (const auto& [view, documents] : samples)
    for (const std::string& key : keys_of(*view))
      if (!contains(unresolved(*view, documents), key)) shared.insert(key);
  const auto is_shared = [&](const std::string& key) {
    return shared.contains(key) && (key.starts_with("names/") || keys_of(verdict_view()).contains(key) ||
                                    keys_of(reference_view()).contains(key));
  };
  for (const auto& [view, documents] : samples) {
    std::vector<std::string> missing = unresolved(*view, documents);
    std::erase_if(missing, is_shared);
    INFO(rendered(*view, documents.front()));
    CHECK(missing == std::vector<std::string>());
  }
}
