// The page of current traffic: it shows the last minutes from the router's history, then each step when it ends.

import { useMemo, useRef, useState } from "preact/hooks";

import { type Step, type Traffic, json } from "./api";
import { Chart, type Line } from "./chart";
import { Notice, useEvery } from "./parts";
import { type Blame, cause, count, money, ms, percent } from "./words";

const kMinutes = [1, 5, 15];
const kStepsMax = 450;
const kLinesMax = 6; // named lines of a chart; the others are summed in one more line

/// The quantile of a histogram, from its buckets; null without observations.
export function quantile(counts: number[] | undefined, bounds: number[], share: number): number | null {
  const all = counts?.reduce((sum, each) => sum + each, 0) ?? 0;
  if (!counts || all === 0) return null;
  let below = 0;
  for (let i = 0; i < counts.length; ++i) {
    const here = counts[i]!;
    if (below + here >= share * all) {
      const low = i === 0 ? 0 : bounds[i - 1]!;
      const high = bounds[i] ?? low;
      return low + ((high - low) * (share * all - below)) / here;
    }
    below += here;
  }
  return null;
}

const plus = (a: number[] | undefined, b: number[] | undefined): number[] | undefined =>
  !a ? b : !b ? a : Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0) + (b[i] ?? 0));

const kCounted = ["requests", "failed", "blocked", "mistakes", "saved_tokens", "prompt_tokens", "completion_tokens"] as const;
const kNamed = ["models", "decisions", "cache", "errors", "denied", "cost", "cost_on_default", "not_compared"] as const;
type Timed = "routing" | "upstream" | "ttft";

/// Joins consecutive steps, so that charts of long windows have no more points than pixels.
function joined(steps: Step[], by: number): Step[] {
  const out: Step[] = [];
  for (let i = 0; i < steps.length; i += by) out.push(sum(steps.slice(i, i + by)));
  return out;
}

/// Labels for values without a name.
const kNames: Record<string, string> = { unknown: "no model", none: "no decision" };

function sum(steps: Step[]): Step {
  const out: Step = { at: steps.at(-1)?.at ?? 0 };
  for (const step of steps) {
    for (const key of kCounted)
      if (step[key]) out[key] = (out[key] ?? 0) + step[key];
    for (const key of kNamed)
      for (const [label, value] of Object.entries(step[key] ?? {})) {
        const name = kNames[label] ?? label;
        out[key] ??= {};
        out[key][name] = (out[key][name] ?? 0) + value;
      }
    for (const key of ["routing", "upstream", "ttft"] as Timed[]) out[key] = plus(out[key], step[key]);
  }
  return out;
}

const hits = (step: Step) => (step.cache?.hit ?? 0) + (step.cache?.near ?? 0);
const rate = (value: number) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2).replace(/\.?0+$/, ""));
const perSecond = (value: number) => `${rate(value)}/s`;
const seconds = (value: number) => ms(value * 1000);

function linesByName(steps: Step[], key: "models" | "decisions", width: number): Line[] {
  const totals = Object.entries(sum(steps)[key] ?? {}).sort((a, b) => b[1] - a[1]);
  const shown = totals.slice(0, kLinesMax).map(([name]) => name);
  const lines: Line[] = shown.map((name) => ({ label: name, values: steps.map((step) => (step[key]?.[name] ?? 0) / width) }));
  if (totals.length > kLinesMax) {
    const others = totals.slice(kLinesMax).map(([name]) => name);
    lines.push({
      label: "others",
      values: steps.map((step) => others.reduce((all, name) => all + (step[key]?.[name] ?? 0), 0) / width),
      colour: "--muted",
    });
  }
  return lines;
}

