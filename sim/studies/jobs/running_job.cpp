#include "sim/studies/jobs/jobs_clock.hpp"

namespace allreplay {

namespace {

// If the plan's program begins with a backward pass, adds the forward passes before it, which wait for nothing.
void add_opening(Cycle& cycle, const SeatedJob& job, const Unrolled& unrolled, QueueId first_queue) {
  const std::vector<Work>& program =
      job.plan.roles.front().program;  // in a pipeline all programs begin with a forward pass
  if (!program.empty() && program.front().kind != Activity::Backward) return;
  for (std::uint32_t c = 0; c < job.classes.size(); ++c) {
    const WorkerClass& one = job.classes[c];
    const Profile& profile = one.profile ? *one.profile : *job.job.scenario.profile;
    const Profile slow = slowed(profile, one.slowdown);
    std::int64_t rank = 0;
    for (const Layer& layer : slow.layers) {
      const TaskId id =
          cycle.opening.add({.queue = first_queue + unrolled.stream(c), .position = rank++, .duration = layer.forward});
      if (rank > 1) cycle.opening.precede(id - 1, id);
    }
    cycle.from_opening.push_back({static_cast<TaskId>(cycle.opening.tasks().size() - 1), unrolled.lead_in(c)});
  }
  cycle.opening.link();
}

}  // namespace

void seat(const SeatedJob& job, std::uint32_t number, SharedNetwork& network, System& system, RunningJob& running,
          Cycle& cycle) {
  running.job = &job;
  const Scenario& scenario = job.job.scenario;
  running.unrolled = unroll_job(job.job, job.plan, job.classes);
  if (const auto& jitter = scenario.stragglers.jitter) {
    running.orders = draw_orders(running.unrolled);
    for (const WorkerClass& one : job.classes)
      running.random.emplace_back(jitter->seed, job.seats[static_cast<std::size_t>(one.workers.front())]);
  }
  const System own = system_of(running.unrolled, job.plan, running.streams, running.clock,
                               {{&network.server(), Phase::Communication}});
  const auto first_queue = static_cast<QueueId>(system.queues.size());
  std::vector<std::uint32_t> server_of;
  for (const ServerUse& use : own.servers) {
    if (use.server == &network.server()) {
      server_of.push_back(the_network);
      continue;
    }
    server_of.push_back(static_cast<std::uint32_t>(system.servers.size()));
    system.servers.push_back(use);
  }
  const std::size_t classes = job.classes.size();
  running.compute.assign(server_of.begin(), server_of.begin() + static_cast<std::ptrdiff_t>(classes));
  if (running.unrolled.separate_codec)
    running.codec.assign(server_of.begin() + static_cast<std::ptrdiff_t>(classes) + 1,
                         server_of.begin() + static_cast<std::ptrdiff_t>(2 * classes) + 1);
  if (scenario.cluster.interference)
    add_interference(system, running.compute.front(), the_network, network.first_call(number), job.job, job.classes);
  for (QueueUse queue : own.queues) {
    queue.server = server_of[queue.server];
    system.queues.push_back(std::move(queue));
  }
  cycle.start = job.start;
  cycle.graph = running.unrolled.graph;
  for (TaskId id = 0; id < cycle.graph.tasks().size(); ++id) {
    Task& task = cycle.graph.task(id);
    task.queue += first_queue;
    if (running.unrolled.labels[id].kind == Activity::Transfer) task.call_id += network.first_call(number);
  }
  cycle.carried = running.unrolled.carried;
  add_opening(cycle, job, running.unrolled, first_queue);
}

}  // namespace allreplay
