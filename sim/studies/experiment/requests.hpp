// The requests of a sweep: every combination of lists of choices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/studies/experiment/request.hpp"

namespace allreplay {

/// The requests of a sweep's rows, made on demand: a hundred thousand would take more memory than the simulations.
class Requests {
 public:
  using Choice = std::function<void(Request& request)>;

  /// A choice (a strategy) with every combination of its option values; the last option varies fastest.
  struct Branch {
    Choice choose;
    std::vector<std::vector<OptionText>> options;  ///< a list of values for each option

    std::size_t size() const;
  };

  /// Every combination of the choices and branches; branches vary fastest, then the last list of choices.
  struct Product {
    std::vector<std::vector<Choice>> lists;
    std::vector<Branch> branches;

    std::size_t size() const;
    /// Returns for each branch the number of combinations of it and all branches before it.
    std::vector<std::size_t> branch_ends() const;
    Request at(std::size_t row, const std::vector<std::size_t>& branch_ends) const;
  };

  /// Appends the combinations of a product; `choose` is applied to each of their requests, last.
  void add(std::shared_ptr<const Product> product, Choice choose);

  /// Keeps only these rows, in this order.
  void keep(std::span<const std::size_t> rows);

  std::size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  Request operator[](std::size_t row) const;

  class Iterator {
   public:
    Iterator(const Requests& of, std::size_t row) : of_(&of), row_(row) {}
    Request operator*() const { return (*of_)[row_]; }
    Iterator& operator++() { return ++row_, *this; }
    bool operator!=(const Iterator& other) const { return row_ != other.row_; }

   private:
    const Requests* of_;
    std::size_t row_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  struct Part {
    std::shared_ptr<const Product> product;
    Choice choose;
    std::size_t first;  // number of its first row
    std::vector<std::size_t> branch_ends;
  };
  std::vector<Part> parts_;
  std::vector<std::uint32_t> rows_;  // their numbers among all rows added
  std::size_t added_ = 0;
};

}  // namespace allreplay
