// Formats that report a similarity are sorted by it; the others keep the order of the server.

#include "router/retrieval/formats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::retrieval {
namespace {

constexpr uint32_t kReplyDepthMax = 32;

struct Found {
  std::string text;
  std::optional<double> similarity;
};

tl::unexpected<Error> expected(std::string_view what) {
  return fail(Code::kUpstream, "the reply has no {}", what);
}

std::string escaped(std::string_view text) {
  const std::string quoted = json::quote(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::optional<json::Value> find(const json::Value& from, std::initializer_list<const char*> path) {
  std::optional<json::Value> out = from;
  for (const char* name : path) {
    if (out) out = out->find(name);
  }
  return out;
}

/// The text of one of two members; nullopt if there is none.
std::optional<std::string> own_text(const json::Value& object) {
  for (const char* name : {"content", "text"}) {
    const auto text = object.find(name);
    if (text && text->is_string()) return std::string(text->text());
  }
  return std::nullopt;
}

/// The same; "" if there is none.
std::string text_of(const json::Value& object) {
  return own_text(object).value_or("");
}

std::optional<double> number_of(const std::optional<json::Value>& value) {
  const auto number = value ? value->number() : fail(Code::kUpstream, "there is no number");
  return number ? std::optional(*number) : std::nullopt;
}

// --- requests ---

std::string fill_in(const Search& search, std::string_view text) {
  const std::string threshold = fmt::format("{:.3f}", search.similarity_min.value_or(0));
  const std::string count = fmt::format("{}", search.top_k);
  const std::string query = escaped(text);
  const std::string decision = escaped(search.decision);
  std::vector<std::pair<std::string_view, std::string_view>> places{
      {"${user_content}", query}, {"{{.Query}}", query},       {"${top_k}", count},
      {"{{.TopK}}", count},       {"${threshold}", threshold}, {"{{.Threshold}}", threshold},
  };
  if (!decision.empty()) places.emplace_back("${decision_name}", decision);
  // In one pass, so that a text that looks like a place stays as it is.
  std::string out;
  std::string_view rest = search.request_template;
  while (!rest.empty()) {
    const auto place = std::find_if(places.begin(), places.end(),
                                    [&](const auto& each) { return rest.starts_with(each.first); });
    if (place == places.end()) {
      out += rest.front();
      rest.remove_prefix(1);
    } else {
      out += place->second;
      rest.remove_prefix(place->first.size());
    }
  }
  return out;
}

std::string numbers(std::span<const float> vector) {
  const std::string object = json::Writer().begin_object().member("v", vector).end_object().take();
  return object.substr(5, object.size() - 6);
}

std::string weaviate_body(const Search& search, const Query& query) {
  const std::string question = fmt::format(
      "{{ Get {{ Document(nearVector: {{vector: {}}} limit: {}) "
      "{{ content _additional {{ distance }} }} }} }}",
      numbers(query.vector), search.top_k);
  return json::Writer().begin_object().member("query", question).end_object().take();
}

std::string milvus_body(const Search& search, const Query& query) {
  json::Writer out;
  out.begin_object();
  if (!search.database.empty()) out.member("dbName", search.database);
  out.member("collectionName", search.collection);
  out.key("data").begin_array().raw(numbers(query.vector)).end_array();
  out.member("limit", static_cast<int64_t>(search.top_k));
  if (!search.filter.empty()) out.member("filter", search.filter);
  out.key("outputFields").begin_array().string(search.content_field).end_array();
  return out.end_object().take();
}

std::string qdrant_body(const Search& search, const Query& query) {
  json::Writer out;
  out.begin_object().member("query", query.vector);
  out.member("limit", static_cast<int64_t>(search.top_k));
  if (!search.filter.empty()) out.key("filter").raw(search.filter);
  if (search.similarity_min) out.member("score_threshold", *search.similarity_min);
  out.key("with_payload").begin_array().string(search.content_field).end_array();
  return out.end_object().take();
}

// --- replies ---

std::vector<Found> custom_documents(const json::Value& root) {
  std::vector<Found> out;
  if (std::string whole = text_of(root); !whole.empty()) out.push_back({std::move(whole), {}});
  const auto results = root.find("results");
  if (!out.empty() || !results) return out;
  for (const json::Value each : results->items()) out.push_back({text_of(each), {}});
  return out;
}

std::vector<Found> elasticsearch_documents(const json::Value& hits) {
  std::vector<Found> out;
  for (const json::Value hit : hits.items()) {
    // The score of a search by words is not a similarity.
    if (const auto source = hit.find("_source")) out.push_back({text_of(*source), {}});
  }
  return out;
}

std::vector<Found> pinecone_documents(const json::Value& matches) {
  std::vector<Found> out;
  for (const json::Value match : matches.items()) {
    const auto metadata = match.find("metadata");
    if (metadata) out.push_back({text_of(*metadata), number_of(match.find("score"))});
  }
  return out;
}

std::vector<Found> weaviate_documents(const json::Value& documents) {
  std::vector<Found> out;
  for (const json::Value document : documents.items()) {
    std::optional<double> similarity = number_of(find(document, {"_additional", "distance"}));
    if (similarity) similarity = 1 - *similarity;
    out.push_back({text_of(document), similarity});
  }
  return out;
}

/// The content is a text, or a list of parts.
std::string openai_text(const json::Value& result) {
  const auto content = result.find("content");
  if (!content || !content->is_array()) return text_of(result);
  std::string out;
  for (const json::Value part : content->items()) {
    if (!out.empty()) out += '\n';
    out += text_of(part);
  }
  return out;
}

std::vector<Found> openai_documents(const json::Value& data, const Search& search) {
  std::vector<Found> out;
  const auto is_wanted = [&](const json::Value& result) {
    const auto id = result.find("file_id");
    return search.file_ids.empty() || (id && id->is_string() &&
                                       std::find(search.file_ids.begin(), search.file_ids.end(),
                                                 id->text()) != search.file_ids.end());
  };
  for (const json::Value result : data.items()) {
    if (is_wanted(result)) out.push_back({openai_text(result), number_of(result.find("score"))});
  }
  return out;
}

std::vector<Found> milvus_documents(const json::Value& data, const Search& search) {
  std::vector<Found> out;
  for (const json::Value row : data.items()) {
    const auto text = row.find(search.content_field);
    if (text && text->is_string())
      out.push_back({std::string(text->text()), number_of(row.find("distance"))});
  }
  return out;
}

/// The server has compared the scores with the threshold: for some distances, less is better.
std::vector<Found> qdrant_documents(const json::Value& points, const Search& search) {
  std::vector<Found> out;
  for (const json::Value point : points.items()) {
    const auto text = find(point, {"payload", search.content_field.c_str()});
    if (text && text->is_string()) out.push_back({std::string(text->text()), {}});
  }
  return out;
}

/// Milvus reports errors with status 200.
Result<void> check_milvus(const json::Value& root) {
  const auto code = root.find("code");
  const auto number = code ? code->integer() : Result<int64_t>(-1);
  if (number && (*number == 0 || *number == 200)) return {};
  return fail(Code::kUpstream, "it returned code {}", number ? *number : -1);
}

/// The list of documents at a path in a reply.
Result<json::Value> list_at(const json::Value& root, std::initializer_list<const char*> path) {
  const auto list = find(root, path);
  if (list && list->is_array()) return *list;
  return expected(fmt::format("{}", fmt::join(path, ".")));
}

Result<std::vector<Found>> documents_of(const Search& search, const json::Value& root) {
  switch (search.format) {
    case Format::kCustom:
      if (list_at(root, {"results"}) || own_text(root)) return custom_documents(root);
      return expected("text in content or text, and no list in results");
    case Format::kElasticsearch:
      return list_at(root, {"hits", "hits"}).map(elasticsearch_documents);
    case Format::kPinecone:
      return list_at(root, {"matches"}).map(pinecone_documents);
    case Format::kWeaviate:
      return list_at(root, {"data", "Get", "Document"}).map(weaviate_documents);
    case Format::kOpenAi:
      return list_at(root, {"data"}).map([&](const json::Value& list) {
        return openai_documents(list, search);
      });
    case Format::kMilvus:
      SIGNALBOX_TRY_VOID(check_milvus(root));
      return list_at(root, {"data"}).map([&](const json::Value& list) {
        return milvus_documents(list, search);
      });
    case Format::kQdrant:
      return list_at(root, {"result", "points"}).map([&](const json::Value& list) {
        return qdrant_documents(list, search);
      });
  }
  return expected("known form");
}

}  // namespace

bool needs_vector(Format format) {
  return format == Format::kPinecone || format == Format::kWeaviate || format == Format::kMilvus ||
         format == Format::kQdrant;
}

std::string write_search(const Search& search, const Query& query) {
  const auto count = static_cast<int64_t>(search.top_k);
  json::Writer out;
  switch (search.format) {
    case Format::kCustom:
      return fill_in(search, query.text);
    case Format::kElasticsearch:
      out.begin_object().key("query").begin_object().key("match").begin_object();
      out.member("content", query.text).end_object().end_object();
      return out.member("size", count).end_object().take();
    case Format::kPinecone:
      out.begin_object().member("vector", query.vector).member("topK", count);
      return out.member("includeMetadata", true).end_object().take();
    case Format::kWeaviate:
      return weaviate_body(search, query);
    case Format::kOpenAi:
      out.begin_object().member("query", query.text).member("max_num_results", count);
      if (!search.filter.empty()) out.key("filters").raw(search.filter);
      return out.end_object().take();
    case Format::kMilvus:
      return milvus_body(search, query);
    case Format::kQdrant:
      return qdrant_body(search, query);
  }
  return "";
}

Result<std::vector<std::string>> read_documents(const Search& search, std::string body) {
  auto document =
      json::Document::parse(std::move(body), {.bytes = kReplyBytesMax, .depth = kReplyDepthMax});
  if (!document || !document->root().is_object())
    return fail(Code::kUpstream, "the reply is not a JSON object");
  SIGNALBOX_TRY(std::vector<Found> found, documents_of(search, document->root()));
  if (search.similarity_min) {
    std::erase_if(found, [&](const Found& each) {
      return each.similarity && *each.similarity < *search.similarity_min;
    });
  }
  const auto rank = [](const Found& each) {
    return each.similarity.value_or(-std::numeric_limits<double>::infinity());
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return rank(a) > rank(b); });
  std::vector<std::string> out;
  std::unordered_set<std::string> known{""};
  for (Found& each : found) {
    if (out.size() == search.top_k) break;
    if (known.insert(each.text).second) out.push_back(std::move(each.text));
  }
  return out;
}

}  // namespace signalbox::retrieval
