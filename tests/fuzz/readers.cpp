#include "tests/fuzz/readers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "tests/fuzz/words.hpp"
#include "tests/studies/calibration/logs.hpp"

#include "sim/base/core/file.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/base/core/text.hpp"
#include "sim/formats/configs/config_file.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/formats/interchange/timelines/kineto_steps.hpp"
#include "sim/formats/interchange/timelines/readers.hpp"
#include "sim/formats/interchange/timelines/sharded_steps.hpp"
#include "sim/inputs/estimate/computation.hpp"
#include "sim/inputs/estimate/device.hpp"
#include "sim/inputs/estimate/transformer.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/output/report/diagnosis_report.hpp"
#include "sim/output/report/jobs_report.hpp"
#include "sim/output/report/run_report.hpp"
#include "sim/plans/collective/collective_file.hpp"
#include "sim/plans/pipeline/rows.hpp"
#include "sim/plans/pipeline/schedules.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/calibration/calibration.hpp"
#include "sim/studies/calibration/measured_file.hpp"
#include "sim/studies/diagnosis/diagnosis.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/jobs/goodput.hpp"
#include "sim/studies/jobs/jobs_run.hpp"
#include "sim/studies/jobs/jobs_sweep.hpp"
#include "sim/studies/results/row.hpp"
#include "sim/studies/results/sweep_result.hpp"
#include "sim/studies/search/plan_of.hpp"

using namespace allreplay;

