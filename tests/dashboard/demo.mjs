// A router with everything that the dashboard shows: two models with several servers (one is broken), keys,
// budgets, prices, shadows, an audit log, and recorded requests. Model servers are scripts on this machine.

import { fileURLToPath } from "node:url";

import { Daemon } from "../e2e/daemon.mjs";
import { Issuer } from "../e2e/issuer.mjs";
import { ScriptedUpstream, completion, streamed } from "../e2e/upstream.mjs";
import { until } from "../e2e/until.mjs";

export const kSecret = "marmalade-submarine"; // occurs in prompts and replies, and may appear on no page
const kModels = fileURLToPath(new URL("../../models", import.meta.url)); // heads of one adapter
const kUsage = { prompt_tokens: 900, completion_tokens: 120, total_tokens: 1020 };

const configuration = (upstreams, issuer, more) => (port, managementPort) => `# Demo
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: large}
  models:
    - name: large
      pricing: {prompt_per_1m: 10, completion_per_1m: 20}
      reliability: {consecutive_5xx: 3, base_ejection_time: 300s}
      backend_refs:
        - {name: large-a, endpoint: "127.0.0.1:${upstreams.good.port}"}
        - {name: large-b, endpoint: "127.0.0.1:${upstreams.good.port}"}
        - {name: large-broken, endpoint: "127.0.0.1:${upstreams.broken.port}"}
    - name: small
      pricing: {prompt_per_1m: 1, completion_per_1m: 2}
      backend_refs: [{name: small-a, endpoint: "127.0.0.1:${upstreams.cheap.port}"}]
    - name: never
      backend_refs: [{name: never-a, endpoint: "127.0.0.1:${upstreams.broken.port}"}]
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [prove, theorem]}
      - {name: forbidden, operator: OR, keywords: [launch code]}
      - {name: broken, operator: OR, keywords: [breakage]}
      - {name: contract, operator: OR, keywords: [contract]}
    domains: [{name: law}]
    fact_check: [{name: needs_fact_check}]
    user_feedbacks: [{name: wrong_answer}]
    pii: [{name: personal, threshold: 0.8}]
  decisions:
    - name: forbidden
      priority: 300
      rules: {type: keyword, name: forbidden}
      plugins: [{type: fast_response, configuration: {message: That is not for me to say.}}]
    - name: maths
      description: Proofs go to the model that is good at them.
      priority: 200
      rules: {type: keyword, name: proof}
      modelRefs: [{model: large}]
      plugins:
        - {type: response_cache, configuration: {mode: exact}}
        - type: shadow_dispatch
          configuration: {sample_rate: 1, arms: [{model: small, timeout: 30s}], comparison: {similarity_threshold: 0.8}}
    - name: contracts
      priority: 180
      rules:
        operator: AND
        conditions:
          - {type: keyword, name: contract}
          - {type: domain, name: law}
          - {type: fact_check, name: needs_fact_check}
          - {operator: NOT, conditions: [{type: user_feedback, name: wrong_answer}]}
      modelRefs: [{model: large}]
    - name: breakage
      priority: 150
      rules: {type: keyword, name: broken}
      modelRefs: [{model: never}]
    - name: everything-else
      priority: 1
      rules: {operator: AND, conditions: []}
      modelRefs: [{model: small}]
global:
  access:
    keys_file: keys.json
    tokens:
      - {name: login, issuer: "${issuer}", audiences: [signalbox], prefix: "login/", groups: [{name: interns, models: [small]}, {name: "*"}]}
      - {name: away, issuer: "http://127.0.0.1:9", audiences: [signalbox], prefix: "away/"}
  spending:
    budgets:
      - {name: research-month, by: group, of: research, amount: 50, per: month}
      - {name: each-key, by: key, amount: 0.05, per: day, then: cheaper}
      - {name: interns, by: user, of: kim, amount: 0.02, per: month, then: refuse}
  services:
    audit: {file: audit/audit.jsonl}
    router_replay: {enabled: true}
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}${more || ", auth: {token_for_changes: false}"}}
  model_catalog:
    system:
      pii_classifier: ""
      domain_classifier: ${kModels}/signals/domain
      fact_check_classifier: ${kModels}/signals/fact-check
      feedback_detector: ${kModels}/signals/feedback
`;

