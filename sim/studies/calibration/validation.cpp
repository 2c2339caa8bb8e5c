#include "sim/studies/calibration/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/base/farm/batch.hpp"
#include "sim/base/farm/bytes.hpp"
#include "sim/replay/training/collective_choice.hpp"
#include "sim/replay/training/possible.hpp"

namespace allreplay {

namespace {

// Rejects rows that cannot be simulated, before any simulation.
void require_all_possible(const MeasuredFile& measured, Library& library) {
  for (const MeasuredPoint& point : measured.points) {
    const Scenario scenario = scenario_of(point, {}, library);
    require_possible(scenario);
    if (measured.quantity == Quantity::CollectiveTime && scenario.workers < 2)
      throw InputError(point.request.workers.place, "a collective of one worker sends nothing", "2 or more");
    if (measured.quantity == Quantity::Throughput && !scenario.profile->batch_size)
      throw InputError(point.request.profile.place, fmt::format("{} has no batch size", scenario.profile->name),
                       "a profile with batch_size, or a measured iteration_s");
  }
}

// Rejects rows with much communication for the fit of a spread, which would absorb the communication's time.
void require_little_communication(const Validation& of, const std::vector<Predicted>& predicted) {
  constexpr double most = 0.05;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    const MeasuredPoint& point = of.measured.points[row];
    const auto is_spread = [](const FitRequest& fit) { return fit.constant == Constant::Spread; };
    if (std::none_of(point.fits.begin(), point.fits.end(), is_spread)) continue;
    const Predicted& one = predicted[row];
    const double apart = is_time(of.measured.quantity)
                             ? (one.no_overlap - one.no_communication) / point.value
                             : point.value / one.no_overlap - point.value / one.no_communication;
    if (apart > most)
      throw InputError({point.place.file, point.place.path + ", calibrate"},
                       fmt::format("fits spread, but communication may be {:.1f} % of its time", 100 * apart),
                       "rows where it is at most 5 %");
  }
}

// By row: the error of the value measured with the next smaller number of workers, all else being equal.
std::vector<std::optional<double>> errors_of_smaller(const MeasuredFile& measured, Library& library) {
  using Key = std::tuple<std::string, std::string, Bytes>;
  std::map<Key, std::map<std::int64_t, std::pair<double, int>>> times;  // by workers: sum and count
  std::vector<std::pair<Key, std::int64_t>> keys;
  for (const MeasuredPoint& point : measured.points) {
    const Scenario scenario = library.resolve_network(point.request);
    keys.emplace_back(Key(point.request.cluster, collective_named(scenario), point.bytes), scenario.workers);
    auto& [sum, count] = times[keys.back().first][keys.back().second];
    sum += point.value;
    ++count;
  }
  std::vector<std::optional<double>> errors;
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const auto& by_workers = times[keys[row].first];
    const auto here = by_workers.find(keys[row].second);
    errors.emplace_back();
    if (here == by_workers.begin()) continue;
    const auto& [sum, count] = std::prev(here)->second;
    errors.back() = error_of(sum / count, measured.points[row].value, measured.quantity);
  }
  return errors;
}

ValidatedPoint validated(const MeasuredPoint& point, const Validation& of, Predicted prediction) {
  const Quantity quantity = of.measured.quantity;
  ValidatedPoint result{.predicted = std::move(prediction)};
  const Predicted& predicted = result.predicted;
  result.error = error_of(predicted.value, point.value, quantity);
  if (!of.trains()) return result;
  result.no_communication = error_of(predicted.no_communication, point.value, quantity);
  result.no_overlap = error_of(predicted.no_overlap, point.value, quantity);
  const double speed = is_time(quantity) ? predicted.value / point.value : point.value / predicted.value;
  result.loss = ScalingLoss{1 - predicted.efficiency * speed, 1 - predicted.efficiency};
  return result;
}

