// What a user asked for, by name, and the scenario that it means.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.hpp"
#include "sim/core/file.hpp"
#include "sim/estimate/device.hpp"
#include "sim/experiment/changes.hpp"
#include "sim/training/simulate.hpp"

namespace allreplay {

/// One option as given: its name, its text, and where it was given.
struct OptionText {
  std::string name;
  std::string value;
  SourceLocation place;
};

struct Request {
  std::string profile;  ///< a path, or a name in traces/
  std::optional<double> forward_ratio;
  std::string cluster;                    ///< a path, or a name in topologies/; or, where it is empty,
  std::vector<ChangeText> cluster_words;  ///< what it is (cluster_words.hpp)
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
  SourceLocation place_of_profile, place_of_ratio, place_of_workers, place_of_strategy, place_of_collective,
      place_of_fidelity, place_of_codec;
};

/// Sets one option in the place of what was given for it, or takes it back where `value` is empty.
void set_option(Request& request, const std::string& name, const std::string& value);

/// The words after `allreplay run` that mean the request.
std::vector<std::string> run_flags(const Request& request);

/// A file named in `file`: relative to that file's own folder where it is there, else as it stands.
std::string beside(const Files& files, const std::string& file, const std::string& name);

class KeptInputs;

/// What the names of a request mean. Without more: the files of the system, and the strategies of the table.
struct Inputs {
  Files files{};
  std::shared_ptr<const AddedStrategies> strategies = nullptr;
  std::shared_ptr<KeptInputs> kept =
      nullptr;  ///< what libraries share of what they read, while its files are unchanged
};

/// Reads each file once, however many scenarios use it. Not safe for use by several threads.
class Library {
 public:
  explicit Library(Inputs inputs = {}) : inputs_(std::move(inputs)) {}

  /// Where nothing says how much memory a worker has, and the profile says what its passes keep there, it is that of
  /// the profile's device. Throws InputError for anything that is wrong with the request or its files.
  Scenario resolve(const Request& request);

  /// The same with this profile in the place of the request's, which it need not name.
  Scenario resolve(const Request& request, Shared<Profile> profile);

  /// The same without profile and strategy, which the request need not name.
  Scenario resolve_network(const Request& request);

  /// The request's profile, changed as it says; the rest need not be named. Throws InputError.
  Shared<Profile> profile(const Request& request);

  /// What tells whether the request would have the same result: the contents of all files that it names, its own words,
  /// and this program. resolve() comes first.
  std::uint64_t digest_of(const Request& request) const;

  /// From now on this cluster has that name; how many workers it has may be left out. Throws InputError.
  void add_cluster(const std::string& name, const Json& json);

  /// The cluster in that file, with the file's number of workers. Throws InputError.
  const Cluster& cluster_named(const std::string& name);

 private:
  friend class KeptInputs;
  struct ClusterFile;
  static ClusterFile cluster_in(const Json& json, bool counts);
  const ClusterFile& cluster(const std::string& name);
  const ClusterFile& cluster(const Request& request);
  const Shared<Profile>& read(const Request& request);
  std::shared_ptr<const CollectiveFile> collective_file(const std::string& file);
  std::string collective_beside(const Request& request, const std::string& name) const;
  const CodecCosts& codec(const Request& request, const std::string& device);
  const std::optional<Device>& device(const Profile& profile);
  std::string codec_file(const Request& request, const std::string& device) const;

  template <class Value>
  struct Known {
    Value value;
    std::uint64_t digest;  // of the contents of the files behind it
    Sources sources;
  };
  template <class Key, class Value>
  using Shelf = std::map<Key, std::shared_ptr<const Known<Value>>>;
  struct Shelves {
    Shelf<std::pair<std::string, std::optional<double>>, Shared<Profile>> profiles;
    Shelf<std::string, ClusterFile> clusters;                               // by name, or by the text that words mean
    Shelf<std::string, CodecCosts> codecs;                                  // by file
    Shelf<std::string, std::shared_ptr<const CollectiveFile>> collectives;  // likewise
    Shelf<std::string, std::optional<Device>> devices;                      // by what profiles call them
  };
  template <class Key, class Value, class Read>
  const Value& known(Shelf<Key, Value> Shelves::*shelf, const Key& key, const Read& read);

  Inputs inputs_;
  Shelves shelves_;
};

/// Has the scenario replay a plan in the place of a strategy's, with what it says of the step and of a pipeline. Throws
/// InputError where the scenario's options say something else. REQUIRES: the plan is for its profile and workers.
void take_plan(Scenario& scenario, const std::string& file, Plan plan);

/// What libraries have read and left for the next, a bounded number of values. For several threads.
class KeptInputs {
 private:
  friend class Library;
  std::mutex mutex_;
  Library::Shelves shelves_;
};

}  // namespace allreplay
