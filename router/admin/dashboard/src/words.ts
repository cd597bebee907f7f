// Formats numbers and reasons for people.

import type { Branch, Explained, Leaf, RuleNode, Signal } from "./api";

export const isBranch = (node: RuleNode): node is Branch => "operator" in node;

export function short(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
}

export function ms(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 100) return `${value.toFixed(0)} ms`;
  if (value >= 1) return `${value.toFixed(1)} ms`;
  if (value === 0) return "0";
  return value >= 0.001 ? `${(value * 1000).toFixed(0)} µs` : "< 1 µs";
}

export function bytes(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(2)} GB`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} MB`;
  return value >= 1e3 ? `${(value / 1e3).toFixed(1)} kB` : `${value} B`;
}

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export const utf8Length = (text: string): number => new TextEncoder().encode(text).length;

export const signalOf = (explained: Explained, leaf: Leaf): Signal | undefined => explained.signals[leaf.type]?.[leaf.name];

/// "0.93 ≥ 0.60", or the evidence or the score alone; "" without a signal.
export function grounds(signal: Signal | undefined): string {
  if (!signal) return "";
  const evidence = signal.evidence?.slice(0, 3).map((each) => `“${each}”`).join(", ");
  if (signal.threshold !== undefined && signal.score !== undefined) {
    const relation = signal.score >= signal.threshold ? "≥" : "<";
    return `${short(signal.score)} ${relation} ${short(signal.threshold)}`;
  }
  if (evidence) return `found ${evidence}`;
  return signal.score !== undefined ? short(signal.score) : "";
}

/// The conditions that explain a match: all of an AND, the one with the highest confidence of an OR.
export function reasons(node: RuleNode): { leaf: Leaf; negated: boolean }[] {
  if (!isBranch(node)) return node.matched ? [{ leaf: node, negated: false }] : [];
  if (node.operator === "NOT") {
    const inside = node.conditions.flatMap((each) => leaves(each));
    return inside.map((leaf) => ({ leaf, negated: true }));
  }
  if (node.operator === "AND") return node.conditions.flatMap(reasons);
  const matching = node.conditions.filter((each) => each.matched);
  matching.sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0));
  return matching.slice(0, 1).flatMap(reasons);
}

export const leaves = (node: RuleNode): Leaf[] => (isBranch(node) ? node.conditions.flatMap(leaves) : [node]);

export type State = "yes" | "no" | "unneeded" | "unknown";

/// The state of a condition or a signal: matched, did not match, never needed, or not known.
export function state(of: { matched: boolean | null; why?: string }): State {
  if (of.matched !== null && of.matched !== undefined) return of.matched ? "yes" : "no";
  return !of.why || of.why.startsWith("never needed") ? "unneeded" : "unknown";
}

export const stateWords: Record<State, string> = {
  yes: "matched",
  no: "did not match",
  unneeded: "not needed",
  unknown: "not known",
};

/// "1.50 USD", "0.012 USD": small amounts have two digits that count.
export function money(value: number, currency: string): string {
  const large = Math.abs(value) >= 0.1;
  const text = value.toLocaleString("en", large ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 });
  return `${text}\u00a0${currency}`;
}

export const percent = (part: number, whole: number): string => (whole > 0 ? `${((100 * part) / whole).toFixed(1)}\u00a0%` : "–");

/// "26 Nov, 14:03:07"; the time alone for today.
export function moment(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const time = at.toLocaleTimeString("en-GB");
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}

/// "31 Jan 2030", in UTC as the router counts days.
export const day = (iso: string): string =>
  new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/// The cause of an error: the router or a server, a rule that intended it, or the client. If a server refuses a
/// request, the cause may be the client, or the router's own key or quota.
export type Blame = "failed" | "refused" | "server" | "mistake";
const kCauses: Record<string, [Blame, string]> = {
  parse_error: ["mistake", "the request could not be read"],
  model_not_found: ["mistake", "no model has the name that the client chose"],
  unsupported: ["mistake", "the request uses something that is not built"],
  upstream_4xx: ["server", "the model's server refused the request (4xx): the request, or the router's own key or quota there"],
  cancellation: ["mistake", "the client left before the reply was complete"],
  overloaded: ["failed", "too many requests were waiting"],
  timeout: ["failed", "the time for the request was over"],
  upstream_error: ["failed", "a model's server gave no reply, or an incomplete one"],
  upstream_5xx: ["failed", "a model's server failed (5xx)"],
  internal_error: ["failed", "the router failed"],
  pii_policy_denied: ["refused", "personal data that the model may not get"],
  jailbreak_block: ["refused", "an attempt to override instructions"],
  unsupported_language: ["refused", "a language that the guard does not support"],
  response_blocked: ["refused", "a guard withheld the reply"],
  missing_identity: ["refused", "the request names nobody"],
  forbidden: ["refused", "the key may not use the model or the recipe"],
  budget_exceeded: ["refused", "a budget is spent"],
  rate_limited: ["refused", "a rate limit was reached"],
  missing_key: ["refused", "the request had no key"],
  unknown_key: ["refused", "nobody has that key"],
  expired_key: ["refused", "the key has expired"],
  too_many_failures: ["refused", "too many wrong keys from one address"],
  duplicate_header: ["mistake", "the request had two keys"],
  token_too_large: ["mistake", "the token was too large"],
  invalid_token: ["refused", "the token is not valid"],
  wrong_signature: ["refused", "the token's signature is wrong"],
  expired_token: ["refused", "the token has expired"],
  early_token: ["refused", "the token is not valid yet"],
  wrong_audience: ["refused", "the token is for another service"],
  unknown_issuer: ["refused", "the token's issuer is not accepted here"],
  unknown_signing_key: ["refused", "the issuer has no such key"],
  group_not_allowed: ["refused", "the token's groups have no access"],
  keys_unavailable: ["failed", "the keys of clients or of the token's issuer could not be read"],
  audit_unavailable: ["failed", "the audit log could not be written"],
};
/// An error of the API or the gate, in words.
export const cause = (reason: string): { blame: Blame; words: string } => {
  const [blame, words] = kCauses[reason] ?? ["failed", reason.replaceAll("_", " ")];
  return { blame, words };
};
