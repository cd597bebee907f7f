// Layout of a trie unit: bits 0 to 7 and 31 are the label of the edge to it (bit 31 is set in units
// that hold values). Bit 8 is set if the node has a value. Bits 10 to 30 are an offset, shifted
// left by 8 if bit 9 is set. A node's base is `unit index ^ offset`: its value is stored there, and
// its children are at base ^ label.

#include "tokenizer/normalize/precompiled.h"

#include "base/utf8.h"
#include "tokenizer/normalize/graphemes.h"

namespace signalbox::tokenizer {
namespace {

// Clusters of at least this many bytes are replaced character by character.
constexpr uint32_t kClusterBytes = 6;

bool has_value(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
uint32_t label_of(uint32_t unit) {
  return unit & 0x800000FF;
}
uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

}  // namespace

Result<std::unique_ptr<const Precompiled>> Precompiled::parse(std::string_view blob) {
  if (blob.size() > kBlobBytesMax) {
    return fail(Code::kCorrupt, "{} bytes, expected at most {}", blob.size(), kBlobBytesMax);
  }
  if (blob.size() < 4) return fail(Code::kCorrupt, "{} bytes, expected at least 4", blob.size());
  const uint32_t bytes = read_u32(blob);
  blob.remove_prefix(4);
  if (bytes == 0 || bytes % 4 != 0 || bytes > blob.size()) {
    return fail(Code::kCorrupt,
                "claims a trie of {} bytes, expected a multiple of 4 among the {} that follow",
                bytes, blob.size());
  }
  auto out = std::make_unique<Precompiled>();
  for (size_t i = 0; i < bytes; i += 4) out->trie_.push_back(read_u32(blob.substr(i, 4)));
  out->replacements_ = blob.substr(bytes);
  SIGNALBOX_TRY_VOID(out->check());
  out->look_at_ascii();
  return out;
}

void Precompiled::look_at_ascii() {
  spaces_stay_ = true;
  for (size_t c = 0; c < ascii_kept_.size(); ++c) {
    const char byte = static_cast<char>(c);
    const Rule found = rule({&byte, 1});
    ascii_kept_[c] = !found.found;
    if (ascii_kept_[c] || c < ' ' || c == 0x7F) continue;
    const bool visible =
        found.replacement.size() == 1 && found.replacement[0] > ' ' && found.replacement[0] < 0x7F;
    spaces_stay_ = spaces_stay_ && visible && c != ' ';
  }
}

// Visits every node reachable by text exactly once. Several paths can lead to one node, because
// darts-clone shares equal branches.
Result<void> Precompiled::check() const {
  if (!utf8::is_valid(replacements_)) return fail(Code::kCorrupt, "replacements: not UTF-8");
  // Children are within 256 units of their node, so a node further outside has none.
  std::vector<bool> seen((trie_.size() + 255) / 256 * 256);
  std::vector<uint32_t> nodes;
  const auto visit = [&](uint32_t node) {
    if (node >= seen.size() || seen[node]) return;
    seen[node] = true;
    nodes.push_back(node);
  };
  visit(offset_of(trie_[0]));
  while (!nodes.empty()) {
    const uint32_t node = nodes.back();
    nodes.pop_back();
    for (uint32_t label = 1; label < 256; ++label) {
      const uint32_t child = node ^ label;
      if (child >= trie_.size() || label_of(trie_[child]) != label) continue;
      const uint32_t next = child ^ offset_of(trie_[child]);
      if (has_value(trie_[child])) SIGNALBOX_TRY_VOID(check_value(next));
      visit(next);
    }
  }
  return {};
}

Result<void> Precompiled::check_value(uint32_t node) const {
  if (node >= trie_.size()) {
    return fail(Code::kCorrupt, "trie: a value at unit {} of {}", node, trie_.size());
  }
  const uint32_t at = value_of(trie_[node]);
  if (at > replacements_.size()) {
    return fail(Code::kCorrupt, "trie: a replacement at byte {} of {}", at, replacements_.size());
  }
  if (at < replacements_.size() && (static_cast<unsigned char>(replacements_[at]) & 0xC0) == 0x80) {
    return fail(Code::kCorrupt, "trie: a replacement at byte {}, inside a character", at);
  }
  // Unicode's longest replacement (U+FDFA) has 33 bytes. Longer ones could make a short text
  // arbitrarily long.
  constexpr size_t kReplacementMax = 128;
  const std::string_view rest = std::string_view(replacements_).substr(at, kReplacementMax + 1);
  if (rest.size() > kReplacementMax && rest.find('\0') == std::string_view::npos) {
    return fail(Code::kCorrupt, "trie: a replacement at byte {} of over {} bytes", at,
                kReplacementMax);
  }
  return {};
}

// Finds the shortest prefix of the text that has a rule. NUL is never a label: it marks values.
Precompiled::Rule Precompiled::rule(std::string_view text) const {
  uint32_t node = offset_of(trie_[0]);
  for (const char c : text) {
    const uint32_t label = static_cast<unsigned char>(c);
    const uint32_t child = node ^ label;
    if (label == 0 || child >= trie_.size() || label_of(trie_[child]) != label) break;
    node = child ^ offset_of(trie_[child]);
    if (has_value(trie_[child])) return {true, replacement_at(value_of(trie_[node]))};
  }
  return {};
}

// The last replacement may lack its NUL.
std::string_view Precompiled::replacement_at(uint32_t at) const {
  const std::string_view rest = std::string_view(replacements_).substr(at);
  return rest.substr(0, rest.find('\0'));
}

bool Precompiled::keeps(std::string_view text) const {
  for (const char c : text) {
    if (!is_ascii(c) || !ascii_kept_[static_cast<size_t>(c)]) return false;
  }
  return true;
}

bool Precompiled::is_local_in(std::string_view text) const {
  if (text.empty() || !spaces_stay_) return false;
  const std::string_view first = text.substr(0, grapheme_end(text, 0));
  const Rule found = rule(first);
  return utf8::is_valid(first) && (!found.found || !found.replacement.empty());
}

// Builds the new text from the reference's representation: a list of new characters, each with a
// change. 0 takes the position of the next old character, -n does so and removes the n old
// characters after it, and 1 is an insertion. Old characters removed without a replacement are
// attributed to the preceding new character. At the beginning of a text there is no such character.
// The old characters are then not removed, and every later character is aligned too far left.
class Precompiled::Aligned {
 public:
  Aligned(const TextView& in, Normalized& out) : in_(in), out_(out), last_{in.base(), in.base()} {}

