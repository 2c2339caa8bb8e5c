#include "tests/catch.hpp"
#include "tests/import_text.hpp"

using namespace allreplay;

namespace {

const std::string two_layers =
    "DATA\n2\n"
    "conv\t-1\t1000\tNONE\t0\t300\tNONE\t0\t500\tALLREDUCE\t4000\t50\n"
    "fc -1 2000 NONE 0 700 NONE 0 900 ALLREDUCE 800 0\r\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = two_layers;
  text.replace(text.find(from), from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("ASTRA-sim text: cycles are nanoseconds, backward is both gradients, all-reduces are gradients") {
  const Imported imported = import_text("astra-sim", two_layers);
  const Profile& profile = imported.profile;
  REQUIRE(profile.layers.size() == 2);
  CHECK(profile.layers[0].name == "conv");
  CHECK(profile.layers[0].forward == Time(1'000'000));  // 1000 cycles of 1 ns
  CHECK(profile.layers[0].backward == Time(800'000));   // 300 + 500
  CHECK(profile.layers[1].backward == Time(1'600'000));
  REQUIRE(profile.tensors.size() == 2);
  CHECK(profile.tensors[0].elements == 1000);  // 4000 bytes of fp32
  CHECK(profile.tensors[1].bytes == 800);
  CHECK(has_note(imported, "1 GHz"));
  CHECK(has_note(imported, "1 us"));  // 300 + 700 ns
  CHECK(has_note(imported, "300 ns"));

  ImportOptions options;
  options.batch_size = 1;
  options.clock = 2e9;
  options.precision = "bf16";
  const Profile faster = import_text("astra-sim", two_layers, options).profile;
  CHECK(faster.layers[0].forward == Time(500'000));
  CHECK(faster.tensors[0].elements == 2000);
  CHECK(faster.tensors[0].bytes == 4000);
}

TEST_CASE("ASTRA-sim text: what is not data-parallel is left out and said, or refused") {
  const std::string hybrid =
      "HYBRID_DLRM 1\n2\nembedding -1 30 ALLTOALL 96 30 ALLTOALL 64 30 ALLGATHER 32 9\n"
      "mlp -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 40 1\n";
  const Imported imported = import_text("astra-sim", hybrid);
  CHECK(imported.profile.layers.size() == 2);
  REQUIRE(imported.profile.tensors.size() == 1);
  CHECK(imported.profile.tensors[0].layer == 1);
  CHECK(has_note(imported, "96 B"));
  CHECK(has_note(imported, "64 B"));
  CHECK(has_note(imported, "32 B"));
  CHECK(refusal("astra-sim", with("DATA", "MODEL")) == "file: line 1");
  CHECK(refusal("astra-sim", with("ALLREDUCE", "ALLTOALL")) == "file: line 3");
  CHECK(refusal("astra-sim", "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n") == "file");
}

TEST_CASE("ASTRA-sim text: the clock of a file that allreplay wrote in other cycles stands in the reserved column") {
  // 1000 kHz: cycles of a microsecond.
  const std::string text = "DATA\n2\na -1000 1 NONE 0 0 NONE 0 2 ALLREDUCE 4 0\nb -1000 1 NONE 0 0 NONE 0 2 NONE 0 0\n";
  const Imported imported = import_text("astra-sim", text);
  CHECK(imported.profile.layers[0].backward == Time(2'000'000));
  CHECK(has_note(imported, "0.001 GHz"));
  ImportOptions options;
  options.batch_size = 1;
  options.clock = 1e6;
  CHECK(import_text("astra-sim", text, options).profile.layers[0].backward == Time(2'000'000));
  options.clock = 1e9;
  CHECK(error_place([&] { import_text("astra-sim", text, options); }) == "file: line 3");
  std::string mixed = text;
  mixed.replace(mixed.rfind("-1000"), 5, "-1");
  CHECK(refusal("astra-sim", mixed) == "file: line 4");
}

TEST_CASE("ASTRA-sim text: bad input") {
  CHECK(refusal("astra-sim", "") == "file");
  CHECK(refusal("astra-sim", with("DATA", "DAFA")) == "file: line 1");
  CHECK(refusal("astra-sim", with("\n2\n", "\n3\n")) == "file: line 2");
  CHECK(refusal("astra-sim", with("\n2\n", "\ntwo\n")) == "file: line 2");
  CHECK(refusal("astra-sim", with("\t50", "")) == "file: line 3");
  CHECK(refusal("astra-sim", with("\t50", "\t50\t1")) == "file: line 3");
  CHECK(refusal("astra-sim", with("1000", "-5")) == "file: line 3");
  CHECK(refusal("astra-sim", with("1000", "3600000000001")) == "file: line 3");
  CHECK(refusal("astra-sim", with("NONE", "NOTHING")) == "file: line 3");
  CHECK(refusal("astra-sim", with("4000", "4001")) == "file: line 3");
}
