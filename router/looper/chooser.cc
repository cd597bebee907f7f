// A model that cannot choose costs a call and nothing else: the first of the models answers.

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/looper/chooser.h"
#include "router/looper/outcomes.h"
#include "router/looper/prompts.h"

namespace signalbox::looper {
namespace {

constexpr uint32_t kChoiceTokensMax = 512;
constexpr std::string_view kChoicePrompt =
    "Choose the model that should answer the question below.\n\nModels:\n{{models}}\n"
    "{{instructions}}\nReply with one JSON object and nothing else: {\"model\": NAME}. NAME is "
    "one of the models above.\n\nQuestion:\n{{question}}";

class PromptRun final : public Algorithm {
 public:
  PromptRun(const config::Algorithm& algorithm, std::vector<Voice> voices,
            Conversation conversation, std::span<const config::ModelCard> cards)
      : settings_(algorithm.prompt.value_or(config::PromptSelection{})),
        fails_(algorithm.on_error == "fail"),
        voices_(std::move(voices)),
        conversation_(std::move(conversation)),
        models_(describe_models(cards)) {}

  Step next(std::span<const Turn> turns, bool may_call) const override {
    if (turns.empty()) return may_call ? choose() : Step{.answer = failed(turns)};
    const Turn& choosing = turns.front();
    if (!choosing.is_done()) return {};
    const Reply* reply = choosing.reply();
    const std::optional<size_t> chosen = reply == nullptr ? std::nullopt : read(reply->text);
    if (!chosen && fails_ && may_call) {
      if (reply == nullptr) return {.answer = failed(turns)};
      return {.answer = fail(Code::kUpstream, "model \"{}\" chose none of the decision's models",
                             choosing.call.model)};
    }
    // If a model fails, the next one answers.
    const std::vector<std::string> order = order_from(chosen.value_or(0));
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t at = i + 1;
      if (at == turns.size()) return may_call ? answer(order[i]) : Step{.answer = failed(turns)};
      if (!turns[at].is_done()) return {};
      if (turns[at].reply() != nullptr) return {.answer = RunAnswer{at, ""}};
    }
    return {.answer = failed(turns)};
  }

 private:
  std::string describe_models(std::span<const config::ModelCard> cards) const {
    std::string out;
    for (const Voice& voice : voices_) {
      const auto card = std::find_if(cards.begin(), cards.end(), [&voice](const auto& each) {
        return each.name == voice.model;
      });
      const bool is_described = card != cards.end() && !card->description.empty();
      out += fmt::format("- {}{}{}\n", voice.model, is_described ? ": " : "",
                         is_described ? card->description : "");
    }
    return out;
  }

  Step choose() const {
    Call call;
    call.model = settings_.model.empty() ? voices_.front().model : settings_.model;
    call.purpose = Purpose::kChoose;
    call.prompt = render(kChoicePrompt, {{"models", models_},
                                         {"instructions", settings_.instructions},
                                         {"question", conversation_.question}});
    call.keeps_system = false;
    call.offers_tools = false;
    call.temperature = 0;
    call.max_tokens = kChoiceTokensMax;
    Step out;
    out.limit = std::chrono::seconds(settings_.timeout_seconds);
    out.calls.push_back(std::move(call));
    return out;
  }

  static Step answer(const std::string& model) {
    Call call;
    call.model = model;
    call.is_last = true;
    Step out;
    out.calls.push_back(std::move(call));
    return out;
  }

  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (voices_[i].model == name) return i;
    }
    return std::nullopt;
  }

  /// The voice that a text names as {"model": NAME}.
  std::optional<size_t> read(std::string_view text) const {
    const size_t open = text.find('{');
    const size_t close = text.rfind('}');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return std::nullopt;
    const auto document = json::Document::parse(std::string(text.substr(open, close + 1 - open)));
    const auto name = document ? document->root().find("model") : std::nullopt;
    return name && name->is_string() ? find(name->text()) : std::nullopt;
  }

  std::vector<std::string> order_from(size_t first) const {
    std::vector<std::string> out{voices_[first].model};
    for (size_t i = 0; i < voices_.size(); ++i) {
      if (i != first) out.push_back(voices_[i].model);
    }
    return out;
  }

  const config::PromptSelection settings_;
  const bool fails_;
  const std::vector<Voice> voices_;
  const Conversation conversation_;
  const std::string models_;
};

}  // namespace

std::unique_ptr<const Algorithm> prompt_choice(const config::Algorithm& algorithm,
                                               std::vector<Voice> voices, Conversation conversation,
                                               std::span<const config::ModelCard> cards) {
  return std::make_unique<PromptRun>(algorithm, std::move(voices), std::move(conversation), cards);
}

}  // namespace signalbox::looper
