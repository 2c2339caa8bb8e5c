#include "sim/training/unroll.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/collective/stage.hpp"

namespace allreplay {

namespace {

// Lead-in, backward and forward of one class: a chain.
void add_compute(Unrolled& unrolled, const Profile& profile, std::size_t index) {
  std::int64_t rank = 0;
  const auto append = [&](Time duration) {
    const TaskId id = unrolled.graph.add({.resource = unrolled.stream(index), .rank = rank, .duration = duration});
    if (rank++ > 0) unrolled.graph.precede(id - 1, id);
  };
  append(Time(0));
  for (std::size_t layer = profile.layers.size(); layer-- > 0;) append(profile.layers[layer].backward);
  for (const Layer& layer : profile.layers) append(layer.forward);
}

void add_collectives(Unrolled& unrolled, const Plan& plan, const std::optional<Compression>& compression) {
  const auto count = static_cast<std::int64_t>(plan.blocks.size());
  const bool split = plan.stages == Stages::Split;
  // However urgent an all-gather is, reduce-scatters go first: all of the next forward waits for them.
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  const auto add_collective = [&](const Block& block, Stage stage, std::int64_t rank, std::int64_t priority) {
    unrolled.graph.add({.resource = unrolled.network(),
                        .rank = rank,
                        .priority = priority,
                        .bytes = compression ? compression->wire_bytes(block.bytes()) : block.bytes(),
                        .service = static_cast<std::uint32_t>(stage)});
  };
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const Block& block = plan.blocks[static_cast<std::size_t>(rank)];
    add_collective(block, split ? Stage::ReduceScatter : Stage::AllReduce, rank, split ? first : block.priority);
  }
  if (!split) return;
  for (std::int64_t rank = 0; rank < count; ++rank) {
    const Block& block = plan.blocks[static_cast<std::size_t>(rank)];
    add_collective(block, Stage::AllGather, count + rank, block.priority);
  }
}

// Encodings of all blocks on each class, and decodings unless they are lumped with them.
void add_codec(Unrolled& unrolled, const Plan& plan, const std::vector<WorkerClass>& classes,
               const Compression& compression) {
  unrolled.encodes = true;
  unrolled.decodes = compression.decode_at() == DecodeAt::Arrival;
  unrolled.beside = compression.stream() == CodecStream::Side;
  auto rank = static_cast<std::int64_t>(2 * unrolled.layers + 1);  // after the layers
  const auto append = [&](auto time) {
    for (std::size_t c = 0; c < classes.size(); ++c)
      for (std::size_t index = 0; index < plan.blocks.size(); ++index)
        unrolled.graph.add({.resource = unrolled.codec_stream(c),
                            .rank = rank + static_cast<std::int64_t>(index),
                            .duration = scaled(time(plan.blocks[index].bytes()), classes[c].slowdown)});
    rank += static_cast<std::int64_t>(plan.blocks.size());
  };
  append([&](Bytes bytes) {
    return unrolled.decodes ? compression.encode(bytes) : add(compression.encode(bytes), compression.decode(bytes));
  });
  if (unrolled.decodes) append([&](Bytes bytes) { return compression.decode(bytes); });
}

void add_dependencies(Unrolled& unrolled, const Profile& profile, const Plan& plan, std::size_t index) {
  const LayerId made_by = ready_layer(plan, plan.blocks[index], profile);
  // Forward is a chain: what the first of the block's layers waits for, the others wait for, too.
  const LayerId needed_by = plan.barrier == Barrier::Iteration ? 0 : first_layer(plan.blocks[index], profile);
  const TaskId start = unrolled.block(index), end = unrolled.block(index, unrolled.stages - 1);
  TaskGraph& graph = unrolled.graph;
  if (start != end) graph.precede(start, end);
  for (std::size_t c = 0; c < unrolled.classes; ++c) {
    if (start != end) graph.precede(unrolled.backward(c, 0), end);
    graph.precede(unrolled.backward(c, made_by), unrolled.encodes ? unrolled.encode(c, index) : start);
    if (unrolled.encodes) graph.precede(unrolled.encode(c, index), start);
    if (unrolled.decodes) graph.precede(end, unrolled.decode(c, index));
    graph.precede(unrolled.decodes ? unrolled.decode(c, index) : end, unrolled.forward(c, needed_by));
    // On the compute stream the layers wait for the encoding (reading 26).
    if (unrolled.encodes && !unrolled.beside)
      graph.precede(unrolled.encode(c, index),
                    made_by > 0 ? unrolled.backward(c, made_by - 1) : unrolled.forward(c, 0));
  }
}

}  // namespace

Unrolled unroll(const Profile& profile, const Plan& plan, const std::vector<WorkerClass>& classes,
                const std::optional<Compression>& compression) {
  Unrolled unrolled;
  unrolled.classes = classes.size();
  unrolled.layers = profile.layers.size();
  unrolled.blocks = plan.blocks.size();
  unrolled.stages = plan.stages == Stages::Split ? 2 : 1;
  for (std::size_t index = 0; index < classes.size(); ++index)
    add_compute(unrolled, classes[index].slowdown == 1 ? profile : slowed(profile, classes[index].slowdown), index);
  add_collectives(unrolled, plan, compression);
  if (compression) add_codec(unrolled, plan, classes, *compression);
  for (std::size_t index = 0; index < plan.blocks.size(); ++index) add_dependencies(unrolled, profile, plan, index);
  unrolled.graph.link();
  return unrolled;
}

std::vector<Resource> resources_of(const Unrolled& unrolled, const Plan& plan, std::vector<Stream>& streams,
                                   Server& network, Time origin) {
  streams.assign(unrolled.beside ? 2 * unrolled.classes : unrolled.classes, Stream());
  std::vector<Resource> resources;
  // The layers are a chain; what the codec has to do comes between them, first come, first served.
  for (std::size_t c = 0; c < unrolled.classes; ++c) resources.push_back({"compute", {}, Phase::Compute, &streams[c]});
  resources.push_back({"network", {plan.order, plan.window, plan.tick, origin}, Phase::Communication, &network});
  for (std::size_t i = unrolled.classes; i < streams.size(); ++i)
    resources.push_back({"codec", {}, Phase::Compute, &streams[i]});
  return resources;
}

std::string describe(const Block& block, const Profile& profile, std::size_t index) {
  std::string names;
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, block.slices.size()); ++i) {
    const Slice& slice = block.slices[i];
    const Tensor& tensor = profile.tensors[slice.tensor];
    names += (i > 0 ? ", " : "") + tensor.name;
    if (slice.bytes != tensor.bytes) names += fmt::format("[{}+{}]", slice.offset, slice.bytes);
  }
  if (block.slices.size() > most) names += fmt::format(", … {} more", block.slices.size() - most);
  return fmt::format("block {} ({})", index, names);
}

}  // namespace allreplay
