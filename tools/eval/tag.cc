// Evaluates taggers: whether spans have the right type and bounds, and how often a tagger finds
// something in texts without spans.

#include <algorithm>

#include "tools/eval/run.h"
#include "tools/read_text.h"

namespace signalbox::tools {
namespace {

// "PERSON 0-3, AGE 9-11": equal lists of spans have equal texts.
std::string spans_text(std::span<const engine::Entity> found) {
  std::string out;
  for (const engine::Entity& each : found)
    out += fmt::format("{}{} {}-{}", out.empty() ? "" : ", ", each.type, each.begin, each.end);
  return out;
}

}  // namespace

Result<Evaluated> evaluate_tagger(const Subject& subject, const LabelledRows& rows,
                                  const EvalOptions& options) {
  std::vector<std::vector<engine::Entity>> found(rows.rows.size());
  Evaluated out;
  out.model = subject.name;
  out.dtype = subject.dtype;
  SIGNALBOX_TRY(out.times, timed(rows, options, [&](size_t r) -> Result<void> {
                  const std::string_view text = rows.rows[r].text;
                  SIGNALBOX_TRY(auto marked, mark_spans(*subject.model, subject.head, text));
                  found[r] = options.amend ? options.amend(text, std::move(marked.spans))
                                           : signals::keep_surest(std::move(marked.spans));
                  std::erase_if(found[r], [&](const engine::Entity& each) {
                    return options.threshold && each.score < *options.threshold;
                  });
                  return {};
                }));
  SpanCounter counter;
  std::vector<SpanCounts> counts;
  out.files.resize(rows.files.size());
  for (size_t r = 0; r < rows.rows.size(); ++r) {
    const LabelledRow& row = rows.rows[r];
    const SpanCounts here = counter.add(row.spans, found[r]);
    counts.push_back(here);
    out.answers.push_back(spans_text(found[r]));
    out.hits.push_back(here.hits == here.support && here.hits == here.predicted ? 1 : 0);
    FileShare& file = out.files[row.file];
    ++file.rows;
    file.hits += out.hits.back();
    file.flagged += here.predicted > 0;
    out.clean += here.support == 0;
    out.clean_flagged += here.support == 0 && here.predicted > 0;
  }
  out.spans = counter.quality();
  const Figure f1{"f1", [&](Weights weights) { return span_f1(counts, weights); }};
  out.figures = compute_figures({&f1, 1}, counts.size(), options.seed);
  return out;
}

}  // namespace signalbox::tools
