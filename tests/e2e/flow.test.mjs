// Tests workflows that wait for the results of tools, with the official clients. The servers of the models call tools;
// the client runs them and sends the results in another request.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { Daemon } from "./daemon.mjs";
import { Redis } from "./redis.mjs";
import { until } from "./until.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

const kModels = ["finder", "writer", "third"];
const servers = {};
let folder;

const configuration = (state) => (port, managementPort) => `
version: v0.3
listeners: [{name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}]
providers:
  defaults: {default_model: writer}
  models:
${kModels.map((name) => `    - {name: ${name}, backend_refs: [{endpoint: "127.0.0.1:${servers[name].port}"}]}`).join("\n")}
routing:
  signals:
    keywords: [{name: steps, keywords: [steps]}, {name: beside, keywords: [beside]}, {name: masked, keywords: [masked]}]
  decisions:
    - name: steps
      rules: {operator: AND, conditions: [{type: keyword, name: steps}]}
      modelRefs: [{model: finder}, {model: writer}]
      algorithm:
        type: workflows
        workflows:
          mode: static
          include_intermediate_responses: false
          roles: [{name: find, models: [finder]}, {name: write, models: [writer], prompt: Write it.}]
    - name: beside
      rules: {operator: AND, conditions: [{type: keyword, name: beside}]}
      modelRefs: [{model: finder}, {model: third}]
      plugins: [{type: response_cache, configuration: {enabled: true}}]
      algorithm: {type: workflows, workflows: {mode: static, roles: [{name: find, models: [finder, third]}], final: {model: writer}}}
    - name: masked
      rules: {operator: AND, conditions: [{type: keyword, name: masked}]}
      modelRefs: [{model: finder}, {model: writer}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
      algorithm: {type: workflows, workflows: {mode: static, include_intermediate_responses: false, roles: [{name: find, models: [finder]}, {name: write, models: [writer]}]}}
global:
  stores: {response_cache: {enabled: true, backend_type: memory}}
  integrations: {looper: {flow: {state: ${state}}}}
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;

const clientOf = (daemon, apiKey = "one") => new OpenAI({ apiKey, baseURL: `${daemon.url}/v1`, maxRetries: 0 });
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } } }];
const call = (id, at) => completion({ content: null, tool_calls: [{ id, type: "function", function: { name: "look", arguments: JSON.stringify({ at }) } }] }, "tool_calls");
const say = (content) => completion({ content });
const question = (word) => [{ role: "system", content: "Be kind" }, { role: "user", content: `the ${word} of it` }];
const ask = async (client, messages, more = {}) => {
  const { data, response } = await client.chat.completions.create({ model: "auto", messages, tools, ...more }).withResponse();
  return { data, message: data.choices[0].message, reason: data.choices[0].finish_reason, header: (name) => response.headers.get(`x-vsr-looper-${name}`) };
};
const results = (message, text = "seen") => message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: text }));

const logged = (daemon, text) => until(() => daemon.log.includes(text), `the log line "${text}"`);

// The calls of the models; each answers by its script, and calls a tool unless it has a result.
let calls, scripts;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-flow-"));
  for (const name of kModels) {
    servers[name] = await ScriptedUpstream.start();
    servers[name].answer = (received) => {
      calls.push([name, received]);
      return scripts[name](received);
    };
  }
});
after(async () => {
  for (const server of Object.values(servers)) await server.stop();
  await rm(folder, { recursive: true });
});

const hasResult = ({ messages }) => messages.at(-1).role === "tool";
beforeEach(() => {
  calls = [];
  scripts = { finder: () => say("found"), writer: (received) => (hasResult(received) ? say("written") : call("w1", "there")), third: () => say("third") };
});
const names = () => calls.map(([name]) => name);

describe("a workflow whose models call tools", () => {
  let daemon, client;
  before(async () => {
    daemon = await Daemon.start(configuration("{store_backend: memory}"));
    client = clientOf(daemon);
  });
  after(() => daemon.stop());

  test("goes on at the model that called them, and no other is called again", async () => {
    const first = await ask(client, question("steps"));
    assert.equal(first.reason, "tool_calls");
    assert.match(first.message.tool_calls[0].id, /^flowtool_[0-9a-f]+-[0-9a-f]+__1__w1$/);
    assert.equal(first.header("resumed"), null);
    assert.deepEqual(first.data.usage, { prompt_tokens: 14, completion_tokens: 6, total_tokens: 20 });
    const prompt = calls[1][1].messages;
    assert.match(prompt.at(-1).content, /^Write it\.[^]*found$/);
    assert.deepEqual(calls[1][1].tools, tools);

    const second = await ask(client, [...question("steps"), first.message, ...results(first.message)]);
    assert.equal(second.message.content, "written");
    assert.equal(second.header("resumed"), "true");
    assert.equal(second.header("iterations"), "1");
    assert.deepEqual(second.data.usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 });
    assert.deepEqual(names(), ["finder", "writer", "writer"]);
    // The server sees its own prompt and its own ids.
    const { messages } = calls[2][1];
    assert.deepEqual(messages.slice(0, 2), prompt);
    assert.equal(messages[2].tool_calls[0].id, "w1");
    assert.deepEqual(messages[3], { role: "tool", tool_call_id: "w1", content: "seen" });
    assert.equal(messages.length, 4);
  });

  test("has ids of tool calls that every server takes", async () => {
    const ids = ["call_0123456789abcdefghijklmn", "abcdefgh9", "call_nmlkjihgfedcba9876543210"];
    const looks = ids.map((id) => ({ id, type: "function", function: { name: "look", arguments: "{}" } }));
    const rounds = ({ messages }) => messages.filter(({ tool_calls }) => tool_calls).length;
    scripts.writer = (received) => (rounds(received) === 2 ? say("written") : completion({ content: null, tool_calls: looks }, "tool_calls"));
    const messages = question("steps");
    for (let round = 0; round < 2; ++round) {
      const { message } = await ask(client, messages);
      const lengths = message.tool_calls.map(({ id }) => id.length);
      assert.ok(Math.max(...lengths) <= 40, String(lengths));
      messages.push(message, ...results(message));
    }
    assert.equal((await ask(client, messages)).message.content, "written");

    const sent = calls.at(-1)[1].messages;
    const ofRounds = sent.filter(({ tool_calls }) => tool_calls).map(({ tool_calls }) => tool_calls.map(({ id }) => id));
    for (const [number, kept, other] of ofRounds) {
      assert.equal(kept, "abcdefgh9");
      assert.match(`${number} ${other}`, /^\d{9} \d{9}$/);
    }
    const numbers = ofRounds.flatMap(([number, , other]) => [number, other]);
    assert.equal(new Set(numbers).size, 4, "a server refuses an id that comes twice");
    assert.deepEqual(sent.filter(({ role }) => role === "tool").map(({ tool_call_id }) => tool_call_id), ofRounds.flat());
  });

  test("is one loop for the client's own runner of tools, through several calls of several models", async () => {
    const rounds = ({ messages }) => messages.filter(({ role }) => role === "tool").length;
    scripts.finder = (received) => (rounds(received) < 2 ? call("f", `f${rounds(received)}`) : say("found"));
    const looked = [];
    const look = { type: "function", function: { name: "look", parse: JSON.parse, parameters: tools[0].function.parameters, function: ({ at }) => (looked.push(at), `seen ${at}`) } };
    for (const stream of [false, true]) {
      calls = [];
      looked.length = 0;
      const runner = client.chat.completions.runTools({ model: "auto", messages: question("steps"), tools: [look], stream });
      assert.equal(await runner.finalContent(), "written");
      assert.deepEqual(looked, ["f0", "f1", "there"]);
      assert.deepEqual(names(), ["finder", "finder", "finder", "writer", "writer"]);
      // Each model sees its own rounds alone.
      assert.deepEqual(calls[2][1].messages.slice(2).map(({ role }) => role), ["assistant", "tool", "assistant", "tool"]);
      assert.deepEqual(calls[4][1].messages.map(({ role }) => role), ["system", "user", "assistant", "tool"]);
      assert.match(calls[4][1].messages[1].content, /found$/);
    }
  });

  test("streams the calls of tools and the answer", async () => {
    const first = client.chat.completions.stream({ model: "auto", messages: question("steps"), tools });
    const { message, finish_reason } = (await first.finalChatCompletion()).choices[0];
    assert.equal(finish_reason, "tool_calls");
    assert.match(message.tool_calls[0].id, /^flowtool_/);
    assert.equal(message.tool_calls[0].function.arguments, '{"at":"there"}');
    const second = client.chat.completions.stream({ model: "auto", messages: [...question("steps"), message, ...results(message)], tools });
    assert.equal(await second.finalContent(), "written");
    assert.deepEqual(names(), ["finder", "writer", "writer"]);
  });

  test("gives the client the calls of all models of a step together, and the cache keeps none", async () => {
    scripts.finder = (received) => (hasResult(received) ? say("found") : call("same", "a"));
    scripts.third = (received) => (hasResult(received) ? say("third") : call("same", "b"));
    scripts.writer = (received) => say(received.messages.at(-1).content);
    for (let i = 0; i < 2; ++i) {
      calls = [];
      const first = await ask(client, question("beside"));
      assert.deepEqual(first.message.tool_calls.map(({ id, function: { arguments: at } }) => [id.replace(/.*?__/, ""), at]), [["0__same", '{"at":"a"}'], ["1__same", '{"at":"b"}']]);
      assert.equal(first.data.flow.responses.length, 2);
      const [a, b] = results(first.message);
      const second = await ask(client, [...question("beside"), first.message, { ...a, content: "for a" }, { ...b, content: "for b" }]);
      assert.match(second.message.content, /found[^]*third/);
      const resumed = Object.fromEntries(calls.slice(2, 4));
      assert.deepEqual(resumed.finder.messages.at(-1), { role: "tool", tool_call_id: "same", content: "for a" });
      assert.deepEqual(resumed.third.messages.at(-1), { role: "tool", tool_call_id: "same", content: "for b" });
      assert.deepEqual(resumed.third.messages.at(-2).tool_calls.length, 1);
      assert.deepEqual(names().slice(0, 4).sort(), ["finder", "finder", "third", "third"]);
      assert.equal(calls.length, 5);
    }
  });

  test("may be continued again, because a state does not change", async () => {
    const first = await ask(client, question("steps"));
    const messages = [...question("steps"), first.message, ...results(first.message)];
    scripts.writer = () => ({ status: 500, body: { error: { message: "down" } } });
    await assert.rejects(ask(client, messages), { status: 502 });
    scripts.writer = () => say("at last");
    for (let i = 0; i < 2; ++i) assert.equal((await ask(client, messages)).message.content, "at last");
    assert.deepEqual(names(), ["finder", "writer", "writer", "writer", "writer"]);
  });

  test("is not continued for another client, or without its state", async () => {
    const first = await ask(client, question("steps"));
    const messages = [...question("steps"), first.message, ...results(first.message)];
    scripts.writer = () => say("anew");
    for (const [who, changed] of [
      [clientOf(daemon, "two"), messages],
      [client, JSON.parse(JSON.stringify(messages).replaceAll(/flowtool_[0-9a-f]+-/g, "flowtool_0-"))],
      [client, [...question("beside"), ...messages.slice(2)]],
    ]) {
      calls = [];
      const again = await ask(who, changed);
      assert.equal(again.header("resumed"), "false");
      assert.ok(names().includes("finder"));
      assert.ok(again.message.content);
    }
    await logged(daemon, "the workflow of these results begins anew: there is no such state");
  });

  test("begins anew if a message follows the results, and the client and the log learn it", async () => {
    const first = await ask(client, question("steps"));
    const messages = [...question("steps"), first.message, ...results(first.message)];
    scripts.writer = () => say("anew");
    const more = { role: "user", content: "the steps once more" };
    assert.equal((await ask(client, [...messages, more])).header("resumed"), "false");
    await logged(daemon, "the workflow of these results begins anew: other messages follow them");
    const answered = [...messages, { role: "assistant", content: "anew" }, more];
    assert.equal((await ask(client, answered)).header("resumed"), null);
  });

  test("costs nothing if an earlier reply is the answer, because the calls after the tools fail", async () => {
    scripts.third = (received) => (hasResult(received) ? { status: 400, body: {} } : call("t", "b"));
    scripts.writer = () => ({ status: 400, body: {} });
    const first = await ask(client, question("beside"));
    const second = await ask(client, [...question("beside"), first.message, ...results(first.message)]);
    assert.deepEqual([second.header("resumed"), second.message.content], ["true", "found"]);
    assert.deepEqual(second.data.usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  });

  test("keeps the masks of personal data, and restores them in the calls of tools and in the answer", async () => {
    const messages = [{ role: "user", content: "masked: mail ann@example.com and bob@example.com" }];
    scripts.finder = () => say("[EMAIL_ADDRESS_2] is first");
    scripts.writer = (received) => (hasResult(received) ? say("Ask [EMAIL_ADDRESS_2], [EMAIL_ADDRESS_1], [EMAIL_ADDRESS_3]") : call("w", "[EMAIL_ADDRESS_1]"));
    const first = await ask(client, messages);
    assert.equal(first.message.tool_calls[0].function.arguments, '{"at":"ann@example.com"}');
    const second = await ask(client, [...messages, first.message, ...results(first.message, "bob@example.com knows cid@example.com")]);
    assert.equal(second.header("resumed"), "true");
    assert.equal(second.message.content, "Ask bob@example.com, ann@example.com, cid@example.com");
    assert.deepEqual(names(), ["finder", "writer", "writer"]);
    const [prompt, called, result] = calls[2][1].messages;
    assert.match(prompt.content, /\[EMAIL_ADDRESS_2\] is first/);
    assert.equal(called.tool_calls[0].function.arguments, '{"at":"[EMAIL_ADDRESS_1]"}');
    assert.equal(result.content, "[EMAIL_ADDRESS_2] knows [EMAIL_ADDRESS_3]");
    assert.doesNotMatch(JSON.stringify(calls), /@example/);

    // The placeholder in the result is taken, so that those of the state stand for other people now.
    calls = [];
    const moved = await ask(client, [...messages, first.message, ...results(first.message, "see [EMAIL_ADDRESS_1]")]);
    assert.equal(moved.header("resumed"), "false");
    assert.deepEqual(names(), ["finder", "writer"]);
    assert.doesNotMatch(daemon.log, /@example|EMAIL_ADDRESS/);
  });

  test("is continued only with the user's texts that it began with, so that an id alone opens nothing", async () => {
    scripts.writer = (received) => (hasResult(received) ? say("written") : call("w", "there"));
    for (const credential of [null, "Bearer shared"]) {
      const who = (more) => new OpenAI({ apiKey: "unused", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { authorization: credential, ...more } });
      const first = await ask(who(), question("steps"));
      const later = [first.message, ...results(first.message)];
      for (const [other, messages, resumed] of [
        [who(), [...question("steps"), ...later], "true"],
        [who(), [{ role: "system", content: "It is noon" }, question("steps")[1], ...later], "true"],
        [who(), [{ role: "user", content: "other steps" }, ...later], "false"],
        [who(), [...question("steps"), { role: "user", content: "more steps" }, ...later], "false"],
        [who({ authorization: "Bearer another" }), [...question("steps"), ...later], "false"],
      ]) {
        calls = [];
        assert.equal((await ask(other, messages)).header("resumed"), resumed, JSON.stringify([credential, messages]));
        assert.equal(names().includes("finder"), resumed === "false");
      }
    }
    await logged(daemon, "begins anew: the state belongs to another conversation");
  });

  test("is continued only with the user's images that it began with, too", async () => {
    const colours = { red: "iVBORw0KGgo=", blue: "iVBORw0KGgp=" };
    const image = (colour) => ({ role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${colours[colour]}` } }] });
    const begin = (colour) => [...question("steps"), image(colour)];
    const first = await ask(client, begin("red"));
    const later = [first.message, ...results(first.message)];
    assert.equal((await ask(client, [...begin("red"), ...later])).header("resumed"), "true");
    assert.equal((await ask(client, [...begin("blue"), ...later])).header("resumed"), "false");
  });

  test("is a conversation for a client of the responses API, which sends the results alone", async () => {
    const request = { model: "auto", tools: [{ type: "function", name: "look", strict: false, parameters: tools[0].function.parameters }] };
    const first = await client.responses.create({ ...request, input: "the steps of it" });
    const { call_id } = first.output.find(({ type }) => type === "function_call");
    const second = await client.responses.create({ ...request, previous_response_id: first.id, input: [{ type: "function_call_output", call_id, output: "seen" }] });
    assert.equal(second.output_text, "written");
    assert.deepEqual(names(), ["finder", "writer", "writer"]);
  });

  test("is a conversation for a client of Anthropic's API, too", async () => {
    const anthropic = new Anthropic({ apiKey: "one", baseURL: daemon.url, maxRetries: 0 });
    const request = { model: "auto", max_tokens: 100, tools: [{ name: "look", input_schema: tools[0].function.parameters }] };
    const messages = [{ role: "user", content: "the steps of it" }];
    const first = await anthropic.messages.create({ ...request, messages });
    const use = first.content.find(({ type }) => type === "tool_use");
    assert.match(use.id, /^flowtool_/);
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "seen" }] };
    const second = await anthropic.messages.create({ ...request, messages: [...messages, { role: "assistant", content: first.content }, result] });
    assert.equal(second.content[0].text, "written");
    assert.deepEqual(names(), ["finder", "writer", "writer"]);
  });
});

