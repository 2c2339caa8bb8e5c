// Reads nccl-tests (all_reduce_perf, …): rows `size count type [redop] [root]`, then time, algbw, busbw, #wrong, out of
// place and in place. With mpirun or srun every line has a prefix. With NCCL_DEBUG=INFO there are other lines between
// rows or even within them, since a row is printed in pieces.

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/studies/calibration/log_text.hpp"

namespace allreplay {

namespace {

constexpr std::size_t block_columns = 3;  // time, algbw, busbw; then #wrong, or error before NCCL 2.13's tests
constexpr std::array<std::string_view, 2> blocks = {"out-of-place", "in-place"};

std::span<const Benchmark> nccl_benchmarks() {
  static const std::vector<Benchmark> known = [] {
    std::vector<Benchmark> all;
    for (const NcclTest& test : nccl_tests())
      if (test.operation) all.push_back({test.program, *test.operation});
    return all;
  }();
  return known;
}

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

// The part of a line before NCCL's own message, which begins `host:pid:tid [gpu] NCCL INFO`, if there is one.
std::string_view before_chatter(std::string_view line) {
  if (line.find(" NCCL ") == line.npos) return line;
  for (std::size_t colon = line.find(':'); colon != line.npos; colon = line.find(':', colon + 1)) {
    std::size_t end = colon + 1;
    while (end < line.size() && digit(line[end])) ++end;
    if (end == colon + 1 || end + 1 >= line.size() || line[end] != ':' || !digit(line[end + 1])) continue;
    std::size_t begin = colon;
    while (begin > 0 && is_name_character(line[begin - 1])) --begin;
    while (begin < colon && !std::isalpha(static_cast<unsigned char>(line[begin]))) ++begin;  // skips a row's `-1`
    return line.substr(0, begin);
  }
  return line;
}

// A line of the log without the messages that NCCL printed into it; `index` is that of its first piece.
struct LogLine {
  std::size_t index;
  std::string text;
};

std::vector<LogLine> joined_lines(std::string_view text) {
  std::vector<LogLine> joined;
  std::string open;
  std::size_t index = 0, first = 0;
  for (const std::string_view line : lines_of(text)) {
    const std::string_view own = before_chatter(line);
    const std::string_view content = without_prefix(own);
    if (open.empty()) first = index;
    if (own.size() == line.size()) {
      joined.push_back({first, open.empty() ? std::string(line) : open + " " + std::string(content)});
      open.clear();
    } else if (!words_of(content).empty() && !content.starts_with('#')) {
      open += (open.empty() ? "" : " ") + std::string(content);
    }
    ++index;
  }
  if (!open.empty()) joined.push_back({first, open});
  return joined;
}

struct Header {
  std::size_t columns = 0;
  std::array<std::size_t, blocks.size()> times{};  // first column of each block
  std::size_t redop = 0, root = 0;                 // columns; 0 if there is none
  bool counts_wrong = false;                       // a block ends with #wrong, not with the older largest error
};

// Reads the table's header, `# size count type …`; nothing for other lines. Later versions add columns, so names count.
std::optional<Header> header_of(const std::vector<std::string_view>& words) {
  const std::vector names(std::find(words.begin(), words.end(), "size"), words.end());
  if (names.size() < 3 || names[1] != "count" || names[2] != "type") return std::nullopt;
  Header header{.columns = names.size()};
  for (std::size_t i = 3; i < std::min<std::size_t>(names.size(), 5); ++i) {
    if (names[i] == "redop") header.redop = i;
    if (names[i] == "root") header.root = i;
  }
  constexpr std::array<std::string_view, block_columns> block_names = {"time", "algbw", "busbw"};
  auto from = names.begin();
  for (std::size_t& time : header.times) {
    const auto found = std::search(from, names.end(), block_names.begin(), block_names.end());
    if (found == names.end()) return std::nullopt;
    time = static_cast<std::size_t>(found - names.begin());
    from = found + std::ssize(block_names);
    header.counts_wrong = from != names.end() && *from == "#wrong";
  }
  return header;
}

// The ranks as the log's head lists them: `#  Rank  0 Group  0 Pid 1887 on worker-1 device 0 …`.
class RankList {
 public:
  // Returns true and reads the line if it belongs to the list. Throws InputError if lists contradict each other.
  bool take(const std::vector<std::string_view>& words, const SourceLocation& place) {
    const auto rank = std::find(words.begin(), words.end(), "Rank");
    if (words.end() - rank < 4 || (rank[2] != "Group" && rank[2] != "Pid")) return false;
    if (measured_) start_again();
    const std::int64_t number = parse_integer(rank[1], 0, most_workers, place);
    const std::int64_t group = rank[2] == "Group" ? parse_integer(rank[3], 0, most_workers, place) : 0;
    const auto on = std::find(rank, words.end(), "on");
    const std::string host(words.end() - on > 1 ? on[1] : "");
    if (!ranks_.emplace(number, Listed{group, host}).second)
      throw InputError(place, fmt::format("rank {} appears twice: the processes did not run together", number),
                       "nccl-tests built with MPI=1");
    return true;
  }

