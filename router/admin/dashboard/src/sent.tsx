// The bytes that change on their way to the model, and the personal data in the user's text.

import { useMemo } from "preact/hooks";

import type { Explained } from "./api";
import { diff, words } from "./diff";
import { Changes, Headers, Notice } from "./parts";
import { Marked } from "./marked";
import { count, utf8Length } from "./words";

export function Sent({ explained }: { explained: Explained }) {
  const { request, plan, personal, text } = explained;
  const pieces = useMemo(() => (plan.body === undefined ? [] : diff(words(request), words(plan.body))), [request, plan.body]);
  const kept = pieces.filter((each) => each.kind === "same").reduce((sum, each) => sum + utf8Length(each.text), 0);
  const edits = pieces.filter((each, i) => each.kind !== "same" && (i === 0 || pieces[i - 1]!.kind === "same")).length;
  return (
    <section class="card stack" aria-labelledby="sent">
      <div class="head">
        <h2 id="sent">What is sent</h2>
        {plan.body !== undefined && (
          <span class="muted">
            {edits === 0
              ? `${count(utf8Length(request), "byte")}, none changes`
              : `${count(edits, "change")}; ${kept.toLocaleString("en")} of ${count(utf8Length(request), "byte")} stay unchanged`}
          </span>
        )}
      </div>
      {plan.body === undefined ? <p class="muted">Nothing: no model is called.</p> : <Changes pieces={pieces} />}
      {explained.personal_failed && (
        <Notice>Only rules have looked for personal data, which know no names or places: {explained.personal_failed}</Notice>
      )}
      {personal.length > 0 && (
        <div>
          <h3>Personal data in the prompt</h3>
          <Marked
            text={text}
            spans={personal.map((each) => ({
              start: each.start,
              end: each.end,
              kind: "personal",
              label: each.type,
              title: `${each.type}, ${each.score.toFixed(2)}, found by ${each.source}`,
            }))}
          />
        </div>
      )}
      <Headers title="Headers of the reply" of={Object.entries(plan.headers ?? {})} />
    </section>
  );
}
