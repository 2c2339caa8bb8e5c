// The readers of users' own configurations: which flags of ours a file means.
#include <algorithm>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/formats/configs/config_file.hpp"

using namespace allreplay;

namespace {

// The flags of a file with this text, "--tp 8 --sequence-parallel"; with those that follow from the facts.
std::string flags_of(const std::string& name, const std::string& text, const ConfigFacts& facts = {}) {
  Files files;
  files.add(name, text);
  const ConfigFile config = read_config(files, name);
  std::string flags;
  const auto add = [&](const ConfigSetting& one) {
    flags += fmt::format("{}{}{}{}", flags.empty() ? "" : " ", one.flag, one.value.empty() ? "" : " ", one.value);
  };
  for (const ConfigSetting& one : config.settings) add(one);
  for (const auto& later : config.later)
    for (const ConfigSetting& one : later(facts)) add(one);
  return flags;
}

ConfigFile read_text(const std::string& name, const std::string& text) {
  Files files;
  files.add(name, text);
  return read_config(files, name);
}

std::string place_of_error(const std::string& name, const std::string& text, const ConfigFacts& facts = {}) {
  return error_place([&] { flags_of(name, text, facts); });
}

// A model of 32 blocks of 10 layers, behind an embedding and before a head of 2: as Llama 3 8B is estimated.
ConfigFacts facts_of_32_blocks() {
  ConfigFacts facts{.precision = "bf16", .gradient_bytes = 2, .hidden = 4096, .layers = 323};
  for (std::int64_t block = 0; block < 32; ++block) facts.blocks.push_back(1 + 10 * block);
  return facts;
}

}  // namespace

TEST_CASE("torchtitan's TOML") {
  CHECK(flags_of("a.toml", R"([model]
name = "llama3"
flavor = "70B"
[training]
local_batch_size = 2
seq_len = 8192
[parallelism]
data_parallel_shard_degree = 8
tensor_parallel_degree = 4
[activation_checkpoint]
mode = "full"
)") == "--model llama3-70b --seq 8192 --batch 2 --tp 4 --sequence-parallel --strategy fsdp2 --workers 32 "
       "--precision bf16 --gradient-dtype fp32 --recompute full");
  // Without sharding, replicas run DDP, which computes under autocast: everything is sent in fp32.
  CHECK(flags_of("a.toml", R"([parallelism]
data_parallel_replicate_degree = 8
data_parallel_shard_degree = 1
[activation_checkpoint]
mode = "none"
)") == "--strategy ddp --workers 8 --bucket-cap 100MiB --precision bf16 --parameter-dtype fp32 --gradient-dtype fp32");
  // Hybrid: groups of shard x cp workers.
  CHECK(flags_of("a.toml", R"([parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 4
context_parallel_degree = 2
fsdp_reshard_after_forward = "always"
[activation_checkpoint]
mode = "none"
)") == "--cp 2 --strategy fsdp2 --workers 16 --shard-group 8 --precision bf16 --gradient-dtype fp32 --reshard all");
}

// 32 blocks, with 1 fewer in the first and the last stage: 34 of 4 stages are 9, 9, 8, 8, less one at each end: 8, 9,
// 8, 7. In layers of 10, the first with the embedding (1), the last with the head (2).
TEST_CASE("torchtitan's stages") {
  const std::string stages = R"([parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "1F1B"
[training]
local_batch_size = 8
[activation_checkpoint]
mode = "none"
)";
  CHECK(flags_of("a.toml", stages, facts_of_32_blocks()).ends_with("--schedule 1f1b --stages 81/90/80/72"));
  CHECK(flags_of("a.toml", stages, facts_of_32_blocks()).find("--batch 1 --micro-batches 8 --pp 4") !=
        std::string::npos);
  // 4 per stage: 34 / 4 rounded up are 9 stages, which 4 ranks cannot share.
  CHECK(place_of_error("a.toml", R"([parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 4
[training]
local_batch_size = 8
)",
                       facts_of_32_blocks()) == "a.toml: line 4: parallelism.pipeline_parallel_layers_per_stage");
}

