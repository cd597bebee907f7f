// Implements signalbox.h on engine.h: checks arguments, keeps errors for the calling thread, and
// stores answers so that they can be returned as a pointer and a count. The number of entities
// varies, so they are stored as one list for each text and head.

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/rerank.h"
#include "engine/signalbox.h"

namespace engine = signalbox::engine;
using signalbox::Code;
using signalbox::Error;
using signalbox::fail;
using signalbox::Result;

struct signalbox_model {
  std::unique_ptr<const engine::TextModel> model;
  std::vector<std::vector<const char*>> labels;  // (heads, labels)
  std::vector<signalbox_head> heads;             // point into model and labels
};

struct signalbox_answers {
  size_t heads = 0;
  std::vector<engine::Answer> answers;                  // (texts, heads)
  std::vector<std::vector<signalbox_entity>> entities;  // (texts, heads): point into answers
  std::vector<bool> truncated;                          // (texts)
};

namespace {

constexpr size_t kTextBytesMax = UINT32_MAX;

thread_local std::string last_error;

signalbox_status status_of(Code code) {
  return static_cast<signalbox_status>(static_cast<int>(code) + 1);
}

static_assert(static_cast<int>(Code::kInvalid) + 1 == SIGNALBOX_INVALID);
static_assert(static_cast<int>(Code::kTooLarge) + 1 == SIGNALBOX_TOO_LARGE);
static_assert(static_cast<int>(Code::kNotFound) + 1 == SIGNALBOX_NOT_FOUND);
static_assert(static_cast<int>(Code::kUnsupported) + 1 == SIGNALBOX_UNSUPPORTED);
static_assert(static_cast<int>(Code::kCorrupt) + 1 == SIGNALBOX_CORRUPT);
static_assert(static_cast<int>(Code::kIo) + 1 == SIGNALBOX_IO);
static_assert(static_cast<int>(Code::kInternal) + 1 == SIGNALBOX_INTERNAL);

static_assert(static_cast<int>(engine::Precision::kF32) == SIGNALBOX_F32);
static_assert(static_cast<int>(engine::Precision::kBF16) == SIGNALBOX_BF16);
static_assert(static_cast<int>(engine::Precision::kI8) == SIGNALBOX_I8);
static_assert(engine::kNoAdapter + 1 == 0);
static_assert(static_cast<int>(engine::HeadKind::kSequence) == SIGNALBOX_SEQUENCE);
static_assert(static_cast<int>(engine::HeadKind::kTokens) == SIGNALBOX_TOKENS);
static_assert(static_cast<int>(engine::Scores::kSoftmax) == SIGNALBOX_SOFTMAX);
static_assert(static_cast<int>(engine::Scores::kSigmoid) == SIGNALBOX_SIGMOID);
static_assert(static_cast<int>(engine::Scores::kRaw) == SIGNALBOX_RAW);
static_assert(static_cast<int>(engine::Pooling::kMean) + 1 == SIGNALBOX_POOL_MEAN);
static_assert(static_cast<int>(engine::Pooling::kFirst) + 1 == SIGNALBOX_POOL_FIRST);
static_assert(static_cast<int>(engine::Pooling::kLast) + 1 == SIGNALBOX_POOL_LAST);
static_assert(static_cast<int>(engine::Pooling::kMax) + 1 == SIGNALBOX_POOL_MAX);

// Runs code that can return an error or throw, and keeps the message.
template <class Body>
signalbox_status guarded(const Body& body) noexcept {
  try {
    const Result<void> done = body();
    if (done) return SIGNALBOX_OK;
    last_error = done.error().message;
    return status_of(done.error().code);
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // short enough for the string's inline buffer
  } catch (const std::exception&) {
    last_error = "internal error";
  }
  return SIGNALBOX_INTERNAL;
}

// Writes a count for the caller, who may pass NULL.
void set_count(size_t* count, size_t value) {
  if (count != nullptr) *count = value;
}

// Returns the place of a text and a head in the lists of `answers`, or nullopt.
std::optional<size_t> place_of(const signalbox_answers* answers, size_t text, size_t head) {
  if (answers == nullptr || head >= answers->heads) return std::nullopt;
  if (text >= answers->answers.size() / answers->heads) return std::nullopt;
  return text * answers->heads + head;
}

// Returns a list's values, or NULL and 0 if it is empty.
template <class T>
const T* list_of(const std::vector<T>& list, size_t* count) {
  set_count(count, list.size());
  return list.empty() ? nullptr : list.data();
}

Result<void> need(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return fail(Code::kInvalid, "{} is NULL", name);
}

// Checks an argument that represents an enumerator.
Result<void> check_choice(const char* name, int32_t value, int32_t last) {
  if (value >= 0 && value <= last) return {};
  return fail(Code::kInvalid, "{} {}, expected 0 to {}", name, value, last);
}

// In the C interface adapters are numbered from 1, and zero means none.
Result<int32_t> adapter_of(const char* name, int32_t adapter) {
  if (adapter < 0) return fail(Code::kInvalid, "{} {}, expected 0 or more", name, adapter);
  return adapter == 0 ? engine::kNoAdapter : adapter - 1;
}

Result<std::string_view> view(const char* name, const signalbox_text& text, size_t i) {
  if (text.bytes == nullptr && text.size > 0) {
    return fail(Code::kInvalid, "{}[{}].bytes is NULL, its size {}", name, i, text.size);
  }
  if (text.size > kTextBytesMax) {
    return fail(Code::kTooLarge, "{}[{}] has {} bytes, at most {}", name, i, text.size,
                kTextBytesMax);
  }
  return std::string_view(text.bytes == nullptr ? "" : text.bytes, text.size);
}

Result<engine::OpenOptions> read(const signalbox_options* options) {
  engine::OpenOptions out;
  if (options == nullptr) return out;
  SIGNALBOX_TRY_VOID(check_choice("precision", options->precision, SIGNALBOX_I8));
  out.precision = static_cast<engine::Precision>(options->precision);
  if (options->threads != 0) out.threads = options->threads;
  if (options->heads_count > 0) SIGNALBOX_TRY_VOID(need(options->heads, "heads"));
  for (size_t i = 0; i < options->heads_count; ++i) {
    SIGNALBOX_TRY_VOID(need(options->heads[i], "a directory of heads"));
    out.heads.emplace_back(options->heads[i]);
  }
  if (options->adapter != nullptr) out.adapter = options->adapter;
  if (options->adapters_count > 0) SIGNALBOX_TRY_VOID(need(options->adapters, "adapters"));
  for (size_t i = 0; i < options->adapters_count; ++i) {
    SIGNALBOX_TRY_VOID(need(options->adapters[i], "a directory of adapters"));
    out.adapters.emplace_back(options->adapters[i]);
  }
  return out;
}

Result<engine::EmbedOptions> read(const signalbox_embed_options* options) {
  engine::EmbedOptions out;
  if (options == nullptr) return out;
  SIGNALBOX_TRY_VOID(check_choice("pooling", options->pooling, SIGNALBOX_POOL_MAX));
  out.layers = options->layers;
  out.dim = options->dim;
  SIGNALBOX_TRY(out.adapter, adapter_of("adapter", options->adapter));
  if (options->pooling != 0) out.pooling = static_cast<engine::Pooling>(options->pooling - 1);
  return out;
}

void describe_heads(signalbox_model& model) {
  for (const engine::HeadInfo& head : model.model->heads()) {
    auto& labels = model.labels.emplace_back();
    for (const std::string& label : head.labels) labels.push_back(label.c_str());
    model.heads.push_back({head.name.c_str(), static_cast<int32_t>(head.kind),
                           static_cast<int32_t>(head.scores), labels.data(), labels.size(),
                           head.adapter + 1});
  }
}

Result<void> embed(const signalbox_model* model, const signalbox_text* texts, size_t count,
                   const signalbox_embed_options* options, float* out, size_t out_size) {
  SIGNALBOX_TRY_VOID(need(model, "model"));
  SIGNALBOX_TRY(const engine::EmbedOptions chosen, read(options));
  const int32_t dim = chosen.dim == 0 ? model->model->dim() : chosen.dim;
  if (dim < 0 || dim > model->model->dim()) {
    return fail(Code::kInvalid, "{} dimensions, the model has {}", dim, model->model->dim());
  }
  // Uses division because the product could overflow.
  const bool fits = out_size % static_cast<size_t>(dim) == 0 && out_size / dim == count;
  if (!fits) {
    return fail(Code::kInvalid, "out_size {}, expected {} texts x {} numbers", out_size, count,
                dim);
  }
  if (count == 0) return {};
  SIGNALBOX_TRY_VOID(need(texts, "texts"));
  SIGNALBOX_TRY_VOID(need(out, "out"));
  std::vector<std::string_view> views(count);
  for (size_t i = 0; i < count; ++i) {
    SIGNALBOX_TRY(views[i], view("texts", texts[i], i));
  }
  return model->model->embed(views, chosen, {out, out_size});
}

Result<std::vector<engine::Input>> read_inputs(const signalbox_text* texts,
                                               const signalbox_text* pairs, size_t count) {
  if (count > 0) SIGNALBOX_TRY_VOID(need(texts, "texts"));
  std::vector<engine::Input> inputs(count);
  for (size_t i = 0; i < count; ++i) {
    SIGNALBOX_TRY(inputs[i].text, view("texts", texts[i], i));
    SIGNALBOX_TRY(inputs[i].adapter, adapter_of("texts[].adapter", texts[i].adapter));
    if (pairs == nullptr) continue;
    SIGNALBOX_TRY(inputs[i].pair, view("pairs", pairs[i], i));
  }
  return inputs;
}

Result<void> answer(const signalbox_model& model, const signalbox_text* texts,
                    const signalbox_text* pairs, size_t count, signalbox_answers& out) {
  SIGNALBOX_TRY(const auto inputs, read_inputs(texts, pairs, count));
  SIGNALBOX_TRY(out.answers, model.model->answer(inputs));
  out.heads = model.heads.size();
  out.entities.resize(out.answers.size());
  for (size_t i = 0; i < out.answers.size(); ++i) {
    for (const engine::Entity& entity : out.answers[i].entities) {
      out.entities[i].push_back({entity.type.c_str(), entity.begin, entity.end, entity.score});
    }
  }
  for (const engine::Input& input : inputs) {
    SIGNALBOX_TRY(const bool is_cut, model.model->is_cut(input));
    out.truncated.push_back(is_cut);
  }
  return {};
}

Result<void> split(const signalbox_model& model, const signalbox_text& text, int32_t tokens,
                   std::span<signalbox_text> out, size_t& count) {
  const int32_t tokens_max = model.model->tokens_max();
  const int32_t chosen = tokens == 0 ? std::min(engine::kWindowTokens, tokens_max) : tokens;
  if (chosen < engine::kWindowTokensMin || chosen > tokens_max) {
    return fail(Code::kInvalid, "windows of {} tokens, expected {} to the model's {}", chosen,
                engine::kWindowTokensMin, tokens_max);
  }
  SIGNALBOX_TRY(const std::string_view whole, view("text", text, 0));
  SIGNALBOX_TRY(const auto windows, model.model->windows(whole, chosen, chosen / 8));
  count = windows.size();
  for (size_t i = 0; i < std::min(count, out.size()); ++i)
    out[i] = {windows[i].data(), windows[i].size(), text.adapter};
  return {};
}

// A text that is ranked runs with the head's adapter.
Result<void> check_adapter(const char* name, const signalbox_text& text, int32_t adapter) {
  if (text.adapter == 0 || text.adapter == adapter) return {};
  return fail(Code::kInvalid, "{}.adapter {}, expected 0 or the head's {}", name, text.adapter,
              adapter);
}

Result<void> rank(const signalbox_model& model, size_t head, const signalbox_text& query,
                  std::span<const signalbox_text> documents, std::span<signalbox_ranked> out) {
  if (head >= model.heads.size())
    return fail(Code::kInvalid, "head {}, the model has {}", head, model.heads.size());
  const int32_t adapter = model.heads[head].adapter;
  SIGNALBOX_TRY(const std::string_view text, view("query", query, 0));
  SIGNALBOX_TRY_VOID(check_adapter("query", query, adapter));
  std::vector<std::string_view> views(documents.size());
  for (size_t i = 0; i < views.size(); ++i) {
    SIGNALBOX_TRY(views[i], view("documents", documents[i], i));
    SIGNALBOX_TRY_VOID(check_adapter("documents[]", documents[i], adapter));
  }
  SIGNALBOX_TRY(const auto ranked, engine::rerank(*model.model, head, text, views));
  for (size_t i = 0; i < ranked.size(); ++i)
    out[i] = {ranked[i].index, ranked[i].score, ranked[i].whole ? 0 : 1};
  return {};
}

}  // namespace

