// Unknown members are ignored, as OpenAI's clients expect. Members that request a missing feature
// are refused.

#include "router/vector_store_api/requests.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "router/endpoints/multipart.h"

namespace signalbox::vector_store_api {
namespace {

using vector_stores::Addition;
using vector_stores::Chunking;

constexpr size_t kFilesMax = 100;  // of a new store, or of a batch
constexpr size_t kQueriesMax = 16;
constexpr int64_t kResultsMax = 50;  // as in OpenAI's API

Result<json::Document> read_object(std::string_view body) {
  SIGNALBOX_TRY(json::Document out, json::Document::parse(std::string(body)));
  if (!out.root().is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}",
                json::type_name(out.root().type()));
  return out;
}

/// nullopt if the member is missing or null.
std::optional<json::Value> find_given(const json::Value& root, std::string_view key) {
  const auto value = root.find(key);
  return value && !value->is_null() ? value : std::nullopt;
}

Result<std::string> text_of(std::string_view where, const json::Value& value) {
  if (!value.is_string())
    return fail(Code::kInvalid, "{}: expected a string, found {}", where,
                json::type_name(value.type()));
  return std::string(value.text());
}

Result<int64_t> count_of(std::string_view where, const json::Value& value, int64_t low,
                         int64_t high) {
  const auto number = value.integer();
  if (number && *number >= low && *number <= high) return *number;
  return fail(Code::kInvalid, "{}: expected {} to {}, found {}", where, low, high,
              json::quote_briefly(value.raw()));
}

Result<std::vector<std::string>> texts_of(std::string_view where, const json::Value& value,
                                          size_t most) {
  if (!value.is_array()) return fail(Code::kInvalid, "{}: expected a list", where);
  std::vector<std::string> out;
  for (const json::Value each : value.items()) {
    if (out.size() == most) return fail(Code::kInvalid, "{}: more than {}", where, most);
    SIGNALBOX_TRY(std::string text, text_of(fmt::format("{}[{}]", where, out.size()), each));
    out.push_back(std::move(text));
  }
  return out;
}

/// nullopt if the member is missing; 0 if it is null.
Result<std::optional<uint32_t>> read_expiry(const json::Value& root) {
  const auto value = root.find("expires_after");
  if (!value) return std::nullopt;
  if (value->is_null()) return std::optional<uint32_t>(0);
  const auto anchor = value->find("anchor"), days = value->find("days");
  if (!anchor || !anchor->is_string() || anchor->text() != "last_active_at" || !days)
    return fail(Code::kInvalid, "expires_after: expected the anchor last_active_at and days");
  SIGNALBOX_TRY(const int64_t count,
                count_of("expires_after.days", *days, 1, vector_stores::kExpiresDaysMax));
  return std::optional<uint32_t>(static_cast<uint32_t>(count));
}

Result<Chunking> read_chunking(const json::Value& root) {
  constexpr std::string_view kWhere = "chunking_strategy";
  Chunking out;
  const auto strategy = find_given(root, kWhere);
  if (!strategy) return out;
  const auto type = strategy->find("type");
  if (type && type->is_string() && type->text() == "auto") return out;
  const auto fixed = strategy->find("static");
  if (!type || !type->is_string() || type->text() != "static" || !fixed || !fixed->is_object())
    return fail(Code::kInvalid, "{}: expected the type auto, or static with its sizes", kWhere);
  const auto tokens = fixed->find("max_chunk_size_tokens");
  const auto overlap = fixed->find("chunk_overlap_tokens");
  if (!tokens || !overlap)
    return fail(Code::kInvalid,
                "{}.static: expected max_chunk_size_tokens and chunk_overlap_tokens", kWhere);
  SIGNALBOX_TRY(const int64_t most,
                count_of("chunking_strategy.static.max_chunk_size_tokens", *tokens,
                         vector_stores::kChunkTokensMin, vector_stores::kChunkTokensMax));
  SIGNALBOX_TRY(const int64_t shared,
                count_of("chunking_strategy.static.chunk_overlap_tokens", *overlap, 0, most / 2));
  return Chunking{static_cast<uint32_t>(most), static_cast<uint32_t>(shared)};
}

/// The name of a file as the form has it, without a path and without the escapes of quotes.
Result<std::string> file_name_of(std::string_view written) {
  std::string out;
  for (size_t i = 0; i < written.size(); ++i) {
    const bool escapes = written[i] == '\\' && i + 1 < written.size() &&
                         (written[i + 1] == '"' || written[i + 1] == '\\');
    out += written[escapes ? ++i : i];
  }
  out.erase(0, out.find_last_of("/\\") + 1);
  const bool has_controls =
      std::ranges::any_of(out, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (out.empty() || has_controls || !utf8::is_valid(out))
    return fail(Code::kInvalid, "file: expected a file with a name");
  return out;
}

}  // namespace

bool is_document_purpose(std::string_view purpose) {
  return purpose == "assistants" || purpose == "user_data";
}

Result<std::optional<Upload>> read_upload(std::string_view body, std::string_view content_type) {
  if (!endpoints::is_multipart(content_type))
    return fail(Code::kInvalid, "Content-Type: expected multipart/form-data");
  SIGNALBOX_TRY(const auto fields, endpoints::read_form(body, content_type));
  const endpoints::FormField *file = nullptr, *purpose = nullptr;
  for (const endpoints::FormField& field : fields) {
    const endpoints::FormField** const place = field.name == "file"      ? &file
                                               : field.name == "purpose" ? &purpose
                                                                         : nullptr;
    if (place == nullptr) continue;
    if (*place != nullptr) return fail(Code::kInvalid, "{}: given more than once", field.name);
    *place = &field;
  }
  if (purpose == nullptr || purpose->is_file)
    return fail(Code::kInvalid, "purpose: expected a field with the purpose of the file");
  if (!is_document_purpose(purpose->value)) return std::optional<Upload>();
  if (file == nullptr || !file->is_file)
    return fail(Code::kInvalid, "file: expected a file with a name");
  SIGNALBOX_TRY(std::string name, file_name_of(file->file_name));
  return Upload{std::move(name), std::string(purpose->value), file->value};
}

Result<StoreBody> read_store(std::string_view body) {
  StoreBody out;
  if (body.empty()) return out;
  SIGNALBOX_TRY(const json::Document document, read_object(body));
  const json::Value root = document.root();
  SIGNALBOX_TRY(out.expires_days, read_expiry(root));
  if (const auto name = find_given(root, "name")) {
    SIGNALBOX_TRY(out.name, text_of("name", *name));
    if (out.name->size() > vector_stores::kNameBytesMax)
      return fail(Code::kInvalid, "name: more than {} bytes", vector_stores::kNameBytesMax);
  }
  if (const auto metadata = find_given(root, "metadata")) {
    SIGNALBOX_TRY(out.metadata, vector_stores::read_metadata("metadata", *metadata));
  }
  if (const auto files = find_given(root, "file_ids")) {
    SIGNALBOX_TRY(out.files, texts_of("file_ids", *files, kFilesMax));
  }
  SIGNALBOX_TRY(out.chunking, read_chunking(root));
  return out;
}

namespace {

Result<Addition> read_addition(const json::Value& root) {
  const auto file = find_given(root, "file_id");
  if (!file) return fail(Code::kInvalid, "file_id: missing");
  Addition out;
  SIGNALBOX_TRY(out.file, text_of("file_id", *file));
  if (const auto attributes = find_given(root, "attributes")) {
    SIGNALBOX_TRY(out.attributes, vector_stores::read_attributes("attributes", *attributes));
  }
  SIGNALBOX_TRY(out.chunking, read_chunking(root));
  return out;
}

/// The members of the whole batch apply to each of its files.
Result<std::vector<Addition>> read_batch_ids(const json::Value& root, const json::Value& ids) {
  Addition each;
  if (const auto attributes = find_given(root, "attributes")) {
    SIGNALBOX_TRY(each.attributes, vector_stores::read_attributes("attributes", *attributes));
  }
  SIGNALBOX_TRY(each.chunking, read_chunking(root));
  SIGNALBOX_TRY(std::vector<std::string> files, texts_of("file_ids", ids, kFilesMax));
  std::vector<Addition> out;
  for (std::string& file : files) {
    each.file = std::move(file);
    out.push_back(each);
  }
  return out;
}

Result<std::vector<Addition>> read_batch_files(const json::Value& files) {
  if (!files.is_array()) return fail(Code::kInvalid, "files: expected a list");
  std::vector<Addition> out;
  for (const json::Value each : files.items()) {
    if (out.size() == kFilesMax) return fail(Code::kInvalid, "files: more than {}", kFilesMax);
    auto read = read_addition(each);
    if (!read) return fail_in(fmt::format("files[{}]", out.size()), std::move(read).error());
    out.push_back(*std::move(read));
  }
  return out;
}

}  // namespace

Result<Addition> read_entry(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, read_object(body));
  return read_addition(document.root());
}

