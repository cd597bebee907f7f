// The answers of the soak's model servers. Each is computed from the model and the messages of its request alone, so that
// the checker can compute it, too, byte for byte.

import { createHash } from "node:crypto";

// Words with characters of one to four bytes in UTF-8, and with characters that JSON escapes.
const kWords = ["amber", "brook", "naïve", "“terms”", "東京", "delta", "𐍈", "fjord", "über", "grove", "harbour", "§ 7", "ice\\n", "tab\t"];

/// Message `{role, content}` as `[role, text]`.
const flat = ({ role, content }) => [role, typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("")];

/// The text of an answer: a digest of the request, and words drawn by it. It repeats the placeholders of personal data in the last
/// message. If that message contains "counted", it also has `count`.
export function textOf(model, messages, count = 0) {
  const digest = createHash("sha256").update(JSON.stringify([model, messages.map(flat)])).digest();
  const words = Array.from({ length: 5 + (digest[0] % 40) }, (_, i) => kWords[(digest[i % 32] + i) % kWords.length]);
  const last = flat(messages.at(-1))[1];
  const masks = last.match(/\[(EMAIL_ADDRESS|CREDIT_CARD)_\d+\]/g) ?? [];
  const counted = last.includes("counted") ? [`count ${count}`] : [];
  return [digest.toString("hex"), ...masks, ...words, ...counted].join(" ");
}

const kUsage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

/// The bytes of a whole reply.
export function wholeReply(model, text) {
  const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
  return JSON.stringify({ id: `chatcmpl-${text.slice(0, 12)}`, object: "chat.completion", created: 1, model, choices, usage: kUsage });
}

/// The events of a streamed reply, in pieces of a few characters. The digest at its beginning decides their lengths.
export function streamedReply(model, text, withUsage) {
  const event = (choices, more = {}) =>
    `data: ${JSON.stringify({ id: `chatcmpl-${text.slice(0, 12)}`, object: "chat.completion.chunk", created: 1, model, choices, ...more })}\n\n`;
  const events = [event([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }])];
  const characters = [...text];
  for (let at = 0, i = 0; at < characters.length; ++i) {
    const length = 1 + (parseInt(text[i % 64], 16) % 7);
    events.push(event([{ index: 0, delta: { content: characters.slice(at, at + length).join("") }, finish_reason: null }]));
    at += length;
  }
  events.push(event([{ index: 0, delta: {}, finish_reason: "stop" }]));
  if (withUsage) events.push(event([], { usage: kUsage }));
  return [...events, "data: [DONE]\n\n"];
}
