// A text with marked spans. Positions count code points, as in the API.

export interface Span {
  start: number;
  end: number;
  kind: "personal" | "unsupported";
  label: string;
  title?: string;
}

export function Marked({ text, spans }: { text: string; spans: Span[] }) {
  const points = Array.from(text);
  const sorted = [...spans].sort((a, b) => a.start - b.start);
  const out = [];
  let at = 0;
  for (const span of sorted) {
    if (span.start < at) continue;
    out.push(points.slice(at, span.start).join(""));
    out.push(
      <mark class={span.kind} title={span.title}>
        {points.slice(span.start, span.end).join("")}
        <small>{span.label}</small>
      </mark>,
    );
    at = span.end;
  }
  out.push(points.slice(at).join(""));
  return <p class="marked">{out}</p>;
}
