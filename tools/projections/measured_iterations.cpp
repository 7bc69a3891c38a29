// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/measured_iterations.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/plans/plan_reader.hpp"

namespace weft {

namespace {

constexpr std::uint64_t size_max = 1ULL << 32;
constexpr double dropout_of_megatron = 0.1;  ///< unless it is told otherwise

constexpr std::string_view vtrain_table = "vTrain";
constexpr std::string_view megatron_2020_table = "Megatron-2020-TP";
constexpr std::string_view sc21_table = "SC21-T1";
constexpr std::string_view korthikanti_table = "Korthikanti-T5";
constexpr std::string_view megatron_core_table = "MCore-H100-weak";
constexpr std::string_view dgxc_2504_table = "dgxc-v25.04";
constexpr std::string_view dgxc_2501_table = "dgxc-v25.01";

constexpr std::array tables = {
    MeasuredTable{vtrain_table,
                  "Megatron-LM as of 2022: FP16, every layer recomputed, attention and loss of several kernels, dropout; gradients "
                  "all-reduced after the last backward pass, no ZeRO. At TP 1 the vocabulary of 50,257 is not padded (the output "
                  "layer takes two to three times as long there as at TP 2), else to a multiple of 128 TP."},
    MeasuredTable{megatron_2020_table, "As vTrain. Batch 16 in one microbatch; every layer recomputed."},
    MeasuredTable{sc21_table,
                  "As vTrain. Microbatches and interleaving are those of the authors' script (Megatron-LM, "
                  "examples/sc21/run_table_1.sh): 16, 16, 16, 8, 4, 2, 2, 1, 1, 1 sequences, and 3, 2, 2 and 3 chunks for 76B to "
                  "530B. Ranks scatter what goes to the next stage and wait for it. Step times are the table's, which are derived "
                  "from its operations/s."},
    MeasuredTable{korthikanti_table,
                  "As SC21-T1: without sequence parallelism ranks scatter what goes to the next stage; nobody goes on while it "
                  "does. No data parallelism."},
    MeasuredTable{
        megatron_core_table,
        "Megatron-Core: BF16, fused attention, an eager loss, no dropout, embedding and output layer apart (as the "
        "parameters add up), distributed optimizer, gradients and parameters overlapped; tensor-parallel communication is "
        "not. Microbatch and interleaving are not said: those of the least estimated time, at the preset's numbers, that fit "
        "the memory."},
    MeasuredTable{dgxc_2504_table,
                  "Megatron-Core with NeMo's fused loss, distributed optimizer, all overlapped but tensor-parallel communication."},
    MeasuredTable{dgxc_2501_table, "NeMo as dgxc-v25.04. MaxText: ZeRO 3, every layer recomputed."},
};

/// What rows of the years before Megatron-Core have in common.
constexpr std::array megatron_2021 = {
    "zero_stage=0",          "precision.kind=MEGATRON_FP16", "overlap_gradients=false", "overlap_parameters=false",
    "fused_attention=false", "overlap_pipeline=false"};
constexpr std::string_view eager_loss = "analytical.loss=eager";

void add_megatron_2021(PlanRequest& request, MeasuredIteration& iteration) {
  request.overrides.insert(request.overrides.end(), megatron_2021.begin(), megatron_2021.end());
  iteration.operator_settings.emplace_back(eager_loss);
}

void set_size(PlanRequest& request, const char* field, std::uint64_t size) {
  request.overrides.push_back(fmt::format("{}={}", field, size));
}

/// As GPT-2 and Megatron-LM have it.
TransformerModel gpt(std::uint64_t layers, std::uint64_t hidden, std::uint64_t heads, std::uint64_t vocabulary,
                     std::uint64_t sequence) {
  TransformerModel model;
  model.layers = layers;
  model.hidden = hidden;
  model.vocabulary = vocabulary;
  model.sequence = sequence;
  model.attention = {.kind = GroupedQueryAttention{.heads = heads, .key_value_heads = heads, .head_width = hidden / heads},
                     .query_key_value_bias = true,
                     .output_bias = true};
  model.mlp = {.width = 4 * hidden, .activation = Activation::gelu, .bias = true};
  model.norm = Norm::layer_norm;
  model.positions = Positions::learned;
  model.learned_positions = sequence;
  model.tied_embeddings = true;
  model.dropout = dropout_of_megatron;
  return model;
}

// --- vTrain ---

enum VtrainColumn : std::size_t {
  of_gpus,
  of_batch,
  of_microbatch,
  of_hidden,
  of_heads,
  of_layers,
  of_sequence,
  of_tensor,
  of_data,
  of_pipeline,
  of_time
};
constexpr std::array vtrain_columns = {CsvColumn{"# GPUs"},
                                       CsvColumn{"global batch"},
                                       CsvColumn{"micro batch"},
                                       CsvColumn{"hidden size"},
                                       CsvColumn{"attention heads"},
                                       CsvColumn{"# layers"},
                                       CsvColumn{"sequence length"},
                                       CsvColumn{"tensor parallelism"},
                                       CsvColumn{"data parallelism"},
                                       CsvColumn{"pipeline parallelism"},
                                       CsvColumn{"iteration time (ms)"}};
constexpr std::uint64_t vtrain_vocabulary = 50257;

// --- Published steps ---

enum PublishedColumn : std::size_t {
  in_table,
  in_status,
  in_model,
  in_parameters,
  in_layers,
  in_hidden,
  in_width,
  in_heads,
  in_key_heads,
  in_vocabulary,
  in_sequence,
  in_batch,
  in_microbatch,
  in_tensor,
  in_pipeline,
  in_chunks,
  in_context,
  in_gpus,
  in_gpu,
  in_precision,
  in_recompute,
  in_step,
  in_rate,
  in_system
};
constexpr std::array published_columns = {
    CsvColumn{"table"},     CsvColumn{"status"}, CsvColumn{"model"},      CsvColumn{"params_b"}, CsvColumn{"layers"},
    CsvColumn{"hidden"},    CsvColumn{"ffn"},    CsvColumn{"heads"},      CsvColumn{"kv"},       CsvColumn{"vocab"},
    CsvColumn{"seq"},       CsvColumn{"gbs"},    CsvColumn{"mbs"},        CsvColumn{"tp"},       CsvColumn{"pp"},
    CsvColumn{"vp"},        CsvColumn{"cp"},     CsvColumn{"gpus"},       CsvColumn{"gpu"},      CsvColumn{"precision"},
    CsvColumn{"recompute"}, CsvColumn{"step_s"}, CsvColumn{"tflops_gpu"}, CsvColumn{"system"}};

/// Of the authors' script.
struct Sc21Run {
  std::string_view parameters;  ///< as in the table
  std::uint64_t microbatch;
  std::uint64_t chunks;
};
constexpr std::array sc21_runs = {Sc21Run{"1.7", 16, 1},  Sc21Run{"3.6", 16, 1}, Sc21Run{"7.5", 16, 1},  Sc21Run{"18.4", 8, 1},
                                  Sc21Run{"39.1", 4, 1},  Sc21Run{"76.1", 2, 3}, Sc21Run{"145.6", 2, 2}, Sc21Run{"310.1", 1, 2},
                                  Sc21Run{"529.6", 1, 3}, Sc21Run{"1008", 1, 1}};

class PublishedRow {
 public:
  explicit PublishedRow(CsvReader& reader) : reader_(reader), table_(reader.field(in_table)) {}

