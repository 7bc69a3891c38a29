#include "workloads/templates/unet.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "workloads/templates/role_script.hpp"
#include "workloads/templates/tensor_math.hpp"

namespace weft {

namespace {

constexpr std::string_view unet_origin = "U-Net (arXiv 1505.04597)";

constexpr std::array<ParamSpec, 10> kUnetParams = {{
    {"ranks", ParamKind::integer, "8", "1", "16777216", "", "Data-parallel ranks.", "the GPUs of one server"},
    {"batch", ParamKind::integer, "4", "1", "1048576", "", "Images per rank.", "assumption: what a GPU's memory holds"},
    {"image", ParamKind::integer, "512", "1", "1048576", "", "Points along an edge of the square image, a multiple of 2^levels.",
     "the paper's tiles of 572, rounded"},
    {"in_channels", ParamKind::integer, "3", "1", "65536", "", "Channels of the image.", "RGB"},
    {"classes", ParamKind::integer, "2", "1", "65536", "", "Channels of the result.", unet_origin},
    {"base_channels", ParamKind::integer, "64", "1", "65536", "", "Channels of the first level; each level doubles them.",
     unet_origin},
    {"levels", ParamKind::integer, "4", "1", "12", "", "Times that the resolution is halved.", unet_origin},
    {"grad_dtype", ParamKind::choice, "FP32", "", "", tensor_dtypes, "Type in which gradients are reduced.", "PyTorch's default"},
    {"tflops", ParamKind::real, "100", "0.001", "1e9", "", tensor_rate_meaning,
     "assumption: convolutions at a tenth of the dense BF16 peak of an H100"},
    {"optimizer_time", ParamKind::duration, "1ms", "0s", "", "", "The optimizer's step.", "assumption: bound by memory"},
}};

struct Block {
  std::string name;
  double operations = 0;  ///< forward, per image
  std::uint64_t weights = 0;

  /// Adds a k x k convolution that makes `points` points.
  void convolve(std::uint64_t k, std::uint64_t in, std::uint64_t out, std::uint64_t points) {
    const std::uint64_t size = k * k * in * out;
    weights += size;
    operations += 2.0 * static_cast<double>(size) * static_cast<double>(points);
  }
};

class UnetBuilder {
 public:
  explicit UnetBuilder(const TensorMath& math) : math_(math), levels_(math.count("levels")) {
    const std::uint64_t image = math.count("image");
    const std::uint64_t base = math.count("base_channels");
    math.require_divides("image", image, "2^levels", 1ULL << levels_);
    const auto channels = [base](std::uint32_t level) { return base << level; };
    const auto points = [image](std::uint32_t level) { return (image >> level) * (image >> level); };
    for (std::uint32_t level = 0; level <= levels_; ++level) {
      Block& block = encoder_.emplace_back();
      block.name = "enc_" + std::to_string(level);
      block.convolve(3, level == 0 ? math.count("in_channels") : channels(level - 1), channels(level), points(level));
      block.convolve(3, channels(level), channels(level), points(level));
    }
    for (std::uint32_t level = 0; level < levels_; ++level) {
      Block& block = decoder_.emplace_back();
      block.name = "dec_" + std::to_string(level);
      // The transposed convolution's four weights per pair of channels serve one of four points of the result each.
      block.convolve(2, channels(level + 1), channels(level), points(level + 1));
      block.convolve(3, 2 * channels(level), channels(level), points(level));
      block.convolve(3, channels(level), channels(level), points(level));
      if (level == 0) block.convolve(1, channels(0), math.count("classes"), points(0));
    }
  }

  Workload build() {
    Workload workload = start_workload("unet", math_.count("ranks"));
    forward();
    backward();
    done_.push_back(last_);
    script_.compute("step", math_.checked(math_.params().duration("optimizer_time")), done_);
    add_role_of_all(workload, script_.finish());
    workload.assumptions.push_back(math_.rate_note());
    return workload;
  }

 private:
  Duration forward_time(const Block& block) const { return math_.time(block.operations * math_.count("batch")); }

  void forward() {
    std::vector<std::uint32_t> skips;
    for (const Block& block : encoder_) {
      const RoleScript::After after = skips.empty() ? RoleScript::After() : RoleScript::After{skips.back()};
      skips.push_back(script_.compute(block.name, forward_time(block), after));
    }
    last_ = skips.back();
    for (std::uint32_t level = levels_; level-- > 0;) {
      last_ = script_.compute(decoder_[level].name, forward_time(decoder_[level]), {last_, skips[level]});
    }
  }

  /// Backward of a block, and the reduction of its gradients.
  std::uint32_t back(const Block& block, const RoleScript::After& after) {
    last_ = script_.compute(block.name + "_bwd", math_.checked(forward_time(block) * 2), after);
    done_.push_back(script_.collective("reduce_" + block.name, CollectiveType::all_reduce, 0,
                                       math_.bytes(block.weights, math_.element("grad_dtype")), {last_}));
    return last_;
  }

  void backward() {
    std::vector<std::uint32_t> skips;
    for (const Block& block : decoder_) skips.push_back(back(block, {last_}));
    back(encoder_[levels_], {last_});
    for (std::uint32_t level = levels_; level-- > 0;) back(encoder_[level], {last_, skips[level]});
  }

  const TensorMath& math_;
  std::uint32_t levels_;
  std::vector<Block> encoder_;
  std::vector<Block> decoder_;
  RoleScript script_;
  std::uint32_t last_ = 0;
  RoleScript::After done_;
};

Workload make_unet(const ParamSet& params, const SourcePlace& place) {
  const TensorMath math(params, place);
  return UnetBuilder(math).build();
}

}  // namespace

Module<WorkloadFactory> unet_module() {
  return {
      {"template", "unet",
       "A U-Net in data parallel: encoder, decoder and skip connections; every block's gradients are all-reduced as soon as they "
       "are there.",
       kUnetParams},
      make_unet};
}

}  // namespace weft
