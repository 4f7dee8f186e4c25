// The plots: four panels with one cursor. Data of a new run replace the old ones in place where the curves are the same.

import uPlot from "uplot";
import { digits } from "../scenario/quantities";
import { make } from "./dom";
import { draw, room, SIGNS } from "./marks";
import { colour, dash, style } from "./palette";
import type { Panel, Picture } from "./series";

const HEIGHT = 190;

export interface Cursor {
  /** Time that is pinned, s. */
  time: number | undefined;
  pin(time: number): void;
}

interface Drawn {
  plot: uPlot;
  signature: string;
  figure: HTMLElement;
}

export class Plots {
  private drawn = new Map<string, Drawn>();
  private picture: Picture | undefined;

  constructor(
    private readonly place: HTMLElement,
    private readonly cursor: Cursor,
  ) {
    new ResizeObserver(() => this.resize()).observe(place);
  }

  show(picture: Picture): void {
    this.picture = picture;
    for (const panel of picture.panels) this.showPanel(panel);
  }

  /** Draws everything anew, as in other colours. */
  redraw(): void {
    for (const { plot, figure } of this.drawn.values()) {
      plot.destroy();
      figure.remove();
    }
    this.drawn.clear();
    if (this.picture) this.show(this.picture);
  }

  /** Draws the line of the pinned time. */
  movePin(): void {
    for (const { plot } of this.drawn.values()) plot.redraw(false);
  }

  private showPanel(panel: Panel): void {
    const data = [panel.times, ...panel.curves.map((curve) => curve.values)] as uPlot.AlignedData;
    const signature = panel.curves.map((curve) => `${curve.label}#${curve.position}`).join("|");
    const old = this.drawn.get(panel.key);
    if (old?.signature === signature) {
      old.plot.setData(data);
      old.figure.querySelector(".plot")!.setAttribute("aria-label", describe(panel));
      return;
    }
    const figure = old?.figure ?? this.figure(panel);
    old?.plot.destroy();
    const box = figure.querySelector<HTMLElement>(".plot")!;
    box.setAttribute("aria-label", describe(panel));
    const plot = new uPlot(this.options(panel, box.clientWidth || this.place.clientWidth), data, box);
    // The box stays where its plot is made anew: one listener, of the present plot.
    box.onclick = () => this.pinAtCursor(plot);
    this.drawn.set(panel.key, { plot, signature, figure });
  }

  private figure(panel: Panel): HTMLElement {
    const box = make("div", { class: "plot", tabindex: 0, role: "img" });
    box.addEventListener("keydown", (event) => this.onKey(event));
    const figure = make("figure", { id: `plot-${panel.key}` }, make("figcaption", {}, `${panel.title}, ${panel.unit}`), box);
    this.place.append(figure);
    return figure;
  }

  private pinAtCursor(plot: uPlot): void {
    const time = plot.posToVal(plot.cursor.left ?? -1, "x");
    if (time >= 0) this.cursor.pin(time);
  }

  /** Arrow keys move the pinned time by a sample, with Shift by ten; Home and End go to the ends. */
  private onKey(event: KeyboardEvent): void {
    const times = this.picture?.panels[0]?.times ?? [];
    if (times.length === 0) return;
    const nearest = times.findIndex((time) => time >= (this.cursor.time ?? 0));
    const at = nearest < 0 ? times.length - 1 : nearest;
    const step = event.shiftKey ? 10 : 1;
    const target = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: times.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.cursor.pin(times[Math.min(times.length - 1, Math.max(0, target))]!);
  }

  private resize(): void {
    for (const { plot, figure } of this.drawn.values()) {
      const width = figure.querySelector(".plot")!.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }

  private options(panel: Panel, width: number): uPlot.Options {
    const axis = { stroke: style("--text"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line") } };
    const flows = panel.key === "cwnd" ? panel.curves.length : 0;
    return {
      width,
      height: HEIGHT,
      cursor: { sync: { key: "cwndlab" }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: { x: { time: false }, y: { range: (_, __, high) => range(Math.max(high ?? 0, flows ? this.highestMark() : 0), flows) } },
      axes: [axis, { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => (tick < 0 ? "" : digits(tick))) }],
      series: [
        { label: "s", value: (_, time) => (time === null ? "–" : digits(time)) },
        ...panel.curves.map((curve) => ({
          label: curve.label,
          stroke: colour(curve.position),
          dash: dash(curve.position),
          width: 1.7,
          spanGaps: true,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value === null ? "–" : digits(value)),
        })),
      ],
      hooks: { draw: [(plot) => this.onDraw(plot, panel.key)] },
    };
  }

  /** Windows at events may lie above those of all samples. */
  private highestMark(): number {
    const shown = this.picture?.marks.filter((mark) => mark.kind in SIGNS) ?? [];
    return shown.reduce((most, mark) => Math.max(most, mark.cwnd), 0);
  }

  private onDraw(plot: uPlot, key: string): void {
    if (key === "cwnd" && this.picture) draw(plot, this.picture);
    if (this.cursor.time === undefined) return;
    const { ctx, bbox } = plot;
    const x = Math.round(plot.valToPos(this.cursor.time, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save();
    ctx.setLineDash([]);
    ctx.strokeStyle = style("--focus");
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

/** From zero, with room above, and below for the strips of the flows. */
function range(high: number, flows: number): [number, number] {
  const top = (high || 1) * 1.06;
  const inner = HEIGHT - 60 - room(flows);
  return [flows ? (-top * room(flows)) / Math.max(inner, 40) : 0, top];
}

/** What a reader who does not see the plot is told: the mean and the ends of each curve. */
function describe(panel: Panel): string {
  const parts = panel.curves.map((curve) => {
    const values = curve.values.filter((value) => value !== null);
    if (values.length === 0) return `${curve.label}: no values`;
    let [least, most, sum] = [Infinity, -Infinity, 0];
    for (const value of values) {
      least = Math.min(least, value);
      most = Math.max(most, value);
      sum += value;
    }
    return `${curve.label}: mean ${digits(sum / values.length)}, from ${digits(least)} to ${digits(most)}`;
  });
  return `${panel.title} over time, ${panel.unit}. ${parts.join("; ")}. Arrow keys move the time that is explained below.`;
}
