// The passages of all strings of a JSON compete with each other, so that the string that answers
// the question keeps more than the others.

#include "router/compress/excerpt.h"

#include <algorithm>
#include <functional>
#include <span>

#include "base/json_writer.h"
#include "router/request/request_text.h"
#include "router/splice/edit.h"

namespace signalbox::compress {
namespace {

// Shorter strings of a JSON are names, states and numbers, which the others refer to.
constexpr size_t kPieceBytesMin = 200;
// JSON in a string of JSON in a string. The text of a deeper one is a piece like any other.
constexpr int kDepthMax = 3;
constexpr float kPassageTokensMin = 32, kPassageTokensMax = 64;

using VisitString = std::function<void(const json::Value&)>;

void visit_strings(const json::Value& value, const VisitString& visit) {
  if (value.is_string()) return visit(value);
  for (const json::Value& item : value.items()) visit_strings(item, visit);
  for (const json::Member& member : value.members()) visit_strings(member.value, visit);
}

std::optional<json::Document> json_of(std::string_view text, int depth) {
  return depth < kDepthMax ? request::json_within(text) : std::nullopt;
}

void collect(std::string_view text, int depth, std::vector<std::string>& pieces) {
  const auto document = json_of(text, depth);
  if (!document) {
    if (depth == 0 || text.size() >= kPieceBytesMin) pieces.emplace_back(text);
    return;
  }
  visit_strings(document->root(),
                [&](const json::Value& value) { collect(value.text(), depth + 1, pieces); });
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

// Returns the ranges of a piece with marks between them; the piece itself if that is not shorter.
std::string joined(std::string_view piece, const std::vector<Range>& kept) {
  std::string out;
  size_t end = 0;
  const auto skip_to = [&](size_t begin) {
    if (!is_blank(piece.substr(end, begin - end))) out += kLeftOutMark;
  };
  for (const Range& range : kept) {
    skip_to(range.begin);
    out += piece.substr(range.begin, range.end - range.begin);
    end = range.end;
  }
  skip_to(piece.size());
  return out.size() < piece.size() ? out : std::string(piece);
}

// Takes the pieces in the order in which collect() found them.
std::string rebuild(std::string_view text, int depth, std::span<const std::vector<Range>>& kept) {
  const auto document = json_of(text, depth);
  if (!document) {
    if (depth > 0 && text.size() < kPieceBytesMin) return std::string(text);
    std::string out = joined(text, kept.front());
    kept = kept.subspan(1);
    return out;
  }
  std::vector<splice::Edit> edits;
  visit_strings(document->root(), [&](const json::Value& value) {
    std::string shorter = rebuild(value.text(), depth + 1, kept);
    if (shorter != value.text())
      edits.push_back({value.begin(), value.end(), json::quote(shorter)});
  });
  return splice::apply(document->source(), std::move(edits));
}

}  // namespace

Excerpt::Excerpt(std::string_view text, std::string_view question, size_t bytes_max) : text_(text) {
  collect(text, 0, pieces_);
  for (const std::string& piece : pieces_) piece_bytes_ += piece.size();
  const std::vector<std::string_view> views(pieces_.begin(), pieces_.end());
  const float tokens = static_cast<float>(bytes_max / kBytesPerToken) / 4;
  passages_ = std::make_unique<Passages>(views, question,
                                         std::clamp(tokens, kPassageTokensMin, kPassageTokensMax));
}

std::string Excerpt::shortened(size_t bytes_max) const {
  if (pieces_.empty() || text_.size() <= bytes_max) return std::string(text_);
  const size_t others = text_.size() - std::min(piece_bytes_, text_.size());
  const size_t for_pieces = std::max(bytes_max - std::min(others, bytes_max), bytes_max / 4);
  const auto kept = passages_->choose(for_pieces, kLeftOutMark.size());
  std::span<const std::vector<Range>> left = kept;
  std::string out = rebuild(text_, 0, left);
  return out.size() < text_.size() ? out : std::string(text_);
}

}  // namespace signalbox::compress
