// Feeds arbitrary bytes as the reply of a server with documents, in every format. The texts that
// come out must be few, different and not empty.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "router/retrieval/formats.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using retrieval::Format;
  for (const Format format :
       {Format::kCustom, Format::kElasticsearch, Format::kPinecone, Format::kWeaviate,
        Format::kOpenAi, Format::kMilvus, Format::kQdrant}) {
    retrieval::Search search;
    search.format = format;
    search.similarity_min = 0.25;
    search.content_field = "content";
    auto found =
        retrieval::read_documents(search, std::string(reinterpret_cast<const char*>(data), size));
    if (!found) {
      SIGNALBOX_CHECK(!found.error().message.empty());
      continue;
    }
    SIGNALBOX_CHECK(found->size() <= search.top_k);
    std::sort(found->begin(), found->end());
    SIGNALBOX_CHECK(std::adjacent_find(found->begin(), found->end()) == found->end());
    SIGNALBOX_CHECK(found->empty() || !found->front().empty());
  }
  return 0;
}