// Without the model's blocks, only their number per rank can be said: two stages each.
TEST_CASE("torchtitan's stages of an unknown model") {
  CHECK(flags_of("a.toml", R"([parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
[training]
local_batch_size = 8
)")
            .ends_with("--schedule interleaved --recompute selective --chunks 2"));
}

TEST_CASE("DeepSpeed's JSON") {
  CHECK(flags_of("ds.json", R"({"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
"bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "overlap_comm": true,
"allgather_bucket_size": 200000000}})") ==
        "--strategy zero-2 --allgather-bucket 200000000 --reduce-bucket 500000000 --overlap-comm true "
        "--precision bf16 --batch 4 --micro-batches 2");
  // 256 / (4 x 2) = 32 workers.
  CHECK(flags_of("ds.json", R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
"gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1}})") ==
        "--strategy zero-1 --batch 4 --micro-batches 2 --workers 32");
  // Hugging Face's "auto": hidden^2, 0.9 hidden^2, 10 hidden; 4096^2 = 16777216.
  CHECK(flags_of("ds.json", R"({"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
"stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"}})",
                 facts_of_32_blocks()) ==
        "--strategy zero-3 --reduce-bucket 16777216 --prefetch-bucket 15099494 --persistence 40960");
  // 512 samples on 32 / 1 replicas in 4 steps: 4 each.
  ConfigFacts facts;
  facts.given["--workers"] = "32";
  CHECK(flags_of("ds.json", R"({"train_batch_size": 512, "gradient_accumulation_steps": 4,
"zero_optimization": {"stage": 1}})",
                 facts) == "--strategy zero-1 --micro-batches 4 --batch 4");
  const ConfigFile offloads = read_text(
      "ds.json",
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}}})");
  CHECK(offloads.not_simulated == std::vector<std::string>{"offload_optimizer.device cpu"});
}

TEST_CASE("Megatron-LM's arguments") {
  const std::string script = R"(#!/bin/bash
TP=2  # of a node
ARGS="--tensor-model-parallel-size $TP \
  --sequence-parallel --bf16"
torchrun --nproc_per_node=8 --nnodes 2 pretrain_gpt.py $ARGS --micro-batch-size ${MBS:-4} \
  --global-batch-size 256 --use-distributed-optimizer --overlap-grad-reduce --save "$OUT"
)";
  CHECK(flags_of("run.sh", script, {.precision = "bf16"}) ==
        "--batch 4 --global-batch 256 --tp 2 --sequence-parallel --precision bf16 --strategy megatron "
        "--distributed-optimizer true --overlap-grad-reduce true --overlap-param-gather false --workers 16 "
        "--gradient-dtype fp32");
  const ConfigFile unset =
      read_text("run.sh", "python pretrain_gpt.py --micro-batch-size $MBS --tensor-model-parallel-size $TP\n");
  CHECK(unset.unset == std::vector<std::string>{"micro_batch_size $MBS", "tensor_model_parallel_size $TP"});
  CHECK(read_text("run.sh", "x --micro-batch-size 1 --moe-enable-deepep\n").not_simulated ==
        std::vector<std::string>{"moe_enable_deepep"});
  CHECK(flags_of("run.log", R"(0: ---------------- arguments ----------------
0:   bf16 ................................ True
0:   global_batch_size ................... 64
0:   micro_batch_size .................... 4
0:   num_virtual_stages_per_pipeline_rank  None
0:   pipeline_model_parallel_size ........ 4
0:   use_distributed_optimizer ........... False
0:   world_size .......................... 8
0: ------------ end of arguments -------------
  micro_batch_size .................... 5
)",
                 facts_of_32_blocks()) ==
        "--batch 4 --global-batch 64 --workers 8 --precision bf16 --strategy megatron --distributed-optimizer false "
        "--overlap-grad-reduce false --overlap-param-gather false --pp 4 --gradient-dtype fp32 "
        "--stages 81/80/80/82 --p2p blocking");
}

