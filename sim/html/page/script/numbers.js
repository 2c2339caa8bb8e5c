// Numbers as people read them.

const TIME_UNITS = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]];
const timeUnit = (seconds) => TIME_UNITS.find(([, size]) => seconds >= size) ?? TIME_UNITS[3];
const SIZE_UNITS = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
const sizeUnit = (count) => SIZE_UNITS.find(([, one]) => count >= one) ?? SIZE_UNITS[3];

const digits = (value, count = 4) => {
  if (value === 0) return "0";
  return String(Number(value.toPrecision(count)));
};
const duration = (seconds) => {
  if (seconds === 0) return "0 s";
  const [unit, size] = timeUnit(Math.abs(seconds));
  return `${digits(seconds / size)} ${unit}`;
};
const bytes = (count) => {
  const [unit, size] = sizeUnit(count);
  return `${digits(count / size)} ${unit}`;
};
const tenths = (ratio) => (Math.round(1000 * ratio) / 10 + 0).toFixed(1); // "+ 0": never "-0.0"
const percent = (ratio) => `${tenths(ratio)} %`;

/** "12 345.6": from five digits on in threes, with blanks that do not break. */
const inThrees = (text) => {
  const [whole, rest] = text.split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  return rest === undefined ? grouped : `${grouped}.${rest}`;
};

/** How a column of numbers is written: the unit between its least and its greatest, and as many decimals in each cell. */
function columnFormat(values, unitOf) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  const low = sorted[Math.floor(sorted.length / 10)] ?? 1; // few are smaller
  const high = sorted.at(-1) ?? 1;
  const [unit, size] = unitOf(Math.sqrt(low * high));
  const wanted = 3 - Math.floor(Math.log10(low / size)); // four digits of the small ones
  const decimals = Math.max(0, Math.min(wanted, high < size ? 7 : 3, 5 - Math.floor(Math.log10(high / size))));
  return { unit, write: (value) => (value === null ? "–" : inThrees((value / size).toFixed(decimals))) };
}
