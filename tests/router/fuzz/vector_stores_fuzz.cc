// The first byte selects a reader of foreign bytes: HTML, chunks, a filter, a record, an upload.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "router/vector_store_api/requests.h"
#include "router/vector_stores/document_text.h"
#include "router/vector_stores/filter.h"
#include "router/vector_stores/records.h"
#include "router/word_search/hybrid.h"
#include "router/word_search/text_words.h"

namespace {

/// A chunk is found by its own words, and by nothing that it does not have.
void check_words(std::span<const std::string_view> chunks) {
  namespace words = signalbox::word_search;
  if (chunks.empty()) return;
  const words::TextWords list(chunks);
  const words::TextWords* const lists[] = {&list};
  std::vector<words::Term> terms;
  words::add_terms(chunks.front(), terms);
  const auto found =
      words::find_words(lists, words::query_terms(chunks.first(1)), {}, chunks.size(),
                        []() -> signalbox::Result<void> { return {}; });
  const bool has_first = std::ranges::any_of(*found, [](const auto& hit) { return hit.text == 0; });
  SIGNALBOX_CHECK(has_first == !terms.empty());
  std::vector<words::Candidate> candidates;
  for (const words::WordHit& hit : *found) candidates.push_back({chunks[hit.text], 0.5, hit.score});
  for (const words::Hybrid& hybrid : {words::Hybrid(), words::ranks()}) {
    for (const double score : words::scores_of(candidates, chunks.front(), hybrid))
      SIGNALBOX_CHECK(score >= 0 && score <= 1.000001);
  }
}

void check_document(std::string_view text) {
  const auto read = signalbox::vector_stores::document_text("a.html", text);
  if (read) SIGNALBOX_CHECK(read->size() <= 3 * text.size());
  const bool is_text = signalbox::utf8::is_valid(text);
  const char* covered = text.data();
  const auto chunks = signalbox::vector_stores::cut(text, 32, 12);
  check_words(chunks);
  for (const std::string_view chunk : chunks) {
    SIGNALBOX_CHECK(!chunk.empty() && chunk.size() <= 32);
    SIGNALBOX_CHECK(!is_text || signalbox::utf8::is_valid(chunk));
    SIGNALBOX_CHECK(chunk.data() + chunk.size() >= covered);
    covered = chunk.data() + chunk.size();
  }
}

void check_filter(std::string_view text) {
  const auto document = signalbox::json::Document::parse(std::string(text));
  if (!document) return;
  const auto read = signalbox::vector_stores::read_filter(document->root());
  if (read) static_cast<void>(read->holds({{"a", 1.0}, {"b", std::string("x")}, {"c", true}}));
}

void check_store_records(std::string_view bytes) {
  if (const auto file = signalbox::vector_stores::read_file_record(bytes))
    SIGNALBOX_CHECK(signalbox::vector_stores::read_file_record(write_record(*file)).has_value());
  if (const auto store = signalbox::vector_stores::read_store_record(bytes))
    SIGNALBOX_CHECK(signalbox::vector_stores::read_store_record(write_record(*store)).has_value());
  if (const auto entry = signalbox::vector_stores::read_entry_record(bytes))
    SIGNALBOX_CHECK(signalbox::vector_stores::read_entry_record(write_record(*entry)).has_value());
  const auto embedded = signalbox::vector_stores::read_embedded(bytes);
  if (embedded)
    SIGNALBOX_CHECK(embedded->vectors.size() ==
                    embedded->chunks.size() * static_cast<size_t>(embedded->dim));
}

void check_store_bodies(std::string_view body) {
  const auto search = signalbox::vector_store_api::read_search(body);
  if (search && search->hybrid) {
    const signalbox::word_search::Hybrid& hybrid = *search->hybrid;
    SIGNALBOX_CHECK(hybrid.vector_weight + hybrid.bm25_weight + hybrid.ngram_weight > 0);
  }
  static_cast<void>(signalbox::vector_store_api::read_store(body));
  static_cast<void>(signalbox::vector_store_api::read_entry(body));
  const auto batch = signalbox::vector_store_api::read_batch(body);
  SIGNALBOX_CHECK(!batch || (!batch->empty() && batch->size() <= 100));
  const auto form =
      signalbox::vector_store_api::read_upload(body, "multipart/form-data; boundary=x");
  if (!form || !*form) return;
  SIGNALBOX_CHECK((*form)->name.find('/') == std::string::npos);
  SIGNALBOX_CHECK((*form)->content.data() >= body.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      check_document(rest);
      break;
    case 1:
      check_filter(rest);
      break;
    case 2:
      check_store_records(rest);
      break;
    default:
      check_store_bodies(rest);
  }
  return 0;
}
