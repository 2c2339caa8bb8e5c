#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/core/text.hpp"
#include "sim/core/units.hpp"
#include "sim/interchange/exporters/exporter.hpp"

namespace allreplay {

namespace {

// Names without blanks, each once.
class Words {
 public:
  std::string word(const std::string& name) {
    std::string word = name.empty() ? "layer" : as_text(name);
    for (char& c : word)
      if (std::isspace(static_cast<unsigned char>(c))) c = '_';
    std::string one = word;
    for (int count = 2; !taken_.insert(one).second; ++count) one = fmt::format("{}#{}", word, count);
    changed_ += one != name;
    return one;
  }
  int changed() const { return changed_; }

 private:
  std::set<std::string> taken_;
  int changed_ = 0;
};

class Cycles {
 public:
  Cycles(double clock, const std::string& profile) : clock_(clock), profile_(profile) {}

  std::int64_t of(Time time) {
    constexpr double most = 9007199254740992.0;  // what a double counts exactly
    const double exact = to_seconds(time) * clock_;
    if (exact > most)
      throw InputError({profile_, ""}, fmt::format("{} are too many cycles", write_duration(time)), "a slower --clock");
    const std::int64_t cycles = std::llround(exact);
    const Time back = to_time(static_cast<double>(cycles) / clock_);
    if (back != time) ++rounded_;
    drift_ += back - time;
    return cycles;
  }
  int rounded() const { return rounded_; }
  Time drift() const { return drift_; }

 private:
  double clock_;
  const std::string& profile_;
  int rounded_ = 0;
  Time drift_{0};
};

// How many bytes each layer's all-reduce carries: of the transfers that wait for its backward pass.
std::vector<Bytes> bytes_by_layer(const ExportRequest& request) {
  std::vector<Bytes> bytes(request.profile.layers.size());
  if (!request.plan) {
    for (const Tensor& tensor : request.profile.tensors) bytes[tensor.layer] += tensor.bytes;
    return bytes;
  }
  const Plan& plan = *request.plan;
  std::vector<std::uint32_t> made(plan.transfers.size(), 0);  // the last work that each waits for
  for (const Gate& gate : plan.gates)
    if (const auto* from = gate.work_before(); from && gate.transfer_after())
      made[gate.transfer_after()->index] = std::max(made[gate.transfer_after()->index], from->place);
  // Once for all micro-batches; of a copy or an update, the layer of the last pass before it.
  const auto layer_at = [&](std::uint32_t place) {
    const std::vector<Work>& program = plan.program();
    while (place > 0 && program[place].kind != Activity::Backward && program[place].kind != Activity::Forward) --place;
    return program[place].kind == Activity::Backward ? program[place].item : LayerId{0};
  };
  const std::uint32_t last = static_cast<std::uint32_t>(plan.sharding.accumulate) - 1;
  for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
    const Transfer& one = plan.transfers[index];
    if (one.op != CollectiveOp::AllGather && one.group != group_replica && one.micro_batch == last)
      bytes[layer_at(made[index])] += plan.block_of(one).bytes();
  }
  return bytes;
}

// The column that ASTRA-sim reserves, and reads past: -1, or the clock in -kHz where that is not the usual one.
std::int64_t reserved_for(double clock) {
  const double khz = std::round(clock * 1e-3);
  const bool whole = std::abs(khz * 1e3 - clock) <= 1e-9 * clock;
  return clock != 1e9 && whole && khz > 1 ? -static_cast<std::int64_t>(khz) : -1;
}

// The file says no unit that its readers read.
std::string note_of_clock(double clock) {
  const auto others = [](std::string_view who, double factor) {
    return fmt::format("{} reads times as {:g} times as {}", who, factor > 1 ? factor : 1 / factor,
                       factor > 1 ? "long" : "short");
  };
  const std::string_view text = "Chakra's text converter, which counts microseconds,",
                         own = "ASTRA-sim 1.0, which counts nanoseconds,";
  std::string note =
      fmt::format("compute times are in cycles of {:g} GHz, the whole backward pass as weight gradient", clock / 1e9);
  if (clock != 1e9 && reserved_for(clock) == -1) note += ", which `allreplay import` needs as --clock";
  if (clock != 1e9) note += "; " + others(own, clock / 1e9);
  if (clock != 1e6) note += fmt::format("; {} (--clock 0.001 is for it)", others(text, clock / 1e6));
  return note;
}

void add_notes_of_plan(const Plan& plan, const std::vector<Bytes>& bytes, std::vector<std::string>& notes) {
  const auto lines = std::count_if(bytes.begin(), bytes.end(), [](Bytes one) { return one > 0; });
  if (lines == 1 && plan.blocks.size() > 1)
    notes.push_back(
        fmt::format("{}: its {} blocks are ready at once, and became one all-reduce, with one start-up instead of as "
                    "many; if imported again, all gradients are at that layer",
                    plan.strategy, plan.blocks.size()));
  else
    notes.push_back(
        fmt::format("{}: its {} blocks are at the layers that make them ready, several of one layer as one ({} "
                    "all-reduces in total); if imported again, gradients stay where the blocks are",
                    plan.strategy, plan.blocks.size(), lines));
  notes.push_back("the order of the blocks and how many are in flight are ASTRA-sim's own (its system file)");
  const bool first_waits_for_all = std::all_of(plan.gates.begin(), plan.gates.end(), [&](const Gate& gate) {
    return !gate.work_after() || plan.program()[gate.work_after()->place].item == 0;
  });
  if (first_waits_for_all)
    notes.push_back(
        "a layer's next forward waits for its own all-reduce only, as ASTRA-sim does it, not for all blocks");
  if (std::any_of(plan.transfers.begin(), plan.transfers.end(),
                  [](const Transfer& transfer) { return transfer.op != CollectiveOp::AllReduce; }))
    notes.push_back("reduce-scatters and all-gathers became all-reduces");
  if (!(plan.sharding == ShardingConfig()))
    notes.push_back(
        "shards, groups, micro-batches, gathers of parameters, the update and memory were left out: this is data "
        "parallelism without them; `--to chakra` keeps them");
  for (const Lane& lane : plan.lanes)
    if (lane.tick > Time(0)) notes.push_back(fmt::format("the tick of {} was left out", write_duration(lane.tick)));
}

}  // namespace

