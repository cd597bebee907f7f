// `global.services`: ports, limits, identities, metrics and traces. `http` is Signalbox's; the
// Semantic Router leaves these limits to a proxy.

#include <algorithm>
#include <thread>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCertificate = "PEM file of the certificate and its chain, for TLS.";
constexpr std::string_view kCertificateKey = "PEM file of the certificate's key.";

constexpr Choice kModelDtypes[] = {
    {"int8", ModelDtype::kI8}, {"bf16", ModelDtype::kBF16}, {"f32", ModelDtype::kF32}};

constexpr Key kHttpKeys[] = {
    bytes(FIELD(HttpLimits, header_bytes_max), 1024, 1 << 24,
          "Greatest size of a request's header. Default: 32KiB."),
    bytes(FIELD(HttpLimits, body_bytes_max), 1024, int64_t{1} << 30,
          "Greatest size of a request's body. Default: 32MiB."),
    duration(FIELD(HttpLimits, header_timeout), 1ms, 1h,
             "Time limit of a header, from its first byte to its end. Default: 10s."),
    duration(FIELD(HttpLimits, body_timeout), 1ms, 1h,
             "Time limit for a body to arrive. Default: 60s."),
    duration(FIELD(HttpLimits, idle_timeout), 1ms, 24h,
             "Time limit between two requests of a connection. Default: 75s."),
    duration(FIELD(HttpLimits, connect_timeout), 1ms, 10min,
             "Time limit of a connection to an upstream. Default: 3s."),
    integer(FIELD(HttpLimits, connections_max), 1, 10'000'000,
            "Client connections at a time. Default: 10000."),
    integer(FIELD(HttpLimits, connections_per_address_max), 0, 10'000'000,
            "Connections from one address at a time. 0 (default): half of `connections_max`."),
    texts(FIELD(HttpLimits, allowed_origins),
          "Origins of web pages that may send requests from browsers, such as "
          "`https://chat.example.com`, or `*`. Default: pages under localhost and under the "
          "listener's own IP address."),
    integer(FIELD(HttpLimits, threads), 0, 1024, "Event loops. 0 (default): one per processor."),
    bytes(FIELD(HttpLimits, reply_header_bytes_max), 1024, 1 << 24,
          "Greatest size of the header of an upstream's reply. Default: 64KiB."),
    integer(FIELD(HttpLimits, upstream_idle_max), 0, 100'000,
            "Idle connections to keep to one upstream, per event loop. Default: 64."),
    duration(FIELD(HttpLimits, upstream_idle_timeout), 1ms, 24h,
             "Time for which to keep them. Default: 30s."),
    integer(FIELD(HttpLimits, model_threads), 0, 1024,
            "Threads for the router's own models. 0 (default): one per processor."),
    integer(FIELD(HttpLimits, model_queue_max), 1, 1'000'000,
            "Requests that may wait for these threads; further ones are routed without models. "
            "Default: 256."),
    choice(FIELD(HttpLimits, model_dtype), kModelDtypes,
           "Number format in which the router's own models compute. Default: `int8`."),
    duration(
        FIELD(HttpLimits, decision_timeout), 1ms, 1h,
        "Time limit of the signals of models; after it a request is routed by the signals that "
        "are known. Default: 10s."),
    duration(FIELD(HttpLimits, guard_wait), 0ms, 1min,
             "Time limit of the last checks of a streamed reply; after it the rest passes "
             "unchecked. Default: 500ms."),
    bytes(FIELD(HttpLimits, bodies_bytes_max), 1024, int64_t{1} << 40,
          "Greatest memory of the bodies of all requests in flight; further ones wait, and get 429 "
          "if they cannot, or 413 if one exceeds it alone. A body that has arrived counts three "
          "times. A chat counts with the memory that it takes: 2 to 5 times its body, and up to 7 "
          "times while it is read (10 times in another API). Default: 1GiB."),
    duration(FIELD(HttpLimits, drain_timeout), 0ms, 1h,
             "Time limit of requests in flight at shutdown. Default: 10s."),
};
constexpr Section kHttp{kHttpKeys};

