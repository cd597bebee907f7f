// The texts that the algorithms of several replies share.

#include "router/looper/panel.h"

#include "router/looper/prompts.h"

namespace signalbox::looper {
namespace {

constexpr std::string_view kQuestionAndReplies =
    "\n\nQuestion:\n{{original}}\n\nAnswers:\n{{responses}}";

}  // namespace

std::string_view tail_of(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  text.remove_prefix(text.size() - bytes_max);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80)
    text.remove_prefix(1);
  return text;
}

std::string quote_replies(std::span<const Turn> turns, const std::vector<size_t>& which,
                          bool with_reasoning, size_t bytes_max) {
  std::string out;
  size_t number = 0;
  for (const size_t i : which) {
    const Reply& reply = *turns[i].reply();
    if (!out.empty()) out += "\n\n";
    out += fmt::format("Answer {} ({}):\n", ++number, turns[i].call.model);
    const bool shows_reasoning = !reply.reasoning.empty() && (with_reasoning || reply.text.empty());
    if (shows_reasoning)
      out.append("Reasoning: ").append(tail_of(reply.reasoning, bytes_max)).append("\n");
    out.append(tail_of(reply.text, bytes_max));
  }
  return out;
}

std::string synthesis_prompt(std::string_view text, const Conversation& conversation,
                             std::string_view responses, std::string_view analysis,
                             std::string_view contract) {
  std::string form(text);
  const size_t range = form.find("{{range");
  const size_t end = form.rfind("{{end}}");
  if (range != std::string::npos && end != std::string::npos && range < end)
    form.replace(range, end + 7 - range, "{{responses}}");
  if (form.find("{{responses}}") == std::string::npos) form += kQuestionAndReplies;
  std::string out = render(form, {{"original", conversation.transcript},
                                  {".OriginalContent", conversation.transcript},
                                  {"responses", responses},
                                  {"analysis", analysis}});
  if (!contract.empty()) out.append("\n\nRequired form of the answer:\n").append(contract);
  return out;
}

}  // namespace signalbox::looper
