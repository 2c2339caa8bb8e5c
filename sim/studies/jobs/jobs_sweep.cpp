#include "sim/studies/jobs/jobs_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/digest.hpp"
#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"
#include "sim/replay/training/possible.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/sweep_file.hpp"

namespace allreplay {

namespace {

// Returns the entries of a list. Throws InputError if there is none.
std::vector<Json> nonempty_items(const Json& json) {
  std::vector<Json> items = json.items();
  if (items.empty()) json.fail("is empty", "at least one entry, or leave the key out");
  return items;
}

// Reads the name of a jobs file, or its contents written in place.
JobsSweep::Base read_base(const Files& files, const Json& json, std::vector<std::string>& named) {
  if (!json.is_object()) named.push_back(beside(files, json.place().file, json.text()));
  const Json read = json.is_object() ? json : Json::read(files, named.back());
  JobsSweep::Base base{read_jobs(files, read), digest(read.dump())};
  if (base.file.name.empty() && json.is_object()) json.fail("has no name", "add \"name\", for its rows");
  if (base.file.name.empty()) base.file.name = std::filesystem::path(named.back()).stem().string();
  require_name(base.file.name, json.place());
  return base;
}

// Reads one placement for all jobs, or an object of placements by job.
JobsSweep::Placements read_placements(const Json& json) {
  if (!json.is_object()) {
    const SeatChoice seats = read_seats(json);
    return {[seats](JobsFile& file) {
              for (JobEntry& job : file.jobs) job.seats = seats;
            },
            seats.text};
  }
  std::map<std::string, std::pair<SeatChoice, SourceLocation>> of;
  for (const auto& [job, value] : json.members()) of[job] = {read_seats(value), value.place()};
  const auto seat = [of](JobsFile& file) {
    for (const auto& [name, seats] : of) {
      const auto job = std::ranges::find(file.jobs, name, &JobEntry::name);
      if (job == file.jobs.end()) fail_with_nearest(name, names_of(file.jobs), seats.second, "no job '{}'");
      job->seats = seats.first;
    }
  };
  return {seat, json.dump()};
}

JobsSweep::Search read_search(const Json& json) {
  json.allow_only({"place", "stagger", "minimise"});
  JobsSweep::Search one;
  const auto add_word = [&](const std::string& text) { one.text += (one.text.empty() ? "" : ";") + text; };
  if (const auto place = json.find("place"); place && place->boolean()) {
    one.search.place = true;
    add_word("place");
  }
  if (const auto stagger = json.find("stagger")) {
    one.search.stagger = stagger->integer(1, 1000);
    add_word(fmt::format("stagger={}", *one.search.stagger));
  }
  if (const auto aim = json.find("minimise")) {
    const std::string word = aim->text();
    if (word != "worst" && word != "mean") aim->fail(fmt::format("unknown aim '{}'", word), "worst or mean");
    if (one.text.empty()) aim->fail("needs a search", "\"place\" or \"stagger\" next to it");
    one.search.mean = word == "mean";
    if (one.search.mean) add_word("minimise=mean");
  }
  if (one.text.empty()) one.text = "none";
  return one;
}

// Sets the number of workers of every job. Throws InputError if the file names a worker that would not exist.
void set_workers(JobsFile& file, std::int64_t workers, const SourceLocation& place) {
  for (JobEntry& job : file.jobs) {
    const auto require = [&](bool holds, const char* what) {
      if (!holds)
        throw InputError(place, fmt::format("'{}' has {}", job.name, what),
                         fmt::format("{} workers, as its file says", job.workers));
    };
    require(job.kinds.empty(), "classes, which give the number of workers");
    const auto& slow = job.stragglers.slow;
    require(std::all_of(slow.begin(), slow.end(), [&](const Slowdown& one) { return one.worker < workers; }),
            "stragglers that would not exist");
    require(std::all_of(file.events.begin(), file.events.end(),
                        [&](const ClusterEvent& event) {
                          return !event.worker || event.worker->first.name != job.name ||
                                 event.worker->second < workers;
                        }),
            "a worker named by an event, which would not exist");
    job.workers = workers;
    job.request.workers = {workers, place};
  }
}

// Applies what the request sets to all jobs of the file.
void apply_overrides(JobsFile& file, const Request& overrides) {
  if (!overrides.cluster.empty()) {
    file.cluster = overrides.cluster;
    file.inline_cluster.reset();
  }
  if (!overrides.cluster_words.empty())
    file.inline_cluster = Json::parse(cluster_file_of(overrides.cluster_words), "the cluster in words");
  for (const ChangeText& change : overrides.changes)
    for (const char* own : {"placement", "stragglers"})
      if (change.name == own)
        throw InputError(change.place, fmt::format("each job has its own {}", own), "give it in the jobs file");
  file.changes = overrides.changes;
  if (!overrides.fidelity.empty()) file.fidelity = overrides.fidelity;
  for (JobEntry& job : file.jobs) {
    Request& own = job.request;
    const auto take = [&](Given<std::string> Request::*word) {
      if (!(overrides.*word).empty()) own.*word = overrides.*word;
      return !(overrides.*word).empty();
    };
    if (take(&Request::profile)) own.forward_ratio = overrides.forward_ratio;
    if (take(&Request::strategy)) own.options = overrides.options;
    for (const auto word : {&Request::collective, &Request::codec, &Request::fidelity}) take(word);
    own.changes = overrides.changes;
    own.reuse = overrides.reuse;
  }
  if (overrides.workers.value) set_workers(file, *overrides.workers.value, overrides.workers.place);
}

// Answers the questions of a jobs sweep, by number. Its library is used by one thread only.
class JobsQuestions {
 public:
  explicit JobsQuestions(JobsSweep sweep) : sweep_(std::move(sweep)), library_(sweep_.inputs) {}

