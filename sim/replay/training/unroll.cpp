#include "sim/replay/training/unroll.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace allreplay {

namespace {

class Unroller {
 public:
  Unroller(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes, const Fabric* fabric,
           const std::optional<Compression>& compression, std::int64_t shards, bool per_rank_start,
           const TokenExchanges* exchanges)
      : profile_(profile),
        plan_(plan),
        classes_(classes),
        fabric_(fabric),
        compression_(compression),
        shards_(shards),
        exchanges_(exchanges) {
    all_.classes = classes.size();
    all_.lead_ins = {0};
    classes_of_role_.resize(plan.roles.size());
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
      all_.lead_ins.push_back(all_.lead_ins.back() + 1 + static_cast<TaskId>(program_of(classes[c]).size()));
      classes_of_role_[classes[c].role].push_back(c);
    }
    if (fabric) number_calls(*fabric);
    all_.lanes = plan.lanes.size();
    all_.transfers = plan.transfers.size();
    all_.decodes = compression && compression->decode_at() == DecodeAt::Arrival;
    all_.per_rank_start = per_rank_start && classes.size() > 1 && !plan.pipeline;
    all_.beside = compression && compression->stream() == CodecStream::Side;
    for (const Lane& lane : plan.lanes) all_.ticks = all_.ticks || lane.tick > Time(0);
    for (const Role& role : plan.roles) all_.pairs = all_.pairs || !role.pairs.empty();
    const std::size_t works = all_.lead_in(all_.classes), tasks = works + all_.transfers;  // in most plans, that is all
    all_.labels.reserve(tasks);
    all_.nominal.reserve(tasks);
    all_.graph.reserve(tasks, works + all_.classes * plan.gates.size());
  }

  Unrolled make() {
    last_ends_.resize(all_.classes);
    for (std::uint32_t c = 0; c < all_.classes; ++c) {
      const bool paired = !plan_.roles[classes_[c].role].pairs.empty();
      paired ? add_paired_works(c) : add_works(c);
      last_ends_[c] = {all_.last_work(c)};
    }
    add_transfers();
    if (compression_) {
      const std::vector<Visit> visits = this->visits();
      for (std::uint32_t c = 0; c < all_.classes; ++c) add_codec(c, visits);
    }
    if (all_.pairs) link_pairs();
    for (const Gate& gate : plan_.gates)
      if (!gate.next) for_each_edge(gate, [&](TaskId before, TaskId after) { all_.graph.precede(before, after); });
    // If all start together, carry() leads only to the first class's lead-in, which the others wait for.
    for (std::size_t c = 1; c < all_.classes && plan_.together; ++c)
      all_.graph.precede(all_.lead_in(0), all_.lead_in(c));
    all_.graph.link();
    carry();
    return std::move(all_);
  }

 private:
  const std::vector<Work>& program_of(const WorkerClass& one) const { return plan_.roles[one.role].program; }

  // Transfers with the same operation and group have the same call.
  void number_calls(const Fabric& fabric) {
    std::vector<std::array<std::optional<CallId>, std::size(operation_rows)>> known(plan_.groups.size());
    for (const Transfer& one : plan_.transfers) {
      if (!one.travels()) {
        call_ids_.push_back(0);  // not read
        continue;
      }
      std::optional<CallId>& id = known[one.group][static_cast<std::size_t>(one.op)];
      if (!id) id = fabric.id_of(call_of(plan_, one));
      call_ids_.push_back(*id);
    }
  }

  TaskId add(const Label& label, Task task, Time nominal = Time(0)) {
    all_.labels.push_back(label);
    all_.nominal.push_back(nominal);
    return all_.graph.add(task);
  }

  TaskId add_timed(const Label& label, QueueId queue, std::int64_t rank) {
    const WorkerClass& whose = classes_[label.worker_class];
    const Time exchanged = label.in_pair && exchanges_ ? exchanges_->of(label.kind, label.item).total : Time(0);
    const Time time = nominal_time(label, profile_of(label)) - exchanged;
    const double slowdown = whose.slowdown;
    const Time duration = slowdown == 1 ? time : slowed_time(label, time, slowdown, exchanged);
    return add(label, {.queue = queue, .position = rank, .duration = duration}, time);
  }

