// Sections are written and read in the same order, from one list.

#include "tokenizer/compiled.h"

#include <array>
#include <cstring>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kMagic = "SBTOKEN\1";  // the last byte is the format version
constexpr size_t kAlignment = 64;
constexpr size_t kSections = 7;
constexpr uint64_t kHasTables = 1;
constexpr uint64_t kFallbackMerges = 2;

struct Header {
  std::array<char, 8> magic;
  uint64_t flags;
  struct Range {
    uint64_t offset;
    uint64_t bytes;
  };
  std::array<Range, kSections> sections;
};

size_t aligned(size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

// Returns the JSON without the parts stored in the tables.
std::string without_tables(std::string_view json) {
  const auto document = json::Document::parse(std::string(json));
  SIGNALBOX_CHECK(document.has_value());
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : document->root().members()) {
    out.key(member.key);
    if (member.key != "model") {
      out.raw(member.value.raw());
      continue;
    }
    out.begin_object();
    for (const json::Member& part : member.value.members()) {
      if (part.key != "vocab" && part.key != "merges") out.key(part.key).raw(part.value.raw());
    }
    out.end_object();
  }
  return out.end_object().take();
}

template <class T>
std::string_view bytes_of(std::span<const T> array) {
  return {reinterpret_cast<const char*>(array.data()), array.size_bytes()};
}

// Reads sections in order.
class Sections {
 public:
  Sections(std::string_view bytes, const Header& header) : bytes_(bytes), header_(header) {}

  template <class T>
  Result<std::span<const T>> next() {
    const auto [offset, size] = header_.sections[index_++];
    if (offset % kAlignment != 0 || offset > bytes_.size() || size > bytes_.size() - offset ||
        size % sizeof(T) != 0) {
      return fail(Code::kCorrupt, "compiled tokenizer: section {} has {} bytes at {} of {}",
                  index_ - 1, size, offset, bytes_.size());
    }
    return std::span<const T>(reinterpret_cast<const T*>(bytes_.data() + offset), size / sizeof(T));
  }

 private:
  std::string_view bytes_;
  const Header& header_;
  size_t index_ = 0;
};

}  // namespace

bool is_compiled(std::string_view bytes) {
  return bytes.starts_with(kMagic.substr(0, kMagic.size() - 1));
}

Result<CompiledTokenizer> read_compiled(std::string_view bytes) {
  Header header;
  if (!bytes.starts_with(kMagic) || bytes.size() < sizeof(header)) {
    return fail(Code::kCorrupt, "compiled tokenizer: {}",
                is_compiled(bytes) && bytes.size() > kMagic.size()
                    ? "written by another version: convert the tokenizer.json again"
                    : "cut short");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  Sections sections(bytes, header);
  CompiledTokenizer out;
  SIGNALBOX_TRY(const auto json, sections.next<char>());
  out.json = {json.data(), json.size()};
  out.has_tables = (header.flags & kHasTables) != 0;
  if (!out.has_tables) return out;
  out.tables.fallback_merges = (header.flags & kFallbackMerges) != 0;
  SIGNALBOX_TRY(const auto text, sections.next<char>());
  SIGNALBOX_TRY(const auto pieces, sections.next<Vocabulary::Piece>());
  SIGNALBOX_TRY(const auto slots, sections.next<Vocabulary::Slot>());
  out.tables.vocabulary = {Flat(text), Flat(pieces), Flat(slots)};
  SIGNALBOX_TRY(out.tables.merges, sections.next<Merges::Slot>());
  SIGNALBOX_TRY(const auto small, sections.next<uint64_t>());
  SIGNALBOX_TRY(const auto others, sections.next<uint64_t>());
  out.tables.junctions = {Flat(small), Flat(others)};
  return out;
}

std::string write_compiled(std::string_view json, const Bpe* bpe) {
  std::array<std::string_view, kSections> sections;
  std::string rest;
  Header header{};
  kMagic.copy(header.magic.data(), kMagic.size());
  if (bpe == nullptr) {
    sections[0] = json;
  } else {
    rest = without_tables(json);
    const Vocabulary::Arrays& vocabulary = bpe->vocabulary().arrays();
    const Junctions::Arrays& junctions = bpe->junctions().arrays();
    sections = {rest,
                bytes_of(vocabulary.text.span()),
                bytes_of(vocabulary.pieces.span()),
                bytes_of(vocabulary.slots.span()),
                bytes_of(bpe->merges().slots()),
                bytes_of(junctions.small.span()),
                bytes_of(junctions.slots.span())};
    header.flags = kHasTables | (bpe->options().fallback_merges ? kFallbackMerges : 0);
  }
  size_t end = sizeof(header);
  for (size_t i = 0; i < kSections; ++i) {
    header.sections[i] = {aligned(end), sections[i].size()};
    end = aligned(end) + sections[i].size();
  }
  std::string out(end, '\0');
  std::memcpy(out.data(), &header, sizeof(header));
  for (size_t i = 0; i < kSections; ++i) {
    sections[i].copy(out.data() + header.sections[i].offset, sections[i].size());
  }
  return out;
}

}  // namespace signalbox::tokenizer
