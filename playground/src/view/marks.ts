// Events and phases in the plot of the windows. Shapes, and not colours alone, tell them apart.

import type uPlot from "uplot";
import { colour } from "./palette";
import type { Mark, Phase, Picture } from "./series";

/** Marked events, their signs and their words in the key. */
export const SIGNS: Record<string, { sign: Sign; word: string }> = {
  "slow-start-exit": { sign: "diamond", word: "slow-start exit" },
  recovery: { sign: "triangle", word: "loss, recovery begins" },
  timeout: { sign: "cross", word: "retransmission timeout" },
  ecn: { sign: "square", word: "reduction by ECN" },
};

type Sign = "diamond" | "triangle" | "cross" | "square";

/** Events of a kind that are marked at most. */
const MOST = 300;
/** Heights of a phase's strip, in CSS pixels. */
const HEIGHTS: Record<Phase, number> = { "slow start": 8, recovery: 5, "congestion avoidance": 1.5 };
const LANE = 10;

/** Room that the strips of some flows take below the curves, CSS pixels. */
export function room(flows: number): number {
  return flows * LANE;
}

function outline(context: CanvasRenderingContext2D, sign: Sign, x: number, y: number, r: number): void {
  context.beginPath();
  if (sign === "square") {
    context.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
  } else if (sign === "cross") {
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
  } else {
    const corners = sign === "diamond" ? [[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]] : [[0, 1.1], [1.1, -0.9], [-1.1, -0.9]];
    for (const [dx, dy] of corners) context.lineTo(x + dx! * r, y + dy! * r);
    context.closePath();
  }
}

function drawMark(plot: uPlot, mark: Mark, ratio: number): void {
  const sign = SIGNS[mark.kind];
  if (!sign) return;
  const x = plot.valToPos(mark.time, "x", true);
  const y = plot.valToPos(mark.cwnd, "y", true);
  if (x < plot.bbox.left || x > plot.bbox.left + plot.bbox.width) return;
  const { ctx } = plot;
  outline(ctx, sign.sign, x, y, 5 * ratio);
  ctx.setLineDash([]);
  ctx.strokeStyle = colour(mark.flow);
  ctx.lineWidth = (sign.sign === "cross" ? 2.5 : 1.5) * ratio;
  ctx.stroke();
}

/** Draws the marks, and a strip for each flow below the curves: high in slow start, half in recovery, else a line. */
export function draw(plot: uPlot, picture: Picture): void {
  const ratio = devicePixelRatio;
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const counts: Record<string, number> = {};
  for (const mark of picture.marks) {
    counts[mark.kind] = (counts[mark.kind] ?? 0) + 1;
    if (counts[mark.kind]! <= MOST) drawMark(plot, mark, ratio);
  }
  for (const span of picture.phases) {
    const left = plot.valToPos(span.from, "x", true);
    const right = plot.valToPos(span.to, "x", true);
    const bottom = bbox.top + bbox.height - (span.flow * LANE + 1) * ratio;
    const height = HEIGHTS[span.phase] * ratio;
    ctx.fillStyle = colour(span.flow);
    ctx.fillRect(left, bottom - height, Math.max(right - left, ratio), height);
  }
  ctx.restore();
}