  SweepRows check() {
    SweepRows rows(job_keys());
    NamesOfFiles names_of_files;
    for (std::size_t question = 0; question < sweep_.size(); ++question) {
      const JobsFile file = file_of(question);
      const std::vector<Scenario> scenarios = resolve(file);
      rows.first.push_back(rows.size());
      std::uint64_t cost = 0;
      for (std::size_t job = 0; job < file.jobs.size(); ++job) {
        Request named = file.jobs[job].request;
        named.cluster = file.inline_cluster ? "" : file.cluster;
        names_of_files.add(named, scenarios[job]);
        rows.add(joined(job_identity(
                     {file, file.jobs[job], scenarios[job], placements_of(question).text, search_of(question).text})),
                 digest_of(question));
        cost += expected_cost(scenarios[job]) * static_cast<std::uint64_t>(iterations_of(file, file.jobs[job]));
      }
      rows.steps.push_back(1);
      rows.costs.push_back(cost * static_cast<std::uint64_t>(runs_of(file, search_of(question).search)));
    }
    return rows;
  }

  SweepQuestions::Answer ask(std::size_t question) {
    const JobsFile file = file_of(question);
    return [file, scenarios = resolve(file), &placements = placements_of(question), &search = search_of(question),
            &inputs = sweep_.inputs](const std::function<void()>&) {
      const auto began = std::chrono::steady_clock::now();
      Library library(inputs);
      JobsRunner runner(library, inputs.files, file);
      const FoundJobs found = search_jobs(runner, search.search);
      const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      std::vector<SimulatedRow> rows;
      for (std::size_t job = 0; job < file.jobs.size(); ++job)
        rows.push_back(
            {job_row({file, file.jobs[job], scenarios[job], placements.text, search.text, &found, job, wall_s}), ""});
      return rows;
    };
  }

  // REQUIRES: the jobs of this question were resolved.
  std::uint64_t digest_of(std::size_t question) const {
    const JobsFile file = file_of(question);
    std::uint64_t state = digest(search_of(question).text, base_of(question).contents);
    for (const JobEntry& job : file.jobs) {
      state = digest(job.seats.text, state);
      for (const Request& request : requests_of(job)) state = digest(library_.digest_of(request), state);
    }
    return state;
  }

 private:
  static std::size_t place_in(std::size_t question, std::size_t faster, std::size_t count) {
    return question / faster % count;
  }
  const JobsSweep::Search& search_of(std::size_t question) const {
    return sweep_.searches[place_in(question, 1, sweep_.searches.size())];
  }
  const JobsSweep::Placements& placements_of(std::size_t question) const {
    return sweep_.placements[place_in(question, sweep_.searches.size(), sweep_.placements.size())];
  }
  const JobsSweep::Base& base_of(std::size_t question) const {
    return sweep_.bases[question / (sweep_.size() / sweep_.bases.size())];
  }

