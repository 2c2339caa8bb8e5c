#include "sim/base/core/json_value.hpp"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace allreplay {

std::string json_text(const JsonValue& value, int indent) {
  return value.dump(indent, ' ', false, JsonValue::error_handler_t::replace);
}

}  // namespace allreplay
