// Constants that made rows come back out of them: the rows are the simulator's own, so that every error is the fit's.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tests/base/farm/threads.hpp"
#include "tests/catch.hpp"
#include "tests/own_folder.hpp"

#include "sim/base/core/random.hpp"
#include "sim/studies/calibration/fitted_constant.hpp"
#include "sim/studies/calibration/validation.hpp"

using namespace allreplay;

namespace {

using Constants = std::vector<Constant>;
constexpr Constant L = Constant::Launch, A = Constant::Alpha, B = Constant::Beta, U = Constant::Update;

// The constants of the made-up cluster; the cluster's file has others.
using Truth = std::map<Constant, double>;

// Rows of one profile on one cluster, measured by the simulator where `truth` holds.
class MadeUp {
 public:
  MadeUp(std::string profile, std::string network, std::vector<std::string> rows, const Constants& names, Truth truth)
      : rows_(std::move(rows)) {
    folder_.write("p.csv", "layer,params,forward_us,backward_us\n" + profile);
    folder_.write("c.json", fmt::format(R"({{"name": "c", "workers": 16, "network": {{{}}}}})", network));
    for (const Constant one : names) {
      calibrate_ += fmt::format("{}{}", calibrate_.empty() ? "" : "; ", name_of(constant_words, one));
      FittedConstant fixed;
      fixed.constant = one;
      fixed.value = truth.at(one);
      truth_.push_back(fixed);
    }
  }

  Validation validated() {
    std::vector<double> seconds(rows_.size(), 1.0);
    write(seconds);
    Library library;
    const MeasuredFile asked = read_measured_file({}, folder_("m.csv"));
    for (std::size_t row = 0; row < rows_.size(); ++row)
      seconds[row] = predict(scenario_of(asked.points[row], truth_, library), asked.points[row], asked.quantity).value;
    write(seconds);
    return validate(read_measured_file({}, folder_("m.csv")));
  }

  double truth(std::size_t place) const { return truth_[place].value; }

 private:
  void write(const std::vector<double>& seconds) const {
    std::string text = "profile,cluster,workers,strategy,barrier,iteration_s,calibrate\n";
    for (std::size_t row = 0; row < rows_.size(); ++row)
      text += fmt::format("p.csv,c.json,{},{},{}\n", rows_[row], seconds[row], calibrate_);
    folder_.write("m.csv", text + fmt::format("p.csv,c.json,{},1,\n", rows_[0]));
  }

  OwnFolder folder_;
  std::vector<std::string> rows_;  // "workers,strategy,barrier"
  std::string calibrate_;
  std::vector<FittedConstant> truth_;
};

// Pairs and triples in turn, with starts from a tenth to ten times the truth where the file says one.
MadeUp random_fit(std::uint64_t seed) {
  static const std::vector<Constants> names{{A, B}, {L, B},    {L, A},    {U, B},    {U, A},
                                            {L, U}, {L, A, B}, {U, A, B}, {L, U, B}, {L, U, A}};
  static constexpr const char* strategies[] = {"sync-easgd",    "s-sgd", "wfbp", "ddp",     "horovod",
                                               "bytescheduler", "p3",    "dear", "mg-wfbp", "optimal-merge"};
  Random random(seed, 7);
  const auto between = [&](double least, double most) { return least * std::pow(most / least, random.uniform()); };
  std::string profile;
  for (std::uint64_t layer = 0, count = 3 + random.below(6); layer < count; ++layer)
    profile +=
        fmt::format("l{},{:.0f},{:.0f},{:.0f}\n", layer, between(1e4, 3e6), between(100, 3000), between(100, 3000));
  const Truth truth{
      {L, between(5e-6, 200e-6)}, {A, between(5e-6, 200e-6)}, {B, between(0.3e-9, 5e-9)}, {U, between(0.2e-3, 5e-3)}};
  const Constants& fitted = names[seed % names.size()];
  const auto start = [&](Constant one) {
    const bool known = std::find(fitted.begin(), fitted.end(), one) == fitted.end();
    return truth.at(one) * (known ? 1 : between(0.1, 10));
  };
  const std::string node =
      random.below(3) == 0 ? R"("node": {"workers": 2, "alpha": "3 us", "beta": "0.01 ns/B"}, )" : "";
  const std::string network = fmt::format(R"({}"alpha": "{} s", "beta": "{} s/B")", node, start(A), start(B));
  std::vector<std::string> rows;
  for (std::uint64_t row = 0, count = fitted.size() + 1 + random.below(5); row < count; ++row) {
    const std::string strategy = strategies[random.below(std::size(strategies))];
    const bool barrier = strategy != "dear" && random.below(2) == 0;
    rows.push_back(fmt::format("{},{},{}", 4 << random.below(3), strategy, barrier ? "iteration" : ""));
  }
  return {profile, network, rows, fitted, truth};
}

double squares_of_fit(const Validation& validation) {
  double squares = 0;
  for (std::size_t row = 0; row < validation.points.size(); ++row)
    if (!validation.measured.points[row].scored()) squares += std::pow(validation.points[row].error, 2);
  return squares;
}

const std::string two_layers = "a,250000,1000,2000\nb,250000,1000,2000\n";

}  // namespace

