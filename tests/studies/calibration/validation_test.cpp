// Two layers of 1 MB, F = 1 + 1 ms, B = 2 + 2 ms, a ring among 4 with 100 us and 1 ns/B: an all-reduce of M takes
// 2·3·100 us + 2·3/4·1 ns/B·M, 2.1 ms for one layer, 3.6 ms for both together.
#include "sim/studies/calibration/validation.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"

using namespace allreplay;

namespace {

class Measurements : public OwnFolder {
 public:
  Measurements() {
    write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\nb,250000,1000,2000\n");
    write("c.json", R"({"name": "c", "workers": 4, "network": {"alpha": "100 us", "beta": "1 ns/B"}})");
    write("n.json",
          R"({"name": "n", "workers": 4, "network": {"node": {"workers": 2, "alpha": "0 us", "beta": "1 ns/B"},
                                                               "alpha": "0 us", "beta": "1 ns/B"}})");
    write("m.json", R"({"name": "m", "workers": 4, "network": {"measured": {"collective": "ring", "workers": 4,
                                                                           "a": "1 ms", "b": "1 ns/B"}}})");
  }
  std::string csv(const std::string& text) const {
    write("m.csv", text);
    return (*this)("m.csv");
  }
  Validation validated(const std::string& text) const { return validate(read_measured_file({}, csv(text))); }
  std::string refused(const std::string& text) const {
    const std::string file = csv(text), place = error_place([&] { validate(read_measured_file({}, file)); });
    return place.starts_with(file + ": ") ? place.substr(file.size() + 2) : place == file ? "the file" : place;
  }
};

const std::string head = "profile,cluster,workers,strategy,barrier,iteration_s\n";

}  // namespace

TEST_CASE("a point is predicted together with both null models") {
  // wfbp: b's gradients are ready at 2 ms and travel until 4.1, a's from then until 6.2; with the forward pass behind
  // them 8.2 ms. Nothing communicated: 6 ms. Nothing overlapped: 6 + 4.2 ms.
  const Validation found = Measurements().validated(head + "p.csv,c.json,4,wfbp,iteration,0.008\n");
  REQUIRE(found.points.size() == 1);
  const ValidatedPoint& point = found.points[0];
  CHECK(point.predicted.value == Approx(8.2e-3));
  CHECK(point.predicted.no_communication == Approx(6e-3));
  CHECK(point.predicted.no_overlap == Approx(10.2e-3));
  CHECK(point.error == Approx(-0.025));  // 0.2 ms of 8 too slow
  CHECK(point.no_communication == Approx(0.25));
  CHECK(point.no_overlap == Approx(-0.275));
  // One worker takes 6 ms, so that 6/8 of the workers' time is left as measured, and 6/8.2 as predicted.
  CHECK(point.loss->measured == Approx(0.25));
  CHECK(point.loss->predicted == Approx(1 - 6 / 8.2));
  CHECK(found.all.loss_error == Approx(0.75 - 6 / 8.2));
  CHECK(found.settings.empty());
}

TEST_CASE("errors of speed-ups and throughputs are ratios, positive if too fast") {
  const Measurements files;
  // 4·6/8.2 = 2.927 against 3.
  const Validation speedup =
      files.validated("profile,cluster,workers,strategy,barrier,speedup\np.csv,c.json,4,wfbp,iteration,3\n");
  CHECK(speedup.points[0].predicted.value == Approx(24 / 8.2));
  CHECK(speedup.points[0].error == Approx(24 / 8.2 / 3 - 1));
  CHECK(speedup.points[0].no_communication == Approx(1.0 / 3));  // 4 against 3
  CHECK(speedup.points[0].loss->measured == Approx(0.25));
  // A CSV profile has no batch size, a trace has: 32 samples on 4 workers in 8.2 ms.
  files.write("p.json",
              R"({"model": {"name": "m", "layers": [{"name": "a", "tensors": [{"name": "a.w", "shape": [250000]}]},
      {"name": "b", "tensors": [{"name": "b.w", "shape": [250000]}]}]}, "device": "d", "framework": "f", "batch_size": 8,
      "precision": "fp32", "origin": "measured", "source": "s", "unit": "us",
      "layers": [{"name": "a", "forward": 1000, "backward": 2000}, {"name": "b", "forward": 1000, "backward": 2000}]})");
  const std::string columns = "profile,cluster,workers,strategy,barrier,samples_per_s\n";
  CHECK(files.validated(columns + "p.json,c.json,4,wfbp,iteration,4000\n").points[0].predicted.value ==
        Approx(32 / 8.2e-3));
  CHECK(files.refused(columns + "p.csv,c.json,4,wfbp,iteration,4000\n") == "line 2, profile");
}