  // Returns the jobs file of a question, with its overrides applied.
  JobsFile file_of(std::size_t question) const {
    JobsFile file = base_of(question).file;
    const std::size_t faster = sweep_.searches.size() * sweep_.placements.size();
    apply_overrides(file, sweep_.requests[place_in(question, faster, sweep_.requests.size())]);
    if (const auto& seat = placements_of(question).seat) {
      seat(file);
      for (JobEntry& job : file.jobs)
        if (job.choices.size() == 1) job.choices = {job.seats};
    }
    return file;
  }

  // Returns the requests of a job and of its classes that have their own profiles.
  static std::vector<Request> requests_of(const JobEntry& job) {
    std::vector<Request> requests{job.request};
    for (const WorkerKind& kind : job.kinds) {
      if (kind.profile.empty()) continue;
      requests.push_back(job.request);
      requests.back().profile = {kind.profile, kind.place};
    }
    for (Request& request : requests) request.cluster = shared_cluster;
    return requests;
  }

  // Resolves the jobs on their seats. Throws InputError if one cannot run there.
  std::vector<Scenario> resolve(const JobsFile& file) {
    const JobsCluster cluster = jobs_cluster(library_, sweep_.inputs.files, file);
    const auto seats = seat_jobs(cluster.seating, file.jobs, choices_of(file));
    const Disturbances known(file, cluster.seating.network);  // throws InputError for unknown names
    std::vector<Scenario> scenarios;
    for (std::size_t job = 0; job < file.jobs.size(); ++job) {
      scenarios.push_back(scenario_of(library_, cluster, file.jobs[job], seats[job]));
      require_possible(scenarios.back());
      for (const Request& request : requests_of(file.jobs[job])) library_.resolve(request);
    }
    return scenarios;
  }

  static std::int64_t iterations_of(const JobsFile& file, const JobEntry& job) {
    return job.iterations.value_or(file.warm_up + file.iterations);
  }

  static std::int64_t runs_of(const JobsFile& file, const JobsSearch& search) {
    std::int64_t runs = 1;
    for (const JobEntry& job : file.jobs) {
      if (search.place) runs += std::ssize(job.choices) - 1;
      if (search.stagger && &job != &file.jobs.front()) runs += *search.stagger - 1;
    }
    return runs;
  }

  JobsSweep sweep_;
  Library library_;
};

}  // namespace

JobsSweep read_jobs_sweep(const Inputs& inputs, const Json& json, const SweepOverrides& instead) {
  json.allow_only({"name", "description", "reproduces", "jobs", "profiles", "clusters", "workers", "routing",
                   "collectives", "fidelities", "codecs", "strategies", "placements", "searches", "plot"});
  JobsSweep sweep;
  sweep.inputs = inputs;
  if (!sweep.inputs.kept) sweep.inputs.kept = std::make_shared<KeptInputs>();  // rows share the files they read
  std::set<std::string> names;
  std::size_t jobs = 0;
  for (const Json& item : nonempty_items(json.at("jobs"))) {
    sweep.bases.push_back(read_base(inputs.files, item, sweep.files));
    const JobsFile& file = sweep.bases.back().file;
    if (!names.insert(file.name).second)
      item.fail(fmt::format("two jobs files are called '{}'", file.name), "a \"name\" of its own for each");
    jobs += file.jobs.size();
  }
  sweep.requests = read_requests(inputs, json, instead);
  if (const auto placements = json.find("placements"))
    for (const Json& item : nonempty_items(*placements)) sweep.placements.push_back(read_placements(item));
  else
    sweep.placements.emplace_back();
  if (const auto searches = json.find("searches"))
    for (const Json& item : nonempty_items(*searches)) sweep.searches.push_back(read_search(item));
  else
    sweep.searches.push_back({{}, "none"});
  require_rows(jobs * sweep.size() / sweep.bases.size(), json);
  return sweep;
}

SweepQuestions questions_of(JobsSweep sweep) {
  SweepQuestions questions;
  questions.files = sweep.inputs.files;
  questions.columns = job_keys();
  const auto jobs_questions = std::make_shared<JobsQuestions>(std::move(sweep));
  questions.check = [jobs_questions] { return jobs_questions->check(); };
  questions.ask = [jobs_questions](std::size_t question) { return jobs_questions->ask(question); };
  questions.digest_of = [jobs_questions](std::size_t question) { return jobs_questions->digest_of(question); };
  return questions;
}

}  // namespace allreplay
