// Steps are lists until there is a version to continue from. Afterwards they are watches.

#include "router/kubernetes/reflector.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::kubernetes {
namespace {

using std::chrono::milliseconds;

constexpr int kOk = 200, kGone = 410;
constexpr milliseconds kPauseLeast{500}, kPauseMost{30'000};
constexpr uint32_t kDoublingsMax = 6;
constexpr std::string_view kPage = "?limit=250";
/// The server ends a watch after this time. Silence beyond it means that the connection may be
/// dead.
constexpr std::string_view kWatch = "?watch=true&allowWatchBookmarks=true&timeoutSeconds=240";

/// Percent-encodes a query value, because a server's token may contain any character.
std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = ascii::is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool same(const yaml::Node& a, const yaml::Node& b) {
  if (a.kind != b.kind || a.quoted != b.quoted || a.scalar != b.scalar ||
      a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key != b.entries[i].key || !same(a.entries[i].value, b.entries[i].value))
      return false;
  }
  return true;
}

}  // namespace

Reflector::Step Reflector::next(double draw) const {
  Step out;
  out.is_watch = is_watching_;
  if (is_watching_) {
    out.query = fmt::format("{}&resourceVersion={}", kWatch, percent_encoded(version_));
  } else {
    out.query = more_.empty() ? std::string(kPage)
                              : fmt::format("{}&continue={}", kPage, percent_encoded(more_));
  }
  if (failures_ == 0) return out;
  const milliseconds most =
      std::min(kPauseMost, kPauseLeast * (1 << std::min(failures_ - 1, kDoublingsMax)));
  out.pause =
      milliseconds(static_cast<int64_t>(static_cast<double>(most.count()) * (1 + draw) / 2));
  return out;
}

void Reflector::restart() {
  is_watching_ = false;
  more_.clear();
  gathered_.clear();
}

void Reflector::clear_failures() {
  failures_ = 0;
  trouble_.clear();
}

void Reflector::failed(std::string_view why) {
  ++failures_;
  trouble_ = why;
}

void Reflector::listed(int status, std::string body) {
  if (status != kOk) {
    // The rest of a list may have expired while its beginning was being read.
    restart();
    return failed(fmt::format("the server answered the list with status {}", status));
  }
  auto page = read_page(std::move(body));
  if (!page) {
    restart();
    return failed(page.error().message);
  }
  clear_failures();
  for (Resource& resource : page->items) {
    std::string name = resource.name;
    gathered_.insert_or_assign(std::move(name), std::move(resource));
  }
  more_ = std::move(page->more);
  if (!more_.empty()) return;
  const auto is_same = [](const auto& a, const auto& b) {
    return a.first == b.first && same(a.second.spec, b.second.spec);
  };
  const bool has_changed =
      !is_complete_ || !std::equal(resources_.begin(), resources_.end(), gathered_.begin(),
                                   gathered_.end(), is_same);
  resources_ = std::move(gathered_);
  gathered_.clear();
  changes_ += has_changed;
  version_ = std::move(page->version);
  is_complete_ = true;
  is_watching_ = true;
}

bool Reflector::watching(int status, std::string_view reason) {
  has_read_ = false;
  if (status == kOk) return true;
  if (status == kGone) restart();
  failed(fmt::format("the server answered the watch with status {}{}{}", status,
                     reason.empty() ? "" : ": ", reason));
  return false;
}

void Reflector::upsert(Resource resource) {
  const auto known = resources_.find(resource.name);
  const bool has_changed = known == resources_.end() || !same(known->second.spec, resource.spec);
  std::string name = resource.name;
  resources_.insert_or_assign(std::move(name), std::move(resource));
  changes_ += has_changed;
}

bool Reflector::received(std::string line) {
  auto event = read_event(std::move(line));
  if (!event) {
    restart();
    failed(event.error().message);
    return false;
  }
  switch (event->what) {
    case Happened::kSet:
      upsert(std::move(event->resource));
      break;
    case Happened::kGone:
      changes_ += resources_.erase(event->resource.name);
      break;
    case Happened::kBookmark:
      break;
    case Happened::kError:
      restart();
      // An expired version is not an error. A list follows, immediately the first time.
      if (event->code == kGone && (has_read_ || failures_ == 0)) {
        failures_ = 0;
        return false;
      }
      failed(fmt::format("the watch was ended: {} {}", event->code, event->message));
      return false;
  }
  version_ = std::move(event->version);
  has_read_ = true;
  clear_failures();
  return true;
}

void Reflector::ended() {
  // If a server ends each watch immediately, wait before the next one.
  if (!has_read_) return failed("the watch ended without an event");
  clear_failures();
}

}  // namespace signalbox::kubernetes