const char* signalbox_status_name(signalbox_status status) {
  static constexpr std::array kNames{
      "ok",      "invalid", "too_large", "not_found", "unsupported", "corrupt",
      "unknown", "unknown", "unknown",   "io",        "unknown",     "internal",
  };
  const auto at = static_cast<size_t>(status);
  return at < kNames.size() ? kNames[at] : "unknown";
}

const char* signalbox_last_error(void) {
  return last_error.c_str();
}

const char* signalbox_version(void) {
  return SIGNALBOX_VERSION;
}

signalbox_status signalbox_open(const char* directory, const signalbox_options* options,
                                signalbox_model** model) {
  if (model != nullptr) *model = nullptr;
  return guarded([&]() -> Result<void> {
    SIGNALBOX_TRY_VOID(need(directory, "directory"));
    SIGNALBOX_TRY_VOID(need(model, "model"));
    SIGNALBOX_TRY(const engine::OpenOptions chosen, read(options));
    auto opened = std::make_unique<signalbox_model>();
    SIGNALBOX_TRY(opened->model, engine::TextModel::open(directory, chosen));
    describe_heads(*opened);
    *model = opened.release();
    return {};
  });
}

void signalbox_close(signalbox_model* model) {
  delete model;
}

int32_t signalbox_dim(const signalbox_model* model) {
  return model == nullptr ? 0 : model->model->dim();
}

