// A record is encoded when it is added, so that it holds nothing but text.

#include "router/observe/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/json_writer.h"

namespace signalbox::observe {
namespace {

std::string iso(std::chrono::system_clock::time_point at) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch());
  const std::time_t seconds = ms.count() / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", std::string_view(text, size), ms.count() % 1000);
}

// Microseconds are precise enough for readers.
double rounded_ms(TimePoint from, TimePoint to) {
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::microseconds>(to - from).count()) /
         1000;
}

void write_decision(json::Writer& out, const Account& a) {
  if (!a.recipe.empty()) out.member("recipe", a.recipe);
  if (!a.decision.empty()) out.member("decision", a.decision).member("confidence", a.confidence);
  if (!a.category.empty()) out.member("category", a.category);
  if (!a.algorithm.empty()) out.member("algorithm", a.algorithm);
  if (!a.selection_method.empty()) out.member("selection_method", a.selection_method);
  if (!a.model.empty()) out.member("selected_model", a.model);
  if (!a.learning.empty()) {
    out.key("learning").begin_object();
    for (const LearningStep& step : a.learning) {
      out.key(step.method).begin_object().member("action", step.action);
      out.member("reason", step.reason).end_object();
    }
    out.end_object();
  }
  if (a.reasoning) out.member("reasoning", *a.reasoning);
  if (a.cache != CacheUse::kNone) out.member("cache", name_of(a.cache));
  if (a.degraded != Degraded::kNo) out.member("degraded", name_of(a.degraded));
  if (!a.jailbreak.empty()) out.member("jailbreak", a.jailbreak);
  if (!a.unsupported_language.empty()) out.member("unsupported_language", a.unsupported_language);
  if (a.pii) out.key("pii_types").begin_array();
  if (a.pii) {
    for (const std::string& type : a.pii_types) out.string(type);
    out.end_array();
  }
}

void write_signals(json::Writer& out, const Account& a) {
  out.key("signals").begin_object();
  for (const Matches& matches : a.matched) {
    out.key(matches.type).begin_array();
    for (const std::string& name : matches.names) out.string(name);
    out.end_array();
  }
  out.end_object();
}

void write_calls(json::Writer& out, const Account& a) {
  if (a.calls.empty()) return;
  if (!a.used_up.empty()) out.member("used_up", a.used_up);
  out.key("calls").begin_array();
  for (const ModelCall& call : a.calls) {
    out.begin_object().member("model", call.model).member("purpose", call.purpose);
    out.member("ms", rounded_ms(call.began, call.ended)).member("status", int32_t{call.status});
    if (!call.error.empty()) out.member("error", call.error);
    if (call.tokens) {
      out.member("prompt_tokens", static_cast<int64_t>(call.tokens->prompt));
      out.member("completion_tokens", static_cast<int64_t>(call.tokens->completion));
    }
    out.end_object();
  }
  out.end_array();
}

std::string without_braces(std::string object) {
  object.pop_back();
  object.erase(0, 1);
  return object;
}

void free_text(std::string& text) {
  std::string().swap(text);
}

}  // namespace

std::string account_json(const Account& a) {
  json::Writer out;
  out.begin_object().member("request_id", a.id).member("trace_id", hex(a.trace.trace));
  out.member("path", a.path).member("status", int32_t{a.status});
  out.member("response_path", a.response_path).member("stream", a.stream);
  write_decision(out, a);
  if (!a.error.empty()) out.member("error", a.error);
  if (!a.detail.empty()) out.member("detail", a.detail);
  out.member("total_ms", rounded_ms(a.began, a.ended));
  if (a.understood != a.began) out.member("routing_ms", rounded_ms(a.began, a.understood));
  if (a.sent != a.began) out.member("upstream_ms", rounded_ms(a.sent, a.ended));
  if (!a.backend.empty()) out.member("backend", a.backend);
  if (a.ttft_s) out.member("ttft_ms", *a.ttft_s * 1000);
  if (a.tokens) {
    out.member("prompt_tokens", static_cast<int64_t>(a.tokens->prompt));
    out.member("completion_tokens", static_cast<int64_t>(a.tokens->completion));
    if (a.cost > 0) out.member("cost", a.cost);
  }
  write_calls(out, a);
  if (!a.rag.empty()) out.member("rag", a.rag);
  if (!a.memory.empty()) out.member("memory", a.memory);
  if (a.remembered) out.member("remembered", true);
  if (!a.compression.empty()) {
    out.member("context_compression", a.compression);
    out.member("context_tokens_saved", static_cast<int64_t>(a.compression_saved));
  }
  if (!a.grounding.empty()) out.member("hallucination", a.grounding);
  if (!a.response_jailbreak.empty()) out.member("response_jailbreak", a.response_jailbreak);
  if (a.guard_s > 0) out.member("guard_ms", a.guard_s * 1000);
  return without_braces(out.end_object().take());
}