  // A slow GPU waits less for its host, which is as fast as others. `exchanged`: not part of `time`.
  Time slowed_time(const Label& label, Time time, double slowdown, Time exchanged) {
    const Profile& own = profile_of(label);
    if (label.kind == Activity::HostStep) return time;
    if (!own.host.of_blocks() || !is_pass(label.kind)) return scaled(time, slowdown);
    Profile& slow = slowed_[{&own, slowdown}];
    if (slow.layers.empty()) slow = slowed(own, slowdown);
    return nominal_time(label, slow) - scaled(exchanged, slowdown);
  }

  const Profile& profile_of(const Label& label) const {
    const WorkerClass& whose = classes_[label.worker_class];
    return whose.profile ? *whose.profile : profile_;
  }

  Time weight_time(LayerId layer, const Profile& profile) {
    std::vector<Time>& weights = weights_[&profile];
    if (weights.empty()) weights = profile.weight_times();
    return weights[layer];
  }

  Time nominal_time(const Label& label, const Profile& profile) {
    const auto block = [&] { return plan_.blocks[label.item].bytes(); };
    switch (label.kind) {
      case Activity::Backward:
        return profile.layers[label.item].backward;
      case Activity::Forward:
        return profile.layers[label.item].forward;
      case Activity::Update:
        return update_time(label, profile);
      case Activity::HostStep:
        return profile.host.step;
      case Activity::CopyOut:
        return copy_time(static_cast<double>(block()) * profile.parameter_share());
      case Activity::CopyIn:
        return copy_time(static_cast<double>(block()));
      case Activity::Dequantise:
        return quantise_time(static_cast<double>(block()) * profile.parameter_share());
      case Activity::NewtonSchulz:
        return muon_time(plan_.blocks[label.item], profile);
      case Activity::OuterUpdate:
        return outer_time(plan_.blocks[label.item], profile);
      case Activity::Encode:
        return all_.decodes ? compression_->encode(block())
                            : allreplay::add(compression_->encode(block()), compression_->decode(block()));
      case Activity::Decode:
        return compression_->decode(block());
      case Activity::BackwardInput:
        return profile.layers[label.item].backward - weight_time(label.item, profile);
      case Activity::BackwardWeight:
        return weight_time(label.item, profile);
      default:
        return Time(0);
    }
  }

  // A layer's share of the update is proportional to its bytes, a rank's to its elements.
  Time update_time(const Label& label, const Profile& profile) const {
    if (!profile.update || profile.elements() == 0) return Time(0);
    const std::uint32_t item = label.item;
    if (item == everything) {
      const double share = share_of_role(classes_[label.worker_class].role);
      const std::int64_t all = profile.elements(), others = all - plan_.memory_policy.single_moment;
      return scaled(*profile.update,
                    others == all ? share : share * static_cast<double>(others) / static_cast<double>(all));
    }
    Bytes bytes = 0;
    for (const Tensor& tensor : profile.tensors)
      if (tensor.layer == item) bytes += tensor.bytes;
    return scaled(*profile.update, static_cast<double>(bytes) / static_cast<double>(profile.bytes()));
  }

  // Returns the part of the whole update that a worker of the role does. Experts are shared by 1/E of the workers that
  // share the other elements.
  double share_of_role(std::uint32_t role) const {
    const auto shards = static_cast<double>(shards_);
    const bool apart = plan_.sharding.has_expert_groups() && shards_ > 1;
    if (!plan_.pipeline && !apart) return 1 / shards;
    std::vector<bool> own(profile_.layers.size(), !plan_.pipeline);
    for (const Work& work : plan_.roles[role].program)
      if (work.kind == Activity::Forward) own[work.item] = true;
    std::int64_t elements = 0, of_experts = 0;
    for (const Tensor& tensor : profile_.tensors)
      if (own[tensor.layer] && !profile_.layers[tensor.layer].frozen)
        (apart && profile_.layers[tensor.layer].expert ? of_experts : elements) += tensor.elements;
    const auto all = static_cast<double>(profile_.elements());
    const double share = static_cast<double>(elements) / all / shards;
    if (!apart) return share;
    return share + static_cast<double>(of_experts) / all * static_cast<double>(plan_.sharding.experts) / shards;
  }

