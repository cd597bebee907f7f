// One reader serves all kinds of rows; only the required members differ.

#include "tools/eval/rows.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include "tools/jsonl.h"

namespace signalbox::tools {
namespace {

constexpr size_t kRowsMax = 2'000'000;
constexpr size_t kTextBytesMax = size_t{1} << 30;
constexpr const char* kNoSpans = "none";

// Member names that published sets use for the two texts of a pair.
constexpr const char* kTextFields[] = {"text", "a", "premise", "sentence1"};
constexpr const char* kPairFields[] = {"pair", "b", "hypothesis", "sentence2"};

// Member names for an answer to check: ours first, then HaluEval's.
constexpr const char* kAnswerFields[] = {"answer", "response"};
constexpr const char* kQuestionFields[] = {"question", "query"};

struct Source {
  std::string file;
  std::optional<std::string> label;  // replaces every row's own label
};

Source source_of(const std::string& data) {
  const size_t equals = data.find('=');
  if (equals == std::string::npos || std::filesystem::exists(data)) return {data, {}};
  return {data.substr(equals + 1), data.substr(0, equals)};
}

bool is_pair(RowKind kind) {
  return kind == RowKind::kPairLabel || kind == RowKind::kScore;
}

// Sorts the spans and merges those that overlap.
std::vector<LabelledSpan> joined(std::vector<LabelledSpan> spans) {
  std::ranges::sort(spans, {}, &LabelledSpan::begin);
  std::vector<LabelledSpan> out;
  for (LabelledSpan& span : spans) {
    if (out.empty() || out.back().end < span.begin) {
      out.push_back(std::move(span));
    } else {
      out.back().end = std::max(out.back().end, span.end);
    }
  }
  return out;
}

// Reads spans given as code point offsets, {"start", "end"}, or as substrings of the answer. Skips
// substrings that do not occur in the answer.
Result<std::vector<LabelledSpan>> answer_spans(const json::Value& row, std::string_view answer) {
  const json::Items items = row.find("spans")->items();
  if (!(items.begin() != items.end()) || !(*items.begin()).is_string())
    return read_spans(row, answer, {.member = "spans", .has_types = false});
  std::vector<LabelledSpan> out;
  for (const json::Value& each : items) {
    if (!each.is_string()) return fail(Code::kInvalid, "spans[{}]: expected a string", out.size());
    const size_t at = each.text().empty() ? answer.npos : answer.find(each.text());
    if (at == answer.npos) continue;
    out.push_back({.type = {},
                   .begin = static_cast<uint32_t>(at),
                   .end = static_cast<uint32_t>(at + each.text().size())});
  }
  return joined(std::move(out));
}

class Reader {
 public:
  explicit Reader(const RowOptions& options) : options_(options) {}

  Result<void> read(std::istream& in, const Source& source) {
    out_.files.push_back(source.file);
    const auto done = read_rows(in, [&](const json::Value& row, size_t line) -> Result<void> {
      return read_row(row, source, line);
    });
    if (!done) return fail_in(source.file, done.error());
    return {};
  }

  Result<LabelledRows> take() {
    if (!out_.rows.empty()) return std::move(out_);
    return fail(Code::kInvalid, "{}: no rows", out_.files.empty() ? "no file" : out_.files[0]);
  }

 private:
  // Returns the field `name`; if no name is given, the first of the `usual` fields that the row
  // has.
  static Result<std::string_view> text_of(const json::Value& row, std::string_view name,
                                          std::span<const char* const> usual) {
    if (!name.empty()) return string_member(row, name);
    for (const char* each : usual) {
      if (row.find(each)) return string_member(row, each);
    }
    return fail(Code::kInvalid, "{}: missing", usual[0]);
  }

  Result<void> read_row(const json::Value& row, const Source& source, size_t line) {
    if (!row.is_object()) {
      return fail(Code::kInvalid, "expected an object, found {}", json::type_name(row.type()));
    }
    LabelledRow out;
    out.file = static_cast<uint32_t>(out_.files.size() - 1);
    out.line = line;
    SIGNALBOX_TRY(const bool is_kept, read_fields(row, source, out));
    if (const auto document = row.find("document")) {
      if (!document->is_bool())
        return fail(Code::kInvalid, "document: expected true or false, found {}", document->raw());
      out.is_document = document->boolean();
    }
    bytes_ += out.text.size() + (out.pair ? out.pair->size() : 0) + out.context.size() +
              out.question.size();
    if (bytes_ > kTextBytesMax)
      return fail(Code::kTooLarge, "more than {} MiB of text", kTextBytesMax >> 20);
    if (is_kept) out_.rows.push_back(std::move(out));
    if (out_.rows.size() > kRowsMax) return fail(Code::kTooLarge, "more than {} rows", kRowsMax);
    return {};
  }

