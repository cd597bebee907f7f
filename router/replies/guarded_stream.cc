// Events pass at once. Only the end of a choice waits for the checks, because nothing can be added
// after it.

#include "router/replies/guarded_stream.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace signalbox::replies {
namespace {

// The number of events that a warning waits for the end of a word. Words rarely have more pieces;
// then the word is cut.
constexpr uint32_t kEventsPerWordMax = 3;

bool begins_in_word(std::string_view text) {
  return !text.empty() && ascii::is_word_byte(text.front());
}

std::string as_paragraph(std::string_view text) {
  return fmt::format("\n\n{}\n\n", text);
}

}  // namespace

GuardedStream::GuardedStream(const ReplyRules& rules, std::optional<request::Api> api)
    : GuardedStream(rules, api, api ? kNativeEventBytesMax : kEventBytesMax) {}

GuardedStream::GuardedStream(const ReplyRules& rules, std::optional<request::Api> api,
                             size_t event_bytes_max)
    : rules_(rules), event_bytes_max_(event_bytes_max) {
  if (api == request::Api::kMessages) form_.emplace<MessageEvents>();
  if (api == request::Api::kResponses) form_.emplace<ResponseEvents>();
}

ReplyEvents& GuardedStream::form() {
  return std::visit([](ReplyEvents& each) -> ReplyEvents& { return each; }, form_);
}

// Returns the number of bytes up to the end of the current event, or npos if it does not end here.
size_t GuardedStream::event_end(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (after_return_) {
      after_return_ = false;
      const bool ends = std::exchange(return_ends_, false);
      if (ends) return c == '\n' ? i + 1 : i;
      if (c == '\n') continue;
    }
    if (c == '\n' && line_empty_) return i + 1;
    after_return_ = c == '\r';
    return_ends_ = after_return_ && line_empty_;
    line_empty_ = c == '\n' || c == '\r';
  }
  return std::string_view::npos;
}

void GuardedStream::push(std::string_view bytes, std::string& out) {
  while (!bytes.empty() && !ended_) {
    const size_t end = event_end(bytes);
    const std::string_view piece = bytes.substr(0, end);
    bytes.remove_prefix(piece.size());
    (skipping_ ? out : event_) += piece;
    if (end == std::string_view::npos) break;
    if (skipping_) {
      skipping_ = false;
      out += std::exchange(after_long_event_, {});
      ended_ = outcome_.ended;
    } else {
      const std::string whole = std::exchange(event_, {});
      pass_event(whole, out);
    }
  }
  if (ended_ || event_.size() <= event_bytes_max_) return;
  leave_unread();
  if (withholds_unread()) {
    event_.clear();
    return warn_unchecked(out);
  }
  skipping_ = true;
  out += std::exchange(event_, {});
}

void GuardedStream::finish(std::string& out) {
  if (ended_) return;
  finished_ = true;
  insert(std::exchange(after_long_event_, {}), out);
  ended_ = outcome_.ended;
  if (ended_) return;
  // Some clients read the last event without its blank line.
  std::string rest = std::exchange(event_, {});
  read_event(rest, out);
  if (withholds_unread()) return warn_unchecked(out);
  form().advance();
  for (auto& [index, choice] : choices_) queue_windows(choice, true);
  // The rest must come last, so it waits for the warnings.
  if (!rest.empty()) held_.push_back(std::move(rest));
  release_end(out);
}

EventContent GuardedStream::read_event(std::string_view event, std::string& out) {
  std::string data = event_data(event);
  if (data.empty()) return {};
  EventContent content = form().read(std::move(data));
  if (content.unread) leave_unread();
  for (const EventContent::OfChoice& of : content.choices) push_text(of, out);
  return content;
}

// Comments and the like pass, because they keep connections alive.
void GuardedStream::pass_event(std::string_view event, std::string& out) {
  const EventContent content = read_event(event, out);
  if (withholds_unread()) return warn_unchecked(out);
  if (content.last) {
    for (auto& [index, choice] : choices_) queue_windows(choice, true);
  }
  const bool has_text =
      std::any_of(content.choices.begin(), content.choices.end(),
                  [](const EventContent::OfChoice& of) { return !of.text.empty(); });
  const bool overtakes = has_text && !form().is_ordered();
  const bool waits =
      content.ends ? is_busy() || holds() : content.is_content && holds() && !overtakes;
  if (content.ends && !waits) write_last_warnings(out);
  if (ended_) return;
  form().advance();
  if (waits) {
    held_.emplace_back(event);
  } else {
    out += content.ends ? form().completed(std::string(event)) : event;
  }
  for (const EventContent::OfChoice& of : content.choices) {
    if (!of.ends) continue;
    if (waits) {
      held_ends_.push_back(of.choice);
    } else if (Choice* choice = choice_of(of.choice)) {
      choice->over = true;
    }
  }
}

