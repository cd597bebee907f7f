// One model embeds: the one in global.model_catalog.embeddings. Clients may call it by the last
// part of its path, or "auto".

#include "router/admin/embeddings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/base64.h"
#include "router/admin/client_handler.h"
#include "router/models/shaped_embedder.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

constexpr size_t kTextsMax = 2048;  // per request, as in OpenAI's API
constexpr size_t kEmbeddedAPass = 16;
constexpr int64_t kDimensionMax = 1 << 16;
constexpr int64_t kLayersMax = 1 << 10;

struct Embedder {
  std::shared_ptr<const engine::TextEmbedder> model;
  const engine::TextModel* text_model = nullptr;  // the same model, if it is a TextModel
  std::string name;

  /// Numbers of a whole embedding.
  int32_t width() const { return text_model != nullptr ? text_model->dim() : model->dim(); }
};

OrFailure<Embedder> find_embedder(const serving::ServingState& state) {
  const config::EmbeddingModel& config = state.config().embedding_model;
  const std::string& path = config.is_remote() ? config.endpoint->model : config.path;
  Embedder embedder;
  embedder.name = std::filesystem::path(path).filename().string();
  embedder.model = state.router->models().embedder;
  if (!embedder.model) {
    auto opened = config.is_remote() ? Result<models::ModelCache::Model>(fail(
                                           Code::kNotFound, "its server did not answer at start"))
                                     : state.shelf.get(path);
    if (!opened) return unusable_model("global.model_catalog.embeddings.semantic", opened.error());
    embedder.model = models::shape_embedder(config, *std::move(opened));
  }
  embedder.text_model = embedder.model->text_model();
  return embedder;
}

OrFailure<void> check_name(const Embedder& embedder, const json::Value& root) {
  const auto model = root.find("model");
  if (!model || model->is_null()) return {};
  if (!model->is_string()) return invalid("model: expected a string");
  const std::string_view name = model->text();
  if (name == "auto" || name.empty() || name == embedder.name) return {};
  return tl::unexpected<access::Failure>(
      access::Failure{404, "MODEL_NOT_FOUND",
                      fmt::format("the model {} does not exist (known: auto, {})",
                                  json::quote_briefly(name), embedder.name)});
}

// Returns the options of the request; those that it lacks are the configuration's.
OrFailure<engine::EmbedOptions> embed_options(const serving::ServingState& state,
                                              const Embedder& embedder, const json::Value& root,
                                              std::string_view dimension_key) {
  SIGNALBOX_OR_FAIL(const int64_t dim, count_member(root, dimension_key, kDimensionMax));
  SIGNALBOX_OR_FAIL(const int64_t layers, count_member(root, "target_layer", kLayersMax));
  if (dim > embedder.width())
    return invalid(fmt::format("{}: the model has {}", dimension_key, embedder.width()));
  if (layers > 0 && (embedder.text_model == nullptr || layers > embedder.text_model->layers()))
    return invalid("target_layer: the model has fewer layers");
  engine::EmbedOptions options;
  if (embedder.text_model != nullptr)
    options = models::embed_options(state.config().embedding_model, *embedder.text_model);
  if (dim > 0) options.dim = static_cast<int32_t>(dim);
  if (layers > 0) options.layers = static_cast<int32_t>(layers);
  return options;
}

