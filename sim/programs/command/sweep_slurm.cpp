#include <chrono>
#include <filesystem>
#include <numeric>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/file_lock.hpp"
#include "sim/base/core/text.hpp"
#include "sim/base/core/units.hpp"
#include "sim/base/farm/slurm.hpp"
#include "sim/programs/command/sweep.hpp"
#include "sim/studies/experiment/progress.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace allreplay {

namespace {

namespace fs = std::filesystem;

// The folder OUT.slurm, which holds the job scripts, the parts of the result and their logs.
struct Folder {
  explicit Folder(const std::string& out) : path(out + ".slurm") {}

  std::string array() const { return path + "/array.sh"; }
  std::string merge() const { return path + "/merge.sh"; }
  std::string merge_log() const { return path + "/merge.log"; }
  std::string merge_status() const { return path + "/merge.status"; }
  std::string jobs() const { return path + "/jobs"; }
  std::string shares() const { return path + "/shares"; }  // the mark, and the number of shares
  std::string part(std::size_t share) const { return fmt::format("{}/part-{}.csv", path, share); }
  std::string log(std::size_t share) const { return fmt::format("{}/part-{}.log", path, share); }

  bool exists() const { return fs::exists(fs::symlink_status(path)); }

  // True if a sweep of this user made the folder, which then has a file with the mark.
  bool is_ours(const Files& files) const {
    struct stat facts {};
    return lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           fs::is_regular_file(fs::symlink_status(shares())) && files.read_output(shares()).starts_with(mark);
  }

  static constexpr std::string_view mark = "allreplay sweep on Slurm 1\n";
  std::string path;
};

// Quotes a path for an #SBATCH directive. Slurm expands %, which is escaped in the folder but not in `name`.
std::string directive_file(const std::string& file, const std::string& name) {
  std::string text;
  for (const char c : file + "/") text += c == '%' ? std::string("%%") : std::string(1, c);
  return "\"" + text + name + "\"";
}

// Throws InputError unless the value is safe in an #SBATCH directive.
void require_word(const char* option, const std::string& value) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:+";
  if (value.find_first_not_of(allowed) != std::string::npos)
    throw InputError(argument(option), fmt::format("'{}' is not a valid Slurm value", value),
                     "letters, digits, - _ . , :");
}

