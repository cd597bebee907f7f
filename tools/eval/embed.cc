// Evaluates embeddings: how well the cosine of two texts correlates with the score that people
// gave.

#include <array>
#include <cmath>
#include <numeric>

#include "tools/eval/run.h"

namespace signalbox::tools {

Result<Evaluated> evaluate_embedding(const Subject& subject, const LabelledRows& rows,
                                     const EvalOptions& options) {
  const auto dim = static_cast<size_t>(subject.model->dim());
  std::vector<float> vectors(2 * dim);  // (2, dim), unit length
  Evaluated out;
  out.model = subject.name;
  out.dtype = subject.dtype;
  out.cosines.resize(rows.rows.size());
  SIGNALBOX_TRY(
      out.times, timed(rows, options, [&](size_t r) -> Result<void> {
        const std::array<std::string_view, 2> texts{rows.rows[r].text, *rows.rows[r].pair};
        SIGNALBOX_TRY_VOID(subject.model->embed(texts, vectors));
        const auto half = vectors.begin() + static_cast<int64_t>(dim);
        out.cosines[r] = std::inner_product(vectors.begin(), half, half, 0.0);
        if (std::isfinite(out.cosines[r])) return {};
        return fail(Code::kCorrupt, "{}: the embeddings are not finite", subject.name);
      }));
  std::vector<double> scores;
  out.files.resize(rows.files.size());
  for (const LabelledRow& row : rows.rows) {
    scores.push_back(row.score);
    ++out.files[row.file].rows;
  }
  const Spearman ranks(out.cosines, scores);
  const std::vector<Figure> figures{
      {"pearson", [&](Weights weights) { return pearson(out.cosines, scores, weights); }},
      {"spearman", std::cref(ranks)}};
  out.figures = compute_figures(figures, rows.rows.size(), options.seed);
  return out;
}

}  // namespace signalbox::tools