TEST_CASE("without noise all constants are recovered, or reported as hidden by others") {
  int hidden = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    MadeUp made = random_fit(seed);
    const Validation found = made.validated();
    INFO("seed " << seed);
    CHECK(squares_of_fit(found) < 1e-10);
    bool all_known = true;
    for (std::size_t place = 0; place < found.fitted.size(); ++place) {
      INFO(name_of(constant_words, found.fitted[place].constant));
      if (found.fitted[place].known) CHECK(found.fitted[place].value == Approx(made.truth(place)).epsilon(1e-4));
      all_known = all_known && found.fitted[place].known;
    }
    hidden += !all_known;
  }
  CHECK(hidden <= 2);
}

TEST_CASE("a start at a third of the truth is as good as any") {
  // 100 us and 1 ns/B, started at 0.3 of both, on three strategies and three numbers of workers.
  const std::vector<std::string> rows{"4,wfbp,iteration", "8,wfbp,", "8,s-sgd,iteration", "16,ddp,iteration"};
  MadeUp made(two_layers, R"("alpha": "30 us", "beta": "0.3 ns/B")", rows, {A, B}, {{A, 100e-6}, {B, 1e-9}});
  const Validation found = made.validated();
  CHECK(found.fitted[0].value == Approx(100e-6).epsilon(1e-6));
  CHECK(found.fitted[1].value == Approx(1e-9).epsilon(1e-6));
}

TEST_CASE("an absent constant is 0, and the other is fitted with it") {
  // No start-ups: among 4 sync-easgd sends 2 MB in 6·alpha + 3 MB·beta, s-sgd twice 1 MB in 12·alpha + 3 MB·beta.
  const std::vector<std::string> rows{"4,sync-easgd,iteration", "4,s-sgd,iteration", "8,s-sgd,iteration"};
  MadeUp made(two_layers, R"("alpha": "100 us", "beta": "3 ns/B")", rows, {A, B}, {{A, 0}, {B, 1e-9}});
  const Validation found = made.validated();
  CHECK(found.fitted[0].known);
  CHECK(found.fitted[0].value == Approx(0).margin(1e-10));
  CHECK(found.fitted[1].value == Approx(1e-9).epsilon(1e-5));
  CHECK(found.points[0].error == Approx(0).margin(1e-6));
}

TEST_CASE("a constant that is small is not 0") {
  // The file's start-up is 5000 times the true one of 1 us, whose 6 to 28 are still a thousandth of an iteration.
  const std::vector<std::string> rows{"4,sync-easgd,iteration", "4,s-sgd,iteration", "8,s-sgd,iteration"};
  MadeUp made(two_layers, R"("alpha": "5 ms", "beta": "1 ns/B")", rows, {A, B}, {{A, 1e-6}, {B, 1e-9}});
  const Validation found = made.validated();
  CHECK(found.fitted[0].known);
  CHECK(found.fitted[0].value == Approx(1e-6).epsilon(1e-3));
}

TEST_CASE("the ranks of a farm fit as one process does") {
  const std::vector<std::string> rows{"4,sync-easgd,iteration", "4,sync-easgd,iteration", "4,sync-easgd,"};
  MadeUp made(two_layers, R"("alpha": "50 us", "beta": "3 ns/B")", rows, {A, B}, {{A, 100e-6}, {B, 1e-9}});
  const Validation here = made.validated();
  Validation there;
  with_ranks(
      2, [&](int) { return answer_validation(read_measured_file({}, here.measured.file)); },
      [&](Farm& farm) { there = validate(read_measured_file({}, here.measured.file), &farm); });
  for (const std::size_t one : {0u, 1u}) {
    CHECK(there.fitted[one].used == here.fitted[one].used);
    CHECK(there.fitted[one].known == here.fitted[one].known);
    CHECK(there.fitted[one].not_told_from == here.fitted[one].not_told_from);
  }
  CHECK(there.fitted[1].value == here.fitted[1].value);
  CHECK(there.points[3].predicted.value == here.points[3].predicted.value);
}

