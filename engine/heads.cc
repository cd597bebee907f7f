// The layers of each form of head, and the steps from hidden states to scores.

#include "engine/heads.h"

#include <algorithm>
#include <cmath>

#include "engine/families.h"
#include "engine/labels.h"
#include "engine/prompts.h"
#include "engine/scratch.h"
#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

// Our own architectures, written by `signalbox fit` for any trunk: only a classifier.
constexpr Architecture kOwnHeads[] = {{"LinearForSequenceClassification", HeadKind::kSequence},
                                      {"LinearForTokenClassification", HeadKind::kTokens}};

// Returns the kind of head for PEFT's task_type, or nullopt for another task.
std::optional<HeadKind> head_for(std::string_view task) {
  if (task == "TOKEN_CLS") return HeadKind::kTokens;
  if (task == "SEQ_CLS") return HeadKind::kSequence;
  return std::nullopt;
}

}  // namespace

class HeadReader {
 public:
  HeadReader(const std::filesystem::path& directory, const weights::HfConfig& config,
             const weights::SafeTensors& file, const kernels::Table& kernels,
             const TrunkShape& trunk, weights::LoraUse* adapter)
      : directory_(directory),
        config_(config),
        root_(config.root()),
        adapter_(adapter),
        trunk_(trunk),
        reader_(file, kernels, "", kernels::Format::kF32, adapter),
        head_(kernels) {}

  Result<std::optional<Head>> read() {
    SIGNALBOX_TRY(const std::optional<HeadKind> kind, find_kind());
    if (!kind) return std::nullopt;
    // handles "models/pii/" too
    head_.info_.name = (directory_ / "").parent_path().filename().string();
    head_.info_.kind = *kind;
    head_.info_.layers = trunk_.layers;
    SIGNALBOX_TRY(head_.info_.languages, read_languages());
    SIGNALBOX_TRY(head_.info_.unsupported_shift, read_unsupported_shift());
    SIGNALBOX_TRY_VOID(family_ == nullptr ? read_own_head() : read_family_head());
    if (!reader_.status()) return tl::unexpected<Error>(reader_.status().error());
    head_.arena_ = reader_.take_arena();
    return std::move(head_);
  }

 private:
  // Returns nullopt if the model has no head. Sets family_ unless the head is our own.
  Result<std::optional<HeadKind>> find_kind() {
    SIGNALBOX_TRY(const std::vector<std::string> names, root_.strings("architectures"));
    const std::optional<HeadKind> adapted =
        adapter_ == nullptr ? std::nullopt : head_for(adapter_->adapter().task());
    if (!adapted && !names.empty()) {
      const auto own = std::ranges::find(kOwnHeads, names[0], &Architecture::suffix);
      if (own != std::end(kOwnHeads)) return own->head;
    }
    SIGNALBOX_TRY(family_, find_family(root_));
    if (adapted) return adapted;
    SIGNALBOX_TRY(const Architecture* known, find_architecture(root_, *family_));
    return known == nullptr ? std::nullopt : known->head;
  }

  // The names are compared with those of the detection of languages, so another form would be an
  // unsupported language in every text.
  Result<std::vector<std::string>> read_languages() const {
    SIGNALBOX_TRY(std::vector<std::string> languages, root_.strings("classifier_languages"));
    for (const std::string& each : languages) {
      const bool is_code = each.size() == 2 &&
                           std::ranges::all_of(each, [](char c) { return c >= 'a' && c <= 'z'; });
      if (is_code) continue;
      return fail(Code::kInvalid, "{}: expected codes of ISO 639-1 such as \"en\", found \"{}\"",
                  root_.where("classifier_languages"), each);
    }
    return languages;
  }

  Result<float> read_unsupported_shift() const {
    constexpr std::string_view kShift = "classifier_unsupported_shift";
    if (!root_.has(kShift)) return 0.0f;
    SIGNALBOX_TRY(const double shift, root_.number(kShift, -20, 0));
    if (head_.info_.languages.empty()) {
      return fail(Code::kInvalid, "{}: {} takes a head with classifier_languages",
                  root_.where(kShift), shift);
    }
    return static_cast<float>(shift);
  }

  Result<void> read_own_head() {
    SIGNALBOX_TRY_VOID(read_own_pooling());
    SIGNALBOX_TRY(head_.normalizes_, root_.boolean("classifier_normalize", false));
    if (reader_.rows("dense.weight") > 0) {
      SIGNALBOX_TRY(head_.activation_, read_activation(root_, "classifier_activation", "gelu"));
      head_.dense_ = reader_.linear("dense", trunk_.hidden, trunk_.hidden, true);
    }
    SIGNALBOX_TRY_VOID(read_classifier("classifier", true));
    return read_screen();
  }

