// The answer in a sentence, and its figures in a line.

import type { Explained } from "./api";
import { Notice } from "./parts";
import { count, grounds, leaves, ms, reasons, short, signalOf, state } from "./words";

function Because({ explained }: { explained: Explained }) {
  const chosen = explained.trace.find((each) => each.selected);
  if (!chosen) return null;
  const why = reasons(chosen.rules);
  if (why.length === 0) return <>, whose conditions hold for every request</>;
  return (
    <>
      {": "}
      {why.map(({ leaf, negated }, i) => {
        const said = grounds(signalOf(explained, leaf));
        return (
          <>
            {i > 0 && (i === why.length - 1 ? " and " : ", ")}
            <span class="ground">
              {negated && "not "}
              {leaf.type} <b>{leaf.name}</b>
              {!negated && said && <> {said}</>}
            </span>
          </>
        );
      })}
    </>
  );
}

/// True if the router answers itself because a guard or a policy refused the request.
const guarded = (plan: Explained["plan"]) =>
  ["x-vsr-jailbreak-blocked", "x-vsr-pii-violation"].some((name) => plan.headers?.[name] === "true");

function Sentence({ explained }: { explained: Explained }) {
  const { plan, decision } = explained;
  if (plan.path === "error") return <>This request cannot be answered: {plan.message}</>;
  if (plan.bypassed)
    return (
      <>
        Goes to <b class="model">{plan.model}</b> because the request names that model. No decision is made.
      </>
    );
  const verb =
    plan.path === "blocked" ? (
      <>
        <b class="bad-text">Refused</b>
      </>
    ) : plan.path === "fast_response" ? (
      <>
        <b>{guarded(plan) ? "Refused by the router" : "Answered by the router itself"}</b>
      </>
    ) : (
      <>
        Goes to <b class="model">{plan.model}</b>
      </>
    );
  if (!decision)
    return plan.path === "upstream" ? <>{verb} because no decision matched and this is the default model.</> : <>{verb}.</>;
  return (
    <>
      {verb} because the decision <b>{decision.name}</b> matched
      <Because explained={explained} />.
    </>
  );
}

export function Answer({ explained }: { explained: Explained }) {
  const { plan, decision, cost } = explained;
  const signals = Object.values(explained.signals).flatMap((type) => Object.values(type));
  const computed = signals.filter((each) => ["yes", "no"].includes(state(each))).length;
  const facts: [string, string][] = [];
  if (decision) {
    const chosen = explained.trace.find((each) => each.selected);
    // A decision without conditions has the confidence 0, which would look like a bad one.
    if (!chosen || leaves(chosen.rules).length > 0) facts.push(["Confidence", short(plan.confidence ?? 0)]);
    facts.push(["Priority", `${decision.priority}${decision.tier ? `, tier ${decision.tier}` : ""}`]);
  }
  facts.push(["Decided in", ms(cost.ms)]);
  facts.push(["Signals", `${computed} of ${signals.length} needed`]);
  if (cost.passes.length > 0) facts.push(["Model passes", `${cost.passes.length}`]);
  if (plan.reasoning !== undefined) facts.push(["Reasoning", plan.reasoning ? "on" : "off"]);
  if (plan.asked_for && plan.asked_for !== plan.model) facts.push(["Asked for as", plan.asked_for]);
  return (
    <section class={`answer ${plan.path}`} aria-label="Answer">
      <p class="sentence">
        <Sentence explained={explained} />
      </p>
      {decision?.description && <p class="muted">{decision.description}</p>}
      {plan.message && plan.path !== "error" && <blockquote>{plan.message}</blockquote>}
      {plan.reason && (decision?.models.length ?? 0) > 1 && (
        <p class="muted">
          Of {count(decision!.models.length, "model")} by {plan.method}: {plan.reason}.
        </p>
      )}
      {plan.left_out?.map((each) => (
        <p class="muted">
          Not {each.model}: {each.reason}.
        </p>
      ))}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {explained.degraded && <Notice kind="warn">Decided on fewer signals than configured: {explained.degraded}</Notice>}
      {explained.rests_on_missing && (
        <Notice kind="warn">A signal without its model could have changed the decision. See “not known” below.</Notice>
      )}
    </section>
  );
}
