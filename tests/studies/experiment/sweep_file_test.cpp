#include "sim/studies/experiment/sweep_file.hpp"

#include <algorithm>
#include <filesystem>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"
#include "tests/own_folder.hpp"
#include "tests/untimed_rows.hpp"

#include "sim/base/core/file.hpp"
#include "sim/studies/experiment/sweep.hpp"

using namespace allreplay;
namespace fs = std::filesystem;

namespace {

constexpr auto profile = "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n";

class Folder : public OwnFolder {
 public:
  Folder() {
    write("profile.csv", profile);
    write("other.csv", profile);
    write("cluster.json", R"({"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})");
    write("sweep.json", R"({"profiles": ["profile.csv", "other.csv"], "clusters": ["cluster.json"], "workers": [2, 4],
                            "strategies": ["wfbp", "s-sgd"]})");
  }

  // Returns how many rows were simulated, and the warnings.
  std::pair<std::size_t, std::string> sweep(bool resume, bool force = false) const {
    std::string remark;
    const auto swept =
        run_sweep(read_sweep({}, (*this)("sweep.json")), {.jobs = 2,
                                                          .out = (*this)("out.csv"),
                                                          .resume = resume,
                                                          .progress = false,
                                                          .force = force,
                                                          .note = [&](const auto& text) { remark = text; }});
    return {swept.simulated, remark};
  }

  std::vector<std::string> rows() const { return untimed_rows((*this)("out.csv")); }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// The text with the field `column` of line `line` (both from 0) changed.
std::string with_field(const std::string& text, std::size_t line, std::size_t column, const std::string& field) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < line; ++i) at = text.find('\n', at) + 1;
  for (std::size_t i = 0; i < column; ++i) at = text.find(',', at) + 1;
  return std::string(text).replace(at, text.find(',', at) - at, field);
}

}  // namespace

TEST_CASE("resume recomputes rows made from other inputs, and only these") {
  const Folder folder;
  CHECK(folder.sweep(false) == std::pair(std::size_t{8}, std::string()));
  const std::string before = Files().read_output(folder("out.csv"));
  CHECK(folder.sweep(true) == std::pair(std::size_t{0}, std::string()));
  CHECK(Files().read_output(folder("out.csv")) == before);

  // The first profile is that of the first half of the rows; the second half has to survive the first's replacement.
  folder.write("profile.csv", replaced(profile, "60", "90"));
  const auto [computed, remark] = folder.sweep(true);
  CHECK(computed == 4);
  CHECK_FALSE(remark.empty());
  const std::vector<std::string> resumed = folder.rows();
  const std::string after = Files().read_output(folder("out.csv"));
  CHECK(after.substr(after.find("other,")) == before.substr(before.find("other,")));  // to the bit, wall time and all
  folder.sweep(false);
  CHECK(folder.rows() == resumed);
  CHECK(folder.sweep(true).first == 0);

  folder.write("cluster.json", R"({"name": "c", "workers": 4, "network": {"alpha": "20 us", "beta": "1 ns/B"}})");
  CHECK(folder.sweep(true).first == 8);
  CHECK(folder.sweep(true).first == 0);
}

TEST_CASE("resume keeps the rows that a sweep had before it got more of them") {
  const Folder folder;
  const std::string sizes = R"("workers": [2, 4])";
  const std::string sweep = Files().read_output(folder("sweep.json"));
  folder.sweep(false);
  const std::string before = Files().read_output(folder("out.csv"));
  folder.write("sweep.json", replaced(sweep, sizes, R"("workers": [2, 3, 4])"));
  CHECK(folder.sweep(true) == std::pair(std::size_t{4}, std::string()));  // 2 profiles, 2 strategies
  std::string left = Files().read_output(folder("out.csv"));
  for (std::size_t start = 0, end = 0; start < before.size(); start = end + 1) {
    end = before.find('\n', start);
    left = replaced(left, before.substr(start, end + 1 - start), "");  // to the bit, wall time and all
  }
  CHECK(std::count(left.begin(), left.end(), '\n') == 4);
  const std::vector<std::string> resumed = folder.rows();
  folder.sweep(false);
  CHECK(folder.rows() == resumed);
}

TEST_CASE("indistinguishable rows are reported") {
  const Folder folder;
  folder.write("sweep.json", R"({"profiles": ["profile.csv"], "clusters": ["cluster.json"], "workers": [2, 4],
                                 "strategies": ["wfbp", "s-sgd", "wfbp"]})");
  CHECK_FALSE(folder.sweep(false).second.empty());
  CHECK(folder.sweep(true).first == 0);  // each line of the file is one of them
}

TEST_CASE("resume recomputes rows that were edited in the file") {
  const Folder folder;
  folder.sweep(false);
  const std::vector<std::string> right = folder.rows();
  const std::string text = Files().read_output(folder("out.csv"));
  constexpr std::size_t iteration_s = 8;  // profile, cluster, strategy, workers, collective, fidelity, codec, origin
  for (const std::string wrong : {"garbage", "-1", "nan", "inf", "", "0", "1e999"})
    for (const std::size_t line : {1, 4, 8}) {
      INFO(wrong << " in line " << line);
      folder.write("out.csv", with_field(text, line, iteration_s, wrong));
      const auto [computed, remark] = folder.sweep(true);
      CHECK(computed == 1);
      CHECK_FALSE(remark.empty());
      REQUIRE(folder.rows() == right);
    }
}