constexpr Key kKubernetesKeys[] = {
    string(FIELD(Kubernetes, files), "Folder of the resources, instead of an API server."),
    string(FIELD(Kubernetes, server), "URL of the API server. Default: the pod's."),
    string(FIELD_AS("namespace", Kubernetes, namespace_name),
           "Namespace of the resources. Default: the pod's."),
    string(FIELD(Kubernetes, service_account), "Folder of `token`, `ca.crt` and `namespace`."),
    duration(FIELD(Kubernetes, debounce), 0ms, 60s,
             "Delay before changes are applied. Default: 500ms."),
    duration(FIELD(Kubernetes, wait_at_start), 0ms, 600s,
             "Longest wait for the first resources before the process is ready. Default: 5s."),
    boolean(FIELD(Kubernetes, write_status),
            "Report the outcome in the status of the resources. Default: true."),
};
constexpr Section kKubernetes{kKubernetesKeys};

void check_ext_proc(Reader& reader, const yaml::Node& node, ExtProc& out) {
  check_tls_pair(reader, node, out);
  if (!out.tls_client_ca_path.empty() && out.tls_cert_path.empty())
    reader.error(node.line, "expected tls_cert_path beside tls_client_ca_path");
}

constexpr Key kExtProcKeys[] = {
    boolean(FIELD(ExtProc, enabled), "Listen for Envoy. Default: false."),
    text(FIELD(ExtProc, address), "Address of the interface to bind. Default: 127.0.0.1."),
    integer(FIELD(ExtProc, port), 0, 65535, "TCP port of gRPC. Default: 50051."),
    integer(FIELD(ExtProc, streams_max), 1, 1'000'000, "Requests at a time. Default: 10000."),
    duration(FIELD(ExtProc, timeout), 1ms, 24h,
             "Time limit of a whole request, including its reply. Default: 300s."),
    text(FIELD(ExtProc, tls_cert_path), kCertificate),
    text(FIELD(ExtProc, tls_key_path), kCertificateKey),
    text(FIELD(ExtProc, tls_client_ca_path),
         "PEM file of authorities; one of them must have signed Envoy's certificate."),
};
constexpr Section kExtProc{kExtProcKeys, checked<check_ext_proc>};

using ManagementToken = ManagementApi::Token;

constexpr Key kManagementTokenKeys[] = {
    text(FIELD(ManagementToken, env), "Environment variable that contains the token.").required(),
    text(FIELD(ManagementToken, role), "One of `roles`.").required(),
};
constexpr Section kManagementToken{kManagementTokenKeys};

using ManagementAuth = ManagementApi::Auth;

constexpr Key kManagementAuthKeys[] = {
    word(FIELD(ManagementAuth, mode), "disabled bearer",
         "Admit everybody (default), or clients with a token."),
    list(FIELD(ManagementAuth, tokens), kManagementToken, "Tokens and their roles."),
    texts_map(FIELD(ManagementAuth, roles), "Permissions of each role."),
    boolean(FIELD(ManagementAuth, token_for_changes),
            "On loopback with mode disabled, changes of the configuration and of keys need the "
            "token that the router keeps in a file. Default: true."),
};

void check_management_auth(Reader& reader, const yaml::Node& node, ManagementAuth& auth) {
  const yaml::Node* const tokens = node.find("tokens");
  if (tokens == nullptr || auth.mode != "bearer") return;
  reader.at_key("tokens", [&] {
    for (size_t i = 0; i < std::min(auth.tokens.size(), tokens->items.size()); ++i) {
      const ManagementToken& token = auth.tokens[i];
      if (token.env.empty()) continue;
      reader.at_index(i, [&] {
        note_unset(reader, tokens->items[i], "env", token.env,
                   fmt::format("there is no token for the role \"{}\"", token.role));
      });
    }
  });
}

constexpr Section kManagementAuth{kManagementAuthKeys, checked<check_management_auth>};