TEST_CASE("a constant without effect keeps the file's value, and the other is fitted with it") {
  // Behind a lead of 3 ms b's 1 MB of 6·alpha + 1.5 MB·beta = 2.1 ms is hidden; so is a launch of 20 us. The update is
  // not: 1 ms of it comes back.
  const std::string b_alone = "a,0,1000,2000\nb,250000,1000,2000\n";
  MadeUp made(b_alone, R"("alpha": "100 us", "beta": "1 ns/B")", {"4,wfbp,layer", "4,wfbp,layer"}, {A, U},
              {{A, 100e-6}, {U, 1e-3}});
  const Validation found = made.validated();
  CHECK_FALSE(found.fitted[0].known);
  CHECK_FALSE(found.fitted[0].used);
  CHECK(found.fitted[0].not_told_from.empty());
  CHECK(found.fitted[1].known);
  CHECK(found.fitted[1].value == Approx(1e-3).epsilon(1e-6));
}

TEST_CASE("constants that make up for each other are said to") {
  // Rows of one collective of one size among equally many workers see only 6·alpha + 3 MB·beta, whatever the two are.
  const std::vector<std::string> rows{"4,sync-easgd,iteration", "4,sync-easgd,iteration", "4,sync-easgd,"};
  MadeUp made(two_layers, R"("alpha": "50 us", "beta": "3 ns/B")", rows, {A, B}, {{A, 100e-6}, {B, 1e-9}});
  const Validation found = made.validated();
  for (const std::size_t one : {0u, 1u}) {
    CHECK_FALSE(found.fitted[one].known);
    CHECK(found.fitted[one].not_told_from == std::vector<std::size_t>{1 - one});
  }
  // Alpha stays the file's 50 us, and beta takes the rest of 0.6 + 3 ms: (3.6 - 0.3)/3 = 1.1 ns/B.
  CHECK_FALSE(found.fitted[0].used);
  CHECK(found.fitted[1].used);
  CHECK(found.fitted[1].value == Approx(1.1e-9).epsilon(1e-5));
  CHECK(squares_of_fit(found) < 1e-10);
}

TEST_CASE(
    "with as many rows as constants, a constant that changes a row by less than a thousandth is not reported as "
    "known") {
  // 12 start-ups of 1 ns, compared with 9 ms.
  MadeUp made(two_layers, R"("alpha": "1 ns", "beta": "1 ns/B")", {"4,sync-easgd,", "4,s-sgd,"}, {A, B},
              {{A, 1e-9}, {B, 1e-9}});
  const Validation found = made.validated();
  CHECK_FALSE(found.fitted[0].known);
  CHECK(found.fitted[1].known);
}

TEST_CASE("the host's floor and its part of a step are distinguished only by the number of micro-batches") {
  // The host makes 3 and 6 ms of 1 and 2: K micro-batches take 9K ms, and the step 4 ms more.
  const OwnFolder folder;
  folder.write("p.csv", "layer,params,forward_us,backward_us\na,1000,1000,2000\n");
  folder.write("c.json", R"({"name": "c", "workers": 16, "network": {"alpha": "1 us", "beta": "1 ns/B"}})");
  const auto fitted = [&](const std::vector<int>& counts) {
    std::string text = "profile,cluster,workers,strategy,accumulate,iteration_s,calibrate\n";
    for (const int count : counts)
      text += fmt::format("p.csv,c.json,1,wfbp,{},{},host.block; host.step\n", count, 1e-3 * (9 * count + 4));
    folder.write("m.csv", text + "p.csv,c.json,1,wfbp,4,0.040,\n");
    return validate(read_measured_file({}, folder("m.csv")));
  };
  const Validation apart = fitted({1, 2});
  CHECK(apart.fitted[0].constant == Constant::HostBlock);
  CHECK(apart.fitted[0].known);
  CHECK(apart.fitted[0].value == Approx(3e-3).epsilon(1e-3));
  CHECK(apart.fitted[1].value == Approx(4e-3).epsilon(1e-3));
  CHECK(apart.points[2].predicted.value == Approx(0.040).epsilon(1e-4));
  const Validation alike = fitted({1, 1});
  for (const std::size_t place : {0U, 1U}) {
    CHECK(!alike.fitted[place].known);
    CHECK(alike.fitted[place].not_told_from == std::vector<std::size_t>{1 - place});
  }
}