  Time copy_time(double bytes) const { return plan_.copy_rate ? to_time(bytes / *plan_.copy_rate) : Time(0); }

  Time quantise_time(double bytes) const {
    return plan_.quantise_rate ? to_time(bytes / *plan_.quantise_rate) : Time(0);
  }
  // The slowest rank's matrix of a round, or a single one.
  Time muon_time(const Block& block, const Profile& profile) const {
    Time most{0};
    for (const Slice& slice : block.slices) {
      const auto own = profile.tensors[slice.tensor].muon;
      most = std::max(most, own ? *own : profile_.tensors[slice.tensor].muon.value_or(Time(0)));
    }
    return most;
  }
  Time outer_time(const Block& block, const Profile& profile) const {
    return scaled(plan_.outer_update,
                  static_cast<double>(elements_of(block, profile)) / static_cast<double>(profile.elements()));
  }

  // The time of a computation in a lane (Transfer::computes), on the slowest worker.
  Time lane_time(const Transfer& one) const {
    const Time time = one.computes == Activity::NewtonSchulz ? muon_time(plan_.block_of(one), profile_)
                                                             : quantise_time(static_cast<double>(one.bytes));
    double slowdown = 1;
    for (const WorkerClass& each : classes_) slowdown = std::max(slowdown, each.slowdown);
    return slowdown == 1 ? time : scaled(time, slowdown);
  }

  void add_works(std::uint32_t c) {
    add({Activity::LeadIn, c, 0}, {.queue = all_.stream(c)});
    std::int64_t rank = 1;
    for (const Work& work : program_of(classes_[c])) {
      const TaskId id = add_timed(
          {work.kind == Activity::CopyOutAgain ? Activity::CopyOut : work.kind, c, work.item, work.micro_batch},
          all_.stream(c), rank++);
      all_.graph.precede(id - 1, id);
    }
  }

  // Adds the works of a role with pairs. In a pair, the backward chain goes first if both can start.
  void add_paired_works(std::uint32_t c) {
    const Role& role = plan_.roles[classes_[c].role];
    add({Activity::LeadIn, c, 0}, {.queue = all_.stream(c)});
    auto pair = role.pairs.begin();
    for (std::uint32_t place = 0; place < role.program.size(); ++place) {
      const Work& work = role.program[place];
      while (pair != role.pairs.end() && place >= pair->end) ++pair;
      const bool in_pair = pair != role.pairs.end() && place >= pair->forward;
      const TaskId id = add_timed({work.kind, c, work.item, work.micro_batch, in_pair && is_pass(work.kind)},
                                  all_.stream(c), place + 1);
      all_.graph.task(id).priority = in_pair && place < pair->backward ? 1 : 0;
    }
  }

  // Adds the token exchanges of pairs, and links the works of roles with pairs.
  void link_pairs() {
    all_.ends.resize(all_.lead_in(all_.classes));
    std::iota(all_.ends.begin(), all_.ends.end(), TaskId{0});
    for (std::uint32_t c = 0; c < all_.classes; ++c) {
      const Role& role = plan_.roles[classes_[c].role];
      if (role.pairs.empty()) continue;
      std::int64_t position = 0;
      for (const WorkPair& pair : role.pairs) {  // of exchanges issued at the same instant, the backward one goes first
        for (std::uint32_t place = pair.backward; place < pair.end; ++place) add_exchanges(c, place, position);
        for (std::uint32_t place = pair.forward; place < pair.backward; ++place) add_exchanges(c, place, position);
      }
      last_ends_[c] = link_works(c, role);
    }
  }