constexpr Key kManagementKeys[] = {
    boolean(FIELD(ManagementApi, enabled), "false opens no management port. Default: true."),
    text(FIELD(ManagementApi, bind_address),
         "Address of the interface to bind. Default: 127.0.0.1."),
    integer(FIELD(ManagementApi, port), 0, 65535,
            "TCP port; 0 lets the system choose one. Default: 8080, or the next "
            "one if a listener has it."),
    boolean(FIELD(ManagementApi, remote_exposure), "Admit other machines. Default: false."),
    texts(FIELD(ManagementApi, allowed_hosts),
          "Host names that clients may use besides localhost and the address."),
    text(FIELD(ManagementApi, tls_cert_path), kCertificate),
    text(FIELD(ManagementApi, tls_key_path), kCertificateKey),
    object(FIELD(ManagementApi, auth), kManagementAuth, "Authentication of clients."),
};
constexpr Section kManagement{kManagementKeys, checked<check_tls_pair<ManagementApi>>};

using BatchRange = BatchClassification::Range;

constexpr Key kBatchRangeKeys[] = {
    count(FIELD(BatchRange, min), "Least number of texts."),
    integer(FIELD(BatchRange, max), -1, 1'000'000'000, "Greatest number of texts. -1: no limit."),
    string(FIELD(BatchRange, label), "Label in the metrics."),
};
constexpr Section kBatchRange{kBatchRangeKeys};

using BatchMetrics = BatchClassification::Metrics;

constexpr Key kBatchMetricsKeys[] = {
    boolean(FIELD(BatchMetrics, enabled), "Measure batches."),
    share(FIELD(BatchMetrics, sample_rate), "Share of the requests to measure."),
    list(FIELD(BatchMetrics, batch_size_ranges), kBatchRange, "Ranges of sizes."),
    numbers(FIELD(BatchMetrics, duration_buckets), "Buckets of durations, in seconds."),
    numbers(FIELD(BatchMetrics, size_buckets), "Buckets of sizes, in texts."),
    boolean(FIELD(BatchMetrics, detailed_goroutine_tracking),
            "Metrics of the Semantic Router's runtime."),
    boolean(FIELD(BatchMetrics, high_resolution_timing),
            "Metrics of the Semantic Router's runtime."),
};
constexpr Section kBatchMetrics{kBatchMetricsKeys};

constexpr std::string_view kOneBatch = "the model processes the texts of a batch together";

constexpr Key kBatchKeys[] = {
    count(FIELD(BatchClassification, max_batch_size),
          "Greatest number of texts of a request. Default: 100."),
    count(FIELD(BatchClassification, concurrency_threshold),
          "Number of texts from which they are processed in parallel.")
        .not_built(kOneBatch),
    count(FIELD(BatchClassification, max_concurrency), "Texts at a time.").not_built(kOneBatch),
    object(FIELD(BatchClassification, metrics), kBatchMetrics, "Metrics of batches.")
        .not_built("batches are not measured"),
};
constexpr Section kBatch{kBatchKeys};

constexpr Key kClassificationApiKeys[] = {
    object(FIELD(ClassificationApi, batch_classification), kBatch,
           "Classification of several texts in one request."),
    unread("routing_preview", "Bounds on previews of decisions.",
           "`/api/v1/explain` has the bounds of other requests"),
    unread("embeddings", "The Semantic Router's API of embeddings.", "the API is always there"),
};
constexpr Section kClassificationApi{kClassificationApiKeys};

constexpr Choice kBudgetBy[] = {
    {"key", Spending::By::kKey}, {"user", Spending::By::kUser}, {"group", Spending::By::kGroup}};
constexpr Choice kBudgetPer[] = {{"day", Spending::Per::kDay}, {"month", Spending::Per::kMonth}};
constexpr Choice kBudgetThen[] = {{"warn", Spending::Then::kWarn},
                                  {"cheaper", Spending::Then::kCheaper},
                                  {"refuse", Spending::Then::kRefuse}};

constexpr Key kSpendingBudgetKeys[] = {
    text(FIELD(Spending::Budget, name), "Name of the budget in headers and refusals.").required(),
    choice(FIELD(Spending::Budget, by), kBudgetBy, "Whose spending counts. Default: `key`."),
    string(FIELD(Spending::Budget, of),
           "The key, user or group. Default: each of them has this budget for itself."),
    positive(FIELD(Spending::Budget, amount), "The most that may be spent.").required(),
    text(FIELD(Spending::Budget, currency), "Currency of the amount. Default: USD."),
    choice(FIELD(Spending::Budget, per), kBudgetPer,
           "The period, in UTC, after which the budget starts again. Default: `month`."),
    choice(FIELD(Spending::Budget, then), kBudgetThen,
           "For requests beyond the amount: `warn` answers with a header, `cheaper` takes the "
           "decision's cheapest model, `refuse` answers 429 with the time of renewal. Default: "
           "`refuse`."),
    share(FIELD(Spending::Budget, warn_at),
          "Share of the amount from which replies have the header x-vsr-budget. Default: 0.8."),
};
constexpr Section kSpendingBudget{kSpendingBudgetKeys};

constexpr Key kSpendingKeys[] = {
    word(FIELD(Spending, backend), "file postgres",
         "`file`, which is this router's own, or `postgres`, where all routers with the same table "
         "have the same sums and budgets. Default: `file`."),
    text(FIELD(Spending, file),
         "SQLite file of the spending, relative to this file, for `file`. Default: "
         "`spending.db`."),
    object(FIELD(Spending, postgres), kPostgres,
           "The server, for `postgres`. Its tables begin with `signalbox_spending` by default, and "
           "with `table_name` otherwise."),
    boolean(FIELD(Spending, request_usage),
            "Request the usage of streams from servers of chat completions, and take it out of the "
            "reply if the client did not request it. Default: true."),
    named(FIELD(Spending, budgets), kSpendingBudget,
          "Limits on the spending of keys, users and groups."),
};

void check_spending(Reader& reader, const yaml::Node& node, Spending& spending) {
  note_unused(reader, node, {"file", "postgres"}, spending.backend, false);
  if (spending.backend == "postgres") check_postgres_tables(reader, node, spending.postgres);
}

constexpr Choice kUntranslatable[] = {{"drop", ClientApis::Untranslatable::kDrop},
                                      {"refuse", ClientApis::Untranslatable::kRefuse}};

constexpr Key kClientApisKeys[] = {
    choice(FIELD(ClientApis, untranslatable), kUntranslatable,
           "For a part of a request that has no place in the API of the model's server: `drop` "
           "sends the rest, and the reply names the part in x-vsr-dropped; `refuse` answers 400. "
           "Requests that would then mean something else are always refused. Default: `drop`."),
    text(FIELD(ClientApis, files_model),
         "The model whose server holds the files and batches of all clients: `/v1/files` and "
         "`/v1/batches` go there. Default: the only model, if there is one and clients have no "
         "keys; otherwise these paths answer 400."),
};

constexpr Key kResponseApiKeys[] = {
    boolean(FIELD(ResponseApi, enabled), "Serve /v1/responses. Default: true."),
    string(
        FIELD(ResponseApi, store_backend),
        "Store of the responses: `memory` (default), or `redis`, `valkey` or `postgres` (Signalbox "
        "only), where routers share them.")
        .then<read_valkey_as_redis>(),
    count(FIELD(ResponseApi, ttl_seconds), "Lifetime of a response, in seconds."),
    count(FIELD(ResponseApi, max_responses),
          "Responses that a router keeps in memory. The server keeps all until they expire."),
    object(FIELD(ResponseApi, redis), kRedis, "The server, for `redis` or `valkey`.")
        .also("valkey"),
    object(
        FIELD(ResponseApi, postgres), kPostgres,
        "The server, for `postgres`. Its tables begin with `signalbox_responses` by default, and "
        "`table_name` has at most 48 characters. Signalbox only."),
};

void check_response_store(Reader& reader, const yaml::Node& node, ResponseApi& api) {
  check_store(reader, node, {"store_backend", api.store_backend, "responses"}, api.redis,
              &api.postgres);
}

constexpr Section kResponseApi{kResponseApiKeys, checked<check_response_store>};

// --- observability ---

/// Names of metadata in gRPC have fewer characters than those of HTTP.
bool is_metadata_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_digit(c) || ascii::is_alpha(c) || c == '-' || c == '_' || c == '.';
  });
}

