// The text of some hundred series takes a millisecond to write, so the pool writes it.

#include "router/admin/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "engine/served_model.h"
#include "router/http/error_reply.h"
#include "router/observe/exposition.h"

namespace signalbox::admin {
namespace {

access::Failure switched_off() {
  return {404, "NOT_FOUND", "global.services.observability.metrics.enabled is false"};
}

http::Task<> send(http::Exchange exchange, const Scrape& scrape, http::ThreadPool& pool) {
  std::string text;
  const bool enabled = scrape.enabled();
  std::function<void()> work = [&] { text = scrape.text(); };
  bool ran = true;
  if (enabled) ran = co_await pool.run(std::move(work));
  http::Headers fields;
  fields.add("Content-Type", enabled && ran ? observe::kExpositionType : "application/json");
  if (!enabled) text = access::failure_body(switched_off());
  if (!ran) text = access::management_error_body(503, "too many requests are waiting");
  co_await exchange.reply.send(!enabled ? 404 : ran ? 200 : 503, fields, text);
}

}  // namespace

bool Scrape::enabled() const {
  const auto state = current_.get();
  return state == nullptr || state->config().observability.metrics.enabled;
}

void Scrape::update_models(const models::Models& models, const config::Config& config) const {
  const auto update = [&](const engine::TextEmbedder& model, const std::string& name) {
    const auto load = engine::load_of(model);
    if (!load) return;
    metrics_.queued_requests.with({name}).set(load->requests);
    metrics_.queued_tokens.with({name}).set(static_cast<double>(load->tokens));
  };
  if (models.embedder != nullptr) update(*models.embedder, config.embedding_model.path);
  for (const auto& [directory, model] : models.classifiers) update(*model, directory);
}

void Scrape::update_contexts() const {
  const contexts::Store* const store = contexts_.store();
  if (store == nullptr) return;
  const contexts::Stats stats = store->stats();
  const auto as_number = [](uint64_t value) { return static_cast<double>(value); };
  const std::string memory = "memory", below(store->below());
  metrics_.contexts.with({memory}).set(as_number(stats.in_memory));
  metrics_.contexts.with({below}).set(as_number(stats.below));
  metrics_.context_bytes.with({memory}).set(as_number(stats.memory_bytes));
  metrics_.context_bytes.with({below}).set(as_number(stats.below_bytes));
  metrics_.context_pinned_bytes.only().set(as_number(stats.pinned_bytes));
  metrics_.context_reads.with({memory}).follow(as_number(stats.memory_hits));
  metrics_.context_reads.with({below}).follow(as_number(stats.below_hits));
  if (const std::string shared(store->shared()); !shared.empty()) {
    metrics_.contexts.with({shared}).set(as_number(stats.shared));
    metrics_.contexts.with({"owed"}).set(as_number(stats.owed));
    metrics_.context_bytes.with({shared}).set(as_number(stats.shared_bytes));
    metrics_.context_reads.with({shared}).follow(as_number(stats.shared_hits));
    metrics_.context_events.with({"not_shared"}).follow(as_number(stats.shared_failures));
  }
  metrics_.context_reads.with({"none"}).follow(as_number(stats.misses));
  const auto count = [&](const char* event, uint64_t times) {
    metrics_.context_events.with({event}).follow(as_number(times));
  };
  count("stored", stats.puts);
  count("refused", stats.refused);
  count("dropped", stats.drops);
  count("paged_out", stats.page_outs);
  count("expired", stats.expired);
  count("damaged", stats.damaged);
}

void Scrape::update_workers() const {
  std::vector<observe::Series> fit, requests, queue;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [model, balancer] : fleet_.balancers()) {
    queue.push_back({{model}, static_cast<double>(balancer->waiting())});
    std::set<std::string> named;  // workers with equal names would give the same series twice
    for (const auto& worker : balancer->status(now)) {
      std::string name = worker.name;
      if (!named.insert(name).second) name += fmt::format("#{}", named.size());
      named.insert(name);
      fit.push_back({{model, name}, worker.healthy && !worker.ejected ? 1.0 : 0.0});
      requests.push_back({{model, name}, static_cast<double>(worker.in_flight)});
    }
  }
  metrics_.worker_fit.set(std::move(fit));
  metrics_.worker_requests.set(std::move(requests));
  metrics_.worker_queue.set(std::move(queue));
}

