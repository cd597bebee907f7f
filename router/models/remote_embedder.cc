// One call embeds all texts of a caller. Connections are kept for the next call.

#include "router/models/remote_embedder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/config/endpoint.h"
#include "router/upstream/poster.h"

namespace signalbox::models {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kDefaultLimit{10'000};
constexpr uint32_t kRetriesMax = 5;
constexpr size_t kReplyBytesMax = size_t{64} << 20;
constexpr size_t kReplyDepthMax = 16;
constexpr size_t kDimensionMax = 1 << 16;
// The server truncates longer texts or refuses them; signals cut their texts to this many tokens.
constexpr int32_t kTokensMax = 8192;

Result<std::vector<float>> read_vector(const json::Value& item) {
  const auto embedding = item.find("embedding");
  if (!embedding || !embedding->is_array())
    return fail(Code::kUpstream, "embedding: expected an array of numbers");
  std::vector<float> out;
  double squares = 0;
  for (const json::Value value : embedding->items()) {
    const auto number = value.number();
    if (!number || !std::isfinite(*number) || out.size() == kDimensionMax)
      return fail(Code::kUpstream, "embedding[{}]: expected a number", out.size());
    squares += *number * *number;
    out.push_back(static_cast<float>(*number));
  }
  if (!(squares > 0)) return fail(Code::kUpstream, "embedding: every number is zero");
  for (float& x : out) x = static_cast<float>(x / std::sqrt(squares));
  return out;
}

// Returns the vectors in the order of the texts.
Result<std::vector<std::vector<float>>> read_vectors(std::string body, size_t texts) {
  auto document =
      json::Document::parse(std::move(body), {.bytes = kReplyBytesMax, .depth = kReplyDepthMax});
  if (!document) return fail(Code::kUpstream, "not JSON: {}", document.error().message);
  const auto data = document->root().is_object() ? document->root().find("data") : std::nullopt;
  if (!data || !data->is_array()) return fail(Code::kUpstream, "data: expected an array");
  std::vector<std::vector<float>> out(texts);
  size_t place = 0;
  for (const json::Value item : data->items()) {
    const std::string where = fmt::format("data[{}]", place);
    const auto given = item.is_object() ? item.find("index") : std::nullopt;
    const auto index = given ? given->integer() : Result<int64_t>(static_cast<int64_t>(place));
    if (!item.is_object() || !index || *index < 0 || std::cmp_greater_equal(*index, texts) ||
        !out[*index].empty())
      return fail(Code::kUpstream, "{}: expected the embedding of a new text", where);
    auto vector = read_vector(item);
    if (!vector) return fail_in(where, std::move(vector).error());
    out[*index] = *std::move(vector);
    ++place;
  }
  if (place != texts) return fail(Code::kUpstream, "data: {} embeddings of {} texts", place, texts);
  return out;
}

class RemoteEmbedder final : public engine::TextEmbedder {
 public:
  RemoteEmbedder(config::BackendRef to, std::string target, std::optional<std::string> key,
                 const config::EmbeddingEndpoint& endpoint)
      : name_(to.name),
        target_(std::move(target)),
        model_(endpoint.model),
        dimensions_(endpoint.dimensions),
        attempts_(1 + std::min(endpoint.max_retries, kRetriesMax)),
        limit_(endpoint.timeout_seconds == 0 ? kDefaultLimit
                                             : milliseconds{1000} * endpoint.timeout_seconds),
        dim_(static_cast<int32_t>(endpoint.dimensions)),
        posters_(std::move(to), limit_, std::move(key)) {}

  // Asks the server for the width of its vectors.
  Result<void> learn_dim() {
    if (dim_ > 0) return {};
    const std::string_view word = "width";
    SIGNALBOX_TRY(std::string body, post_texts({&word, 1}, limit_, {}));
    auto vectors = read_vectors(std::move(body), 1);
    if (!vectors) return fail_in(name_, std::move(vectors).error());
    dim_ = static_cast<int32_t>(vectors->front().size());
    return {};
  }

