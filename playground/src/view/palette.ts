// Colours that colour-blind readers tell apart (M. Okabe, K. Ito, 2008), as in python/cwndlab/plot/palette.py, and a
// pattern of dashes for each, so that no colour has to be seen.

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C6D31", "#56B4E9", "#E69F00", "#808080"];
// The same hues, of enough contrast on a dark background.
const DARK = ["#56B4E9", "#F0803C", "#2EC4A0", "#E09BC4", "#C9A26B", "#8FD0F5", "#E69F00", "#B0B0B0"];
const DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 5], [5, 2, 1, 2, 1, 2], [4, 4], [1, 2]];

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colour(position: number): string {
  const colours = isDark() ? DARK : LIGHT;
  return colours[position % colours.length]!;
}

export function dash(position: number): number[] {
  return DASHES[position % DASHES.length]!;
}

/** The value of a custom property of the style sheet. */
export function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
