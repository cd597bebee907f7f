// Feeds arbitrary bytes as the reply of an image server, and as the text beside an image. A
// completion must be JSON with the image.

#include <cstdint>
#include <string>

#include "base/json.h"
#include "router/plugins/image_gen/image_gen.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string body(reinterpret_cast<const char*>(data), size);
  for (const char* backend : {"openai", "vllm_omni"}) {
    for (const bool as_text : {false, true}) {
      config::ImageGenPlugin plugin;
      plugin.backend = backend;
      const auto completion = plugins::read_image_reply(
          plugin, body, {.id = "i", .created = 1, .model = "m", .as_text = as_text});
      if (!completion) {
        SIGNALBOX_CHECK(!completion.error().message.empty());
        continue;
      }
      const auto document = json::Document::parse(*completion);
      SIGNALBOX_CHECK(document.has_value());
      const auto choices = document->root().find("choices");
      SIGNALBOX_CHECK(choices && choices->is_array());
      const auto both = plugins::join_text_and_image(
          R"({"choices": [{"message": {"content": "text"}}]})", *completion, as_text);
      SIGNALBOX_CHECK(both && json::Document::parse(*both));
    }
  }
  for (const bool as_text : {false, true}) {
    const auto alone = plugins::join_text_and_image(body, "", as_text);
    SIGNALBOX_CHECK(!alone || json::Document::parse(*alone));
  }
  return 0;
}
