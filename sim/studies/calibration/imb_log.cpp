// Reads Intel MPI Benchmarks (IMB-MPI1): for each benchmark and number of processes `# Benchmarking Allreduce`,
// `# #processes = 4`, `#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]`, rows. Benchmarks of one message at a
// time have `t[usec] Mbytes/sec` instead.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

// PingPong prints half of a round trip, so one message; in Sendrecv every rank sends one and receives one.
constexpr Benchmark imb_benchmarks[] = {{"PingPong", CollectiveOp::Send},
                                        {"Sendrecv", CollectiveOp::Send},
                                        {"Allreduce", CollectiveOp::AllReduce},
                                        {"Allgather", CollectiveOp::AllGather},
                                        {"Reduce_scatter", CollectiveOp::ReduceScatter},
                                        {"Alltoall", CollectiveOp::AllToAll},
                                        {"Bcast", CollectiveOp::Broadcast}};

// The rows of one benchmark, by number of processes.
struct ImbRows {
  const Benchmark* benchmark = nullptr;
  WorkersColumn rows;
};

struct ImbTable {
  ImbRows* into = nullptr;  // null: rows are skipped
  std::int64_t processes = 0;
  std::size_t columns = 0, time = 0;
};

// Finds the column of the requested time; the only time of a benchmark of single messages is its mean.
void read_imb_header(const std::vector<std::string_view>& words, const LogRequest& request, const SourceLocation& place,
                     ImbTable& table) {
  const std::string wanted = request.time.empty() ? "avg" : request.time.value;
  auto found = std::find(words.begin(), words.end(), fmt::format("t_{}[usec]", wanted));
  if (found == words.end() && wanted == "avg") found = std::find(words.begin(), words.end(), "t[usec]");
  if (found == words.end())
    throw InputError(request.time.empty() ? place : request.time.place,
                     fmt::format("there is no '{}' time among the columns {}", wanted, fmt::join(words, ", ")),
                     "avg; also min or max, for collectives");
  table.columns = words.size();
  table.time = static_cast<std::size_t>(found - words.begin());
}

class ImbReader {
 public:
  ImbReader(const LogRequest& request, MeasurementLog& log) : request_(request), log_(log) {}

  void take(std::string_view line, const SourceLocation& place) {
    const std::vector<std::string_view> words = words_of(without_prefix(line));
    if (words.empty()) return;
    if (words.size() > 2 && words[0] == "#" && words[1] == "Benchmarking") return begin(words[2]);
    if (words[0] == "#" && std::find(words.begin(), words.end(), "groups") != words.end())
      throw InputError(place, "was taken in several groups at once", "a log without -multi");
    const auto number = std::find(words.begin(), words.end(), "#processes");
    if (words.end() - number > 2 && number[1] == "=") {
      table_.processes = parse_integer(number[2], 1, most_workers, place);
    } else if (words[0] == "#bytes" && table_.into) {
      read_imb_header(words, request_, place, table_);
    } else if (table_.into && table_.columns > 0 && looks_like_row(words[0])) {
      row(words, place);
    }
  }

  // Chooses the benchmark of the requested operation, or the only one.
  void choose() {
    std::vector<std::string_view> names;
    const ImbRows* chosen = nullptr;
    for (const auto& [name, rows] : found_) {
      if (request_.operation.value && rows.benchmark->operation != *request_.operation.value) continue;
      names.push_back(name);
      chosen = &rows;
    }
    if (names.size() > 1)
      throw InputError({log_.file, ""}, fmt::format("has {}", fmt::join(names, ", ")),
                       "--collective with an algorithm of one of them, or a file with one of them");
    if (!chosen)
      throw InputError({log_.file, ""}, fmt::format("has only {}", fmt::join(all_, ", ")),
                       "PingPong, Sendrecv, Allreduce, Allgather, Reduce_scatter, Alltoall or Bcast");
    log_.operation = chosen->benchmark->operation;
    log_.benchmark = fmt::format("IMB {}", chosen->benchmark->word);
    log_.time = request_.time.empty() ? "avg" : request_.time;
    chosen->rows.choose(request_, log_);
    if (without_time_ > 0) log_.notes.push_back(fmt::format("{} rows without a time are left out", without_time_));
  }

 private:
  void begin(std::string_view name) {
    table_ = {};
    all_.emplace(name);
    const auto* known = std::find_if(std::begin(imb_benchmarks), std::end(imb_benchmarks),
                                     [&](const Benchmark& one) { return one.word == name; });
    if (known == std::end(imb_benchmarks)) return;
    table_.into = &found_[std::string(name)];
    table_.into->benchmark = known;
  }

  void row(const std::vector<std::string_view>& words, const SourceLocation& place) {
    if (words.size() > 1 && (words[1].starts_with("out-of-mem") || words[1].starts_with("time-out"))) {
      ++without_time_;
      return;
    }
    require_width(words.size(), table_.columns, place);
    if (table_.processes == 0) throw InputError(place, "follows no number of processes", "# #processes = N before it");
    if (table_.processes == 1) return;
    // An all-to-all's size is that of the message to each rank, as in MPI_Alltoall.
    const bool pairs = table_.into->benchmark->operation == CollectiveOp::AllToAll;
    const Bytes bytes = parse_log_size(words[0], pairs ? static_cast<double>(table_.processes) : 1, place);
    table_.into->rows.add(table_.processes, {bytes, bytes > 0 ? parse_log_time(words[table_.time], 1e-6, place) : 0});
  }

  const LogRequest& request_;
  MeasurementLog& log_;
  ImbTable table_;
  std::map<std::string, ImbRows> found_;
  std::set<std::string> all_;  // also benchmarks that are not read
  int without_time_ = 0;
};

}  // namespace

bool is_imb(std::string_view text) {
  return text.find("# Benchmarking ") != text.npos && text.find("#repetitions") != text.npos;
}

void read_imb(std::string_view text, const LogRequest& request, MeasurementLog& log) {
  ImbReader reader(request, log);
  std::size_t index = 0;
  for (const std::string_view line : lines_of(text)) reader.take(line, line_of(log, index++));
  reader.choose();
}

}  // namespace allreplay