GroupScore score_of(const std::string& name, const Validation& of, const std::vector<std::size_t>& rows) {
  GroupScore score{.name = name};
  std::vector<double> errors, no_communication, no_overlap, losses, loss_errors, smaller, own_of_smaller;
  for (const std::size_t row : rows) {
    const ValidatedPoint& point = of.points[row];
    if (point.smaller) {
      smaller.push_back(*point.smaller);
      own_of_smaller.push_back(point.error);
    }
    errors.push_back(point.error);
    no_communication.push_back(point.no_communication);
    no_overlap.push_back(point.no_overlap);
    if (!point.loss) continue;
    losses.push_back(point.loss->measured);
    loss_errors.push_back(std::abs(point.loss->predicted - point.loss->measured));
  }
  score.error = summary_of(errors);
  if (!smaller.empty()) score.smaller = SmallerScore{summary_of(smaller), summary_of(own_of_smaller)};
  if (losses.empty()) return score;
  score.no_communication = summary_of(no_communication);
  score.no_overlap = summary_of(no_overlap);
  score.loss = quantile(losses, 0.5);
  score.loss_error = quantile(loss_errors, 0.5);
  score.loss_error_p90 = quantile(loss_errors, 0.9);
  return score;
}

void score(Validation& of, std::optional<double> matters) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::size_t>> rows;
  std::vector<std::size_t> scored;
  for (std::size_t row = 0; row < of.measured.points.size(); ++row) {
    const MeasuredPoint& point = of.measured.points[row];
    if (!point.scored()) continue;
    scored.push_back(row);
    std::vector<std::size_t>& list = rows[point.group];
    if (list.empty()) names.push_back(point.group);
    list.push_back(row);
  }
  for (const std::string& name : names) of.groups.push_back(score_of(name, of, rows[name]));
  of.all = score_of("all", of, scored);
  if (!matters) return;
  std::erase_if(scored, [&](std::size_t row) { return std::abs(of.points[row].no_communication) <= *matters; });
  of.matters = score_of("where it matters", of, scored);
}

void compare_methods(Validation& of) {
  std::vector<std::vector<std::string>> order;
  std::map<std::vector<std::string>, std::vector<std::size_t>> settings;
  for (std::size_t row = 0; row < of.measured.points.size(); ++row) {
    const MeasuredPoint& point = of.measured.points[row];
    if (!point.scored()) continue;
    std::vector<std::string> key;
    for (const char* column : {"profile", "forward_ratio", "cluster", "workers", "accumulate"}) {
      const auto cell = point.cells.find(column);
      key.push_back(cell == point.cells.end() ? "" : cell->second);
    }
    std::vector<std::size_t>& list = settings[key];
    if (list.empty()) order.push_back(key);
    list.push_back(row);
  }
  for (const std::vector<std::string>& key : order) {
    Setting setting{.rows = settings[key], .contest = {}};
    if (setting.rows.size() < 2) continue;
    std::vector<Competitor> competitors;
    for (const std::size_t row : setting.rows) {
      const double measured = of.measured.points[row].value, predicted = of.points[row].predicted.value;
      const bool time = is_time(of.measured.quantity);
      competitors.push_back({time ? 1 / measured : measured, time ? 1 / predicted : predicted});
    }
    setting.contest = contest_of(competitors);
    of.settings.push_back(std::move(setting));
  }
}

// The work for another process of a farm: fit the constants of a group, or predict a row with all constants.
enum class Wanted : std::uint8_t { Fit, Predict };

void pack_values(Packer& packer, const std::vector<FittedConstant>& constants) {
  for (const FittedConstant& one : constants) {
    packer.add(one.value).add(one.used).add(one.known).add(one.other.has_value()).add(one.other.value_or(0));
    packer.add(one.not_told_from.size());
    for (const std::size_t other : one.not_told_from) packer.add(other);
  }
}

void unpack_values(Unpacker& unpacker, std::vector<FittedConstant>& constants) {
  for (FittedConstant& one : constants) {
    one.value = unpacker.take<double>();
    one.used = unpacker.take<bool>();
    one.known = unpacker.take<bool>();
    const auto has_other = unpacker.take<bool>();
    const auto other = unpacker.take<double>();
    one.other = has_other ? std::optional(other) : std::nullopt;
    one.not_told_from.resize(unpacker.take<std::size_t>());
    for (std::size_t& twin : one.not_told_from) twin = unpacker.take<std::size_t>();
  }
}

std::vector<FittedConstant> constants_of_group(const ConstantsToFit& all, std::size_t group) {
  std::vector<FittedConstant> constants;
  for (const std::size_t member : all.groups[group]) constants.push_back(all.constants[member]);
  return constants;
}

