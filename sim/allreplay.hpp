// The library's header: profiles, clusters, plans, their simulation, and the timelines that come of it.
//
//   allreplay::Library library;  // reads files, each once
//   const allreplay::Scenario scenario =
//       library.resolve({.profile = "mine.json", .cluster = "k80-10gbe", .strategy = "ddp"});
//   const allreplay::Outcome outcome = allreplay::run(scenario);
//
// What is wrong with an input is thrown as allreplay::InputError. Versions with the same first number are compatible in
// what the headers included here declare; link `allreplay::allreplay` of CMake's package `allreplay`.
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
