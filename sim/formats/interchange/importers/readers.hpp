// The importers' functions, for the table in importer.cpp: is_X() recognises a format, read_X() reads it.
#pragma once

#include "sim/formats/interchange/importers/importer.hpp"

namespace allreplay {

bool is_kineto(std::string_view file, std::string_view head);
Imported read_kineto(ByteSource& source, const ImportOptions& options);

bool is_csv(std::string_view file, std::string_view head);
Imported read_csv(ByteSource& source, const ImportOptions& options);

bool is_chakra(std::string_view file, std::string_view head);
Imported read_chakra(ByteSource& source, const ImportOptions& options);

bool is_chakra_json(std::string_view file, std::string_view head);
Imported read_chakra_json(ByteSource& source, const ImportOptions& options);

}  // namespace allreplay
