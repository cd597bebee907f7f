#pragma once
// How a reply says what was found in it, so that clients who know nothing of it go on as if nothing
// was said: a chunk with an empty delta and one member more, a sentence in the text, an end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// The member that says it.
inline constexpr std::string_view kGuardMember = "vsr_guard";

/// What identifies a stream and its form, for chunks of our own: from one of its own chunks.
struct ChunkHead {
  std::string members;      // "{", those that a stream's chunks share, each with a comma
  bool plain_text = false;  // of completions that are no chats
  static ChunkHead of(const json::Value& chunk);
};

/// One mark: what warns, in which choice, and what of it may be told.
struct ReplyMark {
  std::string_view warning;  // kHallucination and the like
  int64_t choice = 0;
  std::vector<ReplySpan> spans = {};  // those that may be named
  double score = 0;                   // of an attempt
  bool ends = false;                  // the reply ends with it
  bool unchecked = false;             // it says of the warning that it was not looked for
};

/// {"warnings":[...],"unchecked":[...],...}: the value of kGuardMember.
std::string guard_json(const std::vector<ReplyMark>& marks);

/// "data: {...}\n\n": an empty delta of the choice, with kGuardMember.
std::string mark_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks);
/// The same with a text for the choice, which a client shows.
std::string text_event(const ChunkHead& head, int64_t choice, std::string_view text,
                       const std::vector<ReplyMark>& marks);
/// The last of the choice: it ends as a content filter ends it.
std::string end_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks);

/// "[Hallucination Warning] ...", without line feeds; what may be told of the spans is in it.
std::string warning_text(const ReplyMark& mark);

}  // namespace signalbox::replies
