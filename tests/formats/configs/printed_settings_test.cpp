// The law of settings: every flag, key or call that a framework's settings print is read back, and the settings of what
// was read are the same text.
#include <algorithm>

#include <fmt/format.h>

#include "tests/catch.hpp"

#include "sim/base/core/named.hpp"
#include "sim/formats/configs/config_file.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/options.hpp"
#include "sim/studies/experiment/layouts.hpp"

using namespace allreplay;

namespace {

// An embedding, four blocks of two layers, and a head; `parameter` and `gradient` are the bytes of an element.
Profile profile_of(const std::string& precision, Bytes parameter, Bytes gradient) {
  Profile profile;
  profile.name = profile.model = "blocks";
  profile.precision = precision;
  profile.parameter_bytes = parameter;
  for (LayerId layer = 0; layer < 10; ++layer) {
    const std::string group = layer == 0 ? "embedding" : layer == 9 ? "head" : fmt::format("block{}", (layer - 1) / 2);
    profile.layers.push_back({fmt::format("l{}", layer), Time(1000), Time(2000)});
    profile.layers.back().group = group;
    profile.tensors.push_back({fmt::format("t{}", layer), 1 << 20, gradient << 20, layer});
  }
  return profile;
}

std::vector<std::string> values_of(const OptionRow& row) {
  switch (row.kind) {
    case OptionKind::Choice:
      return row.words;
    case OptionKind::Count:
      return {"2", "8"};
    case OptionKind::Duration:
      return {"3 ms"};
    case OptionKind::Wrap:
      return {"layer", "block", "8 MiB"};
    default:
      return {"8 MiB"};
  }
}

struct ReadBack {
  std::string strategy;
  Options options;
  std::map<std::string, std::string, std::less<>> flags;
};

ReadBack read_back(const std::string& text, const Profile& profile) {
  Files files;
  const std::string name = text.starts_with('{') ? "a.json" : "a.txt";
  files.add(name, text + "\n");
  ConfigFile config = read_config(files, name);
  // Recomputation is in the profile; without the key, torchtitan recomputes.
  std::erase_if(config.not_simulated, [](const std::string& one) { return one.starts_with("activation_checkpoint."); });
  CHECK(config.ignored.empty());
  CHECK(config.unknown.empty());
  CHECK(config.unset.empty());
  CHECK(config.not_simulated.empty());
  ConfigFacts facts{.precision = profile.precision, .gradient_bytes = bytes_of_gradient(profile), .hidden = 1024};
  std::vector<ConfigSetting> settings = config.settings;
  for (const ConfigSetting& one : settings) facts.given[one.flag] = one.value;
  for (const auto& later : config.later)
    for (ConfigSetting& one : later(facts)) settings.push_back(std::move(one));
  ReadBack result;
  for (const ConfigSetting& one : settings) {
    result.flags[one.flag] = one.value;
    std::string option = one.flag.substr(2);
    std::replace(option.begin(), option.end(), '-', '_');
    if (option == "strategy") result.strategy = one.value;
    if (const OptionRow* row = option_named(option)) row->set(result.options, one.value, one.place);
  }
  return result;
}

// Not for any program: without fusion, a number in a paper, a plan, code that defines buckets.
bool is_for_nobody(const std::string& framework, const std::string& text) {
  return text.empty() || text == "no flags" || text.starts_with("# ") || framework.empty() || framework == "us-byte" ||
         framework == "dear";
}

}  // namespace

TEST_CASE("settings of strategies are read back") {
  int read = 0;
  for (const Profile& profile : {profile_of("fp32", 4, 4), profile_of("bf16", 2, 2), profile_of("bf16", 2, 4)})
    for (const Strategy& strategy : strategies()) {
      std::vector<std::string_view> names(strategy.options.begin(), strategy.options.end());
      names.insert(names.end(), {"accumulate", "cycle"});
      // Muon's readers (sharding_option_rows.cpp).
      if (!strategy.plan || strategy.name == "fsdp2" || strategy.name == "megatron") names.push_back("optimizer");
      for (const std::string_view name : names) {
        const OptionRow* row = option_named(name);
        REQUIRE(row);
        for (const std::string& value : values_of(*row)) {
          Options options;
          try {
            row->set(options, value, {"test", std::string(name)});
          } catch (const InputError&) {
            continue;
          }
          if (strategy.offer.meant) options.strategy = strategy.offer.meant(options.strategy, profile);
          const std::string text = settings_of(strategy, options.strategy, profile);
          if (is_for_nobody(std::string(strategy.offer.framework), text)) continue;
          CAPTURE(strategy.name, name, value, text);
          const ReadBack back = read_back(text, profile);
          CHECK(back.strategy == strategy.name);
          CHECK(settings_of(strategy, back.options.strategy, profile) == text);
          ++read;
        }
      }
    }
  CHECK(read > 200);
}

TEST_CASE("settings of layouts are read back") {
  LayoutSearch search;
  search.tokens = 2048;
  search.workers = 64;
  search.global_batch = 64;
  search.precision = "bf16";
  search.model.layers = 4;
  int read = 0;
  for (const std::string strategy : {"megatron", "fsdp2"})
    for (const bool experts : {false, true})
      for (const std::string optimizer : {"profile", "muon"})
        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
          for (const std::int64_t pp : {1, 2})
            for (const std::int64_t chunks : {1, 2}) {
              if (pp == 1 && chunks > 1) continue;
              if (recompute == Recompute::Selective && strategy == "megatron") continue;  // its attention is fused
              search.model.experts = experts ? Experts{.count = 8, .top_k = 2, .ffn = 64} : Experts{};
              const ModelLayout layout{.pp = pp,
                                       .tp = 2,
                                       .cp = 2,
                                       .ep = experts ? 4 : 1,
                                       .ep_overlap = experts && chunks > 1 && strategy == "megatron",
                                       .schedule = pp == 1      ? ""
                                                   : chunks > 1 ? "interleaved"
                                                                : "1f1b",
                                       .chunks = chunks,
                                       .samples = 2,
                                       .micro_batches = 4,
                                       .recompute = recompute,
                                       .strategy = strategy};
              Scenario scenario;
              scenario.profile = profile_of("bf16", 2, 4);
              scenario.strategy = &find_strategy(strategy, {});
              option_named("optimizer")->set(scenario.options, optimizer, {});
              const std::string settings = framework_words(search, layout, scenario).second;
              REQUIRE(!settings.empty());
              CAPTURE(settings);
              ReadBack back = read_back(settings, scenario.profile);
              CHECK(back.strategy == strategy);
              CHECK(back.flags["--tp"] == "2");
              CHECK(back.flags["--cp"] == "2");
              CHECK(back.flags.contains("--sequence-parallel"));
              CHECK(back.flags["--ep"] == (experts ? "4" : ""));
              CHECK(back.flags["--ep-overlap"] == (layout.ep_overlap ? "true" : ""));
              CHECK(back.flags["--pp"] == (pp > 1 ? "2" : ""));
              CHECK(back.flags["--chunks"] == (chunks > 1 ? "2" : ""));
              CHECK(back.flags["--batch"] == "2");
              CHECK(back.flags["--global-batch"] == "64");
              CHECK(back.flags["--recompute"] == (recompute == Recompute::None   ? ""
                                                  : recompute == Recompute::Full ? "full"
                                                                                 : "selective"));
              CHECK(back.flags["--optimizer"] == (optimizer == "muon" ? "muon" : ""));
              ++read;
            }
  CHECK(read == 60);
}