  void measured(const SourceLocation& place) {
    if (measured_) return;
    measured_ = true;
    const std::int64_t now = size();
    if (before_ > 0 && now != before_)
      throw InputError(place, fmt::format("{} ranks follow a run of {}", now, before_),
                       "one number of workers per file");
  }

  // The number of ranks in one group, among which a collective runs.
  std::int64_t size() const {
    std::int64_t sum = 0;
    for (const auto& [host, ranks] : by_host()) sum += ranks;
    return sum;
  }

  // The highest listed rank + 1.
  std::int64_t size_by_number() const { return ranks_.empty() ? 0 : ranks_.rbegin()->first + 1; }

  // True if the list was shortened: it lacks ranks below the highest.
  bool is_incomplete() const { return size_by_number() > std::ssize(ranks_); }

  // True if the collective ran in several groups simultaneously, each with its own busbw.
  bool has_several_groups() const {
    const auto is_of_first = [&](const auto& one) { return one.second.group == ranks_.begin()->second.group; };
    return !std::all_of(ranks_.begin(), ranks_.end(), is_of_first);
  }

  // The most ranks of one group on a host; 0 if the list names no hosts.
  std::int64_t per_host() const {
    std::int64_t most = 0;
    for (const auto& [host, ranks] : by_host()) {
      if (host.empty()) return 0;
      most = std::max(most, ranks);
    }
    return most;
  }

 private:
  struct Listed {
    std::int64_t group;
    std::string host;
  };

  // The number of ranks of the first group by host.
  std::map<std::string, std::int64_t> by_host() const {
    std::map<std::string, std::int64_t> hosts;
    for (const auto& [number, rank] : ranks_)
      if (rank.group == ranks_.begin()->second.group) ++hosts[rank.host];
    return hosts;
  }

  void start_again() {
    before_ = size();
    ranks_.clear();
    measured_ = false;
  }