/// True for a header that a collector gets from the protocol itself. gRPC reserves "grpc-", uses
/// "grpclb_client_stats" within the process, and encodes values under names that end in "-bin".
bool is_of_protocol(std::string_view name) {
  const std::string low = ascii::lower_case(name);
  return is_own_header(low) || low == "content-type" || low == "user-agent" ||
         low.starts_with("grpc") || low.ends_with("-bin");
}

// gRPC ends the process at a header that it does not accept, so nothing else may reach it.
void check_exporter(Reader& reader, const yaml::Node& node, Observability::Exporter& out) {
  if (out.headers.empty()) return;
  const uint32_t line = node.find("headers")->line;
  reader.at_key("headers", [&] {
    for (auto header = out.headers.begin(); header != out.headers.end(); ++header) {
      const auto& [name, value] = *header;
      if (!is_metadata_name(name))
        reader.error(line, fmt::format("expected the name of a header, found \"{}\"", name));
      else if (is_of_protocol(name))
        reader.error(line, fmt::format("the router sets \"{}\" itself", name));
      const bool has_twin = std::any_of(out.headers.begin(), header, [&](const auto& other) {
        return ascii::iequals(other.first, header->first);
      });
      if (has_twin) reader.error(line, fmt::format("\"{}\" is given twice", name));
      if (std::any_of(value.begin(), value.end(), [](char c) { return c < ' ' || c > '~'; }))
        reader.error(line, fmt::format("{}: expected one line of printable ASCII", name));
    }
  });
}