void Scrape::update_counts() const {
  const shared_counts::SharedCounts* const counts = counts_();
  if (counts == nullptr) return;
  const auto stats = counts->stats();
  metrics_.shared_counts_works.only().set(stats.works ? 1 : 0);
  metrics_.shared_counts_unreported.only().set(static_cast<double>(stats.unreported));
  metrics_.shared_counts_routers.only().set(static_cast<double>(stats.routers));
  auto& exchanges = metrics_.shared_counts_exchanges;
  exchanges.with({"succeeded"}).follow(static_cast<double>(stats.succeeded));
  exchanges.with({"failed"}).follow(static_cast<double>(stats.failed));
}

void Scrape::update_spending() const {
  const spending::Ledger* const ledger = ledger_();
  if (ledger == nullptr) return;
  const auto counts = ledger->counts();
  metrics_.spending_works.only().set(counts.works ? 1 : 0);
  metrics_.spending_waiting.only().set(static_cast<double>(counts.unwritten_rows));
}

void Scrape::update_responses() const {
  const dialects::SharedResponses* const shared = responses_.below();
  if (shared == nullptr) return;
  const auto stats = shared->stats();
  metrics_.shared_responses_works.only().set(stats.works ? 1 : 0);
  metrics_.shared_responses_waiting.only().set(static_cast<double>(stats.waiting));
  metrics_.shared_responses_late.only().follow(static_cast<double>(stats.late));
  const auto count = [&](const char* result, uint64_t times) {
    metrics_.shared_responses.with({result}).follow(static_cast<double>(times));
  };
  count("written", stats.written);
  count("refused", stats.refused);
  count("dropped", stats.dropped);
}

void Scrape::update_memories() const {
  const memories::Memories& memories = memories_();
  const memories::Memories::Size size = memories.size();
  metrics_.memories.only().set(static_cast<double>(size.memories));
  metrics_.memory_users.only().set(static_cast<double>(size.users));
  metrics_.memory_bytes.only().set(static_cast<double>(size.bytes));
  const auto shared = memories.shared();
  if (!shared) return;
  metrics_.shared_memories_works.only().set(shared->works ? 1 : 0);
  metrics_.shared_memories_waiting.only().set(static_cast<double>(shared->waiting));
  const auto count = [&](const char* result, uint64_t times) {
    metrics_.shared_memories.with({result}).follow(static_cast<double>(times));
  };
  count("written", shared->written);
  count("refused", shared->refused);
  count("dropped", shared->dropped);
}

void Scrape::update_replay() const {
  observe::Replay& replay = replay_();
  metrics_.replay_records.only().set(static_cast<double>(replay.size()));
  const auto shared = replay.shared();
  if (!shared) return;
  metrics_.shared_replay_works.only().set(shared->works ? 1 : 0);
  metrics_.shared_replay_waiting.only().set(static_cast<double>(shared->waiting));
  const auto count = [&](const char* result, uint64_t times) {
    metrics_.shared_replay.with({result}).follow(static_cast<double>(times));
  };
  count("written", shared->written);
  count("refused", shared->refused);
  count("dropped", shared->dropped);
}

void Scrape::update_learning() const {
  const shared_learning::SharedLearning* const shared = learning_();
  if (shared == nullptr) return;
  const auto stats = shared->stats();
  metrics_.shared_learning_works.only().set(stats.works ? 1 : 0);
  metrics_.shared_learning_waiting.only().set(static_cast<double>(stats.waiting));
  const auto count = [&](const char* result, uint64_t times) {
    metrics_.shared_learning.with({result}).follow(static_cast<double>(times));
  };
  count("written", stats.written);
  count("refused", stats.refused);
  count("dropped", stats.dropped);
}

