#pragma once
// The weights of Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009).

#include <cmath>

namespace signalbox::text {

struct Bm25 {
  double k1 = 1.2;  // how much repeated occurrences of a term count
  double b = 0.75;  // how strongly long texts are penalised, 0 to 1

  /// The weight of a term that `holders` of `texts` texts contain.
  static double rarity(double texts, double holders) {
    return std::log(1 + (texts - holders + 0.5) / (holders + 0.5));
  }
  /// The weight of `count` occurrences in a text of `length` terms, 0 to k1 + 1. `mean` is the mean
  /// length of all texts.
  double saturation(double count, double length, double mean) const {
    return count * (k1 + 1) / (count + k1 * (1 - b + b * length / mean));
  }
};

}  // namespace signalbox::text
