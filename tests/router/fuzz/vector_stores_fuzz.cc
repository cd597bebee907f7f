// The first byte selects a reader of foreign bytes: HTML, chunks, a filter, a record, an upload.

#include <cstdint>
#include <string>

#include "base/utf8.h"
#include "router/vector_store_api/requests.h"
#include "router/vector_stores/document_text.h"
#include "router/vector_stores/filter.h"
#include "router/vector_stores/records.h"

namespace {

void check_document(std::string_view text) {
  const auto read = signalbox::vector_stores::document_text("a.html", text);
  if (read) SIGNALBOX_CHECK(read->size() <= 3 * text.size());
  const bool is_text = signalbox::utf8::is_valid(text);
  const char* covered = text.data();
  for (const std::string_view chunk : signalbox::vector_stores::cut(text, 32, 12)) {
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
  static_cast<void>(signalbox::vector_store_api::read_search(body));
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