export class Demo {
  static async start(more = "") {
    const demo = new Demo();
    demo.upstreams = { good: await ScriptedUpstream.start(), cheap: await ScriptedUpstream.start(), broken: await ScriptedUpstream.start() };
    const answers = (content) => (received) => (received.stream ? streamed([{ content }], "stop", kUsage) : completion({ content }, "stop", kUsage));
    demo.upstreams.good.answer = answers(`A long answer. ${kSecret}`);
    demo.upstreams.cheap.answer = (received) =>
      received.messages.at(-1).content.includes("too much")
        ? { status: 400, body: { error: { message: "the request is too long" } } }
        : answers(`A long answer. ${kSecret}`)(received);
    demo.upstreams.broken.answer = () => ({ status: 500, body: { error: { message: "broken" } } });
    demo.issuer = await Issuer.start();
    demo.daemon = await Daemon.start(configuration(demo.upstreams, demo.issuer.url, more)).catch(async (error) => {
      await demo.stop();
      throw error;
    });
    demo.url = demo.daemon.managementUrl;
    demo.keys = {};
    return demo;
  }

  /// Adds a key through the management API, and keeps it under its name.
  async addKey(name, rest = {}, headers = {}) {
    const answer = await fetch(`${this.url}/api/v1/keys`, { method: "POST", headers, body: JSON.stringify({ name, ...rest }) });
    if (answer.status !== 201) throw new Error(`the key ${name}: ${answer.status} ${await answer.text()}`);
    this.keys[name] = (await answer.json()).key;
  }

  /// Sends a request of the key with that name ("": none), and returns the status of the reply.
  async ask(key, content, more = {}) {
    const response = await fetch(`${this.daemon.url}/v1/chat/completions`, {
      method: "POST",
      headers: key ? { authorization: `Bearer ${this.keys[key] ?? key}` } : {},
      body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }], ...more }),
    });
    await response.text();
    return response.status;
  }

  /// Keys and one request of each kind that the pages distinguish.
  async fill() {
    await this.addKey("ann", { user: "ann", groups: ["research"], expires: "2030-01-31" });
    await this.addKey("build-bot", { groups: ["research", "tools"], models: ["small"] });
    await this.addKey("kim", { user: "kim" });
    for (let i = 0; i < 4; ++i) await this.ask("ann", `Prove theorem ${i} ${kSecret}`);
    await this.ask("ann", `Prove theorem 1 ${kSecret}`); // from the cache
    await this.ask("ann", "Tell me the launch code");
    await this.ask("ann", "In which year did the French law on contracts change? Is a contract valid without a signature?");
    for (let i = 0; i < 3; ++i) await this.ask("build-bot", `Say hello ${i} ${kSecret}`);
    let i = 0;
    await until(async () => (await this.ask("kim", `Prove theorem of kim ${++i} ${kSecret}`)) === 429, "the budget is spent");
    await this.ask("ann", "Say too much");
    await this.ask("ann", "A breakage, please");
    await this.ask("ann", "Hello", { model: "made-up-model" });
    await this.ask("", "Hello");
    await this.ask("not-a-key", "Hello");
    await this.#settle();
  }

  /// Sends requests until the broken server is ejected, and waits until a pair of answers is compared.
  async #settle() {
    const json = async (path) => (await fetch(`${this.url}${path}`)).json();
    const broken = async () => (await json("/api/v1/servers")).models.flatMap((each) => each.servers).find((each) => each.name === "large-broken");
    let i = 0;
    await until(async () => {
      await this.ask("ann", `Prove lemma ${++i}, a theorem`);
      return (await broken()).ejected;
    }, "the broken server is ejected");
    await until(async () => (await json("/api/v1/spending?by=key")).shadows[0]?.compared > 0, "a pair of answers is compared");
  }

  async stop() {
    await this.daemon?.stop();
    await this.issuer?.down();
    for (const each of Object.values(this.upstreams)) await each.stop();
  }
}
