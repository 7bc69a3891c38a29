// SPDX-License-Identifier: Apache-2.0
// Training projection: the time of an iteration of a plan on a cluster, told in several ways beside
// each other.
//
// Where it sits: `weft project training` fills the request and prints the result.
//
// Model
//   isolated         iteration_estimate.hpp, every collective alone: by the formula of the network,
//                    or by the closed forms of a hardware configuration
//   simulated        the training workload on the fabric (simulated_iteration.hpp)
//   with neighbours  beside the cluster's other jobs
// Operators take what the clock says, or that corrected so that layers take as long as a benchmark
// measured. Then, if asked for: the estimators of the literature, and the projection from a node to
// a cluster as published and as it is right.
// Threads: one thread per call; the simulation uses as many as it is given.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/projections/iteration_estimate.hpp"
#include "host/projections/literature_estimates.hpp"
#include "host/projections/measured_clock.hpp"
#include "tools/projections/simulated_iteration.hpp"

namespace weft {

struct ProjectionColumn {
  std::string name;  ///< "isolated", "simulated", "with 1 neighbour"
  Duration iteration;
  std::vector<std::pair<std::string, double>> exposed_s;  ///< by axis; overlapping ones each count
  std::optional<Duration> exposed;                        ///< of all together
  std::optional<BlamedLink> blamed;
  std::uint64_t ranks_simulated = 0;  ///< 0: none
};

/// From a node to a cluster, as published and as it is right.
struct NodesComparison {
  HardwareConfig hardware;
  NodeProjection published;
  NodeProjection right;
  std::array<double, 3> data_ranks = {};  ///< as published for memory, scaling and GPUs
  Bytes printed_gradients;                ///< of a rank, as the published example counts them
  Bytes gradients;                        ///< of a rank, in the type that is reduced
};

/// A benchmark's layers beside those of the clock, under the benchmark's plan.
struct MeasuredBench {
  std::string origin;  ///< the GPU and the model that were measured
  std::vector<std::string> reductions;
  LayerTimes measured;
  LayerTimes calculated;
};

struct TrainingProjection {
  std::string model;
  std::string plan;       ///< "TP 4, CP 2, PP 4 x 5, DP 2"
  std::string cluster;    ///< "64 GPUs of 8 hosts (hgx_h100)"
  std::string operators;  ///< where operator times come from
  std::string network;    ///< of the isolated column, where it is not the cluster's
  std::uint64_t gpus = 0;
  std::uint64_t hosts_min = 0;  ///< that hold one replica
  std::uint32_t gpus_per_host = 0;
  std::uint64_t global_batch = 0;  ///< sequences
  std::uint64_t sequence = 0;      ///< tokens
  std::uint64_t microbatches = 0;
  double operations = 0;                                ///< of an iteration
  std::optional<double> peak;                           ///< operations/s of a GPU for the products
  std::optional<double> tokens;                         ///< to train on
  std::vector<std::pair<std::string, Duration>> parts;  ///< of the isolated iteration
  std::vector<CommunicationCost> communication;         ///< of it
  Duration isolated;
  std::vector<ProjectionColumn> columns;
  std::vector<LiteratureEstimate> estimates;
  std::optional<NodesComparison> nodes;
  std::optional<MeasuredBench> bench;
  bool compares_layers = false;  ///< the clock's with those of the bench
  std::vector<std::string> notes;

  double tokens_per_iteration() const { return static_cast<double>(global_batch) * static_cast<double>(sequence); }
};

/// The measurement that operators are corrected by.
struct BenchmarkRequest {
  LayerBenchmark layers;
  ReducedPlan reduced;
  SourcePlace place;
  bool beside_clock = false;  ///< the clock alone has a column, too
};

struct EstimatorRequest {
  bool composition = false;
  bool precision = false;
  bool nodes = false;
  std::optional<ComponentTable> components;  ///< of composition; none: by the clock
  SourcePlace place = SourcePlace::named("--components");
};

/// What it refers to outlives the call.
struct TrainingRequest {
  const TransformerModel& model;
  const ParallelPlan& plan;
  const Scenario& cluster;  ///< its jobs are the neighbours
  const OperatorClock& operators;
  std::string name;  ///< of the model
  SourcePlace place;
  std::optional<HardwareConfig> hardware;
  std::optional<BenchmarkRequest> benchmark;
  EstimatorRequest estimators;
  bool compares_nodes = false;
  bool simulates = true;
  bool combines_inside = false;
  std::uint64_t iterations = 2;
  RunOptions run = {};
};

/// Without what only the caller knows: cluster, operators, peak and tokens. Throws InputError as
/// what it asks does, [bad-plan] where nodes break a rule of the projection onto them.
TrainingProjection project_training(const TrainingRequest& request);

/// "TP 4, CP 2, PP 4 x 5 chunks, DP 2, zb_h1"
std::string plan_text(const ParallelPlan& plan);

}  // namespace weft