namespace {

constexpr auto here = "fuzz";  // the file that texts are said to stand in

// The shipped files of a folder that are small enough to change thousands of times.
std::vector<std::string> files_of(const char* folder) {
  constexpr std::size_t most = 20'000;
  std::vector<std::string> texts;
  for (const std::string& name : Files().list_data(folder)) {
    std::string text = Files().read(Files().find_data(folder, name, "file"));
    if (text.size() <= most) texts.push_back(std::move(text));
  }
  return texts;
}

Profile two_layers() {
  Profile profile;
  profile.name = profile.model = "two";
  profile.precision = "fp32";
  for (const char* name : {"a", "b"}) profile.layers.push_back({name, Time(1'000'000), Time(2'000'000)});
  profile.tensors = {{"a.w", 1000, 4000, 0}, {"a.b", 10, 40, 0}, {"b.w", 5000, 20'000, 1}};
  return profile;
}

Profile eight_layers() {
  Profile profile = two_layers();
  for (const char* name : {"c", "d", "e", "f", "g", "h"}) profile.layers.push_back({name, Time(1000), Time(2000)});
  return profile;
}

Scenario small_scenario(const Profile& profile, std::string_view strategy) {
  Scenario scenario;
  scenario.profile = profile;
  scenario.cluster.name = "small";
  scenario.cluster.workers = scenario.workers = 4;
  scenario.cluster.network.alpha = 1e-5;
  scenario.cluster.network.beta = 1e-9;
  scenario.strategy = &find_strategy(strategy, {here, "/strategy"});
  return scenario;
}

// Two ranks of a pipeline, with what the file of rows says.
void run_pipeline(const Profile& profile, const std::string& schedule,
                  std::shared_ptr<const GivenRows> rows = nullptr) {
  Scenario scenario = small_scenario(profile, "wfbp");
  scenario.workers = 2;
  scenario.options.set("pp", "2", {here, "/pp"});
  scenario.options.set("accumulate", "2", {here, "/accumulate"});
  scenario.options.set("schedule", schedule, {here, "/schedule"});
  scenario.options.parallel.given = std::move(rows);
  const auto silent = [](const Layer& layer) { return !layer.output_bytes; };
  if (std::any_of(profile.layers.begin(), profile.layers.end(), silent))
    scenario.options.set("p2p_bytes", "1 kB", {here, "/p2p_bytes"});
  run(scenario);
}

void read_a_profile(const std::string& text) {
  const Profile profile = parse_profile(Files(), text, here);
  if (profile.layers.size() > 100 || profile.tensors.size() > 300) return;
  for (const char* strategy : {"mg-wfbp", "us-byte"}) run(small_scenario(profile, strategy));
  // The profiles that pipelines accept.
  if (!profile.degrees && profile.layers.size() > 1 && profile.layers.front().output_bytes)
    run_pipeline(profile, "1f1b");
}

std::vector<std::string> profiles() {
  std::vector<std::string> texts = files_of("traces");
  texts.emplace_back("layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n");
  texts.emplace_back(
      "layer,params,tensors,forward_us,backward_us,update_us,group\na,1020,50x20;20,10,20,1,g\nb,2,,30,60,,\n");
  texts.emplace_back(
      R"({"model": {"name": "m", "layers": [{"name": "a", "tensors": [{"name": "w", "shape": [10]}]}, {"name": "b", "tensors": []}]},
"device": "d", "framework": "f", "precision": "fp32", "origin": "measured", "batch_size": 8, "source": "s", "unit": "us", "update": 3,
"layers": [{"name": "a", "forward": 1, "backward": 2}, {"name": "b", "forward": 1, "backward": 2, "group": "g", "activation_bytes": 100}]})");
  texts.emplace_back(
      R"({"model": {"name": "m", "layers": [{"name": "a", "tensors": [{"name": "w", "shape": [10]}]}, {"name": "b", "tensors": [{"name": "v", "shape": [10]}]}]},
"device": "d", "framework": "f", "precision": "bf16", "origin": "estimated", "batch_size": 8, "source": "s", "unit": "us", "tied": ["w", "v"],
"parallel": {"tp": 1, "cp": 1},
"layers": [{"name": "a", "forward": 1, "backward": 2, "backward_weight": 1, "output_bytes": 1000,
            "collectives": [{"op": "all-reduce", "group": "tp", "bytes": 1000, "pass": "forward"}, {"op": "all-to-all", "group": "ep", "bytes": 10, "pass": "backward"}]},
           {"name": "b", "forward": 1, "backward": 2, "output_bytes": 0}]})");
  return texts;
}

// Reads a schedule of two ranks.
void read_a_schedule(const std::string& text) {
  auto given = std::make_shared<GivenRows>();
  given->file = here;
  given->rows = parse_rows(text, here);
  const RowIndex index = index_of(given->rows, 2, {here, ""});
  require_parameter_words(given->rows, index, {here, ""});
  if (index.chunks() > 8 || index.micro_batches != 2) return;
  run_pipeline(eight_layers(), here, std::move(given));
}

std::vector<std::string> schedule_texts() {
  std::vector<std::string> texts;
  for (const ScheduleRow& row : schedules()) try {
      texts.push_back(write_rows(make_rows(row, {.ranks = 2, .chunks = row.chunks, .micro_batches = 2})));
    } catch (const InputError&) {  // too few micro-batches
    }
  texts.emplace_back(
      "0UNSHARD,0F0,0F1,0SEND_F0,0SEND_F1,0B0,0B1,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1,1REDUCE_"
      "GRAD\n");
  return texts;
}

void run_a_collective(const std::shared_ptr<const CollectiveFile>& file, std::int64_t workers) {
  if (file->algorithm.operation != CollectiveOp::AllReduce) return;
  Scenario scenario = small_scenario(two_layers(), "wfbp");
  scenario.workers = workers;
  scenario.collective = file->name;
  scenario.collective_files.emplace(file->name, file);
  run(scenario);
}

void read_a_collective(const std::string& text) { run_a_collective(read_collective(Json::parse(text, here)), 4); }

void read_an_xml(const std::string& text) { run_a_collective(read_msccl(text, here), 2); }

// An exchange of two, by whole steps and through scratch.
std::vector<std::string> xmls() {
  const auto exchange = [](std::string_view first, std::string_view second, std::string_view block) {
    std::string text = R"(<algo name="x" nchunksperloop="1" ngpus="2" coll="allreduce" inplace="1">)";
    for (int gpu = 0; gpu < 2; ++gpu)
      text += fmt::format(R"(<gpu id="{}" s_chunks="1"><tb id="0" send="{}" recv="{}" chan="0">{}{}</tb>{}</gpu>)", gpu,
                          1 - gpu, 1 - gpu, first, second, block);
    return text + "</algo>";
  };
  constexpr std::string_view send =
      R"(<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1"/>)";
  return {exchange(send, R"(<step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1"/>)", ""),
          exchange(send, R"(<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1"/>)",
                   R"(<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="re" srcbuf="s" srcoff="0" dstbuf="i" )"
                   R"(dstoff="0" cnt="1" depid="0" deps="1"/></tb>)")};
}