TEST_CASE("rows with the same calibrate fit a constant, and are not scored") {
  // sync-easgd: 6 ms, and 0.6 ms + 1.5·beta·2 MB behind: 12.6 ms say 2 ns/B. wfbp's transfers then take 3.6 ms each:
  // from 2 to 5.6, to 9.2, and the forward pass until 11.2.
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,barrier,iteration_s,calibrate\n"
      "p.csv,c.json,4,sync-easgd,iteration,0.0126,beta\n"
      "p.csv,c.json,4,wfbp,iteration,0.0112,\n");
  REQUIRE(found.fitted.size() == 1);
  CHECK(found.fitted[0].value == Approx(2e-9).epsilon(1e-4));
  CHECK(found.fitted[0].known);
  CHECK(found.points[1].predicted.value == Approx(11.2e-3).epsilon(1e-4));
  CHECK(found.all.error.rows == 1);
  CHECK(found.groups[0].name == "wfbp");
}

TEST_CASE("two constants want two rows, and several rows share one") {
  // 12.6 = 6 + 6·alpha + 3 MB·beta of one collective; wfbp has two: 6·alpha + 1.5 MB·beta each, which do not overlap
  // from 2 ms on: 2 + 2·(0.6 + 3) + 2 = 11.2 ms.
  const Measurements files;
  const std::string columns = "profile,cluster,workers,strategy,barrier,iteration_s,calibrate\n",
                    first = "p.csv,c.json,4,sync-easgd,iteration,0.0126,alpha; beta\n",
                    last = "p.csv,c.json,4,wfbp,layer,0.01,\n";
  const Validation found =
      files.validated(columns + first + "p.csv,c.json,4,wfbp,iteration,0.0112,alpha; beta\n" + last);
  REQUIRE(found.fitted.size() == 2);
  CHECK(found.fitted[0].value == Approx(100e-6).epsilon(1e-2));
  CHECK(found.fitted[1].value == Approx(2e-9).epsilon(1e-2));
  CHECK(files.refused(columns + first + last) == "line 2");
}

TEST_CASE("a constant applies to rows with equal values in the columns after `by`") {
  // Among 4, 3.6 ms of 6·alpha + 3 MB·beta; among 2, 2·alpha + 2 MB·beta = 0.2 ms + 2 MB·3 ns/B = 6.2 ms.
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,iteration_s,calibrate\n"
      "p.csv,c.json,4,sync-easgd,0.0096,beta by cluster workers\n"
      "p.csv,c.json,2,sync-easgd,0.0122,beta by cluster workers\n"
      "p.csv,c.json,2,s-sgd,0.0124,\n"
      "p.csv,c.json,4,s-sgd,0.0102,\n"
      "p.csv,c.json,8,sync-easgd,0.0109,\n");
  REQUIRE(found.fitted.size() == 2);
  CHECK(found.fitted[0].value == Approx(1e-9).epsilon(1e-3));
  CHECK(found.fitted[1].value == Approx(3e-9).epsilon(1e-3));
  CHECK(found.points[2].predicted.value == Approx(12.4e-3).epsilon(1e-3));  // a second start-up of 0.2 ms
  CHECK(found.points[3].predicted.value == Approx(10.2e-3).epsilon(1e-3));  // 0.6 ms
  CHECK(found.points[4].predicted.value == Approx(10.9e-3));  // the file's own: 1.4 ms + 1.75·2 MB·1 ns/B
}

