#pragma once
// One request as the signals see it, and the model results that several of them share: each text is
// embedded and classified once, however many signals use it, sequentially or in parallel.

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/routing.h"
#include "router/request/chat_request.h"
#include "router/signals/compression.h"
#include "router/signals/jailbreak_windows.h"

namespace signalbox::signals {

using config::HeaderLookup;

/// digest(), embedding(), answers() and classes() are thread-safe. A caller that needs a result
/// that another thread is computing waits for it and receives the same result or error. The
/// request, the data that `headers` refers to, the embedder and the compression must outlive this
/// object.
class Inputs {
 public:
  Inputs(const request::ChatRequest& request, HeaderLookup headers,
         const engine::TextEmbedder* embedder, const Compression* compression = nullptr)
      : request_(request),
        headers_(std::move(headers)),
        embedder_(embedder),
        compression_(compression) {}

  /// Sets how long models may let this request wait. Call before the first model pass.
  void set_patience(engine::Patience patience) { patience_ = std::move(patience); }
  const engine::Patience& patience() const { return patience_; }

  /// The model that answered last in the conversation; "": none is known. The name must outlive
  /// this object.
  void set_previous_model(std::string_view model) { previous_model_ = model; }
  std::string_view previous_model() const { return previous_model_; }

  /// True if the router has an embedder.
  bool embeds() const { return embedder_ != nullptr; }

  const request::ChatRequest& request() const { return request_; }
  std::optional<std::string_view> header(std::string_view name) const {
    return headers_ ? headers_(name) : std::nullopt;
  }

  /// Returns the text that signals of the type read instead of a text of the request: its skeleton
  /// if the text is long and the configuration enables compression for the type, otherwise the text
  /// itself. The result lives as long as this object.
  std::string_view digest(std::string_view type, std::string_view text);

  /// Returns texts of the request with the texts hidden in them, for guards. The result lives as
  /// long as this object.
  const GuardedTexts& guarded_texts(const std::vector<std::string_view>& texts);

  /// Returns the L2-normalised embedding, (dim), of a text of the request or of its digest.
  /// Precondition: the router has an embedder. Returns the embedder's errors.
  Result<std::span<const float>> embedding(std::string_view text);

  /// Returns the result of each head of the model for a text of the request or its digest. If the
  /// text is `screened`, the model's screen may clear it: see engine::Input. Returns the model's
  /// errors.
  Result<std::span<const engine::Answer>> answers(const engine::TextModel& model,
                                                  std::string_view text, bool screened = false);

  /// Computes the results of answers() for several texts at once, so that the model's threads share
  /// the work. Returns the model's errors.
  Result<void> answer_ahead(const engine::TextModel& model, std::span<const std::string_view> texts,
                            bool screened = false);

  /// Returns the class scores of each head, (heads), for a text of the request or its digest of any
  /// length; see text_classes(). Returns the model's errors.
  Result<std::span<const std::vector<float>>> classes(const engine::TextModel& model,
                                                      std::string_view text);
  /// Returns the class scores that signals of the type have already computed for a text of the
  /// request or its digest; empty if there are none. Must not run concurrently with other calls.
  std::span<const std::vector<float>> known_classes(std::string_view type,
                                                    const engine::TextModel& model,
                                                    std::string_view text) const;

  /// One pass of a model over a text. The time includes waiting.
  struct ModelPass {
    const engine::TextEmbedder* model;
    std::chrono::steady_clock::time_point began, ended;
    std::optional<Code> error;
    bool cleared = false;  // by the model's screen, so that only its first layers ran
  };
  /// Returns all passes so far. Must not run concurrently with other calls.
  std::vector<ModelPass> passes() const;

 private:
  // A computation, with or without a model, that the first caller runs. The texts of a request do
  // not move, so their address identifies them.
  template <class T>
  struct Pass {
    Pass(const engine::TextEmbedder* by, std::string_view of, bool may_be_cleared)
        : model(by), text(of), screened(may_be_cleared) {}
    const engine::TextEmbedder* model;
    std::string_view text;
    const bool screened;
    std::once_flag once;
    std::atomic<bool> is_begun = false;
    Result<T> result;
    std::chrono::steady_clock::time_point began, ended;

    bool is_of(const engine::TextEmbedder* by, std::string_view what) const {
      return model == by && text.data() == what.data() && text.size() == what.size();
    }
    /// Runs `how` once, for the first caller.
    template <class Run>
    void run(const Run& how) {
      std::call_once(once, [&] {
        is_begun = true;
        began = std::chrono::steady_clock::now();
        result = how();
        ended = std::chrono::steady_clock::now();
      });
    }
  };
  template <class T>
  using Passes = std::list<Pass<T>>;

  template <class T>
  Pass<T>& pass_of(Passes<T>& passes, const engine::TextEmbedder* model, std::string_view text,
                   bool screened = false);

  const request::ChatRequest& request_;
  HeaderLookup headers_;
  const engine::TextEmbedder* embedder_;
  const Compression* compression_;
  engine::Patience patience_;
  std::string_view previous_model_;
  std::mutex mutex_;  // guards the lists, not the contents of their entries
  Passes<std::optional<compress::Skeleton>> shortened_;
  std::list<std::pair<std::vector<std::string_view>, GuardedTexts>> guarded_;
  Passes<std::vector<float>> embedded_;
  Passes<std::vector<engine::Answer>> answered_;
  Passes<std::vector<std::vector<float>>> classified_;
};

}  // namespace signalbox::signals
