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

#include "sim/cluster/cluster.hpp"
#include "sim/core/error.hpp"
#include "sim/core/version.hpp"
#include "sim/experiment/request.hpp"
#include "sim/experiment/run.hpp"
#include "sim/experiment/sweep.hpp"
#include "sim/interchange/plan_file.hpp"
#include "sim/schedule/needs.hpp"
#include "sim/schedule/strategy.hpp"
#include "sim/search/plan_of.hpp"
#include "sim/training/simulate.hpp"
#include "sim/workload/profile_file.hpp"