constexpr Key kExporterKeys[] = {
    string(FIELD(Observability::Exporter, type), "`otlp`."),
    string(FIELD(Observability::Exporter, endpoint),
           "Address of a collector, `host:port` or a URL."),
    word(FIELD(Observability::Exporter, protocol), "grpc http/protobuf",
         "Protocol of the collector. Default: `grpc` at port 4317 without a path, else "
         "`http/protobuf`."),
    boolean(FIELD(Observability::Exporter, insecure), "Connect without TLS."),
    string(FIELD(Observability::Exporter, tls_ca_path),
           "PEM file of authorities for the collector's certificate. Default: the system's."),
    text_map(FIELD(Observability::Exporter, headers),
             "Headers of every export, such as a key. Over gRPC they are metadata."),
};
constexpr Section kExporter{kExporterKeys, checked<check_exporter>};

constexpr Key kSamplingKeys[] = {
    string(FIELD(Observability::Sampling, type), "`always_on`, `always_off` or `probabilistic`."),
    share(FIELD(Observability::Sampling, rate), "Share of the requests, for `probabilistic`."),
};
constexpr Section kSampling{kSamplingKeys};

constexpr Key kResourceKeys[] = {
    string(FIELD(Observability::Resource, service_name), "Attribute of every trace and metric."),
    string(FIELD(Observability::Resource, service_version), "Attribute of every trace and metric."),
    string(FIELD(Observability::Resource, deployment_environment),
           "Attribute of every trace and metric."),
};
constexpr Section kResource{kResourceKeys};

constexpr Key kTracingKeys[] = {
    boolean(FIELD(Observability::Tracing, enabled), "Send traces. Default: true."),
    string(FIELD(Observability::Tracing, provider), "`opentelemetry`.")
        .no_effect("traces are sent in the format of OpenTelemetry")
        .unless("opentelemetry"),
    object(FIELD(Observability::Tracing, exporter), kExporter,
           "Receiver of the traces. Without an endpoint no traces are sent."),
    object(FIELD(Observability::Tracing, sampling), kSampling, "Requests to trace."),
    object(FIELD(Observability::Tracing, resource), kResource,
           "Attributes of every trace and of every metric that `metrics.exporter` sends."),
};
constexpr Section kTracing{kTracingKeys};

using Windowed = Observability::WindowedMetrics;

