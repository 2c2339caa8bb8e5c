#include "sim/plans/schedule/unknown_name_hints.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/schedule/codec.hpp"
#include "sim/plans/schedule/offer.hpp"

namespace allreplay {

namespace {

struct Asked {
  std::vector<std::string_view> words;
  std::string_view wrong;
  std::string_view right;
};

// A name matches if one of its words is listed, or begins with a listed word that is long enough to be unambiguous.
const std::vector<Asked>& absent() {
  static const std::vector<Asked> all{
      {{"amp", "autocast", "apex", "mixed", "half", "fp16", "bf16", "fp8"},
       "precision is set by the profile",
       "--precision bf16, or gradient_dtype and parameter_dtype; --codec fp16 for the wire only"},
      {{"async", "asynchronous", "asp", "ssp", "stale", "localsgd", "gossip", "decentralized", "fedavg"},
       "every iteration waits for the gradients of all workers",
       "a synchronous strategy; --accumulate K communicates once every K passes"},
      {{"offload", "offloading", "nvme"},
       "offloading is not simulated",
       "fsdp2 or zero-1 to zero-3, which shard the state; `run` prints the memory of a worker"},
      {{"checkpointing", "recompute", "recomputation", "remat"},
       "recomputation is set by the profile",
       "a profile measured with it, or made by `allreplay estimate --recompute RULE`"},
  };
  return all;
}

const std::vector<Asked>& elsewhere() {
  static const std::vector<Asked> all{
      {{"fsdp", "fsdp3"}, "which of PyTorch's?", "fsdp2, which is fully_shard, or fsdp1, FullyShardedDataParallel"},
      {{"pp", "pipeline", "gpipe", "1f1b", "pipedream", "interleaved", "zbv", "dualpipe"},
       "is a pipeline schedule",
       "--pp P --schedule NAME, from `allreplay list schedules`, with a strategy"},
      {{"tp", "cp", "ep", "tensor", "expert", "moe", "mixture", "context", "sequence", "sp", "ulysses", "3d"},
       "is another kind of parallelism",
       "--tp T, --cp C or --ep E, with a strategy and the profile of one worker of such groups"},
      {{"hsdp", "hybridshard"}, "is FSDP in groups of workers", "fsdp2 --shard-group F, usually the GPUs of a node"},
      {{"hybridshardzero2"},
       "is FSDP1 that keeps parameters, in groups of workers",
       "fsdp1 --reshard none --shard-group F, usually the GPUs of a node"},
      {{"fullshard", "fullyshard", "fullyshardeddataparallel"}, "is FSDP", "fsdp2"},
      {{"shardgradop"}, "is FSDP that keeps parameters until the backward pass", "fsdp2 --reshard none"},
      {{"noshard", "dp", "dataparallel", "distributeddataparallel"}, "is data parallelism without shards", "ddp"},
      {{"zeropp", "zeroplusplus"},
       "is ZeRO-3 with quantised transfers and a second shard in a node",
       "zero-3 --hpz G --qwz true --qgz true, with the G GPUs of a node"},
      {{"deepspeed", "zero"}, "which stage?", "zero-1, zero-2 or zero-3; ZeRO++: zero-3 --hpz G --qwz true --qgz true"},
      {{"megatronlm", "mcore", "distributedoptimizer"},
       "is data parallelism of Megatron-LM",
       "megatron or megatron-fsdp"},
      {{"torchtitan"}, "which strategy of torchtitan?", "fsdp2, ddp or simple-fsdp"},
      {{"accelerate", "trainer"}, "starts other frameworks", "fsdp2, ddp or zero-3; or its file: --config FILE"},
      {{"accumulate", "accumulation"}, "is an option of any strategy", "--accumulate K"},
      {{"ps"}, "is a collective", "--collective parameter-server with any strategy, or the strategy byteps"},
      {{"allreduce"}, "is a collective, which strategies schedule", "such as --collective ring, with any strategy"},
      {{"compress", "compression", "powersgd"},
       "compression is done by a codec",
       "--codec C, from `allreplay list codecs`"},
      {{"tensorflow", "tf", "jax", "xla", "keras", "paddle"},
       "no strategy of that framework is known here",
       "one of `allreplay list strategies`, or its buckets as a plan file (--plan)"},
  };
  return all;
}

// ZeRO++ is zeropp.
std::vector<std::string> words_in(std::string_view given) {
  std::string name(given);
  std::replace(name.begin(), name.end(), '+', 'p');
  std::vector<std::string> words{""};
  std::string joined;
  for (const char c : lower_case(name)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      words.emplace_back();
      continue;
    }
    words.back() += c;
    joined += c;
  }
  words.push_back(joined);  // local-sgd is localsgd
  return words;
}

const Asked* find(const std::vector<Asked>& all, std::string_view name) {
  constexpr std::size_t enough = 6;
  std::vector<std::string> words = words_in(name);
  std::reverse(words.begin(), words.end());  // the whole name first
  for (const std::string& word : words)
    for (const Asked& one : all)
      for (const std::string_view key : one.words)
        if (word == key) return &one;
  for (const std::string& word : words)
    for (const Asked& one : all)
      for (const std::string_view key : one.words)
        if (key.size() >= enough && word.starts_with(key)) return &one;
  return nullptr;
}

NameHint hint_of(const Asked& asked) { return {std::string(asked.wrong), std::string(asked.right)}; }

[[noreturn]] void answer(std::string_view name, const SourceLocation& place, const NameHint& hint) {
  throw InputError(place, fmt::format("'{}': {}", name, hint.wrong), hint.right);
}

}  // namespace

std::optional<NameHint> hint_on_word(std::string_view word) {
  for (const auto* words : {&elsewhere(), &absent()})
    if (const Asked* asked = find(*words, word)) return hint_of(*asked);
  if (row_named(algorithms(), word))
    return NameHint{"is a collective", fmt::format("--collective {}, with any strategy", word)};
  if (row_named(codecs(), word)) return NameHint{"is a codec", fmt::format("--codec {}, with any strategy", word)};
  constexpr std::size_t enough = 5;  // torch
  for (const Framework& framework : frameworks()) {
    const bool part = word.size() >= enough && framework.name.find(word) != std::string_view::npos;
    if (!part && word.find(framework.name) == std::string_view::npos) continue;
    std::vector<std::string> own;
    for (const Strategy* strategy : framework.strategies) own.emplace_back(strategy->name);
    return NameHint{fmt::format("which strategy of {}?", framework.name), choices(own)};
  }
  return std::nullopt;
}

void hint_at_absent_name(std::string_view word, const SourceLocation& place) {
  if (const Asked* asked = find(absent(), word)) answer(word, place, hint_of(*asked));
}

void hint_at_non_strategy(std::string_view word, const SourceLocation& place) {
  if (const auto hint = hint_on_word(word)) answer(word, place, *hint);
}

}  // namespace allreplay