  // Reads the layer that the head follows, and the limit of a head that clears inputs there. A
  // limit above one half would clear inputs that are more likely harmful than not.
  Result<void> read_screen() {
    constexpr std::string_view kLayers = "classifier_layers", kLimit = "classifier_clears_below";
    HeadInfo& info = head_.info_;
    SIGNALBOX_TRY(info.layers, root_.integer(kLayers, 1, trunk_.layers, trunk_.layers));
    if (info.layers < trunk_.layers && !trunk_.resumes) {
      return fail(Code::kUnsupported,
                  "{}: {} of {} layers, but a head of this network can only read all of them",
                  root_.where(kLayers), info.layers, trunk_.layers);
    }
    if (!root_.has(kLimit)) return {};
    SIGNALBOX_TRY(const double limit, root_.number(kLimit, 0, 0.5));
    const auto refuse = [&](std::string_view needed) {
      return fail(Code::kUnsupported, "{}: {} takes a head {}", root_.where(kLimit), limit, needed);
    };
    if (info.kind != HeadKind::kSequence || info.scores != Scores::kSoftmax || head_.classes() != 2)
      return refuse("that gives texts the probabilities of two classes");
    if (info.layers == trunk_.layers)
      return refuse(fmt::format("with classifier_layers below {}", trunk_.layers));
    info.clears_below = static_cast<float>(limit);
    return {};
  }

  Result<void> read_family_head() {
    const bool tokens = head_.info_.kind == HeadKind::kTokens;
    switch (family_->form) {
      case HeadForm::kNone:
        break;
      case HeadForm::kLast:
        return read_last_token_head(tokens);
      case HeadForm::kPrediction:
        SIGNALBOX_TRY_VOID(read_prediction_head());
        break;
      case HeadForm::kTokens:
      case HeadForm::kFirst:
        if (!tokens) return read_first_token_head();
        break;
    }
    return read_classifier("classifier", true);
  }

  Result<void> read_last_token_head(bool tokens) {
    head_.pooling_ = Pooling::kLast;
    SIGNALBOX_TRY(head_.padding_, root_.integer("pad_token_id", -1, INT32_MAX, -1));
    return read_classifier("score", tokens);
  }