void GuardedStream::push_text(const EventContent::OfChoice& content, std::string& out) {
  Choice* choice = choice_of(content.choice);
  if (choice == nullptr) return leave_unread();
  if (!content.text.empty() && !choice->begun) {
    choice->begun = true;
    if (rules_.unverified && rules_.on_unverified == ReplyAction::kWarn) {
      const ReplyMark mark{.warning = kUnverified, .choice = content.choice};
      choice->warnings.push_back({warning_text(mark) + "\n\n", mark});
      send_warnings(*choice, out);
    }
  }
  if (!choice->warnings.empty()) {
    const bool fits = !choice->text.in_word() || !begins_in_word(content.text);
    if (fits || content.ends || choice->events_left == 0) {
      send_warnings(*choice, out);
    } else {
      --choice->events_left;
    }
  }
  choice->text.push(content.text);
  queue_windows(*choice, content.ends);
}

void GuardedStream::leave_unread() {
  unread_ = grounding_unchecked_ = jailbreak_unchecked_ = true;
}

// True if nothing more may pass, because a part of the reply was not read.
bool GuardedStream::withholds_unread() const {
  return unread_ && rules_.jailbreak && rules_.on_jailbreak == ReplyAction::kEnd &&
         rules_.fails_closed;
}

GuardedStream::Choice* GuardedStream::choice_of(int64_t index) {
  const auto found = choices_.find(index);
  if (found != choices_.end()) return &found->second;
  if (choices_.size() >= kChoicesMax) return nullptr;
  return &choices_.emplace(index, index).first->second;
}

void GuardedStream::queue_windows(Choice& choice, bool all) {
  if (!rules_.grounding && !rules_.jailbreak) return;
  while (auto window = choice.text.take(all)) {
    const size_t bytes = window->text.size() + window->before.size();
    if (waiting_bytes_ + bytes > kWaitingBytesMax) {
      leave_unread();
      continue;
    }
    waiting_bytes_ += bytes;
    waiting_.push_back(*std::move(window));
  }
}

bool GuardedStream::pauses() const {
  return !outcome_.ended && std::any_of(choices_.begin(), choices_.end(),
                                        [](const auto& each) { return each.second.text.pauses(); });
}

void GuardedStream::pause() {
  if (outcome_.ended) return;
  for (auto& [index, choice] : choices_) {
    if (choice.text.pauses()) queue_windows(choice, true);
  }
}

std::vector<ReplyWindow> GuardedStream::take_work() {
  if (checking_ || waiting_.empty() || outcome_.ended) return {};
  checking_ = true;
  waiting_bytes_ = 0;
  return std::exchange(waiting_, {});
}

void GuardedStream::done(const ReplyVerdict& verdict, std::string& out) {
  checking_ = false;
  ++outcome_.checks;
  outcome_.seconds += verdict.seconds;
  grounding_unchecked_ = grounding_unchecked_ || verdict.grounding_failed;
  jailbreak_unchecked_ = jailbreak_unchecked_ || verdict.jailbreak_failed;
  for (const ReplyFinding& finding : verdict.findings) {
    if (outcome_.ended) return;
    add_finding(finding, out);
  }
  release_end(out);
}

void GuardedStream::failed(std::string& out) {
  checking_ = false;
  grounding_unchecked_ = jailbreak_unchecked_ = true;
  release_end(out);
}

void GuardedStream::give_up(std::string& out) {
  if (!is_busy()) return;
  waiting_.clear();
  failed(out);
}

void GuardedStream::add_finding(const ReplyFinding& finding, std::string& out) {
  Choice* choice = choice_of(finding.choice);
  if (choice == nullptr) return;
  if (finding.jailbreak > 0) {
    outcome_.jailbreak = ReplyState::kFound;
    const bool again = std::exchange(choice->jailbreak_marked, true);
    const ReplyMark mark{
        .warning = kResponseJailbreak, .choice = finding.choice, .score = finding.jailbreak};
    if (rules_.on_jailbreak == ReplyAction::kEnd) return end(mark, out);
    if (rules_.on_jailbreak == ReplyAction::kAnnotate && !again)
      insert(form().mark(finding.choice, {mark}), out);
  }
  if (finding.spans.empty()) return;
  outcome_.grounding = ReplyState::kFound;
  outcome_.spans += static_cast<uint32_t>(finding.spans.size());
  ReplyMark mark{.warning = kHallucination, .choice = finding.choice};
  if (rules_.details) mark.spans = finding.spans;
  switch (rules_.on_hallucination) {
    case ReplyAction::kNone:
      return;
    case ReplyAction::kAnnotate:
      return insert(form().mark(finding.choice, {mark}), out);
    case ReplyAction::kWarn:
      // Without details, a second warning would repeat the first.
      if (choice->warned && !rules_.details) return;
      choice->warned = true;
      return warn(*choice, mark, out);
    case ReplyAction::kEnd:
      return end(mark, out);
  }
}