// 32 blocks on 4 ranks; first and last hold 6 and 4, the other two share 22: 11 each.
TEST_CASE("Megatron-LM's stages") {
  const auto stages = [](const std::string& more) {
    return flags_of("run.sh", "x --pipeline-model-parallel-size 4 " + more, facts_of_32_blocks());
  };
  CHECK(stages("--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 4")
            .find("--stages 61/110/110/42") != std::string::npos);
  // Two chunks per rank, 34 with embedding and loss: not 8 equal parts.
  CHECK(error_place([&] {
          stages(
              "--num-virtual-stages-per-pipeline-rank 2 --account-for-embedding-in-pipeline-split "
              "--account-for-loss-in-pipeline-split");
        }) == "run.sh: line 1: --pipeline-model-parallel-size");
  CHECK(stages("--num-layers-per-virtual-pipeline-stage 4")
            .find("--chunks 2 --schedule interleaved --stages 41/40/40/40/40/40/40/42") != std::string::npos);
  CHECK(error_place([&] { stages("--num-layers-per-virtual-pipeline-stage 3"); }) ==  // 8 a rank
        "run.sh: line 1: --num-layers-per-virtual-pipeline-stage");
}

TEST_CASE("what changes nothing here is named") {
  const auto compiled = [](const std::string& value) {
    return read_text("a.toml", "[training]\nseq_len = 8\n[compile]\nenable = " + value + "\n").not_simulated;
  };
  CHECK(compiled("true") == std::vector<std::string>{"compile.enable"});
  CHECK(compiled("false").empty());
  for (const char* flag : {"--recompute-activations", "--recompute-granularity selective"}) {
    const ConfigFile file = read_text("run.sh", std::string("x --micro-batch-size 1 ") + flag + "\n");
    CHECK(file.approximated.size() == 1);
    CHECK(file.unknown.empty());
  }
}

