// Tests memories with the official clients: what a user wrote comes back in a later conversation, and never to anybody else.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon, hashOf, settled } from "./daemon.mjs";
import { ScriptedUpstream, completion, streamed } from "./upstream.mjs";
import { until } from "./until.mjs";

const kGreen = "My favourite colour is green, please remember it.";
const kAsked = "What is my favourite colour?";
const kBoat = "The boat of my aunt has two masts and an engine.";
const kAnswer = "Noted with pleasure.";
const kTitle = "These are turns of earlier conversations with the user.";

process.env.MEMORY_TEST_OPERATOR = "operator-secret";
process.env.MEMORY_TEST_VIEWER = "viewer-secret";

let model, embedder, daemon;


/// Texts with many common words have similar vectors.
function vectorOf(text) {
  const vector = new Array(64).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? ["nothing"]) vector[createHash("md5").update(word).digest()[0] % 64] += 1;
  return vector;
}

function embeds() {
  embedder.answer = ({ input }) => (embedder.path === "/entities" ? { body: [] } : { body: { data: [input].flat().map((text, index) => ({ index, embedding: vectorOf(text) })) } });
}

const configuration = ({ memory = "", store = "", access = "", plugins = "", signals = "{}", others = "", key = "", catalog = "", services = "", management: auth = "" } = {}) => (port, management) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: plain}
  models:
    - {name: plain, backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
    - {name: second, ${key}backend_refs: [{endpoint: "127.0.0.1:${model.port}"}]}
routing:
  signals: ${signals}
  decisions:
    ${others}
    - name: remembers
      priority: 1
      plugins:
        - {type: memory, configuration: {auto_store: true, similarity_threshold: 0.4, ${memory}}}
        ${plugins}
global:
  ${access}
  stores: {memory: {${store}}}
  model_catalog: {${catalog}embeddings: {semantic: {endpoint: {base_url: "http://127.0.0.1:${embedder.port}/v1", model: e, dimensions: 64}}}}
  services: {${services}management_api: {bind_address: 127.0.0.1, port: ${management}${auth}}}
`;

before(async () => {
  [model, embedder] = await Promise.all([ScriptedUpstream.start(), ScriptedUpstream.start()]);
  embeds();
});

after(async () => {
  await Promise.all([model, embedder].map((each) => each?.stop()));
});

beforeEach(() => {
  embeds();
  model.received = undefined;
  model.answer = ({ stream }) => (stream ? streamed([{ content: kAnswer.slice(0, 5) }, { content: kAnswer.slice(5) }]) : completion({ content: kAnswer }));
});

function withDaemon(options, run) {
  return async () => {
    daemon = await Daemon.start(configuration(options));
    try {
      await run();
    } finally {
      await daemon.stop();
    }
  };
}

const client = (user, headers = {}) =>
  new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { ...(user && { "x-authz-user-id": user }), ...headers } });

/// Sends a text of the user and returns the outcome with the system prompt that the model got.
async function say(user, text, { headers, ...more } = {}) {
  const { data, response } = await client(user, headers)
    .chat.completions.create({ model: "auto", messages: [{ role: "user", content: text }], ...more })
    .withResponse();
  if (more.stream) for await (const chunk of data) void chunk;
  return { outcome: response.headers.get("x-vsr-memory"), system: model.received.messages.find(({ role }) => role === "system")?.content ?? "" };
}

async function memory(method, path, headers = {}, url = daemon.url) {
  const answer = await fetch(`${url}/v1/memory${path}`, { method, headers });
  return { status: answer.status, body: await answer.json() };
}

const own = async (user, path = "") => (await memory("GET", path, { "x-authz-user-id": user })).body;
const has = (user, count) => until(async () => (await own(user)).total === count, `${count} memories of ${user}`);

async function metrics() {
  return (await fetch(`${daemon.managementUrl}/metrics`)).text();
}

const kSeal = "Write down that the spare seal has the number X/4711.";
const kAboutSeal = "Tell me whatever belongs to 4711 please";

describe("memories found by words", () => {
  for (const [where, options] of [
    ["of the decision", { memory: "hybrid_search: true," }],
    ["of the store", { store: "hybrid_search: true, hybrid_mode: rrf" }],
  ])
    test(`an exact word finds a memory that vectors miss, by the key ${where}`, withDaemon(options, async () => {
      await say("ann", kSeal);
      await say("ann", kBoat);
      await has("ann", 2);
      const { outcome, system } = await say("ann", kAboutSeal);
      assert.equal(outcome, "added");
      assert.match(system, /X\/4711/);
      assert.doesNotMatch(system, /masts/);
      assert.equal((await say("bob", kAboutSeal)).outcome, "nothing");
      await memory("DELETE", "", { "x-authz-user-id": "ann" });
      assert.equal((await say("ann", kAboutSeal)).outcome, "nothing");
    }));

  test("without the key, vectors alone decide", withDaemon({}, async () => {
    await say("ann", kSeal);
    await has("ann", 1);
    assert.equal((await say("ann", kAboutSeal)).outcome, "nothing");
  }));

  test("a reload that switches it on finds earlier memories", withDaemon({}, async () => {
    await say("ann", kSeal);
    await has("ann", 1);
    await writeFile(daemon.file, (await readFile(daemon.file, "utf8")).replace("auto_store: true", "auto_store: true, hybrid_search: true"));
    await until(async () => /llm_config_active_version[^\n]* 2\n/.test(await metrics()), "the reload");
    assert.equal((await say("ann", kAboutSeal)).outcome, "added");
  }));
});

describe("memories", () => {
  test("memories come back in a later conversation, with the answer", withDaemon({}, async () => {
    assert.deepEqual(await say("ann", kGreen), { outcome: "nothing", system: "" });
    await has("ann", 1);
    const { outcome, system } = await say("ann", kAsked);
    assert.equal(outcome, "added");
    assert.ok(system.startsWith(kTitle), system);
    assert.match(system, new RegExp(`\\[\\d{4}-\\d\\d-\\d\\d\\] User: ${kGreen}\nAnswer: ${kAnswer}$`));
    await has("ann", 2);
    const messages = [{ role: "user", content: kGreen }, { role: "assistant", content: kAnswer }, { role: "user", content: "Which colour is it, my favourite colour?" }];
    assert.equal((await client("ann").chat.completions.create({ model: "auto", messages }).withResponse()).response.headers.get("x-vsr-memory"), "added");
    assert.doesNotMatch(model.received.messages[0].content, /green/);
    assert.equal((await say("ann", "Please tell a joke about penguins in winter")).outcome, "nothing");
    await until(async () => /signalbox_memory_total\{outcome="added"\} 2\n/.test(await metrics()));
    assert.match(await metrics(), /signalbox_memory_users 1\n/);
  }));

  test("memories of one user never reach another user", withDaemon({}, async () => {
    const sameConversation = { headers: { "x-conversation-id": "c1", "x-session-id": "s1" } };
    await say("ann", kGreen, sameConversation);
    await has("ann", 1);
    for (const user of ["bob", "Ann", "ann2", "an", "ann,bob"]) {
      const { outcome, system } = await say(user, kAsked, sameConversation);
      assert.deepEqual([user, outcome, system], [user, "nothing", ""]);
      const [{ id }] = (await own("ann")).memories;
      for (const method of ["GET", "DELETE"]) assert.equal((await memory(method, `/${id}`, { "x-authz-user-id": user })).status, 404);
      await memory("DELETE", "", { "x-authz-user-id": user });
    }
    assert.equal((await own("ann")).total, 1);
  }));

  test("memories need a user", withDaemon({}, async () => {
    assert.deepEqual(await say(undefined, kGreen), { outcome: "no_user", system: "" });
    assert.equal((await memory("GET", "")).status, 403);
    await until(async () => /signalbox_memory_total\{outcome="no_user"\} 1\n/.test(await metrics()));
    assert.match(await metrics(), /signalbox_memories 0\n/);
  }));

  const keys = `access: {keys: [{name: k-ann, hash: "${hashOf("key-a")}", user: ann, groups: [ops]}, {name: k-bob, hash: "${hashOf("key-b")}", user: bob, groups: [ops]}]}`;
  test("memories belong to the user of a key, whatever the headers claim", withDaemon({ access: keys }, async () => {
    const as = (key, user) => ({ headers: { authorization: `Bearer ${key}`, ...(user && { "x-authz-user-id": user, "x-authz-user-groups": "ops" }) } });
    await say(undefined, kGreen, as("key-a"));
    await until(async () => (await memory("GET", "", as("key-a").headers)).body.total === 1);
    const forged = await say(undefined, kAsked, as("key-b", "ann"));
    assert.deepEqual(forged, { outcome: "nothing", system: "" });
    await until(async () => (await memory("GET", "", as("key-b", "ann").headers)).body.total === 1);
    const { body } = await memory("GET", "", as("key-b", "ann").headers);
    assert.deepEqual(body.memories.map(({ user_id, content }) => [user_id, content.split("\n")[0]]), [["bob", `Q: ${kAsked}`]]);
    assert.equal((await memory("GET", "", { "x-authz-user-id": "ann" })).status, 401);
    assert.equal((await say(undefined, kAsked, as("key-a", "bob"))).outcome, "added");
  }));

  test("users list and delete their memories", withDaemon({}, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    await say("ann", kBoat);
    await has("ann", 2);
    const { memories, limit } = await own("ann", "?limit=1");
    assert.equal(limit, 1);
    assert.deepEqual(memories.map(({ content, type, user_id }) => [content, type, user_id]), [[`Q: ${kBoat}\nA: ${kAnswer}`, "episodic", "ann"]]);
    assert.equal((await own("ann", `/${memories[0].id}`)).content, memories[0].content);
    assert.equal((await own("ann", "?type=semantic")).total, 0);
    assert.equal((await memory("GET", "?type=x", { "x-authz-user-id": "ann" })).status, 400);
    assert.equal((await memory("DELETE", "/", { "x-authz-user-id": "ann" })).status, 404);
    assert.deepEqual((await memory("DELETE", `/${memories[0].id}`, { "x-authz-user-id": "ann" })).body, { success: true, deleted: 1 });
    assert.equal((await memory("DELETE", `/${memories[0].id}`, { "x-authz-user-id": "ann" })).status, 404);
    assert.deepEqual((await memory("DELETE", "", { "x-authz-user-id": "ann" })).body, { success: true, deleted: 1 });
    assert.equal((await say("ann", kAsked)).outcome, "nothing");
  }));

  const roles = `, auth: {mode: bearer, tokens: [{env: MEMORY_TEST_OPERATOR, role: operator}, {env: MEMORY_TEST_VIEWER, role: viewer}]}`;
  test("explanations show memories only with the right to read them, and do not use them", withDaemon({ management: roles }, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    const explain = async (token) => {
      const headers = { authorization: `Bearer ${token}`, "x-authz-user-id": "ann" };
      const answer = await fetch(`${daemon.managementUrl}/api/v1/explain`, { method: "POST", headers, body: JSON.stringify({ text: kAsked }) });
      assert.equal(answer.status, 200);
      const text = await answer.text();
      return [JSON.parse(text).plan.headers["x-vsr-memory"], text.includes("green")];
    };
    assert.deepEqual(await explain("viewer-secret"), ["off", false]);
    assert.deepEqual(await explain("operator-secret"), ["added", true]);
    assert.equal((await own("ann")).memories[0].access_count, 0);
    const viewer = { authorization: "Bearer viewer-secret" };
    for (const method of ["GET", "DELETE"]) assert.equal((await memory(method, "?user_id=ann", viewer, daemon.managementUrl)).status, 403);
    await say("ann", kAsked);
    await until(async () => (await own("ann")).memories.some(({ access_count }) => access_count === 1), "the use counts");
  }));

  test("operators list and delete memories, and the audit log has the deletions", withDaemon({ services: "audit: {file: audit.log}, " }, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    const at = (method, path) => memory(method, path, {}, daemon.managementUrl);
    assert.equal((await at("GET", "")).status, 400);
    const { body } = await at("GET", "?user_id=ann");
    assert.equal(body.total, 1);
    assert.equal((await at("DELETE", `/${body.memories[0].id}?user_id=bob`)).status, 404);
    assert.deepEqual((await at("DELETE", "?user_id=ann")).body, { success: true, deleted: 1 });
    assert.equal((await own("ann")).total, 0);
    const entries = () => readFile(join(daemon.folder, "audit.log"), "utf8");
    await until(async () => /"event":"change"[^\n]*"method":"DELETE"[^\n]*"what":"memories of ann"/.test(await entries()), "the entry");
    await say("ann", kBoat);
    await has("ann", 1);
    const [{ id }] = (await own("ann")).memories;
    for (const path of [`/${id}`, ""]) {
      await memory("DELETE", path, { "x-authz-user-id": "ann" });
      await until(async () => (await entries()).split("\n").some((line) => line.includes('"event":"deleted"') && line.includes(`"what":"memory","path":"/v1/memory${path}"`)), "its entry");
    }
    const page = { origin: "https://elsewhere.example" };
    assert.equal((await memory("DELETE", "?user_id=ann", page, daemon.managementUrl)).status, 403);
    assert.equal((await entries()).includes("favourite"), false);
  }));

  test("a request that was under way when the user forgot everything stores no memory", withDaemon({}, async () => {
    await say("ann", kBoat);
    await has("ann", 1);
    let answer;
    const came = new Promise((arrives) => {
      model.answer = async () => {
        arrives();
        await new Promise((done) => (answer = done));
        return completion({ content: kAnswer });
      };
    });
    const said = say("ann", kGreen);
    await came;
    await memory("DELETE", "", { "x-authz-user-id": "ann" });
    answer();
    await said;
    model.answer = () => completion({ content: kAnswer });
    // A later turn of another user is stored by the same path.
    await say("bob", kBoat);
    await has("bob", 1);
    assert.equal((await own("ann")).total, 0);
  }));

  test("a request whose signals were running when the user forgot everything stores no memory", withDaemon(
    {
      signals: '{embeddings: [{name: ships, threshold: 0.99, candidates: ["ships and boats"]}]}',
      others: "- {name: ships, priority: 9, rules: {type: embedding, name: ships}}",
    },
    async () => {
      const embed = embedder.answer;
      let go;
      const came = new Promise((arrives) => {
        embedder.answer = async (body) => {
          arrives();
          await new Promise((done) => (go = done));
          return embed(body);
        };
      });
      const said = say("ann", kGreen);
      await came;
      await memory("DELETE", "", { "x-authz-user-id": "ann" });
      embedder.answer = embed;
      go();
      assert.equal((await said).outcome, "nothing");
      await say("bob", kBoat);
      await has("bob", 1);
      assert.equal((await own("ann")).total, 0);
    },
  ));

  test("client, path and model can switch memories off", withDaemon({ store: "disabled_routes: [/v1/completions], disabled_models: [silent]" }, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    const off = { headers: { "x-disable-router-memory": "true" } };
    assert.deepEqual(await say("ann", kAsked, off), { outcome: "off", system: "" });
    assert.equal((await say("ann", kAsked, { headers: { "x-disable-router-memory": "false" } })).outcome, "added");
    const { response } = await client("ann").completions.create({ model: "auto", prompt: kAsked }).withResponse();
    assert.equal(response.headers.get("x-vsr-memory"), "off");
  }));

  test("memories of streams are stored, too", withDaemon({}, async () => {
    await say("ann", kGreen, { stream: true });
    await has("ann", 1);
    assert.equal((await own("ann")).memories[0].content, `Q: ${kGreen}\nA: ${kAnswer}`);
    assert.equal((await say("ann", kAsked, { stream: true })).outcome, "added");
  }));

  const plugin = "{type: memory, configuration: {auto_store: true, similarity_threshold: 0.4}}";
  test("an answer of several models is stored once as a memory", withDaemon(
    {
      signals: "{keywords: [{name: panel, keywords: [panel]}]}",
      others: `- {name: panel, priority: 9, rules: {type: keyword, name: panel}, modelRefs: [{model: plain}, {model: second}], algorithm: {type: fusion, fusion: {model: plain}}, plugins: [${plugin}]}`,
    },
    async () => {
      for (const [stream, question] of [[false, "Panel: which colour is my favourite one?"], [true, "Panel: which sea is my favourite one?"]]) {
        await say("ann", question, { stream });
        await until(async () => (await own("ann")).memories[0]?.content === `Q: ${question}\nA: ${kAnswer}`, "it is stored");
      }
      assert.equal((await own("ann")).total, 2);
      assert.equal((await say("ann", "Panel: which sea is my favourite one, again?")).outcome, "added");
    },
  ));

  test("a model whose policy restricts personal data gets no memories", withDaemon(
    {
      key: "pii_policy: {allow_by_default: false, pii_types_allowed: [PERSON]}, ",
      get catalog() {
        const server = `llm_endpoint: {address: 127.0.0.1, port: ${embedder.port}, protocol: http, path: /entities}`;
        return `modules: {classifier: {pii: {variant: http_classify}}}, external: [{name: entities, model_role: pii, llm_model_name: e, ${server}}], `;
      },
      signals: "{keywords: [{name: strictly, keywords: [strictly]}]}",
      others: `- {name: strict, priority: 9, rules: {type: keyword, name: strictly}, modelRefs: [{model: second}], plugins: [${plugin}]}`,
    },
    async () => {
      await say("ann", kGreen);
      await has("ann", 1);
      const { response } = await client("ann").chat.completions.create({ model: "auto", messages: [{ role: "user", content: `Strictly: ${kAsked}` }] }).withResponse();
      assert.equal(response.headers.get("x-vsr-memory"), "withheld");
      assert.equal(model.received.messages.length, 1);
    },
  ));

  test("memories serve the messages of Anthropic's clients and OpenAI's responses", withDaemon({}, async () => {
    const anthropic = new Anthropic({ apiKey: "unused", baseURL: daemon.url, maxRetries: 0, defaultHeaders: { "x-authz-user-id": "ann" } });
    await anthropic.messages.create({ model: "auto", max_tokens: 50, messages: [{ role: "user", content: kGreen }] });
    await has("ann", 1);
    const { data, response } = await client("ann").responses.create({ model: "auto", input: kAsked }).withResponse();
    assert.equal(response.headers.get("x-vsr-memory"), "added");
    assert.match(model.received.messages[0].content, /favourite colour is green/);
    assert.doesNotMatch(JSON.stringify([await client("ann").responses.retrieve(data.id), await client("ann").responses.inputItems.list(data.id)]), /green/);
    await assert.rejects(client("bob").responses.create({ model: "auto", input: kAsked, previous_response_id: data.id }), { status: 400 });
    await has("ann", 2);
    const second = await anthropic.messages.create({ model: "auto", max_tokens: 50, system: "Be brief.", messages: [{ role: "user", content: kAsked }] }).withResponse();
    assert.equal(second.response.headers.get("x-vsr-memory"), "added");
    assert.match(model.received.messages[0].content, /green[^]*Be brief\.$/);
  }));

  test("equal memories replace each other, and short turns, tool calls and cut replies leave none", withDaemon({}, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    await say("ann", kGreen);
    await settled(daemon); // the turn is stored before the next ones
    await say("ann", "Thank you!");
    await client("ann").completions.create({ model: "auto", prompt: "Please write a long letter about trains" });
    model.answer = () => completion({ content: null, tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: "{}" } }] }, "tool_calls");
    await say("ann", "Please look up the weather of tomorrow");
    model.answer = () => ({ ...streamed([{ content: "Half an" }], null), dies: true });
    await assert.rejects(say("ann", "Please write a poem about the sea", { stream: true }));
    model.answer = () => ({ status: 500, body: { error: { message: "broken" } } });
    await assert.rejects(say("ann", "Please write a poem about the sky"));
    model.answer = () => completion({ content: kAnswer });
    await say("ann", kBoat);
    await has("ann", 2);
    assert.deepEqual((await own("ann")).memories.map(({ content }) => content.split("\n")[0]), [`Q: ${kBoat}`, `Q: ${kGreen}`]);
  }));

  test("memories stay within the limits", withDaemon({ store: "max_memories: 3, quality_scoring: {max_memories_per_user: 2}", memory: "retrieval_limit: 1" }, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    await say("ann", "My favourite colour is green and blue in winter.");
    await has("ann", 2);
    const { system } = await say("ann", kAsked + " Green, perhaps, in winter?");
    assert.equal(system.match(/User: /g).length, 1);
    await has("ann", 2);
    await say("bob", kBoat);
    await has("bob", 1);
    await say("carl", kBoat);
    await has("carl", 1);
    assert.match(await metrics(), /signalbox_memories 3\n/);
  }));

  test("memories of earlier conversations are found however long this one is", withDaemon({ memory: "retrieval_limit: 1" }, async () => {
    await say("ann", kGreen);
    const turns = [1, 2, 3, 4, 5, 6].map((i) => `${kAsked} ${i}`);
    for (const turn of turns) await say("ann", turn);
    await has("ann", 7);
    const messages = [...turns.flatMap((content) => [{ role: "user", content }, { role: "assistant", content: kAnswer }]), { role: "user", content: kAsked }];
    await client("ann").chat.completions.create({ model: "auto", messages });
    assert.match(model.received.messages[0].content, /green/);
  }));

  test("memories that match a pattern are neither stored nor added", withDaemon({ memory: "reflection: {block_patterns: [password]}" }, async () => {
    await say("ann", "My PassWord is swordfish, please remember it.");
    await say("ann", kBoat);
    await has("ann", 1);
    assert.equal((await own("ann")).memories[0].content.includes("swordfish"), false);
  }));

  const masks = "{type: pii_mask, configuration: {types: [EMAIL_ADDRESS], on_error: rules}}";
  test("memories hold no personal data that the decision masks", withDaemon(
    {
      plugins: `- ${masks}`,
      signals: "{keywords: [{name: open, keywords: [openly]}]}",
      others: `- {name: open, priority: 9, rules: {type: keyword, name: open}, plugins: [${plugin}]}`,
    },
    async () => {
      model.answer = () => completion({ content: "I will write to [EMAIL_ADDRESS_1]." });
      await say("ann", "My address is ann@example.org, please remember it.");
      await has("ann", 1);
      const [{ content }] = (await own("ann")).memories;
      assert.equal(content, "Q: My address is [EMAIL_ADDRESS], please remember it.\nA: I will write to [EMAIL_ADDRESS].");
      model.answer = () => completion({ content: kAnswer });
      const messages = [{ role: "user", content: "My address is ann@example.org, please remember it." }, { role: "assistant", content: kAnswer }, { role: "user", content: "What is my address, please?" }];
      const sameConversation = await client("ann").chat.completions.create({ model: "auto", messages }).withResponse();
      assert.equal(sameConversation.response.headers.get("x-vsr-memory"), "nothing");
      await has("ann", 2);
      await say("ann", "Openly: my address is also ann@example.com, remember it.");
      await has("ann", 3);
      const { system } = await say("ann", "What is my address, please?");
      assert.match(system, /\[EMAIL_ADDRESS\]/);
      assert.doesNotMatch(system, /example/);
    },
  ));

  for (const [action, refused] of [["block", true], ["header", false]])
    test(`a reply that a guard doubts leaves no memory, with the action ${action}`, withDaemon({ plugins: `- {type: hallucination, configuration: {hallucination_action: ${action}}}` }, async () => {
    model.answer = () => completion({ content: "The bridge is 640 m long." });
    const messages = [
      { role: "user", content: "How long is the bridge of the harbour?" },
      { role: "assistant", content: null, tool_calls: [{ id: "t", type: "function", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "t", content: "The Harbour Bridge was opened in 1932. Its main span is 503 m long." },
    ];
    const doubted = client("ann").chat.completions.create({ model: "auto", messages });
    await (refused ? assert.rejects(doubted, { status: 403 }) : doubted);
    model.answer = () => completion({ content: "The bridge is 503 m long." });
    await client("ann").chat.completions.create({ model: "auto", messages });
    await has("ann", 1);
    assert.match((await own("ann")).memories[0].content, /503/);
  }));

  test("a failed search for memories never fails a request", withDaemon({}, async () => {
    await say("ann", kGreen);
    await has("ann", 1);
    embedder.answer = () => ({ status: 500, body: { error: { message: "broken" } } });
    assert.deepEqual(await say("ann", "What else is my favourite colour?"), { outcome: "failed", system: "" });
    embedder.answer = () => ({ body: { data: [{ index: 0, embedding: new Array(64).fill(0) }] } });
    assert.equal((await say("ann", "Which one is my favourite colour?")).outcome, "failed");
    embeds();
    assert.equal((await say("ann", kAsked)).outcome, "added");
  }));

  test("memories outlive a reload, and a decision without the plugin has none", withDaemon(
    { signals: "{keywords: [{name: plainly, keywords: [plainly]}]}", others: "- {name: plain, priority: 9, rules: {type: keyword, name: plainly}}" },
    async () => {
      await say("ann", kGreen);
      await has("ann", 1);
      assert.deepEqual(await say("ann", `Plainly: ${kAsked}`), { outcome: null, system: "" });
      await writeFile(daemon.file, (await readFile(daemon.file, "utf8")).replace("similarity_threshold: 0.4", "similarity_threshold: 0.41"));
      await until(async () => /llm_config_active_version[^\n]* 2\n/.test(await metrics()), "the reload");
      assert.equal((await say("ann", kAsked)).outcome, "added");
    },
  ));
});
