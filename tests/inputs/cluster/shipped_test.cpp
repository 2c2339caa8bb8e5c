#include "tests/inputs/cluster/topologies.hpp"

#include "sim/base/core/file.hpp"

TEST_CASE("every shipped topology can be built for its workers, and reaches the last of them") {
  for (const std::string& name : Files().list_data("topologies")) {
    CAPTURE(name);
    const Json json = Json::read(Files(), Files().find_data("topologies", name, "cluster"));
    const Cluster cluster = read_cluster(json);
    CHECK(cluster.name == name);
    CHECK(json.find("description"));
    if (!cluster.network.topology) continue;
    const auto topology = make_topology(*cluster.network.topology, cluster.workers);
    CHECK(topology->hosts() == cluster.workers);
    way(*topology, 0, cluster.workers - 1);
    way(*topology, cluster.workers - 1, 0);
  }
}
