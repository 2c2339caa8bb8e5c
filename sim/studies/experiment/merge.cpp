#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/studies/experiment/sweep_rows.hpp"

namespace allreplay {

MergedSweep merge_sweep(const SweepQuestions& sweep, const std::vector<std::string>& parts, const std::string& out,
                        bool force) {
  const Files& files = sweep.files;
  const FileRows all = sweep.check().all;
  std::vector<std::optional<std::string>> lines(all.numbers.size());
  std::vector<const std::string*> holders(lines.size());
  for (const std::string& part : parts) {
    const KeptRows kept = read_rows(files, part, all, &Files::read);
    if (!kept.others.empty())
      throw InputError({part, ""}, fmt::format("has rows that this sweep does not have: {}", kept.others),
                       "compute the part again, with --resume");
    for (std::size_t row = 0; row < lines.size(); ++row) {
      if (!kept.lines[row]) continue;
      if (lines[row])
        throw InputError({part, ""}, fmt::format("has row {}, which is also in {}", row + 1, *holders[row]),
                         "each share once");
      lines[row] = kept.lines[row];
      holders[row] = &part;
    }
  }
  SweepFile file(files, out, all, {.resume = false, .force = force});
  std::vector<std::size_t> missing;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    if (lines[row]) {
      file.write(row, *lines[row]);
    } else {
      file.leave_out();
      missing.push_back(row);
    }
  }
  file.finish();
  return {std::move(missing), lines.size()};
}

std::string missing_rows(const std::vector<std::size_t>& missing, std::size_t rows) {
  constexpr int most = 20;  // ranges, to keep the line short
  std::string text;
  int shown = 0;
  for (std::size_t i = 0, end = 0; i < missing.size(); i = end) {
    for (end = i + 1; end < missing.size() && missing[end] == missing[end - 1] + 1;) ++end;
    if (shown++ == most) return fmt::format("{} of {} rows are missing: {}, …", missing.size(), rows, text);
    const std::size_t first = missing[i] + 1, last = missing[end - 1] + 1;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", first);
    if (last > first) text += fmt::format("-{}", last);
  }
  return fmt::format("{} of {} rows {} missing: {}", missing.size(), rows, missing.size() == 1 ? "is" : "are", text);
}

}  // namespace allreplay
