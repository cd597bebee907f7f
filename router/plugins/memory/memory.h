#pragma once
// The plugin memory: adds what the user wrote in earlier conversations to a request, and decides
// which turns are worth storing.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/memories/memories.h"
#include "router/safety/pii/mask.h"
#include "router/signals/matching/pattern.h"
#include "router/word_search/hybrid.h"

namespace signalbox::plugins {

enum class MemoryOutcome : uint8_t {
  kUnused,    // the plugin does not apply to the request
  kAdded,     // memories were added
  kNothing,   // no memory is similar enough
  kFailed,    // the search failed
  kNameless,  // the request names no user
  kOff,       // the client or the file wants no memories here
  kWithheld,  // there are memories, and the model may not see personal data
};
/// "added", "nothing", "failed", "no_user", "off", "withheld"; "" for kUnused.
std::string_view name_of(MemoryOutcome outcome);

/// A turn whose answer is not known yet.
struct OpenTurn {
  std::string text;                             // as the model gets it, masked
  const config::PiiMaskPlugin* mask = nullptr;  // the text has passed it; null: none
  memories::Vector vector;                      // of the text
  uint64_t moment = 0;                          // when its request began, see Memories::moment()
};

/// The memories for a request, as the model gets them.
struct FoundMemories {
  MemoryOutcome outcome = MemoryOutcome::kUnused;
  std::string user;
  std::vector<std::string> ids;          // of those that are added
  std::string text;                      // "" unless kAdded
  std::shared_ptr<const OpenTurn> turn;  // null: the turn is not stored
};

/// Names what a pii_mask plugin masks; "" for none. Texts that were masked by one name hold nothing
/// that the plugin of the same name would mask.
std::string mask_name(const config::PiiMaskPlugin* plugin);

/// The placeholders of a request, as views into its masks.
using Placeholders = std::set<std::string_view>;
Placeholders placeholders_of(const std::vector<pii::Mask>& masks);

/// Returns the part of a half of a turn that is kept: its beginning, with the placeholders without
/// their numbers.
std::string stored_text(std::string_view text, const Placeholders& placeholders);

/// The rules of one decision. Immutable and thread-safe.
class MemoryRules {
 public:
  /// The settings that the plugin leaves out are the store's. kInvalid names a pattern that is not
  /// a regular expression.
  static Result<MemoryRules> create(const config::MemoryStore& store,
                                    const config::MemoryPlugin& plugin);

  size_t most() const { return most_; }
  /// Returns the number of memories to search for: more than most(), because those of the request's
  /// own `turns` are left out, and select() leaves out others.
  size_t searched(size_t turns) const {
    return most_ == 0 ? 0 : 4 * most_ + std::min(turns, size_t{400});
  }
  double similarity_min() const { return similarity_min_; }
  /// The way to find memories by words, too; null: by similarity alone.
  const word_search::Hybrid* hybrid() const { return hybrid_ ? &*hybrid_ : nullptr; }
  bool stores() const { return stores_; }

  /// Chooses among what was found, for a decision whose texts pass the mask of that name. The order
  /// is that of similarity and age.
  std::vector<memories::Found> select(std::vector<memories::Found> found,
                                      std::string_view masked_by, memories::TimePoint now) const;

  /// Returns the memory that the turn becomes; nullopt if it is not worth storing: it is short, has
  /// no answer, or matches one of block_patterns. The answer to a masked text is masked by rules,
  /// since the model may know personal data from elsewhere. `masks` are those of the request.
  std::optional<memories::Memory> memory_of(const OpenTurn& turn, std::string_view answer,
                                            const std::vector<pii::Mask>& masks) const;

 private:
  MemoryRules() = default;
  bool is_blocked(const memories::Memory& memory) const;

  size_t most_ = 0;
  double similarity_min_ = 0;
  std::optional<word_search::Hybrid> hybrid_;
  bool stores_ = false;
  bool selects_ = true;
  size_t bytes_max_ = 0;
  double half_life_days_ = 0;
  double same_words_ = 0;
  std::vector<signals::Pattern> blocked_;
};

/// The memories as a part of the system prompt. Only the words of the router begin a line in it.
std::string memory_prompt(const std::vector<memories::Found>& found);

}  // namespace signalbox::plugins