Predicted unpack_prediction(const std::string& bytes) {
  Unpacker unpacker(bytes);
  Predicted one;
  for (double* value : {&one.value, &one.no_communication, &one.no_overlap, &one.efficiency})
    *value = unpacker.take<double>();
  one.warning = unpacker.take_text();
  return one;
}

void fit(Validation& of, Library& library, Farm* farm) {
  ConstantsToFit all = constants_to_fit(of.measured, library);
  std::vector<std::vector<FittedConstant>> fitted(all.groups.size());
  const Batch batch{1, farm};
  batch.run({.count = all.groups.size(),
             .here = [&](std::size_t group) { fitted[group] = fit_group(of.measured, all, group, library); },
             .asked =
                 [&](std::size_t group) {
                   return FarmJob{Packer().add(Wanted::Fit).add(group).bytes(), all.groups[group].size()};
                 },
             .take =
                 [&](std::size_t group, const std::string& bytes) {
                   Unpacker unpacker(bytes);
                   fitted[group] = constants_of_group(all, group);
                   unpack_values(unpacker, fitted[group]);
                 }});
  of.fitted = std::move(all.constants);
  for (std::size_t group = 0; group < fitted.size(); ++group)
    for (std::size_t i = 0; i < fitted[group].size(); ++i)
      of.fitted[all.groups[group][i]] = std::move(fitted[group][i]);
}

std::vector<Predicted> predictions(const Validation& of, Library& library, Farm* farm) {
  const std::vector<MeasuredPoint>& points = of.measured.points;
  std::vector<Predicted> all(points.size());
  const Batch batch{1, farm};
  batch.run({.count = points.size(),
             .here =
                 [&](std::size_t row) {
                   all[row] = predict(scenario_of(points[row], of.fitted, library), points[row], of.measured.quantity);
                 },
             .asked =
                 [&](std::size_t row) {
                   Packer packer;
                   pack_values(packer.add(Wanted::Predict).add(row), of.fitted);
                   return FarmJob{packer.bytes()};
                 },
             .take = [&](std::size_t row, const std::string& bytes) { all[row] = unpack_prediction(bytes); }});
  return all;
}

}  // namespace

Validation validate(MeasuredFile measured, Farm* farm, std::optional<double> matters) {
  Validation result{.measured = std::move(measured)};
  Library library(result.measured.inputs);
  require_all_possible(result.measured, library);
  add_nodes(result.measured, library);
  fit(result, library, farm);
  for (const FittedConstant& one : result.fitted) result.reached.push_back(scored_rows(one, result.measured, library));
  std::vector<Predicted> predicted = predictions(result, library, farm);
  require_little_communication(result, predicted);
  for (std::size_t row = 0; row < predicted.size(); ++row)
    result.points.push_back(validated(result.measured.points[row], result, std::move(predicted[row])));
  if (!result.trains()) {
    const std::vector<std::optional<double>> smaller = errors_of_smaller(result.measured, library);
    for (std::size_t row = 0; row < smaller.size(); ++row) result.points[row].smaller = smaller[row];
  }
  score(result, matters);
  if (result.trains()) compare_methods(result);
  return result;
}

Farm::Answer answer_validation(MeasuredFile measured) {
  auto library = std::make_shared<Library>(measured.inputs);
  add_nodes(measured, *library);
  ConstantsToFit all = constants_to_fit(measured, *library);
  return [measured = std::move(measured), all = std::move(all), library](const std::string& work) {
    Unpacker unpacker(work);
    const auto wanted = unpacker.take<Wanted>();
    const auto place = unpacker.take<std::size_t>();
    Packer packer;
    if (wanted == Wanted::Fit) {
      pack_values(packer, fit_group(measured, all, place, *library));
      return packer.bytes();
    }
    std::vector<FittedConstant> fitted = all.constants;
    unpack_values(unpacker, fitted);
    const MeasuredPoint& point = measured.points.at(place);
    const Predicted one = predict(scenario_of(point, fitted, *library), point, measured.quantity);
    packer.add(one.value).add(one.no_communication).add(one.no_overlap).add(one.efficiency).add_text(one.warning);
    return packer.bytes();
  };
}

}  // namespace allreplay
