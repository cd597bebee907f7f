// Computes ranks, then Pearson's correlation of the ranks.

#include "tests/engine/sts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

namespace signalbox::engine {
namespace {

// Returns ranks from 0; equal values share their mean rank.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t k = i; k < end; ++k)
      out[order[k]] = (static_cast<double>(i) + static_cast<double>(end) - 1) / 2;
    i = end;
  }
  return out;
}

double pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n,
               my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace

std::vector<json::Document> read_lines(const std::filesystem::path& path) {
  std::vector<json::Document> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto document = json::Document::parse(std::move(line));
    EXPECT_TRUE(document) << document.error().message;
    out.push_back(*std::move(document));
  }
  return out;
}

double spearman_on_sts(const TextModel& model, const std::filesystem::path& path) {
  const auto lines = read_lines(path);
  std::vector<std::string_view> texts;  // both texts of each line, consecutively
  std::vector<double> expected, found;
  for (const json::Document& line : lines) {
    texts.push_back(line.root().find("a")->text());
    texts.push_back(line.root().find("b")->text());
    expected.push_back(line.root().find("score")->number().value());
  }
  const size_t dim = model.dim();
  std::vector<float> vectors(texts.size() * dim);
  const auto done = model.embed(texts, vectors);
  EXPECT_TRUE(done) << done.error().message;
  for (auto a = vectors.cbegin(); a != vectors.cend(); a += 2 * dim) {
    found.push_back(std::inner_product(a, a + dim, a + dim, 0.0));
  }
  return pearson(ranks(expected), ranks(found));
}

}  // namespace signalbox::engine
