// The options are fixed, so that every caller compares vectors of one space.

#include "router/models/shaped_embedder.h"

#include <utility>

namespace signalbox::models {
namespace {

class ShapedEmbedder final : public engine::TextEmbedder {
 public:
  ShapedEmbedder(std::shared_ptr<const engine::TextModel> model, engine::EmbedOptions options)
      : model_(std::move(model)), options_(options) {}

  const engine::TextModel* text_model() const override { return model_.get(); }
  int32_t dim() const override { return options_.dim > 0 ? options_.dim : model_->dim(); }
  int32_t tokens_max() const override { return model_->tokens_max(); }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    return model_->embed(texts, options_, out);
  }
  Result<void> embed_within(const engine::Patience& patience,
                            std::span<const std::string_view> texts,
                            std::span<float> out) const override {
    return model_->embed_within(patience, texts, options_, out);
  }

 private:
  std::shared_ptr<const engine::TextModel> model_;
  engine::EmbedOptions options_;
};

}  // namespace

engine::EmbedOptions embed_options(const config::EmbeddingModel& config,
                                   const engine::TextModel& model) {
  const auto below = [](uint32_t wanted, int32_t all) {
    return std::cmp_less(wanted, all) ? static_cast<int32_t>(wanted) : 0;
  };
  engine::EmbedOptions out;
  out.layers = below(config.target_layer, model.layers());
  out.dim = below(config.target_dimension, model.dim());
  return out;
}

std::shared_ptr<const engine::TextEmbedder> shape_embedder(
    const config::EmbeddingModel& config, std::shared_ptr<const engine::TextModel> model) {
  const engine::EmbedOptions options = embed_options(config, *model);
  if (options == engine::EmbedOptions{}) return model;
  return std::make_shared<const ShapedEmbedder>(std::move(model), options);
}

std::string space_of(const config::EmbeddingModel& config, size_t dim) {
  return fmt::format(
      "{} {} {} {} {}", config.path,
      config.endpoint ? config.endpoint->base_url + " " + config.endpoint->model : "",
      config.target_layer, config.target_dimension, dim);
}

}  // namespace signalbox::models
