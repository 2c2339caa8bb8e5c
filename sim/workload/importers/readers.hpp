// The importers' functions, for the table in importer.cpp: is_X() recognises a format, read_X() reads it.
#pragma once

#include "sim/workload/importers/importer.hpp"

namespace allreplay {

bool is_kineto(std::string_view file, std::string_view head);
Imported read_kineto(ByteSource& source, const ImportOptions& options);

bool is_pipedream(std::string_view file, std::string_view head);
Imported read_pipedream(ByteSource& source, const ImportOptions& options);

bool is_csv(std::string_view file, std::string_view head);
Imported read_csv(ByteSource& source, const ImportOptions& options);

}  // namespace allreplay
