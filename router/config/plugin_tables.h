#pragma once
// The configuration of each plugin. plugins.cc says which type has which.

#include "router/config/section.h"

namespace signalbox::config {

// plugins_request.cc: what changes the request
const Section<SystemPromptPlugin>& system_prompt_section();
const Section<FastResponsePlugin>& fast_response_section();
const Section<HeaderMutationPlugin>& header_mutation_section();
const Section<RequestParamsPlugin>& request_params_section();
const Section<PiiMaskPlugin>& pii_mask_section();
const Section<ContextCompressionPlugin>& context_compression_section();
const Section<RequestControls>& request_controls_section();

// plugins_tools.cc
const Section<ToolsPlugin>& tools_section();
const Section<ToolSelectionPlugin>& tool_selection_section();
const Section<ToolFiltering>& tool_filtering_section();

// plugins_reply.cc: what is done to the reply, or instead of it
const Section<ResponseCachePlugin>& response_cache_section();
const Section<HallucinationPlugin>& hallucination_section();
const Section<ResponseJailbreakPlugin>& response_jailbreak_section();
const Section<RouterReplayPlugin>& router_replay_section();
const Section<MemoryPlugin>& memory_section();
const Section<MemoryReflection>& memory_reflection_section();

// plugins_external.cc: what other services add
const Section<RagPlugin>& rag_section();
const Section<ImageGenPlugin>& image_gen_section();
const Section<ModalityDetection>& modality_detection_section();

}  // namespace signalbox::config