  void keep(std::string_view character) { put(character, 0); }
  void keep_ascii(std::string_view run) {
    finish();
    held_ = run.substr(run.size() - 1);
    change_ = 0;
    for (size_t i = 0; i + 1 < run.size(); ++i) out_.append(run[i], take());
  }

  void replace(std::string_view old, std::string_view replacement) {
    const auto old_count = static_cast<int64_t>(utf8::count(old));
    int64_t new_count = 0;
    for (size_t i = 0; i < replacement.size(); ++new_count) {
      const size_t bytes = utf8::decode(replacement, i).bytes;
      put(replacement.substr(i, bytes), new_count < old_count ? 0 : 1);
      i += bytes;
    }
    if (!held_.empty() && new_count < old_count) change_ += new_count - old_count;
  }

  void finish() {
    if (held_.empty()) return;
    if (change_ <= 0) {
      // The source is the replaced character, not the removed characters after it.
      const Span from = take();
      out_.append(held_, from);
      for (; change_ < 0; ++change_) take();
    } else {
      out_.append(held_, last_);
    }
  }

 private:
  void put(std::string_view character, int64_t change) {
    finish();
    held_ = character;
    change_ = change;
  }

  // Consumes the next old character.
  Span take() {
    const uint32_t bytes = is_ascii(in_.text()[next_]) ? 1 : utf8::decode(in_.text(), next_).bytes;
    last_ = in_.source(next_, bytes);
    next_ += bytes;
    return last_;
  }

  const TextView& in_;
  Normalized& out_;
  std::string_view held_;  // the last new character, pending until its change is final
  int64_t change_ = 0;
  uint32_t next_ = 0;  // position in the old text; never beyond the processed part
  Span last_;          // source of the previous old character; used for insertions
};

void Precompiled::normalize(const TextView& in, Normalized& out) const {
  const std::string_view text = in.text();
  Aligned aligned(in, out);
  for (uint32_t i = 0; i < text.size();) {
    const uint32_t kept = kept_ascii_end(text, i);
    if (kept > i) {
      aligned.keep_ascii(text.substr(i, kept - i));
      i = kept;
      continue;
    }
    const uint32_t end = grapheme_end(text, i);
    put_cluster(text.substr(i, end - i), aligned);
    i = end;
  }
  aligned.finish();
}

// Returns the end of a run of ASCII characters that are single clusters and stay unchanged.
uint32_t Precompiled::kept_ascii_end(std::string_view text, uint32_t begin) const {
  uint32_t end = begin;
  while (end < text.size() && is_ascii(text[end]) && text[end] != '\r' &&
         ascii_kept_[static_cast<size_t>(text[end])]) {
    ++end;
  }
  // The last character may begin a longer cluster.
  if (end > begin && end < text.size() && !is_ascii(text[end])) --end;
  return end;
}

void Precompiled::put_cluster(std::string_view cluster, Aligned& aligned) const {
  if (cluster.size() < kClusterBytes) {
    if (const Rule found = rule(cluster); found.found) {
      return aligned.replace(cluster, found.replacement);
    }
  }
  for (size_t i = 0; i < cluster.size();) {
    const std::string_view character = cluster.substr(i, utf8::decode(cluster, i).bytes);
    if (const Rule found = rule(character); found.found) {
      aligned.replace(character, found.replacement);
    } else {
      aligned.keep(character);
    }
    i += character.size();
  }
}

}  // namespace signalbox::tokenizer
