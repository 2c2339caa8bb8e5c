#include "sim/studies/jobs/jobs_file.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "sim/base/core/name.hpp"
#include "sim/base/core/named.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace {

constexpr std::int64_t most_iterations = 10'000'000;
constexpr std::size_t most_jobs = 1000;
constexpr std::size_t most_changes = 10'000;  // events, or background flows
constexpr std::size_t most_classes = 10'000;
constexpr Word<Balance> balances[] = {{Balance::Even, "even"}, {Balance::Speed, "speed"}};

Time time_at(const Json& json) try { return to_time(read_long_duration(json)); } catch (const TimeOverflow&) {
  json.fail(json.dump() + " is too long to simulate", "at most 106 days");
}

std::optional<std::int64_t> whole_of(const Json& object, std::string_view key, std::int64_t least, std::int64_t most) {
  const auto found = object.find(key);
  return found ? std::optional(found->integer(least, most)) : std::nullopt;
}

// Returns the entries of a list. Throws InputError if there are more than `most`.
std::vector<Json> items_of(const Json& json, std::size_t most) {
  std::vector<Json> items = json.items();
  if (items.size() > most) json.fail(fmt::format("has {} entries", items.size()), fmt::format("at most {}", most));
  return items;
}

std::uint64_t seed_of(const Json& json) {
  return static_cast<std::uint64_t>(json.integer(0, std::numeric_limits<std::int64_t>::max()));
}

// Uses "placement", else the first of "placements". A search chooses among "placements".
void read_seats_of(const Json& json, JobEntry& job) {
  const auto one = json.find("placement"), several = json.find("placements");
  if (several) {
    for (const Json& item : several->items()) job.choices.push_back(read_seats(item));
    if (job.choices.empty()) several->fail("is empty", "at least one placement");
    job.seats = job.choices.front();
  }
  if (one) job.seats = read_seats(*one);
  if (job.choices.empty()) job.choices = {job.seats};
}

WorkerKind read_kind(const Files& files, const Json& json) {
  json.allow_only({"workers", "profile", "batch"});
  WorkerKind kind{.workers = json.at("workers").integer(1, most_workers), .place = json.place()};
  if (const auto profile = json.find("profile")) kind.profile = beside(files, json.place().file, profile->text());
  kind.batch = whole_of(json, "batch", 1, 1'000'000'000);
  return kind;
}

void read_strategy(const Json& json, Request& request) {
  const Json name = json.is_object() ? json.at("name") : json;
  request.strategy = {name.text(), name.place()};
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.members())
    if (key != "name") request.options.push_back({key, value.is_string() ? value.text() : value.dump(), value.place()});
}

JobEntry read_job(const Files& files, const Json& json, std::size_t number) {
  json.allow_only({"name", "profile", "strategy", "workers", "placement", "placements", "start", "iterations",
                   "classes", "balance", "batch", "collective", "codec", "forward_ratio", "stragglers", "jitter",
                   "reliability"});
  JobEntry job;
  job.place = json.place();
  const auto name = json.find("name");
  job.name = name ? read_name(*name) : fmt::format("job{}", number + 1);
  if (job.name.empty()) name->fail("is empty", "a line of text");
  const Json profile = json.at("profile");
  job.request.profile = {beside(files, json.place().file, profile.text()), profile.place()};
  job.request.strategy = {"wfbp", json.place() / "strategy"};
  if (const auto strategy = json.find("strategy")) read_strategy(*strategy, job.request);
  job.workers = json.at("workers").integer(1, most_workers);
  job.request.workers = {job.workers, json.at("workers").place()};
  if (const auto collective = json.find("collective"))
    job.request.collective = {collective->text(), collective->place()};
  if (const auto codec = json.find("codec"))
    job.request.codec = {beside(files, json.place().file, codec->text()), codec->place()};
  if (const auto ratio = json.find("forward_ratio")) job.request.forward_ratio = {ratio->number(), ratio->place()};
  read_seats_of(json, job);
  if (const auto start = json.find("start")) job.start = time_at(*start);
  job.iterations = whole_of(json, "iterations", 1, most_iterations);
  if (const auto kinds = json.find("classes")) {
    std::int64_t workers = 0;
    for (const Json& item : items_of(*kinds, most_classes)) {
      job.kinds.push_back(read_kind(files, item));
      workers += job.kinds.back().workers;
    }
    if (workers != job.workers)
      kinds->fail(fmt::format("have {} workers, but the job has {}", workers, job.workers), "as many");
  }
  const bool own_batch =
      std::any_of(job.kinds.begin(), job.kinds.end(), [](const WorkerKind& kind) { return kind.batch.has_value(); });
  for (const char* key : {"balance", "batch"})
    if (const auto given = json.find(key); given && own_batch)
      given->fail("cannot be combined with a class's own batch", "one of them");
  if (const auto balance = json.find("balance")) {
    const auto* word = row_named(balances, balance->text());
    if (!word) balance->fail(fmt::format("unknown balance '{}'", balance->text()), "even or speed");
    job.balance = word->value;
  }
  job.batch = whole_of(json, "batch", 1, 1'000'000'000'000);
  job.balanced = !own_batch && (!job.kinds.empty() || job.batch || json.find("balance"));
  job.stragglers = read_stragglers(json, job.workers);
  if (const auto reliability = json.find("reliability")) job.reliability = read_reliability(*reliability);
  return job;
}