int32_t signalbox_layers(const signalbox_model* model) {
  return model == nullptr ? 0 : model->model->layers();
}

int32_t signalbox_tokens_max(const signalbox_model* model) {
  return model == nullptr ? 0 : model->model->tokens_max();
}

const signalbox_head* signalbox_heads(const signalbox_model* model, size_t* count) {
  set_count(count, 0);
  return model == nullptr ? nullptr : list_of(model->heads, count);
}

signalbox_status signalbox_embed(const signalbox_model* model, const signalbox_text* texts,
                                 size_t count, const signalbox_embed_options* options, float* out,
                                 size_t out_size) {
  return guarded([&] { return embed(model, texts, count, options, out, out_size); });
}

signalbox_status signalbox_answer(const signalbox_model* model, const signalbox_text* texts,
                                  const signalbox_text* pairs, size_t count,
                                  signalbox_answers** answers) {
  if (answers != nullptr) *answers = nullptr;
  return guarded([&]() -> Result<void> {
    SIGNALBOX_TRY_VOID(need(model, "model"));
    SIGNALBOX_TRY_VOID(need(answers, "answers"));
    auto found = std::make_unique<signalbox_answers>();
    SIGNALBOX_TRY_VOID(answer(*model, texts, pairs, count, *found));
    *answers = found.release();
    return {};
  });
}

