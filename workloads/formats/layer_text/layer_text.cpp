// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/layer_text/layer_text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/dag/strided_groups.hpp"
#include "workloads/formats/counted_note.hpp"
#include "workloads/formats/ranks_option.hpp"

namespace weft {

// Order of one iteration. F, I, W are a row's forward, input-gradient and weight-gradient compute,
// and f, i, w are its collectives. Capitals follow each other without gap. A collective in [ ] is
// waited for before the next capital, one in ( ) runs beside them.
//   transformers           per row F [f]; then rows backwards: I [i] W (w)
//     _FWD_IN_BCKWD        before I of a row in checkpoint_initiates: F [f] again of the rows from
//                          the checkpoint before it
//   HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, HYBRID_CUSTOMIZED
//                          F [f]; backwards: I (i) W (w), then i is waited for; the first row has
//                          no i. HYBRID_MODEL_DATA turns the groups round: "dp_inner" are
//                          neighbours, "tp_outer" are strided
//   MODEL                  as these, without w
//   DATA                   F; backwards: W (w) I; the first row has no I
//   HYBRID_DLRM[_ENHANCED] n
//                          F, (f) if it is an all-to-all; after row n (the last bottom layer) f of
//                          row 0 is waited for; backwards: W (w) I, with i of row 0 issued after I
//                          of row n + 1 and waited for at the end
//   DISTRIBUTED_INFERENCE  F [f]
//   MICRO                  (w) of all rows
// SimAI's generator writes parameters at 2 bytes for the all-gather and gradients at 4 bytes for
// the reduce-scatter of the same weights, in the ratio 1 : 2: so its ALLGATHER is the sum.

namespace {

/// Model-parallel group where the file gives none.
constexpr std::uint32_t server_gpus = 8;

/// Divisions of the ranks that a row may use.
enum class Division : std::uint8_t { world, tp, dp, ep, dp_ep, pp, tp_outer, dp_inner };
constexpr std::size_t division_count = 8;
constexpr std::array<const char*, division_count> division_names = {"world", "tp", "dp",       "ep",
                                                                    "dp_ep", "pp", "tp_outer", "dp_inner"};

enum class Phase : std::uint8_t { forward, input_grad, weight_grad };

struct Sizes {
  std::uint32_t ranks = 0;
  std::uint32_t tp = 1;
  std::uint32_t ep = 1;
  std::uint32_t pp = 1;
  std::uint32_t dp() const { return ranks / (tp * pp); }

  std::uint32_t size(Division division) const {
    switch (division) {
      case Division::world:
        return ranks;
      case Division::tp:
        return tp;
      case Division::dp:
        return dp();
      case Division::ep:
        return ep;
      case Division::dp_ep:
        return dp() / ep;
      case Division::pp:
        return pp;
      case Division::tp_outer:
        return tp;
      case Division::dp_inner:
        return ranks / tp;
    }
    return 1;
  }
  std::uint32_t stride(Division division) const {
    switch (division) {
      case Division::dp:
      case Division::ep:
        return tp;
      case Division::dp_ep:
        return tp * ep;
      case Division::pp:
        return ranks / pp;
      case Division::tp_outer:
        return ranks / tp;
      default:
        return 1;
    }
  }
};

bool uses_model_group(LayerPolicy policy) {
  switch (policy) {
    case LayerPolicy::hybrid_data_model:
    case LayerPolicy::hybrid_model_data:
    case LayerPolicy::hybrid_customized:
    case LayerPolicy::transformer:
    case LayerPolicy::transformer_fwd_in_bckwd:
      return true;
    default:
      return false;
  }
}

/// Where a collective without a suffix takes place; none: the policy leaves it out.
std::optional<Division> division_by_policy(LayerPolicy policy, Phase phase, std::size_t row) {
  const bool is_weight = phase == Phase::weight_grad;
  switch (policy) {
    case LayerPolicy::data:
    case LayerPolicy::micro:
      return is_weight ? std::optional(Division::world) : std::nullopt;
    case LayerPolicy::dlrm:
    case LayerPolicy::dlrm_enhanced:
      return is_weight || row == 0 ? std::optional(Division::world) : std::nullopt;
    case LayerPolicy::model:
    case LayerPolicy::distributed_inference:
      return is_weight ? std::nullopt : std::optional(Division::world);
    case LayerPolicy::hybrid_model_data:
      return is_weight ? Division::dp_inner : Division::tp_outer;
    default:
      return is_weight ? Division::dp : Division::tp;
  }
}

Division division_of(LayerGroup group) {
  switch (group) {
    case LayerGroup::tp:
      return Division::tp;
    case LayerGroup::dp:
      return Division::dp;
    case LayerGroup::ep:
      return Division::ep;
    default:
      return Division::dp_ep;
  }
}

/// Builds the one role and the communicators that it uses.
class PassBuilder {
 public:
  PassBuilder(const LayerRows& text, const Sizes& sizes, LayerDialect dialect) : text_(text), sizes_(sizes), dialect_(dialect) {
    workload_.rank_count = sizes.ranks;
    workload_.communicators.push_back(Communicator::world(sizes.ranks));
  }

