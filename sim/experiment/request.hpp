// What a user asked for, by name, and the scenario that it means.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/experiment/changes.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// One option as given: its name, its text, and where it was given.
struct OptionText {
  std::string name;
  std::string value;
  Place place;
};

struct Request {
  std::string profile;  ///< a path, or a name in traces/
  std::optional<double> forward_ratio;
  std::string cluster;  ///< a path, or a name in topologies/
  std::optional<std::int64_t> workers;
  std::string collective;  ///< "": the cluster's
  std::string fidelity;    ///< "": the cluster's
  std::string codec;       ///< a method, a file, or a name in models/codecs/; "" or "none": gradients as they are
  std::string strategy;
  std::string plan;  ///< a file, in the place of a strategy; "": none
  std::vector<OptionText> options;
  std::vector<ChangeText> changes;  ///< of the cluster and the profile, before they are used
  bool reuse = true;                ///< of the price of a collective that runs alone (detailed fidelities)
  // Where complaints about the names above point.
  Place place_of_profile, place_of_ratio, place_of_workers, place_of_strategy, place_of_collective, place_of_fidelity,
      place_of_codec;
};

/// A file named in `file`: relative to that file's own folder where it is there, else as it stands.
std::string beside(const std::string& file, const std::string& name);

/// Reads each file once, however many scenarios use it. Not safe for use by several threads.
class Library {
 public:
  /// Throws InputError for anything that is wrong with the request or its files.
  Scenario resolve(const Request& request);

  /// The same without profile and strategy, which the request need not name.
  Scenario resolve_network(const Request& request);

  /// The request's profile, changed as it says; the rest need not be named. Throws InputError.
  Profile profile(const Request& request);

  /// What tells whether the request would have the same result: the contents of all files that it names, its own words,
  /// and this program. resolve() comes first.
  std::uint64_t digest_of(const Request& request) const;

  /// The cluster in that file, with the file's number of workers. Throws InputError.
  const Cluster& cluster_named(const std::string& name);

 private:
  struct ClusterFile;
  const ClusterFile& cluster(const std::string& name);
  const Profile& read(const Request& request);
  const CodecCosts& codec(const Request& request, const std::string& device);
  static std::string codec_file(const Request& request, const std::string& device);

  std::map<std::pair<std::string, std::optional<double>>, Profile> profiles_;
  std::map<std::string, std::shared_ptr<const ClusterFile>> clusters_;
  std::map<std::string, CodecCosts> codecs_;  // by file
  // Of the contents of the files behind each of these.
  std::map<std::pair<std::string, std::optional<double>>, std::uint64_t> profile_digests_;
  std::map<std::string, std::uint64_t> cluster_digests_, codec_digests_;
};

}  // namespace allreplay
