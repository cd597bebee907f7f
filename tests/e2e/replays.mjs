// Helpers for tests of records: they send requests to a daemon that keeps records, and read them over its management
// API.

import assert from "node:assert/strict";

import OpenAI from "openai";

export const client = (daemon, user = "ann") => new OpenAI({ apiKey: "key", baseURL: `${daemon.url}/v1`, maxRetries: 0, defaultHeaders: { "x-authz-user-id": user } });

/// Sends a chat, which gets the answer "Fine.", and returns the id of its record.
export async function say(daemon, user, text) {
  const { data, response } = await client(daemon, user).chat.completions.create({ model: "auto", messages: [{ role: "user", content: text }] }).withResponse();
  assert.equal(data.choices[0].message.content, "Fine.");
  return response.headers.get("x-vsr-replay-id");
}

export async function manage(daemon, method, path, body) {
  const headers = { "content-type": "application/json", "idempotency-key": path + body };
  const answer = await fetch(`${daemon.managementUrl}${path}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}
export const list = (daemon, query = "") => manage(daemon, "GET", `/v1/router_replay${query}`);
export const idsOf = async (daemon, query) => (await list(daemon, query)).body.data?.map(({ id }) => id);