  /// Requires: vpp messages after each micro-batch; `starts` are the rows where micro-batches
  /// begin, in order.
  void set_pipeline(std::vector<std::size_t> starts, std::uint64_t messages, Bytes size) {
    starts_ = std::move(starts);
    stage_messages_ = messages;
    stage_bytes_ = size;
  }

  /// Row `row` initiates recomputing from row `checkpoint`.
  void set_recompute(std::size_t row, std::size_t checkpoint) { again_from_[row] = checkpoint; }

  Workload build() {
    switch (text_.policy) {
      case LayerPolicy::micro:
        for (std::size_t row = 0; row < rows().size(); ++row) collective(row, Phase::weight_grad);
        break;
      case LayerPolicy::data:
        data_pass();
        break;
      case LayerPolicy::dlrm:
      case LayerPolicy::dlrm_enhanced:
        dlrm_pass();
        break;
      case LayerPolicy::transformer:
      case LayerPolicy::transformer_fwd_in_bckwd:
        transformer_pass();
        break;
      case LayerPolicy::distributed_inference:
        for (std::size_t row = 0; row < rows().size(); ++row) forward(row, "");
        break;
      default:
        hybrid_pass();
    }
    workload_.roles.push_back(std::move(std::move(builder_).finish().dag));
    workload_.role_names.emplace_back("all");
    workload_.role_of.assign(sizes_.ranks, 0);
    return std::move(workload_);
  }

  std::uint64_t lone_collectives() const { return lone_; }
  std::uint64_t empty_collectives() const { return empty_; }
  std::uint64_t gathers() const { return gathers_; }
  /// Collectives of the rows that the policy runs, each once however often it is repeated.
  std::uint64_t issued_collectives() const { return issued_; }

 private:
  const std::vector<LayerRow>& rows() const { return text_.rows; }

  void transformer_pass() {
    std::size_t batch = 0;
    for (std::size_t row = 0; row < rows().size(); ++row) {
      forward(row, "");
      if (batch < starts_.size() && row + 1 == end_of_batch(batch)) {
        pass_on(batch, "fwd", 1);
        ++batch;
      }
    }
    for (std::size_t row = rows().size(); row-- > 0;) {
      recompute(row);
      compute(row, "igrad", rows()[row].input_grad.compute);
      block_on(collective(row, Phase::input_grad));
      if (batch > 0 && row == starts_[batch - 1]) pass_on(--batch, "bwd", -1);
      compute(row, "wgrad", rows()[row].weight_grad.compute);
      collective(row, Phase::weight_grad);
    }
  }

  std::size_t end_of_batch(std::size_t batch) const { return batch + 1 < starts_.size() ? starts_[batch + 1] : rows().size(); }

