// The page of shadows: answers of other models to the same requests, and what they would have cost.

import type { ShadowLine, Spending } from "./api";
import { Empty, List, Notice, usePolled } from "./parts";
import { count, money, ms, percent } from "./words";

const kExample = `routing:
  decisions:
    - name: everything
      modelRefs: [{model: large}]
      plugins:
        - type: shadow_dispatch
          configuration: {sample_rate: 0.05, arms: [{model: small}]}
global:
  spending: {}`;

function Verdict({ line }: { line: ShadowLine }) {
  const { saved, currency, cost = 0, shadow_cost = 0 } = line;
  if (line.pairs === 0) return <>No request of {line.decision} has been answered by both models yet.</>;
  return (
    <>
      If <b>{line.shadow}</b> had answered {count(line.pairs, "request")} of <b>{line.decision}</b> instead of <b>{line.model}</b>,{" "}
      {saved === undefined ? (
        "the cost is not known, because a model has no price in that currency"
      ) : (
        <>
          they would have cost <b>{money(shadow_cost, currency!)}</b> and not {money(cost, currency!)}:{" "}
          <b class={saved >= 0 ? "ok-text" : "bad-text"}>
            {money(Math.abs(saved), currency!)} {saved >= 0 ? "less" : "more"}
          </b>
        </>
      )}
      . {line.compared > 0 ? `${percent(line.agreed_share!, 1)} of the answers agree.` : "The answers could not be compared."}
    </>
  );
}

export function Shadows() {
  const { data, error, missing } = usePolled<Spending>("/api/v1/spending?by=decision", 60_000);
  const lines = data?.shadows ?? [];
  return (
    <>
      <h1>Shadows</h1>
      <p class="muted">A share of the requests goes to another model as well. No client gets its answer; the router compares the two.</p>
      {error && <Notice kind="bad">{error}</Notice>}
      {!data && !error && !missing && <p class="muted">Reading…</p>}
      {(missing || data) && lines.length === 0 && (
        <Empty title="No shadow has answered yet" yaml={kExample}>
          Give a decision the plugin <code>shadow_dispatch</code> and let the router count with <code>global.spending</code>, in the{" "}
          <a href="#/configuration">configuration</a>.
        </Empty>
      )}
      {lines.length > 0 && (
        <>
          <ul class="stack" aria-label="Results">
            {lines.map((line) => (
              <li class="card sentence small">
                <Verdict line={line} />
              </li>
            ))}
          </ul>
          <List
            label="Pairs of answers"
            columns={["Decision", "Model", "Shadow", "#Pairs", "#Failed", "#Agree", "#Contradict", "#Similarity", "#Time", "#Shadow's time", "#Cost", "#Shadow's cost"]}
          >
            {lines.map((line) => (
              <tr>
                <th scope="row">{line.decision}</th>
                <td>{line.model}</td>
                <td>{line.shadow}</td>
                <td class="num right">{line.pairs.toLocaleString("en")}</td>
                <td class="num right">{line.failed.toLocaleString("en")}</td>
                <td class="num right">{percent(line.agreed_share ?? 0, line.compared && 1)}</td>
                <td class="num right">{percent(line.contradicted_share ?? 0, line.compared && 1)}</td>
                <td class="num right">{line.similarity?.toFixed(3) ?? "–"}</td>
                <td class="num right">{line.seconds === undefined ? "–" : ms(line.seconds * 1000)}</td>
                <td class="num right">{line.shadow_seconds === undefined ? "–" : ms(line.shadow_seconds * 1000)}</td>
                <td class="num right">{line.currency ? money(line.cost!, line.currency) : "no price"}</td>
                <td class="num right">{line.shadow_currency ? money(line.shadow_cost!, line.shadow_currency) : "no price"}</td>
              </tr>
            ))}
          </List>
          <p class="muted">
            A pair is a request that both models have answered. Two answers about the same subject are similar although a figure
            differs, so look at pairs on the page <a href="#/decisions">Decisions</a> before a decision about a model rests on them.
          </p>
        </>
      )}
    </>
  );
}
