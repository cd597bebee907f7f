#pragma once
// Files, stores and results in OpenAI's form.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "router/vector_stores/vector_stores.h"

namespace signalbox::vector_store_api {

void write(json::Writer& out, const vector_stores::File& file);
void write(json::Writer& out, const vector_stores::StoreView& view);
void write(json::Writer& out, const vector_stores::Entry& entry);

/// A batch as the files of its store show it.
struct BatchView {
  std::string id, store;
  std::vector<vector_stores::Entry> entries;  // not empty
};
void write(json::Writer& out, const BatchView& batch);

template <class Record>
std::string written(const Record& record) {
  json::Writer out;
  write(out, record);
  return out.take();
}

std::string deleted(std::string_view id, std::string_view object);
/// Writes the numbers of a user's files and stores that were deleted.
std::string deleted(const vector_stores::VectorStores::Removed& removed);

std::string results(std::span<const std::string> queries,
                    std::span<const vector_stores::Found> found);

/// The page of a list that a query selects: `limit`, `order`, `after` and `before`.
struct PageQuery {
  size_t limit = 20;
  bool ascending = false;
  std::string after, before;
};
/// Errors: kInvalid naming the parameter.
Result<PageQuery> read_page_query(std::string_view query, size_t limit, size_t limit_max);

/// `ids` are those of the records, the oldest first; `write_at` writes one of them. An unknown id
/// in `after` or `before` gives an empty page.
std::string page(const PageQuery& query, std::span<const std::string> ids,
                 const std::function<void(json::Writer&, size_t)>& write_at);

}  // namespace signalbox::vector_store_api
