// Edits the body in place instead of writing a new one.

#include "router/replies/guarded_body.h"

#include <utility>

#include "base/json_writer.h"
#include "router/replies/reply_content.h"
#include "router/replies/reply_marks.h"
#include "router/replies/response_events.h"
#include "router/splice/edit.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kMessage = "message";

int64_t index_of(const json::Value& choice) {
  const auto index = choice.find("index");
  const auto number = index ? index->integer() : Result<int64_t>(0);
  return number.value_or(0);
}

void add_name(std::string& list, std::string_view name) {
  if (list.find(name) != std::string::npos) return;
  if (!list.empty()) list += ',';
  list += name;
}

// Content that is an array gets one more part.
splice::Edit in_front(const ReplyContent& content, std::string_view preface) {
  const json::Value& value = *content.value;
  if (value.is_string())
    return {value.begin(), value.end(),
            json::quote(std::string(preface) + std::string(value.text()))};
  return {value.begin() + 1, value.begin() + 1,
          fmt::format(R"({{"type":"text","text":{}}},)", json::quote(preface))};
}

// The annotations of a response count the characters of their text, so it gets a message in front.
splice::Edit in_front(const NativeReply& reply, const json::Value& root, request::Api api,
                      std::string_view preface) {
  const json::Value& first = *reply.first;
  if (api == request::Api::kResponses) {
    const std::string id = fmt::format("{}{}", kOwnMessageId, text_member(root, "id"));
    return {first.begin(), first.begin(), own_message(id, preface) + ","};
  }
  const json::Value text = *first.find("text");
  return {text.begin(), text.end(), json::quote(std::string(preface) + std::string(text.text()))};
}

/// Applies the results of the checks to one reply.
class ReplyEditor {
 public:
  ReplyEditor(const ReplyRules& rules, GuardedBody& out) : rules_(rules), out_(out) {}

  /// `unread` is true if the reply contains text that was not checked.
  void add(const ReplyVerdict& verdict, bool unread) {
    out_.outcome.checks = 1;
    out_.outcome.seconds = verdict.seconds;
    for (const ReplyFinding& finding : verdict.findings) add(finding);
    add_unchecked(unread || verdict.grounding_failed, unread || verdict.jailbreak_failed);
  }

  void add_unchecked(bool grounding, bool jailbreak) {
    if (rules_.jailbreak && jailbreak) {
      set_state(out_.outcome.jailbreak, ReplyState::kUnchecked);
      if (rules_.on_jailbreak == ReplyAction::kEnd && rules_.fails_closed)
        return withhold("the check of the reply for attempts to override instructions failed");
      add_mark(rules_.on_jailbreak, {.warning = kResponseJailbreak, .unchecked = true});
    }
    if (rules_.grounding && grounding) {
      set_state(out_.outcome.grounding, ReplyState::kUnchecked);
      add_mark(rules_.on_hallucination, {.warning = kHallucination, .unchecked = true});
    }
  }

  /// Adds the warning that every reply gets if its request has no context.
  void add_unverified() {
    if (!rules_.unverified) return;
    out_.outcome.grounding = ReplyState::kUnverified;
    add_mark(rules_.on_unverified, {.warning = kUnverified});
  }

  const std::vector<ReplyMark>& marks() const { return marks_; }
  /// The warnings before the text of the choice; "" if there are none.
  std::string preface(int64_t choice) const {
    std::string out;
    for (const ReplyMark& mark : texts_) {
      const bool all = mark.unchecked || mark.warning == kUnverified;
      if (all || mark.choice == choice) out += warning_text(mark) + "\n\n";
    }
    return out;
  }

 private:
  static void set_state(ReplyState& state, ReplyState to) {
    if (state != ReplyState::kFound) state = to;
  }

  void add(const ReplyFinding& finding) {
    if (finding.jailbreak > 0) {
      out_.outcome.jailbreak = ReplyState::kFound;
      if (rules_.on_jailbreak == ReplyAction::kEnd)
        withhold("the reply attempts to override instructions");
      add_mark(
          rules_.on_jailbreak,
          {.warning = kResponseJailbreak, .choice = finding.choice, .score = finding.jailbreak});
    }
    if (finding.spans.empty()) return;
    out_.outcome.grounding = ReplyState::kFound;
    out_.outcome.spans += static_cast<uint32_t>(finding.spans.size());
    if (rules_.on_hallucination == ReplyAction::kEnd)
      withhold("the context does not support what the reply says");
    ReplyMark mark{.warning = kHallucination, .choice = finding.choice};
    if (rules_.details) mark.spans = finding.spans;
    add_mark(rules_.on_hallucination, std::move(mark));
  }

