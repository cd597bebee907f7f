#pragma once
// Sections that the tokenizer.json files of all kinds of vocabularies share.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace signalbox::tools {

/// The largest id that the reader of tokenizer.json accepts.
inline constexpr int64_t kHfIdMax = (int64_t{1} << 24) - 1;

/// A token that is found in a text before the text is split.
struct HfAddedToken {
  std::string content;
  int64_t id = -1;  // -1: not known yet
  bool single_word = false;
  bool lstrip = false;  // takes the white space before it
  bool rstrip = false;
  bool normalized = false;  // is found in the normalised text
  bool special = true;
};

void write_added_tokens(std::span<const HfAddedToken> tokens, json::Writer& out);

/// The marks around a text or a pair of texts.
struct HfMarks {
  struct Item {
    std::string mark;  // "": the next text
    int type_id = 0;
  };
  std::vector<Item> single;
  std::vector<Item> pair;

  /// BERT's: [CLS] A [SEP] B [SEP]; the second text has type 1.
  static HfMarks of_bert(std::string_view begin, std::string_view end);
  /// RoBERTa's: <s> A </s> </s> B </s>; all has type 0.
  static HfMarks of_roberta(std::string_view begin, std::string_view end);
  /// A decoder's: both marks around each text. A mark may be "", which means that there is none.
  /// The second text and its marks have type 1.
  static HfMarks of_decoder(std::string_view begin, std::string_view end);
};

/// Writes a post-processor of type TemplateProcessing. `id_of` returns the id of a mark.
void write_template_processing(const HfMarks& marks,
                               const std::function<int64_t(std::string_view)>& id_of,
                               json::Writer& out);

/// Writes a normalizer that replaces a text by another one.
void write_replace(std::string_view kind, std::string_view pattern, std::string_view content,
                   json::Writer& out);

/// Writes a component without members but its type.
void write_component(std::string_view type, json::Writer& out);

}  // namespace signalbox::tools