Exported export_astra_sim(const ExportRequest& request) {
  const Profile& profile = request.profile;
  const std::vector<Bytes> bytes = bytes_by_layer(request);
  Exported exported{fmt::format("DATA\n{}\n", profile.layers.size()), {}};
  const std::int64_t reserved = reserved_for(request.clock);
  Words words;
  Cycles cycles(request.clock, profile.name);
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const Layer& layer = profile.layers[i];
    exported.text +=
        fmt::format("{}\t{}\t{}\tNONE\t0\t0\tNONE\t0\t{}\t{}\t{}\t0\n", words.word(layer.name), reserved,
                    cycles.of(layer.forward), cycles.of(layer.backward), bytes[i] > 0 ? "ALLREDUCE" : "NONE", bytes[i]);
  }
  exported.notes.push_back(
      "the text has no batch size, model, device, framework, precision and tensor names: the tensors of a layer become "
      "one");
  add_note_of_facts(profile, exported.notes);
  exported.notes.push_back(note_of_clock(request.clock));
  if (request.collective == "parameter-server")
    exported.notes.push_back(
        "parameter-server: pushes to servers and pulls from them became all-reduces among the workers");
  if (cycles.rounded() > 0)
    exported.notes.push_back(
        fmt::format("{} times were rounded to whole cycles, {}{} in total; a faster --clock keeps more",
                    cycles.rounded(), cycles.drift() < Time(0) ? "-" : "+",
                    write_duration(cycles.drift() < Time(0) ? -cycles.drift() : cycles.drift())));
  if (words.changed() > 0)
    exported.notes.push_back(fmt::format("{} names had spaces, which became '_'", words.changed()));
  if (request.plan) add_notes_of_plan(*request.plan, bytes, exported.notes);
  return exported;
}

}  // namespace allreplay
