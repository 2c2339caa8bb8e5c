#include "sim/formats/interchange/importers/readers.hpp"
#include "sim/inputs/workload/profile_file.hpp"

namespace allreplay {

bool is_csv(std::string_view, std::string_view head) {
  const std::string_view header = head.substr(0, head.find('\n'));
  return header.find("backward_us") != std::string_view::npos && header.find(',') != std::string_view::npos;
}

Imported read_csv(ByteSource& source, const ImportOptions& options) {
  const std::string text = source.rest();
  return {read_table(source.file(), text, options.forward_ratio.has_value())};
}

}  // namespace allreplay
