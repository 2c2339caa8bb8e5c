#include "sim/training/options.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

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
  if (bytes <= 0)
    throw InputError(place, fmt::format("\"{}\" holds nothing", text), "a size above zero, such as \"25 MiB\"");
  return bytes;
}

Time any_time(const std::string& text, const Place& place) {
  try {
    return to_time(parse_duration(text, place));
  } catch (const TimeOverflow&) {
    throw InputError(place, fmt::format("\"{}\" is longer than can be simulated", text), "at most 106 days");
  }
}

Time positive_time(const std::string& text, const Place& place) {
  const Time time = any_time(text, place);
  if (time <= Time(0))
    throw InputError(place, fmt::format("\"{}\" is no time", text), "a duration of at least 1 ps, such as \"5 ms\"");
  return time;
}

double share(const std::string& text, const Place& place, bool all_is_one) {
  const double value = parse_number(text, place);
  if (all_is_one ? !(value > 0 && value <= 1) : !(value >= 0 && value < 1))
    throw InputError(place, fmt::format("{} is no share", text), all_is_one ? "above 0, at most 1" : "0 to below 1");
  return value;
}

Grouping grouping(const std::string& text, const Place& place) {
  if (text == "search") return Grouping::Search;
  if (text == "optimal") return Grouping::Optimal;
  if (text == "even") return Grouping::Even;
  throw InputError(place, fmt::format("'{}' is no way of grouping", text), "search, optimal or even");
}

std::string write_optional(const std::optional<Time>& time) { return time ? write_duration(*time) : ""; }

