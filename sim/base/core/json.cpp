#include "sim/base/core/json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/base/core/file.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

using Value = nlohmann::json;

struct Json::Document {
  std::string file;
  Value root;
};

namespace {

const Value& value_of(const void* value) { return *static_cast<const Value*>(value); }

// True for text without control characters other than tabs and line ends: descriptions may have several lines.
bool is_text(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return is_one_line(text);
}

constexpr std::size_t most_levels = 100;         // printing a deeper value could overflow the stack
constexpr std::size_t most_values = 10'000'000;  // an empty object takes three bytes of a file, and 150 of memory

// Extracts "parse error …" from nlohmann's longer message.
std::string reason(std::string_view message) {
  const auto start = message.find("parse error");
  return std::string(start == std::string_view::npos ? message : message.substr(start));
}

// Builds the document and rejects duplicate keys, of which nlohmann/json would keep the last. (A SAX handler, since
// nlohmann's parser with a callback searches the whole array after each object in it.)
class DocumentBuilder : public nlohmann::json_sax<Value> {
 public:
  DocumentBuilder(const std::string& file, Value& root) : file_(file), root_(root) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }  // never in text
  bool start_object(std::size_t) override { return open(Value::object()); }
  bool start_array(std::size_t) override { return open(Value::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!is_text(name)) fail(fmt::format("the key '{}' is not text", name), "no control characters");
    const auto [member, fresh] = open_.back()->get_ref<Value::object_t&>().emplace(name, nullptr);
    if (!fresh) fail(fmt::format("the key '{}' appears twice in one object", name), "each key once");
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const Value::out_of_range*>(&error))
      fail(fmt::format("a number is out of range: {}", error.what()), "a double holds up to 1.8e308");
    fail("not valid JSON: " + reason(error.what()), "see docs/formats.md");
  }

 private:
  [[noreturn]] void fail(std::string_view wrong, std::string_view right) const {
    throw InputError({file_, ""}, wrong, right);
  }

  // Stores the next value in the object or array that is being read, and returns its address.
  Value* place(Value value) {
    if (++values_ > most_values) fail(fmt::format("has more than {} values", most_values), "a smaller file");
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) return &open_.back()->get_ref<Value::array_t&>().emplace_back(std::move(value));
    *member_ = std::move(value);
    return member_;
  }

  bool put(Value value) {
    place(std::move(value));
    return true;
  }

  bool open(Value empty) {
    if (open_.size() == most_levels)
      fail(fmt::format("nests more than {} levels deep", most_levels), "see docs/formats.md");
    open_.push_back(place(std::move(empty)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  Value& root_;
  std::vector<Value*> open_;  // the objects and arrays that are being read, outermost first
  std::size_t values_ = 0;
  Value* member_ = nullptr;  // the member of the innermost object whose key was read last
};

}  // namespace

Json::Json(std::shared_ptr<const Document> document, const void* value, std::string path)
    : document_(std::move(document)), value_(value), path_(std::move(path)) {}

Json Json::read(const Files& files, const std::string& file) { return parse(files.read(file), file); }

Json Json::parse(std::string_view text, const std::string& file) {
  auto document = std::make_unique<Document>();
  document->file = file;
  DocumentBuilder builder(file, document->root);
  try {
    Value::sax_parse(text, &builder);
  } catch (const std::bad_alloc&) {
    static_cast<void>(document.release());  // nlohmann's destructor needs memory, too, and would end the program
    throw;
  }
  const Value* root = &document->root;
  return {std::move(document), root, ""};
}

Json Json::child(const void* value, std::string_view key) const { return {document_, value, member_path(path_, key)}; }

SourceLocation Json::place() const { return {document_->file, path_}; }

void Json::fail(std::string_view wrong, std::string_view right) const { throw InputError(place(), wrong, right); }

std::string Json::kind() const {
  const std::string name = value_of(value_).type_name();
  return name == "null" ? name : (name == "array" || name == "object" ? "an " : "a ") + name;
}

bool Json::is_object() const { return value_of(value_).is_object(); }
bool Json::is_array() const { return value_of(value_).is_array(); }
bool Json::is_string() const { return value_of(value_).is_string(); }
bool Json::is_number() const { return value_of(value_).is_number(); }

Json Json::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  fail(fmt::format("the key '{}' is missing", key), fmt::format("add \"{}\"; see docs/formats.md", key));
}

