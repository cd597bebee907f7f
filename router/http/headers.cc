// Lookups search linearly, because a request has about a dozen fields.

#include "router/http/headers.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"

namespace signalbox::http {
namespace {

constexpr std::array<std::string_view, 10> kHopByHop = {"connection",
                                                        "keep-alive",
                                                        "proxy-connection",
                                                        "proxy-authenticate",
                                                        "proxy-authorization",
                                                        "te",
                                                        "transfer-encoding",
                                                        "trailer",
                                                        "upgrade",
                                                        "content-length"};

// One allocation each serves most requests and replies.
constexpr size_t kUsualFields = 16, kUsualBytes = 768;

/// A lambda, because a function would be called for each byte.
constexpr auto kIsControl = [](char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
};

/// Returns false if the text surely has no control characters. It looks at eight bytes at a time,
/// because every value of every header is checked.
bool may_have_control(std::string_view text) {
  constexpr uint64_t kOnes = ~uint64_t{0} / 255, kHigh = kOnes * 128;
  uint64_t found = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data(), 8);
    found |= (bytes - kOnes * 0x20) | (bytes + kOnes);
  }
  return (found & kHigh) != 0 || std::ranges::any_of(text, kIsControl);
}

bool is_router_header(std::string_view name) {
  return ascii::iequals(name.substr(0, 6), "x-vsr-");
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

void Headers::begin_field(size_t name_size, size_t value_size) {
  if (spans_.empty()) {
    spans_.reserve(kUsualFields);
    bytes_.reserve(kUsualBytes);
  }
  spans_.push_back({static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(name_size),
                    static_cast<uint32_t>(value_size)});
}

void Headers::add(std::string_view name, std::string_view value) {
  begin_field(name.size(), value.size());
  bytes_.append(name).append(": ");
  const size_t at = bytes_.size();
  bytes_.append(value);
  if (may_have_control(value))
    std::replace_if(bytes_.data() + at, bytes_.data() + bytes_.size(), kIsControl, ' ');
  bytes_.append("\r\n");
}

void Headers::add(const Headers& other, size_t i) {
  const Span& span = other.spans_[i];
  begin_field(span.name_size, span.value_size);
  bytes_.append(other.bytes_, span.begin, span.name_size + 2 + span.value_size + 2);
}

Field Headers::operator[](size_t i) const {
  const Span& span = spans_[i];
  const char* const name = bytes_.data() + span.begin;
  return {{name, span.name_size}, {name + span.name_size + 2, span.value_size}};
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (size_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].name_size != name.size()) continue;
    const Field field = (*this)[i];
    if (ascii::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

size_t Headers::count(std::string_view name) const {
  size_t found = 0;
  for (size_t i = 0; i < spans_.size(); ++i) found += ascii::iequals((*this)[i].name, name);
  return found;
}

EndToEnd::EndToEnd(const Headers& headers) : headers_(headers) {
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!ascii::iequals(headers[i].name, "connection")) continue;
    std::string_view list = headers[i].value;
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      named_.insert(ascii::lower_case(trimmed(list.substr(0, comma))));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
}

bool EndToEnd::operator()(size_t i) const {
  const std::string_view name = headers_[i].name;
  const auto same = [name](std::string_view other) { return ascii::iequals(other, name); };
  if (std::any_of(kHopByHop.begin(), kHopByHop.end(), same) || is_router_header(name)) return false;
  return named_.empty() || !named_.count(ascii::lower_case(name));
}

}  // namespace signalbox::http
