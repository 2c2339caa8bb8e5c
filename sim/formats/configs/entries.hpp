// A configuration file as a flat list of keys and values, whatever its syntax.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/core/error.hpp"

namespace allreplay {

/// One value of a file: "parallelism.tensor_parallel_degree" is "8".
struct Entry {
  std::string key, value;
  SourceLocation place;
  bool is_read = false;
};

/// The values of a file. A key is found once its value says something: not null, None or "auto".
class Entries {
 public:
  /// `from_shell`: the values are words of a shell script, whose flags have none.
  explicit Entries(std::string file, bool from_shell = false) : file_(std::move(file)), from_shell_(from_shell) {}

  const std::string& file() const { return file_; }
  bool is_from_shell() const { return from_shell_; }

  /// Throws InputError beyond 5,000 values, which no configuration has, and as key_below().
  void add(std::string key, std::string value, SourceLocation place);
  /// Replaces the value of the key if there is one, as the last of several arguments does.
  void set(const std::string& key, std::string value, const SourceLocation& place);
  /// Adds the values of another file whose keys are not here.
  void add_missing(const Entries& other);

  /// The value of the key, which counts as read; null if there is none.
  const Entry* find(std::string_view key);
  /// True if some key starts with `prefix`. Reads nothing.
  bool has(std::string_view prefix) const;
  /// All values of a list, or the value itself. They count as read.
  std::vector<const Entry*> all_of(std::string_view key);
  /// True if the key has the value "auto", for which Hugging Face fills in the value itself.
  bool is_auto(std::string_view key);

  /// A whole number, at least `least`. Throws InputError at its place.
  std::optional<std::int64_t> count(std::string_view key, std::int64_t least = 1);
  /// True for true, yes, on, 1; also if the key has no value. False if it is absent. Throws InputError.
  bool flag(std::string_view key);
  std::string text(std::string_view key);  ///< "" if absent

  std::vector<const Entry*> unread() const;
  /// All keys that were looked for, here or not.
  const std::set<std::string, std::less<>>& asked() const { return asked_; }
  /// Keys that were looked for, but whose value is a variable that the script does not set: "--micro-batch-size $MBS".
  const std::vector<std::string>& unset() const { return unset_; }

 private:
  Entry* at(std::string_view key);

  std::string file_;
  bool from_shell_;
  std::vector<std::string> unset_;
  std::set<std::string, std::less<>> asked_;
  std::vector<Entry> all_;
  std::map<std::string, std::size_t, std::less<>> places_;  // in all_, by key
};

/// The key of a member: "training.steps" of `name` "steps" below "training"; `name` itself below "". Throws InputError
/// for a key that is longer than a name may be, so that deep files need no more memory than flat ones, or not visible.
std::string key_below(const std::string& key, std::string_view name, const SourceLocation& place);

// Readers of each syntax. They throw InputError.
Entries entries_of_toml(std::string_view text, const std::string& file);
Entries entries_of_yaml(std::string_view text, const std::string& file);
Entries entries_of_json(std::string_view text, const std::string& file);

/// The arguments in a shell script, or those that Megatron-LM prints at its start. "--micro-batch-size 2" and
/// "micro_batch_size ....... 2" are the same key, micro_batch_size; "--training.seq_len" is training.seq_len.
/// Variables that the script sets are replaced. NAME=value before a command is the key NAME.
Entries entries_of_arguments(std::string_view text, const std::string& file);

}  // namespace allreplay