  std::map<std::int64_t, Listed> ranks_;  // by number
  std::int64_t before_ = 0;
  bool measured_ = false;
};

std::size_t block_of(const LogRequest& request) {
  const auto found = std::find(blocks.begin(), blocks.end(), request.time.empty() ? blocks[0] : request.time.value);
  if (found == blocks.end())
    throw InputError(request.time.place, fmt::format("nccl-tests does not measure '{}'", request.time.value),
                     "out-of-place or in-place");
  return static_cast<std::size_t>(found - blocks.begin());
}

// Throws InputError if a row's size, time and algbw do not agree within their rounding.
void require_agreement(Bytes bytes, double seconds, std::string_view time, std::string_view algbw,
                       const SourceLocation& place) {
  const double rate = number_in(algbw);
  if (seconds <= 0) return;
  const double right = static_cast<double>(bytes) / seconds * 1e-9;
  const double hidden = rounding_of(algbw) + right * rounding_of(time) * 1e-6 / seconds;
  if (std::abs(right - rate) > 1.001 * hidden)  // the last digit of a tie may be rounded either way
    throw InputError(place, fmt::format("says {} GB/s, but {} B in {} us are {:.2f} GB/s", algbw, bytes, time, right),
                     "the columns of the table's header");
}

// True if the log's benchmark, or any if it names none, prints this ratio with that many workers.
bool fits(const MeasurementLog& log, const BusFactor& factor, std::int64_t workers) {
  const NcclTest* test = nccl_test_named(log.benchmark);
  return test ? factor.fits(*test, workers) : !factor.tests(workers).empty();
}

// The error for a number of workers that the rates contradict.
InputError complaint(const MeasurementLog& log, const BusFactor& factor, const SourceLocation& place,
                     std::string_view right) {
  const NcclTest* test = nccl_test_named(log.benchmark);
  const std::string among =
      test ? fmt::format("but {:.4g} among {} workers", test->bus_factor(static_cast<double>(log.workers)), log.workers)
           : fmt::format("as in no benchmark with {} workers", log.workers);
  return {place, fmt::format("busbw is {:.4g} algbw, {}", factor.value(), among), right};
}

// Sets the number of workers and, if all are listed, the number per host. If the list was shortened or is absent, the
// requested number is used, then the highest rank, then the only number that the rates agree with.
void set_workers(MeasurementLog& log, const RankList& ranks, const BusFactor& factor, const LogRequest& request) {
  log.workers = ranks.size();
  log.per_host = ranks.per_host();
  const bool listed = log.workers > 0;
  const bool contradicted = !ranks.has_several_groups() && !fits(log, factor, log.workers);
  if (listed && !ranks.is_incomplete() && !contradicted) return;
  if (ranks.has_several_groups() && request.workers.value == 0)
    throw InputError({log.file, ""}, "lists only some of its ranks, of several groups",
                     "--workers with the number of a group");
  log.per_host = 0;
  log.workers = request.workers > 0 ? request.workers.value : ranks.size_by_number();
  std::string why;
  if (request.workers.value == 0 && (log.workers == 0 || !fits(log, factor, log.workers)))
    if (const auto found = factor.workers(nccl_test_named(log.benchmark))) {
      log.workers = *found;
      why = ", as busbw / algbw says";
    }
  if (log.workers == 0) return;
  if (!fits(log, factor, log.workers))
    throw complaint(log, factor, request.workers > 0 ? request.workers.place : SourceLocation{log.file, ""},
                    listed ? "--workers with their number, if the list of ranks was shortened"
                           : "the number of workers of the log");
  if (listed)
    log.notes.push_back(fmt::format("the list of ranks is incomplete: read as {} workers{}", log.workers, why));
  else if (!why.empty())
    log.notes.push_back(fmt::format("lists no ranks: read as {} workers{}", log.workers, why));
}

std::string programs_of(const std::vector<const NcclTest*>& tests) {
  std::vector<std::string> names;
  for (const NcclTest* test : tests) names.emplace_back(test->program);
  return choices(names);
}

// Sets the benchmark of a log that does not name it: the test that fits its columns and rates, of several the requested
// one, else the all-reduce, which most logs are of.
void set_benchmark_by_rates(MeasurementLog& log, const BusFactor& factor, const LogRequest& request) {
  if (log.operation || log.workers < 2) return;
  std::vector<const NcclTest*> tests = factor.tests(log.workers);
  if (tests.empty()) return;
  const std::string all = programs_of(tests);
  const SourceLocation here{log.file, ""};
  const auto set = [&](const NcclTest& test) {
    set_benchmark(log, test.program, nccl_benchmarks(), here);
    log.benchmark += factor.is_known() ? ", by its busbw" : ", by request";
  };
  if (tests.size() == 1) return set(*tests[0]);
  for (const NcclTest* test : tests)
    if (test->operation && request.asks_for(*test->operation)) return set(*test);
  const std::string why = factor.is_known() ? fmt::format(": busbw is {:.4g} algbw", factor.value()) : "";
  if (request.operation.value && factor.is_known())
    throw InputError(request.operation.place,
                     fmt::format("{} is not what the log was taken with{}", to_string(*request.operation.value), why),
                     all);
  if (tests.front()->operation != CollectiveOp::AllReduce)
    throw InputError(here, fmt::format("is of {}, and does not say of which{}", all, why),
                     fmt::format("{} with its operation", request.operation.place.path));
  if (!factor.is_known()) return;
  set(*tests.front());
  log.notes.push_back(fmt::format("read as an all-reduce, although it may be of {}: their busbw are equal", all));
}

}  // namespace

bool is_nccl_tests(std::string_view text) { return text.find("busbw") != text.npos && text.find("algbw") != text.npos; }

void read_nccl_tests(std::string_view text, const LogRequest& request, MeasurementLog& log) {
  const std::size_t block = block_of(request);
  log.time = blocks[block];
  log.total_gathered = true;
  std::optional<Header> header;
  RankList ranks;
  BusFactor factor;
  std::string type;
  int wrong = 0;
  for (const LogLine& line : joined_lines(text)) {
    const SourceLocation place = line_of(log, line.index);
    const std::string_view content = without_prefix(line.text);
    const std::vector<std::string_view> words = words_of(content);
    if (ranks.take(words, place)) continue;
    for (const std::string_view word : words) {
      const std::string_view program = word.substr(word.rfind('/') + 1);  // npos + 1 is 0
      if (program.ends_with("_perf") || program.ends_with("_perf_mpi"))
        set_benchmark(log, program, nccl_benchmarks(), place);
    }
    if (const auto found = header_of(words)) header = found;
    if (!header || !looks_like_row(content)) continue;
    const std::vector<std::string_view> row = last_words(content, header->columns, place);
    require_width(words.size(), header->columns, place);
    require_one_type(type, row[2], place);
    const std::size_t first = header->times[block];
    if (row[first] == "N/A")
      throw InputError(place, fmt::format("has no {} time", blocks[block]),
                       fmt::format("--time {}", blocks[1 - block]));
    const Bytes bytes = parse_log_size(row[0], 1, place);
    parse_log_size(row[1], 1, place);
    if (header->counts_wrong) {
      const std::string_view errors = row[first + block_columns];
      wrong += errors != "N/A" && parse_number(errors, place) != 0;
    }
    const auto word = [&](std::size_t column) { return column > 0 ? row[column] : std::string_view(); };
    factor.add(row[first + 1], row[first + 2], word(header->redop), word(header->root));
    log.points.push_back({bytes, bytes > 0 ? parse_log_time(row[first], 1e-6, place) : 0});
    // The oldest versions compute the algbw of gathers in another way.
    if (header->counts_wrong || log.operation == CollectiveOp::AllReduce)
      require_agreement(bytes, log.points.back().seconds, row[first], row[first + 1], place);
    ranks.measured(place);
  }
  set_workers(log, ranks, factor, request);
  set_benchmark_by_rates(log, factor, request);
  if (log.workers == 1)
    throw InputError({log.file, ""}, "was taken with one rank",
                     "two or more ranks; several processes need nccl-tests built with MPI=1");
  if (wrong > 0)
    log.notes.push_back(fmt::format("nccl-tests found wrong results in {} of {} rows", wrong, log.points.size()));
}

}  // namespace allreplay
