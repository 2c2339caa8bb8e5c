// The axes of charts.

/** About `count` round numbers from 0 to `top`; the last is at least `top`. */
function linearTicks(top, count) {
  const rough = top / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let i = 0; i === 0 || ticks.at(-1) < top * 0.9999; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** An axis of powers of `base` from at most `low` to at least `high`: its ends, and at most about `count` of them. */
function logTicks(low, high, count, base = 2) {
  const power = (value) => Math.log(value) / Math.log(base);
  const from = Math.floor(power(low) + 1e-9);
  const to = Math.max(Math.ceil(power(high) - 1e-9), from + 1);
  const step = Math.ceil((to - from) / count);
  const ticks = [];
  for (let exponent = from; exponent <= to; exponent += step) ticks.push(base ** exponent);
  return { ticks, from: base ** from, to: base ** to };
}

/** The vertical axis: ticks, where a value stands from 0 to 1, and what it is called. Bars stand on 0. */
function verticalAxis(values, logarithmic, fromZero = false) {
  const { time, ratio, axis } = MEASURES[measure];
  const least = Math.min(...values), most = Math.max(...values, 0) || 1;
  const linear = (ticks, write, title) => ({ ticks, at: (v) => (v - ticks[0]) / (ticks.at(-1) - ticks[0]), write, title });
  if (ratio) return linear(linearTicks(Math.max(measure === "efficiency" ? 1 : 0, most), 5), (v) => digits(100 * v), axis);
  const wide = !fromZero && least > 0 && (measure === "speedup" ? logarithmic : most / least > 12);
  const [unit, size] = time ? timeUnit(wide ? Math.sqrt(least * most) : most) : ["", 1];
  const title = unit ? `${axis} (${unit})` : axis, write = (v) => digits(v / size, 6);
  if (!wide) {
    const ticks = linearTicks(most / size, 5).map((tick) => tick * size);
    if (fromZero || measure !== "own" || least < 0.5 * most) return linear(ticks, write, title);
    const step = linearTicks((most - least) / size, 4)[1] * size, first = Math.floor(least / step + 1e-9);
    const count = Math.max(1, Math.ceil(most / step - 1e-9) - first); // what lies close together, away from 0
    return linear(Array.from({ length: count + 1 }, (_, i) => (first + i) * step), write, title);
  }
  const { ticks, from, to } = logTicks(least / size, most / size, 8, time && most / least > 100 ? 10 : 2);
  return { ticks: ticks.map((tick) => tick * size), at: (v) => Math.log(v / size / from) / Math.log(to / from), write, title };
}

/** The horizontal axis: places in order, and where one stands from 0 to 1. */
function horizontalAxis(places) {
  const numeric = places.every(isNumeric);
  const sorted = numeric ? [...places].sort((a, b) => a - b) : places;
  const logarithmic = numeric && plot.log !== false && Number(sorted[0]) > 0;
  const value = numeric ? (logarithmic ? (place) => Math.log2(place) : Number) : (place) => sorted.indexOf(place);
  const low = value(sorted[0]);
  const across = value(sorted.at(-1)) - low || 1;
  return { places: sorted, at: (place) => (value(place) - low) / across, numeric, logarithmic };
}