function Shares({ title, named }: { title: string; named: Record<string, number> }) {
  const rows = Object.entries(named).sort((a, b) => b[1] - a[1]);
  const all = rows.reduce((total, [, value]) => total + value, 0);
  return (
    <section class="card">
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">None in this window.</p>
      ) : (
        <table class="plain">
          <thead class="sr">
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Requests</th>
              <th scope="col">Share</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, value]) => (
              <tr>
                <th scope="row">{name}</th>
                <td class="num">{value.toLocaleString("en")}</td>
                <td class="num muted">{percent(value, all)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const all = (named: Record<string, number> | undefined) => Object.values(named ?? {}).reduce((sum, each) => sum + each, 0);

const kBlames: Record<Blame, [string, string]> = {
  failed: ["bad", "failure"],
  refused: ["warn", "refused by a rule"],
  server: ["warn", "refused by a server"],
  mistake: ["", "the client's"],
};

/// Every error of the window with its cause, failures first.
function Causes({ total }: { total: Step }) {
  const order: Blame[] = ["failed", "server", "refused", "mistake"];
  const rows = [
    ...Object.entries(total.errors ?? {}).map(([reason, value]) => ({ reason, value, ...cause(reason) })),
    ...Object.entries(total.denied ?? {}).map(([reason, value]) => ({ reason, value, ...cause(reason) })),
  ].sort((a, b) => order.indexOf(a.blame) - order.indexOf(b.blame) || b.value - a.value);
  return (
    <section class="card" aria-labelledby="causes">
      <h2 id="causes">Errors by cause</h2>
      {rows.length === 0 ? (
        <p class="muted">None in this window.</p>
      ) : (
        <table class="plain">
          <thead class="sr">
            <tr>
              <th scope="col">Cause</th>
              <th scope="col">Kind</th>
              <th scope="col">Requests</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr>
                <th scope="row" title={row.reason}>
                  {row.words}
                </th>
                <td>
                  <span class={`pill ${kBlames[row.blame][0]}`}>{kBlames[row.blame][1]}</span>
                </td>
                <td class="num">{row.value.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/// A tile for each currency: the cost, and what the same tokens would have cost more on the default model.
function costTiles(total: Step): [string, string, string?][] {
  const currencies = Object.keys(total.cost ?? {});
  if (currencies.length === 0) return [["Cost", "none", "no model with a price has answered"]];
  return currencies.map((currency) => {
    const cost = total.cost![currency]!, on_default = total.cost_on_default?.[currency];
    if (on_default === undefined) return ["Cost", money(cost, currency), `the default model has no price in ${currency}`];
    if (total.not_compared?.[currency]) return ["Cost", money(cost, currency), `not compared: a model without a price in ${currency} answered too`];
    const saved = on_default - cost;
    return ["Cost", money(cost, currency), `${money(Math.abs(saved), currency)} ${saved >= 0 ? "less" : "more"} than on the default model`];
  });
}

export function Overview() {
  const [traffic, setTraffic] = useState<Traffic | null>(null);
  const [minutes, setMinutes] = useState(5);
  const [error, setError] = useState("");
  const known = useRef<Traffic | null>(null);

  useEvery(2000, async () => {
    try {
      const before = known.current;
      const now = await json<Traffic>(`/api/v1/traffic?from=${before?.next ?? 0}`);
      const follows = before !== null && before.began === now.began;
      known.current = { ...now, steps: [...(follows ? before.steps : []), ...now.steps].slice(-kStepsMax) };
      setTraffic(known.current);
      setError("");
    } catch (caught) {
      setError((caught as Error).message);
    }
  });

  const view = useMemo(() => {
    if (!traffic) return null;
    const window = traffic.steps.slice(-Math.round((minutes * 60) / traffic.step));
    const by = Math.max(1, Math.round(minutes / 2));
    // Joined by the clock, so that a point does not change when the next one arrives.
    const skip = (traffic.next - window.length) % by === 0 ? 0 : by - ((traffic.next - window.length) % by);
    const whole = Math.floor((window.length - skip) / by) * by; // an incomplete step would look like a drop
    const steps = joined(window.slice(skip, skip + whole), by);
    return { window, steps, width: by * traffic.step, times: steps.map((step) => step.at) };
  }, [traffic, minutes]);

  if (!traffic || !view) {
    return (
      <>
        <h1>Overview</h1>
        {error ? <Notice kind="bad">{error}</Notice> : <p class="muted">Reading…</p>}
      </>
    );
  }
  const { window, steps, width, times } = view;
  const total = sum(window);
  const recent = sum(window.slice(-5));
  const requests = total.requests ?? 0;
  const lookups = Object.values(total.cache ?? {}).reduce((all, each) => all + each, 0);
  const { bounds } = traffic;
  const asked = requests + all(total.denied); // those that were denied reach no decision
  const tiles: [string, string, string?][] = [
    ["Requests", requests.toLocaleString("en"), `${perSecond((recent.requests ?? 0) / (Math.min(5, Math.max(1, window.length)) * traffic.step))} now`],
    ["In flight", traffic.in_flight.toLocaleString("en"), "now"],
    ...costTiles(total),
    ["Failed", (total.failed ?? 0).toLocaleString("en"), share(total.failed ?? 0, asked, "in the router or a server")],
    ["Blocked", (total.blocked ?? 0).toLocaleString("en"), share(total.blocked ?? 0, asked, "by keys, limits and guards")],
    ["Clients' mistakes", (total.mistakes ?? 0).toLocaleString("en"), share(total.mistakes ?? 0, asked, "or refused by a server (4xx)")],
    ["Model's reply", seconds2(quantile(total.upstream, bounds.upstream, 0.5)), `p95 ${seconds2(quantile(total.upstream, bounds.upstream, 0.95))}`],
    ["First token", seconds2(quantile(total.ttft, bounds.ttft, 0.5)), `p95 ${seconds2(quantile(total.ttft, bounds.ttft, 0.95))}`],
    ["Routing", seconds2(quantile(total.routing, bounds.routing, 0.5)), `p95 ${seconds2(quantile(total.routing, bounds.routing, 0.95))}`],
    ["Cache hits", lookups > 0 ? percent(hits(total), lookups) : "none", `${count(hits(total), "hit")} of ${lookups.toLocaleString("en")}; ${count(total.saved_tokens ?? 0, "token")} saved`],
  ];
  const counts = (of: (step: Step) => number) => steps.map((step) => of(step) / width);
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <span class="grow" />
        <div class="row" role="group" aria-label="Window">
          {kMinutes.map((each) => (
            <button class="tab" aria-pressed={each === minutes} onClick={() => setMinutes(each)}>
              {each} min
            </button>
          ))}
        </div>
      </div>
      {error && <Notice kind="bad">{error}</Notice>}
      {requests === 0 && (
        <Notice>
          No request in this window yet. Send one to the router's listener, or choose “Send it” on the page <a href="#/try">Try a prompt</a>.
        </Notice>
      )}
      <dl class="tiles">
        {tiles.map(([name, value, more]) => (
          <div class="card">
            <dt>{name}</dt>
            <dd>
              {value}
              {more && <small class="muted">{more}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <div class="charts">
        <Chart
          title="Requests"
          times={times}
          seconds={minutes * 60}
          unit={perSecond}
          lines={[
            { label: "all", values: counts((step) => step.requests ?? 0), colour: "--line-1" },
            { label: "failed", values: counts((step) => step.failed ?? 0), colour: "--bad" },
            { label: "blocked", values: counts((step) => step.blocked ?? 0), colour: "--warn" },
            { label: "clients' mistakes", values: counts((step) => step.mistakes ?? 0), colour: "--muted" },
          ]}
        />
        <Chart
          title="Time of the model's reply"
          times={times}
          seconds={minutes * 60}
          unit={seconds}
          lines={[
            { label: "p50", values: steps.map((step) => quantile(step.upstream, bounds.upstream, 0.5)), colour: "--line-1" },
            { label: "p95", values: steps.map((step) => quantile(step.upstream, bounds.upstream, 0.95)), colour: "--line-2" },
            { label: "p99", values: steps.map((step) => quantile(step.upstream, bounds.upstream, 0.99)), colour: "--line-3" },
          ]}
        />
        <Chart title="Decisions" times={times} seconds={minutes * 60} unit={perSecond} lines={linesByName(steps, "decisions", width)} />
        <Chart title="Models" times={times} seconds={minutes * 60} unit={perSecond} lines={linesByName(steps, "models", width)} />
      </div>
      <Causes total={total} />
      <div class="columns">
        <Shares title="By decision" named={total.decisions ?? {}} />
        <Shares title="By model" named={total.models ?? {}} />
        <Shares title="Cache lookups" named={total.cache ?? {}} />
      </div>
    </>
  );
}

/// "2.5 %, WORDS", or the words alone if there is no whole.
const share = (part: number, whole: number, words: string) => (whole > 0 ? `${percent(part, whole)}, ${words}` : words);
const seconds2 = (value: number | null) => (value === null ? "none" : seconds(value));
