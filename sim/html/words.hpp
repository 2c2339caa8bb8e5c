// Words that the sentences of a page share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allreplay {

std::string ratio_text(double ratio);                                      ///< "12.5 %"
std::string in_words(std::size_t count);                                   ///< "three"; from 13 on digits
std::string workers_text(std::int64_t workers);                            ///< "1 worker", "8 workers"
std::string workers_text(std::int64_t least, std::int64_t most);           ///< "8 workers", "4 to 8 workers"
std::string listed(std::vector<std::string> names, std::size_t most = 5);  ///< "a, b and c", or "a, b and 4 more"

}  // namespace allreplay
