#pragma once
// Finds the heads of a guard model that detect attacks, and the texts that they read.

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/catalog.h"
#include "router/text/hidden.h"

namespace signalbox::signals {

/// Default threshold of the probability.
inline constexpr double kJailbreakThreshold = 0.7;

/// Returns the indices of the labels that the guard's `positive_labels` name ("jailbreak" if that
/// is empty). Ignores case; "_", "-" and a space are equal separators. If no label has such a name,
/// other names of a jailbreak count ("INJECTION", "malicious").
std::vector<size_t> find_jailbreak_labels(const config::ClassifierModel& guard,
                                          std::span<const std::string> labels);

/// Returns the index of the label `unsafe`, if there is one.
std::vector<size_t> find_unsafe_labels(std::span<const std::string> labels);
inline constexpr std::string_view kNoUnsafeClass = "the classifier has no class `unsafe`";

/// How a text reaches the model. An instruction that a user may give is an injection in a document:
/// the result of a tool, or a text that the request attaches.
enum class TextKind : uint8_t { kPrompt, kDocument };

/// A guard model's head, and the head "injection" beside it, if there is one, which judges
/// documents.
struct Guard {
  size_t head = 0;
  std::vector<size_t> positive = {};         // labels of `head` that count as an attack
  std::span<const std::string> labels = {};  // of `head`; empty: attacks are reported without
  std::optional<size_t> document_head = {};
  size_t injection = 0;  // the label of `document_head` that counts
  /// The head that clears windows after the model's first layers, and its limit of the probability.
  /// The guard has none if one of its heads reads no later layers than that, because the answers
  /// for a window that is cleared would be incomplete.
  std::optional<size_t> screen = {};
  double clears_below = 0;
  /// Languages that the head supports for prompts and for documents; empty: unknown.
  std::span<const std::string> languages = {};
  std::span<const std::string> document_languages = {};
  /// The odds of a finding are multiplied by this in a language that is not supported.
  double unsupported_odds = 1, document_unsupported_odds = 1;
};

Guard make_guard(const engine::TextModel& model, size_t head, std::vector<size_t> positive);

/// Windows of a text or request up to this number are always read in full, so that everyday
/// requests keep their scores.
inline constexpr size_t kReadInFull = 8;

/// Returns true if the guard's screen may clear some of `windows` windows. It may not if an attack
/// counts at a probability that the screen calls harmless.
bool uses_screen(const Guard& guard, size_t windows, double threshold);

/// Returns true if the screen has cleared the window. `heads` are the answers of all heads for it.
bool is_cleared(const Guard& guard, std::span<const engine::Answer> heads);

struct Attack {
  double probability = 0;
  std::string_view label = {};  // the most probable label of an attack; "": it is not reported
};

/// Returns the probability that a window holds an attack, from the answers of all heads for it. If
/// the screen has cleared the window, it is the screen's probability. It is 0 for a window without
/// words.
/// A head that does not support the language of the window counts with less than its probability
/// (HeadInfo::unsupported_shift).
Attack find_attack(const Guard& guard, std::span<const engine::Answer> heads,
                   std::string_view window, TextKind kind);

/// The probability alone.
double attack_probability(const Guard& guard, std::span<const engine::Answer> heads,
                          std::string_view window, TextKind kind);

/// Returns the language of a window if it is certain that the guard does not support it for such
/// texts; otherwise "".
std::string_view unsupported_language(const Guard& guard, std::string_view window, TextKind kind);

/// A text and the texts that are hidden in it (text/hidden.h); a guard reads all of them. A part
/// that was decoded completely is left out of the text itself, because models take digits and
/// letters without words for attacks.
class GuardedTexts {
 public:
  explicit GuardedTexts(std::span<const std::string_view> texts);
  GuardedTexts(const GuardedTexts&) = delete;
  GuardedTexts& operator=(const GuardedTexts&) = delete;

  /// The texts, each without what is encoded, and after each its hidden texts.
  const std::vector<std::string_view>& all() const { return all_; }
  /// The index of the text that all()[i] is, or is hidden in.
  size_t source(size_t i) const { return source_[i]; }

 private:
  std::string_view without_encoded(std::string_view text, std::span<const text::HiddenText> hidden);

  std::deque<std::string> hidden_;
  std::vector<std::string_view> all_;
  std::vector<size_t> source_;
};

}  // namespace signalbox::signals