  /// Runs the rows from the checkpoint before `row` again if it asks for that.
  void recompute(std::size_t row) {
    const auto asks = again_from_.find(row);
    if (asks == again_from_.end()) return;
    for (std::size_t again = asks->second; again < row; ++again) forward(again, "again");
  }

  void hybrid_pass() {
    for (std::size_t row = 0; row < rows().size(); ++row) forward(row, "");
    for (std::size_t row = rows().size(); row-- > 0;) {
      compute(row, "igrad", rows()[row].input_grad.compute);
      std::optional<std::uint32_t> input_grad;
      if (row > 0) input_grad = collective(row, Phase::input_grad);
      compute(row, "wgrad", rows()[row].weight_grad.compute);
      collective(row, Phase::weight_grad);
      wait_for(input_grad);
    }
  }

  void data_pass() {
    for (std::size_t row = 0; row < rows().size(); ++row) compute(row, "fwd", rows()[row].forward.compute);
    for (std::size_t row = rows().size(); row-- > 0;) {
      compute(row, "wgrad", rows()[row].weight_grad.compute);
      collective(row, Phase::weight_grad);
      if (row > 0) compute(row, "igrad", rows()[row].input_grad.compute);
    }
  }

  void dlrm_pass() {
    const auto last_bottom = static_cast<std::size_t>(*text_.number("last_bottom_layer"));
    std::optional<std::uint32_t> embedding;
    for (std::size_t row = 0; row < rows().size(); ++row) {
      compute(row, "fwd", rows()[row].forward.compute);
      if (rows()[row].forward.collective == CollectiveType::all_to_all) {
        const auto exchange = collective(row, Phase::forward);
        if (row == 0) embedding = exchange;
      } else if (row == last_bottom) {
        wait_for(embedding);
      }
    }
    for (std::size_t row = rows().size(); row-- > 0;) {
      compute(row, "wgrad", rows()[row].weight_grad.compute);
      collective(row, Phase::weight_grad);
      if (row == 0) break;
      compute(row, "igrad", rows()[row].input_grad.compute);
      if (row == last_bottom + 1) collective(0, Phase::input_grad);
    }
  }

  void forward(std::size_t row, std::string_view variant) {
    variant_ = variant;
    compute(row, "fwd", rows()[row].forward.compute);
    block_on(collective(row, Phase::forward));
    variant_ = {};
  }

  std::string op_name(std::size_t row, std::string_view what) const {
    std::string name = fmt::format("{}.{}.{}", rows()[row].name, row, what);
    if (!variant_.empty()) name += fmt::format(".{}", variant_);
    return name;
  }

  /// Adds an op that waits for all that the chain waits for.
  std::uint32_t add(const Op& op, const std::string& name) {
    const std::uint32_t id = builder_.add(op, name);
    for (const std::uint32_t before : waits_) builder_.depend(id, before);
    return id;
  }

  void compute(std::size_t row, std::string_view what, Duration duration) {
    if (duration == Duration::zero()) return;
    Op op;
    op.duration = duration;
    waits_ = {add(op, op_name(row, what))};
  }

  /// The chain goes on when `op` has ended, too.
  void wait_for(std::optional<std::uint32_t> op) {
    if (op) waits_.push_back(*op);
  }

  /// As wait_for(), for an op that was just added and so waits itself for all that the chain waits
  /// for.
  void block_on(std::optional<std::uint32_t> op) {
    if (op) waits_ = {*op};
  }

