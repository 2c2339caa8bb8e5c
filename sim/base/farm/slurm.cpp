#include "sim/base/farm/slurm.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>
#include <sys/wait.h>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"

namespace allreplay {

namespace {

struct Finished {
  int status = 0;
  std::vector<std::string> lines;  // of standard output and standard error
};

constexpr int not_found = 127;  // a shell's exit status for an unknown command

Finished run_command(const std::string& command) {
  FILE* pipe = popen(("LC_ALL=C " + command + " 2>&1 < /dev/null").c_str(), "r");
  if (pipe == nullptr) throw InputError({"command line", "--engine"}, "no process can be started", "check the limits");
  std::string text;
  std::array<char, 4096> piece{};
  for (std::size_t length = 0; (length = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    text.append(piece.data(), length);
  const int status = pclose(pipe);
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : 1, {}};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) finished.lines.push_back(line);
  return finished;
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

}  // namespace

std::size_t most_array_tasks() {
  constexpr std::size_t default_size = 1001;
  for (const std::string& line : run_command("scontrol show config").lines)
    if (line.starts_with("MaxArraySize"))
      if (const auto value = trim(std::string_view(line).substr(line.find('=') + 1)); is_number(value))
        return static_cast<std::size_t>(std::max<std::int64_t>(
            1, parse_integer(value, 0, 1'000'000'000, {"scontrol show config", "MaxArraySize"})));
  return default_size;
}

std::string submit_job(const std::string& script, const std::vector<std::string>& options) {
  std::string command = "sbatch --parsable";
  for (const std::string& option : options) command += " " + shell_word(option);
  const Finished done = run_command(command + " " + shell_word(script));
  if (done.status == not_found)
    throw InputError({"command line", "--engine"}, "there is no Slurm here: no sbatch",
                     "run this on a machine that can submit jobs; --dry-run prints the scripts");
  for (const std::string& line : done.lines)  // "JOB", or "JOB;CLUSTER", among warnings
    if (const std::string job = line.substr(0, line.find(';')); done.status == 0 && is_number(job)) return job;
  std::string words = done.lines.empty() ? "sbatch prints nothing" : done.lines.back();
  for (const std::string_view start : {"sbatch: ", "error: "})
    if (words.starts_with(start)) words.erase(0, start.size());
  throw InputError({"command line", "--engine"}, "Slurm refuses: " + words, "see " + script);
}

void cancel_job(const std::string& job) { run_command("scancel " + shell_word(job)); }

std::optional<std::size_t> tasks_left(const std::vector<std::string>& jobs) {
  const Finished listed = run_command("squeue --me --noheader --array --format=%F");
  if (listed.status != 0) return std::nullopt;
  const auto left = std::count_if(listed.lines.begin(), listed.lines.end(), [&](const std::string& line) {
    return std::find(jobs.begin(), jobs.end(), trim(line)) != jobs.end();
  });
  return static_cast<std::size_t>(left);
}

}  // namespace allreplay
