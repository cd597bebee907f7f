#pragma once
// An upstream reply in the form of another API.

#include <memory>
#include <optional>
#include <string>

#include "router/dialects/dialect.h"
#include "router/http/io.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

struct RequestScope;
struct ReplyFilterInputs;

/// Returns the reply as the events that its client requested, if its server has answered whole:
/// some do not stream. Other replies stay as they are: those without an answer, with a status other
/// than 200, with an encoding, or of a type that is not JSON. A large body is translated on the
/// pool for reading.
http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> as_stream(
    const ReplyFilterInputs& inputs, std::unique_ptr<upstream::UpstreamReply> reply);

/// Publishes what was translated last, and waits until other routers can know it, but no longer
/// than the translator's patience. Not needed unless the translator has something unpublished.
http::Task<> publish(dialects::ReplyTranslator& translator);

/// A stream of events is translated as it comes. Any other body is read whole first, up to
/// kBodyBytesMax, so that a body that cannot be translated ends in an error status.
class TranslatedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// `streams`: the client requested a stream; then a whole reply is translated, too. The
  /// translator must outlive the reply. Errors: kUpstream if the reply is a stream that the client
  /// did not request or is compressed, although the router accepts no compressed reply; those of
  /// the translator and of UpstreamReply::next(). A large body is translated on the pool for
  /// reading. Without a `scope`, which another reply may be using, it is translated on the loop.
  static http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> wrap(
      std::unique_ptr<upstream::UpstreamReply> answer, dialects::ReplyTranslator& translator,
      bool streams, const RequestScope* scope);

  const http::Response& head() const override { return head_; }
  /// False for a stream, because a piece may translate to nothing.
  bool ready() const override { return !events_; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override {
    if (answer_) answer_->nudge();
  }

 private:
  TranslatedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                  dialects::ReplyTranslator& translator);
  http::Task<Result<void>> read_whole(const RequestScope* scope);
  Result<void> take(const upstream::Piece& piece);

  std::unique_ptr<upstream::UpstreamReply> answer_;  // null once a body was read whole
  dialects::ReplyTranslator& translator_;
  http::Response head_;
  bool events_ = false;
  std::optional<Error> error_;  // sent after what was translated before it
  std::string out_;             // the whole body if it is not a stream
};

}  // namespace signalbox::gateway
