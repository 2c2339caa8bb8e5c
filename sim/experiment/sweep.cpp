#include "sim/experiment/sweep.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include "sim/core/csv.hpp"
#include "sim/core/file.hpp"
#include "sim/experiment/progress.hpp"
#include "sim/experiment/row.hpp"
#include "sim/experiment/run.hpp"
#include "sim/training/communication.hpp"

namespace allreplay {

namespace fs = std::filesystem;

namespace {

// A list that may be left out: one empty element then, which means "the default".
std::vector<std::optional<Json>> choices(const Json& sweep, std::string_view key) {
  const auto list = sweep.find(key);
  if (!list) return {std::nullopt};
  std::vector<std::optional<Json>> all;
  for (const Json& item : list->items()) all.emplace_back(item);
  if (all.empty()) list->fail("is empty", "at least one entry, or leave the key out");
  return all;
}

// A file named in the sweep: relative to the sweep's own folder when it is there.
std::string beside(const std::string& sweep_file, const std::string& name) {
  const fs::path near = fs::path(sweep_file).parent_path() / name;
  return fs::is_regular_file(near) ? near.string() : name;
}

void set_profile(Request& request, const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("profile") : json;
  if (json.is_object()) {
    json.allow_only({"profile", "forward_ratio"});
    if (const auto ratio = json.find("forward_ratio")) {
      request.forward_ratio = ratio->number();
      request.place_of_ratio = ratio->place();
    }
  }
  request.profile = beside(file, name.text());
  request.place_of_profile = json.place();
  if (!locate_data("traces", request.profile))
    name.fail(fmt::format("no profile '{}'", name.text()), suggest(name.text(), list_data("traces")));
}

void set_cluster(Request& request, const Json& json, const std::string& file) {
  const Json name = json.is_object() ? json.at("cluster") : json;
  request.cluster = beside(file, name.text());
  if (!locate_data("topologies", request.cluster))
    name.fail(fmt::format("no cluster '{}'", name.text()), suggest(name.text(), list_data("topologies")));
}

// Where a list of choices for this cluster stands: in the cluster's own entry, or in the sweep.
std::vector<std::optional<Json>> choices_of(const Json& cluster, const Json& sweep, std::string_view key) {
  return choices(cluster.is_object() && cluster.find(key) ? cluster : sweep, key);
}

constexpr std::int64_t most_rows = 100'000;

[[noreturn]] void fail_as_too_many(const Json& json) {
  json.fail(fmt::format("makes more than {} rows", most_rows), "fewer values");
}

// {"each": "random:{}", "from": 1, "to": 10000}: the text once for every number.
std::vector<OptionText> numbered_values(const std::string& option, const Json& json) {
  json.allow_only({"each", "from", "to"});
  const std::string text = json.at("each").text();
  const std::size_t hole = text.find("{}");
  if (hole == std::string::npos)
    json.at("each").fail(fmt::format("'{}' has no place for the number", text),
                         "{} where it stands, such as random:{}");
  constexpr std::int64_t most = 1'000'000'000'000;
  const std::int64_t from = json.at("from").integer(-most, most), to = json.at("to").integer(-most, most);
  if (from > to) json.fail(fmt::format("is reversed: from {} to {}", from, to), "\"from\" at most \"to\"");
  if (to - from >= most_rows) fail_as_too_many(json);
  std::vector<OptionText> values;
  for (std::int64_t number = from; number <= to; ++number)
    values.push_back({option, std::string(text).replace(hole, 2, std::to_string(number)), json.place()});
  return values;
}

// What an option shall be: one value, the values of a list, or those of a range.
std::vector<OptionText> option_values(const std::string& option, const Json& json) {
  if (json.is_object()) return numbered_values(option, json);
  if (!json.is_array()) return {{option, json.is_string() ? json.text() : json.dump(), json.place()}};
  std::vector<OptionText> values;
  for (const Json& item : json.items())
    for (OptionText& value : option_values(option, item)) values.push_back(std::move(value));
  if (values.empty()) json.fail("is empty", "at least one value");
  return values;
}

// One choice, the file's none, where the command line has decided.
std::vector<std::optional<Json>> choices_unless(const std::string& decided, const Json& cluster, const Json& sweep,
                                                std::string_view key) {
  return decided.empty() ? choices_of(cluster, sweep, key) : std::vector<std::optional<Json>>{std::nullopt};
}

// Every combination of the values of a strategy's options, the last option fastest.
std::vector<std::vector<OptionText>> option_choices(const Json& strategy) {
  std::vector<std::vector<OptionText>> choices{{}};
  if (!strategy.is_object()) return choices;
  for (const auto& [key, value] : strategy.members()) {
    if (key == "name") continue;
    const std::vector<OptionText> values = option_values(key, value);
    if (choices.size() * values.size() > most_rows) fail_as_too_many(value);
    std::vector<std::vector<OptionText>> longer;
    for (const auto& choice : choices)
      for (const OptionText& one : values) {
        longer.push_back(choice);
        longer.back().push_back(one);
      }
    choices = std::move(longer);
  }
  return choices;
}

void set_strategy(Request& request, const Json& json) {
  const Json name = json.is_object() ? json.at("name") : json;
  request.strategy = name.text();
  request.place_of_strategy = name.place();
  find_strategy(request.strategy, request.place_of_strategy);
}

}  // namespace

Sweep read_sweep(const std::string& name, const SweepOverrides& instead) {
  const std::string file = find_data("configs", name, "sweep");
  const Json json = Json::read(file);
  json.allow_only({"name", "description", "reproduces", "profiles", "clusters", "workers", "collectives", "fidelities",
                   "codecs", "strategies", "plot"});
  for (const auto key : {"profiles", "clusters", "strategies"}) json.at(key);
  Sweep sweep;
  if (const auto given = json.find("name")) sweep.name = given->text();
  if (const auto plot = json.find("plot")) plot->members();  // an object; tools/plot.py knows its keys
  if (const auto figure = json.find("reproduces")) sweep.reproduces = figure->text();
  for (const auto& profile : choices(json, "profiles"))
    for (const auto& cluster : choices(json, "clusters")) {
      if (cluster->is_object())
        cluster->allow_only({"cluster", "workers", "collectives", "fidelities", "codecs", "strategies"});
      for (const auto& workers : choices_of(*cluster, json, "workers"))
        for (const auto& collective : choices_unless(instead.collective, *cluster, json, "collectives"))
          for (const auto& fidelity : choices_unless(instead.fidelity, *cluster, json, "fidelities"))
            for (const auto& codec : choices_unless(instead.codec, *cluster, json, "codecs"))
              for (const auto& strategy : choices_of(*cluster, json, "strategies")) {
                Request request;
                request.collective = instead.collective;
                request.place_of_collective = instead.place_of_collective;
                request.fidelity = instead.fidelity;
                request.place_of_fidelity = instead.place_of_fidelity;
                request.codec = instead.codec;
                request.place_of_codec = instead.place_of_codec;
                request.reuse = instead.reuse;
                set_profile(request, *profile, file);
                set_cluster(request, *cluster, file);
                if (workers) {
                  request.workers = workers->integer(1, most_workers);
                  request.place_of_workers = workers->place();
                }
                if (collective) {
                  request.collective = collective->text();
                  request.place_of_collective = collective->place();
                }
                if (fidelity) {
                  request.fidelity = fidelity->text();
                  request.place_of_fidelity = fidelity->place();
                }
                if (codec) {
                  request.codec = beside(file, codec->text());
                  request.place_of_codec = codec->place();
                }
                set_strategy(request, *strategy);
                for (auto& options : option_choices(*strategy)) {
                  if (sweep.requests.size() == most_rows) fail_as_too_many(json);
                  request.options = std::move(options);
                  sweep.requests.push_back(request);
                }
              }
    }
  return sweep;
}

namespace {

// The complete rows that an interrupted run left in `file`, if they are the first rows of this sweep. What follows
// the last line end is a row that was cut off. Throws when the file is of another sweep.
std::size_t rows_done(const std::string& file, const std::string& header, const std::vector<Row>& identities,
                      std::uintmax_t& length) {
  length = 0;
  if (!fs::exists(file)) return 0;
  std::string text = read_file(file);
  if ((header + "\n").starts_with(text)) return 0;  // cut off before the first row
  text.erase(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  length = text.size();
  const std::vector<CsvRow> rows = parse_csv(text, file);
  const auto columns = parse_csv(header, file).front().fields;
  if (rows.empty() || rows.front().fields != columns)
    throw InputError({file, "line 1"}, "has other columns than this version writes",
                     "sweep without --resume, to another file");
  if (rows.size() - 1 > identities.size())
    throw InputError({file, ""}, fmt::format("has {} rows, the sweep {}", rows.size() - 1, identities.size()),
                     "the file of this sweep");
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (const Column& expected : identities[i - 1]) {
      const auto column =
          static_cast<std::size_t>(std::find(columns.begin(), columns.end(), expected.name) - columns.begin());
      const std::string want = plain_text(expected.cell);
      if (rows[i].fields.size() != columns.size() || rows[i].fields[column] != want)
        throw InputError({file, fmt::format("line {}", rows[i].line)}, fmt::format("is not the sweep's row {}", i),
                         fmt::format("{} = '{}' there; is it the file of another sweep?", expected.name, want));
    }
  return rows.size() - 1;
}

// A sweep may write over its own earlier result, never over anything else.
void require_result_or_nothing(const std::string& file, const std::string& header) {
  if (!fs::is_regular_file(file) || fs::file_size(file) == 0) return;
  std::ifstream stream(file);
  std::string first;
  std::getline(stream, first);
  if (first != header) throw InputError({file, ""}, "exists and is no result of a sweep", "another file");
}

class CsvOut {
 public:
  CsvOut(const SweepRun& how, const std::string& header, const std::vector<Row>& identities) : file_(how.out) {
    if (!how.out) return;
    if (!how.resume) require_result_or_nothing(*how.out, header);
    std::uintmax_t keep = 0;
    if (how.resume) done_ = rows_done(*how.out, header, identities, keep);
    if (keep > 0) fs::resize_file(*how.out, keep);
    stream_.open(*how.out, keep > 0 ? std::ios::app : std::ios::trunc);
    if (keep == 0) stream_ << header << '\n' << std::flush;
    require_written();
  }

  std::size_t done() const { return done_; }

  void write(const std::string& line) {
    if (!file_) return;
    stream_ << line + "\n" << std::flush;  // one write a row, so that a kill leaves at most one cut
    require_written();
  }

 private:
  void require_written() const {
    if (!stream_)
      throw InputError({*file_, ""}, fmt::format("cannot be written: {}", std::strerror(errno)),
                       "check the folder, its rights and its space");
  }

  std::optional<std::string> file_;
  std::size_t done_ = 0;
  std::ofstream stream_;
};

// What names each row, once all rows are known to be possible.
std::vector<Row> checked_rows(const Sweep& sweep, Library& library) {
  std::vector<Row> rows;
  std::map<std::string, std::string>
      files;  // rows name a profile by its file's stem: two files of one name could not be told apart
  for (const Request& request : sweep.requests) {
    const Scenario scenario = library.resolve(request);
    require_possible(scenario);
    const auto [known, fresh] = files.emplace(scenario.profile.name, request.profile);
    if (!fresh && known->second != request.profile)
      throw InputError(request.place_of_profile, fmt::format("two profiles are called '{}'", known->first),
                       "files of different names");
    rows.push_back(identity(scenario));
  }
  return rows;
}

// What the table and the rows do not need; of tens of thousands it would fill the memory.
void forget_details(Outcome& outcome) {
  outcome.scenario.profile.layers = {};
  outcome.scenario.profile.tensors = {};
  outcome.result.episodes = {};
  outcome.result.unrolled = {};
  outcome.result.plan = {};
}

}  // namespace

std::vector<Outcome> run_sweep(const Sweep& sweep, const SweepRun& how) {
  Library library;
  const std::vector<Row> identities = checked_rows(sweep, library);
  CsvOut out(how, csv_header(), identities);
  std::vector<Outcome> outcomes;
  std::size_t next = out.done();
  Progress progress("sweep", how.progress ? sweep.requests.size() - next : 0);

  namespace tbb = oneapi::tbb;
  const auto jobs = static_cast<std::size_t>(how.jobs);
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, jobs);
  const auto take = [&](tbb::flow_control& control) -> Scenario {
    if (next < sweep.requests.size()) return library.resolve(sweep.requests[next++]);
    control.stop();
    return {};
  };
  const auto simulate_row = [](Scenario scenario) { return run(std::move(scenario)); };
  const auto keep_row = [&](Outcome outcome) {
    out.write(to_csv(row_of(outcome)));
    forget_details(outcome);
    outcomes.push_back(std::move(outcome));
    if (how.progress) progress.advance();
  };
  tbb::parallel_pipeline(2 * jobs, tbb::make_filter<void, Scenario>(tbb::filter_mode::serial_in_order, take) &
                                       tbb::make_filter<Scenario, Outcome>(tbb::filter_mode::parallel, simulate_row) &
                                       tbb::make_filter<Outcome, void>(tbb::filter_mode::serial_in_order, keep_row));
  return outcomes;
}

}  // namespace allreplay
