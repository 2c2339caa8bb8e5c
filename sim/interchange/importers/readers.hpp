// The importers' functions, for the table in importer.cpp: is_X() recognises a format, read_X() reads it.
#pragma once

#include "sim/interchange/importers/importer.hpp"

namespace allreplay {

bool is_kineto(std::string_view file, std::string_view head);
Imported read_kineto(ByteSource& source, const ImportOptions& options);

bool is_pipedream(std::string_view file, std::string_view head);
Imported read_pipedream(ByteSource& source, const ImportOptions& options);

bool is_csv(std::string_view file, std::string_view head);
Imported read_csv(ByteSource& source, const ImportOptions& options);

bool is_astra_sim(std::string_view file, std::string_view head);
Imported read_astra_sim(ByteSource& source, const ImportOptions& options);

bool is_chakra(std::string_view file, std::string_view head);
Imported read_chakra(ByteSource& source, const ImportOptions& options);

bool is_chakra_json(std::string_view file, std::string_view head);
Imported read_chakra_json(ByteSource& source, const ImportOptions& options);

bool is_caffe_time(std::string_view file, std::string_view head);
Imported read_caffe_time(ByteSource& source, const ImportOptions& options);

bool is_bcaffe(std::string_view file, std::string_view head);
Imported read_bcaffe(ByteSource& source, const ImportOptions& options);

bool is_dnn_partitioning(std::string_view file, std::string_view head);
Imported read_dnn_partitioning(ByteSource& source, const ImportOptions& options);

}  // namespace allreplay
