// ZeRO-1, layer by layer: gradients are reduced to shards as soon as a layer's backward pass ends, parameters are
// gathered after the update, and each forward pass waits for its own.
Plan plan_zero1_by_layer(const PlanRequest& request) {
  ShardingConfig sharding = request.options.sharding;
  sharding.zero = 1;
  PlanBuilder build("zero1-by-layer", sharding, request.profile);
  const std::uint32_t gathers = build.add_lane("gather"), reduces = build.add_lane("reduce");
  const auto layers = static_cast<LayerId>(request.profile.layers.size());
  const auto batches = static_cast<std::uint32_t>(sharding.accumulate);
  std::map<LayerId, std::uint32_t> blocks;  // of layers that have tensors
  std::map<LayerId, PlanPoint> gathered;
  for (LayerId layer = 0; layer < layers; ++layer)
    if (Block block = block_of_layers({layer, layer}, request.profile); !block.slices.empty()) {
      blocks[layer] = build.add(std::move(block));
      gathered[layer] = build.gather(blocks[layer], gathers, 0);
      build.gate(start_of_program(), gathered[layer]);
    }
  std::vector<PlanPoint> reduced;
  for (std::uint32_t batch = 0; batch < batches; ++batch) {
    for (LayerId layer = 0; layer < layers; ++layer) {
      const PlanPoint forward = work(build.add(Work{Activity::Forward, layer, batch}));
      if (batch == 0 && gathered.contains(layer)) build.gate(gathered[layer], forward);
    }
    for (LayerId layer = layers; layer-- > 0;) {
      const PlanPoint backward = work(build.add(Work{Activity::Backward, layer, batch}));
      if (batch + 1 < batches || !blocks.contains(layer)) continue;
      reduced.push_back(build.reduce(CollectiveOp::ReduceScatter, group_shard, blocks[layer], reduces, batch));
      build.gate(backward, reduced.back());
    }
  }
  build.gate(reduced, work(build.add(Work{Activity::Update, everything})));
  return build.take();
}