  // Adds the exchanges that follow the work, one after another.
  void add_exchanges(std::uint32_t c, std::uint32_t place, std::int64_t& position) {
    const TaskId work = all_.work(c, place);
    const Label label = all_.labels[work];
    if (!exchanges_ || !label.in_pair) return;
    for (const Time time : exchanges_->of(label.kind, label.item).each) {
      const TaskId id = add({Activity::Exchange, c, label.item, label.micro_batch},
                            {.queue = all_.exchanges(c), .position = position++, .duration = time}, time);
      all_.graph.precede(all_.ends[work], id);
      all_.ends[work] = id;
      all_.exchange_of.push_back(work);
    }
  }

  // Links the works of a role with pairs, and returns the ends of its program.
  std::vector<TaskId> link_works(std::uint32_t c, const Role& role) {
    std::vector<TaskId> before{all_.lead_in(c)};
    const auto follow = [&](std::uint32_t place, const std::vector<TaskId>& ends) {
      for (const TaskId end : ends) all_.graph.precede(end, all_.work(c, place));
    };
    // Links works first … last − 1 and returns the end of the last one.
    const auto chain = [&](std::uint32_t first, std::uint32_t last, const std::vector<TaskId>& ends) {
      follow(first, ends);
      for (std::uint32_t place = first + 1; place < last; ++place)
        all_.graph.precede(all_.ends[all_.work(c, place - 1)], all_.work(c, place));
      return all_.ends[all_.work(c, last - 1)];
    };
    std::uint32_t next = 0;
    for (const WorkPair& pair : role.pairs) {
      if (next < pair.forward) before = {chain(next, pair.forward, before)};
      const TaskId forward = chain(pair.forward, pair.backward, before);
      const Work &made = role.program[pair.backward - 1], &reads = role.program[pair.backward];
      const bool same = made.item == reads.item && made.micro_batch == reads.micro_batch;  // chunk and micro-batch
      const TaskId backward = chain(pair.backward, pair.end, same ? std::vector{forward} : before);
      before = {forward, backward};
      next = pair.end;
    }
    const auto end = static_cast<std::uint32_t>(role.program.size());
    if (next < end) before = {chain(next, end, before)};
    return before;
  }

