// Three tables: our heads with their labels, the words in the names of other classifiers, and
// labels of the same meaning.

#include "router/models/stand_ins.h"

#include <algorithm>
#include <filesystem>

#include "base/ascii.h"

namespace signalbox::models {
namespace {

namespace fs = std::filesystem;

struct Head {
  std::string_view task;
  std::string_view directory;  // below the directory of all models
  std::string_view labels;     // in the form of plain_label(), with spaces around each
  double threshold = 0;        // see stand_in_threshold()
};

// Labels of the token heads are not listed: no signal names them.
constexpr Head kHeads[] = {
    {"domain", "signals/domain",
     " biology business chemistry computer_science economics engineering health history law math "
     "other philosophy physics psychology "},
    // At 0.95 the head finds questions with one right answer, and leaves explanations out.
    {"fact_check", "signals/fact-check", " needs_fact_check no_fact_check_needed ", 0.95},
    {"user_feedback", "signals/feedback",
     " satisfied need_clarification wrong_answer want_different "},
    {"modality", "signals/modality", " ar diffusion both "},
    {"pii", "signals/pii", ""},
    {"jailbreak", "attacks/jailbreak", " benign jailbreak "},
    {"hallucination", "pairs/hallucination", ""},
    {"nli", "pairs/nli", " entailment neutral contradiction "},
};

struct Word {
  std::string_view word;
  std::string_view task;
};

// In this order: "halugate-sentinel" is about facts, "halugate-explainer" about inference.
constexpr Word kWords[] = {
    {"sentinel", "fact_check"},
    {"fact", "fact_check"},
    {"explainer", "nli"},
    {"nli", "nli"},
    {"halu", "hallucination"},
    {"lettucedect", "hallucination"},
    {"hallucin", "hallucination"},
    {"feedback", "user_feedback"},
    {"modality", "modality"},
    {"jailbreak", "jailbreak"},
    {"prompt-guard", "jailbreak"},
    {"prompt_guard", "jailbreak"},
    {"encoder-307m-guard", "jailbreak"},
    {"injection", "jailbreak"},
    {"pii", "pii"},
    {"domain", "domain"},
    {"intent-classifier", "domain"},
    {"intent_classifier", "domain"},
    {"category", "domain"},
};

struct Synonym {
  std::string_view label;
  std::string_view plain;
};

constexpr Synonym kSynonyms[] = {
    {"sat", "satisfied"},
    {"fact_check", "needs_fact_check"},
    {"fact_check_needed", "needs_fact_check"},
    {"no_fact_check", "no_fact_check_needed"},
    {"injection", "jailbreak"},
    {"prompt_injection", "jailbreak"},
    {"attack", "jailbreak"},
    {"malicious", "jailbreak"},
    {"safe", "benign"},
    {"legit", "benign"},
    {"text", "ar"},
    {"image", "diffusion"},
    {"entail", "entailment"},
    {"contradict", "contradiction"},
};

bool is_present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

std::string plain_label(std::string_view label) {
  std::string out = ascii::snake_case(label);
  for (const Synonym& each : kSynonyms) {
    if (each.label == out) return std::string(each.plain);
  }
  return out;
}

std::string_view find_task(std::string_view directory) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  const std::string name = ascii::lower_case(directory.substr(directory.rfind('/') + 1));
  for (const Word& each : kWords) {
    if (name.find(each.word) != std::string::npos) return each.task;
  }
  return "";
}

std::string find_stand_in(std::string_view task, const std::string& missing,
                          std::span<const std::string> labels) {
  const auto head = std::ranges::find(kHeads, task, &Head::task);
  if (head == std::end(kHeads)) return "";
  for (const std::string& label : labels) {
    const std::string word = " " + plain_label(label) + " ";
    if (head->labels.find(word) == std::string_view::npos) return "";
  }
  for (const fs::path& models : {fs::path(missing).parent_path(), fs::path("models")}) {
    const fs::path directory = models / head->directory;
    if (is_present(directory)) return directory.string();
  }
  return "";
}

double stand_in_threshold(std::string_view task) {
  const auto head = std::ranges::find(kHeads, task, &Head::task);
  return head == std::end(kHeads) ? 0 : head->threshold;
}

std::string present_or_stand_in(std::string_view task, const std::string& directory) {
  if (is_present(directory)) return directory;
  const std::string stand_in = find_stand_in(task, directory);
  return stand_in.empty() ? directory : stand_in;
}

}  // namespace signalbox::models