constexpr Key kWindowedKeys[] = {
    boolean(FIELD(Windowed, enabled), "Compute rates over past windows."),
    texts(FIELD(Windowed, time_windows), "Lengths of the windows, such as 1m, 5m and 1h."),
    duration(FIELD(Windowed, update_interval), 0ms, 24h * 365, "Time between updates."),
    boolean(FIELD(Windowed, model_metrics), "Compute them for each model."),
    boolean(FIELD(Windowed, queue_depth_estimation), "Estimate the queue of each model."),
    count(FIELD(Windowed, max_models), "Greatest number of models."),
};
constexpr Section kWindowed{kWindowedKeys};

constexpr Key kMetricsKeys[] = {
    boolean(FIELD(Observability::Metrics, enabled), "Serve and export metrics. Default: true."),
    text(FIELD(Observability::Metrics, bind_address),
         "Address of the interface of the metrics port. Default: 127.0.0.1."),
    integer(FIELD(Observability::Metrics, port), 0, 65535,
            "Port for metrics only. Default: none; the management port serves them."),
    object(FIELD(Observability::Metrics, exporter), kExporter,
           "Receiver of the metrics, beside /metrics. Without an endpoint no metrics are sent. "
           "Signalbox only."),
    duration(FIELD(Observability::Metrics, export_interval), 100ms, 1h,
             "Time between two exports. Default: 60s. Signalbox only."),
    object(FIELD(Observability::Metrics, windowed_metrics), kWindowed, "Rates over past windows.")
        .not_built("readers of /metrics compute rates over any window"),
};
constexpr Section kMetrics{kMetricsKeys};

constexpr Key kObservabilityKeys[] = {
    object(FIELD(Observability, tracing), kTracing, "Traces of single requests."),
    object(FIELD(Observability, metrics), kMetrics, "Metrics of all requests."),
    unread("profiling", "Port for profiles of the process.",
           "the process has no port for profiles"),
};
constexpr Section kObservability{kObservabilityKeys};

constexpr Key kStartupStatusKeys[] = {
    string(FIELD(StartupStatus, store_backend), "`file` or `redis`."),
    object(FIELD(StartupStatus, redis), kRedis, "The server, for `redis`."),
};
constexpr Section kStartupStatus{kStartupStatusKeys};

constexpr std::string_view kOtherRecords = "records are kept in memory, Redis or PostgreSQL";
constexpr std::string_view kTextsByPlugin =
    "set this key in the plugin router_replay of each decision";

constexpr Key kReplayKeys[] = {
    boolean(FIELD(RouterReplay, enabled), "Record decisions. Default: false."),
    string(FIELD(RouterReplay, store_backend),
           "Store of the records: `memory` (default), or `redis`, `valkey` or `postgres`, where "
           "routers share them and which keep them over a restart.")
        .then<read_valkey_as_redis>(),
    count(FIELD(RouterReplay, ttl_seconds),
          "Lifetime of a record, in seconds. 0 (default): as long as there is room."),
    integer(FIELD(RouterReplay, max_records), 1, 1'000'000,
            "Records to keep, of all routers together if they share them. Default: 1000."),
    bytes(FIELD(RouterReplay, bytes_max), 0, int64_t{1} << 40,
          "Bytes of all records together that routers share, with their texts, beyond which the "
          "oldest ones are forgotten. Default: 0, no limit. Records in memory take 64 MB at most."),
    count(FIELD(RouterReplay, body_ttl_seconds),
          "Time for which records keep the texts that decisions capture, in seconds, if it is less "
          "than theirs. 0 (default): as long as the record."),
    boolean(FIELD(RouterReplay, capture_personal_data),
            "false keeps the records of all decisions without texts, whatever their plugins "
            "configure. Default: true."),
    unread("capture_request_body", "Record requests in full.", kTextsByPlugin)
        .unless("false no off"),
    unread("capture_response_body", "Record replies in full.", kTextsByPlugin)
        .unless("false no off"),
    unread("max_body_bytes", "Greatest size of a recorded body, in bytes.", kTextsByPlugin),
    unread("max_tool_trace_bytes", "Greatest size of a tool call.", kNoTraces),
    unread("max_tool_trace_steps", "Tool calls of a request to record.", kNoTraces),
    boolean(FIELD(RouterReplay, async_writes), "Write records in the background.")
        .no_effect("requests never wait for records")
        .unless("true yes on"),
    object(FIELD(RouterReplay, redis), kRedis, "The server, for `redis` or `valkey`.")
        .also("valkey"),
    object(FIELD(RouterReplay, postgres), kPostgres,
           "The server, for `postgres`. Its tables begin with `signalbox_replay` by default, and "
           "`table_name` has at most 48 characters."),
    object(FIELD(RouterReplay, milvus), kMilvusAddress, "The server, for `milvus`.")
        .not_built(kOtherRecords),
    object(FIELD(RouterReplay, qdrant), kQdrant, "The server, for `qdrant`.")
        .not_built(kOtherRecords),
};
void check_replay_store(Reader& reader, const yaml::Node& node, RouterReplay& replay) {
  check_store(reader, node, {"store_backend", replay.store_backend, "records"}, replay.redis,
              &replay.postgres);
  if (!replay.is_shared()) note_unused(reader, node, {"bytes_max"}, "memory", false);
}

