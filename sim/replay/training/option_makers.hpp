// Makes the rows of the table of options (options.cpp), by the kind of the value. A path of member pointers leads to
// the field of the options.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/replay/training/option_values.hpp"
#include "sim/replay/training/options.hpp"

namespace allreplay::make_option {

inline constexpr Word<bool> yes_or_no[] = {{true, "true"}, {false, "false"}};
inline constexpr std::int64_t many = 1'000'000;

/// Returns the options of FSDP, ZeRO and Megatron, of Muon and of local steps.
std::vector<OptionRow> sharding_rows();

// Returns the field of the options that a path of member pointers leads to.
template <auto... path>
auto& field(Options& options) {
  return (options.*....*path);
}
template <auto... path>
const auto& field(const Options& options) {
  return (options.*....*path);
}

// A size without a default of its own: that depends on the strategy, or is described in words.
template <auto parse, auto... path>
OptionRow optional_size(std::string_view name, std::string_view about, std::string_view reader = "",
                        std::string (*default_text_of)(const Strategy&) = nullptr, std::optional<Tuned> tuned = {}) {
  return {.name = name,
          .about = about,
          .reader = reader,
          .default_text_of = default_text_of,
          .kind = OptionKind::Size,
          .set = [](Options& o, const std::string& v, const SourceLocation& p) { field<path...>(o) = parse(v, p); },
          .get = [](const Options& o) { return field<path...>(o) ? write_size(*field<path...>(o)) : std::string(); },
          .tuned = tuned};
}

// A whole number. An optional one has its default in words.
template <std::int64_t least, std::int64_t most, auto... path>
OptionRow count(std::string_view name, std::string_view about, std::optional<Tuned> tuned = {},
                std::string_view reader = "") {
  return {.name = name,
          .about = about,
          .reader = reader,
          .kind = OptionKind::Count,
          .set = [](Options& o, const std::string& v,
                    const SourceLocation& p) { field<path...>(o) = parse_integer(v, least, most, p); },
          .get =
              [](const Options& o) {
                const std::optional<std::int64_t> value = field<path...>(o);
                return value ? std::to_string(*value) : std::string();
              },
          .tuned = tuned};
}

template <bool all_is_one, auto... path>
OptionRow share(std::string_view name, std::string_view about) {
  return {.name = name,
          .about = about,
          .kind = OptionKind::Share,
          .set = [](Options& o, const std::string& v,
                    const SourceLocation& p) { field<path...>(o) = parse_share(v, p, all_is_one); },
          .get = [](const Options& o) { return fmt::format("{}", field<path...>(o)); }};
}

// The error for an unknown word.
template <const auto& words>
std::string refusal() {
  return fmt::format("'{{}}' is neither '{}'", fmt::join(names_of(words), "' nor '"));
}
template <const auto& words, auto... path>
OptionRow choice(std::string_view name, std::string_view about, std::string_view reader = "",
                 std::string (*default_text_of)(const Strategy&) = nullptr) {
  return {
      .name = name,
      .about = about,
      .reader = reader,
      .default_text_of = default_text_of,
      .kind = OptionKind::Choice,
      .words = names_of(words),
      .set = [](Options& o, const std::string& v,
                const SourceLocation& p) { field<path...>(o) = choose_by_name(words, v, p, refusal<words>()).value; },
      .get = [](const Options& o) -> std::string {
        const std::optional value = field<path...>(o);
        return value ? std::string(name_of(words, *value)) : "";
      }};
}

// A time, which may be zero. An optional one has its default in words.
template <auto... path>
OptionRow duration(std::string_view name, std::string_view about, std::string_view reader = "",
                   std::string_view default_text = "") {
  return {.name = name,
          .about = about,
          .reader = reader,
          .default_text = default_text,
          .kind = OptionKind::Duration,
          .set = [](Options& o, const std::string& v, const SourceLocation& p) { field<path...>(o) = any_time(v, p); },
          .get =
              [](const Options& o) {
                const std::optional<Time> value = field<path...>(o);
                return value ? write_duration(*value) : std::string();
              }};
}

// Sets the default in words, for options whose get() has none.
inline OptionRow with_default(OptionRow row, std::string_view default_text) {
  row.default_text = default_text;
  return row;
}

inline OptionRow of_step(OptionRow row) {
  row.of_step = true;
  return row;
}

inline OptionRow called_also(OptionRow row, std::string_view other_name) {
  row.other_name = other_name;
  return row;
}

}  // namespace allreplay::make_option
