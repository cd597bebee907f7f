// The last requests and their outcomes. A user's text appears only if the configuration records it and the viewer requests
// it.

import { useState } from "preact/hooks";

import { type Record_, json } from "./api";
import { Notice, useEvery } from "./parts";
import { ms } from "./words";
import { replayOnWhy } from "./why";

interface List {
  total: number;
  data: Record_[];
}
const kLimit = 100;

const kOutcomes = ["all", "answered", "failed", "blocked", "from the cache"] as const;
type Outcome = (typeof kOutcomes)[number];

function outcome(record: Record_): { kind: Outcome; words: string; mood: string } {
  const blocked: Record<string, string> = {
    jailbreak_block: "blocked: override attempt",
    pii_policy_denied: "blocked: personal data",
    response_blocked: "blocked: its reply",
    missing_identity: "blocked: names nobody",
  };
  const refused = blocked[record.error ?? ""] ?? (record.response_path === "blocked" ? "blocked" : "");
  if (refused) return { kind: "blocked", words: refused, mood: "warn" };
  if (record.status >= 400 || record.error) return { kind: "failed", words: record.error ? record.error.replaceAll("_", " ") : String(record.status), mood: "bad" };
  if (record.cache === "hit" || record.cache === "near") return { kind: "from the cache", words: "from the cache", mood: "ok" };
  return { kind: "answered", words: record.response_path === "fast_response" ? "answered here" : "answered", mood: "ok" };
}

