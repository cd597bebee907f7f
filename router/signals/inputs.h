#pragma once
// One request as signals see it, and the work that several of them share: a text is embedded and
// classified once, however many signals look at it.

#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/api/chat_request.h"

namespace signalbox::router {

/// The value of a request's header field by its name in lower case. Empty: there are none.
using HeaderLookup = std::function<std::optional<std::string_view>(std::string_view name)>;

/// Not thread-safe. The request, what `headers` looks at and the embedder outlive it.
class Inputs {
 public:
  Inputs(const ChatRequest& request, HeaderLookup headers, const engine::TextEmbedder* embedder)
      : request_(request), headers_(std::move(headers)), embedder_(embedder) {}

  const ChatRequest& request() const { return request_; }
  std::optional<std::string_view> header(std::string_view name) const {
    return headers_ ? headers_(name) : std::nullopt;
  }

  /// The L2-normalised embedding of a text of the request, (dim). Precondition: the router has an
  /// embedder. Errors are the embedder's.
  Result<std::span<const float>> embedding(std::string_view text);

  /// What each head of the model says of a text of the request. Errors are the model's.
  Result<std::span<const engine::Answer>> answers(const engine::TextModel& model,
                                                  std::string_view text);
  /// The same if it has been found out already; empty otherwise.
  std::span<const engine::Answer> known_answers(const engine::TextModel& model,
                                                std::string_view text) const;

 private:
  // Texts of a request stay where they are, so their address tells them apart.
  struct Embedded {
    std::string_view text;
    std::vector<float> vector;
  };
  struct Answered {
    const engine::TextModel* model;
    std::string_view text;
    std::vector<engine::Answer> answers;
  };

  const ChatRequest& request_;
  HeaderLookup headers_;
  const engine::TextEmbedder* embedder_;
  std::list<Embedded> embedded_;
  std::list<Answered> answered_;
};

}  // namespace signalbox::router
