// Poseidon (Zhang et al., USENIX ATC 2017): the gradients of a layer travel together, as soon as its backward ends.
BucketSchedule schedule_poseidon(const PlanRequest& request) {
  const std::vector<Gradient> list = gradients(request.profile);
  const auto layer = [&](std::size_t i) { return request.profile.tensors[list[i].tensor].layer; };
  std::vector<std::size_t> ends;  // one past the last gradient of each block
  for (std::size_t i = 1; i <= list.size(); ++i)
    if (i == list.size() || layer(i) != layer(i - 1)) ends.push_back(i);
  return merge("poseidon", list, ends);
}
