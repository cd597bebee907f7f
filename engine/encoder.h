#pragma once
// The forward pass of BERT over a ragged batch.

#include "engine/bert_weights.h"
#include "engine/model_config.h"
#include "engine/scratch.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

/// Runs scratch.batch through the encoder; scratch.x (tokens, hidden) holds the last hidden states
/// afterwards. A sequence's rows do not depend on the other sequences, to the last bit.
/// Preconditions: every id is within the vocabulary, no sequence is longer than config.positions,
/// the batch fits the scratch.
void encode(const BertConfig& config, const BertWeights& weights, const kernels::Table& kernels,
            Scratch& scratch);

}  // namespace signalbox::engine
