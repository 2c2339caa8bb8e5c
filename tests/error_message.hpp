// The message of the InputError that an expression throws, or "" if it throws none.
#pragma once

#include <string>

#include "sim/core/error.hpp"

template <class Action>
std::string error_message(const Action& action) {
  try {
    action();
  } catch (const allreplay::InputError& error) {
    return error.what();
  }
  return "";
}
