#include "sim/base/core/json_value.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace allreplay {

namespace {

using Library = nlohmann::json;  // as in json.cpp: another basic_json would be compiled in addition

using Items = std::vector<JsonValue>;
using Members = std::vector<std::pair<std::string, JsonValue>>;

// The library writes floating-point numbers and strings that need escapes.
std::string by_library(const Library& value) { return value.dump(-1, ' ', false, Library::error_handler_t::replace); }

void write_text(std::string& out, const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain))
    out.append(1, '"').append(text).append(1, '"');
  else
    out += by_library(text);
}

template <class Number>
void write_whole(std::string& out, Number number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Builds a JsonValue from the parser's events; members keep the order of the text.
class Builder : public nlohmann::json_sax<Library> {
 public:
  JsonValue root;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // does not occur in JSON text
  bool start_object(std::size_t) override { return open(JsonValue::object()); }
  bool start_array(std::size_t) override { return open(JsonValue::array()); }
  bool key(string_t& name) override { return key_ = std::move(name), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    throw std::logic_error(error.what());
  }

 private:
  JsonValue& place() {
    if (open_.empty()) return root;
    JsonValue& parent = *open_.back();
    if (!parent.is_array()) return parent[key_];
    parent.push_back(nullptr);
    return parent.back();
  }
  bool add(JsonValue value) { return place() = std::move(value), true; }
  bool open(JsonValue value) {
    JsonValue& here = place();
    here = std::move(value);
    open_.push_back(&here);  // stays valid: its parent gets no other value before this one ends
    return true;
  }

  std::vector<JsonValue*> open_;
  std::string key_;
};

}  // namespace

struct JsonValue::State {
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, Items, Members> value;
};

JsonValue JsonValue::array() { return JsonValue(State{Items()}); }
JsonValue JsonValue::object() { return JsonValue(State{Members()}); }
JsonValue JsonValue::parse(std::string_view text) {
  Builder builder;
  Library::sax_parse(text, &builder);
  return std::move(builder.root);
}

JsonValue::JsonValue(State state) : state_(std::make_unique<State>(std::move(state))) {}
JsonValue::JsonValue(std::nullptr_t) {}
JsonValue::JsonValue(double number) : JsonValue(State{number}) {}
JsonValue::JsonValue(std::string text) : JsonValue(State{std::move(text)}) {}
JsonValue::JsonValue(std::string_view text) : JsonValue(std::string(text)) {}
JsonValue::JsonValue(const char* text) : JsonValue(std::string(text)) {}

JsonValue::JsonValue(std::initializer_list<JsonValue> list) {
  const auto names_a_member = [](const JsonValue& one) {
    const auto* pair = one.state_ ? std::get_if<Items>(&one.state_->value) : nullptr;
    return pair && pair->size() == 2 && (*pair)[0].state_ &&
           std::holds_alternative<std::string>((*pair)[0].state_->value);
  };
  if (std::all_of(list.begin(), list.end(), names_a_member)) {
    *this = object();
    for (const JsonValue& one : list) {
      auto& pair = std::get<Items>(one.state_->value);
      (*this)[std::get<std::string>(pair[0].state_->value)] = std::move(pair[1]);
    }
  } else {
    *this = array();
    for (const JsonValue& one : list) {
      push_back(nullptr);
      back().state_ = std::move(one.state_);
    }
  }
}

JsonValue::JsonValue(const JsonValue& other)
    : state_(other.state_ ? std::make_unique<State>(*other.state_) : nullptr) {}
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(JsonValue other) noexcept {
  state_ = std::move(other.state_);
  return *this;
}
JsonValue::~JsonValue() = default;

void JsonValue::set(bool value) { *this = JsonValue(State{value}); }
void JsonValue::set(std::int64_t value) { *this = JsonValue(State{value}); }
void JsonValue::set(std::uint64_t value) { *this = JsonValue(State{value}); }

bool JsonValue::is_array() const { return state_ && std::holds_alternative<Items>(state_->value); }

JsonValue& JsonValue::operator[](std::string_view name) {
  if (!state_) *this = object();
  auto& members = std::get<Members>(state_->value);
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.first == name; });
  return found != members.end() ? found->second : members.emplace_back(name, nullptr).second;
}

JsonValue& JsonValue::operator[](std::size_t index) { return std::get<Items>(state_->value).at(index); }
JsonValue& JsonValue::back() { return std::get<Items>(state_->value).back(); }

void JsonValue::push_back(JsonValue item) {
  if (!state_) *this = array();
  std::get<Items>(state_->value).push_back(std::move(item));
}

void JsonValue::update(const JsonValue& object) {
  for (const auto& [name, value] : std::get<Members>(object.state_->value)) (*this)[name] = value;
}

const std::vector<JsonValue>& JsonValue::items() const { return std::get<Items>(state_->value); }

bool JsonValue::contains(std::string_view name) const {
  const auto& members = std::get<Members>(state_->value);
  return std::any_of(members.begin(), members.end(), [&](const auto& one) { return one.first == name; });
}

const JsonValue& JsonValue::at(std::string_view name) const {
  for (const auto& [key, value] : std::get<Members>(state_->value))
    if (key == name) return value;
  throw std::logic_error("no member " + std::string(name));
}

double JsonValue::number() const {
  if (const auto* whole = std::get_if<std::int64_t>(&state_->value)) return static_cast<double>(*whole);
  if (const auto* whole = std::get_if<std::uint64_t>(&state_->value)) return static_cast<double>(*whole);
  return std::get<double>(state_->value);
}

const std::string& JsonValue::text() const { return std::get<std::string>(state_->value); }

class JsonValue::Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const JsonValue& value) {
    if (value.state_)
      std::visit(*this, value.state_->value);
    else
      text_ += "null";
  }
  std::string text() { return std::move(text_); }

  void operator()(bool value) { text_ += value ? "true" : "false"; }
  void operator()(std::int64_t value) { write_whole(text_, value); }
  void operator()(std::uint64_t value) { write_whole(text_, value); }
  void operator()(double value) { text_ += by_library(value); }
  void operator()(const std::string& value) { write_text(text_, value); }
  void operator()(const Items& items) {
    write_list('[', ']', items, [&](const JsonValue& item) { write(item); });
  }
  void operator()(const Members& members) {
    write_list('{', '}', members, [&](const auto& member) {
      write_text(text_, member.first);
      text_ += indent_ >= 0 ? ": " : ":";
      write(member.second);
    });
  }

 private:
  template <class List, class WriteOne>
  void write_list(char open, char close, const List& list, WriteOne write_one) {
    text_ += open;
    depth_ += 1;
    for (const auto& one : list) {
      if (&one != &list.front()) text_ += ',';
      end_line();
      write_one(one);
    }
    depth_ -= 1;
    if (!list.empty()) end_line();
    text_ += close;
  }

  void end_line() {
    if (indent_ >= 0) text_.append(1, '\n').append(depth_ * static_cast<std::size_t>(indent_), ' ');
  }

  int indent_;
  std::size_t depth_ = 0;
  std::string text_;
};

std::string JsonValue::dump(int indent) const {
  Writer writer(indent);
  writer.write(*this);
  return writer.text();
}

bool is_json(std::string_view text) { return Library::accept(text); }

}  // namespace allreplay