  // Returns false if the row is to be left out.
  Result<bool> read_fields(const json::Value& row, const Source& source, LabelledRow& out) const {
    if (options_.kind == RowKind::kAnswer) return read_answer(row, out);
    const size_t names = is_pair(options_.kind) ? std::size(kTextFields) : 1;
    SIGNALBOX_TRY(out.text, text_of(row, options_.text_field, {kTextFields, names}));
    const bool has_pair = options_.kind == RowKind::kLabel &&
                          (!options_.pair_field.empty() || row.find(kPairFields[0]));
    if (is_pair(options_.kind) || has_pair) {
      SIGNALBOX_TRY(out.pair, text_of(row, options_.pair_field, kPairFields));
    }
    return read_truth(row, source, out);
  }

  // A row without a context uses its question as the context, because the question may contain the
  // text that it is about.
  static Result<bool> read_answer(const json::Value& row, LabelledRow& out) {
    SIGNALBOX_TRY(out.text, text_of(row, "", kAnswerFields));
    for (const char* name : kQuestionFields) {
      if (!row.find(name)) continue;
      SIGNALBOX_TRY(out.question, string_member(row, name));
      break;
    }
    if (row.find("context")) {
      SIGNALBOX_TRY(out.context, string_member(row, "context"));
    } else if (!out.question.empty()) {
      out.context = out.question;
    } else {
      return fail(Code::kInvalid, "context: missing");
    }
    const bool has_spans = row.find("spans").has_value();
    if (has_spans) {
      SIGNALBOX_TRY(out.spans, answer_spans(row, out.text));
    }
    if (row.find("hallucination")) {
      SIGNALBOX_TRY(out.label, string_member(row, "hallucination"));
      if (out.label == "yes" || out.label == "no") return true;
      return fail(Code::kInvalid, "hallucination: expected yes or no, found \"{}\"", out.label);
    }
    if (!has_spans) return fail(Code::kInvalid, "spans: missing");
    out.label = out.spans.empty() ? "no" : "yes";
    return true;
  }

  // Returns false if the row is to be left out.
  Result<bool> read_truth(const json::Value& row, const Source& source, LabelledRow& out) const {
    if (options_.kind == RowKind::kScore) {
      const auto score = row.find("score");
      if (!score) return fail(Code::kInvalid, "score: missing");
      auto number = score->number();
      if (!number) return fail_in("score", std::move(number).error());
      out.score = *number;
      return true;
    }
    if (options_.kind == RowKind::kSpans) {
      if (source.label) return true;
      SIGNALBOX_TRY(out.spans, read_spans(row, out.text));
      for (LabelledSpan& span : out.spans) span.type = renamed(span.type);
      return true;
    }
    if (source.label) {
      out.label = *source.label;
      return true;
    }
    const std::string_view name =
        options_.label_field.empty() ? std::string_view("label") : options_.label_field;
    SIGNALBOX_TRY(const std::string label, label_member(row, name));
    out.label = renamed(label);
    return !out.label.empty();
  }

  std::string renamed(const std::string& label) const {
    auto found = options_.labels.find(label);
    if (found == options_.labels.end()) found = options_.labels.find("*");
    return found == options_.labels.end() ? label : found->second;
  }

  const RowOptions& options_;
  LabelledRows out_;
  size_t bytes_ = 0;
};

}  // namespace

std::string LabelledRows::place(size_t row) const {
  return fmt::format("{}: line {}", files[rows[row].file], rows[row].line);
}

Result<LabelledRows> read_labelled(const RowOptions& options) {
  Reader reader(options);
  for (const std::string& data : options.data) {
    const Source source = source_of(data);
    if (options.kind == RowKind::kSpans && source.label && *source.label != kNoSpans) {
      return fail(Code::kInvalid, "{}: expected FILE or {}=FILE, rows without entities", data,
                  kNoSpans);
    }
    const bool has_labels = options.kind != RowKind::kScore && options.kind != RowKind::kAnswer;
    if (source.label && !has_labels) {
      return fail(Code::kNotFound,
                  "{}: cannot be read; LABEL=FILE works only for tasks with labels", data);
    }
    std::ifstream in(source.file, std::ios::binary);
    if (!in) return fail(Code::kNotFound, "{}: cannot be read", source.file);
    SIGNALBOX_TRY_VOID(reader.read(in, source));
  }
  return reader.take();
}

Result<LabelledRows> read_labelled(std::istream& in, const RowOptions& options) {
  Reader reader(options);
  SIGNALBOX_TRY_VOID(reader.read(in, {.file = "lines", .label = {}}));
  return reader.take();
}

}  // namespace signalbox::tools