std::vector<std::string> collectives() {
  return {
      R"({"name": "exchange", "operation": "all-reduce", "ranks": 4, "chunks": 1, "rounds": [
{"sends": [{"from": 0, "to": 1, "chunk": 0, "reduce": true}, {"from": 1, "to": 0, "chunk": 0, "reduce": true},
           {"from": 2, "to": 3, "chunk": 0, "reduce": true}, {"from": 3, "to": 2, "chunk": 0, "reduce": true}]},
{"sends": [{"from": 0, "to": 2, "chunk": 0, "reduce": true}, {"from": 2, "to": 0, "chunk": 0, "reduce": true},
           {"from": 1, "to": 3, "chunk": 0, "reduce": true}, {"from": 3, "to": 1, "chunk": 0, "reduce": true}]}]})",
      R"({"name": "chain", "operation": "broadcast", "ranks": 3, "chunks": 2, "rounds": [
{"sends": [{"from": 0, "to": 1, "chunk": 0, "count": 2}]}, {"sends": [{"from": 1, "to": 2, "chunk": 0, "count": 2, "stream": 0}]}]})",
      R"({"name": "halves", "operation": "reduce-scatter", "ranks": 2, "chunks": 2, "rounds": [
{"repeat": 1, "sends": [{"from": 0, "to": 1, "chunk": 1, "reduce": true}, {"from": 1, "to": 0, "chunk": 0, "reduce": true}]}]})",
      R"({"name": "both", "operation": "all-gather", "ranks": 2, "chunks": 2, "rounds": [
{"sends": [{"from": 0, "to": 1, "chunk": 0}, {"from": 1, "to": 0, "chunk": 1}]}]})"};
}

void read_a_reliability(const std::string& text) {
  const Reliability reliability = read_reliability(Json::parse(text, here));
  if (reliability.horizon && *reliability.horizon > 1e3 * reliability.mtbf) return;
  GoodputJob job{.nodes = 4, .iteration_s = 1, .samples_per_s = 8};
  job.relative_throughput = [](std::int64_t nodes) { return static_cast<double>(nodes) / 4; };
  const Goodput goodput = goodput_of(reliability, job, {here, ""});
  for (const double part :
       {goodput.chosen.useful_fraction, goodput.optimal.useful_fraction, goodput.simulated.useful_fraction})
    require(part >= 0 && part <= 1, "a part of the time that is none");
  require(JsonValue::accept(json_text(goodput_json(goodput))), "an answer that is no JSON");
}

std::vector<std::string> reliabilities() {
  return {
      R"({"mtbf": "200 d", "checkpoint": "60 s", "restart": "5 min"})",
      R"({"mtbf": "1 h", "checkpoint": "1 s", "restart": "0 s", "interval": "30 min", "repair": "2 h", "spares": 1, "elastic": true, "horizon": "30 d", "seed": 7})",
      R"({"mtbf": "2e6 s", "checkpoint": "0 s", "restart": "1 min", "interval": 100, "repair": "1 d", "spares": 0})"};
}