TEST_CASE("rows in another order are not the sweep's") {
  const Folder folder;
  folder.sweep(false);
  const std::string text = Files().read_output(folder("out.csv"));
  const std::size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1,
                    third = text.find('\n', second) + 1;
  folder.write("out.csv", text.substr(0, first) + text.substr(second, third - second) +
                              text.substr(first, second - first) + text.substr(third));
  const std::string wrong = error_place([&] { folder.sweep(true); });
  INFO(wrong);
  CHECK(wrong == folder("out.csv") + ": line 3");  // rows 1 and 2 are behind it
}

TEST_CASE("a file with other columns is not gone on with") {
  const Folder folder;
  folder.sweep(false);
  folder.write("out.csv", replaced(Files().read_output(folder("out.csv")), "profile,", "trace,"));
  CHECK(error_place([&] { folder.sweep(true); }) == folder("out.csv") + ": line 1");
}

TEST_CASE("rows without a record are recomputed") {
  const Folder folder;
  folder.sweep(false);
  const std::vector<std::string> right = folder.rows();
  const std::string notes = Files().read_output(folder("out.csv.rows"));
  for (std::size_t cut = 0; cut < notes.size(); cut += 41) {  // wherever the notes break off
    folder.write("out.csv.rows", notes.substr(0, cut));
    folder.sweep(true);
    REQUIRE(folder.rows() == right);
    CHECK(folder.sweep(true).first == 0);
  }
  fs::remove(folder("out.csv.rows"));
  CHECK_FALSE(folder.sweep(true).second.empty());
  folder.write("out.csv.rows", "");
  CHECK(folder.sweep(true).first == 8);
}

TEST_CASE("whatever a kill leaves, no row that was finished is lost") {
  const Folder folder;
  folder.sweep(false);
  const std::string text = Files().read_output(folder("out.csv"));
  // Row 1 is stale; the later ones are kept in the notes while it is computed again. Then the process ends.
  folder.write("out.csv", with_field(text, 1, 8, "-1"));
  folder.sweep(true);
  const std::string notes = Files().read_output(folder("out.csv.rows"));
  CHECK(notes.find(" other,") != std::string::npos);
  folder.write("out.csv", text.substr(0, text.find('\n') + 1));
  CHECK(folder.sweep(true).first == 1);  // row 1's record says what it was made from, and nothing has its text
}

TEST_CASE("a sweep replaces a file that no sweep wrote only with --force") {
  const Folder folder;
  folder.sweep(false);
  const auto refusal = [&] { return error_place([&] { folder.sweep(false); }); };
  CHECK(refusal().empty());
  const std::string text = Files().read_output(folder("out.csv"));
  folder.write("out.csv", with_field(text, 3, 8, "0.5"));
  CHECK(refusal() == folder("out.csv"));
  fs::remove(folder("out.csv.rows"));
  folder.write("out.csv", text);
  CHECK(refusal() == folder("out.csv"));
  folder.write("out.csv", "precious\n");
  CHECK(refusal() == folder("out.csv"));
  CHECK(Files().read_output(folder("out.csv")) == "precious\n");
  CHECK(folder.sweep(false, true).first == 8);
  CHECK(folder.rows().size() == 9);
  CHECK(refusal().empty());
}

TEST_CASE("a sweep's notes do not replace other files") {
  const Folder folder;
  folder.write("out.csv.rows", "precious");
  for (const bool resume : {false, true}) CHECK(error_place([&] { folder.sweep(resume); }) == folder("out.csv.rows"));
  CHECK(Files().read_output(folder("out.csv.rows")) == "precious");
  fs::remove(folder("out.csv.rows"));
  folder.write("victim", "precious");
  fs::create_symlink("victim", folder("out.csv.rows"));
  CHECK(error_place([&] { folder.sweep(false, true); }) == folder("out.csv.rows"));
  CHECK(Files().read_output(folder("victim")) == "precious");
}

TEST_CASE("two sweeps do not write one file") {
  const Folder folder;
  {
    const FileLock other(folder("out.csv"));
    CHECK(error_place([&] { folder.sweep(false); }) == folder("out.csv"));
    CHECK_FALSE(fs::exists(folder("out.csv")));
    fs::create_symlink("out.csv", folder("link.csv"));  // by another name
    CHECK(error_place([&] {
            run_sweep(read_sweep({}, folder("sweep.json")), {.out = folder("link.csv"), .progress = false});
          }) == folder("out.csv"));
  }
  CHECK(folder.sweep(false).first == 8);
  CHECK_FALSE(fs::exists(folder("out.csv.lock")));
}

TEST_CASE("a sweep does not overwrite its inputs") {
  const Folder folder;
  Inputs inputs;
  inputs.files.protect_inputs();
  CHECK(error_place([&] {
          run_sweep(read_sweep(inputs, folder("sweep.json")),
                    {.out = folder("profile.csv"), .progress = false, .force = true});
        }) == folder("profile.csv"));
  CHECK(Files().read_output(folder("profile.csv")) == profile);
}
