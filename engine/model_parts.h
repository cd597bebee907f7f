#pragma once
// The parts of a model directory, whose readers are independent of each other: the trunk with its
// heads and adapters, the tokenizer, and the steps to an embedding.

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "engine/adapter.h"
#include "engine/dense_layers.h"
#include "engine/engine.h"
#include "engine/heads.h"
#include "engine/pooling_config.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"
#include "weights/lora.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct ModelParts {
  std::filesystem::path directory;
  const kernels::Table* kernels;
  weights::SafeTensors file;                            // the trunk points into it
  std::unique_ptr<const weights::LoraAdapter> adapter;  // the merged adapter, if any; like `file`
  std::unique_ptr<const Trunk> trunk;
  std::unique_ptr<const tokenizer::Tokenizer> tokenizer;  // null without a tokenizer.json
  PoolingConfig pooling;
  int32_t tokens_max = 0;    // limit per text that the directory states; 0: the network's own limit
  DenseLayers dense_layers;  // after pooling
  std::vector<Head> heads;
  std::vector<int32_t> owners;  // (heads): the adapter of each, or kNoAdapter
  std::vector<Adapter> adapters;
};

/// Reads config.json, tokenizer.json and model.safetensors of a trunk's directory, and the heads
/// and adapters of the options. Errors name the file.
Result<ModelParts> read_model_parts(const std::filesystem::path& directory,
                                    const OpenOptions& options);

}  // namespace signalbox::engine