Result<std::vector<Addition>> read_batch(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, read_object(body));
  const json::Value root = document.root();
  const auto ids = find_given(root, "file_ids"), files = find_given(root, "files");
  if (ids.has_value() == files.has_value())
    return fail(Code::kInvalid, "expected either file_ids or files");
  SIGNALBOX_TRY(std::vector<Addition> out,
                ids ? read_batch_ids(root, *ids) : read_batch_files(*files));
  if (out.empty()) return fail(Code::kInvalid, "a batch has at least one file");
  std::set<std::string_view> known;
  for (const Addition& each : out) {
    if (!known.insert(each.file).second)
      return fail(Code::kInvalid, "the file {} occurs twice", json::quote_briefly(each.file));
  }
  return out;
}

Result<vector_stores::Attributes> read_entry_change(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, read_object(body));
  const auto attributes = document.root().find("attributes");
  if (!attributes) return fail(Code::kInvalid, "attributes: missing");
  return vector_stores::read_attributes("attributes", *attributes);
}

namespace {

/// Leaves `out` as it is if the member is missing.
Result<void> read_number(std::string_view where, const json::Value& object, std::string_view key,
                         double low, double high, double& out) {
  const auto value = find_given(object, key);
  if (!value) return {};
  const auto number = value->number();
  if (!number || !(*number >= low && *number <= high))
    return fail(Code::kInvalid, "{}.{}: expected {} to {}, found {}", where, key, low, high,
                json::quote_briefly(value->raw()));
  out = *number;
  return {};
}

constexpr double kWeightMax = 1'000, kRankConstantMax = 10'000, kSaturationMax = 100;

Result<void> check_weights(std::string_view where, const word_search::Hybrid& hybrid) {
  if (hybrid.vector_weight + hybrid.bm25_weight + hybrid.ngram_weight > 0) return {};
  return fail(Code::kInvalid, "{}: expected a weight above 0", where);
}

/// `ranking_options.hybrid_search`, which joins the orders of the two searches.
Result<word_search::Hybrid> read_hybrid_ranking(const json::Value& value) {
  constexpr std::string_view kWhere = "ranking_options.hybrid_search";
  if (!value.is_object())
    return fail(Code::kInvalid, "{}: expected an object, found {}", kWhere,
                json::type_name(value.type()));
  word_search::Hybrid out = word_search::ranks();
  out.ngram_weight = 0;
  SIGNALBOX_TRY_VOID(
      read_number(kWhere, value, "embedding_weight", 0, kWeightMax, out.vector_weight));
  SIGNALBOX_TRY_VOID(read_number(kWhere, value, "text_weight", 0, kWeightMax, out.bm25_weight));
  SIGNALBOX_TRY_VOID(check_weights(kWhere, out));
  return out;
}

/// `hybrid`. If a weight is given, those that are missing are 0.
Result<word_search::Hybrid> read_hybrid(const json::Value& value) {
  constexpr std::string_view kWhere = "hybrid";
  if (!value.is_object())
    return fail(Code::kInvalid, "{}: expected an object, found {}", kWhere,
                json::type_name(value.type()));
  word_search::Hybrid out;
  if (const auto mode = find_given(value, "mode")) {
    const bool is_ranks = mode->is_string() && mode->text() == "rrf";
    if (!is_ranks && !(mode->is_string() && mode->text() == "weighted"))
      return fail(Code::kInvalid, "hybrid.mode: expected weighted or rrf, found {}",
                  json::quote_briefly(mode->is_string() ? mode->text() : mode->raw()));
    if (is_ranks) out = word_search::ranks();
  }
  const std::pair<std::string_view, double*> weights[] = {{"vector_weight", &out.vector_weight},
                                                          {"bm25_weight", &out.bm25_weight},
                                                          {"ngram_weight", &out.ngram_weight}};
  const bool is_given = std::ranges::any_of(
      weights, [&](const auto& each) { return find_given(value, each.first).has_value(); });
  for (const auto& [key, weight] : weights) {
    if (is_given) *weight = 0;
    SIGNALBOX_TRY_VOID(read_number(kWhere, value, key, 0, kWeightMax, *weight));
  }
  SIGNALBOX_TRY_VOID(check_weights(kWhere, out));
  SIGNALBOX_TRY_VOID(
      read_number(kWhere, value, "rrf_constant", 1, kRankConstantMax, out.rank_constant));
  SIGNALBOX_TRY_VOID(read_number(kWhere, value, "bm25_k1", 0, kSaturationMax, out.bm25.k1));
  SIGNALBOX_TRY_VOID(read_number(kWhere, value, "bm25_b", 0, 1, out.bm25.b));
  if (const auto size = find_given(value, "ngram_size")) {
    SIGNALBOX_TRY(const int64_t count,
                  count_of("hybrid.ngram_size", *size, 1, word_search::kNgramSizeMax));
    out.ngram_size = static_cast<uint32_t>(count);
  }
  return out;
}

/// Reads `ranking_options` and `hybrid`.
Result<void> read_ranking(const json::Value& root, SearchBody& out) {
  const auto ranking = find_given(root, "ranking_options");
  double threshold = 0;
  if (ranking)
    SIGNALBOX_TRY_VOID(
        read_number("ranking_options", *ranking, "score_threshold", 0, 1, threshold));
  if (threshold > 0) out.similarity_min = threshold;
  const auto joined = ranking ? find_given(*ranking, "hybrid_search") : std::nullopt;
  const auto hybrid = find_given(root, "hybrid");
  if (joined && hybrid)
    return fail(Code::kInvalid, "hybrid: ranking_options.hybrid_search is given, too");
  if (joined) {
    SIGNALBOX_TRY(out.hybrid, read_hybrid_ranking(*joined));
  } else if (hybrid) {
    SIGNALBOX_TRY(out.hybrid, read_hybrid(*hybrid));
  }
  return {};
}

}  // namespace