std::string record_json(const Account& account) {
  json::Writer out;
  out.begin_object().member("id", account.replay_id).member("timestamp", iso(account.at));
  std::string head = out.end_object().take();
  head.pop_back();
  json::Writer more;
  more.begin_object();
  if (!account.key.empty()) more.member("key", account.key);
  if (!account.user.empty()) more.member("user", account.user);
  if (account.cost > 0 && !account.currency.empty()) more.member("currency", account.currency);
  if (!account.learning_features.empty())
    more.member("learning_features", account.learning_features);
  write_signals(more, account);
  return head + "," + account_json(account) + "," + more.end_object().take().substr(1);
}

std::string shadow_json(const Shadow& s) {
  json::Writer out;
  out.begin_object().member("name", s.arm).member("model", s.model);
  out.member("outcome", s.outcome).member("status", int32_t{s.status});
  if (!s.error.empty()) out.member("error", s.error);
  out.member("ms", rounded_ms(s.began, s.ended));
  if (s.similarity) out.member("similarity", *s.similarity);
  if (s.tokens) {
    out.member("prompt_tokens", static_cast<int64_t>(s.tokens->prompt));
    out.member("completion_tokens", static_cast<int64_t>(s.tokens->completion));
    if (s.cost > 0) out.member("cost", s.cost);
  }
  return out.end_object().take();
}

bool RecordTexts::has_bodies() const {
  return !request_body.empty() || !response_body.empty() ||
         std::any_of(shadows.begin(), shadows.end(),
                     [](const OfShadow& shadow) { return !shadow.response.empty(); });
}

std::string detail_json(const RecordTexts& texts) {
  std::string out = texts.json;
  out.pop_back();
  const auto add_body = [&](std::string_view name, const std::string& body, bool cut) {
    if (body.empty()) return;
    out.append(fmt::format(",\"{}\":{},\"{}_truncated\":{}", name, json::quote(body), name, cut));
  };
  add_body("request_body", texts.request_body, texts.request_cut);
  add_body("response_body", texts.response_body, texts.response_cut);
  if (!texts.outcomes.empty()) out.append(",\"outcomes\":[").append(texts.outcomes).append("]");
  if (texts.bodies_expired) out.append(",\"bodies_expired\":true");
  std::string shadows;
  for (const RecordTexts::OfShadow& shadow : texts.shadows) {
    shadows.append(shadows.empty() ? "" : ",").append(shadow.json);
    if (shadow.response.empty()) continue;
    shadows.pop_back();
    shadows.append(",\"response\":").append(json::quote(shadow.response)).append("}");
  }
  if (!shadows.empty()) out.append(",\"shadows\":[").append(shadows).append("]");
  return out + "}";
}

size_t LocalReplay::Record::bytes() const {
  size_t out = sizeof(Record) + id.size() + recipe.size() + decision.size() + model.size() +
               features.size() + user.size() + key.size() + json.size() + request_body.size() +
               response_body.size() + outcomes.size();
  for (const OfShadow& shadow : shadows)
    out += sizeof shadow + shadow.json.size() + shadow.response.size();
  return out;
}

void LocalReplay::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  records_max_ = limits.records;
  age_max_ = limits.age;
}

void LocalReplay::add(Account& account) {
  Record record;
  record.id = account.replay_id;
  record.recipe = account.recipe;
  record.decision = account.decision;
  record.model = account.model;
  record.features = account.learning_features;
  record.user = account.user;
  record.key = account.key;
  record.at = account.at;
  record.body_age_max = account.body_age_max;
  record.json = record_json(account);
  record.request_body = std::move(account.request_body);
  record.response_body = std::move(account.response_body);
  record.request_cut = account.request_cut;
  record.response_cut = account.response_cut;
  const std::lock_guard lock(mutex_);
  bytes_ += record.bytes();
  note_expiry(record);
  records_.push_back(std::move(record));
  // Use the time at which the request ended, because a long request began too far in the past.
  prune(account.at + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                         account.ended - account.began));
}