/// Returns (texts, dim), L2-normalised.
OrFailure<std::vector<std::vector<float>>> embed(const Embedder& embedder,
                                                 std::span<const std::string_view> texts,
                                                 const engine::EmbedOptions& options,
                                                 const engine::Patience& patience = {}) {
  const auto whole = static_cast<size_t>(embedder.width());
  const size_t dim = options.dim > 0 ? static_cast<size_t>(options.dim) : whole;
  const bool plain = options == engine::EmbedOptions{} || embedder.text_model == nullptr;
  std::vector<std::vector<float>> all;
  for (size_t begin = 0; begin < texts.size(); begin += kEmbeddedAPass) {
    const auto some = texts.subspan(begin, std::min(kEmbeddedAPass, texts.size() - begin));
    std::vector<float> out(some.size() * (plain ? whole : dim));  // (texts, dim)
    const auto done = plain ? embedder.model->embed_within(patience, some, out)
                            : embedder.text_model->embed_within(patience, some, options, out);
    if (!done) return tl::unexpected<access::Failure>(model_failure(done.error()));
    const size_t width = plain ? whole : dim;
    for (size_t i = 0; i < some.size(); ++i) {
      const auto row = out.begin() + static_cast<std::ptrdiff_t>(i * width);
      std::vector<float> vector(row, row + static_cast<std::ptrdiff_t>(dim));
      if (dim < width) {
        double norm = 0;
        for (const float x : vector) norm += double{x} * x;
        for (float& x : vector) x = static_cast<float>(x / std::sqrt(std::max(norm, 1e-24)));
      }
      all.push_back(std::move(vector));
    }
  }
  return all;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

OrFailure<std::string> embeddings(const http::Request& request,
                                  const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  if (const auto images = root.find("images"); images && !images->is_null())
    return tl::unexpected<access::Failure>(
        access::Failure{501, "NOT_IMPLEMENTED", "images: embedding images is not supported"});
  SIGNALBOX_OR_FAIL(const auto texts, texts_member(root, "texts", kTextsMax));
  SIGNALBOX_OR_FAIL(const Embedder embedder, find_embedder(state));
  if (auto known = check_name(embedder, root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(const auto options, embed_options(state, embedder, root, "dimension"));
  SIGNALBOX_OR_FAIL(const auto vectors, embed(embedder, texts, options));
  const double each = watch.ms() / static_cast<double>(texts.size());
  json::Writer out;
  out.begin_object().key("embeddings").begin_array();
  for (size_t i = 0; i < texts.size(); ++i) {
    out.begin_object().member("text", texts[i]).member("modality", "text");
    out.member("embedding", std::span<const float>(vectors[i]));
    out.member("dimension", static_cast<int64_t>(vectors[i].size()));
    out.member("model_used", embedder.name).member("processing_time_ms", each).end_object();
  }
  out.end_array().member("total_count", static_cast<int64_t>(texts.size()));
  out.member("total_processing_time_ms", watch.ms());
  return out.member("avg_processing_time_ms", each).end_object().take();
}

OrFailure<std::string> similarity(const http::Request& request,
                                  const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view one, text_member(root, "text1"));
  SIGNALBOX_OR_FAIL(const std::string_view other, text_member(root, "text2"));
  SIGNALBOX_OR_FAIL(const Embedder embedder, find_embedder(state));
  if (auto known = check_name(embedder, root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(const auto options, embed_options(state, embedder, root, "dimension"));
  const std::string_view texts[] = {one, other};
  SIGNALBOX_OR_FAIL(const auto vectors, embed(embedder, texts, options));
  json::Writer out;
  out.begin_object().member("model_used", embedder.name);
  out.member("similarity", static_cast<float>(dot(vectors[0], vectors[1])));
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

OrFailure<std::string> similarities(const http::Request& request,
                                    const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view query, text_member(root, "query"));
  SIGNALBOX_OR_FAIL(auto texts, texts_member(root, "candidates", kTextsMax));
  SIGNALBOX_OR_FAIL(const int64_t top, count_member(root, "top_k", kTextsMax));
  SIGNALBOX_OR_FAIL(const Embedder embedder, find_embedder(state));
  if (auto known = check_name(embedder, root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(const auto options, embed_options(state, embedder, root, "dimension"));
  texts.push_back(query);
  SIGNALBOX_OR_FAIL(const auto vectors, embed(embedder, texts, options));
  texts.pop_back();
  std::vector<std::pair<float, size_t>> matches;
  for (size_t i = 0; i < texts.size(); ++i)
    matches.emplace_back(static_cast<float>(dot(vectors[i], vectors.back())), i);
  std::stable_sort(matches.begin(), matches.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (top > 0 && static_cast<size_t>(top) < matches.size())
    matches.resize(static_cast<size_t>(top));
  json::Writer out;
  out.begin_object().key("matches").begin_array();
  for (const auto& [score, index] : matches) {
    out.begin_object().member("index", static_cast<int64_t>(index)).member("similarity", score);
    out.member("text", texts[index]).end_object();
  }
  out.end_array().member("total_candidates", static_cast<int64_t>(texts.size()));
  out.member("model_used", embedder.name);
  return out.member("processing_time_ms", watch.ms()).end_object().take();
}

// --- OpenAI's API ---

OrFailure<std::vector<std::string_view>> inputs_of(const json::Value& root) {
  const auto input = root.find("input");
  if (input && input->is_array()) {
    const json::Items items = input->items();
    if (items.begin() != items.end() && !(*items.begin()).is_string())
      return invalid(
          "input: token ids are not supported; expected a string or an array of strings");
    return texts_member(root, "input", kTextsMax);
  }
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "input"));
  return std::vector<std::string_view>{text};
}

void write_vector(json::Writer& out, const std::vector<float>& vector, bool as_base64) {
  if (!as_base64) {
    out.member("embedding", std::span<const float>(vector));
    return;
  }
  static_assert(std::endian::native == std::endian::little);  // OpenAI's clients expect this
  out.member("embedding", base64::encode({reinterpret_cast<const char*>(vector.data()),
                                          vector.size() * sizeof(float)}));
}

AdminHandler embeddings_handler(OrFailure<std::string> (*handler)(const http::Request&,
                                                                  const serving::ServingState&)) {
  return [handler](const http::Request& request, const serving::ServingState& state) {
    const auto outcome = handler(request, state);
    return outcome ? AdminReply{200, *outcome} : AdminReply::of(outcome.error());
  };
}

}  // namespace

OrFailure<std::string> embed_for_client(const http::Request& request,
                                        const serving::ServingState& state,
                                        const engine::Patience& patience) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const json::Value root = document.root();
  SIGNALBOX_OR_FAIL(const auto texts, inputs_of(root));
  SIGNALBOX_OR_FAIL(const std::string_view model, text_member(root, "model"));
  bool as_base64 = false;
  if (const auto format = root.find("encoding_format"); format && !format->is_null()) {
    as_base64 = format->is_string() && format->text() == "base64";
    if (!as_base64 && !(format->is_string() && format->text() == "float"))
      return invalid("encoding_format: expected float or base64");
  }
  SIGNALBOX_OR_FAIL(const Embedder embedder, find_embedder(state));
  if (auto known = check_name(embedder, root); !known)
    return tl::unexpected<access::Failure>(std::move(known).error());
  SIGNALBOX_OR_FAIL(const auto options, embed_options(state, embedder, root, "dimensions"));
  SIGNALBOX_OR_FAIL(const auto vectors, embed(embedder, texts, options, patience));
  int64_t tokens = 0;
  for (const std::string_view text : texts) {
    if (embedder.text_model == nullptr) break;
    tokens += embedder.text_model->tokens({.text = text}).value_or(0);
  }
  json::Writer out;
  out.begin_object().member("object", "list").key("data").begin_array();
  for (size_t i = 0; i < vectors.size(); ++i) {
    out.begin_object().member("object", "embedding").member("index", static_cast<int64_t>(i));
    write_vector(out, vectors[i], as_base64);
    out.end_object();
  }
  out.end_array().member("model", model).key("usage").begin_object();
  out.member("prompt_tokens", tokens).member("total_tokens", tokens);
  return out.end_object().end_object().take();
}

std::vector<http::Route> embedding_routes(const serving::CurrentState& current,
                                          http::ThreadPool& pool) {
  std::vector<http::Route> routes;
  const auto add = [&](std::string_view path, AdminHandler run) {
    routes.push_back(management_route("POST", std::string(path), access::kClassify, current, pool,
                                      std::move(run)));
  };
  add("/api/v1/embeddings", embeddings_handler(embeddings));
  add("/api/v1/similarity", embeddings_handler(similarity));
  add("/api/v1/similarity/batch", embeddings_handler(similarities));
  add("/v1/embeddings", [](const http::Request& request, const serving::ServingState& state) {
    return answer_client(request, state, embed_for_client);
  });
  return routes;
}

}  // namespace signalbox::admin