// As Library::resolve() makes of it, among few workers.
void read_a_cluster(const std::string& text) {
  const Json json = Json::parse(text, here);
  Scenario scenario = small_scenario(two_layers(), "dear");
  scenario.cluster = read_cluster(json);
  read_stragglers(json, scenario.cluster.workers);
  scenario.workers = std::min<std::int64_t>(scenario.cluster.workers, 8);
  scenario.stragglers = read_stragglers(json, scenario.workers);
  for (const auto& [name, value] : scenario.cluster.network.options)
    scenario.options.set(name, value, {here, "/network/" + name});
  if (scenario.options.iterations > 20 || scenario.options.collective.chunks > 20) return;
  run(scenario);
}

void read_a_plan(const std::string& text) {
  const Profile profile = two_layers();
  Scenario scenario = small_scenario(profile, "wfbp");
  Plan plan = read_plan(Json::parse(text, here), profile, scenario.workers);
  if (plan.sharding.accumulate > 100) return;
  take_plan(scenario, here, std::move(plan));
  run(scenario);
}

std::vector<std::string> plans() {
  const Profile profile = two_layers();
  std::vector<std::string> texts;
  for (const Strategy& strategy : strategies())
    for (const std::int64_t accumulate : {1, 2}) {
      Scenario scenario = small_scenario(profile, strategy.name);
      scenario.options.strategy.sharding.accumulate = accumulate;
      scenario.options.strategy.outer.sync_every = 2;
      texts.push_back(write_plan(plan_of(scenario), profile));
      scenario.options.strategy.sharding.zero = 1;
      if (is_compatible(scenario)) texts.push_back(write_plan(plan_of(scenario), profile));
      scenario.options.parallel.pp = 2;
      scenario.options.parallel.p2p_bytes = 1000;
      for (const std::int64_t zero : {0, 1}) {
        scenario.options.strategy.sharding.zero = zero;
        if (is_compatible(scenario)) texts.push_back(write_plan(plan_of(scenario), profile));
      }
    }
  texts.emplace_back(R"({"order": "priority", "window": {"bytes": 4000}, "stages": ["reduce-scatter", "all-gather"],
"blocks": [{"slices": ["a.w", "b.w"], "priority": 1}, {"slices": [{"tensor": "a.b", "offset": 0, "bytes": 40}]}]})");
  return texts;
}

// Returns a scenario of two stages on two workers.
Scenario staged_scenario(const Profile& profile) {
  Scenario scenario = small_scenario(profile, "wfbp");
  scenario.workers = 2;
  return scenario;
}

void read_a_staged_plan(const std::string& text) {
  const Profile profile = eight_layers();
  Scenario scenario = staged_scenario(profile);
  Plan plan = read_plan(Json::parse(text, here), profile, scenario.workers);
  if (plan.sharding.accumulate > 100) return;
  take_plan(scenario, here, std::move(plan));
  run(scenario);
}

std::vector<std::string> staged_plans() {
  const Profile profile = eight_layers();
  std::vector<std::string> texts;
  for (const ScheduleRow& row : schedules()) try {
      Scenario scenario = staged_scenario(profile);
      for (const auto& [name, value] : {std::pair{"pp", "2"}, {"accumulate", "4"}, {"p2p_bytes", "1 kB"}})
        scenario.options.set(name, value, {here, ""});
      scenario.options.set("schedule", std::string(row.name), {here, ""});
      texts.push_back(write_plan(plan_of(scenario), profile));
    } catch (const InputError&) {  // what this schedule asks for and eight layers lack
    }
  return texts;
}

// Few workers: what is long here is refused or is long for a reason.
bool is_small(const JobsFile& file) {
  const auto small = [](const JobEntry& job) {
    return job.workers <= 8 && !job.reliability && job.request.options.empty();
  };
  return file.inline_cluster && file.jobs.size() <= 3 && std::all_of(file.jobs.begin(), file.jobs.end(), small);
}

