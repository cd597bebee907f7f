// To add an algorithm, write its own file, a declaration in algorithms.h and a line here.

#include "router/routing/selection/factory.h"

#include <filesystem>

#include "base/mapped_file.h"
#include "router/routing/selection/algorithms.h"

namespace signalbox::selection {
namespace {

namespace fs = std::filesystem;

class Factory {
 public:
  Factory(const config::Config& config, const config::Routing& routing,
          const config::Decision& decision, std::span<const Candidate> candidates,
          const engine::TextEmbedder* embedder)
      : config_(config),
        routing_(routing),
        decision_(decision),
        candidates_(candidates),
        embedder_(embedder) {}

  Result<Selection> make() const {
    const config::Algorithm& algorithm = decision_.algorithm;
    if (algorithm.type == "latency_aware")
      return Selection{latency_aware(algorithm.latency_aware.value_or(kBothLatencies)), ""};
    if (algorithm.type == "multi_factor")
      return Selection{multi_factor(algorithm.multi_factor.value_or(config::MultiFactor{})), ""};
    if (algorithm.type == "automix") return Selection{automix(*algorithm.automix), ""};
    if (algorithm.type == "hybrid") return make_hybrid();
    if (algorithm.type == "static") return Selection{static_choice(routing_.domains), ""};
    if (algorithm.type == "random") return Selection{random_choice(), ""};
    if (algorithm.type != "router_dc") return make_trained();
    if (embedder_ == nullptr) return fall_back_without_embedder();
    SIGNALBOX_TRY(auto selector, router_dc(*algorithm.router_dc, candidates_, *embedder_));
    return Selection{std::move(selector), ""};
  }

 private:
  static constexpr uint32_t kLatencyPercentile = 95;
  inline static const config::LatencyAware kBothLatencies{
      kLatencyPercentile, kLatencyPercentile, {}};

  Selection make_static_fallback(std::string_view why) const {
    return {static_choice(routing_.domains),
            fmt::format("{}:{}: decision \"{}\": {}: {}; it falls back to static", config_.source,
                        decision_.line, decision_.name, decision_.algorithm.type, why)};
  }

  Selection fall_back_without_embedder() const {
    Selection out = make_static_fallback("there is no embedding model");
    out.lacks_embedder = true;
    return out;
  }

  Result<Selection> make_hybrid() const {
    const config::Algorithm& algorithm = decision_.algorithm;
    SIGNALBOX_TRY(auto selector, hybrid(*algorithm.hybrid, *algorithm.router_dc, *algorithm.automix,
                                        candidates_, embedder_));
    Selection out{std::move(selector), ""};
    if (embedder_ == nullptr && algorithm.hybrid->router_dc_weight > 0) {
      out.lacks_embedder = true;
      out.notice = fmt::format(
          "{}:{}: decision \"{}\": hybrid: there is no embedding model; cards "
          "are not compared",
          config_.source, decision_.line, decision_.name);
    }
    return out;
  }

  std::string_view name_of_trained() const {
    const std::string& type = decision_.algorithm.type;
    return type == "kmeans" ? "kmeans" : type == "svm" ? "svm" : "mlp";
  }

  const config::MlSelector& settings_of_trained() const {
    const config::Algorithm& algorithm = decision_.algorithm;
    if (algorithm.type == "kmeans") return *algorithm.kmeans;
    if (algorithm.type == "svm") return *algorithm.svm;
    return algorithm.type == "mlp" ? *algorithm.mlp : *algorithm.knn;
  }

  Result<Selection> make_trained() const {
    const config::MlSelector& settings = settings_of_trained();
    if (settings.pretrained_path.empty())
      return make_static_fallback("no trained model is configured");
    fs::path path = settings.pretrained_path;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) path = fs::path(config_.source).parent_path() / path;
    if (!fs::exists(path, ignored))
      return make_static_fallback(
          fmt::format("there is no trained model at {}", settings.pretrained_path));
    if (embedder_ == nullptr) return fall_back_without_embedder();
    SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
    const int32_t dim = embedder_->dim();
    std::string text(file.text());
    SIGNALBOX_TRY(auto selector,
                  decision_.algorithm.type == "knn"
                      ? knn(std::move(text), path.string(), settings.k, dim)
                      : trained(name_of_trained(), std::move(text), path.string(), dim));
    return Selection{std::move(selector), ""};
  }

  const config::Config& config_;
  const config::Routing& routing_;
  const config::Decision& decision_;
  std::span<const Candidate> candidates_;
  const engine::TextEmbedder* embedder_;
};

}  // namespace

bool compares_meanings(std::string_view algorithm) {
  return algorithm == "router_dc" || algorithm == "hybrid" || algorithm == "knn" ||
         algorithm == "kmeans" || algorithm == "svm" || algorithm == "mlp";
}

Result<Selection> make_selector(const config::Config& config, const config::Routing& routing,
                                const config::Decision& decision,
                                std::span<const Candidate> candidates,
                                const engine::TextEmbedder* embedder) {
  auto made = Factory(config, routing, decision, candidates, embedder).make();
  if (!made)
    return fail_in(
        fmt::format("{}:{}: decision \"{}\"", config.source, decision.line, decision.name),
        std::move(made).error());
  return made;
}

}  // namespace signalbox::selection
