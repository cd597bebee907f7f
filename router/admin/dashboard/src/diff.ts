// The shortest edit script from one list to another (Myers, 1986), for bytes of a request and lines of a configuration. If the
// work exceeds a limit, everything between the common beginning and end counts as replaced.

export interface Piece {
  kind: "same" | "gone" | "new";
  text: string;
}

const kWorkMax = 4_000_000;

export function diff(before: string[], after: string[]): Piece[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) ++head;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) ++tail;
  const out: Piece[] = [];
  add(out, "same", before.slice(0, head));
  middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail), out);
  add(out, "same", before.slice(before.length - tail));
  return out;
}

function add(out: Piece[], kind: Piece["kind"], parts: string[]) {
  if (parts.length === 0) return;
  const last = out.at(-1);
  if (last?.kind === kind) last.text += parts.join("");
  else out.push({ kind, text: parts.join("") });
}

function middle(a: string[], b: string[], out: Piece[]) {
  const steps = trace(a, b);
  if (!steps) {
    add(out, "gone", a);
    add(out, "new", b);
    return;
  }
  for (const [kind, text] of steps) add(out, kind, [text]);
}

function trace(a: string[], b: string[]): [Piece["kind"], string][] | null {
  const most = a.length + b.length;
  const seen: Map<number, number>[] = [];
  const furthest = new Map<number, number>([[1, 0]]);
  let work = 0;
  for (let d = 0; d <= most; ++d) {
    work += d + furthest.size;
    if (work > kWorkMax) return null;
    seen.push(new Map(furthest));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1));
      let x = down ? (furthest.get(k + 1) ?? 0) : (furthest.get(k - 1) ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) ++x;
      furthest.set(k, x);
      if (x >= a.length && x - k >= b.length) return back(a, b, seen);
    }
  }
  return null;
}

function back(a: string[], b: string[], seen: Map<number, number>[]): [Piece["kind"], string][] {
  const out: [Piece["kind"], string][] = [];
  let x = a.length, y = b.length;
  for (let d = seen.length - 1; d >= 0; --d) {
    const furthest = seen[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : (furthest.get(from) ?? 0);
    const fromY = d === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) out.push(["same", (--y, a[--x]!)]);
    if (d === 0) break;
    if (down) out.push(["new", b[--y]!]);
    else out.push(["gone", a[--x]!]);
  }
  // Within a change, removed items come before added ones.
  return out.reverse();
}

export const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
export const lines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
