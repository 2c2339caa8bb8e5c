#include "sim/studies/experiment/requests.hpp"

#include <algorithm>
#include <iterator>

namespace allreplay {

std::size_t Requests::Branch::size() const {
  std::size_t size = 1;
  for (const auto& values : options) size *= values.size();
  return size;
}

std::size_t Requests::Product::size() const {
  std::size_t size = 0;
  for (const Branch& branch : branches) size += branch.size();
  constexpr std::size_t too_many = std::size_t{1} << 32;  // avoids overflow; more rows than a sweep may have
  for (const auto& list : lists) size = std::min(size * list.size(), too_many);
  return size;
}

std::vector<std::size_t> Requests::Product::branch_ends() const {
  std::vector<std::size_t> ends;
  for (const Branch& branch : branches) ends.push_back(branch.size() + (ends.empty() ? 0 : ends.back()));
  return ends;
}

Request Requests::Product::at(std::size_t row, const std::vector<std::size_t>& branch_ends) const {
  std::size_t rest = row / branch_ends.back(), place = row % branch_ends.back();
  Request request;
  for (auto list = lists.rbegin(); list != lists.rend(); rest /= list->size(), ++list)
    (*list)[rest % list->size()](request);
  const auto end = std::upper_bound(branch_ends.begin(), branch_ends.end(), place);
  if (end != branch_ends.begin()) place -= *std::prev(end);
  const auto branch = branches.begin() + (end - branch_ends.begin());
  branch->choose(request);
  for (auto values = branch->options.rbegin(); values != branch->options.rend(); place /= values->size(), ++values)
    request.options.push_back((*values)[place % values->size()]);
  std::reverse(request.options.begin(), request.options.end());
  return request;
}

void Requests::add(std::shared_ptr<const Product> product, Choice choose) {
  const std::size_t size = product->size();
  std::vector<std::size_t> branch_ends = product->branch_ends();
  parts_.push_back({std::move(product), std::move(choose), added_, std::move(branch_ends)});
  for (std::size_t i = 0; i < size; ++i) rows_.push_back(static_cast<std::uint32_t>(added_ + i));
  added_ += size;
}

void Requests::keep(std::span<const std::size_t> rows) {
  std::vector<std::uint32_t> kept;
  for (const std::size_t row : rows) kept.push_back(rows_.at(row));
  rows_ = std::move(kept);
}

Request Requests::operator[](std::size_t row) const {
  const std::size_t number = rows_.at(row);
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), number,
                                      [](std::size_t one, const Part& part) { return one < part.first; });
  const Part& part = *std::prev(after);
  Request request = part.product->at(number - part.first, part.branch_ends);
  part.choose(request);
  return request;
}

}  // namespace allreplay
