// PyTorch's wrappers as a script calls them, and Composer's: the arguments that matter, wherever they stand.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/formats/configs/reader.hpp"

namespace allreplay {

namespace {

// Reads the arguments of calls: name=value, or "name": value.
class Calls {
 public:
  Calls(ConfigReader& read, std::string_view text) : read_(read), text_(text) {}

  bool has(std::string_view word) const { return text_.find(word) != std::string_view::npos; }

  /// The word behind `start`, without quotes; "" if there is none.
  std::string after(std::string_view start) const {
    const std::size_t found = text_.find(start);
    if (found == std::string_view::npos) return "";
    std::size_t begin = found + start.size();
    while (begin < text_.size() && (text_[begin] == '"' || text_[begin] == '\'' || text_[begin] == ' ')) ++begin;
    std::size_t end = begin;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' || text_[end] == '.'))
      ++end;
    return std::string(text_.substr(begin, end - begin));
  }

  SourceLocation place(std::string_view start) const {
    const auto before = text_.substr(0, std::min(text_.find(start), text_.size()));
    return {read_.entries.file(), fmt::format("line {}: {}", 1 + std::count(before.begin(), before.end(), '\n'),
                                              start.substr(0, start.find_first_of("=(:")))};
  }

  /// The whole number behind `start`; none if something else stands there.
  std::optional<std::int64_t> number(std::string_view start) const {
    std::string word = after(start);
    word = word.substr(0, word.find_first_not_of("0123456789"));
    if (word.empty()) return std::nullopt;
    return parse_integer(word, 0, 1'000'000'000'000'000, place(start));
  }

  void set(std::string_view flag, const std::string& value, std::string_view start) const {
    read_.set(flag, value, place(start));
  }

  /// Sets the flag to the number behind `start`, written as in `written` ("{} B"), if one stands there.
  void set_number(std::string_view flag, std::string_view start, const char* written = "{}") const {
    if (const auto value = number(start)) set(flag, fmt::format(fmt::runtime(written), *value), start);
  }

 private:
  ConfigReader& read_;
  std::string_view text_;
};

std::string type_named(const std::string& word) {
  return word == "torch.bfloat16" || word == "bf16"  ? "bf16"
         : word == "torch.float16" || word == "fp16" ? "fp16"
                                                     : "fp32";
}

void read_types_of_wrapper(const Calls& calls) {
  for (const auto& [key, flag] :
       {std::pair("param_dtype", "--parameter-dtype"), {"reduce_dtype", "--gradient-dtype"}}) {
    const std::string call = fmt::format("{}=", key), json = fmt::format("\"{}\":", key);
    const std::string& start = calls.has(json) ? json : call;
    calls.set(flag, type_named(calls.after(start)), start);
  }
}

// DDP postpones its reductions with no_sync().
void read_ddp(const Calls& calls) {
  constexpr std::string_view call = "DistributedDataParallel(",
                             cap = "bucket_cap_mb=", steps = "no_sync() if micro_batch <";
  calls.set("--strategy", "ddp", call);
  if (const std::string size = calls.after(cap); !size.empty()) calls.set("--bucket-cap", size + "MiB", cap);
  if (const auto last = calls.number(steps)) calls.set("--micro-batches", std::to_string(*last + 1), steps);
}

void read_groups(const Calls& calls) {
  for (const std::string_view group : {"(world_size //", "\"data_parallel_shard_degree\":"})
    calls.set_number("--shard-group", group);
}

void read_fully_shard(const Calls& calls) {
  constexpr std::string_view call = "fully_shard(", kept = "reshard_after_forward=False",
                             freed = "reshard_after_forward=True", ahead = "forward_prefetch(", window = "[i + 1:i +",
                             parts = "parts_of_";
  calls.set("--strategy", "fsdp2", call);
  read_groups(calls);
  read_types_of_wrapper(calls);
  if (calls.has("for layer in layers")) calls.set("--wrap", "layer", call);
  calls.set_number("--wrap", parts, "{} B");
  if (calls.has(freed))
    calls.set("--reshard", "all", freed);
  else if (calls.has(kept))
    calls.set("--reshard", "none", kept);
  if (const auto end = calls.number(window); end && calls.has(ahead) && *end > 1)
    calls.set("--prefetch", std::to_string(*end - 1), ahead);
  for (const auto& [start, rule] : {std::pair("set_requires_gradient_sync(micro_batch ==", "last"),
                                    {"set_requires_all_reduce(micro_batch ==", "replicas-last"}})
    if (const auto last = calls.number(start)) {
      calls.set("--reduce", rule, start);
      calls.set("--micro-batches", std::to_string(*last + 1), start);
    }
}

void read_fsdp1(ConfigReader& read, const Calls& calls, bool composer) {
  const std::string_view rule_key = composer ? "\"sharding_strategy\":" : "sharding_strategy=";
  calls.set("--strategy", composer ? "composer" : "fsdp1", rule_key);
  std::string rule = calls.after(rule_key);
  if (rule.starts_with("ShardingStrategy.")) rule = rule.substr(17);
  if (rule == "SHARD_GRAD_OP" || rule == "_HYBRID_SHARD_ZERO2") calls.set("--reshard", "none", rule_key);
  if (rule == "NO_SHARD") read.note("sharding_strategy NO_SHARD");
  const std::size_t settings = read.config.settings.size();
  read_groups(calls);
  const bool has_groups = read.config.settings.size() > settings;
  if (rule.find("HYBRID_SHARD") != std::string::npos && !has_groups) read.shard_in_nodes(calls.place(rule_key));
  read_types_of_wrapper(calls);
  if (calls.has("for layer in layers") || calls.has("ModuleWrapPolicy({Layer})"))
    calls.set("--wrap", "layer", rule_key);
  constexpr std::string_view parts = "parts_of_";
  calls.set_number("--wrap", parts, "{} B");
  constexpr std::string_view least = "min_num_params=", prefetch = "backward_prefetch=";
  if (const auto count = calls.number(least))
    calls.set("--wrap", fmt::format("{} B", *count * (type_named(calls.after("param_dtype=")) == "fp32" ? 4 : 2)),
              least);
  const std::string word = calls.after(prefetch);
  if (!composer && !word.empty())
    calls.set("--backward-prefetch",
              word.ends_with("PRE")    ? "pre"
              : word.ends_with("POST") ? "post"
                                       : "none",
              prefetch);
}

// torchft's rounds of local steps.
void read_local_steps(const Calls& calls, bool diloco) {
  const std::string_view call = diloco ? "DiLoCo(" : "LocalSGD(";
  constexpr std::string_view every = "sync_every=", bucket = "bucket_cap_mb=", delay = "fragment_sync_delay=",
                             parts = "  # ";
  calls.set("--strategy", diloco ? "diloco" : "local-sgd", call);
  calls.set_number("--sync-every", every);
  if (!diloco) return;
  if (const std::string size = calls.after(bucket); !size.empty() && calls.has("use_bucketization=True"))
    calls.set("--bucket", size + "MiB", bucket);
  if (calls.has("should_quantize=True")) calls.set("--quantize", "true", "should_quantize=");
  calls.set_number("--delay", delay);
  if (calls.has("backup_device=device")) calls.set("--backup", "device", "backup_device=");
  if (calls.has(" fragments")) calls.set_number("--fragments", parts);
}

// The optimizer of DDP's and FSDP2's code.
void read_muon(const Calls& calls) {
  if (constexpr std::string_view muon = "Muon("; calls.has(muon)) calls.set("--optimizer", "muon", muon);
}

}  // namespace

std::string with_own_names(std::string text) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (const std::string name :
       {"DistributedDataParallel", "FullyShardedDataParallel", "fully_shard", "DiLoCo", "LocalSGD"}) {
    const std::string import = name + " as ";
    const std::size_t found = text.find(import), begin = found + import.size();
    if (found == std::string::npos) continue;
    std::size_t end = begin;
    while (is_letter(end)) ++end;
    const std::string call = text.substr(begin, end - begin) + "(";
    if (end == begin || call == name + "(") continue;
    std::string own;
    std::size_t at = 0;
    for (std::size_t next = text.find(call); next != std::string::npos; next = text.find(call, at)) {
      const bool is_whole = next == 0 || !is_letter(next - 1);
      own.append(text, at, next - at).append(is_whole ? name + "(" : call);
      at = next + call.size();
    }
    text = own.append(text, at, std::string::npos);
  }
  return text;
}

bool calls_pytorch(std::string_view text) {
  if (text.find("--use-megatron-fsdp") != std::string_view::npos) return false;
  for (const std::string_view call : {"DiLoCo(", "LocalSGD(", "DistributedDataParallel(", "fully_shard(",
                                      "FullyShardedDataParallel(", "parallelism_config={\"fsdp\""})
    if (text.find(call) != std::string_view::npos) return true;
  return false;
}

void read_pytorch(ConfigReader& read, std::string_view text) {
  const Calls calls(read, text);
  if (calls.has("DiLoCo(") || calls.has("LocalSGD(")) return read_local_steps(calls, calls.has("DiLoCo("));
  if (calls.has("parallelism_config={\"fsdp\"")) return read_fsdp1(read, calls, true);
  if (calls.has("FullyShardedDataParallel(")) return read_fsdp1(read, calls, false);
  read_muon(calls);
  if (calls.has("fully_shard(")) return read_fully_shard(calls);
  read_ddp(calls);
}

}  // namespace allreplay
