// The keys of the plugin image_gen, and those of a detection of requests for images.

#include <chrono>

#include "router/config/endpoint.h"
#include "router/plugins/plugin_keys.h"

namespace signalbox::config {
namespace {

// Gives a notice for keys that the backend does not have, and one if modality_detection has more
// than the key that counts here.
void note_idle_image_keys(Reader& reader, const yaml::Node& node, bool is_openai) {
  const auto note = [&](const yaml::Node* section, std::string_view at, std::string_view keys) {
    for (const std::string_view key : split_words(keys)) {
      const yaml::Node* found = section == nullptr ? nullptr : section->find(key);
      if (found == nullptr) continue;
      reader.at_key(fmt::format("{}{}", at, key), [&] {
        reader.does_without(found->line, "has no effect: it is for the other backend");
      });
    }
  };
  const yaml::Node* backend = node.find("backend_config");
  note(backend, "backend_config.",
       is_openai ? "num_inference_steps cfg_scale seed" : "quality style");
  if (is_openai) note(&node, "", "max_inference_steps");
  const yaml::Node* detection = node.find("modality_detection");
  if (detection == nullptr) return;
  const size_t used = detection->find("prompt_prefixes") == nullptr ? 0 : 1;
  if (detection->entries.size() == used) return;
  reader.at_key("modality_detection", [&] {
    reader.does_without(
        detection->line,
        "only prompt_prefixes has an effect: the decision's conditions select the requests");
  });
}

void check_image_gen(Reader& reader, const yaml::Node& node, ImageGenPlugin& plugin) {
  if (!plugin.enabled) return;
  if (node.find("backend") == nullptr)
    return reader.error(node.line, "image_gen needs the key backend");
  if (plugin.backend.empty()) return;
  const bool is_openai = plugin.backend == "openai";
  note_idle_image_keys(reader, node, is_openai);
  const ImageGenPlugin::Backend& backend = plugin.backend_config;
  const std::string_view missing = !backend.base_url.empty() ? ""
                                   : !is_openai              ? "base_url"
                                   : backend.api_key.empty() ? "api_key"
                                                             : "";
  if (!missing.empty()) {
    return reader.error(node.line, fmt::format("the backend {} needs the key backend_config.{}",
                                               plugin.backend, missing));
  }
  const std::string url = backend.base_url.empty() ? "https://api.openai.com" : backend.base_url;
  Result<BackendRef> ref = server_at(url);
  const auto refuse = [&](const char* key, std::string message) {
    const yaml::Node& at = *node.find("backend_config");
    reader.at_key("backend_config", [&] {
      reader.at_key(key, [&] { reader.error(at.find(key)->line, std::move(message)); });
    });
  };
  if (!ref) return refuse("base_url", ref.error().message);
  if (!is_header_value(backend.api_key)) return refuse("api_key", "the key is not one line");
  ref->api_key = backend.api_key;
  plugin.server.provider_model_id =
      backend.model.empty() && is_openai ? "gpt-image-1" : backend.model;
  plugin.server.backend_refs = {*std::move(ref)};
  const uint32_t seconds = plugin.timeout_seconds > 0 ? plugin.timeout_seconds
                           : is_openai                ? 60
                                                      : 120;
  plugin.server.reliability.emplace().reply_timeout = std::chrono::seconds(seconds);
}

using ImageBackend = ImageGenPlugin::Backend;

constexpr Key kImageBackendKeys[] = {
    string(FIELD(ImageBackend, base_url), "URL of the server. Default for openai: OpenAI's."),
    string(FIELD(ImageBackend, model), "Name of the model. Default for openai: `gpt-image-1`."),
    string(FIELD(ImageBackend, api_key),
           "API key. Without one, the client's own goes to the server, as for other backends."),
    string(FIELD(ImageBackend, quality), "openai: `hd` and others."),
    string(FIELD(ImageBackend, style), "openai: `vivid` and others."),
    count(FIELD(ImageBackend, num_inference_steps), "vllm_omni: inference steps. Default: 50."),
    positive(FIELD(ImageBackend, cfg_scale), "vllm_omni: scale of the guidance. Default: 4."),
    integer(FIELD(ImageBackend, seed), INT64_MIN, INT64_MAX, "vllm_omni: seed."),
};
constexpr Section kImageBackend{kImageBackendKeys};

constexpr Key kModalityDetectionKeys[] = {
    enabled<ModalityDetection>("false takes every request for text. Default: true."),
    word(FIELD(ModalityDetection, method), "classifier keyword hybrid", "How to detect it."),
    object(FIELD(ModalityDetection, classifier), kModalityClassifier, "The model."),
    texts(FIELD(ModalityDetection, keywords), "Words that request an image."),
    texts(FIELD(ModalityDetection, both_keywords), "Words that request a text beside the image."),
    texts(FIELD(ModalityDetection, prompt_prefixes), "Beginnings of requests for an image."),
    share(FIELD(ModalityDetection, confidence_threshold), "Least confidence of the classifier."),
    share(FIELD(ModalityDetection, lower_threshold_ratio),
          "Share of the threshold that suffices if a keyword matches.")
        .not_built("the classifier and the keywords are evaluated independently"),
};

constexpr Key kImageGenKeys[] = {
    enabled<ImageGenPlugin>("false generates no images. Default: true."),
    word(FIELD(ImageGenPlugin, backend), "openai vllm_omni", "API of the server."),
    object(FIELD(ImageGenPlugin, backend_config), kImageBackend, "Keys of the backend."),
    object(FIELD(ImageGenPlugin, modality_detection), kModalityDetection,
           "Only `prompt_prefixes` counts here: the decision's conditions select the requests."),
    count(FIELD(ImageGenPlugin, default_width), "Width, in pixels. Default: 1024."),
    count(FIELD(ImageGenPlugin, default_height), "Height, in pixels. Default: 1024."),
    count(FIELD(ImageGenPlugin, max_inference_steps), "Greatest number of inference steps."),
    count(FIELD(ImageGenPlugin, timeout_seconds),
          "Time limit of an image, in seconds. Default: 60 for openai, 120 for vllm_omni."),
};

}  // namespace

constinit const Section kImageGen{kImageGenKeys, checked<check_image_gen>};

constinit const Section kModalityDetection{kModalityDetectionKeys};

std::vector<const Model*> image_servers_of(const Config& config) {
  std::vector<const Model*> out;
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions) {
      if (decision.image_gen && decision.image_gen->enabled)
        out.push_back(&decision.image_gen->server);
    }
  }
  return out;
}

}  // namespace signalbox::config
