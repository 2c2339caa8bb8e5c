#include "sim/training/unroll.hpp"

#include <algorithm>

namespace allreplay {

namespace {

class Unroller {
 public:
  Unroller(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
           const std::optional<Compression>& compression)
      : profile_(profile), plan_(plan), classes_(classes), compression_(compression) {
    all_.classes = classes.size();
    all_.works = plan.program.size();
    all_.lanes = plan.lanes.size();
    all_.transfers = plan.transfers.size();
    all_.decodes = compression && compression->decode_at() == DecodeAt::Arrival;
    all_.beside = compression && compression->stream() == CodecStream::Side;
  }

  Unrolled unroll() {
    for (std::uint32_t c = 0; c < all_.classes; ++c) add_works(c);
    add_transfers();
    if (compression_) {
      const std::vector<Visit> visits = this->visits();
      for (std::uint32_t c = 0; c < all_.classes; ++c) add_codec(c, visits);
    }
    for (const Gate& gate : plan_.gates) add_gate(gate);
    all_.graph.link();
    return std::move(all_);
  }

 private:
  TaskId add(const Label& label, Task task) {
    all_.labels.push_back(label);
    return all_.graph.add(task);
  }

  TaskId add_timed(const Label& label, QueueId queue, std::int64_t rank) {
    const Time time = nominal_time(label, all_, profile_, plan_, compression_);
    const double slowdown = classes_[label.worker_class].slowdown;
    return add(label, {.queue = queue, .rank = rank, .duration = slowdown == 1 ? time : scaled(time, slowdown)});
  }

  void add_works(std::uint32_t c) {
    add({Label::Kind::LeadIn, c, 0}, {.queue = all_.stream(c)});
    std::int64_t rank = 1;
    for (const Work& work : plan_.program) {
      const auto kind = work.kind == WorkKind::Backward ? Label::Kind::Backward : Label::Kind::Forward;
      const TaskId id = add_timed({kind, c, work.layer}, all_.stream(c), rank++);
      all_.graph.precede(id - 1, id);
    }
  }

  void add_transfers() {
    std::vector<std::int64_t> ranks(plan_.lanes.size(), 0);
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& transfer = plan_.transfers[index];
      const Bytes bytes = plan_.blocks[transfer.block].bytes();
      add({Label::Kind::Transfer, 0, index}, {.queue = all_.lane(transfer.lane),
                                              .rank = ranks[transfer.lane]++,
                                              .priority = transfer.priority,
                                              .bytes = compression_ ? compression_->wire_bytes(bytes) : bytes,
                                              .service = static_cast<std::uint32_t>(transfer.op)});
    }
  }

  void add_gate(const Gate& gate) {
    const bool from_work = gate.before.of == Moment::Of::Work, to_work = gate.after.of == Moment::Of::Work;
    if (!from_work && !to_work)
      all_.graph.precede(all_.transfer(gate.before.index), all_.transfer(gate.after.index));
    else
      for (std::size_t c = 0; c < all_.classes; ++c)
        all_.graph.precede(from_work ? all_.work(c, gate.before.index) : all_.transfer(gate.before.index),
                           to_work ? all_.work(c, gate.after.index) : all_.transfer(gate.after.index));
  }

  // Where the codec comes in: the last work before a block is first sent, and the first that waits for it.
  struct Visit {
    std::size_t after = 0, before = 0;  // places in the program
    std::vector<TaskId> departures, arrivals;
  };

