// Returns one page of a list, as the other lists of the API are paged.

#include <algorithm>
#include <cstdlib>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/responses.h"

namespace signalbox::dialects {
namespace {

Result<json::Document> input_of(const StoredResponse& stored) {
  std::string list = "[";
  list.reserve(stored.input.size() + 2);
  stored.input.append_to(list, stored.messages);
  list += ']';
  return json::Document::parse(std::move(list));
}

}  // namespace

// An item's id is a kind, the token of its response and its number: "msg_<token>0",
// "item_<token>i3".
std::string response_of_item(std::string_view item) {
  const size_t begin = item.find('_') + 1;
  std::string_view token = begin == 0 ? std::string_view{} : item.substr(begin);
  while (!token.empty() && ascii::is_digit(token.back()) && token.size() > kTokenBytes)
    token.remove_suffix(1);
  if (token.size() > kTokenBytes && token.back() == 'i') token.remove_suffix(1);
  return token.empty() ? std::string() : fmt::format("resp_{}", token);
}

std::map<std::string, std::string, std::less<>> find_items(const StoredResponse& stored,
                                                           const std::set<std::string_view>& ids) {
  std::map<std::string, std::string, std::less<>> out;
  const auto search = [&](const json::Value& items) {
    for (const json::Value& item : items.items()) {
      const auto id = item.find("id");
      if (!id || !id->is_string() || !ids.contains(id->text())) continue;
      out.try_emplace(std::string(id->text()), item.raw());
    }
  };
  const auto response = json::Document::parse(stored.response);
  if (const auto output = response ? response->root().find("output") : std::nullopt)
    search(*output);
  const auto input = input_of(stored);
  if (input) search(input->root());
  return out;
}

Result<std::string> list_input_items(const StoredResponse& stored, std::string_view query) {
  constexpr int64_t kLimitMax = 100;
  int64_t limit = 20;
  bool ascending = false;
  std::string after;
  if (query.starts_with('?')) query.remove_prefix(1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::string_view key = pair.substr(0, pair.find('='));
    const std::string_view value = pair.substr(std::min(pair.size(), key.size() + 1));
    if (key == "order" && (value == "asc" || value == "desc")) {
      ascending = value == "asc";
    } else if (key == "after") {
      after = value;
    } else if (key == "limit" && !value.empty() && value.size() <= 3 &&
               value.find_first_not_of("0123456789") == std::string_view::npos) {
      limit = std::clamp<int64_t>(std::atoi(std::string(value).c_str()), 1, kLimitMax);
    } else {
      return wrong(key, "unknown parameter or value (known: after, limit, order=asc or desc)");
    }
  }
  SIGNALBOX_TRY(const json::Document document, input_of(stored));
  std::vector<json::Value> items;
  for (const json::Value& item : document.root().items()) items.push_back(item);
  if (!ascending) std::reverse(items.begin(), items.end());
  const auto id_of = [](const json::Value& item) {
    const auto id = item.find("id");
    return id && id->is_string() ? id->text() : std::string_view{};
  };
  auto first = items.begin();
  if (!after.empty()) {
    first = std::find_if(items.begin(), items.end(),
                         [&](const json::Value& item) { return id_of(item) == after; });
    if (first == items.end()) return wrong("after", "there is no such item");
    ++first;
  }
  const auto last = first + std::min<int64_t>(limit, items.end() - first);
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (auto item = first; item != last; ++item) out.raw(item->raw());
  out.end_array().key("first_id");
  first == last ? out.null() : out.string(id_of(*first));
  out.key("last_id");
  first == last ? out.null() : out.string(id_of(*(last - 1)));
  return out.member("has_more", last != items.end()).end_object().take();
}

}  // namespace signalbox::dialects