TEST_CASE("Hugging Face's YAML") {
  CHECK(flags_of("fsdp.yaml", R"(distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
fsdp_config:
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_backward_prefetch: BACKWARD_POST
  fsdp_activation_checkpointing: true
)") == "--strategy fsdp1 --shard-group 8 --backward-prefetch post --recompute full --precision bf16 --workers 16");
  CHECK(flags_of("fsdp.yaml", R"(distributed_type: FSDP
fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: false}
)") == "--strategy fsdp2 --reshard none");
  CHECK(flags_of("ddp.yaml", R"(bf16: true
per_device_train_batch_size: 8
gradient_accumulation_steps: 4
ddp_bucket_cap_mb: 50
)") == "--strategy ddp --bucket-cap 50MiB --precision bf16 --gradient-dtype fp32 --parameter-dtype fp32 --batch 8 "
       "--micro-batches 4");
  Files files;
  files.add("runs/train.yaml", "per_device_train_batch_size: 8\ndeepspeed: ds.json\nmodel_name_or_path: model\n");
  files.add("runs/ds.json", R"({"zero_optimization": {"stage": 2}})");
  files.add("runs/model/config.json", R"({"model_type": "llama"})");
  const ConfigFile config = read_config(files, "runs/train.yaml");
  CHECK(config.settings[0].value == "zero-2");
  CHECK(config.settings[0].place.file == "runs/ds.json");
  CHECK(config.settings[1].value == "runs/model");
}

TEST_CASE("accelerate's ParallelismConfig") {
  const auto flags = [](const std::string& sizes, const std::string& rest = "") {
    return flags_of(
        "a.yaml", "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\n" + rest + "parallelism_config:\n" + sizes);
  };
  const std::string size = "  parallelism_config_";
  CHECK(flags(size + "dp_replicate_size: 4\n" + size + "dp_shard_size: 8\n" + size + "tp_size: 1\n") ==
        "--strategy fsdp2 --reshard all --shard-group 8 --workers 32");
  CHECK(flags(size + "dp_shard_size: 8\n", "num_processes: 8\n") == "--strategy fsdp2 --reshard all --workers 8");
  // The shards of a group lie among dp_shard and cp.
  CHECK(flags(size + "dp_replicate_size: 2\n" + size + "dp_shard_size: 4\n" + size + "tp_size: 8\n" + size +
              "cp_size: 2\n") == "--strategy fsdp2 --reshard all --shard-group 8 --tp 8 --cp 2 --workers 128");
  CHECK(flags_of("a.yaml",
                 "distributed_type: MULTI_GPU\nparallelism_config: {parallelism_config_dp_replicate_size: "
                 "8}\n") == "--strategy ddp --workers 8");
  const ConfigFile ones = read_text("a.yaml", "distributed_type: MULTI_GPU\nparallelism_config:\n" + size +
                                                  "tp_size: 1\n" + size + "cp_comm_strategy: allgather\n");
  CHECK(ones.not_simulated.empty());
  CHECK(ones.unknown.empty());
  CHECK(error_place([&] { flags(size + "dp_shard_size: 8\n", "num_processes: 16\n"); }) ==
        "a.yaml: line 3: num_processes");
  CHECK(error_place([&] { flags(size + "dp_replicate_size: 8\n"); }) ==
        "a.yaml: line 4: parallelism_config.parallelism_config_dp_replicate_size");
}

TEST_CASE("a model's folder, and environment variables") {
  Files files;
  files.add("m/config.json", R"({"model_type": "llama"})");
  CHECK(read_config(files, "m").settings.front().value == "m");
  CHECK(read_config(files, "m/config.json").settings.front().value == "m/config.json");
  CHECK(
      flags_of("h.sh", "HOROVOD_FUSION_THRESHOLD=33554432 HOROVOD_CYCLE_TIME=3.5 horovodrun -np 8 python train.py\n") ==
      "--strategy horovod --threshold 33554432 B --cycle 3.5 ms");
  CHECK(flags_of("b.sh", "export BYTESCHEDULER_PARTITION=1000\n", {.gradient_bytes = 4}) ==
        "--strategy bytescheduler --partition 4000 B");
}

TEST_CASE("PyTorch's wrappers in a script") {
  CHECK(flags_of("train.py", "model = DistributedDataParallel(model.cuda(), bucket_cap_mb=12.5)\n") ==
        "--strategy ddp --bucket-cap 12.5MiB");
  CHECK(flags_of("train.py", R"(policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in layers:
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy, reshard_after_forward=True)
)") == "--strategy fsdp2 --parameter-dtype bf16 --gradient-dtype fp32 --wrap layer --reshard all");
  CHECK(flags_of("train.py",
                 "FullyShardedDataParallel(model, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP, "
                 "backward_prefetch=BackwardPrefetch.BACKWARD_POST)\n") ==
        "--strategy fsdp1 --reshard none --parameter-dtype fp32 --gradient-dtype fp32 --backward-prefetch post");
}

TEST_CASE("other ways to shard: Megatron-FSDP, SimpleFSDP, ZeRO++, local steps") {
  CHECK(flags_of("a.sh",
                 "x --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --fsdp-double-buffer "
                 "--create-all-gather-group --num-distributed-optimizer-instances WORLD_SIZE/8 "
                 "--outer-dp-sharding-strategy optim\nfully_shard(model, fsdp_unit_modules=layers)\n") ==
        "--strategy megatron-fsdp --double-buffer true --lanes separate --outer optim --wrap layer --shard-group 8");
  CHECK(
      flags_of("a.txt",
               "--module graph_trainer.MODEL --compile.enable --parallelism.fsdp_reshard_after_forward never "
               "--parallelism.data_parallel_shard_degree 8 --parallelism.data_parallel_replicate_degree "
               "WORLD_SIZE/8 --compile.enable_fsdp_ag_rs_overlap --activation_checkpoint.mode none\n") ==
      "--strategy simple-fsdp --shard-group 8 --lanes separate --precision bf16 --gradient-dtype fp32 --reshard none");
  CHECK(flags_of("a.json", R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8,
"zero_quantized_weights": true, "zero_quantized_gradients": false}})") ==
        "--strategy zero-3 --hpz 8 --qwz true --qgz false");
  CHECK(flags_of("a.py",
                 "with DiLoCo(manager, fragments, inner, outer, sync_every=40, use_bucketization=True, "
                 "bucket_cap_mb=32, should_quantize=True, fragment_sync_delay=5):  # 2 fragments\n") ==
        "--strategy diloco --sync-every 40 --bucket 32MiB --quantize true --delay 5 --fragments 2");
}