  Result<Pooling> read_pooling(const char* without) {
    SIGNALBOX_TRY(const std::string pooling, root_.string("classifier_pooling", without));
    if (pooling != "cls" && pooling != "mean") {
      return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: cls, mean)",
                  root_.where("classifier_pooling"), pooling);
    }
    return pooling == "cls" ? Pooling::kFirst : Pooling::kMean;
  }

  // Reads the pooling of this project's own heads, which have one additional mode.
  Result<void> read_own_pooling() {
    SIGNALBOX_TRY(const std::string pooling, root_.string("classifier_pooling", "mean"));
    if (pooling != "strongest_part") {
      SIGNALBOX_TRY(head_.pooling_, read_pooling("mean"));
      return {};
    }
    head_.pooling_ = Pooling::kMean;
    SIGNALBOX_TRY(head_.part_, root_.integer("classifier_part", 1, 1 << 16));
    SIGNALBOX_TRY(head_.step_, root_.integer("classifier_step", 1, head_.part_));
    return {};
  }

  // ModernBERT's head: dense layer, activation and norm on the pooled vector or on each token.
  Result<void> read_prediction_head() {
    SIGNALBOX_TRY(head_.pooling_, read_pooling("cls"));
    SIGNALBOX_TRY(head_.activation_, read_activation(root_, "classifier_activation", "gelu"));
    SIGNALBOX_TRY(const bool dense_bias, root_.boolean("classifier_bias", false));
    SIGNALBOX_TRY(const bool norm_bias, root_.boolean("norm_bias", false));
    SIGNALBOX_TRY(const double eps, root_.number("norm_eps", 0, 1, 1e-5));
    head_.norm_eps_ = static_cast<float>(eps);
    head_.dense_ = reader_.linear("head.dense", trunk_.hidden, trunk_.hidden, dense_bias);
    head_.norm_ = reader_.norm("head.norm", trunk_.hidden, norm_bias);
    return {};
  }

  // The dense layer of some families is part of the encoder, so it may have the encoder's prefix.
  Result<void> read_first_token_head() {
    const FirstTokenHead& form = family_->first;
    head_.activation_ = form.activation;
    if (!form.activation_key.empty()) {
      SIGNALBOX_TRY(head_.activation_, read_activation(root_, form.activation_key, "gelu"));
    }
    std::string dense(form.dense);
    const std::string prefixed = fmt::format("{}.{}", family_->model_type, dense);
    if (reader_.rows(dense + ".weight") == 0 && reader_.rows(prefixed + ".weight") > 0)
      dense = prefixed;
    head_.dense_ = reader_.linear(dense, trunk_.hidden, trunk_.hidden, true);
    return read_classifier(std::string(form.classifier), true);
  }

  Result<void> read_classifier(const std::string& name, bool bias) {
    SIGNALBOX_TRY(int32_t classes, root_.integer("num_labels", 1, 1 << 16, 2));
    const int64_t rows = reader_.rows(name + ".weight");
    if (rows > 1 << 16) {
      return fail(Code::kCorrupt, "{}: tensor \"{}.weight\" has {} rows, a head has at most {}",
                  reader_.file_of(name + ".weight"), name, rows, 1 << 16);
    }
    if (rows > 0) classes = static_cast<int32_t>(rows);
    if (head_.part_ > 0 && classes < 2) {
      return fail(Code::kUnsupported, "{}: \"strongest_part\" takes two classes at least",
                  root_.where("classifier_pooling"));
    }
    head_.classifier_ = reader_.linear(name, trunk_.hidden, classes, bias);
    if (!reader_.status()) return reader_.status();
    SIGNALBOX_TRY(head_.info_.labels, label_names(name, classes));
    return read_scores(classes);
  }

  // An adapter's class names can only come from its own directory; the model's names belong to
  // other classes.
  Result<std::vector<std::string>> label_names(const std::string& classifier, int32_t classes) {
    if (adapter_ == nullptr) return read_labels(directory_, config_, classes);
    if (std::filesystem::exists(directory_ / "config.json")) {
      SIGNALBOX_TRY(const auto own, weights::HfConfig::open(directory_ / "config.json"));
      return read_labels(directory_, own, classes);
    }
    const bool replaced = adapter_->adapter().replacement(classifier + ".weight") != nullptr;
    SIGNALBOX_TRY(const auto unnamed, weights::HfConfig::parse("{}", "config.json"));
    return read_labels(directory_, replaced ? unnamed : config_, classes);
  }

  // Reads the activation that sentence-transformers' cross-encoders apply to their single output.
  // Newer versions of that library write it to a file of their own, older ones to config.json.
  Result<Scores> read_cross_encoder_scores() const {
    constexpr std::string_view kKey = "activation_fn";
    const std::filesystem::path path = directory_ / kPromptsFile;
    if (std::filesystem::exists(path)) {
      SIGNALBOX_TRY(const auto file, weights::HfConfig::open(path));
      if (file.root().has(kKey)) return read_activation_scores(file.root(), kKey);
    }
    SIGNALBOX_TRY(const auto section, root_.object("sentence_transformers"));
    if (section && section->has(kKey)) return read_activation_scores(*section, kKey);
    return read_activation_scores(root_, "sbert_ce_default_activation_function");
  }

  static Result<Scores> read_activation_scores(const weights::HfObject& config,
                                               std::string_view key) {
    SIGNALBOX_TRY(const std::string name, config.string(key, ""));
    if (name.ends_with(".Identity")) return Scores::kRaw;
    if (name.empty() || name.ends_with(".Sigmoid")) return Scores::kSigmoid;
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: Identity, Sigmoid)",
                config.where(key), name);
  }

  Result<void> read_scores(int32_t classes) {
    SIGNALBOX_TRY(const std::string problem, root_.string("problem_type", ""));
    Scores& scores = head_.info_.scores;
    if (head_.info_.kind == HeadKind::kTokens) {
      scores = Scores::kSoftmax;
    } else if (problem == "regression") {
      scores = Scores::kRaw;
    } else if (problem == "multi_label_classification") {
      scores = Scores::kSigmoid;
    } else if (!problem.empty() && problem != "single_label_classification") {
      return fail(Code::kUnsupported,
                  "{}: \"{}\" is not supported (supported: single_label_classification, "
                  "multi_label_classification, regression)",
                  root_.where("problem_type"), problem);
    } else if (classes == 1) {
      // The softmax of one class would be 1 for every text.
      SIGNALBOX_TRY(scores, read_cross_encoder_scores());
    } else {
      scores = Scores::kSoftmax;
    }
    return {};
  }

  const std::filesystem::path& directory_;
  const weights::HfConfig& config_;
  const weights::HfObject root_;
  weights::LoraUse* const adapter_;  // null if there is none
  const Family* family_ = nullptr;   // null for one of our own heads
  const TrunkShape& trunk_;
  TensorReader reader_;
  Head head_;
};

Result<std::optional<Head>> Head::open(const std::filesystem::path& directory,
                                       const weights::HfConfig& config,
                                       const weights::SafeTensors& file,
                                       const kernels::Table& kernels, const TrunkShape& trunk,
                                       weights::LoraUse* adapter) {
  return HeadReader(directory, config, file, kernels, trunk, adapter).read();
}