function Texts({ record }: { record: Record_ }) {
  const [whole, setWhole] = useState<Record_ | null>(null);
  const [error, setError] = useState("");
  const show = async () => {
    try {
      setWhole(await json<Record_>(`/v1/router_replay/${encodeURIComponent(record.id)}`));
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  if (error) return <Notice kind="bad">{error}</Notice>;
  if (!whole) return <button onClick={() => void show()}>Show recorded texts</button>;
  if (!whole.request_body && !whole.response_body) {
    return (
      <p class="muted">
        No text was recorded. A decision's plugin <code>router_replay</code> with <code>capture_request_body</code> records it.
      </p>
    );
  }
  return (
    <>
      {whole.request_body && (
        <div class="stack tight">
          <div class="head">
            <h3>Request to the server</h3>
            <span class="grow" />
            <button disabled={whole.request_body_truncated === true} onClick={() => replayOnWhy(again(whole.request_body!))}>
              Replay on the page Why
            </button>
          </div>
          <pre class="code" tabindex={0}>
            {whole.request_body}
          </pre>
        </div>
      )}
      {whole.response_body && (
        <div class="stack tight">
          <h3>Reply from the server</h3>
          <pre class="code" tabindex={0}>
            {whole.response_body}
          </pre>
        </div>
      )}
    </>
  );
}

/// The request as the client may have sent it: with the recorded model, it would now bypass the decision.
function again(body: string): string {
  try {
    return JSON.stringify({ ...JSON.parse(body), model: "auto" }, null, 2);
  } catch {
    return body;
  }
}

function Detail({ record, may }: { record: Record_; may: (permission: string) => boolean }) {
  const facts: [string, string | undefined][] = [
    ["Request", record.request_id],
    ["Path", record.path],
    ["Status", String(record.status)],
    ["Recipe", record.recipe],
    ["Confidence", record.confidence?.toFixed(3)],
    ["Category", record.category],
    ["Algorithm", record.algorithm],
    ["Chosen by", record.selection_method as string | undefined],
    ["Cache", record.cache],
    ["Routing", record.routing_ms !== undefined ? ms(record.routing_ms) : undefined],
    ["Model", record.upstream_ms !== undefined ? ms(record.upstream_ms) : undefined],
    ["First token", record.ttft_ms !== undefined ? ms(record.ttft_ms) : undefined],
    ["Tokens", record.prompt_tokens !== undefined ? `${record.prompt_tokens} read, ${record.completion_tokens} written` : undefined],
    ["Cost", record.cost?.toPrecision(3)],
    ["Degraded", record.degraded],
    ["Override attempt", record.jailbreak],
    ["Personal data", record.pii_types?.join(", ")],
    ["Claims", record.hallucination],
  ];
  const signals = Object.entries(record.signals ?? {});
  return (
    <div class="stack">
      <p>
        <span class="muted">Matched: </span>
        {signals.length === 0
          ? "no signal"
          : signals.map(([type, names]) => (
              <span class="chip still">
                {type} <b>{names.join(", ")}</b>
              </span>
            ))}
      </p>
      <dl class="facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {may("replay.detail") ? <Texts record={record} /> : <p class="muted">Your role may not see recorded texts.</p>}
    </div>
  );
}

export function Decisions({ may }: { may: (permission: string) => boolean }) {
  const [list, setList] = useState<List | null>(null);
  const [error, setError] = useState("");
  const [follow, setFollow] = useState(true);
  const [filter, setFilter] = useState({ decision: "", model: "", outcome: "all" as Outcome, id: "" });
  const [open, setOpen] = useState("");
  const [names, setNames] = useState<{ decisions: string[]; models: string[] }>({ decisions: [], models: [] });

  const read = async () => {
    try {
      const query = new URLSearchParams({ limit: String(kLimit) });
      if (filter.decision) query.set("decision", filter.decision);
      if (filter.model) query.set("model", filter.model);
      const got = await json<List>(`/v1/router_replay?${query}`);
      setList(got);
      setNames((before) => ({
        decisions: [...new Set([...before.decisions, ...got.data.map((each) => each.decision ?? "")])].filter(Boolean).sort(),
        models: [...new Set([...before.models, ...got.data.map((each) => each.selected_model ?? "")])].filter(Boolean).sort(),
      }));
      setError("");
    } catch (caught) {
      setError((caught as Error).message);
    }
  };
  useEvery(3000, read, follow && open === "");
  const choose = (more: Partial<typeof filter>) => {
    Object.assign(filter, more);
    setFilter({ ...filter });
    void read();
  };

  const shown = (list?.data ?? []).filter(
    (record) =>
      (filter.outcome === "all" || outcome(record).kind === filter.outcome) &&
      (!filter.id || record.request_id.includes(filter.id) || record.id.includes(filter.id)),
  );
  return (
    <>
      <div class="head">
        <h1>Recent decisions</h1>
        <span class="grow" />
        <label class="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} /> Follow
        </label>
      </div>
      <form class="row wrap filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Decision
          <select value={filter.decision} onChange={(event) => choose({ decision: event.currentTarget.value })}>
            <option value="">all</option>
            {names.decisions.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Model
          <select value={filter.model} onChange={(event) => choose({ model: event.currentTarget.value })}>
            <option value="">all</option>
            {names.models.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Outcome
          <select value={filter.outcome} onChange={(event) => choose({ outcome: event.currentTarget.value as Outcome })}>
            {kOutcomes.map((name) => (
              <option>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Id
          <input type="search" value={filter.id} onInput={(event) => choose({ id: event.currentTarget.value })} />
        </label>
      </form>
      {error && <Notice kind="bad">{error}</Notice>}
      {list && list.data.length === 0 && !filter.decision && !filter.model && (
        <div class="card empty">
          <h2>No request is recorded</h2>
          <p>
            The router keeps the record of requests in memory, without any text. Turn it on in the{" "}
            <a href="#/configuration">configuration</a>:
          </p>
          <pre class="code" tabindex={0}>
            {"global:\n  services:\n    router_replay: {enabled: true}"}
          </pre>
        </div>
      )}
      {list && shown.length === 0 && (list.data.length > 0 || filter.decision || filter.model) && (
        <p class="card empty muted">None of the last {kLimit} requests matches.</p>
      )}
      {shown.length > 0 && (
        <div class="card scroll" tabindex={0} role="region" aria-label="Requests">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Decision</th>
                <th scope="col">Model</th>
                <th scope="col">Outcome</th>
                <th scope="col" class="right">
                  Routing
                </th>
                <th scope="col" class="right">
                  Total
                </th>
                <th scope="col" class="right">
                  Tokens
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((record) => {
                const became = outcome(record);
                const at = record.timestamp ? new Date(record.timestamp) : null;
                const opened = open === record.id;
                return (
                  <>
                    <tr class={opened ? "open" : ""}>
                      <td>
                        <button
                          class="link num"
                          aria-expanded={opened}
                          onClick={() => setOpen(opened ? "" : record.id)}
                          title={record.timestamp}
                        >
                          {at ? at.toLocaleTimeString("en-GB") : record.id}
                        </button>
                      </td>
                      <td>{record.decision ?? <span class="muted">none</span>}</td>
                      <td>{record.selected_model ?? <span class="muted">none</span>}</td>
                      <td>
                        <span class={`pill ${became.mood}`}>{became.words}</span>
                      </td>
                      <td class="num right">{record.routing_ms !== undefined ? ms(record.routing_ms) : "–"}</td>
                      <td class="num right">{record.total_ms !== undefined ? ms(record.total_ms) : "–"}</td>
                      <td class="num right">
                        {record.prompt_tokens !== undefined ? `${record.prompt_tokens} + ${record.completion_tokens}` : "–"}
                      </td>
                    </tr>
                    {opened && (
                      <tr class="detail">
                        <td colSpan={7}>
                          <Detail record={record} may={may} />
                        </td>
                      </tr>
                    )}
                  </>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {list && list.total > kLimit && <p class="muted">The newest {kLimit} of {list.total.toLocaleString("en")}.</p>}
    </>
  );
}
