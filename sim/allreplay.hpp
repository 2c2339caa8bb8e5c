// The library's main header: profiles, clusters and plans, their simulation, and the resulting timelines.
//
//   allreplay::Library library;  // reads each file once
//   const allreplay::Scenario scenario =
//       library.resolve({.profile = "mine.json", .cluster = "k80-10gbe", .strategy = "ddp"});
//   const allreplay::Outcome outcome = allreplay::run(scenario);
//
// Invalid input throws allreplay::InputError. Versions with the same major number are compatible in everything that the
// headers included here declare. Link the target `allreplay::allreplay` of the CMake package `allreplay`.
#pragma once

#include "sim/base/core/error.hpp"
#include "sim/base/core/version.hpp"
#include "sim/formats/interchange/plan_file.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/inputs/workload/profile_file.hpp"
#include "sim/plans/schedule/needs.hpp"
#include "sim/plans/schedule/strategy.hpp"
#include "sim/replay/training/simulate.hpp"
#include "sim/studies/experiment/request.hpp"
#include "sim/studies/experiment/run.hpp"
#include "sim/studies/experiment/sweep.hpp"
#include "sim/studies/search/plan_of.hpp"