  /// None where the row is left out, or wrong: then the reader's diagnostics say so.
  std::optional<MeasuredIteration> read() {
    const bool has_rules = table_ != vtrain_table && std::ranges::find(tables, table_, &MeasuredTable::name) != tables.end();
    if (!has_rules || !reader_.field(in_status).starts_with("usable")) return std::nullopt;
    for (const PublishedColumn column :
         {in_layers, in_hidden, in_heads, in_vocabulary, in_sequence, in_batch, in_gpus, in_tensor, in_pipeline})
      if (!reader_.whole_number(column, 1, size_max)) return std::nullopt;
    MeasuredIteration one;
    one.table = table_;
    const std::string_view gpu = reader_.field(in_gpu);
    const bool is_h100 = gpu.starts_with("H100");
    one.gpu = is_h100 ? "h100_sxm" : gpu == "A100-40G" ? "a100_sxm_40gb" : "a100_sxm_80gb";
    one.server = is_h100 ? "hgx_h100" : "hgx_a100";
    one.model = model();
    add_plan(one);
    const std::optional<double> seconds = measured_s();
    if (!seconds) return std::nullopt;
    one.measured_s = *seconds;
    return one;
  }

 private:
  std::uint64_t number(PublishedColumn column, std::uint64_t without = 1) const {
    return reader_.is_given(column) ? reader_.whole_number(column, 1, size_max).value_or(without) : without;
  }
  bool is_of(std::string_view table) const { return table_ == table; }
  bool is_megatron_2021() const { return is_of(megatron_2020_table) || is_of(sc21_table) || is_of(korthikanti_table); }
  bool is_maxtext() const { return reader_.field(in_system).starts_with("MaxText"); }

