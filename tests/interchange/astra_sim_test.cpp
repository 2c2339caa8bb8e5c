#include "tests/catch.hpp"
#include "tests/import_text.hpp"

using namespace allreplay;
using Catch::Matchers::StartsWith;

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
  CHECK(has_note(imported, "at 1 GHz"));
  CHECK(has_note(imported, "input-gradient part (1 us in total)"));  // 300 + 700 ns
  CHECK(has_note(imported, "first layer, which ASTRA-sim never computes, is counted: 300 ns"));
  CHECK(has_note(imported, "update delays of 1 layers"));

  CHECK(has_note(imported, "if they are microseconds, as from Chakra's text converter, use --clock 0.001"));

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
  CHECK(has_note(imported, "1 forward ALLTOALL, 96 B in total, the first of 'embedding'"));
  CHECK(has_note(imported, "1 input-gradient ALLTOALL, 64 B"));
  CHECK(has_note(imported, "1 weight-gradient ALLGATHER, 32 B"));
  CHECK(has_note(imported, "HYBRID_DLRM: the profile is one worker's share"));
  CHECK_THAT(refusal("astra-sim", with("DATA", "MODEL")), StartsWith("file: line 1: MODEL is not data-parallel"));
  CHECK_THAT(refusal("astra-sim", with("ALLREDUCE", "ALLTOALL")),
             StartsWith("file: line 3: the gradients are sent by ALLTOALL (ALLREDUCE or NONE"));
  CHECK_THAT(refusal("astra-sim", "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n"),
             StartsWith("file: has no parameters"));
}

TEST_CASE("ASTRA-sim text: the clock of a file that allreplay wrote in other cycles stands in the reserved column") {
  // 1000 kHz: cycles of a microsecond.
  const std::string text = "DATA\n2\na -1000 1 NONE 0 0 NONE 0 2 ALLREDUCE 4 0\nb -1000 1 NONE 0 0 NONE 0 2 NONE 0 0\n";
  const Imported imported = import_text("astra-sim", text);
  CHECK(imported.profile.layers[0].backward == Time(2'000'000));
  CHECK(has_note(imported, "at 0.001 GHz, as the file says"));
  ImportOptions options;
  options.batch_size = 1;
  options.clock = 1e6;
  CHECK(import_text("astra-sim", text, options).profile.layers[0].backward == Time(2'000'000));
  options.clock = 1e9;
  CHECK_THAT(error_message([&] { import_text("astra-sim", text, options); }),
             StartsWith("file: line 3: was written in cycles of 0.001 GHz, but --clock is 1 (no --clock"));
  std::string mixed = text;
  mixed.replace(mixed.rfind("-1000"), 5, "-1");
  CHECK_THAT(refusal("astra-sim", mixed), StartsWith("file: line 4: has another clock than the line before"));
}

TEST_CASE("ASTRA-sim text: bad input") {
  CHECK_THAT(refusal("astra-sim", ""), StartsWith("file: is too short for a workload"));
  CHECK_THAT(refusal("astra-sim", with("DATA", "DAFA")),
             StartsWith("file: line 1: unknown parallelism 'DAFA' (did you mean 'DATA'?)"));
  CHECK_THAT(refusal("astra-sim", with("\n2\n", "\n3\n")), StartsWith("file: line 2: 3 layers, but 2 lines follow"));
  CHECK_THAT(refusal("astra-sim", with("\n2\n", "\ntwo\n")), StartsWith("file: line 2: 'two' is not a whole number"));
  CHECK_THAT(refusal("astra-sim", with("\t50", "")), StartsWith("file: line 3: 11 columns (12: "));
  CHECK_THAT(refusal("astra-sim", with("\t50", "\t50\t1")), StartsWith("file: line 3: 13 columns"));
  CHECK_THAT(refusal("astra-sim", with("1000", "-5")), StartsWith("file: line 3: '-5' is not a whole number"));
  CHECK_THAT(refusal("astra-sim", with("1000", "3600000000001")),
             StartsWith("file: line 3: 3600000000.001 us is not a measured time"));
  CHECK_THAT(refusal("astra-sim", with("NONE", "NOTHING")),
             StartsWith("file: line 3: unknown communication 'NOTHING'"));
  CHECK_THAT(refusal("astra-sim", with("4000", "4001")),
             StartsWith("file: line 3: 4001 bytes of gradients are not a whole number"));
}
