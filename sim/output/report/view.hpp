// Reports as data. A view says what a screen shows and where in the command's JSON each value stands; one renderer
// turns view and JSON into text.
//
// Texts have holes. "{iteration_s}" is the value of that key, written in the unit that the key's ending names (_s:
// time, bytes: size, bytes_per_s and GBps: rate, _per_byte, efficiency, mfu and share: percent, gain: signed percent);
// "{events:2}" has two decimals, "{update_s:nonzero}" counts as missing if it is 0, "{value:unit}" has the unit that
// its item's key "unit" names ("s" or "s/B"), "{from:exact}" is a size that a user chose, "{ci95_s:like iteration_s}"
// has the unit of that other value, and "{key:format}" any other
// format of format_of() in view.cpp. A key may be a path, "memory/peak", "rows/0/name". In a table or a list it is
// looked up in the item first and then in the document; with a leading "/" in the document only. A text with a hole
// whose value is missing or null is left out; a part of it in square brackets is left out separately: "{strategy}[ +
// {codec}]". A condition is a list of keys, "fits !tied what=stage": each has a value that is neither null, false, 0
// nor empty, or that is equal to the given one; "!" negates.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/core/json_value.hpp"
#include "sim/base/core/screen.hpp"
#include "sim/output/report/table.hpp"

namespace allreplay {

/// A sentence names at most this many items of a list.
inline constexpr std::size_t most_listed = 4;

/// A sentence, wrapped to the screen.
struct ViewText {
  std::string text;
  std::string when = {};
};

/// Lines of code, or a command, indented so that they can be pasted.
struct ViewCode {
  std::string text;
  bool is_command = false;
};

/// Names with a value each, aligned. A line whose value is left out is not shown.
struct ViewFacts {
  std::vector<std::pair<std::string, std::string>> lines;
};

struct ViewColumn {
  std::string title;      ///< may have holes, looked up in the document
  std::string cell;       ///< a single hole becomes a number aligned in its column; anything else is text
  std::string like = {};  ///< title of the column whose unit and decimals this one shares
  std::string sign = {};  ///< "! !fits|* tight": the first sign whose condition holds follows the cell
  bool is_command = false;
  bool is_finer = false;  ///< shares only the unit (TableColumn)
};

/// A table with a row for each item of an array. Columns without any value are not shown.
struct ViewTable {
  std::string rows;  ///< keys of arrays, or of single objects, that follow each other: "base rows"
  std::vector<ViewColumn> columns;
  std::size_t keys = 1;   ///< this many first columns name the row
  std::string when = {};  ///< condition: the row is shown
};

/// One sentence for each item of an array; at most `most`, then "and N more".
struct ViewList {
  std::string items;
  std::string text;
  std::string when = {};
  std::size_t most = 3;
};

/// The notes of the array "notes", a sentence each (notes.hpp).
struct ViewNotes {};

struct View;

/// A view for each item of an array, with a blank line between two.
struct ViewEach {
  std::string items;
  const View* view;
};

/// Parts, one of which may be another view, follow each other. Facts, tables and notes stand between blank lines.
struct View {
  std::vector<std::variant<ViewText, ViewCode, ViewFacts, ViewTable, ViewList, ViewNotes, ViewEach, const View*>> parts;
};

/// The array of what `make` returns for each item.
template <class Items, class Make>
JsonValue array_of(const Items& items, const Make& make) {
  auto array = JsonValue::array();
  for (const auto& one : items) array.push_back(make(one));
  return array;
}

/// The view of a document as text for a terminal. REQUIRES: a view whose formats fit its values.
std::string rendered(const View& view, const JsonValue& document, const Screen& screen = {});

/// One of its tables, for a layout that is not a screen's.
Table table_of(const ViewTable& view, const JsonValue& document);

/// The keys that a view reads.
std::set<std::string> keys_of(const View& view);

/// Returns the keys that no sample has. For tests, which need at least one sample with each key.
std::vector<std::string> unresolved(const View& view, const std::vector<JsonValue>& samples);

}  // namespace allreplay
