// A shared immutable value: copying the handle does not copy the value.
#pragma once

#include <memory>
#include <utility>

namespace allreplay {

template <class Value>
class Shared {
 public:
  Shared() : Shared(Value()) {}
  Shared(Value value) : value_(std::make_shared<const Value>(std::move(value))) {}
  Shared(std::shared_ptr<const Value> value) : value_(std::move(value)) {}
  operator const Value&() const { return *value_; }

  const Value& operator*() const { return *value_; }
  const Value* operator->() const { return value_.get(); }

  /// Copies the value, so that only this handle holds it, and returns the copy to be changed.
  Value& own() {
    auto copy = std::make_shared<Value>(*value_);
    value_ = copy;
    return *copy;
  }

 private:
  std::shared_ptr<const Value> value_;  // never null, unless moved from
};

}  // namespace allreplay
