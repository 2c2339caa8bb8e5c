// Every option that a run takes, under the one name that files and the command line use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collective/algorithm.hpp"
#include "sim/core/error.hpp"
#include "sim/core/named.hpp"
#include "sim/network/alpha_beta.hpp"
#include "sim/pipeline/parallelism.hpp"
#include "sim/schedule/strategy.hpp"

namespace allreplay {

/// The type of elements on the wire.
enum class Dtype : std::uint8_t { Fp32, Bf16, Fp16 };
inline constexpr Word<Dtype> dtype_words[] = {{Dtype::Fp32, "fp32"}, {Dtype::Bf16, "bf16"}, {Dtype::Fp16, "fp16"}};
inline Bytes bytes_of(Dtype dtype) { return dtype == Dtype::Fp32 ? 4 : 2; }
struct Dtypes {
  std::optional<Dtype> gradient, parameter;  ///< the profile's own if not given
};

/// What a worker's memory holds, and may hold.
struct MemoryOptions {
  std::optional<double> state;  ///< the optimizer's, bytes per element: 12 where parameters have 2 bytes, else 8
  std::optional<Bytes> limit;
};

/// When a collective starts where workers are ready apart.
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
  std::optional<Time> update;                ///< instead of the profile's
  std::optional<std::int64_t> global_batch;  ///< samples of an iteration, which say how many micro-batches there are
  MemoryOptions memory;
  Start start = Start::Together;
  Time launch{0};                                ///< of each collective, on its lane
  Time launch_tensor{0};                         ///< of each tensor, when it is first launched
  std::map<std::string, SourceLocation> places;  ///< of the options that were set
  std::int64_t iterations = 100;                 ///< replayed when there is jitter; without it the period is exact

  /// Sets one option from its text. Throws InputError at `place` for an unknown name or a bad value.
  void set(std::string_view name, const std::string& value, const SourceLocation& place);

  /// Where the option was set; nowhere in particular when it was not.
  SourceLocation place_of(const std::string& name) const;

  /// The option's value as a user would write it.
  std::string get(std::string_view name) const;
};

/// What an option's value is.
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
  Cut
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
};

/// What `tune` may make of an option, on a logarithmic scale: counts, bytes or seconds.
struct Tuned {
  double low = 1, high = 1;
};

/// All that there is to know of an option. Adding one is a field of Options' parts and a row.
struct OptionRow {
  std::string_view name;
  std::string_view other_name = "";  ///< by which it is known, too
  std::string_view about;            ///< one line, without who reads it and its default
  std::string_view reader;        ///< where no strategy's, codec's or collective's row names the option: when it counts
  std::string_view default_text;  ///< the default in words, where get() has none
  std::string (*default_text_of)(const Strategy& strategy) =
      nullptr;  ///< where every strategy has its own; "": reads none
  OptionKind kind = OptionKind::Size;
  std::vector<std::string> words;  ///< of a Choice
  bool (*takes)(const Strategy& strategy,
                std::string_view word) = nullptr;  ///< where some strategy that reads it does not take every word
  void (*set)(Options& options, const std::string& value, const SourceLocation& place);
  std::string (*get)(const Options& options);
  std::optional<Tuned> tuned;
  bool of_step = false;  ///< of the training step itself: every strategy reads it
};

std::span<const OptionRow> option_rows();

/// By its name, or its other one; nullptr.
const OptionRow* option_named(std::string_view name);

/// The names of those of the training step.
std::span<const std::string_view> step_options();

/// "ddp, horovod": whose rows name the option; or when it counts.
std::string readers_of(const OptionRow& option);

/// Whether the option counts with pp above 1 alone.
bool of_pipelines(std::string_view option);

/// "4 MB; p3: 200 kB".
std::string default_of(const OptionRow& option);

/// One line: who reads it, what it is, its default.
std::string help_of(const OptionRow& option);

/// Whether the strategy's planner reads the option.
bool reads(const Strategy& strategy, std::string_view option);

/// Of an option's words those that the strategy takes. REQUIRES: it reads the option.
std::vector<std::string> words_for(const OptionRow& option, const Strategy& strategy);

/// "fsdp2": which of its readers take the word; "" where all do.
std::string takers_of(const OptionRow& option, std::string_view word);

/// Those that `tune` may vary for this strategy, in the order of the table.
std::vector<const OptionRow*> tunable_options(const Strategy& strategy);

}  // namespace allreplay
