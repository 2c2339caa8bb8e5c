// Every option of a run, under the name that files and the command line use, and the table that describes them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/named.hpp"
#include "sim/plans/collective/algorithm.hpp"
#include "sim/plans/pipeline/parallelism.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/replay/network/alpha_beta.hpp"

namespace allreplay {

/// The type of elements on the wire.
enum class Dtype : std::uint8_t { Fp32, Bf16, Fp16 };
inline constexpr Word<Dtype> dtype_words[] = {{Dtype::Fp32, "fp32"}, {Dtype::Bf16, "bf16"}, {Dtype::Fp16, "fp16"}};
inline Bytes bytes_of(Dtype dtype) { return dtype == Dtype::Fp32 ? 4 : 2; }
struct Dtypes {
  std::optional<Dtype> gradient, parameter;  ///< none: the profile's
};

struct MemoryOptions {
  std::optional<double> state;  ///< optimizer's bytes per element; none: 12 if parameters have 2 bytes, else 8
  std::optional<Bytes> limit;
};

/// When a collective starts if workers become ready at different times.
enum class Start : std::uint8_t {
  Together,  ///< on all ranks, once all workers are
  Ranks,     ///< on each rank, once its worker is
};

struct Options {
  StrategyOptions strategy;
  CollectiveOptions collective;
  CodecOptions codec;
  ParallelOptions parallel;
  Sharing sharing = Sharing::Serial;
  Dtypes dtypes;
  std::optional<Time> update;                ///< none: the profile's
  std::optional<Time> host_block;            ///< the host's floor of a block's forward pass; none: the profile's
  std::optional<Time> host_step;             ///< none: the profile's
  std::optional<std::int64_t> global_batch;  ///< samples per iteration, which determine the micro-batches
  MemoryOptions memory;
  Start start = Start::Together;
  Time launch{0};                                ///< of each collective, on its lane
  Time launch_tensor{0};                         ///< of each tensor, once
  std::map<std::string, SourceLocation> places;  ///< of the options that were set
  std::int64_t iterations = 100;                 ///< replayed with jitter; without it, the period is exact

  /// Sets one option from its text. Throws InputError at `place` for an unknown name or a bad value.
  void set(std::string_view name, const std::string& value, const SourceLocation& place);

  /// Returns where the option was set; a general place if it was not.
  SourceLocation place_of(const std::string& name) const;

  /// Returns the option's value as a user would write it.
  std::string get(std::string_view name) const;
};

/// The kind of an option's value.
enum class OptionKind : std::uint8_t {
  Size,
  Duration,
  Count,
  CountOrSize,
  Share,
  Choice,
  Order,
  Wrap,
  Rate,
  Schedule,
  Cut,
  Bucket
};
inline constexpr Word<OptionKind> option_kinds[] = {
    {OptionKind::Size, "a size"},
    {OptionKind::Duration, "a duration"},
    {OptionKind::Count, "a number"},
    {OptionKind::Share, "a share"},
    {OptionKind::Choice, "a word"},
    {OptionKind::CountOrSize, "a number, or a size"},
    {OptionKind::Order, "an order"},
    {OptionKind::Wrap, "a word, or a size"},
    {OptionKind::Rate, "a rate"},
    {OptionKind::Schedule, "a name, or a file"},
    {OptionKind::Cut, "a word, or numbers"},
    {OptionKind::Bucket, "a word, or a size"},
};

/// The range in which `tune` varies an option, on a logarithmic scale: counts, bytes or seconds.
struct Tuned {
  double low = 1, high = 1;
};

/// The description of an option. A new option needs a field in a part of Options, and a row.
struct OptionRow {
  std::string_view name;
  std::string_view other_name = "";  ///< an alternative
  std::string_view about;            ///< one line, without readers and default
  std::string_view reader;           ///< if no strategy, codec or collective names it: when it matters
  std::string_view default_text;     ///< the default in words, if get() has none
  /// If every strategy has its own default; returns "" for a strategy that does not read the option.
  std::string (*default_text_of)(const Strategy& strategy) = nullptr;
  OptionKind kind = OptionKind::Size;
  std::vector<std::string> words;  ///< of a Choice
  /// True if the strategy, which reads the option, accepts the word; nullptr: all do.
  bool (*takes)(const Strategy& strategy, std::string_view word) = nullptr;
  void (*set)(Options& options, const std::string& value, const SourceLocation& place);
  std::string (*get)(const Options& options);
  std::optional<Tuned> tuned;
  bool of_step = false;  ///< an option of the training step: every strategy reads it
};

std::span<const OptionRow> option_rows();

/// Finds an option by either name; nullptr if there is none.
const OptionRow* option_named(std::string_view name);

/// Returns the names of the options of the training step.
std::span<const std::string_view> step_options();

/// Returns the names of strategies, codecs or collectives that read the option ("ddp, horovod"), or when it matters.
std::string readers_of(const OptionRow& option);

/// True if the option matters only with pp above 1.
bool is_pipeline_option(std::string_view option);

/// Returns the default in words: "4 MB; p3: 200 kB".
std::string default_of(const OptionRow& option);

/// Returns one line with readers, meaning and default.
std::string help_of(const OptionRow& option);

/// True if the strategy's planner reads the option.
bool reads(const Strategy& strategy, std::string_view option);

/// Returns the words of the option that the strategy accepts. REQUIRES: it reads the option.
std::vector<std::string> words_for(const OptionRow& option, const Strategy& strategy);

/// Returns the names of the readers that accept the word ("fsdp2"); "" if all do.
std::string takers_of(const OptionRow& option, std::string_view word);

/// Returns the options that `tune` may vary for this strategy, in the order of the table.
std::vector<const OptionRow*> tunable_options(const Strategy& strategy);

}  // namespace allreplay
