// SPDX-License-Identifier: Apache-2.0
#include "core/text/manifest.hpp"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/text/input_file.hpp"
#include "core/text/printed_json.hpp"

namespace weft {

namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    WEFT_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256 is available");
  }
  void add(const char* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    constexpr char hex_digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < length; ++i) {
      text += hex_digits[digest[i] >> 4];
      text += hex_digits[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

void RunManifest::add_input(const std::string& role, const std::string& path, const std::string& format) {
  Input input{role, path, format, "", 0};
  StoredFile file(path);
  Sha256 hash;
  std::vector<char> chunk(1 << 20);
  while (const std::size_t n = file.read(chunk.data(), chunk.size())) {
    hash.add(chunk.data(), n);
    input.size_bytes += n;
  }
  input.sha256 = hash.hex();
  inputs_.push_back(std::move(input));
}

void RunManifest::add_params(const ParamSet& params) { params_.push_back(params); }

void RunManifest::set(const std::string& key, const std::string& value) { facts_.push_back({key, value, 0, false}); }
void RunManifest::set(const std::string& key, std::uint64_t value) { facts_.push_back({key, "", value, true}); }

std::vector<std::string> RunManifest::input_paths() const {
  std::vector<std::string> paths;
  for (const Input& input : inputs_) paths.push_back(input.path);
  return paths;
}

std::vector<std::pair<std::string, std::string>> RunManifest::input_hashes() const {
  std::vector<std::pair<std::string, std::string>> hashes;
  for (const Input& input : inputs_) hashes.emplace_back(input.path, input.sha256);
  return hashes;
}

std::string RunManifest::to_json() const {
  nlohmann::ordered_json json;
  for (const Fact& fact : facts_) {
    if (fact.is_number) {
      json[fact.key] = fact.number;
    } else {
      json[fact.key] = fact.text;
    }
  }
  json["results"] = results_;
  if (!assumptions_.empty()) json["assumptions"] = assumptions_;
  json["inputs"] = nlohmann::ordered_json::array();
  for (const Input& input : inputs_) {
    json["inputs"].push_back({{"role", input.role},
                              {"path", input.path},
                              {"format", input.format},
                              {"size_bytes", input.size_bytes},
                              {"sha256", input.sha256}});
  }
  json["parameters"] = nlohmann::ordered_json::object();
  for (const ParamSet& set : params_) {
    nlohmann::ordered_json module = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < set.table().size(); ++i) {
      const ParamSpec& spec = set.table()[i];
      module[std::string(spec.name)] = {
          {"value", set.value_text(i)}, {"default", std::string(spec.default_text)}, {"origin", std::string(spec.origin)}};
    }
    json["parameters"][set.module()] = module;
  }
  return printed_json(json) + "\n";
}

}  // namespace weft
