// Clopper–Pearson intervals, made where they are looked at: as gpudiy.logs.statistics makes them.

/** The rate below which so many sightings are too many (tail), or above which they are too few (1 - tail). */
function intervalOf(sightings, iterations, confidence) {
  const tail = (1 - confidence) / 2;
  return {
    low: sightings === 0 ? 0 : betaQuantile(tail, sightings, iterations - sightings + 1),
    high: sightings === iterations ? 1 : betaQuantile(1 - tail, sightings + 1, iterations - sightings),
  };
}

/** Where the cumulative beta distribution reaches a probability: halving on a logarithmic scale, which always ends. */
function betaQuantile(probability, a, b) {
  let low = -80, high = 0;  // logarithms of rates; no count is so large that a rate below e^-80 matters
  for (let step = 0; step < 64; step++) {
    const middle = (low + high) / 2;
    if (cumulativeBeta(Math.exp(middle), a, b) < probability) low = middle;
    else high = middle;
  }
  return Math.exp(high);
}

/** The regularised incomplete beta function, by its continued fraction on the side where that is quick. */
function cumulativeBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x >= 1 ? 1 : 0;
  const power = Math.exp(logPower(x, a, b));
  return x < (a + 1) / (a + b + 2) ? power * continuedFraction(x, a, b) / a : 1 - power * continuedFraction(1 - x, b, a) / b;
}

/** log(x^a (1-x)^b / B(a, b)), arranged around the mean so that large counts do not cancel. */
function logPower(x, a, b) {
  const mean = a / (a + b);
  const spread = a * Math.log(x / mean) + b * (Math.log1p(-x) - Math.log1p(-mean));
  return spread + 0.5 * Math.log(mean * b / (2 * Math.PI)) + correction(a + b) - correction(a) - correction(b);
}

/** What Stirling's formula lacks of the logarithm of the gamma function; small numbers climb until it is exact. */
function correction(x) {
  if (x <= 20) {
    const climb = (x + 0.5) * Math.log1p(1 / x) - 1;
    return climb + correction(x + 1);
  }
  const square = 1 / (x * x);
  return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x;
}

function continuedFraction(x, a, b) {
  const tiny = 1e-300, nonzero = (number) => Math.abs(number) > tiny ? number : tiny;
  let c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), result = d;
  for (let step = 1; step < 100000; step++) {
    const even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    result *= c * d;
    const odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    result *= c * d;
    if (Math.abs(c * d - 1) < 1e-13) break;
  }
  return result;
}