  /// Issues a row's collective; the result is the op that ends it, if it takes place.
  std::optional<std::uint32_t> collective(std::size_t row, Phase phase) {
    const LayerRow& layer = rows()[row];
    const LayerPhase& side = phase == Phase::forward      ? layer.forward
                             : phase == Phase::input_grad ? layer.input_grad
                                                          : layer.weight_grad;
    if (!side.collective) return std::nullopt;
    const std::optional<Division> division =
        side.group == LayerGroup::by_policy ? division_by_policy(layer.policy, phase, row) : division_of(side.group);
    // The policy has this phase without communication.
    if (!division) return std::nullopt;
    if (variant_.empty()) ++issued_;
    const std::uint32_t size = sizes_.size(*division);
    if (size == 1 || side.bytes == Bytes::zero()) {
      if (variant_.empty()) ++(size == 1 ? lone_ : empty_);
      return std::nullopt;
    }
    const bool is_gather = *side.collective == CollectiveType::all_gather;
    if (is_gather && variant_.empty()) ++gathers_;
    Op op;
    op.kind = OpKind::collective;
    op.collective = *side.collective;
    op.communicator = communicator(*division);
    op.stream = static_cast<std::uint16_t>(op.communicator + 1);
    op.bytes = side.bytes;
    if (is_gather && dialect_ == LayerDialect::simai) op.bytes = Bytes::of((side.bytes.count() + size - 1) / size);
    const std::string_view what = phase == Phase::forward ? "fwd" : phase == Phase::input_grad ? "igrad" : "wgrad";
    const std::uint32_t id = add(op, op_name(row, fmt::format("{}_comm", what)));
    if (layer.update == Duration::zero()) return id;
    Op update;
    update.duration = layer.update;
    const std::uint32_t end = builder_.add(update, op_name(row, fmt::format("{}_update", what)));
    builder_.depend(end, id);
    return end;
  }

  /// Activations (gradients) of a micro-batch go to the next (previous) stage, those of the
  /// neighbour come in.
  void pass_on(std::size_t batch, const std::string& direction, std::int32_t step) {
    const std::uint16_t stages = communicator(Division::pp);
    const auto count = static_cast<std::int32_t>(sizes_.pp);
    for (std::uint64_t message = 0; message < stage_messages_; ++message) {
      const std::string name = fmt::format("pp.{}.{}.{}", batch, message, direction);
      Op op;
      op.communicator = stages;
      op.addressing = PeerAddressing::relative;
      op.bytes = stage_bytes_;
      op.tag = step > 0 ? 0 : 1;
      op.kind = OpKind::send;
      op.peer = (count + step) % count;
      const std::uint32_t send = add(op, fmt::format("{}_send", name));
      op.kind = OpKind::receive;
      op.peer = (count - step) % count;
      const std::uint32_t receive = add(op, fmt::format("{}_recv", name));
      waits_ = {send, receive};
    }
  }

  std::uint16_t communicator(Division division) {
    if (division == Division::world) return 0;
    std::uint16_t& index = communicator_of_[static_cast<std::size_t>(division)];
    if (index == 0) {
      index = static_cast<std::uint16_t>(workload_.communicators.size());
      workload_.communicators.push_back(strided_communicator(division_names[static_cast<std::size_t>(division)], sizes_.ranks,
                                                             sizes_.size(division), sizes_.stride(division)));
    }
    return index;
  }

  const LayerRows& text_;
  Sizes sizes_;
  LayerDialect dialect_;
  Workload workload_;
  RoleBuilder builder_;
  std::array<std::uint16_t, division_count> communicator_of_{};
  std::vector<std::uint32_t> waits_;  ///< what the next op of the chain waits for
  std::string_view variant_;          ///< "again" while rows are recomputed
  std::map<std::size_t, std::size_t> again_from_;
  std::vector<std::size_t> starts_;
  std::uint64_t stage_messages_ = 0;
  Bytes stage_bytes_;
  std::uint64_t lone_ = 0;
  std::uint64_t empty_ = 0;
  std::uint64_t gathers_ = 0;
  std::uint64_t issued_ = 0;
};

class LayerTextImporter {
 public:
  LayerTextImporter(const SourceText& source, LayerDialect dialect, const LayerTextOptions& options)
      : source_(source), dialect_(dialect), options_(options), text_(read_layer_rows(source, dialect, time_unit())) {}

