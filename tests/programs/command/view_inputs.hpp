// Measured jobs, logs and points for the commands whose views are tested.
#pragma once

#include <functional>
#include <string>

#include <fmt/format.h>

#include "tests/own_folder.hpp"

namespace view_inputs {

struct Op {
  int step, replica, stage;
  bool backward;
};

/// A job whose passes take these times in ms; four micro-batches go through the stages one after the other, and
/// transfers take no time.
inline std::string job(int replicas, int stages, int steps, const std::function<int(const Op&)>& duration) {
  std::string text = "step,dp,stage,op,seq,start_us,duration_us\n";
  const auto add = [&](const Op& op, const char* kind, int seq, int start, int length) {
    text += fmt::format("{},{},{},{}-{},{},{},{}\n", op.step, op.replica, op.stage,
                        op.backward ? "backward" : "forward", kind, seq, 1000 * start, 1000 * length);
  };
  for (int step = 0; step < steps; ++step)
    for (int replica = 0; replica < replicas; ++replica)
      for (int stage = 0; stage < stages; ++stage)
        for (const bool backward : {false, true})
          for (int seq = 0; seq < 4; ++seq) {
            const Op op{step, replica, stage, backward};
            const int start = (backward ? 10'000 : 0) + 100 * seq;
            add(op, "compute", seq, start, duration(op));
            if (stage != (backward ? stages - 1 : 0)) add(op, "recv", seq, start - 50, 0);
            if (stage != (backward ? 0 : stages - 1)) add(op, "send", seq, start + 50, 0);
          }
  return text;
}

/// A log of a collective that takes a + b · size, in us and ns/B; from 100 kB on it takes `step` us more.
inline std::string log(double a, double b, double step = 0) {
  std::string text = "bytes,time_us\n";
  for (long bytes = 1024; bytes <= 1L << 28; bytes *= 4)
    text += fmt::format("{},{}\n", bytes, a + 1e-3 * b * static_cast<double>(bytes) + (bytes > 100'000 ? step : 0));
  return text;
}

inline void write_to(const OwnFolder& folder) {
  folder.write("worker.csv", job(2, 1, 1, [](const Op& op) { return (op.replica == 1 ? 15 : 10) << op.backward; }));
  folder.write("stage.csv", job(2, 3, 1, [](const Op& op) { return (op.stage == 1 ? 15 : 10) << op.backward; }));
  folder.write("replica.csv",
               job(4, 3, 2, [](const Op& op) { return (op.replica == 1 && op.step == 1 ? 15 : 10) << op.backward; }));
  folder.write("kind.csv",
               job(4, 1, 4, [](const Op& op) { return op.backward ? (op.step == op.replica ? 40 : 20) : 10; }));
  folder.write("line.log.csv", log(50, 1));
  folder.write("steps.log.csv", log(50, 1, 1000));
  folder.write("two.log.csv", log(100, 3));
  folder.write("four.log.csv", log(150, 12));
  folder.write("p.csv",
               "layer,params,forward_us,backward_us\nl0,250000,1000,6000\nl1,2500000,3000,6000\nl2,100000,3000,500\n"
               "l3,2500000,1000,6000\nl4,250000,300,6000\nl5,2500000,3000,6000\n");
  folder.write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "100 us", "beta": "1 ns/B"}})");
  const std::string head = "profile,cluster,workers,strategy,iteration_s,calibrate\n";
  folder.write("beta.csv",
               head + "p.csv,c.json,4,sync-easgd,0.1,beta\np.csv,c.json,4,wfbp,0.07,\np.csv,c.json,4,ddp,0.08,\n");
  folder.write("both.csv", head +
                               "p.csv,c.json,4,sync-easgd,0.1,alpha; beta\np.csv,c.json,4,sync-easgd,0.1,alpha; beta\n"
                               "p.csv,c.json,4,wfbp,0.07,\n");
  folder.write("launch.csv", head + "p.csv,c.json,4,bytescheduler,0.0648,launch\np.csv,c.json,4,bytescheduler,0.07,\n");
  folder.write("collectives.csv",
               "cluster,collective,workers,bytes,time_s\nc.json,ring,2,1000000,0.002\nc.json,ring,4,1000000,0.003\n");
}

}  // namespace view_inputs
