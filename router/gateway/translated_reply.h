#pragma once
// An upstream's answer in the form of another API.

#include <memory>
#include <optional>
#include <string>

#include "router/dialects/dialect.h"
#include "router/upstream/backend.h"

namespace signalbox::gateway {

/// A stream of events goes on as it comes; any other body is read whole before there is an answer,
/// up to kBodyBytesMax, so that what cannot be translated ends in a status of its own.
class TranslatedReply final : public upstream::UpstreamReply {
 public:
  static constexpr size_t kBodyBytesMax = size_t{1} << 26;

  /// `streams`: what was asked for. kUpstream for an answer of the other kind, for one that is
  /// compressed although it was not asked to be, and the translator's; UpstreamReply::next()'s. The
  /// translator outlives it.
  static http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> wrap(
      std::unique_ptr<upstream::UpstreamReply> answer, dialects::ReplyTranslator& translator,
      bool streams);

  const http::Response& head() const override { return head_; }
  /// One piece may become none: what has been passed on does not wait for the next.
  bool ready() const override { return !events_; }
  http::Task<Result<upstream::Piece>> next() override;
  void nudge() override { answer_->nudge(); }

 private:
  TranslatedReply(std::unique_ptr<upstream::UpstreamReply> answer,
                  dialects::ReplyTranslator& translator);
  http::Task<Result<void>> read_whole();
  Result<void> take(const upstream::Piece& piece);

  std::unique_ptr<upstream::UpstreamReply> answer_;
  dialects::ReplyTranslator& translator_;
  http::Response head_;
  bool events_ = false;
  std::optional<Error> error_;  // to come behind what was translated before it
  std::string out_;             // of what is no stream, all of it
};

}  // namespace signalbox::gateway
