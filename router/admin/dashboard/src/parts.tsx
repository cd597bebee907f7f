// Small components that several pages use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Piece } from "./diff";
import { type State, count, stateWords, utf8Length } from "./words";

export function Notice({ kind = "info", children }: { kind?: "info" | "warn" | "bad" | "ok"; children: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/// A mark with its meaning in words, so that it does not depend on colour alone.
export function Mark({ state }: { state: State }) {
  const sign = { yes: "●", no: "○", unneeded: "–", unknown: "?" }[state];
  return (
    <span class={`mark ${state}`}>
      <span aria-hidden="true">{sign}</span>
      <span class="sr">{stateWords[state]}: </span>
    </span>
  );
}

/// Headers in a closed section; renders nothing without headers.
export function Headers({ title, of }: { title: string; of: [string, string][] }) {
  if (of.length === 0) return null;
  return (
    <details>
      <summary>{title}</summary>
      <dl class="headers">
        {of.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

const kContext = 60; // characters around a change

/// The changes between two texts, without long unchanged parts.
export function Changes({ pieces, whole = false }: { pieces: Piece[]; whole?: boolean }) {
  return (
    <pre class="code changes" tabindex={0} aria-label="Changes">
      {pieces.map((piece, i) => {
        if (piece.kind === "gone") return <del>{piece.text}</del>;
        if (piece.kind === "new") return <ins>{piece.text}</ins>;
        const first = i === 0, last = i === pieces.length - 1;
        if (whole || piece.text.length < 3 * kContext) return piece.text;
        const before = first ? "" : piece.text.slice(0, kContext);
        const after = last ? "" : piece.text.slice(-kContext);
        const left = utf8Length(piece.text) - utf8Length(before) - utf8Length(after);
        return (
          <>
            {before}
            <span class="gap"> ⋯ {count(left, "byte")} as they came ⋯ </span>
            {after}
          </>
        );
      })}
    </pre>
  );
}

/// True while the page is visible.
export function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
  return visible;
}

/// Runs at once, and then periodically while the page is visible.
export function useEvery(ms: number, run: () => Promise<void>, active = true) {
  const visible = useVisible();
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!visible || !active) return;
    let over = false;
    let timer = 0;
    const go = async () => {
      await latest.current();
      if (!over) timer = setTimeout(go, ms) as unknown as number;
    };
    void go();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [visible, active, ms]);
}
