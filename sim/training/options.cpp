#include "sim/training/options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cluster/cluster.hpp"

namespace allreplay {

namespace {

struct Rule {
  std::string_view name;
  std::string_view help;
  void (*set)(Options&, const std::string&, const Place&);
  std::string (*get)(const Options&);
};

Bytes positive_size(const std::string& text, const Place& place) {
  const Bytes bytes = parse_size(text, place);
  if (bytes <= 0) throw InputError(place, fmt::format("\"{}\" holds nothing", text), "a size above zero, such as \"25 MiB\"");
  return bytes;
}

Time positive_time(const std::string& text, const Place& place) {
  const Time time = to_time(parse_duration(text, place));
  if (time <= Time(0)) throw InputError(place, fmt::format("\"{}\" is no time", text), "a duration of at least 1 ps, such as \"5 ms\"");
  return time;
}

// One of two words.
template <class Enum>
Enum either(const std::string& text, const Place& place, std::string_view first, Enum one, std::string_view second, Enum other) {
  if (text == first) return one;
  if (text == second) return other;
  throw InputError(place, fmt::format("'{}' is neither '{}' nor '{}'", text, first, second), fmt::format("{} or {}", first, second));
}

const Rule rules[] = {
    {"bucket_cap", "ddp: a bucket closes once it holds this much (25 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.bucket_cap = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.bucket_cap); }},
    {"first_bucket", "ddp: the cap of the first bucket (1 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.first_bucket = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.first_bucket); }},
    {"threshold", "horovod: the most that is fused (64 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.threshold = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.threshold); }},
    {"cycle", "horovod: how often it looks for ready tensors (5 ms)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.cycle = positive_time(v, p); },
     [](const Options& o) { return write_duration(o.strategy.cycle); }},
    {"sharing", "alpha-beta: blocks in flight together go one after another (serial) or share equally (fair)",
     [](Options& o, const std::string& v, const Place& p) { o.sharing = either(v, p, "serial", Sharing::Serial, "fair", Sharing::Fair); },
     [](const Options& o) { return std::string(o.sharing == Sharing::Serial ? "serial" : "fair"); }},
    {"servers", "parameter-server: how many servers there are (0: one on every worker)",
     [](Options& o, const std::string& v, const Place& p) { o.collective.servers = parse_integer(v, 0, most_workers, p); },
     [](const Options& o) { return std::to_string(o.collective.servers); }},
    {"tree_bandwidth", "double-binary-tree: b as printed in MG-WFBP's Table 2 (paper) or 2 beta + gamma (physical)",
     [](Options& o, const std::string& v, const Place& p) {
       o.collective.tree_bandwidth = either(v, p, "paper", TreeBandwidth::Paper, "physical", TreeBandwidth::Physical);
     },
     [](const Options& o) { return std::string(o.collective.tree_bandwidth == TreeBandwidth::Paper ? "paper" : "physical"); }},
    {"iterations", "with jitter: over how many iterations the period is averaged (100)",
     [](Options& o, const std::string& v, const Place& p) { o.iterations = parse_integer(v, 1, 1'000'000, p); },
     [](const Options& o) { return std::to_string(o.iterations); }},
};

}  // namespace

void Options::set(std::string_view name, const std::string& value, const Place& place) {
  std::vector<std::string> names;
  for (const Rule& rule : rules) {
    if (rule.name == name) return rule.set(*this, value, place);
    names.emplace_back(rule.name);
  }
  throw InputError(place, fmt::format("unknown option '{}'", name), suggest(name, names));
}

std::string Options::get(std::string_view name) const {
  const auto rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& r) { return r.name == name; });
  return rule == std::end(rules) ? "" : rule->get(*this);
}

std::vector<OptionHelp> option_help() {
  std::vector<OptionHelp> help;
  for (const Rule& rule : rules) help.push_back({std::string(rule.name), std::string(rule.help)});
  return help;
}

}  // namespace allreplay
