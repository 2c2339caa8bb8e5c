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

// For messages between processes: what a fit finds out about a constant, and a prediction.
void members(Of<FittedConstant> auto& one, auto& pass) {
  pass.all(one.value, one.used, one.known, one.other, one.not_told_from);
}
void members(Of<Predicted> auto& one, auto& pass) {
  pass.all(one.value, one.no_communication, one.no_overlap, one.efficiency, one.warning);
}

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

std::vector<FittedConstant> constants_of_group(const ConstantsToFit& all, std::size_t group) {
  std::vector<FittedConstant> constants;
  for (const std::size_t member : all.groups[group]) constants.push_back(all.constants[member]);
  return constants;
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
                   fitted[group] = constants_of_group(all, group);
                   Unpacker(bytes).all(fitted[group]);
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
             .asked = [&](std::size_t row) { return FarmJob{Packer().all(Wanted::Predict, row, of.fitted).bytes()}; },
             .take = [&](std::size_t row, const std::string& bytes) { Unpacker(bytes).all(all[row]); }});
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
    if (wanted == Wanted::Fit) return Packer().all(fit_group(measured, all, place, *library)).bytes();
    std::vector<FittedConstant> fitted = all.constants;
    unpacker.all(fitted);
    const MeasuredPoint& point = measured.points.at(place);
    return Packer().all(predict(scenario_of(point, fitted, *library), point, measured.quantity)).bytes();
  };
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

ErrorSummary summary_of(const std::vector<double>& errors) {
  ErrorSummary summary{.rows = errors.size()};
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.too_fast += error > 0;
    if (std::abs(error) > std::abs(summary.worst)) summary.worst = error;
  }
  summary.median = quantile(sizes, 0.5);
  summary.p90 = quantile(sizes, 0.9);
  summary.bias = quantile(errors, 0.5);
  return summary;
}

Contest contest_of(const std::vector<Competitor>& competitors) {
  Contest contest;
  for (std::size_t i = 0; i < competitors.size(); ++i) {
    const Competitor& one = competitors[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Competitor& other = competitors[j];
      if (one.measured == other.measured) continue;
      ++contest.pairs;
      if (one.predicted == other.predicted)
        contest.right += 0.5;
      else if ((one.measured < other.measured) == (one.predicted < other.predicted))
        contest.right += 1;
    }
    if (one.measured > competitors[contest.winner].measured) contest.winner = i;
    const Competitor& advised = competitors[contest.advised];
    if (one.predicted > advised.predicted || (one.predicted == advised.predicted && one.measured < advised.measured))
      contest.advised = i;
  }
  contest.regret = competitors[contest.winner].measured / competitors[contest.advised].measured - 1;
  contest.winner_is_right = contest.regret == 0;
  return contest;
}

}  // namespace allreplay
