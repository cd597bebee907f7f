// One chart over time, drawn by uPlot in the page's colours, with a legend of the last values, or of those under the pointer.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Line {
  label: string;
  values: (number | null)[];
  colour?: string; // name of a CSS custom property
}

const kPalette = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];
const kHeight = 190;

const clock = (at: number) => new Date(at * 1000).toLocaleTimeString("en-GB");
const colourOf = (line: Line, i: number) => line.colour ?? kPalette[i % kPalette.length]!;

/// The value of a CSS custom property, as a colour for a canvas.
function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/// Samples without a neighbour, which no line would show.
function alone(values: ArrayLike<number | null | undefined>): number[] {
  const has = (i: number) => values[i] !== null && values[i] !== undefined;
  return Array.from({ length: values.length }, (_, i) => i).filter((i) => has(i) && !has(i - 1) && !has(i + 1));
}

/// The last value that a line has; null: none.
const last = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? null;

function Legend({ lines, at, unit }: { lines: Line[]; at: number | null; unit: (value: number) => string }) {
  return (
    <ul class="legend-list">
      {lines.map((line, i) => {
        const value = at === null ? last(line.values) : (line.values[at] ?? null);
        return (
          <li>
            <svg viewBox="0 0 10 10" class={colourOf(line, i).slice(2)} aria-hidden="true">
              <circle cx="5" cy="5" r="5" />
            </svg>
            {line.label} <b class="num">{value === null ? "none" : unit(value)}</b>
          </li>
        );
      })}
    </ul>
  );
}

/// `seconds` is the width of the chart, which ends with the last sample.
export function Chart({ title, times, seconds, lines, unit }: {
  title: string;
  times: number[];
  seconds: number;
  lines: Line[];
  unit: (value: number) => string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const span = useRef(seconds);
  span.current = seconds;
  const names = lines.map((line) => line.label).join("\n");

  useEffect(() => {
    const element = box.current!;
    const make = () => {
      plot.current?.destroy();
      const muted = colour("--muted"), grid = colour("--line");
      const axis = { stroke: muted, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui" };
      plot.current = new uPlot(
        {
          width: element.clientWidth,
          height: kHeight,
          cursor: { drag: { x: false, y: false } },
          legend: { show: false },
          hooks: { setCursor: [(self) => setAt(self.cursor.idx ?? null)] },
          scales: {
            x: {
              range: (self) => {
                const end = self.data[0].at(-1) ?? Date.now() / 1000;
                return [end - span.current, end];
              },
            },
            y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
          },
          axes: [
            { ...axis, space: 80, size: 32, values: (_, all) => all.map(clock) },
            { ...axis, size: 66, values: (_, all) => all.map((value) => unit(value)) },
          ],
          series: [
            {},
            ...lines.map((line, i) => {
              const stroke = colour(colourOf(line, i));
              return {
                label: line.label,
                stroke,
                width: 1.75,
                spanGaps: false,
                points: { show: true, size: 7, fill: stroke, filter: (self: uPlot, series: number) => alone(self.data[series]!) },
              };
            }),
          ],
        },
        [times, ...lines.map((line) => line.values)] as uPlot.AlignedData,
        element,
      );
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: kHeight }));
    resized.observe(element);
    addEventListener("themechange", make);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      resized.disconnect();
      removeEventListener("themechange", make);
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);
  useEffect(() => {
    plot.current?.setData([times, ...lines.map((line) => line.values)] as uPlot.AlignedData);
  }, [times, lines]);

  return (
    <figure class="card chart">
      <figcaption class="head">
        <h2>{title}</h2>
        <span class="muted">{at === null || times[at] === undefined ? "" : clock(times[at])}</span>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title} over time`} />
      {lines.length === 0 ? <p class="muted">Nothing in this window.</p> : <Legend lines={lines} at={at} unit={unit} />}
    </figure>
  );
}