void LocalReplay::prune(std::chrono::system_clock::time_point now) {
  const auto too_old = [&](const Record& record) {
    return age_max_.count() > 0 && now - record.at > age_max_;
  };
  while (!records_.empty() &&
         (records_.size() > records_max_ || bytes_ > kBytesMax || too_old(records_.front()))) {
    bytes_ -= records_.front().bytes();
    records_.pop_front();
  }
  // Decisions keep bodies for different times, so all records must be searched. Do that only if a
  // text is due, and at most once a second.
  const bool checked_lately = std::chrono::abs(now - bodies_checked_) < std::chrono::seconds(1);
  if (now <= bodies_due_ || checked_lately) return;
  bodies_checked_ = now;
  bodies_due_ = std::chrono::system_clock::time_point::max();
  for (Record& record : records_) {
    expire_bodies(record, now);
    note_expiry(record);
  }
}

void LocalReplay::note_expiry(const Record& record) {
  if (record.body_age_max.count() > 0 && record.has_bodies())
    bodies_due_ = std::min(bodies_due_, record.at + record.body_age_max);
}

void LocalReplay::expire_bodies(Record& record, std::chrono::system_clock::time_point now) {
  if (record.body_age_max.count() == 0 || now - record.at <= record.body_age_max ||
      !record.has_bodies())
    return;
  bytes_ -= record.bytes();
  free_text(record.request_body);
  free_text(record.response_body);
  for (RecordTexts::OfShadow& shadow : record.shadows) free_text(shadow.response);
  record.bodies_expired = true;
  bytes_ += record.bytes();
}

Result<std::string> LocalReplay::list_json(const Query& query) {
  const std::lock_guard lock(mutex_);
  prune(std::chrono::system_clock::now());
  std::string data;
  size_t total = 0, count = 0;
  const auto differs = [](std::string_view wanted, const std::string& found) {
    return !wanted.empty() && wanted != found;
  };
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (differs(query.decision, record->decision) || differs(query.model, record->model)) continue;
    if (differs(query.user, record->user) || differs(query.key, record->key)) continue;
    if (total++ < query.offset || count >= query.limit) continue;
    ++count;
    data.append(data.empty() ? "" : ",").append(record->json);
  }
  return fmt::format(R"({{"object":"router_replay.list","count":{},"total":{},"data":[{}]}})",
                     count, total, data);
}

Result<std::optional<std::string>> LocalReplay::find_json(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::system_clock::now();
  prune(now);
  Record* found = find(id);
  if (found == nullptr) return std::nullopt;
  expire_bodies(*found, now);
  return detail_json(*found);
}

LocalReplay::Record* LocalReplay::find(std::string_view id) {
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&](const Record& record) { return record.id == id; });
  return found == records_.end() ? nullptr : &*found;
}

Result<std::optional<Replay::Answered>> LocalReplay::answered(std::string_view id) {
  const std::lock_guard lock(mutex_);
  prune(std::chrono::system_clock::now());
  const Record* found = find(id);
  if (found == nullptr) return std::nullopt;
  return Answered{found->recipe, found->decision, found->model, found->features};
}

Result<bool> LocalReplay::add_outcome(std::string_view id, std::string_view json) {
  const std::lock_guard lock(mutex_);
  Record* found = find(id);
  if (found == nullptr || found->outcome_count >= kOutcomesMax) return false;
  ++found->outcome_count;
  bytes_ -= found->bytes();
  found->outcomes.append(found->outcomes.empty() ? "" : ",").append(json);
  bytes_ += found->bytes();
  return true;
}

void LocalReplay::add_shadow(const Shadow& shadow) {
  RecordTexts::OfShadow text{shadow_json(shadow), shadow.response};
  const std::lock_guard lock(mutex_);
  Record* found = find(shadow.replay_id);
  if (found == nullptr) return;
  bytes_ -= found->bytes();
  found->shadows.push_back(std::move(text));
  bytes_ += found->bytes();
  note_expiry(*found);
  prune(std::chrono::system_clock::now());
}

Result<size_t> LocalReplay::remove(std::string_view user, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const size_t before = records_.size();
  std::erase_if(records_, [&](const Record& record) {
    const bool is_meant =
        (user.empty() || record.user == user) && (key.empty() || record.key == key);
    if (is_meant) bytes_ -= record.bytes();
    return is_meant;
  });
  return before - records_.size();
}

size_t LocalReplay::size() {
  const std::lock_guard lock(mutex_);
  prune(std::chrono::system_clock::now());
  return records_.size();
}

}  // namespace signalbox::observe
