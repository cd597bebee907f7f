// A file or a store of another owner is reported as not found, like one that never existed.

#include "router/vector_store_api/operations.h"

#include <array>
#include <vector>

#include "router/admin/query.h"
#include "router/vector_store_api/replies.h"
#include "router/vector_store_api/requests.h"

namespace signalbox::vector_store_api {
namespace {

using vector_stores::Entry;
using vector_stores::File;
using vector_stores::StoreView;

constexpr std::string_view kFiles = "/v1/files/", kStores = "/v1/vector_stores/";
constexpr size_t kFilesListed = 10'000, kListed = 20, kListedMax = 100;

constexpr ApiReply passed() {
  return ApiReply{.passes = true};
}

tl::unexpected<Error> no_path(const StoreCall& call) {
  return fail(Code::kNotFound, "{}: there is no such path", call.request.path());
}

// --- files ---

Result<ApiReply> upload(const StoreCall& call) {
  const auto type = call.request.headers.find("content-type");
  SIGNALBOX_TRY(auto form, read_upload(call.request.body, type.value_or("")));
  if (!form) return passed();
  SIGNALBOX_TRY(const File file, call.stores.add_file(call.owner, std::move(form->name),
                                                      std::move(form->purpose), form->content));
  return ApiReply{written(file)};
}

Result<ApiReply> list_files(const StoreCall& call) {
  const std::string_view query = call.request.query();
  const std::string purpose = admin::query_value(query, "purpose");
  if (!purpose.empty() && !is_document_purpose(purpose)) return passed();
  SIGNALBOX_TRY(const PageQuery wanted, read_page_query(query, kFilesListed, kFilesListed));
  std::vector<File> files = call.stores.files(call.owner);
  std::erase_if(files,
                [&](const File& each) { return !purpose.empty() && each.purpose != purpose; });
  std::vector<std::string> ids;
  for (const File& each : files) ids.push_back(each.id);
  return ApiReply{page(wanted, ids, [&](json::Writer& out, size_t i) { write(out, files[i]); })};
}

/// The part of the path behind /v1/files/.
std::string_view below_files(const StoreCall& call) {
  return call.request.path().substr(kFiles.size());
}

Result<ApiReply> show_file(const StoreCall& call) {
  constexpr std::string_view kContent = "/content";
  std::string_view id = below_files(call);
  if (!id.starts_with(vector_stores::kFileIdPrefix)) return passed();
  if (!id.ends_with(kContent)) {
    SIGNALBOX_TRY(const File file, call.stores.file(call.owner, id));
    return ApiReply{written(file)};
  }
  id.remove_suffix(kContent.size());
  SIGNALBOX_TRY(std::string content, call.stores.content(call.owner, id));
  return ApiReply{std::move(content), "application/octet-stream"};
}

Result<ApiReply> remove_file(const StoreCall& call) {
  const std::string_view id = below_files(call);
  if (!id.starts_with(vector_stores::kFileIdPrefix)) return passed();
  SIGNALBOX_TRY_VOID(call.stores.remove_file(call.owner, id));
  return ApiReply{deleted(id, "file")};
}

// --- stores ---

/// /v1/vector_stores/STORE/PART/FILE/BELOW; the last three may be missing.
struct StorePath {
  std::string_view store, part, file, below;
  bool is_known = false;
};

/// The parts below a store.
constexpr std::string_view kPartFiles = "files", kPartBatches = "file_batches",
                           kPartSearch = "search";

StorePath path_below_stores(const http::Request& request) {
  std::string_view rest = request.path().substr(kStores.size());
  const auto take = [&rest] {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view out = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    return out;
  };
  StorePath out{take(), take(), take(), take()};
  const bool has_part = (out.part == kPartFiles && out.below.empty()) ||
                        (out.part == kPartBatches && (!out.file.empty() || out.below.empty())) ||
                        ((out.part.empty() || out.part == kPartSearch) && out.file.empty());
  out.is_known = rest.empty() && has_part;
  return out;
}

Result<ApiReply> create_store(const StoreCall& call) {
  SIGNALBOX_TRY(StoreBody body, read_store(call.request.body));
  for (const std::string& file : body.files) SIGNALBOX_TRY_VOID(call.stores.file(call.owner, file));
  SIGNALBOX_TRY(
      const StoreView made,
      call.stores.create_store(call.owner, body.name.value_or(""),
                               std::move(body.metadata).value_or(vector_stores::Metadata()),
                               body.expires_days.value_or(0)));
  const std::string& id = made.store.id;
  for (const std::string& file : body.files) {
    auto attached = call.stores.attach(call.owner, id, file, body.chunking, {});
    if (attached) continue;
    SIGNALBOX_TRY_VOID(call.stores.remove_store(call.owner, id));
    return tl::unexpected<Error>(std::move(attached).error());
  }
  SIGNALBOX_TRY(const StoreView view, call.stores.store(call.owner, id));
  return ApiReply{written(view)};
}

Result<ApiReply> list_stores(const StoreCall& call) {
  SIGNALBOX_TRY(const PageQuery wanted, read_page_query(call.request.query(), kListed, kListedMax));
  const std::vector<StoreView> views = call.stores.stores(call.owner);
  std::vector<std::string> ids;
  for (const StoreView& each : views) ids.push_back(each.store.id);
  return ApiReply{page(wanted, ids, [&](json::Writer& out, size_t i) { write(out, views[i]); })};
}

/// The page of the entries that the query of the request selects.
ApiReply page_of_entries(const StoreCall& call, const PageQuery& wanted,
                         std::vector<Entry> entries) {
  const std::string status = admin::query_value(call.request.query(), "filter");
  std::erase_if(entries, [&](const Entry& each) {
    return !status.empty() && name_of(each.status) != status;
  });
  std::vector<std::string> ids;
  for (const Entry& each : entries) ids.push_back(each.file);
  return ApiReply{page(wanted, ids, [&](json::Writer& out, size_t i) { write(out, entries[i]); })};
}

Result<ApiReply> list_entries(const StoreCall& call, std::string_view store) {
  SIGNALBOX_TRY(const PageQuery wanted, read_page_query(call.request.query(), kListed, kListedMax));
  SIGNALBOX_TRY(std::vector<Entry> entries, call.stores.entries(call.owner, store));
  return page_of_entries(call, wanted, std::move(entries));
}

Result<BatchView> find_batch(const StoreCall& call, std::string_view store, std::string_view id) {
  SIGNALBOX_TRY(std::vector<Entry> entries, call.stores.entries(call.owner, store));
  std::erase_if(entries, [&](const Entry& each) { return each.batch != id; });
  if (entries.empty())
    return fail(Code::kNotFound, "the vector store {} has no file of a batch {}",
                json::quote_briefly(store), json::quote_briefly(id));
  return BatchView{std::string(id), std::string(store), std::move(entries)};
}

Result<ApiReply> show_batch(const StoreCall& call, const StorePath& path) {
  if (path.file.empty() || (!path.below.empty() && path.below != kPartFiles)) return no_path(call);
  SIGNALBOX_TRY(BatchView batch, find_batch(call, path.store, path.file));
  if (path.below.empty()) return ApiReply{written(batch)};
  SIGNALBOX_TRY(const PageQuery wanted, read_page_query(call.request.query(), kListed, kListedMax));
  return page_of_entries(call, wanted, std::move(batch.entries));
}

Result<ApiReply> change_batch(const StoreCall& call, const StorePath& path) {
  if (path.below == "cancel") {
    SIGNALBOX_TRY_VOID(find_batch(call, path.store, path.file));
    SIGNALBOX_TRY_VOID(call.stores.cancel_batch(call.owner, path.store, path.file));
    SIGNALBOX_TRY(const BatchView batch, find_batch(call, path.store, path.file));
    return ApiReply{written(batch)};
  }
  if (!path.file.empty()) return no_path(call);
  SIGNALBOX_TRY(auto files, read_batch(call.request.body));
  SIGNALBOX_TRY(auto entries, call.stores.attach_batch(call.owner, path.store, std::move(files)));
  const std::string id = entries.front().batch;
  return ApiReply{written(BatchView{id, std::string(path.store), std::move(entries)})};
}

Result<ApiReply> show_below_store(const StoreCall& call) {
  const StorePath path = path_below_stores(call.request);
  if (!path.is_known || path.part == kPartSearch) return no_path(call);
  if (path.part == kPartBatches) return show_batch(call, path);
  if (path.part.empty()) {
    SIGNALBOX_TRY(const StoreView view, call.stores.store(call.owner, path.store));
    return ApiReply{written(view)};
  }
  if (path.file.empty()) return list_entries(call, path.store);
  SIGNALBOX_TRY(const Entry entry, call.stores.entry(call.owner, path.store, path.file));
  return ApiReply{written(entry)};
}

Result<ApiReply> search(const StoreCall& call, std::string_view store) {
  SIGNALBOX_TRY(const SearchBody body, read_search(call.request.body));
  SIGNALBOX_TRY_VOID(call.stores.store(call.owner, store));
  vector_stores::Search wanted{store, body.queries};
  wanted.filter = body.filter ? &*body.filter : nullptr;
  wanted.most = body.most;
  wanted.similarity_min = body.similarity_min;
  wanted.hybrid = body.hybrid ? &*body.hybrid : nullptr;
  SIGNALBOX_TRY(const auto found, call.stores.search(call.owner, wanted, call.patience));
  return ApiReply{results(body.queries, found)};
}

Result<ApiReply> attach(const StoreCall& call, std::string_view store) {
  SIGNALBOX_TRY(vector_stores::Addition body, read_entry(call.request.body));
  SIGNALBOX_TRY(const Entry entry, call.stores.attach(call.owner, store, body.file, body.chunking,
                                                      std::move(body.attributes)));
  return ApiReply{written(entry)};
}

Result<ApiReply> change_below_store(const StoreCall& call) {
  const StorePath path = path_below_stores(call.request);
  if (!path.is_known) return no_path(call);
  if (path.part == kPartSearch) return search(call, path.store);
  if (path.part == kPartBatches) return change_batch(call, path);
  if (path.part.empty()) {
    SIGNALBOX_TRY(StoreBody body, read_store(call.request.body));
    SIGNALBOX_TRY(const StoreView view,
                  call.stores.change_store(call.owner, path.store, std::move(body.name),
                                           std::move(body.metadata), body.expires_days));
    return ApiReply{written(view)};
  }
  if (path.file.empty()) return attach(call, path.store);
  SIGNALBOX_TRY(auto attributes, read_entry_change(call.request.body));
  SIGNALBOX_TRY(const Entry entry, call.stores.set_attributes(call.owner, path.store, path.file,
                                                              std::move(attributes)));
  return ApiReply{written(entry)};
}

Result<ApiReply> remove_below_store(const StoreCall& call) {
  const StorePath path = path_below_stores(call.request);
  const bool is_whole = path.part.empty() || (path.part == kPartFiles && !path.file.empty());
  if (!path.is_known || !is_whole) return no_path(call);
  if (path.part.empty()) {
    SIGNALBOX_TRY_VOID(call.stores.remove_store(call.owner, path.store));
    return ApiReply{deleted(path.store, "vector_store.deleted")};
  }
  SIGNALBOX_TRY_VOID(call.stores.detach(call.owner, path.store, path.file));
  return ApiReply{deleted(path.file, "vector_store.file.deleted")};
}

constexpr ApiRoute kRoutes[] = {{"POST", "/v1/files", upload, true},
                                {"GET", "/v1/files", list_files, false},
                                {"GET", "/v1/files/", show_file, false},
                                {"DELETE", "/v1/files/", remove_file, true},
                                {"POST", "/v1/vector_stores", create_store, true},
                                {"GET", "/v1/vector_stores", list_stores, false},
                                {"GET", "/v1/vector_stores/", show_below_store, false},
                                {"POST", "/v1/vector_stores/", change_below_store, true},
                                {"DELETE", "/v1/vector_stores/", remove_below_store, true}};

}  // namespace

std::span<const ApiRoute> api_routes() {
  return kRoutes;
}

bool is_search(const http::Request& request) {
  if (request.method != "POST" || !request.path().starts_with(kStores)) return false;
  const StorePath path = path_below_stores(request);
  return path.is_known && path.part == kPartSearch;
}

}  // namespace signalbox::vector_store_api