  TransformerModel model() const {
    TransformerModel model =
        gpt(number(in_layers), number(in_hidden), number(in_heads), number(in_vocabulary), number(in_sequence));
    model.mlp.width = number(in_width, model.mlp.width);
    if (is_megatron_2021()) return model;
    model.tied_embeddings = false;
    model.dropout = 0.0;
    if (is_of(megatron_core_table)) return model;
    // Llama, and Nemotron, whose MLP squares a ReLU.
    const bool is_nemotron = reader_.field(in_model) == "N15B";
    model.attention = {.kind = GroupedQueryAttention{.heads = number(in_heads),
                                                     .key_value_heads = number(in_key_heads, number(in_heads)),
                                                     .head_width = model.hidden / number(in_heads)}};
    model.mlp.bias = false;
    model.mlp.activation = is_nemotron ? Activation::relu : Activation::swiglu;
    model.norm = is_nemotron ? Norm::layer_norm : Norm::rms_norm;
    model.positions = Positions::rotary;
    return model;
  }

  void add_plan(MeasuredIteration& one) {
    PlanRequest request;
    request.gpus = number(in_gpus);
    set_size(request, "global_batch", number(in_batch));
    set_size(request, "tensor_parallel", number(in_tensor));
    set_size(request, "pipeline_parallel", number(in_pipeline));
    if (number(in_context) > 1) set_size(request, "context_parallel", number(in_context));
    std::uint64_t microbatch = number(in_microbatch);
    std::uint64_t chunks = number(in_chunks);
    const std::string_view recompute = reader_.field(in_recompute);
    const bool shares_sequence = recompute.starts_with("seqpar") || (!is_megatron_2021() && number(in_tensor) > 1);
    one.what = fmt::format("{}B", reader_.field(in_parameters));
    if (is_megatron_2021()) {
      add_megatron_2021(request, one);
      request.overrides.emplace_back(recompute.ends_with("selective") ? "recompute.kind=SELECTIVE" : "recompute.kind=UNIFORM");
      if (number(in_pipeline) > 1 && !shares_sequence) request.overrides.emplace_back("scatter_between_stages=true");
      if (is_of(megatron_2020_table)) microbatch = number(in_batch);
      const auto run = std::ranges::find(sc21_runs, reader_.field(in_parameters), &Sc21Run::parameters);
      if (is_of(sc21_table) && run != sc21_runs.end()) {
        microbatch = run->microbatch;
        chunks = run->chunks;
      }
      if (is_of(korthikanti_table)) one.what += shares_sequence ? ", selective" : ", full";
    } else {
      const bool is_fp8 = reader_.field(in_precision) == "fp8";
      if (is_fp8) request.overrides.emplace_back("precision.kind=MEGATRON_FP8");
      if (is_maxtext()) {
        request.overrides.emplace_back("zero_stage=3");
        request.overrides.emplace_back("recompute.kind=UNIFORM");
      }
      if (is_of(megatron_core_table)) {
        one.operator_settings.emplace_back(eager_loss);
        one.operator_settings.emplace_back("analytical.attention=flash_attention_2");
      } else {
        one.what = fmt::format("{} {}", reader_.field(in_model), reader_.field(in_precision));
      }
    }
    request.overrides.emplace_back(shares_sequence ? "sequence_parallel=true" : "sequence_parallel=false");
    one.plan = plan(request, one.model, microbatch, chunks);
    if (is_of(megatron_core_table)) add_alternatives(one, request);
  }

  ParallelPlan plan(PlanRequest request, const TransformerModel& model, std::uint64_t microbatch, std::uint64_t chunks) const {
    set_size(request, "microbatch", microbatch);
    if (chunks > 1) set_size(request, "virtual_pipeline", chunks);
    return load_plan(request, model, reader_.place(in_tensor));
  }

