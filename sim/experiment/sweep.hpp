// Sweeps: every combination of a configuration file, a row each. Files: configs/*.json.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/json.hpp"
#include "sim/experiment/request.hpp"
#include "sim/experiment/row.hpp"
#include "sim/farm/farm.hpp"

namespace allreplay {

/// The requests of a sweep's rows: lists of choices, and a request only where one is asked for. A hundred thousand at
/// once would take more memory than anything that is simulated.
class Requests {
 public:
  using Choice = std::function<void(Request& request)>;

  /// A choice, and with it every combination of values of its own, the last list's fastest.
  struct Branch {
    Choice choose;
    std::vector<std::vector<OptionText>> options;  ///< a list of values for each

    std::size_t size() const;
  };

  /// Every combination of the choices and branches, the branches fastest, then the last list of choices.
  struct Product {
    std::vector<std::vector<Choice>> lists;
    std::vector<Branch> branches;

    std::size_t size() const;
    Request at(std::size_t row) const;
  };

  void add(std::shared_ptr<const Product> product, Choice choose);

  /// Only those rows, in this order.
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
    std::size_t first;  // the number of its first row
  };
  std::vector<Part> parts_;
  std::vector<std::uint32_t> rows_;  // their numbers among all that were added
  std::size_t added_ = 0;
};

struct Sweep {
  std::string name;
  std::string reproduces;  ///< the figure or table that it regenerates; may be empty
  Requests requests;
};

/// What the command line says instead of the file's lists; "" where it says nothing.
struct SweepOverrides {
  std::string collective;
  std::string fidelity;
  std::string codec;
  Place place_of_collective, place_of_fidelity, place_of_codec;
  bool reuse = true;                  ///< see Request::reuse
  std::vector<ChangeText> changes{};  ///< of every row's profile and cluster
};

/// Reads and expands a sweep file: the values of an option vary fastest, then strategies, codecs, fidelities,
/// collectives, workers, clusters and profiles. A cluster's entry may have lists of its own instead of the sweep's.
/// Paths stand relative to the file, or to the working directory. Throws InputError.
Sweep read_sweep(const std::string& name, const SweepOverrides& instead = {});

/// The same of a file's contents.
Sweep read_sweep(const Json& json, const SweepOverrides& instead = {});

/// A share of a sweep's rows: number `index`, from 0, of `count`.
struct Share {
  std::size_t index = 0, count = 1;
};

/// A row that was simulated.
struct SweptRow {
  Row row;
  std::string warning;  ///< Result::warning
};

struct SweepRun {
  int jobs = 1;
  std::optional<std::string> out;  ///< a CSV file that gets each row as it is finished
  bool resume = false;             ///< keep the rows of an existing `out` that were made from the same inputs
  bool progress = true;
  bool force = false;                                   ///< replace an `out` that no sweep wrote
  std::function<void(const std::string& text)> note{};  ///< what a user should know, such as rows that are not kept
  Share share{};
  /// Called with each row that was simulated, in any order, and its place among those: what nobody keeps is forgotten.
  std::function<void(std::size_t place, const SweptRow& row)> each{};
  Farm* farm = nullptr;  ///< whose other processes simulate the rows (answer_rows()), where there are any

  bool has_workers() const { return farm && farm->workers() > 0; }
};

struct Swept {
  std::size_t simulated = 0;
  std::size_t rows = 0;  ///< how many the share has
};

/// Simulates the rows of the share, `jobs` at a time; the rows of the file are in the order of the sweep, whatever
/// `jobs` and `farm` are. Everything is checked before anything is written. Rows that `resume` finds done are not
/// simulated. Throws InputError.
Swept run_sweep(const Sweep& sweep, const SweepRun& how);

/// What the other processes of a farm do for run_sweep().
Farm::Answer answer_rows(Sweep sweep);

/// Puts parts together that shares of the sweep have written. Returns the numbers of the rows, from 0, that are in none
/// of them. Throws InputError when a part is of another sweep or was made from other inputs, or two parts overlap.
std::vector<std::size_t> merge_sweep(const Sweep& sweep, const std::vector<std::string>& parts, const std::string& out,
                                     bool force);

/// "3 of 40 rows are missing: 4, 17-18", as users count them.
std::string missing_rows(const std::vector<std::size_t>& missing, std::size_t rows);

}  // namespace allreplay