  Workload import() {
    note_times();
    find_sizes();
    check_policy();
    diagnostics_.throw_if_errors();
    PassBuilder pass(text_, sizes_, dialect_);
    for (const auto& [row, checkpoint] : again_from_) pass.set_recompute(row, checkpoint);
    find_pipeline(pass);
    diagnostics_.throw_if_errors();
    Workload workload = pass.build();
    note_pass(pass);
    workload.name = std::filesystem::path(source_.name()).filename().string();
    workload.assumptions = std::move(notes_);
    return workload;
  }

 private:
  bool is_simai() const { return dialect_ == LayerDialect::simai; }

  Duration time_unit() const {
    return options_.time_unit == "ms" ? Duration::ms(1) : options_.time_unit == "us" ? Duration::us(1) : Duration::ns(1);
  }

  void note(std::string text) { notes_.push_back(std::move(text)); }
  void note(std::uint64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    add_counted_note(notes_, count, one, many, rest);
  }

  void note_times() {
    if (!options_.time_unit.empty()) return;
    note(fmt::format("{}{} says otherwise",
                     is_simai() ? "times are taken to be ns; " : "times are cycles of ASTRA-sim's clock, taken to be 1ns each; ",
                     options_.names("time_unit")));
  }

  SourcePlace place_of(std::string_view key) const {
    const auto found = text_.numbers.find(key);
    return found == text_.numbers.end() ? policy_place() : place_of(found->second);
  }
  SourcePlace place_of(const HeaderNumber& number) const { return source_.at(text_.header_line, number.column, number.length); }
  SourcePlace policy_place() const { return text_.policy_place(source_); }

  std::uint32_t header(std::string_view key, std::uint32_t absent) const {
    return static_cast<std::uint32_t>(text_.number(key).value_or(absent));
  }

  void find_sizes() {
    const auto in_file = text_.number("all_gpus");
    if (!in_file && !options_.ranks) {
      diagnostics_.error(
          "ranks-needed", "the file does not say how many ranks there are", policy_place(),
          fmt::format("{}give {}", is_simai() ? "add all_gpus: N to this line, or " : "", options_.names("ranks", "N")));
    } else if (auto fault = options_.ranks ? fault_of_ranks(*options_.ranks, options_.names) : std::nullopt) {
      diagnostics_.add(*std::move(fault));
    } else if (in_file && options_.ranks && *in_file != *options_.ranks) {
      diagnostics_.error(
          "rank-conflict",
          fmt::format("{} contradicts all_gpus: {}", options_.names("ranks", fmt::format("{}", *options_.ranks)), *in_file),
          place_of("all_gpus"), fmt::format("leave {} out, or change the file: group sizes depend on it", options_.names("ranks")));
    }
    diagnostics_.throw_if_errors();
    sizes_.ranks = in_file ? static_cast<std::uint32_t>(*in_file) : *options_.ranks;
    sizes_.pp = header("pp", 1);
    sizes_.ep = header("ep", 1);
    sizes_.tp = header("model_parallel_NPU_group", 1);
    if (!text_.number("model_parallel_NPU_group") && uses_model_group(text_.policy)) assume_model_group();
    const std::uint64_t model = std::uint64_t{sizes_.tp} * sizes_.pp;
    if (model > sizes_.ranks || sizes_.ranks % model != 0) {
      const bool by_pipeline = sizes_.tp <= sizes_.ranks && sizes_.ranks % sizes_.tp == 0;
      diagnostics_.error("bad-groups",
                         fmt::format("{} cannot be divided into {}{}", counted(sizes_.ranks, "rank", "ranks"),
                                     by_pipeline ? fmt::format("{} of groups of ", counted(sizes_.pp, "stage", "stages"))
                                                 : std::string("groups of "),
                                     sizes_.tp),
                         place_of(by_pipeline ? "pp" : "model_parallel_NPU_group"),
                         "the number of ranks is a multiple of model_parallel_NPU_group x pp");
    } else if (sizes_.dp() % sizes_.ep != 0) {
      diagnostics_.error("bad-groups",
                         fmt::format("the {} cannot be divided into expert groups of {}",
                                     counted(sizes_.dp(), "data-parallel rank", "data-parallel ranks"), sizes_.ep),
                         place_of("ep"), "ranks / (model_parallel_NPU_group x pp) is a multiple of ep");
    }
  }

