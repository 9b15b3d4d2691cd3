/** Marks are drawn on a grid with this many units per side, which a chart stretches to its size. */
export const GRID = 1000;

/** A point on the grid, in whole units from the upper left corner. */
export type Point = readonly [x: number, y: number];

/** The x coordinate on the grid for a share of the axis. */
export function gridX(share: number): number {
  return Math.round(GRID * Math.min(2, Math.max(-1, share)));
}

/** The y coordinate on the grid, counted from the top, for a share counted from the bottom. */
export function gridY(share: number): number {
  return gridX(1 - share);
}

/**
 * An SVG path through points in the fewest characters: one absolute point, then relative steps. A `null` is a gap. Points that do not
 * change the extent of their column are omitted, so a path has at most four points per column.
 */
export function polyline(points: Iterable<Point | null>): string {
  let path = "";
  let run: Point[] = [];
  for (const point of points) {
    if (point !== null) run.push(point);
    else {
      path += runPath(run);
      run = [];
    }
  }
  return path + runPath(run);
}

function runPath(points: readonly Point[]): string {
  const kept = thinned(points);
  if (kept.length === 0) return "";
  let [x, y] = kept[0]!;
  let path = `M${x}${signed(y)}${kept.length === 1 ? "h0" : "l"}`;
  for (const [i, [nextX, nextY]] of kept.slice(1).entries()) {
    path += `${i === 0 ? nextX - x : signed(nextX - x)}${signed(nextY - y)}`;
    [x, y] = [nextX, nextY];
  }
  return path;
}

/** The first, lowest, highest and last point of each column, in their order. */
function thinned(points: readonly Point[]): readonly Point[] {
  const kept: Point[] = [];
  for (let from = 0; from < points.length; ) {
    let to = from;
    let [low, high] = [from, from];
    for (; to < points.length && points[to]![0] === points[from]![0]; to++) {
      if (points[to]![1] < points[low]![1]) low = to;
      if (points[to]![1] > points[high]![1]) high = to;
    }
    for (const i of [...new Set([from, low, high, to - 1])].sort((a, b) => a - b)) kept.push(points[i]!);
    from = to;
  }
  return kept;
}

/** A filled area between two lines over the same columns; gaps split it. */
export function area(
  columns: readonly { readonly x: number; readonly top: number; readonly bottom: number }[],
): string {
  if (columns.length === 0) return "";
  const upper = columns.map(({ x, top }): Point => [x, top]);
  const lower = columns.map(({ x, bottom }): Point => [x, bottom]).reverse();
  return `${runPath([...upper, ...lower])}z`;
}

/** A rectangle between two corners. */
export function box(x0: number, y0: number, x1: number, y1: number): string {
  return `M${x0}${signed(y0)}H${x1}V${y1}H${x0}z`;
}

/** A straight line. */
export function segment(x0: number, y0: number, x1: number, y1: number): string {
  const start = `M${x0}${signed(y0)}`;
  if (x0 === x1) return `${start}V${y1}`;
  return y0 === y1 ? `${start}H${x1}` : `${start}L${x1}${signed(y1)}`;
}

/** A point, which a round line cap turns into a dot. */
export function dot(x: number, y: number): string {
  return `M${x}${signed(y)}h0`;
}

/** A number that follows another one: a minus sign separates them, or else a space. */
function signed(value: number): string {
  return value < 0 ? String(value) : ` ${value}`;
}
