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