void Scrape::update_keys() const {
  const auto state = current_.get();
  if (state == nullptr || state->clients == nullptr || state->clients->store() == nullptr) return;
  const shared_keys::SharedKeys& store = *state->clients->store();
  const shared_keys::KeySetPointer known = store.known();
  metrics_.shared_keys_works.only().set(store.stats().works ? 1 : 0);
  metrics_.shared_keys_known.only().set(known == nullptr ? 0
                                                         : static_cast<double>(known->keys.size()));
}

void Scrape::update_documents() const {
  const vector_stores::VectorStores* const stores = documents_();
  if (stores == nullptr) return;
  const auto size = stores->size();
  const auto as_double = [](auto count) { return static_cast<double>(count); };
  metrics_.files.only().set(as_double(size.files));
  metrics_.vector_stores.only().set(as_double(size.stores));
  const auto& [in_progress, completed, failed, cancelled] = size.entries;
  metrics_.vector_store_files.with({"in_progress"}).set(as_double(in_progress));
  metrics_.vector_store_files.with({"completed"}).set(as_double(completed));
  metrics_.vector_store_files.with({"failed"}).set(as_double(failed));
  metrics_.vector_store_files.with({"cancelled"}).set(as_double(cancelled));
  metrics_.vector_store_bytes.only().set(as_double(size.bytes));
}

void Scrape::update_process() const {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  metrics_.resident_bytes.only().set(static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)));
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  metrics_.cpu_seconds.only().follow(seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

observe::Collection Scrape::collect() const {
  const std::lock_guard lock(mutex_);
  metrics_.build_info.with({SIGNALBOX_VERSION}).set(1);
  metrics_.undecided.only().set(static_cast<double>(pool_().waiting()));
  update_contexts();
  update_workers();
  update_counts();
  update_spending();
  update_responses();
  update_memories();
  update_replay();
  update_learning();
  update_keys();
  update_documents();
  update_process();
  if (const auto state = current_.get()) {
    metrics_.config_version.only().set(static_cast<double>(state->generation));
    update_models(state->router->models(), state->config());
    if (gateway::caches_answers(state->config())) {
      metrics_.cache_entries.with({state->config().response_cache.backend_type})
          .set(static_cast<double>(cache_.answers()->store().figures().entries));
    }
  }
  if (const serving::Reloader* reloader = reloader_()) {
    const auto counts = reloader->counts();
    metrics_.config_updates.with({"active"}).follow(static_cast<double>(counts.succeeded));
    metrics_.config_updates.with({"failed"}).follow(static_cast<double>(counts.failed));
    metrics_.config_refused.only().set(reloader->refusal() ? 1 : 0);
  }
  if (const http::Server* server = server_()) {
    const auto counts = server->counts();
    metrics_.connections.only().set(counts.connections);
    metrics_.refused.with({"connections"}).follow(static_cast<double>(counts.refused_connections));
    metrics_.refused.with({"bodies"}).follow(static_cast<double>(counts.refused_bodies));
  }
  return metrics_.collect();
}

std::string Scrape::text() const {
  return observe::expose(collect().readings);
}

http::Route metrics_route(const Scrape& scrape, const serving::CurrentState& current,
                          http::ThreadPool& pool) {
  return management_route(
      "GET", "/metrics", "metrics.read", current, pool,
      [&scrape](const http::Request&, const serving::ServingState&) {
        if (!scrape.enabled()) return AdminReply::of(switched_off());
        return AdminReply{200, scrape.text(), std::string(observe::kExpositionType)};
      });
}

http::Handler metrics_handler(const Scrape& scrape, http::ThreadPool& pool) {
  return http::make_routes(
      {{"GET", "/metrics", [&](http::Exchange exchange) { return send(exchange, scrape, pool); }}},
      access::management_error_body);
}

}  // namespace signalbox::admin