void read_a_jobs_file(const std::string& text) {
  const Files files;
  JobsFile file = read_jobs(files, Json::parse(text, "docs/examples/fuzz"));  // with the files that it names
  file.limits.steps = 100'000;
  if (!is_small(file) || read_cluster(*file.inline_cluster).workers > 64) return;
  Library library;
  JobsRunner runner(library, files, file);
  const JobsResult result = runner.run(choices_of(file), starts_of(file));
  require(JsonValue::accept(json_text(jobs_json(result, nullptr, true))), "an answer that is no JSON");
}

std::vector<std::string> jobs_files() {
  const std::string cluster =
      R"("cluster": {"name": "c", "workers": 8, "network": {"alpha": "1 us", "gamma": "0 s/B", "collective": "ring",
"topology": {"kind": "fat-tree", "ports": 4, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}, "warm_up": 1, "iterations": 2)";
  const auto file = [&](const char* fidelity, const char* rest) {
    return fmt::format(R"({{"name": "n", {}, "fidelity": "{}", {}}})", cluster, fidelity, rest);
  };
  const char* two =
      R"("jobs": [{"name": "a", "profile": "six_layers.json", "strategy": "ddp", "workers": 3, "placement": ["h0", "h3", "h5"]},
{"name": "b", "profile": "six_layers.json", "workers": 4, "placements": ["random:1", "spread"], "start": "1 ms", "iterations": 3, "jitter": {"distribution": "lognormal", "sigma": 0.1}}],
"background": [{"from": "h0", "to": "h7", "rate": "1 Gbit/s", "on": "2 ms", "off": "3 ms", "seed": 1}, {"link": ["h1", "edge0"], "rate": "1 GB/s"}],
"events": [{"at": "1 ms", "for": "2 ms", "link": ["edge0", "agg1"], "bandwidth": "x0.5"}, {"at": "1 ms", "node": "h3", "stall": "1 ms"},
{"at": "2 ms", "job": "b", "worker": 1, "slowdown": 2}, {"at": "2 ms", "for": "1 ms", "node": "agg1", "down": true}])";
  return {
      file("fluid", two), file("message", two),
      file("fluid",
           R"("jobs": [{"profile": "six_layers.json", "workers": 2}, {"profile": "six_layers.json", "workers": 2}])")};
}

void read_a_sweep(const std::string& text) {
  const Json json = Json::parse(text, "configs/fuzz");  // in the folder of the files that sweeps name
  if (json.is_object() && json.find("jobs")) {
    read_jobs_sweep({}, json);
    return;
  }
  const Sweep sweep = read_sweep({}, json);
  Library library;
  if (sweep.requests.empty()) return;
  for (const std::size_t row : {std::size_t{0}, sweep.requests.size() - 1})
    require_possible(library.resolve(sweep.requests[row]));
}

void read_a_codec(const std::string& text) {
  const CodecCosts costs = read_codec(Json::parse(text, here), "codec");
  const Compression compression(costs, {}, 4, 4);
  for (const Bytes bytes : {Bytes{4}, Bytes{1} << 20, Bytes{1} << 40})
    require(compression.wire_bytes(bytes) >= 0 && compression.encode(bytes) >= Time(0), "a codec that takes back");
}

void read_a_log(const std::string& text) {
  LogRequest request;
  request.workers = 8;
  const MeasurementLog log = read_measurements(text, here, request);
  for (const Measurement& one : log.points) require(one.bytes > 0 && one.seconds > 0, "a measurement of nothing");
  calibrate(log, {});
}

std::vector<std::string> logs() {
  using namespace test_logs;
  const auto law = [](Bytes bytes) { return 1e-5 + 1e-9 * static_cast<double>(bytes); };
  const auto sizes = doublings(8, 1 << 20);
  return {nccl_tests(sizes, law, 8),
          nccl_tests(sizes, law, 8, "half", "all_gather_perf"),
          osu(sizes, law),
          osu(sizes, law, true),
          imb("Allreduce", sizes, law, 8),
          imb("Alltoall", sizes, law, 8),
          "bytes,time_us\n8,10\n1024,20\n65536,40\n",
          "bytes,workers,time_us\n8,8,1\n1024,8,2\n8,4,1\n1024,4,2\n"};
}

