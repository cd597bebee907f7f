// Writes any bytes as the files beside an encoder that make an embedding of its hidden states, and
// reads them: a line for each of kPoolingFiles, of which an empty line is no file, then the weights
// of 2_Dense. The result is an error, or settings that lead from a vector to a vector.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/dense_layers.h"
#include "engine/pooling_config.h"
#include "engine/prompts.h"
#include "kernels/kernels.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPoolingFiles[] = {"modules.json", "1_Pooling/config.json",
                                         "2_Dense/config.json", "sentence_bert_config.json",
                                         "config_sentence_transformers.json"};
constexpr int32_t kPooledWidth = 4;

void write_pooling_file(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void check_pooling(const fs::path& folder) {
  const auto config = engine::read_pooling_config(folder, kPooledWidth);
  SIGNALBOX_CHECK(config || !config.error().message.empty());
  if (!config) return;
  SIGNALBOX_CHECK(config->tokens_max >= 0);
  for (const engine::DenseStep& step : config->dense) {
    const std::string inside = step.directory.lexically_normal().string();
    SIGNALBOX_CHECK(inside.starts_with(folder.string()));
  }
  const kernels::Table& kernels = **kernels::table_of("base");
  const auto layers = engine::DenseLayers::open(config->dense, kPooledWidth, kernels);
  SIGNALBOX_CHECK(layers || !layers.error().message.empty());
  if (!layers) return;
  std::vector<float> vector(kPooledWidth, 0.5f);
  layers->apply(kernels, vector);
  SIGNALBOX_CHECK(static_cast<int32_t>(vector.size()) == layers->width_after(kPooledWidth));
}

void check_prompts(const fs::path& folder) {
  const auto prompts = engine::read_prompts(folder);
  SIGNALBOX_CHECK(prompts || !prompts.error().message.empty());
  if (!prompts) return;
  const bool has_text = !prompts->of_query().empty() || !prompts->of_passage().empty() ||
                        !prompts->by_default().empty();
  SIGNALBOX_CHECK(!has_text || prompts->has_any());
}

}  // namespace
}  // namespace signalbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("pooling_fuzz_{}", getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : kPoolingFiles) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty()) write_pooling_file(folder / name, line);
  }
  if (!rest.empty()) write_pooling_file(folder / "2_Dense/model.safetensors", rest);
  check_pooling(folder);
  check_prompts(folder);
  fs::remove_all(folder);
  return 0;
}
