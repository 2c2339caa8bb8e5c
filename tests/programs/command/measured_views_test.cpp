// Every value that the views of measured jobs, logs and points show is in the document of their command.
#include <map>

#include "tests/catch.hpp"
#include "tests/programs/command/view_inputs.hpp"

#include "sim/base/core/text.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

using namespace allreplay;

namespace {

// Command lines that between them fill every hole of these views.
const char* const measured_command_lines[] = {
    "diagnose worker.csv",
    "diagnose stage.csv",
    "diagnose replica.csv",
    "diagnose kind.csv",
    "diagnose " ALLREPLAY_SOURCE_DIR "/docs/examples/sharded_job.csv",
    "diagnose " ALLREPLAY_SOURCE_DIR "/tests/fuzz/corpus/kineto/fsdp2_rank0.json " ALLREPLAY_SOURCE_DIR
    "/tests/fuzz/corpus/kineto/fsdp2_rank1.json --cluster k80-10gbe",
    "calibrate line.log.csv --workers 8 --collective double-binary-tree --option tree_bandwidth=physical",
    "calibrate steps.log.csv --workers 8",
    "calibrate line.log.csv --workers 8 two.log.csv --workers 16",
    "calibrate line.log.csv --workers 8 two.log.csv --workers 16 --table",
    "calibrate line.log.csv --workers 8 two.log.csv --workers 16 four.log.csv --workers 32",
    "calibrate nccl8.csv --workers 8 nccl16.csv --workers 16 --collective nccl --cluster gh200x4-4x200gbps",
    "validate beta.csv --where-it-matters 5%",
    "validate both.csv",
    "validate launch.csv",
    "validate collectives.csv",
};

// Names in the folder end in ".csv".
void run_in(const std::string& line, const OwnFolder& folder, Context& context) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, " "))
    words.push_back(word.ends_with(".csv") && !word.starts_with('/') ? folder(std::string(word)) : std::string(word));
  REQUIRE_NOTHROW(run_words(words, context));
}

// Times of NCCL's model on a cluster that has all its factors between nodes.
std::string nccl_log(int workers, const OwnFolder& folder) {
  Context context{{}, Console(true)};
  run_in(fmt::format("collective --cluster gh200x4-4x200gbps --workers {} --bytes 1KiB:1GiB:x4 --json", workers),
         folder, context);
  std::string text = "bytes,time_s\n";
  const JsonValue rows = JsonValue::parse(context.console.printed);
  for (const JsonValue& row : rows)
    text += fmt::format("{},{}\n", row.at("bytes").get<double>(), row.at("time_s").get<double>());
  return text;
}

}  // namespace

TEST_CASE("every key of the views of measurements is in a document") {
  const OwnFolder folder;
  view_inputs::write_to(folder);
  for (const int workers : {8, 16}) folder.write(fmt::format("nccl{}.csv", workers), nccl_log(workers, folder));
  std::map<const View*, std::vector<JsonValue>> samples;
  for (const std::string line : measured_command_lines) {
    INFO(line);
    Context context{{}, Console(true)};
    run_in(line, folder, context);
    for (auto& [view, document] : context.console.shown) samples[view].push_back(document);
  }
  for (const auto& [view, documents] : samples) {
    INFO(rendered(*view, documents.front()));
    CHECK(unresolved(*view, documents) == std::vector<std::string>());
  }
}
