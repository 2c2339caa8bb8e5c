// The number of workers in users' own configurations: where it is from, and what follows from it.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/formats/configs/config_file.hpp"

using namespace allreplay;

namespace workers_test {

namespace {

using Given = std::map<std::string, std::string, std::less<>>;

// The values of one flag that follow from the last of these files, joined by blanks; "" if none does.
std::string value_of(const std::string& flag, const std::vector<std::pair<std::string, std::string>>& texts,
                     const ConfigFacts& facts = {}) {
  Files files;
  for (const auto& [name, text] : texts) files.add(name, text);
  const ConfigFile config = read_config(files, texts.back().first);
  std::vector<ConfigSetting> all = config.settings;
  for (const auto& later : config.later)
    for (ConfigSetting& one : later(facts)) all.push_back(std::move(one));
  std::string values;
  for (const ConfigSetting& one : all)
    if (one.flag == flag) values += (values.empty() ? "" : " ") + one.value;
  return values;
}

const std::string hybrid = "[parallelism]\ndata_parallel_replicate_degree = 32\n[training]\nlocal_batch_size = 1\n";

std::string group_of(const std::string& toml, const Given& given, bool finds_layout = false) {
  return value_of("--shard-group", {{"a.toml", toml}}, {.finds_layout = finds_layout, .given = given});
}

}  // namespace

// torchtitan/distributed/parallel_dims.py: dp_shard = world size / (dp_replicate x cp x tp x pp). Groups are of
// dp_shard x cp ranks.
TEST_CASE("torchtitan's shard degree is what the other degrees leave of the workers") {
  CHECK(group_of(hybrid, {{"--workers", "256"}}) == "8");
  CHECK(group_of(hybrid + "[parallelism.more]\nx = 1\n", {{"--workers", "256"}, {"--tp", "4"}}) == "2");
  CHECK(group_of(hybrid, {{"--workers", "256"}, {"--tp", "2"}, {"--cp", "2"}}) == "4");  // 256 / (32 x 2 x 2) x 2
  CHECK(group_of("[parallelism]\ndata_parallel_replicate_degree = 32\ndata_parallel_shard_degree = -1\n",
                 {{"--workers", "64"}}) == "2");
  CHECK(group_of("[parallelism]\ndata_parallel_shard_degree = -1\n", {{"--workers", "64"}}).empty());  // all workers
  CHECK(group_of(hybrid, {}).empty());  // the command refuses to run without workers
  CHECK(group_of(hybrid, {{"--workers", "100"}}, true).empty());
  CHECK(group_of(hybrid, {{"--workers", "100"}, {"--shard-group", "10"}}).empty());
  CHECK(value_of("--shard-group",
                 {{"a.txt",
                   "--module graph_trainer.MODEL --compile.enable --parallelism.data_parallel_replicate_degree 4\n"}},
                 {.given = {{"--workers", "64"}}}) == "16");
}

TEST_CASE("replicas that do not divide the ranks, leave nothing to shard, or several numbers of workers are refused") {
  const std::string place = "a.toml: line 2: parallelism.data_parallel_replicate_degree";
  for (const char* workers : {"100", "32", "64:256:x2", "64,128"}) {
    CAPTURE(workers);
    CHECK(error_place([&] { group_of(hybrid, {{"--workers", workers}}); }) == place);
  }
  CHECK(error_place([] {
          value_of("--shard-group", {{"a.sh", "x --num-distributed-optimizer-instances 3 --micro-batch-size 1\n"}},
                   {.given = {{"--workers", "64"}}});
        }) == "a.sh: line 1: --num-distributed-optimizer-instances");
}

TEST_CASE("every launcher's arguments give the workers") {
  const auto workers = [](const std::string& script) { return value_of("--workers", {{"a.sh", script}}); };
  CHECK(workers("torchrun --nproc_per_node=8 --nnodes=32 -m torchtitan.train --training.seq_len 8\n") == "256");
  CHECK(workers("torchrun --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1\n") == "8");
  CHECK(workers("deepspeed --num_nodes 4 --num_gpus 8 train.py --per_device_train_batch_size 2\n") == "32");
  CHECK(workers("accelerate launch --num_machines 2 --num_processes 16 train.py --micro-batch-size 1\n") == "16");
  CHECK(workers("NGPU=${NGPU:-\"8\"}\ntorchrun --nproc_per_node=$NGPU -m torchtitan.train --training.seq_len 8\n") ==
        "8");
  // One node's workers are not all if nothing says how many nodes there are.
  CHECK(workers("torchrun --nproc_per_node=8 --nnodes=$NODES -m torchtitan.train --training.seq_len 8\n").empty());
  CHECK(workers("torchrun --nproc_per_node=gpu -m torchtitan.train --training.seq_len 8\n").empty());
  CHECK(workers("torchrun --nproc_per_node=8 --nnodes=1:4 pretrain_gpt.py --micro-batch-size 1\n").empty());
}

TEST_CASE("a launcher of other workers than the degrees of its file is refused") {
  const auto workers = [](const std::string& degree) {
    return value_of(
        "--workers",
        {{"a.toml",
          "[parallelism]\ndata_parallel_replicate_degree = 32\ndata_parallel_shard_degree = " + degree + "\n"},
         {"a.sh", "torchrun --nproc_per_node=8 --nnodes=32 -m torchtitan.train --job.config_file a.toml\n"}});
  };
  CHECK(workers("8") == "256");
  CHECK(workers("-1") == "256");
  CHECK(error_place([&] { workers("4"); }) == "a.sh: line 1: --nproc_per_node");
}

TEST_CASE("PyTorch's wrappers are known by the names that a script imports them as") {
  const auto strategy = [](const std::string& code) { return value_of("--strategy", {{"train.py", code}}); };
  const std::string fsdp = "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n";
  CHECK(strategy(fsdp + "model = FSDP(model)\n") == "fsdp1");
  CHECK(strategy("from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(model)\n") == "ddp");
  CHECK(strategy("from torch.distributed.fsdp import (\n    fully_shard as shard,\n)\nshard(model)\n") == "fsdp2");
  CHECK(error_place([&] { strategy(fsdp + "model = MyFSDP(model)\n"); }) == "train.py");
  CHECK(error_place([&] { strategy("model = FSDP(model)\n"); }) == "train.py");
  const std::string hybrids = fsdp + "FSDP(model, sharding_strategy=ShardingStrategy.HYBRID_SHARD)\n";
  CHECK(value_of("--shard-group", {{"train.py", hybrids}}, {.node = 8}) == "8");
  CHECK(error_place([&] {
          value_of("--shard-group", {{"train.py", hybrids}});
        }) == "train.py: line 2: sharding_strategy");
}

}  // namespace workers_test