TEST_CASE("optimizers: Muon where the strategy takes it, nothing for Adam, a note for all others") {
  const auto notes = [](const std::string& name, const std::string& text) {
    return read_text(name, text).not_simulated;
  };
  const auto muon = [](const std::string& name, const std::string& text) {
    return flags_of(name, text).find("--optimizer muon") != std::string::npos;
  };
  CHECK(muon("a.sh", "x --micro-batch-size 1 --optimizer muon\n"));
  CHECK(muon("a.toml", "[training]\nseq_len = 8\n[optimizer]\nname = \"Muon\"\n"));
  const std::string zero = R"({"zero_optimization": {"stage": 3}, "optimizer": {"type": "TYPE"}})";
  const auto of_type = [&](const std::string& type) {
    std::string text = zero;
    return notes("a.json", text.replace(text.find("TYPE"), 4, type));
  };
  CHECK(of_type("AdamW").empty());
  CHECK(of_type("Muon") == std::vector<std::string>{"optimizer.type Muon, which zero-3 is not simulated with"});
  CHECK(of_type("SGD") == std::vector<std::string>{"optimizer.type SGD, simulated as Adam"});
  CHECK(notes("a.yaml", "per_device_train_batch_size: 1\noptim: adamw_torch_fused\n").empty());
  CHECK(notes("a.yaml", "per_device_train_batch_size: 1\noptim: adamw_bnb_8bit\n").size() == 1);
}

TEST_CASE("adapters are noted") {
  const std::string text = "per_device_train_batch_size: 1\nlora_r: 16\nlora_alpha: 32\n";
  CHECK(read_text("a.yaml", text).not_simulated.empty());
  REQUIRE(read_text("a.yaml", text + "use_peft: true\n").not_simulated.size() == 1);
  CHECK(read_text("a.yaml", text + "use_peft: true\n").not_simulated[0].find("--lora 16") != std::string::npos);
}

// A key in one place, with one or two letters too many, too few or other ones. Other keys are listed as unknown.
TEST_CASE("misspelt keys") {
  const auto place = [](const std::string& name, const std::string& text) { return place_of_error(name, text); };
  CHECK(place("a.toml", "[parallelism]\ntensor_paralel_degree = 8\n") ==
        "a.toml: line 2: parallelism.tensor_paralel_degree");
  CHECK(place("a.toml", "[training]\nlocal-batch-size = 8\n") == "a.toml: line 2: training.local-batch-size");
  CHECK(place("a.toml", "[paralellism]\ntensor_parallel_degree = 8\n[training]\nseq_len = 8\n") ==
        "a.toml: line 2: paralellism.tensor_parallel_degree");
  CHECK(place("a.json", R"({"zero_optimization": {"stage": 2, "overlap_coms": true}})") ==
        "a.json: /zero_optimization/overlap_coms");
  CHECK(place("a.sh", "x --micro-batch-size 1 --tensor-model-paralel-size 8\n") ==
        "a.sh: line 1: --tensor-model-paralel-size");
  CHECK(
      place("a.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forwrd: true\n") ==
      "a.yaml: line 4: fsdp_config.fsdp_reshard_after_forwrd");
  const ConfigFile other =
      read_text("a.sh", "x --micro-batch-size 1 --weight-decay 0.1 --of-a-fork 3 --train-iters 5\n");
  CHECK(other.unknown == std::vector<std::string>{"of_a_fork"});
  CHECK(other.ignored == std::vector<std::string>{"weight_decay", "train_iters"});
}