TEST_CASE("inside a node rows fit the node's constants, across nodes a port's") {
  // Two workers of one node: 2 MB·beta. Four of two nodes: 1.5·2 MB·max(inside, port).
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,iteration_s,calibrate\n"
      "p.csv,n.json,2,sync-easgd,0.007,beta\n"
      "p.csv,n.json,4,sync-easgd,0.015,beta\n"
      "p.csv,n.json,4,s-sgd,0.015,\n");
  REQUIRE(found.fitted.size() == 2);
  CHECK(found.fitted[0].inside);
  CHECK(found.fitted[0].value == Approx(0.5e-9).epsilon(1e-3));
  CHECK_FALSE(found.fitted[1].inside);
  CHECK(found.fitted[1].value == Approx(3e-9).epsilon(1e-3));
}

TEST_CASE("constants without effect are not fitted") {
  // One worker does not communicate: beta stays the file's, 1 ns/B.
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,iteration_s,calibrate\n"
      "p.csv,c.json,1,sync-easgd,0.007,beta\n"
      "p.csv,c.json,4,sync-easgd,0.0096,\n");
  CHECK_FALSE(found.fitted[0].known);
  CHECK(found.points[1].predicted.value == Approx(9.6e-3));
}

TEST_CASE("a constant is known if the rows bound it from above and from below") {
  // b's 1 MB are ready at 2 ms, take 2.1 ms, and are needed at 5 ms. Half of beta changes nothing, twice of it does.
  const Measurements files;
  files.write("b.csv", "layer,params,forward_us,backward_us\na,0,1000,2000\nb,250000,1000,2000\n");
  const Validation found = files.validated(
      "profile,cluster,workers,strategy,barrier,iteration_s,calibrate\n"
      "b.csv,c.json,4,wfbp,layer,0.006,beta\n"
      "b.csv,c.json,4,s-sgd,iteration,0.0081,\n");
  CHECK_FALSE(found.fitted[0].known);
  CHECK(found.points[1].predicted.value == Approx(8.1e-3));
}

TEST_CASE("the update is fitted, too, and is a profile's") {
  // 1 ms of update behind 6 ms, and 3.6 ms of communication.
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,iteration_s,calibrate\n"
      "p.csv,c.json,4,sync-easgd,0.0106,update\n"
      "p.csv,c.json,4,s-sgd,0.0112,\n");
  CHECK(found.fitted[0].value == Approx(1e-3).epsilon(1e-3));
  CHECK(found.points[1].predicted.value == Approx(11.2e-3).epsilon(1e-3));
  CHECK(found.points[1].predicted.no_communication == Approx(7e-3).epsilon(1e-3));
}

TEST_CASE("a launch is fitted, and paid by every collective") {
  // 6 ms, 3.6 ms of one collective, and 1 ms before it; s-sgd's two wait for each other: 2·(1 + 2.1) ms.
  const Validation found = Measurements().validated(
      "profile,cluster,workers,strategy,iteration_s,calibrate\n"
      "p.csv,c.json,4,sync-easgd,0.0106,launch\n"
      "p.csv,c.json,4,s-sgd,0.0122,\n");
  CHECK(found.fitted[0].value == Approx(1e-3).epsilon(1e-3));
  CHECK(found.points[1].predicted.value == Approx(12.2e-3).epsilon(1e-3));
}

TEST_CASE("methods of one setting are put in order") {
  // Predicted 8.2 (wfbp), 9.6 (sync-easgd) and 10.2 ms (s-sgd): the first two are the wrong way round. Among 2: 0.2 ms
  // + 2 MB·1 ns/B = 2.2 ms behind 6, 2.4 with two start-ups: right.
  const Validation found = Measurements().validated(head +
                                                    "p.csv,c.json,4,wfbp,iteration,0.010\n"
                                                    "p.csv,c.json,4,sync-easgd,iteration,0.009\n"
                                                    "p.csv,c.json,4,s-sgd,iteration,0.011\n"
                                                    "p.csv,c.json,2,sync-easgd,iteration,0.009\n"
                                                    "p.csv,c.json,2,s-sgd,iteration,0.010\n");
  REQUIRE(found.settings.size() == 2);
  CHECK(found.settings[0].contest.right == 2);
  CHECK(found.settings[0].contest.regret == Approx(1.0 / 9));
  CHECK(found.settings[1].contest.winner_is_right);
}