  std::vector<Visit> visits() const {
    std::vector<std::size_t> backward(profile_.layers.size()), forward(profile_.layers.size());
    for (std::size_t place = 0; place < plan_.program.size(); ++place)
      (plan_.program[place].kind == WorkKind::Backward ? backward : forward)[plan_.program[place].layer] = place;
    std::vector<Visit> visits(plan_.blocks.size());
    for (std::size_t block = 0; block < visits.size(); ++block) {
      const LayerId first = first_layer(plan_.blocks[block], profile_);
      visits[block] = {backward[first], forward[first], {}, {}};
    }
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      Visit& visit = visits[plan_.transfers[index].block];
      if (plan_.transfers[index].op != Stage::AllGather) visit.departures.push_back(all_.transfer(index));
      if (plan_.transfers[index].op != Stage::ReduceScatter) visit.arrivals.push_back(all_.transfer(index));
    }
    for (const Gate& gate : plan_.gates) {
      if (gate.before.of == gate.after.of) continue;
      const bool leaves = gate.before.of == Moment::Of::Work;
      const Transfer& transfer = plan_.transfers[leaves ? gate.after.index : gate.before.index];
      Visit& visit = visits[transfer.block];
      if (leaves && transfer.op != Stage::AllGather)
        visit.after = std::max<std::size_t>(visit.after, gate.before.index);
      if (!leaves && transfer.op != Stage::ReduceScatter)
        visit.before = std::min<std::size_t>(visit.before, gate.after.index);
    }
    return visits;
  }

  // A block is encoded before it is first sent, in the place of the next layer (reading 26), and decoded once it has
  // arrived. Encodings come before decodings of the same instant.
  void add_codec(std::uint32_t c, const std::vector<Visit>& visits) {
    for (std::uint32_t block = 0; block < visits.size(); ++block) {
      const auto rank = static_cast<std::int64_t>(1 + all_.works + block);
      const Visit& visit = visits[block];
      if (!visit.departures.empty()) {
        const TaskId encode = add_timed({Label::Kind::Encode, c, block}, all_.codec_stream(c), rank);
        const TaskId done = all_.work(c, visit.after);
        all_.graph.precede(done, encode);
        for (const TaskId start : visit.departures) all_.graph.precede(encode, start);
        if (!all_.beside && visit.after + 1 < all_.works) all_.graph.precede(encode, done + 1);
      }
      if (all_.decodes && !visit.arrivals.empty()) {
        const TaskId decode = add_timed({Label::Kind::Decode, c, block}, all_.codec_stream(c),
                                        rank + static_cast<std::int64_t>(visits.size()));
        for (const TaskId end : visit.arrivals) all_.graph.precede(end, decode);
        all_.graph.precede(decode, all_.work(c, visit.before));
      }
    }
  }

  const Profile& profile_;
  const Plan& plan_;
  const std::vector<WorkerClass>& classes_;
  const std::optional<Compression>& compression_;
  Unrolled all_;
};

}  // namespace

Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
                const std::optional<Compression>& compression) {
  return Unroller(profile, plan, classes, compression).unroll();
}

Time nominal_time(const Label& label, const Unrolled& unrolled, const Profile& profile, const Plan& plan,
                  const std::optional<Compression>& compression) {
  const auto coded = [&] { return plan.blocks[label.item].bytes(); };
  switch (label.kind) {
    case Label::Kind::Backward:
      return profile.layers[label.item].backward;
    case Label::Kind::Forward:
      return profile.layers[label.item].forward;
    case Label::Kind::Encode:
      return unrolled.decodes ? compression->encode(coded())
                              : add(compression->encode(coded()), compression->decode(coded()));
    case Label::Kind::Decode:
      return compression->decode(coded());
    case Label::Kind::LeadIn:
    case Label::Kind::Transfer:
      break;
  }
  return Time(0);
}

System system_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams, Server& network,
                 Time origin) {
  streams.assign(unrolled.beside ? 2 * unrolled.classes : unrolled.classes, Stream());
  System system;
  const auto serve = [&](Server& server, Phase phase) {
    system.servers.push_back({&server, phase});
    return static_cast<std::uint32_t>(system.servers.size() - 1);
  };
  // The program is a chain; what the codec has to do comes between its works, first come, first served.
  for (std::size_t c = 0; c < unrolled.classes; ++c)
    system.queues.push_back({"compute", {}, serve(streams[c], Phase::Compute)});
  const std::uint32_t shared = serve(network, Phase::Communication);
  for (const Lane& lane : plan.lanes)
    system.queues.push_back({lane.name, {lane.order, lane.window, lane.tick, origin}, shared});
  for (std::size_t i = unrolled.classes; i < streams.size(); ++i)
    system.queues.push_back({"codec", {}, serve(streams[i], Phase::Compute)});
  return system;
}

}  // namespace allreplay
