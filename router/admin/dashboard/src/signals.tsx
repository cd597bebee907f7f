// Every signal: its score and threshold, and the cost of its type.

import type { Explained, Signal } from "./api";
import { Mark } from "./parts";
import { ms, short, state, stateWords } from "./words";

function Score({ signal }: { signal: Signal }) {
  if (signal.score === undefined) return null;
  const { score, threshold } = signal;
  // Only for scores from 0 to 1. Counts and margins have no scale.
  const scale = threshold !== undefined && threshold >= 0 && threshold <= 1 && score >= -1 && score <= 1;
  return (
    <span class="score">
      {scale && (
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
          <rect class="track" width="100" height="10" rx="2" />
          <rect class="fill" width={100 * Math.max(0, score)} height="10" rx="2" />
          <rect class="tick" x={100 * threshold - 1} width="2" height="10" />
        </svg>
      )}
      <span class="num">
        {short(score)}
        {threshold !== undefined && (
          <span class="muted">
            {" "}
            {score >= threshold ? "≥" : "<"} {short(threshold)}
          </span>
        )}
      </span>
    </span>
  );
}

/// True if the score reaches its threshold but no example is near enough.
const tooFar = ({ score = 0, threshold = 0, similarity, least_similarity }: Signal) =>
  similarity !== undefined && score >= threshold && similarity < (least_similarity ?? -1);

export function Signals({ explained, all }: { explained: Explained; all: boolean }) {
  const types = Object.entries(explained.signals);
  return (
    <section class="card signals" aria-labelledby="signals">
      <div class="head">
        <h2 id="signals">Signals</h2>
        <span class="muted">{all ? "all computed" : "cheapest first, until the outcome was fixed"}</span>
      </div>
      {types.length === 0 && <p class="muted">The configuration has no signals.</p>}
      {types.map(([type, signals]) => {
        const cost = explained.cost.signals[type];
        const entries = Object.entries(signals);
        const quiet = entries.every(([, each]) => state(each) === "unneeded");
        return (
          <table class={quiet ? "quiet" : ""}>
            <caption>
              <span>{type}</span>
              <span class="num">{cost ? (cost.failed ? "failed" : ms(cost.ms)) : quiet ? "not needed, no cost" : ""}</span>
            </caption>
            <thead class="sr">
              <tr>
                <th scope="col">Signal</th>
                <th scope="col">Score and threshold</th>
              </tr>
            </thead>
            <tbody>
              {entries.map(([name, signal]) => {
                const how = state(signal);
                return (
                  <tr class={how}>
                    <th scope="row">
                      <Mark state={how} />
                      {name}
                      {how === "yes" && signal.evidence && signal.evidence[0] !== name && (
                        <span class="aside evidence">{signal.evidence.slice(0, 3).map((each) => `“${each}”`).join(", ")}</span>
                      )}
                      {how === "no" && tooFar(signal) && (
                        <span class="aside evidence">
                          the nearest example has {short(signal.similarity!)} &lt; {short(signal.least_similarity!)}
                        </span>
                      )}
                      {signal.why && how !== "unneeded" && <span class="aside evidence">{signal.why}</span>}
                    </th>
                    <td>
                      {signal.score === undefined ? <span class="muted">{stateWords[how]}</span> : <Score signal={signal} />}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        );
      })}
      {explained.cost.passes.length > 0 && (
        <p class="muted passes">
          {explained.cost.passes.map((pass) => (
            <span>
              {pass.model.split("/").slice(-2).join("/")} {ms(pass.ms)}
            </span>
          ))}
          <span>rules {ms(explained.cost.rules_ms)}</span>
        </p>
      )}
    </section>
  );
}
