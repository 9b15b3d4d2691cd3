/** From here on, the continued fraction of the Mills ratio converges within TERMS terms; below, the series of the integral does. */
const FRACTION_FROM = 2;
const TERMS = 60;

/** A normal variable with a smaller deviation is a point in float64. */
const MIN_DEVIATION = 1e-100;

/**
 * Mean of a normal variable truncated to [0, 1], accurate however far outside its centre lies.
 * @param centre and `deviation` of the variable before it is truncated; the deviation is at most 1/4.
 */
export function truncatedMean(centre: number, deviation: number): number {
  if (deviation < MIN_DEVIATION) return Math.max(0, Math.min(1, centre));
  // So that 0 is the nearer end, and 1 at least 2 deviations above the centre.
  if (centre > 0.5) return 1 - truncatedMean(1 - centre, deviation);
  const near = -centre / deviation;
  const far = near + 1 / deviation;
  if (near <= 0) {
    const inside = 1 - density(near) * mills(-near).ratio - density(far) * mills(far).ratio;
    return centre + (deviation * (density(near) - density(far))) / inside;
  }
  // Centre plus correction would cancel here. Both are divided by the density at the near end, which may underflow.
  const [ofNear, ofFar] = [mills(near), mills(far)];
  const share = Math.exp(-(near + far) / (2 * deviation));
  const above = ofNear.ratio * ofNear.excess - share * ofFar.ratio * (ofFar.excess + far - near);
  return (deviation * above) / (ofNear.ratio - share * ofFar.ratio);
}

function density(x: number): number {
  return Math.exp(-x * x * 0.5) / Math.sqrt(2 * Math.PI);
}

/** The Mills ratio of the standard normal, tail / density, and how far its inverse is above x, which grows like x. @param x at least 0. */
function mills(x: number): { readonly ratio: number; readonly excess: number } {
  if (x >= FRACTION_FROM) {
    // Laplace: the excess is 1 / (x + 2 / (x + 3 / (x + ...))).
    let excess = 0;
    for (let k = TERMS; k >= 1; k--) excess = k / (x + excess);
    return { ratio: 1 / (x + excess), excess };
  }
  let [term, sum] = [x, x];
  for (let k = 1; k < TERMS; k++) {
    term *= (x * x) / (2 * k + 1);
    sum += term;
  }
  const ratio = 0.5 / density(x) - sum;
  return { ratio, excess: 1 / ratio - x };
}