void signalbox_answers_free(signalbox_answers* answers) {
  delete answers;
}

int32_t signalbox_is_truncated(const signalbox_answers* answers, size_t text) {
  return answers != nullptr && text < answers->truncated.size() && answers->truncated[text] ? 1 : 0;
}

const float* signalbox_scores(const signalbox_answers* answers, size_t text, size_t head,
                              size_t* count) {
  set_count(count, 0);
  const auto place = place_of(answers, text, head);
  return place ? list_of(answers->answers[*place].scores, count) : nullptr;
}

const signalbox_entity* signalbox_entities(const signalbox_answers* answers, size_t text,
                                           size_t head, size_t* count) {
  set_count(count, 0);
  const auto place = place_of(answers, text, head);
  return place ? list_of(answers->entities[*place], count) : nullptr;
}

signalbox_status signalbox_windows(const signalbox_model* model, const signalbox_text* text,
                                   int32_t tokens, signalbox_text* windows, size_t capacity,
                                   size_t* count) {
  set_count(count, 0);
  return guarded([&]() -> Result<void> {
    SIGNALBOX_TRY_VOID(need(model, "model"));
    SIGNALBOX_TRY_VOID(need(text, "text"));
    if (capacity > 0) SIGNALBOX_TRY_VOID(need(windows, "windows"));
    size_t found = 0;
    SIGNALBOX_TRY_VOID(split(*model, *text, tokens, {windows, capacity}, found));
    set_count(count, found);
    return {};
  });
}

signalbox_status signalbox_rerank(const signalbox_model* model, size_t head,
                                  const signalbox_text* query, const signalbox_text* documents,
                                  size_t count, signalbox_ranked* out) {
  return guarded([&]() -> Result<void> {
    SIGNALBOX_TRY_VOID(need(model, "model"));
    SIGNALBOX_TRY_VOID(need(query, "query"));
    if (count > 0) SIGNALBOX_TRY_VOID(need(documents, "documents"));
    if (count > 0) SIGNALBOX_TRY_VOID(need(out, "out"));
    return rank(*model, head, *query, {documents, count}, {out, count});
  });
}
