// How numbers and names are written, and whether more or less is better.

const NAMED = {
  rate: "Rate", wall_s: "Wall time", cpu_s: "Processor time", peak_rss: "Peak memory", switches: "Switches: it waited",
  preemptions: "Switches: others got the core", bytes_per_actor: "Memory of each actor", ns_per_cycle: "Time of a cycle",
  share_of_bound: "Share of what the cores can do", each: "Each", each_p99: "Each, 99 of 100", switch: "Switch",
};

const UNITS = {us: "µs", "us/s": "µs/s"};
const unitOf = unit => unit === "1" ? "" : UNITS[unit] ?? unit;

function titleOf(metric) {
  if (NAMED[metric]) return NAMED[metric];
  const words = metric.replace(/_s$/, "").replace(/_p50$/, ", median").replace(/_p99$/, ", 99 of 100")
                      .replace(/_max$/, ", the greatest").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function threeDigits(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.01) return value.toPrecision(2);
  const digits = Number.isInteger(value) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return value.toFixed(digits);
}

// Formats a value as the program's own tables do: "44.3 M", "12.1 MB", "0.018".
function human(value, unit) {
  const steps = unit === "bytes" ? [" B", " kB", " MB", " GB", " TB"] : ["", " k", " M", " G", " T"];
  let thousands = 0;
  if (Math.abs(value) >= 10000) {
    while (Math.abs(value) >= 999.5 && thousands + 1 < steps.length) {
      value /= 1000;
      ++thousands;
    }
  }
  return threeDigits(value).replace("-", "−").replace(/^(\d)(\d{3})$/, "$1,$2") + steps[thousands];
}

// 12,900 µs are easier to read as 12.9 ms. Returns the factor and the resulting unit.
const TIMES = ["ns", "us", "ms", "s"];
function scaleOf(value, unit) {
  let step = TIMES.indexOf(unit), by = 1;
  while (step >= 0 && step + 1 < TIMES.length && value * by >= 10000) {
    by /= 1000;
    unit = TIMES[++step];
  }
  return [by, unit];
}

function withUnit(value, of) {
  const [by, unit] = scaleOf(value, of);
  return human(value * by, unit) + (unit === "bytes" || unit === "1" ? "" : " " + unitOf(unit));
}

// 1: more, -1: less, 0: unknown
function better(metric, unit) {
  if (/cpu|rss/.test(metric)) return -1;
  if (unit.endsWith("/s") || /share|_to_std$|^two_to_one|^sixteen_to_one/.test(metric)) return 1;
  if (["ns", "us", "ms", "s", "bytes", "cycles"].includes(unit) && metric !== "bound_s") return -1;
  return 0;
}

const WIDE = 0.3;  // a spread above this share of the median is marked
const spreadOf = value => value.median > 0 ? (value.max - value.min) / value.median : 0;
const isWide = value => value.runs > 1 && spreadOf(value) > WIDE;

const spreadText = (value, unit, by = 1) =>
  value.runs > 1 ? `${human(value.min * by, unit)} – ${human(value.max * by, unit)}` : "one run";

const nameOf = row => row.variant ? `${row.engine}: ${row.variant}` : row.engine;
const isOurs = row => row.engine === "troupe";
