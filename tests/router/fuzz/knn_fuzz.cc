// Feeds arbitrary bytes as a trained selector of each kind. It must be refused, or choose.

#include <array>
#include <cstdint>

#include "router/routing/selection/algorithms.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using namespace signalbox::selection;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::array<config::Model, 2> models;
  models[0].name.push_back('a');
  models[1].name.push_back('b');
  const config::ModelRef ref;
  const std::array<selection::Candidate, 2> candidates{selection::Candidate{&ref, &models[0], {}},
                                                       selection::Candidate{&ref, &models[1], {}}};
  const std::array<float, 2> query{1, 0};
  const auto check = [&](const Made& made) {
    if (!made) return;
    const auto choice = (*made)->choose(candidates, {.query = query});
    SIGNALBOX_CHECK(choice && choice->candidate < candidates.size());
  };
  check(knn(text, "fuzz.json", 0, 2));
  for (const char* method : {"kmeans", "svm", "mlp"}) check(trained(method, text, "fuzz.json", 2));
  return 0;
}
