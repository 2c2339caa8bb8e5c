// A user's request by names, and its resolution to a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/core/error.hpp"
#include "sim/base/core/file.hpp"
#include "sim/base/core/given.hpp"
#include "sim/inputs/estimate/device.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/experiment/changes.hpp"

namespace allreplay {

/// An option as given by the user.
struct OptionText {
  std::string name;
  std::string value;
  SourceLocation place;
};

struct Request {
  Given<std::string> profile;  ///< a path, or a name in traces/
  std::string model;  ///< instead of a profile: a model whose profile is estimated (estimated_profile.hpp); "": none
  std::string device, tokens;      ///< with a model: its device, and the tokens of a sample ("": the model's positions)
  bool sequence_parallel = false;  ///< with a model: tensor groups split tokens between products
  Given<std::optional<double>> forward_ratio;
  std::string cluster;                    ///< a path, or a name in topologies/; "": `cluster_words`
  std::vector<ChangeText> cluster_words;  ///< the cluster in words (cluster_words.hpp)
  Given<std::optional<std::int64_t>> workers;
  Given<std::string> collective;  ///< "": that of the cluster
  Given<std::string> fidelity;    ///< "": that of the cluster
  Given<std::string> codec;       ///< a method, a file, or a name in models/codecs/; "" or "none": no compression
  Given<std::string> strategy;
  Given<std::string> plan;  ///< a file, instead of a strategy; "": none
  std::string plan_name;    ///< the plan's name in the options of results, which distinguishes it; "": it is not there
  std::vector<OptionText> options;
  std::vector<std::uint64_t> seeds;  ///< to simulate it with; empty: those of the cluster
  std::vector<ChangeText> changes;   ///< applied to the cluster and the profile
  bool reuse = true;                 ///< reuses prices of collectives without contention (detailed fidelities)
};

/// Replaces the value of an option; removes the option if `value` is empty.
void set_option(Request& request, const std::string& name, const std::string& value);

/// Returns the arguments of `allreplay run` for the request.
std::vector<std::string> run_flags(const Request& request);

/// Returns the path of a file that `file` names: relative to the folder of `file` if it exists there, else `name`.
std::string beside(const Files& files, const std::string& file, const std::string& name);

class KeptInputs;

/// Resolves names of requests. By default: the files of the system, and the built-in strategies.
struct Inputs {
  Files files{};
  std::shared_ptr<const AddedStrategies> strategies = nullptr;
  std::shared_ptr<KeptInputs> kept = nullptr;  ///< inputs that libraries share while their files are unchanged
};

/// Resolves requests, and reads each file only once. Not thread-safe.
class Library {
 public:
  explicit Library(Inputs inputs = {});

  /// If no memory limit is given and the profile has activations, the limit is the memory of the profile's device.
  /// Throws InputError for anything that is wrong with the request or its files.
  Scenario resolve(const Request& request);

  /// resolve() with this profile instead of the request's, which need not name one or a model.
  Scenario resolve(const Request& request, Shared<Profile> profile);

  /// resolve() without profile and strategy, which the request need not name.
  Scenario resolve_network(const Request& request);

  /// Returns the request's profile with its changes; the rest need not be named. Throws InputError.
  Shared<Profile> profile(const Request& request);

  /// Returns a digest that is equal for equal results: of the contents of all files that the request names, of its
  /// texts, and of this program. REQUIRES: resolve() was called for the request.
  std::uint64_t digest_of(const Request& request) const;

  /// Adds a cluster under this name; its number of workers may be missing. Throws InputError.
  void add_cluster(const std::string& name, const Json& json);

  /// Returns the cluster of this name or file, with the file's number of workers and changes. Throws InputError.
  Cluster cluster_named(const std::string& name);

  /// Sets the stragglers of the request's cluster among the scenario's workers. Throws InputError.
  void set_stragglers(Scenario& scenario, const Request& request);

 private:
  friend class KeptInputs;
  struct ClusterFile;
  static ClusterFile cluster_in(const Json& json, bool counts);
  Shared<Profile> estimated(const Request& request, const ParallelOptions& parallel);
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
    std::uint64_t digest;  // of the contents of its files
    Sources sources;
  };
  template <class Key, class Value>
  using Shelf = std::map<Key, std::shared_ptr<const Known<Value>>>;
  struct Shelves {
    Shelf<std::pair<std::string, std::optional<double>>, Shared<Profile>> profiles;
    Shelf<std::string, Shared<Profile>> estimates;  // by the words of estimate_words()
    Shelf<std::string, ClusterFile> clusters;       // by name, or by the text of cluster_file_of()
    Shelf<std::string, CodecCosts> codecs;          // by file
    Shelf<std::string, std::shared_ptr<const CollectiveFile>> collectives;  // by file
    Shelf<std::string, std::optional<Device>> devices;                      // by the name in profiles
  };
  template <class Key, class Value, class Read>
  const Value& known(Shelf<Key, Value> Shelves::*shelf, const Key& key, const Read& read);

  Inputs inputs_;
  Shelves shelves_;
  std::shared_ptr<KnownNetworks> networks_;
};

/// Makes the scenario replay this plan instead of a strategy's, and takes over the plan's sharding and pipeline. Throws
/// InputError if the scenario's options contradict the plan. REQUIRES: the plan is for its profile and workers.
void take_plan(Scenario& scenario, const std::string& file, Plan plan, const std::string& listed = "");

/// Inputs that libraries have read and share, in bounded number. Thread-safe.
class KeptInputs {
 private:
  friend class Library;
  std::mutex mutex_;
  Library::Shelves shelves_;
};

}  // namespace allreplay
