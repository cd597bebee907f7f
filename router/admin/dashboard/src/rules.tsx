// Decisions in the order of precedence, each with the tree of its rules: highlighted where it matched, grey where it was never
// needed.

import type { Explained, RuleNode, Traced } from "./api";
import { Mark } from "./parts";
import { grounds, isBranch, leaves, short, signalOf, state, stateWords } from "./words";

const kOperators = { AND: "all of", OR: "any of", NOT: "none of" };

function Tree({ node, explained }: { node: RuleNode; explained: Explained }) {
  const how = state(isBranch(node) ? { matched: node.matched } : node);
  if (isBranch(node)) {
    return (
      <li class={`node ${how}`}>
        <Mark state={how} />
        <span class="operator">{kOperators[node.operator]}</span>
        <ul class="tree">
          {node.conditions.map((each) => (
            <Tree node={each} explained={explained} />
          ))}
        </ul>
      </li>
    );
  }
  const signal = signalOf(explained, node);
  const why = how === "unneeded" || how === "unknown" ? node.why : "";
  return (
    <li class={`node ${how}`}>
      <Mark state={how} />
      <span class="type">{node.type}</span> <b>{node.name}</b>
      {why ? <span class="aside"> {why.replace(/^never needed: /, "not needed: ")}</span> : <span class="aside num"> {grounds(signal)}</span>}
    </li>
  );
}

function verdict(traced: Traced): string {
  if (traced.selected) return leaves(traced.rules).length === 0 ? "chosen: it matches every request" : `chosen, confidence ${short(traced.confidence ?? 0)}`;
  const how = state(traced);
  if (how === "yes") return "matched, outranked";
  if (how !== "unneeded") return stateWords[how];
  const why = leaves(traced.rules).find((leaf) => leaf.why?.startsWith("never needed"))?.why ?? "";
  return why.includes("outranked") ? "not needed: outranked" : "not needed";
}

export function Rules({ explained }: { explained: Explained }) {
  if (explained.trace.length === 0) return null;
  const bypassed = explained.plan.bypassed;
  return (
    <section class="card" aria-labelledby="rules">
      <div class="head">
        <h2 id="rules">Rules</h2>
        <span class="legend" aria-hidden="true">
          <span class="mark yes">●</span> matched <span class="mark no">○</span> did not{" "}
          <span class="mark unneeded">–</span> not needed
        </span>
      </div>
      {bypassed && <p class="muted">The request names a model, so no rule was evaluated.</p>}
      <ol class="decisions">
        {explained.trace.map((traced) => {
          const how = state(traced);
          return (
            <li class={`${how} ${traced.selected ? "selected" : ""}`}>
              <details open={traced.selected} key={`${traced.decision}${traced.selected}`}>
                <summary>
                  <Mark state={how} />
                  <b>{traced.decision}</b>
                  <span class="grow" />
                  <span class="aside">{verdict(traced)}</span>
                  <span class="aside num">{traced.tier ? `tier ${traced.tier}, ` : ""}priority {traced.priority}</span>
                </summary>
                <ul class="tree root">
                  <Tree node={traced.rules} explained={explained} />
                </ul>
              </details>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