describe("the states of workflows", () => {
  const daemons = [];
  const start = async (state) => (daemons.push(await Daemon.start(configuration(state))), daemons.at(-1));
  afterEach(async () => {
    for (const daemon of daemons.splice(0)) await daemon.stop();
  });

  test("outlive the router in a folder, and end after their time", async () => {
    const files = join(folder, "states");
    const state = (seconds) => `{store_backend: file, ttl_seconds: ${seconds}, file: {directory: ${files}}}`;
    const first = await ask(clientOf(await start(state(600))), question("steps"));
    await daemons.pop().stop();
    assert.equal((await readdir(files)).length, 1);
    const messages = [...question("steps"), first.message, ...results(first.message)];
    const second = await ask(clientOf(await start(state(600))), messages);
    assert.deepEqual([second.message.content, second.header("resumed")], ["written", "true"]);
    await daemons.pop().stop();
    await pause(1100);
    const third = await ask(clientOf(await start(state(1))), messages);
    assert.equal(third.header("resumed"), "false");
  });

  test("are those of all routers in Redis", { skip: Redis.missing() }, async () => {
    const redis = await Redis.on(folder);
    try {
      const state = `{store_backend: redis, redis: {address: "127.0.0.1:${redis.port}", dial_timeout: 5, read_timeout: 5}}`;
      const first = await ask(clientOf(await start(state)), question("steps"));
      const messages = [...question("steps"), first.message, ...results(first.message)];
      const other = clientOf(await start(state));
      const second = await ask(other, messages);
      assert.deepEqual([second.message.content, second.header("resumed")], ["written", "true"]);
      const [key] = (await redis.ask("KEYS", "*")).match(/signalbox:flow:\S+/);
      const left = Number((await redis.ask("TTL", key)).slice(1));
      assert.ok(left > 1700 && left <= 1800, String(left));
      // Without Redis the tools have the ids of their server, and the client still gets an answer.
      await redis.kill();
      const lost = await ask(other, question("steps"));
      assert.equal(lost.message.tool_calls[0].id, "w1");
      const anew = await ask(other, messages);
      assert.deepEqual([anew.header("resumed"), anew.reason], ["false", "tool_calls"]);
    } finally {
      if (redis.process.exitCode === null && redis.process.signalCode === null) await redis.remove();
    }
  });
});
