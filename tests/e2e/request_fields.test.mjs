// Tests members of requests that the servers of another API refuse, although the request can be answered without them
// or has another form for them there.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { configuration } from "./clients/three_apis.mjs";
import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, completion } from "./upstream.mjs";

let upstream, daemon;

before(async () => {
  upstream = await ScriptedUpstream.start();
  daemon = await Daemon.start(configuration(upstream.port));
});

after(async () => {
  await upstream?.stop();
  await daemon?.stop();
});

const kMessages = [{ role: "user", content: "Good morning" }];
const kMessage = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "text", text: "Fine." }], stop_reason: "end_turn" };

/// Sends the request and returns what the server got, with the names of what was left out.
async function sent(path, body, answer) {
  upstream.answer = () => answer;
  const reply = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(reply.status, 200, await reply.text());
  return { ...upstream.received, dropped: reply.headers.get("x-vsr-dropped") };
}
const toAnthropic = (more) => sent("/v1/chat/completions", { model: "claude", messages: kMessages, ...more }, { body: kMessage });
const toChats = (more) => sent("/v1/responses", { model: "chats", ...more }, completion({ content: "Fine." }));

const tool = (name, more) => ({ type: "function", function: { name, parameters: { type: "object" }, ...more } });

test("a choice among allowed tools offers only these to Anthropic's server", async () => {
  const allowed_tools = { mode: "required", tools: [{ type: "function", function: { name: "b" } }] };
  const { tools, tool_choice } = await toAnthropic({ tools: [tool("a"), tool("b")], tool_choice: { type: "allowed_tools", allowed_tools } });
  assert.deepEqual([tools.map(({ name }) => name), tool_choice], [["b"], { type: "any" }]);
});

test("a choice that would leave no tool although one is required is refused, and so is the form of another API", async () => {
  const flat = { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "c" }] };
  const nested = { type: "allowed_tools", allowed_tools: { mode: "required", tools: [tool("c")] } };
  const tools = [{ type: "function", name: "a", parameters: {} }];
  for (const [path, body] of [
    ["/v1/chat/completions", { model: "claude", messages: kMessages, tools: [tool("a")], tool_choice: nested }],
    ["/v1/chat/completions", { model: "claude", messages: kMessages, tools: [tool("a")], tool_choice: { ...flat, mode: "auto" } }],
    ["/v1/responses", { model: "chats", input: "x", tools, tool_choice: flat }],
  ]) {
    const reply = await fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    assert.deepEqual([reply.status, (await reply.json()).error.message.split(":")[0]], [400, "tool_choice"], JSON.stringify(body));
  }
});

test("members that say nothing reach Anthropic's server as nothing", async () => {
  const { tools } = await toAnthropic({ tools: [tool("a", { strict: null, description: null })], modalities: ["text"] });
  assert.deepEqual(tools, [{ name: "a", input_schema: { type: "object" } }]);
  const without = await toAnthropic({ tools: [], tool_choice: "auto", parallel_tool_calls: false });
  assert.deepEqual([without.tools, without.tool_choice, without.dropped], [undefined, undefined, null]);
});

test("parameters stay within what Anthropic's server accepts", async () => {
  const { stop_sequences, temperature, dropped } = await toAnthropic({ stop: ["\n", "END"], temperature: 1.5 });
  assert.deepEqual([stop_sequences, temperature, dropped], [["END"], 1, "stop, temperature"]);
  assert.deepEqual((await toAnthropic({ stop: "\n\n" })).stop_sequences, []);
  assert.equal((await toAnthropic({ temperature: 0.25 })).temperature, 0.25);
});

test("a request of system messages alone has a turn for Anthropic's server", async () => {
  const { system, messages } = await toAnthropic({ messages: [{ role: "system", content: "Write a title." }] });
  assert.deepEqual([system, messages], [undefined, [{ role: "user", content: [{ type: "text", text: "Write a title." }] }]]);
});

test("calls of a shell and of patches in earlier turns become calls of functions", async () => {
  const input = [
    { role: "user", content: "List the files" },
    { type: "shell_call", call_id: "a", action: { commands: ["ls"] }, status: "completed" },
    { type: "shell_call_output", call_id: "a", output: [{ stdout: "x.md", stderr: "" }] },
    { type: "local_shell_call", call_id: "b", action: { type: "exec", command: ["cat", "x.md"] } },
    { type: "local_shell_call_output", id: "b", output: "Hello" },
    { type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "x.md" } },
    { type: "apply_patch_call_output", call_id: "c", status: "failed" },
  ];
  const { messages } = await toChats({ input });
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id, function: f }) => [id, f.name, JSON.parse(f.arguments)]));
  assert.deepEqual(calls, [
    ["a", "shell", { commands: ["ls"] }],
    ["b", "local_shell", { type: "exec", command: ["cat", "x.md"] }],
    ["c", "apply_patch", { type: "delete_file", path: "x.md" }],
  ]);
  const results = messages.filter(({ role }) => role === "tool").map(({ tool_call_id, content }) => [tool_call_id, content]);
  assert.deepEqual(results, [["a", '[{"stdout":"x.md","stderr":""}]'], ["b", "Hello"], ["c", "failed"]]);
});

test("a stored prompt or a conversation needs no input", async () => {
  const body = { id: "resp_1", object: "response", status: "completed", output: [] };
  for (const more of [{ prompt: { id: "pmpt_1" } }, { conversation: "conv_1" }, { previous_response_id: "resp_0" }]) {
    const { dropped, ...received } = await sent("/v1/responses", { model: "gpt", ...more }, { body });
    assert.deepEqual([received, dropped], [{ model: "gpt", ...more }, null]);
  }
});

test("a call that was cut does not spoil the text before it", async () => {
  const calls = [{ id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Ro' } }];
  upstream.answer = () => completion({ content: "Let me look.", tool_calls: calls }, "length");
  const body = JSON.stringify({ model: "chats", max_tokens: 9, messages: kMessages });
  const reply = await (await fetch(`${daemon.url}/v1/messages`, { method: "POST", body })).json();
  assert.deepEqual([reply.content, reply.stop_reason], [[{ type: "text", text: "Let me look." }], "max_tokens"]);
});