constexpr Section kReplay{kReplayKeys, checked<check_replay_store>};

constexpr Choice kUnwritable[] = {{"report", Audit::Unwritable::kReport},
                                  {"refuse_changes", Audit::Unwritable::kRefuseChanges}};

constexpr Key kAuditKeys[] = {
    text(
        FIELD(Audit, file),
        "File of the changes, relative to this file: a JSON object a line, each with the digest of "
        "the one before. Refusals go to `audit-refusals.jsonl` beside `audit.jsonl`, with the same "
        "limits.")
        .required(),
    bytes(FIELD(Audit, bytes_max), int64_t{64} << 10, int64_t{1} << 40,
          "Size at which the file gets a number and a new one begins. Default: `64MiB`."),
    integer(FIELD(Audit, files_max), 1, 100'000, "Numbered files to keep. Default: 100."),
    choice(FIELD(Audit, unwritable), kUnwritable,
           "The reaction to a file that cannot be written: `report` logs it, `refuse_changes` also "
           "refuses changes. Default: `report`."),
};
constexpr Section kAudit{kAuditKeys};

constexpr std::string_view kCallsModels = "the router calls the models itself";

constexpr Key kServicesKeys[] = {
    object(FIELD(Config, http), kHttp, "Limits of the HTTP server and of the router's models."),
    object(FIELD(Config, ext_proc), kExtProc, "Envoy's external processing."),
    object(FIELD(Config, kubernetes), kKubernetes,
           "Models and routes from Kubernetes, with `config_source: kubernetes`."),
    object(FIELD_AS("management_api", Config, management), kManagement, "The management port."),
    object(FIELD(Config, api), kClassificationApi, "Classification."),
    object(FIELD(Config, response_api), kResponseApi, "/v1/responses."),
    object(FIELD(Config, observability), kObservability, "Traces and metrics."),
    object(FIELD(Config, audit), kAudit, "The audit log: who changed what, and who was refused."),
    object(FIELD(Config, authz), kAuthz, "Identities of clients."),
    object(FIELD(Config, ratelimit), kRateLimit, "Rate limits."),
    object(FIELD(Config, startup_status), kStartupStatus,
           "Start of the Semantic Router's components.")
        .no_effect("the router is one process; /ready reports its state"),
    object(FIELD(Config, router_replay), kReplay, "Records of requests."),
    unread("backend_dispatch", "Port for Envoy's calls to models.", kCallsModels),
    unread("backend_egress", "Addresses that the router may call.",
           "the router calls the servers that the file names, and no others"),
};

}  // namespace

uint32_t evaluating_threads(const HttpLimits& limits) {
  constexpr uint32_t kEach = 8;
  const uint32_t configured = limits.model_threads;
  return kEach * (configured != 0 ? configured : std::max(1U, std::thread::hardware_concurrency()));
}

constinit const Section kClientApis{kClientApisKeys};
constinit const Section kServices{kServicesKeys};
constinit const Section kSpending{kSpendingKeys, checked<check_spending>};

}  // namespace signalbox::config