NamedLink read_link(const Json& json) {
  const std::vector<Json> ends = json.items();
  if (ends.size() != 2) json.fail("is not a link", "its two ends, such as [\"edge0\", \"agg1\"]");
  return {{ends[0].text(), ends[0].place()}, {ends[1].text(), ends[1].place()}};
}

// Reads "x0.5", or a rate.
void read_bandwidth(const Json& json, ClusterEvent& event) {
  const std::string text = json.text();
  if (!text.starts_with('x')) {
    event.rate = json.rate();
    if (!(*event.rate > 0)) json.fail("is not a valid bandwidth", "more than 0, or \"down\": true");
    return;
  }
  event.times = parse_number(std::string_view(text).substr(1), json.place());
  if (!(*event.times > 0))
    json.fail(fmt::format("'{}' is not a valid bandwidth", text), "more than x0, or \"down\": true");
}

ClusterEvent read_event(const Json& json) {
  json.allow_only({"at", "for", "link", "node", "job", "worker", "bandwidth", "down", "slowdown", "stall"});
  ClusterEvent event;
  event.place = json.place();
  event.at = time_at(json.at("at"));
  const auto lasts = json.find("for");
  if (lasts) event.lasts = time_at(*lasts);
  const auto link = json.find("link"), node = json.find("node"), job = json.find("job");
  if (!!link + !!node + !!job != 1)
    json.fail("needs exactly one of \"link\", \"node\" and \"job\"", "\"job\" goes with \"worker\"");
  if (link) event.link = read_link(*link);
  if (node) event.node = NamedHost{node->text(), node->place()};
  if (job) event.worker = {NamedHost{job->text(), job->place()}, json.at("worker").integer(0, most_workers)};
  if (const auto worker = json.find("worker"); worker && !job) worker->fail("needs a job", "\"job\" next to it");
  const auto bandwidth = json.find("bandwidth"), down = json.find("down"), slowdown = json.find("slowdown"),
             stall = json.find("stall");
  if (!!bandwidth + !!down + !!slowdown + !!stall != 1)
    json.fail("needs exactly one of \"bandwidth\", \"down\", \"slowdown\" and \"stall\"",
              "separate events for several changes");
  if (bandwidth) read_bandwidth(*bandwidth, event);
  if (down) event.down = down->boolean();
  if (down && !event.down) down->fail("has no effect", "true, \"at\" and \"for\" the time");
  if (slowdown) {
    event.slowdown = slowdown->number();
    if (!(*event.slowdown > 0)) slowdown->fail("is not a valid slowdown", "more than 0: 2 is half as fast");
  }
  if (stall) {
    if (lasts) lasts->fail("cannot be combined with a stall, which has its own length", "one of them");
    event.slowdown = std::numeric_limits<double>::infinity();
    event.lasts = time_at(*stall);
  }
  if (event.slowdown && link) link->fail("does not compute", "\"bandwidth\" or \"down\" of a link");
  if (!event.slowdown && job) job->fail("has no links", "\"slowdown\" or \"stall\" of a worker");
  return event;
}

