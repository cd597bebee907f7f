// Sends the request for real and shows the reply while it streams, with the findings of the reply guards.

import { useEffect, useRef, useState } from "preact/hooks";

import { type Explained, Refused, call } from "./api";
import { events } from "./events";
import { Marked, type Span } from "./marked";
import { Headers, Notice } from "./parts";
import { ms } from "./words";

interface Arrived {
  text: string;
  thoughts: string;
  spans: Span[];
  warnings: string[];
  unchecked: string[];
  headers: [string, string][];
  firstMs?: number;
  doneMs?: number;
  reason?: string;
}
const kNothing: Arrived = { text: "", thoughts: "", spans: [], warnings: [], unchecked: [], headers: [] };

/// The request with `stream` set to true; all other bytes stay.
function streaming(request: string): string {
  const asked = JSON.parse(request);
  if (asked.stream === true) return request;
  if (asked.stream === undefined) return request.replace(/^\s*\{/, (open) => `${open}"stream":true,`);
  return JSON.stringify({ ...asked, stream: true });
}

export function Reply({ explained, may }: { explained: Explained; may: (permission: string) => boolean }) {
  const [arrived, setArrived] = useState<Arrived | null>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const stopper = useRef<AbortController | null>(null);

  useEffect(() => {
    stopper.current?.abort();
    setArrived(null);
    setError("");
  }, [explained.request]);
  useEffect(() => () => stopper.current?.abort(), []);

  const send = async () => {
    stopper.current?.abort();
    const mine = new AbortController();
    stopper.current = mine;
    const began = performance.now();
    let now: Arrived = { ...kNothing };
    setArrived(now);
    setError("");
    setBusy(true);
    const show = (more: Partial<Arrived>) => {
      now = { ...now, ...more };
      if (!mine.signal.aborted) setArrived(now);
    };
    try {
      const response = await call("/api/v1/chat", { method: "POST", body: streaming(explained.request), signal: mine.signal });
      show({ headers: [...response.headers].filter(([name]) => name.startsWith("x-vsr-")) });
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        for await (const event of events(response.body!)) take(event);
      } else {
        const whole = await response.json();
        guard(whole.vsr_guard);
        show({ text: whole.choices?.[0]?.message?.content ?? JSON.stringify(whole, null, 2) });
      }
      show({ doneMs: performance.now() - began });
    } catch (caught) {
      if ((caught as Error).name !== "AbortError") setError(caught instanceof Refused ? caught.message : String(caught));
    }
    if (stopper.current === mine) setBusy(false);

    function guard(found?: { warnings?: string[]; unchecked?: string[]; spans?: { choice: number; start: number; end: number; verdict: string; score: number }[] }) {
      if (!found) return;
      const spans = (found.spans ?? [])
        .filter((each) => each.choice === 0)
        .map((each): Span => ({
          start: each.start,
          end: each.end,
          kind: "unsupported",
          label: each.verdict.replaceAll("_", " "),
          title: `nothing in the context supports this, ${each.score.toFixed(2)}`,
        }));
      show({
        spans: [...now.spans, ...spans],
        warnings: [...new Set([...now.warnings, ...(found.warnings ?? [])])],
        unchecked: [...new Set([...now.unchecked, ...(found.unchecked ?? [])])],
      });
    }
    function take(event: string) {
      if (event === "[DONE]") return;
      const chunk = JSON.parse(event);
      if (chunk.error) setError(chunk.error.message ?? String(chunk.error));
      guard(chunk.vsr_guard);
      const choice = chunk.choices?.find((each: { index: number }) => each.index === 0);
      if (!choice) return;
      const { content, reasoning_content: thought } = choice.delta ?? {};
      if ((content || thought) && now.firstMs === undefined) show({ firstMs: performance.now() - began });
      if (content) show({ text: now.text + content });
      if (thought) show({ thoughts: now.thoughts + thought });
      if (choice.finish_reason) show({ reason: choice.finish_reason });
    }
  };

  return (
    <section class="card stack" aria-labelledby="reply">
      <div class="head">
        <h2 id="reply">Reply</h2>
        {arrived?.firstMs !== undefined && <span class="muted">first token after {ms(arrived.firstMs)}</span>}
        {arrived?.doneMs !== undefined && <span class="muted">whole after {ms(arrived.doneMs)}</span>}
        <span class="grow" />
        {busy ? (
          <button onClick={() => stopper.current?.abort()}>Stop</button>
        ) : (
          <button onClick={() => void send()} disabled={!may("chat.invoke")}>
            Send it
          </button>
        )}
      </div>
      {!may("chat.invoke") && <p class="muted">Your role may not send requests.</p>}
      {may("chat.invoke") && !arrived && !error && (
        <p class="muted">Sends the request through the router as a client would, and streams the reply.</p>
      )}
      {error && <Notice kind="bad">{error}</Notice>}
      {arrived && arrived.warnings.length > 0 && (
        <Notice kind="warn">The guard of replies warns: {arrived.warnings.join(", ").replaceAll("_", " ")}.</Notice>
      )}
      {arrived && arrived.unchecked.length > 0 && <Notice kind="warn">Not checked: {arrived.unchecked.join(", ")}.</Notice>}
      {arrived?.reason === "content_filter" && <Notice kind="bad">A guard ended the reply.</Notice>}
      {arrived?.thoughts && (
        <details>
          <summary>Reasoning</summary>
          <p class="marked">{arrived.thoughts}</p>
        </details>
      )}
      {arrived && (arrived.text || busy) && (
        <div class="streamed" aria-live="polite" aria-busy={busy}>
          <Marked text={arrived.text} spans={arrived.spans} />
        </div>
      )}
      {arrived && <Headers title="Headers received" of={arrived.headers} />}
    </section>
  );
}
