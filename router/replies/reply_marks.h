#pragma once
// Adds findings to a reply: as a chunk with an empty delta and one extra member, as a sentence in
// the text, or as an early end. Clients that do not know the extra member ignore it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/replies/reply_guard.h"

namespace signalbox::replies {

/// The member with the findings.
inline constexpr std::string_view kGuardMember = "vsr_guard";

/// Identifies a stream and its form, taken from one of its own chunks, for the chunks that we
/// insert.
struct ChunkHead {
  std::string members;      // "{" and the members that a stream's chunks share, each with a comma
  bool plain_text = false;  // for plain completions
  static ChunkHead of(const json::Value& chunk);
};

/// One mark: a warning, its choice, and the details that may be shown.
struct ReplyMark {
  std::string_view warning;  // kHallucination and the like
  int64_t choice = 0;
  std::vector<ReplySpan> spans = {};  // those that may be shown
  double score = 0;                   // probability of an attempt
  bool ends = false;                  // it ends the reply
  bool unchecked = false;             // the check that gives this warning failed
};

/// {"warnings":[...],"unchecked":[...],...}: the value of kGuardMember.
std::string guard_json(const std::vector<ReplyMark>& marks);

/// "data: {...}
///
/// ": an empty delta of the choice with kGuardMember.
std::string mark_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks);
/// The same with a text for the choice, which clients show.
std::string text_event(const ChunkHead& head, int64_t choice, std::string_view text,
                       const std::vector<ReplyMark>& marks);
/// The last event of the choice, with the finish reason of a content filter.
std::string end_event(const ChunkHead& head, int64_t choice, const std::vector<ReplyMark>& marks);

/// "[Hallucination Warning] ...", without line feeds; includes the spans that may be shown.
std::string warning_text(const ReplyMark& mark);

}  // namespace signalbox::replies