Background read_background(const Json& json) {
  json.allow_only({"from", "to", "link", "rate", "start", "on", "off", "seed"});
  Background background;
  background.place = json.place();
  const auto link = json.find("link");
  if (link) {
    background.link = read_link(*link);
    for (const char* key : {"from", "to"})
      if (const auto given = json.find(key)) given->fail("cannot be combined with a link", "one of them");
  } else {
    const Json from = json.at("from"), to = json.at("to");
    background.hosts = NamedLink{{from.text(), from.place()}, {to.text(), to.place()}};
    if (from.text() == to.text()) to.fail("is the same host as \"from\"", "another host");
  }
  background.rate = json.at("rate").rate();
  if (!(background.rate > 0)) json.at("rate").fail("is not a valid rate", "more than 0");
  if (const auto start = json.find("start")) background.start = time_at(*start);
  const auto on = json.find("on"), off = json.find("off");
  if (!!on != !!off) (on ? *on : *off).fail("needs both \"on\" and \"off\"", "both, or neither");
  for (const auto& [given, length] : {std::pair(&on, &background.on), {&off, &background.off}}) {
    if (!*given) continue;
    *length = time_at(**given);
    if (**length < Time(1)) (*given)->fail("is not a valid time", "at least 1 ps");
  }
  if (const auto seed = json.find("seed")) {
    if (!on) seed->fail("has no effect", "\"on\" and \"off\", the means of the random times");
    background.seed = seed_of(*seed);
  }
  return background;
}

}  // namespace

SeatChoice read_seats(const Json& json) {
  if (json.is_array()) return {read_placement(json), {}, json.dump()};
  const std::string text = json.text();
  constexpr std::string_view random = "random:";
  if (!text.starts_with(random)) try {
      return {read_placement(json), {}, text};
    } catch (const InputError& error) {
      throw InputError(error.place(), error.wrong(),
                       R"("packed", "spread", "random:SEED", or a list of hosts, such as ["h0", "h4"])");
    }
  const std::int64_t seed = parse_integer(std::string_view(text).substr(random.size()), 0,
                                          std::numeric_limits<std::int64_t>::max(), json.place());
  return {{}, static_cast<std::uint64_t>(seed), text};
}

JobsFile read_jobs(const Files& files, const Json& json) {
  json.allow_only(
      {"name", "description", "cluster", "fidelity", "warm_up", "iterations", "jobs", "background", "events"});
  JobsFile file;
  if (const auto name = json.find("name")) file.name = read_name(*name);
  const Json cluster = json.at("cluster");
  if (cluster.is_object())
    file.inline_cluster = cluster;
  else
    file.cluster = beside(files, json.place().file, cluster.text());
  if (const auto fidelity = json.find("fidelity")) file.fidelity = {fidelity->text(), fidelity->place()};
  file.warm_up = whole_of(json, "warm_up", 0, most_iterations).value_or(file.warm_up);
  file.iterations = whole_of(json, "iterations", 1, most_iterations).value_or(file.iterations);
  file.place_of_iterations = json.place() / "iterations";
  const Json jobs = json.at("jobs");
  for (const Json& item : items_of(jobs, most_jobs)) file.jobs.push_back(read_job(files, item, file.jobs.size()));
  if (file.jobs.empty()) jobs.fail("is empty", "at least one job");
  std::set<std::string> names;
  for (JobEntry& job : file.jobs) {
    if (!names.insert(job.name).second)
      throw InputError(job.place, fmt::format("another job is called '{}'", job.name), "names must be unique");
    job.request.fidelity = file.fidelity;
  }
  if (const auto background = json.find("background"))
    for (const Json& item : items_of(*background, most_changes)) file.background.push_back(read_background(item));
  if (const auto events = json.find("events"))
    for (const Json& item : items_of(*events, most_changes)) {
      file.events.push_back(read_event(item));
      const auto& worker = file.events.back().worker;
      if (!worker) continue;
      const auto job = std::find_if(file.jobs.begin(), file.jobs.end(),
                                    [&](const JobEntry& one) { return one.name == worker->first.name; });
      if (job == file.jobs.end())
        throw InputError(worker->first.place, fmt::format("no job '{}'", worker->first.name),
                         suggest(worker->first.name, std::vector<std::string>(names.begin(), names.end())));
      if (worker->second >= job->workers)
        throw InputError(item.at("worker").place(), fmt::format("'{}' has no worker {}", job->name, worker->second),
                         fmt::format("0 to {}", job->workers - 1));
    }
  return file;
}

}  // namespace allreplay
