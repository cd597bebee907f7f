// One chart over time, drawn by uPlot in the page's colours. The table beside it has the same data as text.

import { useEffect, useRef } from "preact/hooks";
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

/// The value of a CSS custom property, as a colour for a canvas.
function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function Chart({ title, times, lines, unit }: { title: string; times: number[]; lines: Line[]; unit: (value: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
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
          legend: { live: true },
          scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
          axes: [
            { ...axis, space: 80, size: 32, values: (_, all) => all.map(clock) },
            { ...axis, size: 58, values: (_, all) => all.map((value) => unit(value)) },
          ],
          series: [
            { label: "Time", value: (_, at) => (at === null ? "" : clock(at)) },
            ...lines.map((line, i) => ({
              label: line.label,
              stroke: colour(line.colour ?? kPalette[i % kPalette.length]!),
              width: 1.75,
              spanGaps: false,
              points: { show: false },
              value: (_: uPlot, value: number | null) => (value === null ? "–" : unit(value)),
            })),
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
      <figcaption>
        <h2>{title}</h2>
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}: ${lines.map((line) => line.label).join(", ")}`} />
    </figure>
  );
}
