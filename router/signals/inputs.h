#pragma once
// One request as signals see it, and the work that several of them share: a text is embedded and
// classified once, however many signals look at it, one after the other or at the same time.

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/request/chat_request.h"
#include "router/signals/compression.h"

namespace signalbox::signals {

/// The value of a request's header field by its name in lower case. Empty: there are none.
using HeaderLookup = std::function<std::optional<std::string_view>(std::string_view name)>;

/// digest(), embedding(), answers() and classes() are thread-safe: who asks for what another thread
/// is at waits for it, and shares its error too. The request, what `headers` looks at, the embedder
/// and the compression outlive it.
class Inputs {
 public:
  Inputs(const request::ChatRequest& request, HeaderLookup headers,
         const engine::TextEmbedder* embedder, const Compression* compression = nullptr)
      : request_(request),
        headers_(std::move(headers)),
        embedder_(embedder),
        compression_(compression) {}

  /// How long models may let this request wait. Before anybody asks for a pass.
  void set_patience(engine::Patience patience) { patience_ = std::move(patience); }

  const request::ChatRequest& request() const { return request_; }
  std::optional<std::string_view> header(std::string_view name) const {
    return headers_ ? headers_(name) : std::nullopt;
  }

  /// What signals of the type read of a text of the request: the text, or its skeleton where it is
  /// long and the configuration says so. Lives as long as this.
  std::string_view digest(std::string_view type, std::string_view text);

  /// The L2-normalised embedding of a text of the request or of its digest, (dim). Precondition:
  /// the router has an embedder. Errors are the embedder's.
  Result<std::span<const float>> embedding(std::string_view text);

  /// What each head of the model says of a text of the request or of its digest. Errors are the
  /// model's.
  Result<std::span<const engine::Answer>> answers(const engine::TextModel& model,
                                                  std::string_view text);

  /// What each head of the model says of a text of the request or of its digest however long it is,
  /// (heads), as text_classes(). Errors are the model's.
  Result<std::span<const std::vector<float>>> classes(const engine::TextModel& model,
                                                      std::string_view text);
  /// What signals of the type have found out of a text of the request or of its digest so; empty
  /// where they have not. Not while others ask.
  std::span<const std::vector<float>> known_classes(std::string_view type,
                                                    const engine::TextModel& model,
                                                    std::string_view text) const;

  /// A text that went through a model, and how long that took, its wait included.
  struct Timed {
    const engine::TextEmbedder* model;
    std::chrono::steady_clock::time_point began, ended;
    std::optional<Code> error;
  };
  /// All so far. Not while others ask.
  std::vector<Timed> passes() const;

 private:
  // A pass of a model, or of none, run by the first who asks for it. Texts of a request stay where
  // they are, so their address tells them apart.
  template <class T>
  struct Pass {
    Pass(const engine::TextEmbedder* by, std::string_view of) : model(by), text(of) {}
    const engine::TextEmbedder* model;
    std::string_view text;
    std::once_flag once;
    Result<T> result;
    std::chrono::steady_clock::time_point began, ended;

    bool is_of(const engine::TextEmbedder* by, std::string_view what) const {
      return model == by && text.data() == what.data() && text.size() == what.size();
    }
    /// Once, whoever comes first.
    template <class Run>
    void run(const Run& how) {
      std::call_once(once, [&] {
        began = std::chrono::steady_clock::now();
        result = how();
        ended = std::chrono::steady_clock::now();
      });
    }
  };
  template <class T>
  using Passes = std::list<Pass<T>>;

  template <class T>
  Pass<T>& pass_of(Passes<T>& passes, const engine::TextEmbedder* model, std::string_view text);

  const request::ChatRequest& request_;
  HeaderLookup headers_;
  const engine::TextEmbedder* embedder_;
  const Compression* compression_;
  engine::Patience patience_;
  std::mutex mutex_;  // of the lists, not of what their entries hold
  Passes<std::optional<compress::Skeleton>> shortened_;
  Passes<std::vector<float>> embedded_;
  Passes<std::vector<engine::Answer>> answered_;
  Passes<std::vector<std::vector<float>>> classified_;
};

}  // namespace signalbox::signals
