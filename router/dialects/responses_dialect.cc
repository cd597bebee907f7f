// Reads the stored responses that a request refers to. They may come from a server and be large. So
// only the items that the request needs are kept, and a request reads a bounded number of responses
// from a server.

#include <map>
#include <set>

#include "router/dialects/responses.h"

namespace signalbox::dialects {
namespace {

constexpr size_t kBytesMax = size_t{64} << 20;
constexpr size_t kLookupsMax = 128;

class Lookup {
 public:
  /// The arguments must outlive the object.
  Lookup(ResponseStore& store, const RequestContext& context, const json::Value& request)
      : store_(store), context_(context) {
    const auto input = request.find("input");
    if (!input || !input->is_array()) return;
    for (const json::Value& item : input->items()) {
      const auto id = item.is_object() ? item.find("id") : std::nullopt;
      const auto type = id ? item.find("type") : std::nullopt;
      if (!type || !type->is_string() || type->text() != "item_reference" || !id->is_string())
        continue;
      items_wanted_[response_of_item(id->text())].insert(id->text());
    }
  }

  /// True if all that the request refers to is here, and something is.
  bool has_found() const { return has_found_ && !has_failed_; }

  Earlier::Found conversation(std::string_view id) {
    SIGNALBOX_TRY(const ResponsePointer found, find(id));
    if (found == nullptr) return std::nullopt;
    SIGNALBOX_TRY_VOID(make_room(found->messages.size()));
    return std::optional(found->messages);
  }

  /// Reads all items of its response that the request refers to.
  Earlier::Found item(std::string_view id) {
    if (const auto wanted = items_wanted_.extract(response_of_item(id))) {
      SIGNALBOX_TRY(const ResponsePointer found, find(wanted.key()));
      if (found) {
        SIGNALBOX_TRY_VOID(make_room(found->input.size() + found->response.size()));
      }
      if (found) items_.merge(find_items(*found, wanted.mapped()));
    }
    const auto item = items_.find(id);
    has_failed_ = has_failed_ || item == items_.end();
    if (has_failed_) return std::nullopt;
    if (item->second.size() > items_max_) {
      has_failed_ = true;
      return fail(Code::kTooLarge, "the items that a request refers to are longer than {} bytes",
                  kBytesMax);
    }
    items_max_ -= item->second.size();
    return item->second;
  }

 private:
  Result<void> make_room(size_t bytes) {
    if (!context_.make_room) return {};
    Result<void> made = context_.make_room(bytes);
    has_failed_ = !made;
    return made;
  }

  // The first failure refuses the request, so that nothing more is read.
  Result<ResponsePointer> find(std::string_view id) {
    if (has_failed_) return nullptr;
    auto found = read(id);
    has_failed_ = !found || *found == nullptr;
    has_found_ = has_found_ || !has_failed_;
    return found;
  }

  Result<ResponsePointer> read(std::string_view id) {
    if (context_.stop.stop_requested())
      return fail(Code::kCancelled, "the client no longer waits for a reply");
    if (store_.is_shared() && lookups_++ == kLookupsMax) {
      return fail(Code::kTooLarge, "a request may refer to at most {} stored responses",
                  kLookupsMax);
    }
    return store_.find(id, context_.owner, context_.now, loads_max_);
  }

  ResponseStore& store_;
  const RequestContext& context_;
  std::map<std::string, std::set<std::string_view>, std::less<>> items_wanted_;  // by response
  std::map<std::string, std::string, std::less<>> items_;                        // by id
  // The bytes that may still be loaded, and the bytes that may still go to the model. These differ,
  // because a request may name an item several times.
  size_t loads_max_ = kBytesMax, items_max_ = kBytesMax;
  size_t lookups_ = 0;
  bool has_found_ = false, has_failed_ = false;
};

}  // namespace

Result<Incoming> ResponsesDialect::read(std::string&& body, const RequestContext& context) const {
  SIGNALBOX_TRY(json::Document source, json::Document::take(body));
  Lookup lookup(store_, context, source.root());
  const Earlier earlier{[&](std::string_view id) { return lookup.conversation(id); },
                        [&](std::string_view id) { return lookup.item(id); }};
  Result<ParsedResponses> request = read_responses(source.root(), context.token, earlier);
  if (!request) {
    body = std::move(source).take_source();
    return tl::unexpected(std::move(request).error());
  }
  Incoming out;
  out.chat = std::move(request->chat);
  out.losses = std::move(request->losses);
  // Servers do not know the responses that are stored here.
  if (!lookup.has_found()) out.source = std::move(source);
  out.replies = responses_replies(*std::move(request), context, &store_);
  return out;
}

std::string ResponsesDialect::refusal(int, std::string_view body) const {
  return std::string(body);
}

}  // namespace signalbox::dialects
