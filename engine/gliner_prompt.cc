// Each word is encoded by itself, as the published code does. Its splitter takes a mark in a text
// apart, so no text can contain one.

#include "engine/gliner_prompt.h"

#include <algorithm>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "engine/words.h"

namespace signalbox::engine {
namespace {

constexpr size_t kLabelBytesMax = 200;

std::vector<int32_t> ids_of(const tokenizer::Tokenizer& tokenizer, std::string_view text) {
  tokenizer::Encoding encoding;
  tokenizer.encode(text, {.special_tokens = false}, encoding);
  return std::move(encoding.ids);
}

Result<void> check_labels(std::span<const std::string> labels) {
  if (labels.size() > static_cast<size_t>(kLabelsMax)) {
    return fail(Code::kInvalid, "{} labels, expected at most {}", labels.size(), kLabelsMax);
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty() || labels[i].size() > kLabelBytesMax) {
      return fail(Code::kInvalid, "label {}: {} bytes, expected 1 to {}", i + 1, labels[i].size(),
                  kLabelBytesMax);
    }
    if (std::find(labels.begin(), labels.begin() + i, labels[i]) != labels.begin() + i) {
      return fail(Code::kInvalid, "label {}: {} is there twice", i + 1,
                  json::quote_briefly(labels[i]));
    }
  }
  return {};
}

}  // namespace

// A tokenizer may lack the marks, because the published code adds them when it opens a model: the
// mark of labels, then that of the text. A configuration that does not name the id of the first is
// older than that key. Models of that time add three tokens, and the marks are the last two. A
// tokenizer that lacks [MASK], too, gets it before the three.
Result<void> GlinerPrompt::read_marks(const GlinerConfig& config, int32_t vocabulary) {
  const auto id_of = [&](const std::string& mark) {
    const std::vector<int32_t> ids = ids_of(*tokenizer_, mark);
    return ids.size() == 1 ? ids.front() : -1;
  };
  label_mark_ = id_of(config.label_mark);
  text_mark_ = id_of(config.text_mark);
  const int32_t known = tokenizer_->vocabulary_size();
  const int32_t added = vocabulary - known;
  const bool adds_three =
      config.label_id == -1 && label_mark_ == -1 && text_mark_ == -1 && (added == 3 || added == 4);
  const int32_t first_mark = adds_three ? vocabulary - 2 : config.label_id;
  if (first_mark >= known) {
    label_mark_ = first_mark;
    text_mark_ = first_mark + 1;
  }
  if (config.label_id != -1 && config.label_id != label_mark_) {
    return fail(Code::kCorrupt,
                "gliner_config.json: class_token_index: {}, but tokenizer.json has {} as {}",
                config.label_id, json::quote_briefly(config.label_mark), label_mark_);
  }
  if (label_mark_ >= 0 && text_mark_ >= 0 && label_mark_ != text_mark_ &&
      std::max(label_mark_, text_mark_) < vocabulary)
    return {};
  return fail(Code::kCorrupt,
              "tokenizer.json: expected the tokens {} and {} with ids below {}, found {} and {}",
              json::quote_briefly(config.label_mark), json::quote_briefly(config.text_mark),
              vocabulary, label_mark_, text_mark_);
}

Result<void> GlinerPrompt::add_label(const GlinerConfig& config, std::string_view label) {
  const std::vector<int32_t> ids = ids_of(*tokenizer_, label);
  const auto is_mark = [&](int32_t id) { return id == label_mark_ || id == text_mark_; };
  if (ids.empty() || std::ranges::any_of(ids, is_mark)) {
    return fail(Code::kInvalid, "label {}: {}", json::quote_briefly(label),
                ids.empty() ? "it has no tokens" : "it contains a mark of the model");
  }
  const size_t mark = begin_.size() + labels_.size();
  label_rows_.push_back(static_cast<int32_t>(config.reads_mark ? mark : mark + 1));
  labels_.push_back(label_mark_);
  labels_.insert(labels_.end(), ids.begin(), ids.end());
  return {};
}

Result<GlinerPrompt> GlinerPrompt::create(const GlinerConfig& config,
                                          const tokenizer::Tokenizer& tokenizer,
                                          std::span<const std::string> labels, int32_t tokens_max,
                                          int32_t vocabulary) {
  SIGNALBOX_TRY_VOID(check_labels(labels));
  GlinerPrompt out(tokenizer);
  out.tokens_max_ = tokens_max;
  out.words_max_ = config.words_max;
  SIGNALBOX_TRY_VOID(out.read_marks(config, vocabulary));
  tokenizer::Encoding encoding;
  tokenizer.encode("a", {}, encoding);
  const auto [first, past] = encoding.first_tokens;
  out.begin_.assign(encoding.ids.begin(), encoding.ids.begin() + first);
  out.end_.assign(encoding.ids.begin() + past, encoding.ids.end());
  for (const std::string& label : labels) SIGNALBOX_TRY_VOID(out.add_label(config, label));
  out.labels_.push_back(out.text_mark_);
  if (out.label_tokens() <= tokens_max / 2) return out;
  return fail(Code::kInvalid,
              "the labels have {} tokens, expected at most {} of the {} that the model reads",
              out.label_tokens(), tokens_max / 2, tokens_max);
}

GlinerSequence GlinerPrompt::read(std::string_view text) const {
  GlinerSequence out;
  out.words = split_words(text);
  out.layout.labels = label_rows_;
  out.ids = begin_;
  out.ids.insert(out.ids.end(), labels_.begin(), labels_.end());
  for (const tokenizer::Span word : out.words) {
    const auto used = static_cast<int32_t>(out.ids.size() + end_.size());
    const auto words = static_cast<int32_t>(out.layout.words.size());
    if (used >= tokens_max_ || words == words_max_) {
      out.is_cut = true;
      break;
    }
    std::vector<int32_t> ids = ids_of(*tokenizer_, text.substr(word.begin, word.end - word.begin));
    const size_t room = static_cast<size_t>(tokens_max_ - used);
    if (ids.size() > room) {
      out.is_cut = true;
      ids.resize(room);
    }
    out.layout.words.push_back(ids.empty() ? kNoToken : static_cast<int32_t>(out.ids.size()));
    out.ids.insert(out.ids.end(), ids.begin(), ids.end());
  }
  out.words.resize(out.layout.words.size());
  out.ids.insert(out.ids.end(), end_.begin(), end_.end());
  return out;
}

std::vector<int32_t> GlinerPrompt::word_tokens(std::string_view text,
                                               std::span<const tokenizer::Span> words) const {
  std::vector<int32_t> out;
  out.reserve(words.size());
  for (const tokenizer::Span word : words)
    out.push_back(static_cast<int32_t>(
        ids_of(*tokenizer_, text.substr(word.begin, word.end - word.begin)).size()));
  return out;
}

}  // namespace signalbox::engine