// Both types are keys of DeepSpeed, whichever is on.
TEST_CASE("a type that is off is no misspelt one") {
  const ConfigFile file =
      read_text("a.json", R"({"bf16": {"enabled": true}, "fp16": {"enabled": "auto", "loss_scale": 0},
"zero_optimization": {"stage": 3, "allgather_bucket_size": 5}})");
  CHECK(file.unknown.empty());
}

// Converters are a list; none of its items is a misspelt one.
TEST_CASE("items of lists") {
  const ConfigFile file = read_text("a.toml", "[model]\nconverters = [\"float8\", \"mx\"]\n[training]\nseq_len = 8\n");
  CHECK(std::count_if(file.not_simulated.begin(), file.not_simulated.end(),
                      [](const std::string& one) { return one.starts_with("model.converters"); }) == 2);
}

TEST_CASE("wrong values are blamed on their own keys") {
  CHECK(
      place_of_error("a.yaml",
                     "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 5\n  fsdp_reshard_after_forward: true\n") ==
      "a.yaml: line 3: fsdp_config.fsdp_version");
  CHECK(place_of_error("a.yaml", "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 17\n") ==
        "a.yaml: line 3: num_processes");
  CHECK(error_place([] { read_config(Files(), "/"); }) == "command line: --config");
}

TEST_CASE("files that are not configurations are refused, with the known kinds") {
  for (const auto& [name, text] : {std::pair("a.toml", "[a]\nb = 1\n"),
                                   {"a.json", "{\"a\": 1}"},
                                   {"a.yaml", "a: 1\n"},
                                   {"a.sh", "echo hello\n"},
                                   {"a", ""}})
    CHECK(place_of_error(name, text) == name);
  CHECK(place_of_error("a.toml", "[a\n") == "a.toml: line 1");
  CHECK(place_of_error("a.yaml", "a: 1\nb: [1\n") == "a.yaml: line 3");
  CHECK(place_of_error("a.yaml", "bf16: true\nbf16: false\n") == "a.yaml: line 1");
  CHECK(place_of_error("a.json", R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": "many"}})") ==
        "a.json: /zero_optimization/reduce_bucket_size");
  CHECK(place_of_error("a.toml",
                       "[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_schedule = \"DualPipe\"\n") ==
        "a.toml: line 3: parallelism.pipeline_parallel_schedule");
}