void GuardedStream::warn(Choice& choice, const ReplyMark& mark, std::string& out) {
  choice.warnings.push_back({as_paragraph(warning_text(mark)), mark});
  choice.events_left = kEventsPerWordMax;
  if (!choice.text.in_word()) send_warnings(choice, out);
}

// Where the reply takes no text, warnings wait for a place that does, at the latest for its end.
void GuardedStream::send_warnings(Choice& choice, std::string& out, bool at_end) {
  if (!at_end && !form().takes_text()) return;
  for (const Warning& warning : std::exchange(choice.warnings, {}))
    insert(form().text(warning.mark.choice, warning.text, {warning.mark}), out);
}

// Writes events between two others.
void GuardedStream::insert(std::string_view events, std::string& out) {
  if (events.empty()) return;
  if (skipping_ && !finished_) {
    after_long_event_ += events;
    return;
  }
  // Upstream ended within the long event.
  if (std::exchange(skipping_, false)) out += "\n\n";
  out += events;
}

// The first choice that has not ended; else the first one.
int64_t GuardedStream::open_choice() const {
  for (const auto& [index, choice] : choices_) {
    if (!choice.over) return index;
  }
  return choices_.empty() ? 0 : choices_.begin()->first;
}

// Reports at the end the checks that failed.
void GuardedStream::warn_unchecked(std::string& out) {
  const int64_t choice = open_choice();
  if (rules_.jailbreak && jailbreak_unchecked_ && !jailbreak_reported_) {
    jailbreak_reported_ = true;
    const ReplyMark mark{.warning = kResponseJailbreak, .choice = choice, .unchecked = true};
    if (rules_.on_jailbreak == ReplyAction::kEnd && rules_.fails_closed) return end(mark, out);
    if (rules_.on_jailbreak != ReplyAction::kNone) insert(form().mark(choice, {mark}), out);
  }
  if (!rules_.grounding || !grounding_unchecked_ || grounding_reported_) return;
  grounding_reported_ = true;
  const ReplyMark mark{.warning = kHallucination, .choice = choice, .unchecked = true};
  if (rules_.on_hallucination == ReplyAction::kNone) return;
  if (rules_.on_hallucination == ReplyAction::kWarn) {
    insert(form().text(choice, as_paragraph(warning_text(mark)), {mark}), out);
  } else {
    insert(form().mark(choice, {mark}), out);
  }
}

void GuardedStream::end(const ReplyMark& why, std::string& out) {
  ReplyMark last = why;
  last.ends = true;
  if (choices_.empty()) choice_of(why.choice);
  for (const auto& [index, choice] : choices_) {
    if (choice.over) continue;
    std::vector<ReplyMark> marks;
    if (index == why.choice) marks.push_back(last);
    insert(form().end(index, marks), out);
  }
  insert(form().last(), out);
  held_.clear();
  dropped_ = dropped_ || !waiting_.empty();
  waiting_.clear();
  outcome_.ended = true;
  ended_ = !skipping_;
}

// Writes the warnings that must precede an end.
void GuardedStream::write_last_warnings(std::string& out) {
  for (auto& [index, choice] : choices_) send_warnings(choice, out, true);
  warn_unchecked(out);
}

// Releases the held end once everything is checked.
void GuardedStream::release_end(std::string& out) {
  if (is_busy() || outcome_.ended) return;
  if (!holds() && !finished_) return;
  write_last_warnings(out);
  if (outcome_.ended) return;
  for (std::string& event : std::exchange(held_, {}))
    insert(form().completed(std::move(event)), out);
  for (const int64_t index : std::exchange(held_ends_, {})) {
    if (Choice* choice = choice_of(index)) choice->over = true;
  }
}

ReplyOutcome GuardedStream::outcome() const {
  ReplyOutcome out = outcome_;
  // A reply that broke off or was ended may have text that no check has seen.
  const bool is_cut =
      dropped_ || std::any_of(choices_.begin(), choices_.end(),
                              [](const auto& each) { return each.second.text.has_rest(); });
  const auto state = [is_cut](bool on, ReplyState found, bool unchecked) {
    if (!on) return ReplyState::kOff;
    if (found == ReplyState::kFound) return found;
    return unchecked || is_cut ? ReplyState::kUnchecked : ReplyState::kClean;
  };
  out.grounding = state(rules_.grounding, outcome_.grounding, grounding_unchecked_);
  out.jailbreak = state(rules_.jailbreak, outcome_.jailbreak, jailbreak_unchecked_);
  if (rules_.unverified) out.grounding = ReplyState::kUnverified;
  return out;
}

}  // namespace signalbox::replies