void read_a_transformer(const std::string& text) {
  const Json json = Json::parse(text, here);
  const Transformer transformer = read_transformer(json);
  if (transformer.layers <= 200) build(transformer, transformer.tokens(), json.place());
}

void read_a_device(const std::string& text) { parse_device(Json::parse(text, here), "device"); }

void read_a_model(const std::string& text) {
  const Model model = read_model(Json::parse(text, here));
  from_model(model, {here, ""}, 0);
}

void read_a_measured_table(const std::string& text) { parse_measured_file({}, text, here); }

std::vector<std::string> measured_tables() {
  return {
      "profile,cluster,workers,strategy,forward_ratio,group,calibrate,bucket_cap,iteration_s\n"
      "googlenet_k80_b32,k80-10gbe,4,ddp,,first,,25 MB,0.5\n"
      "resnet50_k80_b16,k80-10gbe,8,ddp,0.5,second,alpha by cluster;update,1 MB,0.25\n",
      "cluster,collective,fidelity,workers,bytes,time_s\nk80-10gbe,ring,alpha-beta,4,1024,0.001\n"
      "fat-tree-4,halving-doubling,fluid,8,1 MB,0.002\n"};
}

void read_a_result(const std::string& text) { sweep_result_of(parse_results(text, here)); }

std::vector<std::string> results() {
  std::string text = csv_header(row_keys()) + "\n";
  for (const char* strategy : {"wfbp", "ddp", "p3"})
    for (const std::int64_t workers : {2, 4}) {
      Scenario scenario = small_scenario(two_layers(), strategy);
      scenario.workers = workers;
      text += to_csv(row_of(run(scenario))) + "\n";
    }
  return {text};
}

void read_a_job(const std::string& text) {
  ByteSource source(here, text);
  MeasuredJob job{.files = {here}, .lines = is_op_table(source.head())};
  const StepChoice all;
  OpReader reader(job, all);
  (job.lines ? read_op_table : read_op_trace)(source, reader, job);
  if (job.ops.empty()) return;
  const Diagnosis known = diagnose(std::move(job), [](std::size_t) { return [] {}; });
  require(std::isfinite(known.slowdown) && known.slowdown > 0, "a slowdown that is none");
  require(JsonValue::accept(json_text(diagnosis_json(known))), "an answer that is no JSON");
}

// The text twice, as traces of two ranks.
void read_a_kineto_job(const std::string& text) {
  std::vector<kineto::ShardedTrace> ranks;
  for (const std::int64_t rank : {0, 1}) {
    ByteSource source(here, text);
    const kineto::Attribution known = kineto::attributed(read_kineto_events(source));
    if (const auto marks = kineto::unit_marks(known)) {
      ranks.push_back(kineto::sharded_steps(known, *marks, 2, {here, ""}));
      ranks.back().number = rank;
    } else {
      kineto::rank_steps(known, {here, ""});
    }
  }
  if (ranks.empty()) return;
  const Diagnosis known = diagnose(kineto::sharded_job(std::move(ranks)), [](std::size_t) { return [] {}; });
  require(std::isfinite(known.slowdown) && known.slowdown > 0, "a slowdown that is none");
  require(JsonValue::accept(json_text(diagnosis_json(known))), "an answer that is no JSON");
}

std::vector<std::string> kineto_jobs() {
  std::vector<std::string> texts;
  for (const char* name : {"fsdp2_rank0", "fsdp2_rank1", "fsdp1_rank0", "deepspeed_rank0", "none_rank0"})
    texts.push_back(Files().read(fmt::format("tests/fuzz/corpus/kineto/{}.json", name)));
  return texts;
}