  /// All microbatches and chunks that divide; the plan has one of each.
  void add_alternatives(MeasuredIteration& one, const PlanRequest& request) const {
    const std::uint64_t sequences = one.plan.global_batch / one.plan.data;
    const std::uint64_t layers = one.model.layers / one.plan.pipeline;
    constexpr std::uint64_t microbatch_max = 8;
    for (std::uint64_t microbatch = 1; microbatch <= std::min(sequences, microbatch_max); microbatch *= 2) {
      for (std::uint64_t chunks = 1; chunks <= (one.plan.pipeline > 1 ? layers : 1); ++chunks) {
        const bool divides = layers % chunks == 0 && sequences % microbatch == 0;
        // Interleaving goes by groups of as many microbatches as stages.
        const bool can_interleave = chunks == 1 || sequences / microbatch % one.plan.pipeline == 0;
        if (!divides || !can_interleave || (microbatch == 1 && chunks == 1)) continue;
        one.alternatives.push_back(plan(request, one.model, microbatch, chunks));
      }
    }
  }

  std::optional<double> positive(PublishedColumn column) const {
    const std::optional<double> value = plain_number<double>(reader_.field(column));
    if (value && *value > 0.0) return value;
    reader_.fault(column, "bad-value", fmt::format("{} = {} is not a number above 0", reader_.name(column), reader_.field(column)),
                  "");
    return std::nullopt;
  }

  std::optional<double> measured_s() const {
    if (reader_.is_given(in_step)) return positive(in_step);
    const std::optional<double> rate = positive(in_rate);
    if (!rate) return std::nullopt;
    const auto hidden = static_cast<double>(number(in_hidden));
    const auto sequence = static_cast<double>(number(in_sequence));
    const auto layers = static_cast<double>(number(in_layers));
    const double tokens = static_cast<double>(number(in_batch)) * sequence;
    const double more = sequence / (6.0 * hidden) + static_cast<double>(number(in_vocabulary)) / (12.0 * hidden * layers);
    const double operations = 72.0 * tokens * layers * hidden * hidden * (1.0 + more);
    constexpr double tera = 1e12;
    return operations / (*rate * tera * static_cast<double>(number(in_gpus)));
  }

  CsvReader& reader_;
  std::string table_;
};

}  // namespace

std::span<const MeasuredTable> measured_tables() { return tables; }

std::vector<MeasuredIteration> read_vtrain_iterations(const SourceText& source) {
  std::vector<MeasuredIteration> all;
  Diagnostics diagnostics;
  CsvReader reader(source, vtrain_columns, OtherColumns::refused, diagnostics);
  while (reader.next()) {
    std::array<std::uint64_t, of_time> size = {};
    bool is_whole = true;
    for (std::size_t column = 0; column < of_time; ++column) {
      const std::optional<std::uint64_t> value = reader.whole_number(column, 1, size_max);
      is_whole = is_whole && value;
      size[column] = value.value_or(1);
    }
    const std::optional<Duration> time = reader.duration(of_time, "ms");
    if (!is_whole || !time) continue;
    MeasuredIteration one;
    one.table = vtrain_table;
    one.what = fmt::format("h {}, {} layers", size[of_hidden], size[of_layers]);
    one.gpu = "a100_sxm_80gb";
    one.server = "hgx_a100";
    one.model = gpt(size[of_layers], size[of_hidden], size[of_heads], vtrain_vocabulary, size[of_sequence]);
    one.measured_s = time->in_s();
    PlanRequest request;
    request.gpus = size[of_gpus];
    add_megatron_2021(request, one);
    request.overrides.emplace_back("recompute.kind=UNIFORM");
    request.overrides.emplace_back("sequence_parallel=false");
    set_size(request, "global_batch", size[of_batch]);
    set_size(request, "microbatch", size[of_microbatch]);
    set_size(request, "tensor_parallel", size[of_tensor]);
    set_size(request, "pipeline_parallel", size[of_pipeline]);
    set_size(request, "data_parallel", size[of_data]);
    if (size[of_tensor] == 1) set_size(request, "vocabulary_multiple", 1);
    one.plan = load_plan(request, one.model, reader.place(of_tensor));
    all.push_back(std::move(one));
  }
  diagnostics.throw_if_errors();
  return all;
}

std::vector<MeasuredIteration> read_published_iterations(const SourceText& source) {
  std::vector<MeasuredIteration> all;
  Diagnostics diagnostics;
  CsvReader reader(source, published_columns, OtherColumns::allowed, diagnostics);
  while (reader.next()) {
    if (std::optional<MeasuredIteration> one = PublishedRow(reader).read()) all.push_back(std::move(*one));
  }
  diagnostics.throw_if_errors();
  return all;
}

}  // namespace weft