  int32_t dim() const override { return dim_; }
  int32_t tokens_max() const override { return kTokensMax; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return embed_within({}, texts, out);
  }
  Result<void> embed_within(const engine::Patience& patience,
                            std::span<const std::string_view> texts,
                            std::span<float> out) const override {
    if (texts.empty()) return {};
    const auto left = patience.deadline - Clock::now();
    const auto limit = left < limit_ ? std::chrono::ceil<milliseconds>(left) : limit_;
    if (limit <= milliseconds{0}) return fail(Code::kDeadline, "{}: no time is left", name_);
    SIGNALBOX_TRY(std::string body, post_texts(texts, limit, patience.stop));
    if (auto read = read_embeddings_reply(std::move(body), texts.size(), out); !read)
      return fail_in(name_, std::move(read).error());
    return {};
  }

 private:
  std::string request(std::span<const std::string_view> texts) const {
    json::Writer out;
    out.begin_object().member("model", model_).key("input").begin_array();
    for (const std::string_view text : texts) out.string(text);
    out.end_array().member("encoding_format", "float");
    if (dimensions_ > 0) out.member("dimensions", static_cast<int64_t>(dimensions_));
    return out.end_object().take();
  }

  // Returns the body of a reply. All attempts together take at most `limit`.
  Result<std::string> post_texts(std::span<const std::string_view> texts, milliseconds limit,
                                 const std::stop_token& stop) const {
    const std::string body = request(texts);
    const auto until = Clock::now() + limit;
    Result<std::string> out = fail(Code::kUpstream, "{}: no attempt was made", name_);
    for (uint32_t attempt = 0; attempt < attempts_; ++attempt) {
      const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
      if (left <= milliseconds{0} || stop.stop_requested()) break;
      auto reply = posters_.post(target_, "application/json", body, left, kReplyBytesMax, stop);
      if (!reply) {
        out = tl::unexpected<Error>(std::move(reply).error());  // the message names the server
        continue;
      }
      if (reply->status == 200) return std::move(reply->body);
      out = fail(Code::kUpstream, "{}: it returned status {}", name_, reply->status);
      if (reply->status < 500 && reply->status != 429) break;
    }
    return out;
  }

  const std::string name_;
  const std::string target_;
  const std::string model_;
  const uint32_t dimensions_;  // in requests to the server; 0: the server's own number
  const uint32_t attempts_;
  const milliseconds limit_;
  int32_t dim_;
  mutable upstream::PosterPool posters_;
};

}  // namespace

Result<void> read_embeddings_reply(std::string body, size_t texts, std::span<float> out) {
  SIGNALBOX_TRY(const auto vectors, read_vectors(std::move(body), texts));
  const size_t dim = texts == 0 ? 0 : out.size() / texts;
  for (size_t i = 0; i < texts; ++i) {
    if (vectors[i].size() != dim) {
      return fail(Code::kUpstream, "data[{}]: {} numbers, expected {}", i, vectors[i].size(), dim);
    }
    std::ranges::copy(vectors[i], out.begin() + static_cast<int64_t>(i * dim));
  }
  return {};
}

Result<std::shared_ptr<const engine::TextEmbedder>> open_remote_embedder(
    const config::EmbeddingEndpoint& endpoint) {
  SIGNALBOX_TRY(const config::Endpoint at, config::parse_base_url(endpoint.base_url));
  std::optional<std::string> key;
  if (!endpoint.api_key_env.empty()) {
    const char* value = std::getenv(endpoint.api_key_env.c_str());
    if (value == nullptr || *value == '\0')
      return fail(Code::kInvalid, "api_key_env: the variable {} is unset", endpoint.api_key_env);
    key = value;
  }
  config::BackendRef to;
  to.name = fmt::format("embedding server {}", config::written(at.host, at.port));
  to.host = at.host;
  to.port = at.port;
  to.tls = at.tls;
  auto out = std::make_shared<RemoteEmbedder>(std::move(to), at.path + "/embeddings",
                                              std::move(key), endpoint);
  SIGNALBOX_TRY_VOID(out->learn_dim());
  return out;
}

}  // namespace signalbox::models
