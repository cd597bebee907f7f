// A text area with coloured YAML under it: the area has the text and the caret, and its letters are transparent. Problems stand
// beside their lines.

import { Component } from "preact";
import { useMemo, useRef } from "preact/hooks";

import { tokensOf } from "./yaml";

export interface Match {
  line: number; // from 0
  begin: number; // in the line
  end: number;
}

/// The places where a text has the words, whatever their case.
export function find(text: string, words: string): Match[] {
  if (!words) return [];
  const wanted = words.toLowerCase();
  const out: Match[] = [];
  text.split("\n").forEach((line, number) => {
    const lower = line.toLowerCase();
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length))
      out.push({ line: number, begin: at, end: at + wanted.length });
  });
  return out;
}

interface LineProps {
  text: string;
  problem: string;
  from: number; // what the search has found
  to: number;
}

/// Rendered anew only if its own text changes, so that typing in a file of thousands of lines stays quick.
class Line extends Component<LineProps> {
  override shouldComponentUpdate(next: LineProps) {
    const now = this.props;
    return now.text !== next.text || now.problem !== next.problem || now.from !== next.from || now.to !== next.to;
  }

  render({ text, problem, from, to }: LineProps) {
    let at = 0;
    return (
      <div class={problem ? "bad" : ""}>
        {tokensOf(text).map((token) => {
          const begin = at;
          at += token.text.length;
          const low = Math.max(0, from - begin), high = Math.min(token.text.length, to - begin);
          return (
            <span class={token.kind}>
              {high > low ? (
                <>
                  {token.text.slice(0, low)}
                  <mark>{token.text.slice(low, high)}</mark>
                  {token.text.slice(high)}
                </>
              ) : (
                token.text
              )}
            </span>
          );
        })}
        {text === "" && "\n"}
        {problem && <span class="problem">{problem}</span>}
      </div>
    );
  }
}

export function Editor({ text, problems, found, disabled, onInput, area }: {
  text: string;
  problems: Map<number, string>; // by line, from 1
  found: Match | undefined;
  disabled: boolean;
  onInput: (text: string) => void;
  area: { current: HTMLTextAreaElement | null };
}) {
  const gutter = useRef<HTMLDivElement>(null);
  const colours = useRef<HTMLPreElement>(null);
  const all = useMemo(() => text.split("\n"), [text]);
  const follow = (element: HTMLTextAreaElement) => {
    if (gutter.current) gutter.current.scrollTop = element.scrollTop;
    if (colours.current) {
      colours.current.scrollTop = element.scrollTop;
      colours.current.scrollLeft = element.scrollLeft;
    }
  };
  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {all.map((_, i) => (
          <span class={problems.has(i + 1) ? "bad" : ""}>{i + 1}</span>
        ))}
      </div>
      <div class="text">
        <pre class="code yaml" ref={colours} aria-hidden="true">
          {all.map((line, i) => (
            <Line
              text={line}
              problem={problems.get(i + 1) ?? ""}
              from={found?.line === i ? found.begin : 0}
              to={found?.line === i ? found.end : 0}
            />
          ))}
        </pre>
        <textarea
          ref={area}
          class="code"
          aria-label="Configuration as YAML"
          aria-invalid={problems.size > 0}
          aria-describedby="review"
          spellcheck={false}
          wrap="off"
          readOnly={disabled}
          value={text}
          onInput={(event) => {
            onInput(event.currentTarget.value);
            follow(event.currentTarget);
          }}
          onScroll={(event) => follow(event.currentTarget)}
        />
      </div>
    </div>
  );
}