Result<SearchBody> read_search(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, read_object(body));
  const json::Value root = document.root();
  SearchBody out;
  const auto query = find_given(root, "query");
  if (!query) return fail(Code::kInvalid, "query: missing");
  if (query->is_array()) {
    SIGNALBOX_TRY(out.queries, texts_of("query", *query, kQueriesMax));
  } else {
    SIGNALBOX_TRY(std::string text, text_of("query", *query));
    out.queries.push_back(std::move(text));
  }
  const auto is_empty = [](const std::string& text) { return text.empty(); };
  if (out.queries.empty() || std::ranges::any_of(out.queries, is_empty))
    return fail(Code::kInvalid, "query: expected texts that are not empty");
  if (const auto most = find_given(root, "max_num_results")) {
    SIGNALBOX_TRY(const int64_t count, count_of("max_num_results", *most, 1, kResultsMax));
    out.most = static_cast<size_t>(count);
  }
  if (const auto filters = find_given(root, "filters")) {
    SIGNALBOX_TRY(out.filter, vector_stores::read_filter(*filters));
  }
  // Queries are never rewritten: the reply returns the client's own query.
  const auto rewrites = find_given(root, "rewrite_query");
  if (rewrites && !rewrites->is_bool())
    return fail(Code::kInvalid, "rewrite_query: expected a boolean, found {}",
                json::type_name(rewrites->type()));
  SIGNALBOX_TRY_VOID(read_ranking(root, out));
  return out;
}

}  // namespace signalbox::vector_store_api