// A number of blocks, or a size.
Window window(const std::string& text, const Place& place) {
  if (text.find_first_not_of("0123456789+-. ") != std::string::npos)
    return {.count = Window::unlimited, .bytes = positive_size(text, place)};
  return {.count = parse_integer(text, 1, 1'000'000'000, place)};
}

PhaseOrder phase_order(const std::string& text, const Place& place, std::string_view of_paper) {
  if (text == of_paper) return {};
  if (text == "sequential") return {.kind = PhaseOrder::Kind::Sequential};
  constexpr std::string_view random = "random:";
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (text.starts_with(random))
    return {.kind = PhaseOrder::Kind::Random,
            .seed = static_cast<std::uint64_t>(parse_integer(text.substr(random.size()), 0, most, place))};
  if (text.empty() || text.find_first_not_of("0123456789/") != std::string::npos)
    throw InputError(place, fmt::format("'{}' is no order", text),
                     fmt::format("{}{}random:SEED, or the tensors as 3/1/2", of_paper,
                                 of_paper == "sequential" ? ", " : ", sequential, "));
  PhaseOrder order{.kind = PhaseOrder::Kind::Given, .place = place};
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    order.tensors.push_back(
        static_cast<TensorId>(parse_integer(text.substr(start, end - start), 1, 1'000'000, place) - 1));
    start = end + 1;
  }
  return order;
}

// Nothing where the paper's order is kept.
std::string write_phase_order(const PhaseOrder& order) {
  switch (order.kind) {
    case PhaseOrder::Kind::Paper:
      return "";
    case PhaseOrder::Kind::Sequential:
      return "sequential";
    case PhaseOrder::Kind::Random:
      return fmt::format("random:{}", order.seed);
    case PhaseOrder::Kind::Given:
      break;
  }
  std::string text;
  for (const TensorId tensor : order.tensors) text += (text.empty() ? "" : "/") + std::to_string(tensor + 1);
  return text;
}

// One of two words.
template <class Enum>
Enum either(const std::string& text, const Place& place, std::string_view first, Enum one, std::string_view second,
            Enum other) {
  if (text == first) return one;
  if (text == second) return other;
  throw InputError(place, fmt::format("'{}' is neither '{}' nor '{}'", text, first, second),
                   fmt::format("{} or {}", first, second));
}

const Rule rules[] = {
    {"bucket_cap", "ddp: a bucket closes once it holds this much (25 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.bucket_cap = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.bucket_cap); }},
    {"first_bucket", "ddp: the cap of the first bucket (1 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.first_bucket = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.first_bucket); }},
    {"threshold", "horovod, dear: the most that is fused (64 MiB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.threshold = positive_size(v, p); },
     [](const Options& o) { return write_size(o.strategy.threshold); }},
    {"cycle", "horovod: how often it looks for ready tensors (5 ms)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.cycle = positive_time(v, p); },
     [](const Options& o) { return write_duration(o.strategy.cycle); }},
    {"partition", "bytescheduler, us-byte, p3: the size of slices (4 MB; p3: 200 kB)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.partition = positive_size(v, p); },
     [](const Options& o) { return o.strategy.partition ? write_size(*o.strategy.partition) : std::string(); }},
    {"credit", "bytescheduler: how many blocks, or how many bytes, may be in flight (4)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.credit = window(v, p); },
     [](const Options& o) {
       const Window& credit = o.strategy.credit;
       return credit.bytes == Window::unlimited ? std::to_string(credit.count) : write_size(credit.bytes);
     }},
    {"first_phase",
     "us-byte: greedy (Algorithm 2), sequential, random:SEED, or the tensors as 3/1/2, counted from the input (greedy)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.first_phase = phase_order(v, p, "greedy"); },
     [](const Options& o) { return write_phase_order(o.strategy.first_phase); }},
    {"second_phase", "us-byte: sequential (Theorem 1), random:SEED, or the tensors as 3/1/2 (sequential)",
     [](Options& o, const std::string& v, const Place& p) {
       o.strategy.second_phase = phase_order(v, p, "sequential");
     },
     [](const Options& o) { return write_phase_order(o.strategy.second_phase); }},
    {"groups", "mergecomp: Y of Algorithm 2, the most groups; how many, where grouping is not search (2)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.groups = parse_integer(v, 1, 1'000'000, p); },
     [](const Options& o) { return std::to_string(o.strategy.groups); }},
    {"stop", "mergecomp: alpha of Algorithm 2, the least relative gain that is worth another group (0.01)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.stop = share(v, p, false); },
     [](const Options& o) { return fmt::format("{}", o.strategy.stop); }},
    {"grouping",
     "mergecomp: Algorithm 2 (search), the best (optimal) or the even partition (even) into `groups` (search)",
     [](Options& o, const std::string& v, const Place& p) { o.strategy.grouping = grouping(v, p); },
     [](const Options& o) {
       return std::string(o.strategy.grouping == Grouping::Search    ? "search"
                          : o.strategy.grouping == Grouping::Optimal ? "optimal"
                                                                     : "even");
     }},
    {"density", "topk, gtopk, dgc, randk: the share of the gradients that is sent (0.001)",
     [](Options& o, const std::string& v, const Place& p) { o.codec.density = share(v, p, true); },
     [](const Options& o) { return fmt::format("{}", o.codec.density); }},
    {"bits", "qsgd: per gradient, its sign among them (8)",
     [](Options& o, const std::string& v, const Place& p) { o.codec.bits = parse_integer(v, 1, 16, p); },
     [](const Options& o) { return std::to_string(o.codec.bits); }},
    {"encode", "with a codec: how long encoding a block takes (what the codec's file says)",
     [](Options& o, const std::string& v, const Place& p) { o.codec.encode = any_time(v, p); },
     [](const Options& o) { return write_optional(o.codec.encode); }},
    {"decode", "with a codec: how long decoding a block takes, all payloads together (what the codec's file says)",
     [](Options& o, const std::string& v, const Place& p) { o.codec.decode = any_time(v, p); },
     [](const Options& o) { return write_optional(o.codec.decode); }},
    {"codec_stream", "with a codec: it runs on the compute stream (compute) or beside it (side) (compute)",
     [](Options& o, const std::string& v, const Place& p) {
       o.codec.stream = either(v, p, "compute", CodecStream::Compute, "side", CodecStream::Side);
     },
     [](const Options& o) { return std::string(o.codec.stream == CodecStream::Compute ? "compute" : "side"); }},
    {"decode_at", "with a codec: blocks are decoded on arrival (arrival; mergecomp: encode, lumped with the encoding)",
     [](Options& o, const std::string& v, const Place& p) {
       o.codec.decode_at = either(v, p, "arrival", DecodeAt::Arrival, "encode", DecodeAt::Encode);
     },
     [](const Options& o) {
       return std::string(!o.codec.decode_at ? "" : *o.codec.decode_at == DecodeAt::Arrival ? "arrival" : "encode");
     }},
    {"sharing", "alpha-beta: blocks in flight together go one after another (serial) or share equally (fair)",
     [](Options& o, const std::string& v, const Place& p) {
       o.sharing = either(v, p, "serial", Sharing::Serial, "fair", Sharing::Fair);
     },
     [](const Options& o) { return std::string(o.sharing == Sharing::Serial ? "serial" : "fair"); }},
    {"servers", "parameter-server: how many servers there are (0: one on every worker)",
     [](Options& o, const std::string& v, const Place& p) {
       o.collective.servers = parse_integer(v, 0, most_workers, p);
     },
     [](const Options& o) { return std::to_string(o.collective.servers); }},
    {"tree_bandwidth", "double-binary-tree: b as printed in MG-WFBP's Table 2 (paper) or 2 beta + gamma (physical)",
     [](Options& o, const std::string& v, const Place& p) {
       o.collective.tree_bandwidth = either(v, p, "paper", TreeBandwidth::Paper, "physical", TreeBandwidth::Physical);
     },
     [](const Options& o) {
       return std::string(o.collective.tree_bandwidth == TreeBandwidth::Paper ? "paper" : "physical");
     }},
    {"chunks", "fluid, message: double-binary-tree cuts the bytes of each tree into this many (16)",
     [](Options& o, const std::string& v, const Place& p) { o.collective.chunks = parse_integer(v, 1, 1'000'000, p); },
     [](const Options& o) { return std::to_string(o.collective.chunks); }},
    {"iterations", "with jitter: over how many iterations the period is averaged (100)",
     [](Options& o, const std::string& v, const Place& p) { o.iterations = parse_integer(v, 1, 1'000'000, p); },
     [](const Options& o) { return std::to_string(o.iterations); }},
};

}  // namespace

void Options::set(std::string_view name, const std::string& value, const Place& place) {
  std::vector<std::string> names;
  for (const Rule& rule : rules) {
    if (rule.name == name) {
      rule.set(*this, value, place);
      places[std::string(name)] = place;
      return;
    }
    names.emplace_back(rule.name);
  }
  throw InputError(place, fmt::format("unknown option '{}'", name), suggest(name, names));
}

Place Options::place_of(const std::string& name) const {
  const auto found = places.find(name);
  return found == places.end() ? Place{"options", name} : found->second;
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