  void assume_model_group() {
    const std::uint32_t server = sizes_.ranks % server_gpus == 0 ? server_gpus : sizes_.ranks;
    const bool inner = text_.policy != LayerPolicy::hybrid_model_data;
    sizes_.tp = inner ? server : sizes_.ranks / server;
    note(
        fmt::format("the file gives no model_parallel_NPU_group: {}-parallel groups are taken to be {}; write "
                    "model_parallel_NPU_group: {} into the first line to say so",
                    inner ? "model" : "data", counted(server, "rank", "neighbouring ranks"), sizes_.tp));
  }

  void check_policy() {
    const bool is_dlrm = text_.policy == LayerPolicy::dlrm || text_.policy == LayerPolicy::dlrm_enhanced;
    const auto last_bottom = text_.number("last_bottom_layer");
    if (is_dlrm && !last_bottom) {
      diagnostics_.error(
          "missing-key", fmt::format("{} does not say which row is the last bottom layer", to_text(text_.policy)), policy_place(),
          is_simai() ? "add DLRM_LAST_BOTTOM_LAYER: ROW, counted from 0" : "write its number, from 0, after the policy");
    } else if (is_dlrm && *last_bottom + 1 >= text_.rows.size()) {
      diagnostics_.error("out-of-range", fmt::format("the last bottom layer is row {} of {}", *last_bottom, text_.rows.size()),
                         place_of("last_bottom_layer"), "rows are counted from 0, and a top layer follows");
    }
    if (text_.policy == LayerPolicy::transformer_fwd_in_bckwd) check_checkpoints();
  }

  /// Every row that initiates has a checkpoint before it, and no other initiating row lies between
  /// the two: ASTRA-sim would go on backwards from there and leave rows out.
  void check_checkpoints() {
    std::vector<HeaderNumber> checkpoints = text_.checkpoints;
    std::vector<HeaderNumber> initiates = text_.checkpoint_initiates;
    const auto by_row = [](const HeaderNumber& a, const HeaderNumber& b) { return a.value < b.value; };
    std::sort(checkpoints.begin(), checkpoints.end(), by_row);
    std::sort(initiates.begin(), initiates.end(), by_row);
    std::size_t next = 0;
    for (std::size_t i = 0; i < initiates.size(); ++i) {
      while (next < checkpoints.size() && checkpoints[next].value < initiates[i].value) ++next;
      const std::string row = fmt::format("row {}", initiates[i].value);
      if (i > 0 && initiates[i - 1].value == initiates[i].value) {
        diagnostics_.error("bad-checkpoint", fmt::format("{} initiates recomputing twice", row), place_of(initiates[i]),
                           "name it once");
      } else if (next == 0) {
        diagnostics_.error("bad-checkpoint", fmt::format("{} initiates recomputing, but no checkpoint comes before it", row),
                           place_of(initiates[i]), "add an earlier row to checkpoints:");
      } else if (i > 0 && checkpoints[next - 1].value < initiates[i - 1].value) {
        diagnostics_.error("bad-checkpoint",
                           fmt::format("between {} and its checkpoint, row {}, row {} initiates recomputing too", row,
                                       checkpoints[next - 1].value, initiates[i - 1].value),
                           place_of(initiates[i]), "add a checkpoint between the two");
      } else {
        again_from_.emplace_back(initiates[i].value, checkpoints[next - 1].value);
      }
    }
  }

