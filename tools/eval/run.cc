// Rows are neither batched nor run in parallel, so a row's time is what a single caller would wait.

#include "tools/eval/run.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "tools/read_text.h"

namespace signalbox::tools {
namespace {

double wall_ms() {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  return Milliseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

engine::Input input_of(const Subject& subject, const LabelledRow& row) {
  return {
      .text = row.text, .pair = row.pair, .adapter = subject.model->heads()[subject.head].adapter};
}

// The two texts of a pair are embedded separately. Only a pair that is classified is one input; any
// other text is read in windows.
Result<bool> is_cut(const Subject& subject, const LabelledRow& row, RowKind kind) {
  if (kind != RowKind::kScore) {
    if (row.pair) return subject.model->is_cut(input_of(subject, row));
    return is_longer_than_windows(*subject.model, row.text);
  }
  for (const std::string_view text : {std::string_view(row.text), std::string_view(*row.pair)}) {
    SIGNALBOX_TRY(const bool cut, subject.model->is_cut({.text = text}));
    if (cut) return true;
  }
  return false;
}

Result<Evaluated> evaluate_kind(const Subject& subject, const LabelledRows& rows, RowKind kind,
                                const EvalOptions& options) {
  switch (kind) {
    case RowKind::kSpans:
      return evaluate_tagger(subject, rows, options);
    case RowKind::kScore:
      return evaluate_embedding(subject, rows, options);
    default:
      return evaluate_classifier(subject, rows, options);
  }
}

}  // namespace

Result<std::vector<float>> classify_row(const Subject& subject, const LabelledRow& row) {
  if (!row.pair) {
    SIGNALBOX_TRY(auto read, read_text(*subject.model, subject.head, row.text,
                                       row.is_document ? signals::TextKind::kDocument
                                                       : signals::TextKind::kPrompt));
    return std::move(read.scores);
  }
  const engine::Input input = input_of(subject, row);
  SIGNALBOX_TRY(auto answers, subject.model->answer({&input, 1}));
  return std::move(answers[subject.head].scores);
}

Result<Times> timed(const LabelledRows& rows, const EvalOptions& options,
                    const std::function<Result<void>(size_t row)>& one) {
  Times out;
  const size_t count = rows.rows.size();
  const auto run = [&](size_t row) -> Result<void> {
    auto done = one(row);
    if (!done) return fail_in(rows.place(row), std::move(done).error());
    return {};
  };
  SIGNALBOX_TRY_VOID(run(0));
  const double begin = wall_ms();
  for (size_t row = 0; row < count; ++row) {
    const double wall = wall_ms(), cpu = cpu_ms();
    SIGNALBOX_TRY_VOID(run(row));
    out.cpu.push_back(cpu_ms() - cpu);
    out.wall.push_back(wall_ms() - wall);
    options.progress(row + 1, count);
  }
  out.seconds = (wall_ms() - begin) / 1e3;
  std::ranges::sort(out.wall);
  std::ranges::sort(out.cpu);
  return out;
}

Result<void> check(const Subject& subject, const LabelledRows& rows, RowKind kind,
                   const EvalOptions& options) {
  if (kind == RowKind::kLabel || kind == RowKind::kPairLabel)
    return check_classifier(subject, rows, options);
  return {};
}

Result<Evaluated> evaluate(const Subject& subject, const LabelledRows& rows, RowKind kind,
                           const EvalOptions& options) {
  SIGNALBOX_TRY(Evaluated out, evaluate_kind(subject, rows, kind, options));
  out.cut = 0;
  for (const LabelledRow& row : rows.rows) {
    SIGNALBOX_TRY(const bool cut, is_cut(subject, row, kind));
    *out.cut += cut ? 1 : 0;
  }
  return out;
}

std::vector<Measured> compute_figures(std::span<const Figure> figures, size_t rows, uint32_t seed) {
  auto samples = resampled(figures, rows, seed);
  const std::vector<uint32_t> once(rows, 1);
  std::vector<Measured> out;
  for (size_t i = 0; i < figures.size(); ++i) {
    out.push_back({.name = figures[i].name,
                   .value = figures[i].of(once),
                   .interval = percentile_interval(samples[i]),
                   .samples = std::move(samples[i])});
  }
  return out;
}

}  // namespace signalbox::tools