  // Returns by transfer the number of tensors that it is the first to launch. Transfers are visited by micro-batch,
  // then by priority or as listed. Only reductions launch tensors; gathers are later stages of blocks.
  std::vector<std::int64_t> first_launches() const {
    std::vector<std::int64_t> counts(plan_.transfers.size(), 0);
    std::vector<std::uint32_t> order;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (is_reduction(plan_.transfers[index].op) && plan_.transfers[index].payload.block != Payload::just_bytes)
        order.push_back(index);
    const auto key = [&](std::uint32_t index) {
      const Transfer& one = plan_.transfers[index];
      const bool priority = plan_.lanes[one.lane].order == Order::Priority;
      return std::pair(one.micro_batch, priority ? one.priority : 0);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<bool> launched(profile_.tensors.size(), false);
    for (const std::uint32_t index : order)
      for (const Slice& slice : plan_.block_of(plan_.transfers[index]).slices)
        if (!launched[slice.tensor]) {
          launched[slice.tensor] = true;
          ++counts[index];
        }
    return counts;
  }

  void add_transfers() {
    const Time of_tensor = fabric_ ? fabric_->launch_of_tensor() : Time(0);
    const std::vector<std::int64_t> tensors =
        of_tensor > Time(0) ? first_launches() : std::vector<std::int64_t>(plan_.transfers.size(), 0);
    std::vector<std::int64_t> ranks(plan_.lanes.size(), 0);
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& transfer = plan_.transfers[index];
      if (!transfer.travels()) {
        add({Activity::Transfer, 0, index, transfer.micro_batch},
            {.queue = all_.lane(transfer.lane), .position = ranks[transfer.lane]++, .duration = lane_time(transfer)});
        continue;
      }
      add({Activity::Transfer, 0, index, transfer.micro_batch},
          {.queue = all_.lane(transfer.lane),
           .position = ranks[transfer.lane]++,
           .priority = transfer.priority,
           .bytes =
               compression_ ? WireBytes(compression_->wire_bytes(plan_.block_of(transfer).bytes())) : transfer.bytes,
           .duration = multiplied(of_tensor, tensors[index]),
           .call_id = call_ids_.empty() ? 0 : call_ids_[index]});
    }
    departures_.resize(plan_.transfers.size() * parties());
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      if (all_.per_rank_start && plan_.transfers[index].travels()) all_.graph.wait_for_any(all_.transfer(index));
      for (std::uint32_t party = 0; party < parties(); ++party)
        departures_[index * parties() + party] = add_tick(index, party, add_arrival(index, party));
    }
  }

  // The number of parts in which a transfer starts.
  std::size_t parties() const { return all_.per_rank_start ? all_.classes : 1; }

  // Returns the task that waits for the transfer's predecessors: the class's arrival, or the transfer itself.
  TaskId add_arrival(std::uint32_t index, std::uint32_t c) {
    if (!all_.per_rank_start || !plan_.transfers[index].travels()) return all_.transfer(index);
    const TaskId id = add({Activity::Arrival, c, index, plan_.transfers[index].micro_batch},
                          {.queue = all_.arrivals(), .position = static_cast<std::int64_t>(index * parties() + c)});
    all_.graph.precede(id, all_.transfer(index));
    return id;
  }

  // Returns a tick before `start` if the lane has ticks, else `start`.
  TaskId add_tick(std::uint32_t index, std::uint32_t c, TaskId start) {
    const Transfer& transfer = plan_.transfers[index];
    const Time tick = plan_.lanes[transfer.lane].tick;
    if (tick <= Time(0)) return start;
    const TaskId id = add({Activity::Tick, c, index, transfer.micro_batch},
                          {.queue = all_.clock(),
                           .position = static_cast<std::int64_t>(index * parties() + c),
                           .priority = transfer.ticks_from ? origin(*transfer.ticks_from) : 0,
                           .duration = tick,
                           .call_id = plan_.block_of(transfer).tick});
    all_.graph.precede(id, start);
    return id;
  }

  // Returns the number of the origin of ticks that is set when the work ends.
  std::int64_t origin(const WorkPoint& mark) {
    const auto [known, fresh] = origins_.emplace(mark, static_cast<std::int64_t>(origins_.size()) + 1);
    if (fresh) {
      const auto rank = static_cast<std::int64_t>(plan_.transfers.size() * parties() + origins_.size());
      const TaskId id =
          add({Activity::Origin, mark.role, 0}, {.queue = all_.clock(), .position = rank, .priority = known->second});
      for (const std::uint32_t c : classes_of_role_[mark.role]) all_.graph.precede(all_.work(c, mark.place), id);
    }
    return known->second;
  }

  // Calls `edge` for each party if the gate joins two transfers, else for each class of the role that the gate names.
  template <class Edge>
  void for_each_edge(const Gate& gate, const Edge& edge) const {
    const auto role = role_of(gate.before) ? role_of(gate.before) : role_of(gate.after);
    if (!role)
      for (std::uint32_t party = 0; party < parties(); ++party)
        edge(end_of(gate.before, party), start_of(gate.after, party));
    else if (role == role_of(gate.after) || gate.transfer_after())
      for (const std::uint32_t c : classes_of_role_[*role]) edge(end_of(gate.before, c), start_of(gate.after, c));
  }

  static std::optional<std::uint32_t> role_of(const PlanPoint& point) {
    if (const auto* work = std::get_if<WorkPoint>(&point)) return work->role;
    if (const auto* start = std::get_if<StartPoint>(&point)) return start->role;
    return std::nullopt;
  }

  // Sets the edges into the next period. If all start together, the next period waits for every task without
  // successors; else a class's next program follows its last one.
  void carry() {
    if (plan_.together) {
      for (TaskId id = 0; id < all_.graph.tasks().size(); ++id)
        if (all_.graph.successors(id).empty()) all_.carried.push_back({id, all_.lead_in(0)});
      return;
    }
    for (std::size_t c = 0; c < all_.classes; ++c)
      for (const TaskId end : last_ends_[c]) all_.carried.push_back({end, all_.lead_in(c)});
    for (const Gate& gate : plan_.gates)
      if (gate.next) for_each_edge(gate, [&](TaskId before, TaskId after) { all_.carried.push_back({before, after}); });
  }

  TaskId end_of(const PlanPoint& point, std::size_t c) const {
    if (const auto* work = std::get_if<WorkPoint>(&point)) {
      const TaskId id = all_.work(c, work->place);
      return work->computed ? id : all_.end_of(id);
    }
    if (const auto* transfer = std::get_if<TransferPoint>(&point)) return all_.transfer(transfer->index);
    return all_.lead_in(c);
  }

  TaskId start_of(const PlanPoint& point, std::size_t c) const {
    if (const auto* transfer = std::get_if<TransferPoint>(&point)) return departure(transfer->index, c);
    if (const auto* work = std::get_if<WorkPoint>(&point)) return all_.work(c, work->place);
    return end_of(point, c);
  }

  TaskId departure(std::uint32_t transfer, std::size_t c) const {
    return departures_[transfer * parties() + (all_.per_rank_start ? c : 0)];
  }

  // The codec handles a block after the last work before it is sent, and before the first work that waits for it.
  struct Visit {
    std::size_t after = 0, before = 0;      // places in the program
    std::vector<std::uint32_t> departures;  // transfers that send the encoded block
    std::vector<TaskId> arrivals;           // transfers after which it is decoded
  };

  std::vector<Visit> visits() const {
    const ProgramIndex places(plan_.program());
    std::vector<Visit> visits(plan_.blocks.size());
    for (std::size_t block = 0; block < visits.size(); ++block) {
      const LayerId first = first_layer(plan_.blocks[block], profile_);
      visits[block] = {places(Activity::Backward, first, plan_.sharding.accumulate - 1),
                       places(Activity::Forward, first, 0),
                       {},
                       {}};
    }
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      Visit& visit = visits[plan_.transfers[index].payload.block];
      if (is_reduction(plan_.transfers[index].op)) visit.departures.push_back(index);
      if (is_gathering(plan_.transfers[index].op)) visit.arrivals.push_back(all_.transfer(index));
    }
    for (const Gate& gate : plan_.gates) {
      const auto *made = gate.work_before(), *reads = gate.work_after();
      const auto *sent = gate.transfer_before(), *sends = gate.transfer_after();
      if (made && sends && is_reduction(plan_.transfers[sends->index].op)) {
        Visit& visit = visits[plan_.transfers[sends->index].payload.block];
        visit.after = std::max<std::size_t>(visit.after, made->place);
      }
      if (sent && reads && is_gathering(plan_.transfers[sent->index].op)) {
        Visit& visit = visits[plan_.transfers[sent->index].payload.block];
        visit.before = std::min<std::size_t>(visit.before, reads->place);
      }
    }
    return visits;
  }

  // A block is encoded before it is first sent, and before the next layer computes (docs/models.md, "When codecs run"),
  // and decoded when it has arrived. At the same instant, encodings go before decodings.
  void add_codec(std::uint32_t c, const std::vector<Visit>& visits) {
    for (std::uint32_t block = 0; block < visits.size(); ++block) {
      const auto rank = static_cast<std::int64_t>(1 + all_.works(c) + block);
      const Visit& visit = visits[block];
      if (!visit.departures.empty()) {
        const TaskId encode = add_timed({Activity::Encode, c, block}, all_.codec_stream(c), rank);
        const TaskId done = all_.work(c, visit.after);
        all_.graph.precede(done, encode);
        for (const std::uint32_t start : visit.departures) all_.graph.precede(encode, departure(start, c));
        if (!all_.beside && visit.after + 1 < all_.works(c)) all_.graph.precede(encode, done + 1);
      }
      if (all_.decodes && !visit.arrivals.empty()) {
        const TaskId decode = add_timed({Activity::Decode, c, block}, all_.codec_stream(c),
                                        rank + static_cast<std::int64_t>(visits.size()));
        for (const TaskId end : visit.arrivals) all_.graph.precede(end, decode);
        all_.graph.precede(decode, all_.work(c, visit.before));
      }
    }
  }

  const Profile& profile_;
  const Plan& plan_;
  const std::vector<WorkerClass>& classes_;
  const Fabric* fabric_;
  const std::optional<Compression>& compression_;
  std::int64_t shards_;
  const TokenExchanges* exchanges_;
  std::vector<std::vector<TaskId>> last_ends_;                   // by class: the tasks that end its program
  std::map<std::pair<const Profile*, double>, Profile> slowed_;  // by profile and slowdown
  std::map<const Profile*, std::vector<Time>> weights_;          // by layer, made when first needed
  std::map<WorkPoint, std::int64_t> origins_;  // numbers of ticks' origins, by the work that sets them
  std::vector<CallId> call_ids_;               // by transfer; empty without a fabric
  // By transfer, and by class with per_rank_start: the task that waits for the transfer's predecessors.
  std::vector<TaskId> departures_;
  std::vector<std::vector<std::uint32_t>> classes_of_role_;
  Unrolled all_;
};

}  // namespace

Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes, const Fabric* fabric,
                const std::optional<Compression>& compression, std::int64_t shards, bool per_rank_start,
                const TokenExchanges* exchanges) {
  return Unroller(profile, plan, classes, fabric, compression, shards, per_rank_start, exchanges).make();
}

