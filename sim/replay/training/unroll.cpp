#include "sim/replay/training/unroll.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/replay/training/task_times.hpp"

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
        exchanges_(exchanges),
        times_(profile, plan, classes, compression, shards, exchanges) {
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
    all_.separate_codec = compression && compression->stream() == CodecStream::Side;
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
    const auto [nominal, duration] = times_.time_of(label);
    return add(label, {.queue = queue, .position = rank, .duration = duration}, nominal);
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
        add({Activity::Transfer, 0, index, transfer.micro_batch}, {.queue = all_.lane(transfer.lane),
                                                                   .position = ranks[transfer.lane]++,
                                                                   .duration = times_.lane_time(transfer)});
        continue;
      }
      add({Activity::Transfer, 0, index, transfer.micro_batch},
          {.queue = all_.lane(transfer.lane),
           .position = ranks[transfer.lane]++,
           .priority = transfer.priority,
           .bytes = compression_ ? WireBytes(compression_->wire_bytes(plan_.block_of(transfer))) : transfer.bytes,
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
        if (!all_.separate_codec && visit.after + 1 < all_.works(c)) all_.graph.precede(encode, done + 1);
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
  const TokenExchanges* exchanges_;
  TaskTimes times_;
  std::vector<std::vector<TaskId>> last_ends_;  // by class: the tasks that end its program
  std::map<WorkPoint, std::int64_t> origins_;   // numbers of ticks' origins, by the work that sets them
  std::vector<CallId> call_ids_;                // by transfer; empty without a fabric
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

}  // namespace allreplay
