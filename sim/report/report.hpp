// What people read: one run, several strategies side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/run.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

/// "googlenet_k80_b32 on k80-10gbe: 64 workers, ring, alpha-beta".
std::string title(const Scenario& scenario);

/// The least of the outcomes' lower bounds, in seconds: no lossless schedule is faster. None where no outcome has one.
std::optional<double> lower_bound(const std::vector<Outcome>& outcomes);

/// "81.2 GB", or "95.0 GB, does not fit into 80 GB".
std::string memory_text(const Scenario& scenario, const Result& result);

/// The same as cells: memory in bytes, marked "!" where it does not fit, which memory_note() explains.
TableCell memory_cell(const Scenario& scenario, const Result& result);
std::string memory_note(const Scenario& scenario);
/// Whether memory is among what there is to compare: some shard, or there is a limit.
bool tells_memory(const std::vector<Outcome>& outcomes);
/// Whose memory is the limit, or that there is none, and what memory is without; `told`: memory is shown.
std::string limit_note(const Outcome& one, bool told);
/// What does not fit, and limit_note(). Of one profile; at least one.
std::string memory_notes(const std::vector<Outcome>& outcomes);
/// Why an efficiency stands above 100 %, for those outcomes of which it does; "" for others.
std::string efficiency_note(const Outcome& one);
std::string efficiency_note(const std::vector<Outcome>& outcomes);
/// What the numbers do not promise: who wins by chance, and what a search did not look at.
std::string doubts(const std::vector<Outcome>& outcomes);
TableCell exposed_cell(const Metrics& metrics);
inline constexpr const char* efficiency_column = "effi\u00ADciency";  ///< may be broken there
inline constexpr const char* collectives_column = "collec\u00ADtives";
inline const TableColumn exposed_column = TableColumn("exposed comm.").like("iteration");
TableCell above_bound_cell(const Metrics& metrics);

std::string run_report(const Outcome& outcome, const Screen& screen = {});

/// By number of workers, the fastest first, and which that is in words. REQUIRES: outcomes of one profile; at least
/// one.
std::string compare_report(const std::vector<Outcome>& outcomes, const Screen& screen = {});

/// "bucket_cap=25MiB, window=1": a value without its blank can be copied into a command.
std::string options_text(const NamedValues& options);

/// "" for measured and imported profiles; otherwise the line that tells readers what these times are.
std::string caveat(const Profile& profile);
std::string caveat(const std::string& profile, const std::string& origin);
/// The same with what they were made from, for pictures.
std::string caveat_with_source(const Profile& profile);

}  // namespace allreplay
