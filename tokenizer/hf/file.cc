// Reads the whole file, section by section. Only the side of `truncation` is used. Like `padding`,
// the rest is a setting of the program that saved the file, and here a parameter of each call.
// `decoder` converts ids to text, which classifiers do not need.

#include "tokenizer/hf/file.h"

#include <string_view>
#include <utility>

#include "tokenizer/hf/sections.h"
#include "tokenizer/pipeline.h"

namespace signalbox::tokenizer {
namespace {

Result<void> check_version(const Field& root) {
  SIGNALBOX_TRY(const auto version, root.optional_member("version"));
  if (!version) return {};
  SIGNALBOX_TRY(const std::string_view name, version->string());
  if (name != "1.0") return unsupported(*version, "1.0");
  return {};
}

Result<TruncationSide> read_side(const Field& root, const Settings& settings) {
  if (settings.side) return *settings.side;
  SIGNALBOX_TRY(const auto truncation, root.optional_member("truncation"));
  if (!truncation) return TruncationSide::kRight;
  SIGNALBOX_TRY(const auto direction, truncation->optional_member("direction"));
  const bool is_left =
      direction && direction->value().is_string() && direction->value().text() == "Left";
  return is_left ? TruncationSide::kLeft : TruncationSide::kRight;
}

}  // namespace

Result<Pipeline::Parts> read_hf_json(std::string json, const Settings& settings,
                                     const BpeTables* tables) {
  auto document = json::Document::parse(std::move(json));
  if (!document) return fail(Code::kCorrupt, "{}", document.error().message);
  const Field root(document->root(), "");
  SIGNALBOX_TRY_VOID(check_version(root));
  SIGNALBOX_TRY(const Field model, root.member("model"));
  SIGNALBOX_TRY(Normalizers normalizers, read_normalizers(root, settings));
  SIGNALBOX_TRY(Pretokenizer pretokenizer, read_pretokenizer(root, settings));
  SIGNALBOX_TRY(LoadedModel loaded, read_model(model, pretokenizer.byte_level, tables));
  int32_t ids_end = loaded.vocabulary->ids_end();
  SIGNALBOX_TRY(Added added,
                read_added_tokens(root, settings, normalizers, *loaded.vocabulary, ids_end));
  SIGNALBOX_TRY(Postprocessor postprocessor,
                read_postprocessor(root, settings, added.marks, ids_end));
  SIGNALBOX_TRY(const TruncationSide side, read_side(root, settings));
  auto spaces =
      postprocessor.trims() ? spaces_of_pieces(*loaded.vocabulary) : std::vector<Spaces>();
  return Pipeline::Parts{
      .storage = {},
      .raw_tokens = AddedTokens(std::move(added.raw)),
      .normalized_tokens = AddedTokens(std::move(added.normalized)),
      .normalizers = std::move(normalizers),
      .pretokenizer = std::move(pretokenizer),
      .model = std::move(loaded.model),
      .postprocessor = std::move(postprocessor),
      .spaces = std::move(spaces),
      .verbatim_id = loaded.verbatim_id,
      .vocabulary_size = ids_end,
      .tokens_max = settings.tokens_max,
      .side = side,
  };
}

}  // namespace signalbox::tokenizer
