// The compiled half of the Python package (python/allreplay): calls commands, gives access to simulated timelines as
// arrays, and registers strategies that are Python functions.

#include <map>
#include <memory>
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/base/core/version.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/output/picture/svg.hpp"
#include "sim/output/view/activity_looks.hpp"
#include "sim/output/view/pictures.hpp"
#include "sim/output/view/timeline_rows.hpp"
#include "sim/plans/schedule/gradients.hpp"
#include "sim/programs/command/command.hpp"
#include "sim/programs/command/console.hpp"
#include "sim/programs/command/program.hpp"

namespace py = pybind11;

namespace allreplay {

namespace {

// --- the outcome of a run

/// One simulated scenario, kept alive as long as Python refers to it.
class Replayed {
 public:
  explicit Replayed(Outcome outcome) : outcome_(std::move(outcome)) {}

  const Outcome& outcome() const { return outcome_; }
  const Episode& last() const { return outcome_.result.episodes.back(); }

 private:
  const Outcome outcome_;
};

// Returns a read-only NumPy view of `count` numbers, `stride` bytes apart, in memory that `owner` keeps alive.
template <class Number>
py::array column(const Number* first, std::size_t count, std::size_t stride, const py::object& owner) {
  py::array array(py::dtype::of<Number>(), {count}, {stride}, first, owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

using Ticks = Time::rep;
static_assert(sizeof(Time) == sizeof(Ticks), "a Time is its number of picoseconds");

// Returns one time of each record as an array of picoseconds.
template <class Record>
py::array times(const std::vector<Record>& records, Time Record::*time, const py::object& owner) {
  return column(reinterpret_cast<const Ticks*>(records.empty() ? nullptr : &(records.data()->*time)), records.size(),
                sizeof(Record), owner);
}

// Returns the last iteration's tasks as arrays by name; python/allreplay/_results.py (Timeline) explains them.
py::dict arrays(const py::object& self) {
  const auto& replayed = self.cast<const Replayed&>();
  const std::vector<Span>& spans = replayed.last().timeline.spans;
  const Result& result = replayed.outcome().result;
  const std::vector<Label>& labels = result.unrolled.labels;
  const Label* label = labels.data();
  py::dict arrays;
  arrays["ready"] = times(spans, &Span::ready, self);
  arrays["start"] = times(spans, &Span::start, self);
  arrays["end"] = times(spans, &Span::end, self);
  arrays["kind"] = column(reinterpret_cast<const std::uint8_t*>(&label->kind), labels.size(), sizeof(Label), self);
  arrays["kinds"] = py::tuple(py::cast(names_of(activity_rows)));
  arrays["worker_class"] = column(&label->worker_class, labels.size(), sizeof(Label), self);
  arrays["item"] = column(&label->item, labels.size(), sizeof(Label), self);
  arrays["batch"] = column(&label->micro_batch, labels.size(), sizeof(Label), self);
  arrays["memory_at"] = times(result.memory.course, &MemoryPoint::at, self);
  arrays["memory_bytes"] = column(result.memory.course.empty() ? nullptr : &result.memory.course.data()->bytes,
                                  result.memory.course.size(), sizeof(MemoryPoint), self);
  return arrays;
}

// Returns the rows of the timeline's picture: [(name, [(activity, name, bytes, ready, start, end)])], times in seconds.
py::list rows_of(const Replayed& replayed) {
  const TimelineRows rows = timeline_rows(replayed.outcome(), replayed.last());
  py::list list;
  for (const auto* part : {&rows.streams, &rows.network})
    for (const TimelineRow& row : *part) {
      py::list bars;
      for (const Bar& bar : row.bars)
        bars.append(py::make_tuple(title_of(bar.activity), bar.name, bar.bytes, to_seconds(bar.ready),
                                   to_seconds(bar.start), to_seconds(bar.end)));
      list.append(py::make_tuple(row.name, bars));
    }
  return list;
}

// --- calling a command

struct Answer {
  std::string printed;
  std::vector<std::string> stderr_lines;
  std::vector<py::bytes> written;      // contents of the files in `outputs`, in their order
  std::shared_ptr<Replayed> replayed;  // null if the command does not hand over an outcome
};

// The module's state between calls. REQUIRES: changed only while holding the interpreter's lock.
struct Package {
  py::object input_error;          // the Python class of errors in inputs
  std::vector<std::string> homes;  // folders with the shipped data
  std::shared_ptr<AddedStrategies> strategies = std::make_shared<AddedStrategies>();
  std::shared_ptr<KeptInputs> kept = std::make_shared<KeptInputs>();
};

[[noreturn]] void raise(const py::object& error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw py::error_already_set();
}

// Raises the exception that is being handled as a Python exception. REQUIRES: the interpreter's lock is held.
[[noreturn]] void raise_current(const py::object& input_error) {
  try {
    throw;
  } catch (const py::error_already_set&) {
    throw;
  } catch (const InputError& error) {
    raise(input_error(error.what(), error.place().file, error.place().path, error.wrong(), error.right()));
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, current_failure().text.c_str());
    throw py::error_already_set();
  } catch (...) {
    const Failure failure = current_failure();
    if (!failure.is_fault) raise(input_error(failure.text, "", "", failure.text, ""));
    PyErr_SetString(PyExc_RuntimeError, failure.text.c_str());
    throw py::error_already_set();
  }
}

using GivenTexts = std::vector<std::pair<std::string, std::string>>;

// Runs a command. Releases the interpreter's lock meanwhile, so that Python threads simulate in parallel: the context
// belongs to this call, and `strategies` and `kept` are thread-safe. `inputs`: files that exist only in memory;
// `outputs`: names of files that are returned instead of written.
Answer call(const Package& package, const std::vector<std::string>& words, const GivenTexts& inputs,
            const std::vector<std::string>& outputs) {
  Context context{{Files(package.homes), package.strategies, package.kept}, Console(true)};
  Files& files = context.inputs.files;
  for (const auto& [file, text] : inputs) files.add(file, text);
  for (const std::string& file : outputs) files.add(file, "");
  try {
    const py::gil_scoped_release others;
    run_words(words, context);
  } catch (...) {
    raise_current(package.input_error);
  }
  Console& console = context.console;
  Answer answer{std::move(console.printed), std::move(console.stderr_lines), {}, nullptr};
  for (const std::string& file : outputs) answer.written.emplace_back(files.text(file));
  if (!console.outcomes.empty()) answer.replayed = std::make_shared<Replayed>(std::move(console.outcomes.front()));
  return answer;
}

// --- strategies that are Python functions

// Returns a strategy function's first argument: [(index, tensor, layer, bytes, ready, needed)] in backward order. Times
// are in seconds: `ready` since the start of the backward pass, `needed` since the start of the next forward pass.
py::list needs_of(const Profile& profile) {
  std::vector<Time> starts;
  Time start{0};
  for (const Layer& layer : profile.layers) {
    starts.push_back(start);
    start = add(start, layer.forward);
  }
  py::list needs;
  for (const Gradient& one : gradients(profile)) {
    const Tensor& tensor = profile.tensors[one.tensor];
    needs.append(py::make_tuple(one.tensor, tensor.name, profile.layers[tensor.layer].name, one.bytes,
                                to_seconds(one.ready), to_seconds(starts[tensor.layer])));
  }
  return needs;
}

// A strategy function's second argument: the price of a collective by its size. Valid only while the plan is made.
class Prices {
 public:
  explicit Prices(const PlanRequest& request)
      : workers(request.workers),
        forward_s(to_seconds(request.profile.forward())),
        backward_s(to_seconds(request.profile.backward())),
        cost_(&request.cost) {}
  void end() { cost_ = nullptr; }
  double operator()(Bytes bytes) const {
    if (!cost_) throw std::runtime_error("prices can only be used while the strategy plans");
    if (bytes < 0) throw py::value_error("a price needs a number of bytes of at least 0");
    return to_seconds((*cost_)(bytes));
  }

  std::int64_t workers;
  double forward_s, backward_s;

 private:
  const BlockCost* cost_;
};

// Calls a strategy function and reads its plan. Throws InputError.
BucketSchedule scheduled(const std::string& name, const py::function& planner, const PlanRequest& request) {
  const std::string place = fmt::format("strategy '{}'", name);
  std::string text;
  {
    const py::gil_scoped_acquire lock;
    const auto prices = std::make_shared<Prices>(request);
    struct End {
      Prices& prices;
      ~End() { prices.end(); }
    } const end{*prices};
    text = planner(needs_of(request.profile), prices).cast<std::string>();
  }
  Plan plan = read_plan(Json::parse(text, place), request.profile);
  if (!plan.queueing)
    throw InputError({place, "/transfers"}, "a strategy returns blocks and how they are sent, not transfers",
                     "\"blocks\" and the keys next to it in docs/formats.md; pass a complete plan to simulate()");
  plan.strategy = name;
  return bucket_schedule_of(std::move(plan));
}

void add_python_strategy(const Package& package, const std::string& name, const py::function& planner) {
  const std::shared_ptr<py::function> kept(new py::function(planner), [](py::function* function) {
    if (!Py_IsInitialized()) return;  // the interpreter has exited and freed its objects
    const py::gil_scoped_acquire lock;
    delete function;
  });
  try {
    package.strategies->add(name, [name, kept](const PlanRequest& request) { return scheduled(name, *kept, request); });
  } catch (...) {
    raise_current(package.input_error);
  }
}

// --- descriptions, from which the package makes keywords and docstrings

// Returns all commands: [(name, help, [(option, help, default, is a flag, is positional)])].
py::list commands_described() {
  py::list list;
  CommandLine app = command_line();
  add_commands(app, "");
  for (const Command& command : app.commands) {
    py::list options;
    for (const bool positional : {false, true})
      for (const Option& option : command.options)
        if (option.is_positional() == positional)
          options.append(py::make_tuple(option.longest_name(), option.help_in_one_line(), option.default_text(),
                                        option.is_flag(), positional));
    list.append(py::make_tuple(command.name, command.help, options));
  }
  return list;
}

}  // namespace

}  // namespace allreplay

PYBIND11_MODULE(_core, module) {
  using namespace allreplay;
  // Python code must not make instances, which object.__new__ would leave uninitialised.
  const py::custom_type_setup made_here(
      [](PyHeapTypeObject* type) { type->ht_type.tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION; });
  py::class_<Replayed, std::shared_ptr<Replayed>>(module, "Replayed", made_here)
      .def("arrays", &arrays)
      .def("rows", &rows_of)
      .def("iteration_start", [](const Replayed& self) { return self.last().start.count(); })
      .def("svg", [](const Replayed& self) { return to_svg(timeline_picture({self.outcome()})); })
      .def("plan", [](const Replayed& self) {
        const Scenario& scenario = self.outcome().scenario;
        return write_plan(self.outcome().result.plan, scenario.profile, scenario.options.dtypes);
      });
  py::class_<Prices, std::shared_ptr<Prices>>(
      module, "Prices", "Prices of collectives while a strategy plans: seconds for a number of bytes.", made_here)
      .def("__call__", &Prices::operator())
      .def_readonly("workers", &Prices::workers)
      .def_readonly("forward_s", &Prices::forward_s)
      .def_readonly("backward_s", &Prices::backward_s);
  py::class_<Answer>(module, "Answer", made_here)
      .def_readonly("printed", &Answer::printed)
      .def_readonly("stderr_lines", &Answer::stderr_lines)
      .def_readonly("written", &Answer::written)
      .def_readonly("replayed", &Answer::replayed);
  const auto package = std::make_shared<Package>();
  module.def("call",
             [package](const std::vector<std::string>& words, const GivenTexts& inputs,
                       const std::vector<std::string>& outputs) { return call(*package, words, inputs, outputs); });
  module.def("add_strategy", [package](const std::string& name, const py::function& planner) {
    add_python_strategy(*package, name, planner);
  });
  module.def("described", &commands_described);
  module.def("option_names", [] { return names_of(option_rows()); });
  module.def("version", &version);
  module.def("version_and_commit", &version_and_commit);
  module.def("add_data_home", [package](const std::string& folder) { package->homes.push_back(folder); });
  module.def("set_input_error", [package](const py::object& type) { package->input_error = type; });
}
