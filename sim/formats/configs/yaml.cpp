#include <set>
#include <yaml-cpp/yaml.h>

#include <fmt/format.h>

#include "sim/formats/configs/entries.hpp"

namespace allreplay {

namespace {

class YamlFlattener {
 public:
  explicit YamlFlattener(const std::string& file) : entries_(file) {}

  // Bounded, since an alias may contain itself, or repeat a part exponentially often.
  void add(const YAML::Node& node, const std::string& key, int depth = 0) {
    const SourceLocation place{entries_.file(),
                               fmt::format("line {}{}{}", node.Mark().line + 1, key.empty() ? "" : ": ", key)};
    if (depth > 50 || ++parts_ > 40'000) throw InputError(place, "has too many parts", "a configuration");
    if (node.IsMap()) {
      std::set<std::string> names;
      for (const auto& member : node) {
        const YAML::Node& name = member.first;
        if (!name.IsScalar()) throw InputError(place, "has a key that is not a word", "a word");
        if (!names.insert(name.Scalar()).second)
          throw InputError(place, fmt::format("gives '{}' twice", name.Scalar()), "each key once");
        add(member.second, key_below(key, name.Scalar(), place), depth + 1);
      }
    } else if (node.IsSequence()) {
      std::size_t i = 0;
      for (const YAML::Node& item : node) add(item, key_below(key, std::to_string(i++), place), depth + 1);
    } else {
      entries_.add(key, node.IsNull() || !node.IsDefined() ? "null" : node.Scalar(), place);
    }
  }

  Entries entries() { return std::move(entries_); }

 private:
  Entries entries_;
  std::size_t parts_ = 0;
};

}  // namespace

Entries entries_of_yaml(std::string_view text, const std::string& file) {
  constexpr std::size_t most = 1 << 20;  // bytes; yaml-cpp takes 450 for each, if all are commas
  if (text.size() > most)
    throw InputError({file, ""}, fmt::format("is a YAML file of {} bytes", text.size()),
                     fmt::format("at most {}", most));
  try {
    const YAML::Node whole = YAML::Load(std::string(text));
    if (!whole.IsMap()) throw InputError({file, ""}, "is not a YAML file of keys and values", "a configuration");
    YamlFlattener flattener(file);
    flattener.add(whole, "");
    return flattener.entries();
  } catch (const YAML::Exception& error) {
    throw InputError({file, fmt::format("line {}", error.mark.line + 1)}, fmt::format("is not YAML: {}", error.msg),
                     "a configuration of Hugging Face");
  }
}

}  // namespace allreplay