void pool(const kernels::Table& kernels, Pooling pooling, int32_t tokens, int32_t hidden,
          const float* x, float* out) {
  if (pooling == Pooling::kMean) {
    kernels.mean_rows(tokens, hidden, x, out);
    return;
  }
  const int64_t row = pooling == Pooling::kLast ? tokens - 1 : 0;
  std::copy_n(x + row * hidden, hidden, out);
  if (pooling != Pooling::kMax) return;
  for (int64_t at = hidden; at < int64_t{tokens} * hidden; at += hidden) {
    for (int32_t i = 0; i < hidden; ++i) out[i] = std::max(out[i], x[at + i]);
  }
}

std::vector<float> Head::logits(const Batch& batch, const float* x) const {
  if (info_.kind == HeadKind::kTokens) return network(batch.tokens(), x);
  const std::vector<float> rows = pooled(batch, x);  // (parts, hidden)
  const auto parts = static_cast<int32_t>(rows.size() / classifier_.in());
  std::vector<float> out = network(parts, rows.data());
  return parts == batch.sequences() ? out : strongest(batch, out);
}

int32_t Head::parts_of(int32_t tokens) const {
  if (part_ == 0 || tokens <= part_) return 1;
  return 1 + (tokens - part_ + step_ - 1) / step_;
}

// A causal network's head reads the last token that is not padding, even if a text contains the
// padding token.
int32_t Head::length_without_padding(const Batch& batch, int32_t sequence) const {
  int32_t length = batch.length(sequence);
  while (length > 1 && batch.ids[batch.begin(sequence) + length - 1] == padding_) --length;
  return length;
}

// Pools x (batch.tokens(), hidden) into the parts of all sequences, (parts, hidden). The last part
// of a sequence ends at the sequence's end.
std::vector<float> Head::pooled(const Batch& batch, const float* x) const {
  const int32_t hidden = classifier_.in();
  int64_t parts = 0;
  for (int32_t i = 0; i < batch.sequences(); ++i) parts += parts_of(batch.length(i));
  std::vector<float> out(parts * hidden);
  float* row = out.data();
  for (int32_t i = 0; i < batch.sequences(); ++i) {
    const int32_t length = length_without_padding(batch, i), count = parts_of(length);
    const int32_t tokens = count == 1 ? length : part_;
    for (int32_t k = 0; k < count; ++k, row += hidden) {
      const int64_t begin = int64_t{batch.begin(i)} + std::min(k * step_, length - tokens);
      pool(*kernels_, pooling_, tokens, hidden, x + begin * hidden, row);
      if (normalizes_) kernels_->l2_normalize(hidden, row);
    }
  }
  return out;
}

// Selects for each sequence the logits of the part that is furthest from the first class: (parts,
// classes) to (sequences, classes).
std::vector<float> Head::strongest(const Batch& batch, const std::vector<float>& of_parts) const {
  std::vector<float> out;
  const float* part = of_parts.data();
  for (int32_t i = 0; i < batch.sequences(); ++i) {
    const float* best = part;
    const auto away = [&](const float* logits) {
      return *std::max_element(logits + 1, logits + classes()) - logits[0];
    };
    for (int32_t k = parts_of(batch.length(i)); k > 0; --k, part += classes()) {
      if (away(part) > away(best)) best = part;
    }
    out.insert(out.end(), best, best + classes());
  }
  return out;
}

// Applies the layers after pooling: x (rows, hidden) to logits (rows, classes).
std::vector<float> Head::network(int32_t rows, const float* x) const {
  const int32_t hidden = classifier_.in();
  std::vector<float> out(int64_t{rows} * classes());
  std::vector<float> dense(dense_ ? int64_t{std::min(rows, kBlockTokens)} * hidden : 0);
  Operands operands;  // for heads that are packed in fewer bits
  operands.reserve(std::min(rows, kBlockTokens), hidden);
  for (int64_t begin = 0; begin < rows; begin += kBlockTokens) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kBlockTokens, rows - begin));
    const float* from = x + begin * hidden;  // (count, hidden)
    if (dense_) {
      dense_->apply(*kernels_, count, from, kernels::Finish::kStore, operands, dense.data());
      activate(*kernels_, activation_, int64_t{count} * hidden, dense.data());
      if (norm_) norm_->apply(*kernels_, count, norm_eps_, dense.data(), dense.data());
      from = dense.data();
    }
    classifier_.apply(*kernels_, count, from, kernels::Finish::kStore, operands,
                      out.data() + begin * classes());
  }
  return out;
}

void Head::to_scores(std::span<float> logits) const {
  if (info_.scores == Scores::kRaw) return;
  if (info_.scores == Scores::kSigmoid) {
    for (float& x : logits) x = 1 / (1 + std::exp(-x));
    return;
  }
  const float largest = *std::ranges::max_element(logits);
  float sum = 0;
  for (float& x : logits) sum += x = std::exp(x - largest);
  for (float& x : logits) x /= sum;
}

}  // namespace signalbox::engine
