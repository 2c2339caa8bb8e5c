#include "tests/fuzz/mutator.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

using namespace allreplay;
using Value = nlohmann::ordered_json;

namespace {

constexpr std::size_t most_words = 5000;

// Values that break readers: the ends of ranges, near-numbers, unknown units, names that lead elsewhere.
const std::vector<std::string> awkward_values = {"0",
                                                 "-0.0",
                                                 "1",
                                                 "-1",
                                                 "2",
                                                 "0.5",
                                                 "1e-310",
                                                 "1e308",
                                                 "1e400",
                                                 "1e18",
                                                 "2147483648",
                                                 "4294967296",
                                                 "16777216",
                                                 "16777217",
                                                 "9223372036854775807",
                                                 "true",
                                                 "false",
                                                 "null",
                                                 "[]",
                                                 "{}",
                                                 "[[]]",
                                                 "\"\"",
                                                 "\"0 us\"",
                                                 "\"1 ps\"",
                                                 "\"1e9 s\"",
                                                 "\"-1 us\"",
                                                 "\"1 B\"",
                                                 "\"1e30 GB\"",
                                                 "\"0 Gbit/s\"",
                                                 "\"1 ns/B\"",
                                                 "\"nan\"",
                                                 "\"1 us \"",
                                                 "\"\\u0000\"",
                                                 "\"a\\nb\"",
                                                 "\"=1\"",
                                                 "\"../x\"",
                                                 "\"everything\"",
                                                 "\"start\"",
                                                 "\"no-such\"",
                                                 "{\"transfer\": 0}",
                                                 "{\"backward\": 0}",
                                                 "{\"each\": \"{}\", \"from\": 1, \"to\": 3}"};
const std::vector<std::string> awkward_words = {
    "0",       "-1",  "1e400", "nan", "inf", "1e-310", "99999999999999999999",
    "",        "\"",  "\"\"",  "=1",  "#",   "x",      "1.5",
    "0x10",    "1 B", "1 us",  "\t",  ",",   "::",     "2",
    "16777216"};

void collect(const Value& value, std::set<std::string>& keys, std::set<std::string>& values) {
  if (values.size() < most_words) values.insert(value.dump(-1, ' ', false, Value::error_handler_t::replace));
  if (value.is_object())
    for (const auto& [key, item] : value.items()) {
      keys.insert(key);
      collect(item, keys, values);
    }
  else if (value.is_array())
    for (const Value& item : value) collect(item, keys, values);
}

void list_places(Value& value, std::vector<Value*>& places) {
  places.push_back(&value);
  if (value.is_structured())
    for (Value& item : value) list_places(item, places);
}

bool divides(char c) { return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == ':' || c == '='; }

}  // namespace

Mutator::Mutator(const std::vector<std::string>& seeds, Random& random) : random_(random) {
  std::set<std::string> keys, values, words;
  for (const std::string& seed : seeds) {
    longest_ = std::max(longest_, seed.size() + seed.size() / 2);
    const Value value = Value::parse(seed, nullptr, false);
    if (!value.is_discarded()) collect(value, keys, values);
    std::string word;
    for (const char c : seed + " ")
      if (!divides(c))
        word += c;
      else if (words.size() < most_words)
        words.insert(std::exchange(word, ""));
  }
  keys_.assign(keys.begin(), keys.end());
  values_.assign(values.begin(), values.end());
  words_.assign(words.begin(), words.end());
  keys_.emplace_back("no-such-key");
  values_.insert(values_.end(), awkward_values.begin(), awkward_values.end());
  words_.insert(words_.end(), awkward_words.begin(), awkward_words.end());
}

const std::string& Mutator::one_of(const std::vector<std::string>& all) { return all[random_.below(all.size())]; }

std::string Mutator::operator()(std::string text) {
  const int times = 1 + static_cast<int>(random_.below(4));
  const bool json = text.find_first_of("{[") != std::string::npos && Value::accept(text);
  if (json && random_.below(16) > 0) return changed_json(text, times);
  for (int i = 0; i < times; ++i) text = json || random_.below(4) == 0 ? changed_bytes(text) : changed_lines(text);
  if (text.size() > longest_) text.resize(longest_);
  return text;
}

std::string Mutator::changed_json(const std::string& text, int times) {
  Value root = Value::parse(text, nullptr, false);
  std::vector<Value*> places;
  for (int i = 0; i < times; ++i) {
    places.clear();
    list_places(root, places);
    Value& place = *places[random_.below(places.size())];
    const auto fresh = [&] {
      return Value::parse(one_of(random_.below(2) == 0 ? values_ : awkward_values), nullptr, false);
    };
    switch (random_.below(8)) {
      case 0:  // another of the same text
        if (const Value other = *places[random_.below(places.size())]; &place != &root || other.is_structured())
          place = other;
        break;
      case 1:
        if (place.is_object())
          place[one_of(keys_)] = fresh();
        else if (place.is_array())
          place.insert(place.begin() + static_cast<std::ptrdiff_t>(random_.below(place.size() + 1)), fresh());
        break;
      case 2:
        if (place.is_structured() && !place.empty()) {
          auto gone = place.begin();
          std::advance(gone, static_cast<std::ptrdiff_t>(random_.below(place.size())));
          place.erase(gone);
        }
        break;
      case 3:  // elements: one twice, or two in each other's place
        if (place.is_array() && !place.empty()) {
          const std::size_t a = random_.below(place.size()), b = random_.below(place.size());
          if (random_.below(2) == 0)
            place.push_back(Value(place[a]));
          else
            std::swap(place[a], place[b]);
        }
        break;
      case 4:
        if (place.is_number_integer()) {
          place = place.get<std::int64_t>() / 2 + static_cast<std::int64_t>(random_.below(3));
          break;
        }
        if (place.is_number()) {
          place = place.get<double>() * (random_.below(2) == 0 ? -1 : 1e6);
          break;
        }
        if (place.is_string()) {
          place = changed_bytes(place.get<std::string>());
          break;
        }
        [[fallthrough]];
      default:
        place = fresh();
    }
    if (root.is_discarded()) root = nullptr;
  }
  std::string changed = root.dump(-1, ' ', false, Value::error_handler_t::replace);
  return changed.size() > longest_ ? text : changed;
}

std::string Mutator::changed_lines(std::string text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  const std::size_t at = random_.below(lines.size()), other = random_.below(lines.size());
  switch (random_.below(6)) {
    case 0:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::string(lines[other]));
      break;
    case 2:
      std::swap(lines[at], lines[other]);
      break;
    default: {  // a word
      std::string& line = lines[at];
      std::size_t begin = line.empty() ? 0 : random_.below(line.size()), end = begin;
      while (begin > 0 && !divides(line[begin - 1])) --begin;
      while (end < line.size() && !divides(line[end])) ++end;
      line.replace(begin, end - begin, one_of(words_));
    }
  }
  text.clear();
  for (const std::string& line : lines) text += line;
  return text;
}

std::string Mutator::changed_bytes(std::string text) {
  if (text.empty()) return one_of(words_);
  const std::size_t at = random_.below(text.size()),
                    length = random_.below(std::min<std::size_t>(text.size() - at, 40) + 1);
  switch (random_.below(4)) {
    case 0:
      text[at] = static_cast<char>(random_.below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(random_.below(text.size()), text.substr(at, length));
      break;
    default:
      text[at] = "0123456789-.eE[]{}(),;:\"\n\t"[random_.below(26)];
  }
  return text;
}