  void withhold(std::string_view why) {
    out_.outcome.ended = true;
    if (out_.refusal.empty()) out_.refusal = why;
  }

  void add_mark(ReplyAction action, ReplyMark mark) {
    if (action == ReplyAction::kNone) return;
    add_name(mark.unchecked ? out_.unchecked : out_.warnings, mark.warning);
    if (action == ReplyAction::kWarn) texts_.push_back(mark);
    marks_.push_back(std::move(mark));
  }

  const ReplyRules& rules_;
  GuardedBody& out_;
  std::vector<ReplyMark> marks_;
  std::vector<ReplyMark> texts_;  // those that the text shows
};

}  // namespace

std::optional<WholeReply> WholeReply::read(std::string body, std::optional<request::Api> api) {
  auto document = json::Document::parse(std::move(body));
  if (!document) return std::nullopt;
  if (api) {
    if (!read_native(document->root(), *api)) return std::nullopt;
    return WholeReply(*std::move(document), api);
  }
  const auto choices = document->root().find("choices");
  if (!choices || !choices->is_array()) return std::nullopt;
  return WholeReply(*std::move(document), api);
}

std::vector<ReplyWindow> WholeReply::windows() const {
  std::vector<ReplyWindow> out;
  if (api_) {
    ReplyWindow window;
    window.text = read_native(document_.root(), *api_)->text;
    if (!window.text.empty()) out.push_back(std::move(window));
    return out;
  }
  for (const json::Value choice : document_.root().find("choices")->items()) {
    ReplyContent content = content_of(choice, kMessage);
    if (content.text.empty()) continue;
    ReplyWindow window;
    window.choice = index_of(choice);
    window.text = std::move(content.text);
    out.push_back(std::move(window));
  }
  return out;
}

GuardedBody WholeReply::judged(const ReplyRules& rules, const ReplyVerdict* verdict) const {
  GuardedBody out;
  if (rules.grounding) out.outcome.grounding = ReplyState::kClean;
  if (rules.jailbreak) out.outcome.jailbreak = ReplyState::kClean;
  ReplyEditor editor(rules, out);
  editor.add_unverified();
  const json::Value root = document_.root();
  if (api_) {
    verdict == nullptr ? editor.add_unchecked(true, true) : editor.add(*verdict, false);
    const NativeReply reply = *read_native(root, *api_);
    const std::string preface = editor.preface(0);
    std::vector<splice::Edit> edits;
    if (reply.first && !preface.empty()) edits.push_back(in_front(reply, root, *api_, preface));
    out.body = splice::apply(document_.source(), std::move(edits));
    return out;
  }
  const json::Items choices = root.find("choices")->items();
  bool unread = false;
  for (const json::Value choice : choices) unread = unread || content_of(choice, kMessage).unread;
  verdict == nullptr ? editor.add_unchecked(true, true) : editor.add(*verdict, unread);
  std::vector<splice::Edit> edits;
  for (const json::Value choice : choices) {
    const std::string preface = editor.preface(index_of(choice));
    if (preface.empty()) continue;
    const ReplyContent content = content_of(choice, kMessage);
    if (!content.text.empty()) edits.push_back(in_front(content, preface));
  }
  if (!editor.marks().empty()) {
    edits.push_back({root.end() - 1, root.end() - 1,
                     fmt::format(",\"{}\":{}", kGuardMember, guard_json(editor.marks()))});
  }
  out.body = splice::apply(document_.source(), std::move(edits));
  return out;
}

GuardedBody unread(const ReplyRules& rules, std::string body) {
  GuardedBody out;
  ReplyEditor editor(rules, out);
  editor.add_unverified();
  editor.add_unchecked(true, true);
  out.body = std::move(body);
  return out;
}

std::string early_warnings(const ReplyRules& rules) {
  return rules.unverified && rules.on_unverified != ReplyAction::kNone ? std::string(kUnverified)
                                                                       : std::string();
}

}  // namespace signalbox::replies
