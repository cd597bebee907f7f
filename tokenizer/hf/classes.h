#pragma once
// The tokenizer classes of Hugging Face's library, and their behaviour when a key of the settings
// is missing. Releases 4 and 5 of the library agree unless a comment says otherwise.

#include <array>
#include <string_view>

namespace signalbox::tokenizer {

/// The effect of a class on a tokenizer.json.
enum class ClassKind : uint8_t {
  kOther,      // changes nothing unless a key requests it
  kPlain,      // stands for any tokenizer.json, whose normalizer it takes as it is
  kBert,       // sets the options of the BertNormalizer
  kByteLevel,  // sets the prefix space, and so do the classes of RoBERTa
  kRoberta,    // sets trim_offsets, too
  kMarking,    // replaces the marks around a text
};

struct TokenizerClass {
  std::string_view name;  // without the ending "Fast"
  ClassKind kind = ClassKind::kOther;
  /// The special tokens that the class itself defines, in the order of kRoles; "" for none.
  std::array<std::string_view, 7> roles = {};
  bool mask_takes_space = false;  // the mask absorbs the space in front of it
  bool has_types = true;          // without model_input_names: a network gets the types of segments
};

/// Returns a class by its name. A class that is not listed is of kind kOther and has no tokens.
TokenizerClass class_named(std::string_view name);

/// Returns the class that a model_type stands for in the library; "" if it is not known here.
std::string_view class_of_model_type(std::string_view model_type);

/// Returns a name without the ending of the library's fast classes.
std::string_view without_fast(std::string_view name);

}  // namespace signalbox::tokenizer