// Runs a sweep on Slurm: each task of an array job writes a share of the rows as a part; a second job merges the parts.
class SlurmSweep {
 public:
  SlurmSweep(Context& context, const SweepArguments& arguments)
      : context_(context),
        arguments_(arguments),
        folder_(arguments.out),
        rows_(arguments.asked(context.inputs).questions.check()) {
    require_word("--partition", arguments.partition);
    require_word("--time", arguments.time);
    if (!is_one_line(arguments.out) || arguments.out.find_first_of("\"\\") != std::string::npos ||
        arguments.out.find("{}") != std::string::npos)
      throw InputError(argument("--out"), fmt::format("'{}' cannot be used in Slurm scripts", arguments.out),
                       "a name without quotes, backslashes and {}");
    if (fs::exists(arguments.out) && !fs::is_regular_file(arguments.out))
      throw InputError({arguments.out, ""}, "is not a file", "name a file");
    const std::size_t rows = rows_.size(), most = std::min(most_array_tasks(), rows_.costs.size());
    constexpr std::size_t default_tasks = 100;
    const std::size_t chunk =
        arguments.chunk.empty()
            ? 1 + (rows - 1) / default_tasks
            : static_cast<std::size_t>(parse_integer(arguments.chunk, 1, 100'000, argument("--chunk")));
    set_shares(std::min(most, 1 + (rows - 1) / chunk));
  }

  void run() {
    if (arguments_.dry_run) {
      std::vector<std::size_t> all(shares_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      context_.console.print("# {}\n{}\n# {}\n{}", folder_.array(), array_script(all), folder_.merge(), merge_script());
      return;
    }
    hand_in();
    if (arguments_.detach)
      return context_.console.print_stderr(
          fmt::format("job {}; continue with: {}", fmt::join(known_jobs(), ", "), come_back()));
    wait();
    conclude();
  }

 private:
  const Files& files() const { return context_.files(); }

  // Submits the jobs, unless those of an earlier call still run; then --resume is required. Throws InputError.
  void hand_in() {
    const FileLock lock(folder_.path);
    if (folder_.exists() && !folder_.is_ours(files()))
      throw InputError({folder_.path, ""}, "exists, and no sweep made it", "another --out, or remove it");
    if (arguments_.resume) take_shares();
    const auto jobs = running();
    if (jobs.empty()) return submit();
    if (!arguments_.resume)
      throw InputError(argument("--out"), fmt::format("job {} is computing '{}'", jobs.front(), arguments_.out),
                       fmt::format("--resume waits for it, scancel {} ends it", fmt::join(jobs, " ")));
  }

  void set_shares(std::size_t count) {
    shares_.clear();
    for (const auto& questions : share_out(count, rows_.costs)) shares_.push_back(rows_.rows_of(questions));
  }

  // Uses the shares of an earlier call, whatever --chunk is now.
  void take_shares() {
    if (!folder_.exists()) return;
    const std::string text = files().read_output(folder_.shares()).substr(Folder::mark.size());
    set_shares(static_cast<std::size_t>(parse_integer(text, 1, 100'000, {folder_.shares(), ""})));
  }

  std::string come_back() const {
    return fmt::format("allreplay {} --engine slurm --resume --out {}", sweep_words(), shell_word(arguments_.out));
  }

  // The command's words up to its execution options, quoted for the shell.
  std::string sweep_words() const {
    std::string words = "sweep " + shell_word(arguments_.file);
    const std::pair<const char*, const std::string*> options[] = {{"--collective", &arguments_.collective},
                                                                  {"--fidelity", &arguments_.fidelity},
                                                                  {"--codec", &arguments_.codec},
                                                                  {"--seeds", &arguments_.seeds}};
    for (const auto& [option, value] : options)
      if (!value->empty()) words += fmt::format(" {}={}", option, shell_word(*value));
    for (const auto& [name, values] : arguments_.changes)
      for (const std::string& value : values) words += fmt::format(" --{}={}", name, shell_word(value));
    return words + (arguments_.no_reuse ? " --no-reuse" : "");
  }

  std::string program() const { return shell_word(fs::read_symlink("/proc/self/exe").string()); }
  std::string here() const { return shell_word(fs::current_path().string()); }

  std::string directives(const std::string& log) const {
    std::string text = "#!/bin/bash\n#SBATCH --job-name=allreplay\n";
    text += fmt::format("#SBATCH --output={}\n#SBATCH --open-mode=append\n#SBATCH --requeue\n",
                        directive_file(folder_.path, log));
    if (!arguments_.partition.empty()) text += fmt::format("#SBATCH --partition={}\n", arguments_.partition);
    if (!arguments_.time.empty()) text += fmt::format("#SBATCH --time={}\n", arguments_.time);
    return text;
  }

  // The script of the array job. Slurm never runs a task twice at a time, so that an existing lock of its part is left
  // over from an earlier start, perhaps on another host, and is removed.
  std::string array_script(const std::vector<std::size_t>& shares) const {
    std::string tasks;  // as ranges, to keep it short
    for (std::size_t i = 0, end = 0; i < shares.size(); i = end) {
      for (end = i + 1; end < shares.size() && shares[end] == shares[end - 1] + 1;) ++end;
      tasks += fmt::format("{}{}", tasks.empty() ? "" : ",", shares[i]);
      if (end - i > 1) tasks += fmt::format("-{}", shares[end - 1]);
    }
    return directives("part-%a.log") +
           fmt::format(
               "#SBATCH --array={}\n#SBATCH --cpus-per-task={}\n"
               "cd {} || exit\n"
               "part={}/part-$SLURM_ARRAY_TASK_ID.csv\n"
               "rm -f \"$part.lock\"  # of an earlier start of this task\n"
               "exec {} {} --jobs {} --shard \"$SLURM_ARRAY_TASK_ID/{}\" --resume --out \"$part\" > /dev/null\n",
               tasks, arguments_.thread_count(), here(), shell_word(folder_.path), program(), sweep_words(),
               arguments_.thread_count(), shares_.size());
  }

  std::string merge_script() const {
    return directives("merge.log") + fmt::format(
                                         "cd {} || exit\n"
                                         "{} {} --merge {}/part-*.csv{} --out {}\n"
                                         "echo $? > {}\n",
                                         here(), program(), sweep_words(), shell_word(folder_.path),
                                         arguments_.force ? " --force" : "", shell_word(arguments_.out),
                                         shell_word(folder_.merge_status()));
  }

  std::vector<std::string> known_jobs() const {
    if (!files().is_file(folder_.jobs())) return {};
    const std::string text = files().read_output(folder_.jobs());
    const auto lines = split(trim(text), "\n");
    return {lines.begin(), lines.end()};
  }

  // The jobs of an earlier call if any of them is still queued or running. Throws InputError if Slurm does not answer.
  std::vector<std::string> running() const {
    const auto jobs = known_jobs();
    if (jobs.empty()) return {};
    const auto left = tasks_left(jobs);
    if (!left)
      throw InputError(argument("--engine"), "Slurm does not answer squeue",
                       "try again: an earlier call's jobs may still run");
    return *left > 0 ? jobs : std::vector<std::string>();
  }

  // The rows of a share that are missing from its part.
  std::vector<std::size_t> missing_of(std::size_t share) const {
    const std::vector<std::size_t>& rows = shares_[share];
    if (!files().is_file(folder_.part(share))) return rows;
    const KeptRows kept = read_rows(files(), folder_.part(share), chosen(rows_.all, rows), &Files::read_output);
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!kept.lines[i]) missing.push_back(rows[i]);
    return missing;
  }

  // Makes a new folder, or with --resume keeps that of an earlier call.
  void prepare_folder() {
    if (!arguments_.force && !arguments_.resume) require_replaceable(files(), arguments_.out, rows_.all.header);
    if (folder_.exists() && arguments_.resume) return;
    fs::remove_all(folder_.path);
    fs::create_directory(folder_.path);
    files().write(folder_.shares(), fmt::format("{}{}\n", Folder::mark, shares_.size()));
  }

  void submit() {
    prepare_folder();
    std::vector<std::size_t> unfinished;
    for (std::size_t share = 0; share < shares_.size(); ++share)
      if (!missing_of(share).empty()) unfinished.push_back(share);
    fs::remove(folder_.merge_status());
    std::string jobs;
    if (!unfinished.empty()) {
      files().write(folder_.array(), array_script(unfinished));
      jobs = submit_job(folder_.array());
    }
    files().write(folder_.merge(), merge_script());
    try {
      const std::string merge =
          jobs.empty() ? submit_job(folder_.merge()) : submit_job(folder_.merge(), {"--dependency=afterany:" + jobs});
      files().write(folder_.jobs(), jobs.empty() ? merge + "\n" : jobs + "\n" + merge + "\n");
    } catch (...) {
      if (!jobs.empty()) cancel_job(jobs);
      throw;
    }
  }

  // Waits until no task is left, polling Slurm again if it does not answer.
  void wait() const {
    using namespace std::chrono_literals;
    const auto jobs = known_jobs();
    std::optional<std::size_t> first = tasks_left(jobs), left = first;
    Progress progress("tasks", first.value_or(0));
    bool warned = false;
    for (auto pause = 200ms; !left || *left > 0; pause = std::min<std::chrono::milliseconds>(pause * 5 / 4, 10s)) {
      std::this_thread::sleep_for(pause);
      const auto now = tasks_left(jobs);
      if (!now && !warned) context_.console.print_stderr("note: Slurm does not answer; waiting");
      warned = warned || !now;
      for (; now && left && *left > *now; --*left) progress.advance();
      if (now) left = now;
    }
  }

  // Reports the result from the parts, since Slurm forgets finished jobs. Throws Incomplete if rows are missing.
  void conclude() const {
    using namespace std::chrono_literals;
    std::vector<std::size_t> missing;
    constexpr int most_printed = 20;
    int incomplete = 0;
    for (std::size_t share = 0; share < shares_.size(); ++share) {
      const auto rows = missing_of(share);
      if (rows.empty()) continue;
      missing.insert(missing.end(), rows.begin(), rows.end());
      if (++incomplete <= most_printed)
        context_.console.print_stderr(fmt::format("task {} failed: {} of its {} rows are missing; its log: {}", share,
                                                  rows.size(), shares_[share].size(), folder_.log(share)));
    }
    if (incomplete > most_printed)
      context_.console.print_stderr(fmt::format("{} other tasks failed, too", incomplete - most_printed));
    std::sort(missing.begin(), missing.end());
    for (int tries = 0; tries < 20 && !files().is_file(folder_.merge_status()); ++tries)
      std::this_thread::sleep_for(500ms);  // shared file systems show new files late
    const std::string status =
        files().is_file(folder_.merge_status()) ? files().read_output(folder_.merge_status()) : "";
    if (status != "0\n" && (status != "1\n" || missing.empty()))
      throw Incomplete(fmt::format("{}: the parts were not merged; the log: {} (`{}` tries again)", arguments_.out,
                                   folder_.merge_log(), come_back()));
    if (!missing.empty())
      throw Incomplete(
          fmt::format("{}: {} (`{}` computes them)", arguments_.out, missing_rows(missing, rows_.size()), come_back()));
    context_.console.print_stderr(
        fmt::format("{} in {}", counted(static_cast<std::int64_t>(rows_.size()), "row"), arguments_.out));
  }

  Context& context_;
  const SweepArguments& arguments_;
  Folder folder_;
  SweepRows rows_;
  std::vector<std::vector<std::size_t>> shares_;  // rows of each share
};

}  // namespace

void sweep_on_slurm(Context& context, SweepArguments arguments) {
  for (std::string* name : {&arguments.file, &arguments.out})
    if (name->starts_with('-')) name->insert(0, "./");  // so that it is not parsed as an option
  SlurmSweep(context, arguments).run();
}

}  // namespace allreplay
