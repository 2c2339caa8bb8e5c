#include "tests/fuzz/exercise.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "sim/inputs/workload/profile_file.hpp"
#include "sim/inputs/workload/profile_writer.hpp"

using namespace allreplay;

namespace {

void require(bool holds, std::string_view what) {
  if (holds) return;
  fmt::print(stderr, "fuzzing found: {}\n", what);
  std::abort();
}

void require_same(const Profile& read, const Profile& written) {
  require(read.layers.size() == written.layers.size(), "layers are lost on the way through a file");
  require(read.forward() == written.forward() && read.backward() == written.backward(), "times change in a file");
  require(read.bytes() == written.bytes() && read.tensors.size() == written.tensors.size(), "tensors change in a file");
  for (std::size_t i = 0; i < read.tensors.size(); ++i)
    require(read.tensors[i].layer == written.tensors[i].layer, "a tensor's layer changes in a file");
}

}  // namespace

void exercise(const Importer& importer, std::string_view bytes) {
  ImportOptions options;
  for (const bool generous : {false, true}) {
    if (generous) {  // what the file may lack
      options.batch_size = 8;
      options.forward_ratio = 0.5;
    }
    try {
      ByteSource source("fuzz", std::string(bytes));
      importer.recognises(source.file(), source.head());
      const Imported imported = import_profile(importer, source, options);
      require_same(parse_profile(Files(), profile_json(imported.profile, imported.notes), "fuzz"), imported.profile);
    } catch (const InputError& error) {
      const std::string_view line = error.what();
      require(line.find('\n') == std::string_view::npos, "a complaint of several lines");
      require(line.starts_with("fuzz: "), "a complaint that does not name the file");
    } catch (const TimeOverflow&) {
    }
  }
}
