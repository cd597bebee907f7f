// Tests errors of model servers in the forms that real ones have: each client reads status, message and type in the
// form of its own API.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { configuration } from "./clients/three_apis.mjs";
import { Daemon } from "./daemon.mjs";
import { ScriptedUpstream, streamed } from "./upstream.mjs";

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
const kTranslated = [
  ["/v1/messages", { model: "chats", max_tokens: 9, messages: kMessages }],
  ["/v1/responses", { model: "chats", input: "Good morning" }],
  ["/v1/chat/completions", { model: "claude", messages: kMessages }],
  ["/v1/responses", { model: "claude", input: "Good morning" }],
];

const post = (path, body) => fetch(`${daemon.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/// Sends the request of each client whose API is not the server's, and checks the form of its error.
async function refusals(answer) {
  upstream.answer = () => answer;
  const out = [];
  for (const [path, body] of kTranslated) {
    const reply = await post(path, body);
    const { type, error } = await reply.json();
    assert.deepEqual([reply.status, type], [answer.status, path === "/v1/messages" ? "error" : undefined], path);
    assert.equal(typeof error.type, "string");
    out.push({ path, error, headers: reply.headers });
  }
  return out;
}

const kForms = {
  "OpenAI": [{ error: { message: "Bad thing.", type: "invalid_request_error", param: null, code: null } }, "Bad thing."],
  "Anthropic": [{ type: "error", error: { type: "invalid_request_error", message: "Bad thing." } }, "Bad thing."],
  "older vLLM": [{ object: "error", message: "Bad thing.", type: "BadRequestError", param: null, code: 400 }, "Bad thing."],
  "Text Generation Inference": [{ error: "Bad thing.", error_type: "validation" }, "Bad thing."],
  "Google": [[{ error: { code: 400, message: "Bad thing.", status: "INVALID_ARGUMENT" } }], "Bad thing."],
  "Amazon": [{ Message: "Bad thing." }, "Bad thing."],
  "FastAPI": [{ detail: [{ type: "missing", loc: ["body", "messages", 0], msg: "Field required" }] }, "body.messages.0: Field required"],
  "Mistral": [{ object: "error", message: { detail: [{ loc: ["body", "x"], msg: "Extra inputs" }] }, type: "invalid_request_error" }, "body.x: Extra inputs"],
  "Cloudflare": [{ success: false, errors: [{ code: 7003, message: "Bad thing." }] }, "Bad thing."],
  "NestJS": [{ statusCode: 400, message: "Bad thing.", error: "Bad Request" }, "Bad thing."],
  "an empty message": [{ message: "", detail: "Bad thing." }, "Bad thing."],
  "an error without a message": [{ error: { message: null }, message: "Bad thing." }, "Bad thing."],
  "plain text": ["upstream connect error\n", "upstream connect error"],
  "a page": ["<html>Bad Gateway</html>", "the model's server answered with HTTP 400"],
  "nothing": ["", "the model's server answered with HTTP 400"],
};
for (const [name, [body, message]] of Object.entries(kForms)) {
  test(`an error in the form of ${name} has its message in the client's form`, async () => {
    for (const { path, error } of await refusals({ status: 400, body })) assert.equal(error.message, message, path);
  });
}

test("a code beside an error's text stays", async () => {
  for (const { path, error } of await refusals({ status: 404, body: { error: "Bad thing.", code: "model_not_found" } })) {
    if (path !== "/v1/messages") assert.deepEqual([error.message, error.code], ["Bad thing.", "model_not_found"]);
  }
});

test("a server that is overloaded or limits its clients states when to come again", async () => {
  const headers = { "retry-after": "7", "retry-after-ms": "7000", "x-should-retry": "true" };
  const named = { 429: ["rate_limit_error", "rate_limit_error"], 529: ["overloaded_error", "server_error"] };
  for (const status of [429, 529]) {
    for (const each of await refusals({ status, headers, body: { type: "error", error: { type: "x", message: "Later." } } })) {
      for (const [name, value] of Object.entries(headers)) assert.equal(each.headers.get(name), value, `${each.path} ${name}`);
      assert.equal(each.error.type, named[status][each.path === "/v1/messages" ? 0 : 1]);
    }
  }
});

// Claude Code compacts a conversation that is refused with these words, and others look for the code.
test("agents learn that a conversation is too long", async () => {
  for (const message of [
    "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
    "Your input exceeds the context window of this model.",
    "the request exceeds the available context size (4096 tokens), try increasing it",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "prompt is too long: 210000 tokens > 200000 maximum",
  ]) {
    const forms = [{ type: "error", error: { type: "invalid_request_error", message } }, { error: { message, type: "BadRequestError", code: 400 } }];
    const all = [...(await refusals({ status: 400, body: forms[0] })), ...(await refusals({ status: 400, body: forms[1] }))];
    for (const { path, error } of all) {
      const expected = message.startsWith("prompt") ? message : `prompt is too long: ${message}`;
      if (path === "/v1/messages") assert.deepEqual(error, { type: "invalid_request_error", message: expected });
      else assert.deepEqual([error.code, error.message], ["context_length_exceeded", message], path);
    }
  }
  const about_reply = "'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens.";
  for (const { error } of await refusals({ status: 400, body: { message: about_reply } })) {
    assert.deepEqual([error.message, error.code ?? null], [about_reply, null]);
  }
});

test("an error with status 200 names the server's reason", async () => {
  const error = { message: "Provider is down.", code: 502 };
  for (const answer of [{ error }, { object: "error", ...error }]) {
    upstream.answer = () => ({ body: answer });
    for (const [path, body] of kTranslated) {
      const reply = await post(path, body);
      assert.deepEqual([reply.status, (await reply.json()).error.message], [502, 'the server answered with an error: "Provider is down."'], path);
    }
  }
});

test("a stream that fails because the conversation is too long ends with the code for it", async () => {
  const [begun] = streamed([{ content: "Fi" }]).events;
  const error = { message: "This model's maximum context length is 4096 tokens.", type: "BadRequestError", code: 400 };
  upstream.answer = () => ({ events: [begun, { error }] });
  const response = await (await post("/v1/responses", { ...kTranslated[1][1], stream: true })).text();
  assert.equal(response.match(/"code":"context_length_exceeded"/g)?.length, 2, response);
});

test("an error within a stream has its type in the client's form", async () => {
  const [begun] = streamed([{ content: "Fi" }]).events;
  for (const [event, type] of [
    [{ error: { message: "Later.", code: 429 } }, "rate_limit_error"],
    [{ object: "error", message: "Later.", type: "BadRequestError", code: 400 }, "invalid_request_error"],
    [{ error: "Later.", error_type: "overloaded" }, "api_error"],
  ]) {
    upstream.answer = () => ({ events: [begun, event] });
    const message = await (await post("/v1/messages", { ...kTranslated[0][1], stream: true })).text();
    assert.ok(message.endsWith(`event: error\ndata: {"type":"error","error":{"type":"${type}","message":"Later."}}\n\n`), message);
    const response = await (await post("/v1/responses", { ...kTranslated[1][1], stream: true })).text();
    assert.match(response, /"type":"error".*"message":"Later\."[^]*"type":"response\.failed"/);
  }
});