std::vector<std::string> jobs() {
  std::string trace = R"({"traceEvents": [)";
  for (const int replica : {0, 1}) {
    trace += fmt::format(
        R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": 0, "args": {{"name": "PP rank 0, TP rank 0"}}}},)",
        replica);
    for (const char* kind : {"forward-compute", "backward-compute", "optimizer"})
      trace += fmt::format(
          R"({{"ph": "X", "name": "{}", "pid": {}, "tid": 0, "ts": 1.5, "dur": 2, "args": {{"step": 3, "seq_id": 0}}}},)",
          kind, replica);
  }
  trace.back() = ']';
  return {Files().read("docs/examples/slow_worker.csv"), Files().read("docs/examples/sharded_job.csv"), trace + "}"};
}

// A text without a file's name: its syntax has to be found, too.
void read_a_config(const std::string& text) {
  Files files;
  files.add(here, text);
  const ConfigFile config = read_config(files, here);
  ConfigFacts facts{.precision = "bf16", .gradient_bytes = 2, .hidden = 64, .layers = 98};
  for (std::int64_t block = 0; block < 32; ++block) facts.blocks.push_back(1 + 3 * block);
  facts.given["--workers"] = "8";
  for (const auto& later : config.later) later(facts);
  try {
    model_in_arguments(files, here);
  } catch (const InputError&) {  // few arguments describe a model
  }
}

std::vector<std::string> configs() {
  std::vector<std::string> texts;
  for (const char* name : {"llama3_8b.toml", "zero3.json", "pretrain.sh", "megatron.log", "fsdp.yaml", "trainer.yaml"})
    texts.push_back(Files().read(std::string("docs/examples/configs/") + name));
  texts.emplace_back(
      "policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)\nfully_shard(model, reshard_after_forward=False)\n");
  texts.emplace_back("HOROVOD_FUSION_THRESHOLD=33554432 HOROVOD_CYCLE_TIME=3.5 horovodrun train.py\n");
  return texts;
}

}  // namespace

void require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "fuzzing found: {}\n", what);
  std::abort();
}

std::span<const TextReader> text_readers() {
  static const std::vector<TextReader> all{
      {"profile", profiles, read_a_profile},
      {"cluster", [] { return files_of("topologies"); }, read_a_cluster},
      {"plan", plans, read_a_plan},
      {"sweep", [] { return files_of("configs"); }, read_a_sweep},
      {"codec", [] { return files_of("models/codecs"); }, read_a_codec},
      {"log", logs, read_a_log},
      {"transformer", [] { return files_of("models/transformers"); }, read_a_transformer},
      {"device", [] { return files_of("models/devices"); }, read_a_device},
      {"model", [] { return files_of("models"); }, read_a_model},
      {"result", results, read_a_result},
      {"measured", measured_tables, read_a_measured_table},
      {"option", option_texts, read_an_option},
      {"range", ranges, read_a_range},
      {"change", change_texts, read_a_change},
      {"job", jobs, read_a_job},
      {"kineto-job", kineto_jobs, read_a_kineto_job},
      {"jobs-file", jobs_files, read_a_jobs_file},
      {"staged-plan", staged_plans, read_a_staged_plan},
      {"schedule", schedule_texts, read_a_schedule},
      {"collective", collectives, read_a_collective},
      {"msccl", xmls, read_an_xml},
      {"reliability", reliabilities, read_a_reliability},
      {"config", configs, read_a_config},
      {"command-line", command_lines, read_a_command_line},
  };
  return all;
}

std::string exercise(const TextReader& reader, const std::string& text) {
  try {
    reader.read(text);
    return "";
  } catch (const InputError& error) {
    const std::string line = error.what();
    require(line.find('\n') == std::string::npos, "a complaint of several lines");
    require(line.size() < 8000, "a complaint of pages");
    require(!line.empty(), "a complaint of nothing");
    return line;
  } catch (const TimeOverflow& error) {
    return error.what();
  }
}