Influence felt(const Interference& interference, std::uint32_t network, std::vector<std::uint32_t> on) {
  Influence influence{.from = network, .on = std::move(on)};
  influence.slowdown = [interference](const Load& load) {
    if (!interference.at) return load.in_flight > 0 ? interference.compute : 1.0;
    return 1 + (interference.compute - 1) * load.rate / *interference.at;
  };
  return influence;
}

System system_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams, Clock& clock,
                 const std::vector<ServerUse>& channels, const std::optional<Interference>& interference) {
  const std::size_t computing = unrolled.beside ? 2 * unrolled.classes : unrolled.classes;
  const std::size_t pairs = computing + (unrolled.pairs ? unrolled.classes : 0);
  const auto in_lanes = std::count_if(plan.lanes.begin(), plan.lanes.end(), [](const Lane& one) { return one.stream; });
  streams.assign(pairs + static_cast<std::size_t>(in_lanes), Stream());
  System system;
  const auto serve = [&](const ServerUse& server) {
    system.servers.push_back(server);
    return static_cast<std::uint32_t>(system.servers.size() - 1);
  };
  // The program is a chain of tasks; the codec's tasks run between them, first come, first served.
  for (std::size_t c = 0; c < unrolled.classes; ++c)
    system.queues.push_back({"compute",
                             {.order = unrolled.pairs ? Order::Priority : Order::FirstReady},
                             serve({&streams[c], Phase::Compute})});
  const auto first = static_cast<std::uint32_t>(system.servers.size());
  for (const ServerUse& channel : channels) serve(channel);
  if (unrolled.per_rank_start) system.queues.push_back({"arrivals", {.window = {.count = Window::unlimited}}, first});
  std::size_t next = pairs;  // stream of a lane
  for (const Lane& lane : plan.lanes)
    system.queues.push_back(
        {lane.name,
         {lane.order, lane.window},
         lane.stream ? serve({&streams[next++], Phase::Compute}) : first + (channels.size() > 1 ? lane.channel : 0)});
  for (std::size_t i = unrolled.classes; i < computing; ++i)
    system.queues.push_back({"codec", {}, serve({&streams[i], Phase::Compute})});
  if (interference) {
    std::vector<std::uint32_t> compute(unrolled.classes);  // the streams are the first servers
    std::iota(compute.begin(), compute.end(), 0U);
    system.influences.push_back(felt(*interference, first, std::move(compute)));
  }
  if (unrolled.ticks)
    system.queues.push_back({"clock", {.window = {.count = Window::unlimited}}, serve({&clock, Phase::Compute})});
  for (std::size_t i = computing; i < pairs; ++i)
    system.queues.push_back({"ep", {}, serve({&streams[i], Phase::Exchange})});
  return system;
}

}  // namespace allreplay