std::optional<Json> Json::find(std::string_view key) const {
  if (!is_object()) fail(fmt::format("is {}", kind()), "should be an object {...}");
  const Value& object = value_of(value_);
  const auto found = object.find(std::string(key));
  if (found == object.end()) return std::nullopt;
  return child(&*found, key);
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  if (!is_object()) fail(fmt::format("is {}", kind()), "should be an object {...}");
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& [key, value] : value_of(value_).get_ref<const Value::object_t&>())
    all.emplace_back(key, child(&value, key));
  return all;
}

void Json::allow_only(std::span<const std::string_view> keys) const {
  if (!is_object()) fail(fmt::format("is {}", kind()), "should be an object {...}");
  for (const auto& [key, value] : value_of(value_).get_ref<const Value::object_t&>()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    child(&value, key).fail(fmt::format("unknown key '{}'", key), suggest(key, known));
  }
}

std::vector<Json> Json::items() const {
  if (!is_array()) fail(fmt::format("is {}", kind()), "should be an array [...]");
  std::vector<Json> all;
  all.reserve(value_of(value_).size());
  std::size_t index = 0;
  for (const Value& value : value_of(value_)) all.push_back(child(&value, std::to_string(index++)));
  return all;
}

std::string Json::text() const {
  if (!is_string()) fail(fmt::format("is {}", kind()), "should be a string");
  const auto& text = value_of(value_).get_ref<const std::string&>();
  if (!is_text(text)) fail("is not text", "no control characters");
  return text;
}

double Json::number() const {
  if (!is_number()) fail(fmt::format("is {}", kind()), "should be a number");
  const double number = value_of(value_).get<double>();
  if (!std::isfinite(number)) fail("is not finite", "a finite number");
  return number;
}

std::optional<std::int64_t> Json::whole() const {
  const Value& value = value_of(value_);
  if (value.is_number_float()) {
    constexpr double most = 1LL << std::numeric_limits<double>::digits;  // above it doubles skip whole numbers
    const double number = value.get<double>();
    if (std::abs(number) > most || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  const bool fits =
      value.is_number_unsigned() ? std::in_range<std::int64_t>(value.get<std::uint64_t>()) : value.is_number_integer();
  return fits ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::int64_t Json::integer(std::int64_t least, std::int64_t most) const {
  const double about = number();
  const auto value = whole();
  if (value && *value >= least && *value <= most) return *value;
  if (!value && about == std::floor(about) && about > static_cast<double>(least) && about < static_cast<double>(most))
    fail(fmt::format("{} is too imprecise to be one whole number", dump()),
         "all of its digits, without decimal point or exponent");
  fail(fmt::format("{} is not a whole number from {} to {}", dump(), least, most), fmt::format("such as {}", least));
}

bool Json::boolean() const {
  if (!value_of(value_).is_boolean()) fail(fmt::format("is {}", kind()), "should be true or false");
  return value_of(value_).get<bool>();
}

namespace {

std::string quantity(const Json& json, std::string_view example) {
  if (!json.is_string())
    json.fail(fmt::format("{} has no unit", json.dump()), fmt::format("a string such as \"{}\"", example));
  return json.text();
}

}  // namespace

double Json::duration() const { return parse_duration(quantity(*this, "45 us"), place()); }
Bytes Json::size() const { return parse_size(quantity(*this, "4 MiB"), place()); }
double Json::rate() const { return parse_rate(quantity(*this, "10 Gbit/s"), place()); }
double Json::per_byte() const { return parse_per_byte(quantity(*this, "1.97 ns/B"), place()); }

std::string Json::dump() const { return value_of(value_).dump(-1, ' ', false, Value::error_handler_t::replace); }

}  // namespace allreplay
