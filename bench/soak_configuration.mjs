// The configuration of a router of the soak. Every store is small enough to be full within the first minute.

/// The limits of the stores of a router.
export const kLimits = { responses: 2000, responseSeconds: 60, answers: 150, records: 100, contextBytes: 1 << 20, contextIdleSeconds: 5 };
export const kRefusal = "This request was refused.";
export const kPrompt = (epoch) => `This is epoch ${epoch}.`;
export const decisionOf = (epoch) => `epoch-${epoch % 4}`;

const keyword = (name) => ({ name, operator: "OR", keywords: [`${name}-it`] });

/// The decisions. One of them changes with each epoch.
export function decisions(epoch) {
  const on = (name, priority, model, plugins = []) => ({ name, priority, rules: { type: "keyword", name }, modelRefs: [{ model }], plugins });
  const cache = { type: "response_cache", configuration: { mode: "exact", scope: "user" } };
  const mask = { type: "pii_mask", configuration: { types: ["EMAIL_ADDRESS", "CREDIT_CARD"], on_error: "refuse" } };
  const system = { type: "system_prompt", configuration: { system_prompt: kPrompt(epoch) } };
  return [
    on("cache", 9, "small", [cache]),
    on("mask", 8, "small", [mask]),
    { ...on("epoch", 7, "small", [system]), name: decisionOf(epoch) },
    on("prove", 6, "large"),
    { name: "other", priority: 1, modelRefs: [{ model: "small" }] },
  ];
}

/// YAML in the form of JSON.
export function configuration({ port, managementPort, servers, redisPort, contexts, models, epoch }) {
  const reliability = { retry_on: "5xx", reply_timeout: "3s", base_ejection_time: "1s", prefix_blocks_max: 256 };
  const model = (name) => ({ name, reliability, backend_refs: servers.of(name).map((each) => ({ name: each.name, endpoint: `127.0.0.1:${each.port}` })) });
  const refuse = { type: "fast_response", configuration: { message: kRefusal } };
  const attack = { name: "attack", priority: 9, rules: { type: "jailbreak", name: "attack" }, modelRefs: [{ model: "small" }], plugins: [refuse] };
  const redis = { address: `127.0.0.1:${redisPort}`, dial_timeout: 2, read_timeout: 2, write_timeout: 2 };
  const all = {
    version: "v0.3",
    listeners: [{ name: "soak", address: "127.0.0.1", port, timeout: "60s" }],
    providers: { defaults: { default_model: "small" }, models: [model("small"), model("large")] },
    routing: { signals: { keywords: ["cache", "mask", "epoch", "prove"].map(keyword) }, decisions: decisions(epoch) },
    recipes: [{ name: "guarded", routing: { signals: { jailbreak: [{ name: "attack", method: "classifier" }] }, decisions: [attack] } }],
    entrypoints: [{ model_names: ["guarded"], recipe: "guarded" }],
    global: {
      services: {
        management_api: { bind_address: "127.0.0.1", port: managementPort },
        http: { upstream_idle_timeout: "5s" },
        response_api: { store_backend: "redis", max_responses: kLimits.responses, ttl_seconds: kLimits.responseSeconds, redis },
        router_replay: { enabled: true, max_records: kLimits.records },
      },
      stores: {
        response_cache: { max_entries: kLimits.answers },
        contexts: { directory: contexts, memory_bytes: kLimits.contextBytes, idle: `${kLimits.contextIdleSeconds}s`, tenant_pinned_bytes: kLimits.contextBytes / 4 },
      },
      model_catalog: {
        embeddings: { semantic: { minilm_model_path: `${models}/minilm` } },
        system: { prompt_guard: `${models}/attacks/jailbreak` },
      },
    },
  };
  return JSON.stringify(all, null, 1);
}