TEST_CASE("numbers that are not counts, or too large together, are refused at their place") {
  const std::string place = "a.json: /train_micro_batch_size_per_gpu";
  CHECK(place_of_error("a.json", R"({"train_micro_batch_size_per_gpu": 1.5})") == place);
  CHECK(flags_of("a.json", R"({"train_micro_batch_size_per_gpu": 2.0, "zero_optimization": {"stage": 1}})") ==
        "--strategy zero-1 --batch 2");
  // 2^32 x 2^32 would be 0.
  CHECK(place_of_error("a.json", R"({"train_batch_size": 4, "train_micro_batch_size_per_gpu": 4294967296,
"gradient_accumulation_steps": 4294967296, "zero_optimization": {"stage": 1}})") == place);
  CHECK(place_of_error("a.sh", "x --pipeline-model-parallel-size 1000000000000", facts_of_32_blocks()) ==
        "a.sh: line 1: --pipeline-model-parallel-size");
  CHECK(place_of_error("a.toml", R"([parallelism]
data_parallel_shard_degree = 1000000000
tensor_parallel_degree = 1000000000
)") == "a.toml: line 2: parallelism.data_parallel_shard_degree");
}

TEST_CASE("the model of Megatron-LM's arguments") {
  const std::string gpt =
      "x --num-layers 2 --hidden-size 8 --num-attention-heads 2 --vocab-size 16 --max-position-embeddings 32\n";
  Files files;
  files.add("gpt.sh", gpt);  // the positions of a model whose samples have no length here
  files.add("list.json", "[1]");
  files.add("short.sh", "x --num-layers 2 --hidden-size 8\n");
  const std::string moe = gpt + " --swiglu --position-embedding-type rope --num-experts 4 --moe-ffn-hidden-size 24 ";
  for (const auto& [name, blocks] :
       {std::pair("first.sh", "'([0]*1+[1]*1)'"), {"printed.sh", "'[0, 1]'"}, {"second.sh", "2"}})
    files.add(name, fmt::format("{} --moe-layer-freq {}\n",
                                moe.substr(0, moe.find('\n')) + moe.substr(moe.find('\n') + 1), blocks));
  REQUIRE(model_in_arguments(files, "gpt.sh"));
  CHECK(model_in_arguments(files, "gpt.sh")->find("\"positions\": 32") != std::string::npos);
  CHECK(!model_in_arguments(files, "list.json"));
  for (const std::string name : {"first.sh", "printed.sh"}) {
    CHECK(model_in_arguments(files, name)->find("\"dense_layers\": 1") != std::string::npos);
    CHECK(model_in_arguments(files, name)->find("\"ffn\": 24") != std::string::npos);
  }
  CHECK(error_place([&] { model_in_arguments(files, "second.sh"); }) == "second.sh: line 1: --moe-layer-freq");
  CHECK(error_place([&] { model_in_arguments(files, "short.sh"); }) == "short.sh: --num-attention-heads");
}

TEST_CASE("a framework's setting is known by its key, and so are the flags that follow from it") {
  const auto flags_of = [](std::string_view name) {
    std::map<std::string, std::vector<std::string>> flags;
    for (const FrameworkSetting& one : framework_settings(name)) flags[one.key] = one.flags;
    return flags;
  };
  using Flags = std::vector<std::string>;
  CHECK(flags_of("zero_optimization.stage").at("zero_optimization.stage") == Flags{"--strategy"});
  CHECK(flags_of("stage").contains("zero_optimization.stage"));
  CHECK(flags_of("--tensor-model-parallel-size").at("tensor_model_parallel_size") == Flags{"--tp"});
  CHECK(flags_of("overlap_comm").contains("zero_optimization.overlap_comm"));  // of a stage, so without flags alone
  CHECK(flags_of("HOROVOD_FUSION_THRESHOLD").size() == 1);
  CHECK(flags_of("nproc_per_node").at("nproc_per_node") == Flags{"--workers"});
  CHECK(flags_of("data_parallel_replicate_degree").at("parallelism.data_parallel_replicate_degree") ==
        Flags{"--shard-group"});
  CHECK(flags_of("num_layers").at("num_layers").empty());  // that fp32 is the default does not follow from it
  CHECK(flags_of("no_such_setting").empty());
}

TEST_CASE("numbers of a model in Megatron-LM's arguments have the places of their flags") {
  Files files;
  files.add("a.sh", "x --num-layers 2 --hidden-size 8 --num-attention-heads 3 \\\n  --vocab-size 16 --seq-length 32\n");
  const auto places = places_in_arguments(files, "a.sh");
  CHECK(places.at("/heads") == SourceLocation{"a.sh", "line 1: --num-attention-heads"});
  CHECK(places.at("/positions").path.ends_with("--seq-length"));
  CHECK_FALSE(places.contains("/kv_heads"));
}

TEST_CASE("what Megatron-LM's arguments lack is named by its flag") {
  const std::string sizes = "x --num-layers 2 --hidden-size 8 --num-attention-heads 2 --max-position-embeddings 32 ";
  const auto error_of = [&](const std::string& arguments) -> std::string {
    Files files;
    files.add("a.sh", sizes + arguments);
    try {
      model_in_arguments(files, "a.sh");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of("--vocab-size 16 --swiglu --position-embedding-type rope") == "");
  CHECK(error_of("--vocab-size 16 --swiglu").find("a.sh: --position-embedding-type: is not given") == 0);
  CHECK(error_of("--vocab-size 16 --swiglu").find("(--position-embedding-type rope; or") != std::string::npos);
  CHECK(error_of("--vocab-size 16 --swiglu --position-embedding-type none")
            .find("a.sh: line 1: --position-embedding-type: 'none' does not") == 0);
  CHECK(error_of("--vocab-size 16 --use-rotary-position-embeddings").find("a.sh: --swiglu: is not given") == 0);
  CHECK(error_of("--vocab-size 16 --disable-bias-linear").find("a.sh: line 1: --disable-bias-linear: GPT-2") == 0);
  CHECK(error_of("--swiglu --position-embedding-type rope").find("(--vocab-size N; or") != std::string::npos);
  CHECK(error_of("--vocab-size $V").find("a.sh: --vocab-size: is a variable that the script") == 0);
}

// An alias that repeats itself exponentially often; a map inside itself; brackets without end.
TEST_CASE("hostile configurations are refused") {
  const std::string nine = "[*a, *a, *a, *a, *a, *a, *a, *a, *a]\n";
  std::string text = "a: &a {b: 1}\n";
  for (int i = 0; i < 8; ++i) text += fmt::format("a{}: &a {}", i, nine);
  CHECK(place_of_error("a.yaml", text) != "");
  CHECK(place_of_error("a.yaml", "a: &a {b: *a}\n") != "");
  CHECK(place_of_error("a.yaml", std::string(100'000, '[')) != "");
  CHECK(place_of_error("a.json", std::string(100'000, '[')) != "");
  CHECK(place_of_error("a.toml", "a = " + std::string(100'000, '[')) != "");
  CHECK(place_of_error("a.sh", "$(" + std::string(100'000, '(')) != "");
  CHECK(place_of_error("a.yaml", "a: [" + std::string(1 << 20, ',')) == "a.yaml");
}

// toml++ recurses into each part of a key, however it is written and wherever it stands; dots in strings are none.
TEST_CASE("keys of too many parts are refused") {
  std::string plain = "a", quoted = "'a'";
  for (int i = 0; i < 50'000; ++i) plain += ".a", quoted += " . \"a\\\".\"";
  CHECK(place_of_error("a.toml", "[training]\n" + plain + " = 1\n") == "a.toml: line 2");
  CHECK(place_of_error("a.toml", "[training]\n\n" + quoted + " = 1\n") == "a.toml: line 3");
  CHECK(place_of_error("a.toml", "[[" + plain + "]]\n") == "a.toml: line 1");
  CHECK(place_of_error("a.toml", "x = {y = \"\"\"z\"\"\"\", " + plain + " = 1}\n") == "a.toml: line 1");
  const std::string dots(1000, '.'), batch = "[training]\nlocal_batch_size = 2 # " + dots;
  const std::string job = fmt::format("\n[job]\na = '{0}'\nb = \"{0}\"\nc = \"\"\"\n{0}\n\"\"\"\n", dots);
  CHECK(flags_of("a.toml", batch + job) == flags_of("a.toml", batch));
}

TEST_CASE("keys that are too long or not visible are refused") {
  const std::string x(1001, 'x');
  for (const std::string& key : {x, std::string("\"\\u202e\"")})
    CHECK(place_of_error("a.toml", "[training]\n" + key + " = 1\n").starts_with("a.toml: line "));
  CHECK(place_of_error("a.yaml", "distributed_type: FSDP\n? " + x + "\n: 1\n").starts_with("a.yaml: line "));
  CHECK(place_of_error("a.json", R"({"zero_optimization": {")" + x + R"(": 1}})") == "a.json: /zero_optimization");
  CHECK(place_of_error("a.sh", "#!/bin/sh\npretrain.py --micro-batch-size 1 --" + x + " 1\n")
            .starts_with("a.sh: line 2"));
}