TEST_CASE("single collectives") {
  // 6·100 us + 1.5 ns/B·1 MB = 2.1 ms.
  const Validation found = Measurements().validated(
      "cluster,collective,workers,bytes,time_s\nc.json,ring,4,1000000,0.0021\n"
      "c.json,ring,4,1 MB,0.0042\n");
  CHECK(found.points[0].error == Approx(0).margin(1e-9));
  CHECK(found.points[1].error == Approx(0.5));
  CHECK_FALSE(found.points[0].loss);
  CHECK(found.groups[0].name == "ring");
  const Validation fitted = Measurements().validated(
      "cluster,collective,workers,bytes,time_s,calibrate\nc.json,ring,4,1000000,0.0021,beta\n"
      "c.json,ring,4,2000000,0.0036,\n");
  CHECK(fitted.points[1].error == Approx(0).margin(1e-4));
}

TEST_CASE("bad input is said in one line") {
  const Measurements files;
  const std::string row = "p.csv,c.json,4,wfbp,iteration,0.008\n";
  CHECK(files.refused("") == "the file");
  CHECK(files.refused("profile,cluster,workers,strategie,iteration_s\n") == "line 1");
  CHECK(files.refused("profile,cluster,cluster,strategy,iteration_s\n") == "line 1");
  CHECK(files.refused("profile,cluster,workers,strategy\n") == "line 1");
  CHECK(files.refused("profile,cluster,strategy,iteration_s,speedup\n") == "line 1");
  CHECK(files.refused("profile,cluster,workers,iteration_s\n") == "line 1");
  CHECK(files.refused("cluster,workers,strategy,bytes,time_s\n") == "line 1");
  CHECK(files.refused("profile,cluster,strategy,bytes,iteration_s\n") == "line 1");
  CHECK(files.refused(head) == "the file");
  CHECK(files.refused(head + "p.csv,c.json,4,wfbp\n") == "line 2");
  CHECK(files.refused(head + "q.csv,c.json,4,wfbp,,0.008\n") == "line 2, profile");
  CHECK(files.refused(head + "p.csv,c.json,4,wfbb,,0.008\n") == "line 2, strategy");
  CHECK(files.refused(head + "p.csv,c.json,0,wfbp,,0.008\n") == "line 2, workers");
  CHECK(files.refused(head + "p.csv,c.json,4,wfbp,never,0.008\n") == "line 2, barrier");
  CHECK(files.refused(head + row + "p.csv,c.json,4,wfbp,,0\n") == "line 3, iteration_s");
}

TEST_CASE("bad calibrations are said in one line") {
  const Measurements files;
  const std::string columns = "profile,cluster,workers,strategy,update,iteration_s,calibrate\n",
                    other = "p.csv,c.json,4,wfbp,,0.008,\n";
  const auto refused = [&](const std::string& calibrate) {
    return files.refused(columns + "p.csv,c.json,4,sync-easgd,,0.008," + calibrate + "\n" + other);
  };
  CHECK(refused("gamma") == "line 2, calibrate");
  CHECK(refused("beta per cluster") == "line 2, calibrate");
  CHECK(refused("beta by iteration_s") == "line 2, calibrate");
  CHECK(refused("beta; beta") == "line 2, calibrate");
  CHECK(refused("alpha; beta; launch; update; server") == "calibrate");
  CHECK(files.refused(columns + "p.csv,c.json,4,sync-easgd,1 ms,0.008,update\n" + other) == "line 2");
  CHECK(files.refused(columns + "p.csv,m.json,4,sync-easgd,,0.008,beta\n" + other) == "line 2, calibrate");
  CHECK(files.refused(columns + "p.csv,c.json,4,sync-easgd,,0.012,beta\np.csv,c.json,4,s-sgd,,0.012,beta by workers\n" +
                      other) == "line 2");
  CHECK(files.refused("cluster,collective,workers,bytes,time_s,calibrate\nc.json,ring,4,8,1,update\n") ==
        "line 2, calibrate");
}