  void find_pipeline(PassBuilder& pass) {
    const auto bytes = text_.number("pp_comm");
    if (sizes_.pp == 1) {
      if (bytes.value_or(0) > 0) note("pp_comm says nothing without pipeline stages (pp: 1)");
      return;
    }
    const std::string bubble =
        "pipeline bubbles are not modelled: the rows are one rank's work without gaps (SimAI adds (pp - 1) / (ga x vpp) of it)";
    const std::uint32_t ga = header("ga", 1);
    const std::uint32_t vpp = header("vpp", 1);
    std::vector<std::size_t> starts;
    for (std::size_t row = 0; row < text_.rows.size(); ++row) {
      if (text_.rows[row].name == "embedding_layer") starts.push_back(row);
    }
    if (bytes.value_or(0) == 0) {
      note("the file gives no pp_comm: stages of the pipeline do not communicate");
    } else if (starts.size() != ga || !is_transformer()) {
      note(fmt::format(
          "the rows do not show the {} (rows named embedding_layer): communication between pipeline stages (pp_comm) is left out",
          counted(ga, "micro-batch", "micro-batches")));
    } else if (std::uint64_t{vpp} * ga > text_.rows.size()) {
      diagnostics_.error("bad-groups",
                         fmt::format("{} more than a micro-batch has rows", counted(vpp, "virtual stage is", "virtual stages are")),
                         place_of("vpp"), "vpp x ga is at most the number of rows");
    } else {
      pass.set_pipeline(std::move(starts), vpp, Bytes::of(static_cast<std::int64_t>(*bytes)));
      note(
          fmt::format("after each of {}, forward and backward, a rank passes vpp = {} of pp_comm = {} to the next stage and waits "
                      "for those of the stage before",
                      counted(ga, "micro-batch", "micro-batches"), counted(vpp, "message", "messages"),
                      to_text(Bytes::of(static_cast<std::int64_t>(*bytes)))));
    }
    note(bubble);
  }

  bool is_transformer() const {
    return text_.policy == LayerPolicy::transformer || text_.policy == LayerPolicy::transformer_fwd_in_bckwd;
  }

  void note_pass(const PassBuilder& pass) {
    std::uint64_t collectives = 0;
    std::uint64_t dependencies = 0;
    for (const LayerRow& row : text_.rows) {
      for (const LayerPhase* phase : {&row.forward, &row.input_grad, &row.weight_grad}) collectives += phase->collective ? 1 : 0;
      dependencies += row.names_dependency ? 1 : 0;
    }
    note(pass.gathers(), "ALLGATHER size is", "ALLGATHER sizes are",
         is_simai() ? " what the group holds afterwards, as SimAI counts: a rank gives its share"
                    : " what one rank gives, as ASTRA-sim counts");
    note(pass.lone_collectives(), "collective in a group of one rank is left out: it takes",
         "collectives in groups of one rank are left out: they take", " no time");
    note(pass.empty_collectives(), "collective of 0 bytes is left out: it takes", "collectives of 0 bytes are left out: they take",
         " no time");
    note(collectives - pass.issued_collectives(), "collective of the rows is", "collectives of the rows are",
         fmt::format(" not part of a pass under {}", to_text(text_.policy)));
    if (text_.policy == LayerPolicy::micro) {
      std::uint64_t timed = 0;
      for (const LayerRow& row : text_.rows) {
        timed += (row.forward.compute + row.input_grad.compute + row.weight_grad.compute > Duration::zero()) ? 1 : 0;
      }
      note(timed, "row gives", "rows give", " compute times, which MICRO does not run");
    }
    note(text_.idle_sizes, "size stands", "sizes stand", " beside NONE: nothing is sent");
    note(dependencies, "row has", "rows have", " a value in the reserved second column, which ASTRA-sim ignores too");
    note("one iteration is one pass, and it ends before the next begins");
  }

  const SourceText& source_;
  LayerDialect dialect_;
  const LayerTextOptions& options_;
  LayerRows text_;
  Diagnostics diagnostics_;
  Sizes sizes_;
  /// Row that initiates recomputing, its checkpoint.
  std::vector<std::pair<std::size_t, std::size_t>> again_from_;
  std::vector<std::string> notes_;
};

}  // namespace

Workload import_layer_text(const SourceText& source, LayerDialect dialect, const LayerTextOptions& options) {
  return LayerTextImporter(source, dialect, options).import();
}

}  // namespace weft
