// An experiment's part of the page.

const optionsOf = run => Object.entries(run.options)
  .flatMap(([name, value]) => value !== null && typeof value === "object"
    ? [`${name} (${Object.entries(value).map(([n, v]) => `${n} ${say(v)}`).join(", ")})`] : [`${name} ${say(value)}`])
  .join(", ");
const say = value => typeof value === "number" ? human(value, "1") : String(value);

function otherSizesOf(run) {
  if (!run.other_sizes.length) return null;
  const each = run.other_sizes.map(size => `${size.name} ${human(size.value, "1")} instead of ${human(size.own, "1")}`);
  return element("p", {class: "fine"}, element("span", {class: "other"}, `${run.label ? run.label + ": o" : "O"}ther sizes than those of the published figures`),
                 `: ${each.join(", ")}.`);
}

const count = (number, one, several = one + "s") => `${number} ${number === 1 ? one : several}`;

function failuresOf(run) {
  if (!run.failures.length) return null;
  const each = new Map();
  for (const failure of run.failures) each.set(failure, (each.get(failure) ?? 0) + 1);
  return element("div", {class: "failed", role: "note"},
    `${run.label ? run.label + ": " : ""}${count(run.failures.length, "run")} failed, and ${run.failures.length === 1 ? "has" : "have"} no part in the figures:`,
    element("ul", {}, [...each].map(([text, times]) => element("li", {}, times > 1 ? `${text} (${times} times)` : text))));
}

// The notes of the runs; a text that several variants share is shown once.
function remarksOf(run) {
  if (!run.notes.length) return null;
  return element("div", {class: "fine"}, run.label ? `${run.label}: remarks` : "Remarks",
    element("ul", {}, run.notes.map(note => element("li", {}, note))));
}

function answerOf(run) {
  return run.answer ? element("p", {class: "answer"}, `${run.label ? run.label + ": " : ""}${run.answer}`) : null;
}

// The spread, marked if it is wide; in the unit of the median if that has a unit of its own.
function spreadSpan(value, unit, by = 1) {
  const text = spreadText(value, unit, by);
  if (!isWide(value)) return element("span", {class: "soft"}, text);
  return element("span", {class: "wide", title: `The runs differ by ${Math.round(100 * spreadOf(value))} % of the median`}, `↔ ${text}`);
}

// The median, and the spread beside it, or below it if there is no space.
function measuredCell(value, unit, median, by = 1) {
  return cell("number", [median, " ", element("span", {class: "range"}, spreadSpan(value, unit, by))]);
}

function nameCell(line) {
  const {row, run} = line;
  return element("th", {class: `word ${isOurs(row) ? "ours" : ""}`, scope: "row"}, row.engine,
                 row.variant ? `: ${row.variant}` : "", run?.label ? " " : "",
                 run?.label ? element("span", {class: "tag"}, run.label) : "");
}

function metricTable(metric, runs) {
  const sources = sourcesOf(metric);
  const lines = linesOf(metric, runs);
  const rows = lines.map(line => element("tr", {}, nameCell(line),
    line.value ? measuredCell(line.value, metric.unit, human(line.value.median, metric.unit)) : cell("number", ["–", " ", element("span", {class: "range"})]),
    sources.length ? cell("number published", line.published.map(one => element("div", {title: one.source},
      sources.length > 1 ? markOf(shapeOf(sources, one.source)) : "", endsOf(one).map(value => human(value, metric.unit)).join(" – ")))) : null));
  const head = ["", measuredHead(), ...(sources.length ? [sources.length > 1 ? "published" : `published: ${sources[0]}`] : [])];
  return element("div", {class: "table"}, tableOf(head, rows));
}

function figureOf(metric, runs, title = "") {
  const direction = {"1": "more is better", "-1": "less is better", "0": ""}[better(metric.metric, metric.unit)];
  const lines = linesOf(metric, runs);
  const head = element("header", {}, element("h3", {}, title || titleOf(metric.metric)),
    element("span", {}, [unitOf(metric.unit), direction].filter(Boolean).join(", ")));
  const table = metricTable(metric, runs);
  if (marksOf(metric, runs) < 2) return element("div", {class: "figure"}, head, table);
  const {box, logarithmic, sources} = chartOf(metric, runs);
  const legend = sources.map(source => element("span", {}, markOf(shapeOf(sources, source)), `published: ${source}`));
  if (lines.some(line => line.value?.runs > 1)) legend.push(element("span", {}, "├──┤ least to greatest"));
  if (logarithmic) legend.push(element("span", {}, "logarithmic: each line is ten times the one before"));
  return element("div", {class: "figure"}, head, element("div", {class: "beside"},
    element("div", {}, box, element("p", {class: "legend"}, legend)),
    lines.length > 20 ? foldOf(`The table: ${lines.length} rows`, () => table) : table));
}

const measuredHead = () => ["median ", element("span", {class: "range"}, "least – greatest")];

const marksOf = (metric, runs) => linesOf(metric, runs).reduce((sum, line) => sum + (line.value ? 1 : 0) + line.published.length, 0);

// Figures without others to compare with need no chart.
function lonelyOf(metrics, runs) {
  const rows = metrics.flatMap(metric => linesOf(metric, runs).filter(line => line.value).map(line => element("tr", {},
    element("th", {class: "word", scope: "row"}, titleOf(metric.metric)),
    measuredCell(line.value, metric.unit, withUnit(line.value.median, metric.unit), scaleOf(line.value.median, metric.unit)[0]))));
  return element("div", {class: "figure lonely"}, element("div", {class: "table"}, tableOf(["", measuredHead()], rows)));
}

function allOf(metrics, runs) {
  const lonely = metrics.filter(metric => marksOf(metric, runs) === 1);
  return [metrics.filter(metric => !lonely.includes(metric)).map(metric => figureOf(metric, runs)),
          lonely.length ? lonelyOf(lonely, runs) : null];
}

const hasPublished = metric => metric.rows.some(row => row.published.length);
const hasBoth = metric => hasPublished(metric) && metric.rows.some(row => row.values.length);

// The main metric of an experiment: one that answers its question, otherwise one with published
// figures, otherwise the first.
const ANSWERS = ["share_of_bound", "two_to_one"];
function headlineOf(metrics) {
  const own = metrics.filter(metric => !metric.of_process);
  return own.find(metric => ANSWERS.includes(metric.metric)) ?? own.find(hasBoth) ?? own[0] ?? metrics[0];
}

function processTable(experiment) {
  const metrics = experiment.metrics.filter(metric => metric.of_process);
  const heads = [...new Set(metrics.map(metric => metric.metric))];
  const rows = new Map();
  for (const metric of metrics) {
    for (const line of linesOf(metric, experiment.runs)) {
      if (!line.value) continue;
      const key = JSON.stringify([metric.workload, nameOf(line.row), line.value.run]);
      if (!rows.has(key)) rows.set(key, {line, workload: metric.workload, values: {}});
      rows.get(key).values[metric.metric] = [line.value, metric.unit];
    }
  }
  return element("div", {class: "table"}, tableOf(["", ...heads.map(titleOf)], [...rows.values()].map(({line, workload, values}) => {
    const name = nameCell(line);
    if (workload) name.prepend(`${workload}, `);
    return element("tr", {}, name, heads.map(head => {
      const found = values[head];
      if (!found) return cell("", "–");
      const [value, unit] = found;
      return cell("number", isWide(value) ? element("span", {class: "wide", title: `${spreadText(value, unit)}`}, `↔ ${withUnit(value.median, unit)}`)
                                          : withUnit(value.median, unit));
    }));
  })));
}

const MOST_CHARTS = 4;  // number of charts that are open at first, provided that
const MOST_LINES = 12;  // they have at most this number of lines; the first is always open

function figuresOf(experiment) {
  const own = experiment.metrics.filter(metric => !metric.of_process || hasPublished(metric));
  const headline = headlineOf(own);
  const others = own.filter(metric => metric !== headline);
  const small = others.filter(metric => linesOf(metric, experiment.runs).length <= MOST_LINES);
  const open = small.length < MOST_CHARTS && small.length === others.length ? others : small.filter(hasBoth).slice(0, MOST_CHARTS - 1);
  const folded = others.filter(metric => !open.includes(metric));
  return [allOf(headline ? [headline, ...open] : open, experiment.runs),
          folded.length ? foldOf(`${count(folded.length, "more figure")}: ${folded.map(m => titleOf(m.metric)).join(" · ")}`,
                                 () => { queueMicrotask(watchCharts); return allOf(folded, experiment.runs).flat(Infinity).filter(Boolean); }) : null];
}

// Makes each form of other engines' workloads a metric of its own.
function formsOf(metric) {
  const forms = [...new Set(metric.rows.filter(row => row.values.length).map(row => row.variant))];
  return forms.map((form, i) => {
    const rows = metric.rows.filter(row => row.variant === form).map(row => ({...row, variant: ""}));
    // Published figures of forms that were not run here are shown with the first form.
    if (i === 0) rows.push(...metric.rows.filter(row => !forms.includes(row.variant)));
    return {...metric, rows, form};
  });
}

function workloadsOf(experiment) {
  return Object.entries(experiment.workloads).map(([workload, asks]) => [
    element("h3", {id: `peers-${workload}`}, workload), element("p", {class: "fine"}, asks),
    experiment.metrics.filter(metric => metric.workload === workload && !metric.of_process).flatMap(formsOf)
      .map(metric => figureOf(metric, experiment.runs, [titleOf(metric.metric), metric.form].filter(Boolean).join(", "))),
  ]);
}

function sectionOf(experiment, machines) {
  const several = experiment.runs.length > 1;
  const isPeers = Object.keys(experiment.workloads).length > 0;
  const notes = experiment.runs.map(run => element("p", {class: "fine"},
    [several ? `${run.label}:` : "", `${run.file};`, optionsOf(run), machines.length > 1 && !several ? `; machine ${machines[run.machine].label}` : "",
     typeof run.load === "number" ? `; load ${human(run.load, "1")}` : "",
     run.engines.length ? `; ${run.engines.map(e => e.version).join(", ")}` : ""].filter(Boolean).join(" ").replaceAll(" ;", ";")));
  const absent = experiment.runs.flatMap(run => run.left_out.map(one =>
    element("p", {class: "fine"}, `${run.label ? run.label + ": " : ""}${one.engine} took no part: ${one.why}`)));
  const empty = experiment.metrics.every(metric => metric.rows.every(row => !row.values.length));
  return element("section", {id: experiment.name},
    element("h2", {}, experiment.name),
    element("p", {class: "asks"}, experiment.asks || "This program does not know the experiment; here is what the file says."),
    experiment.runs.map(answerOf),
    experiment.runs.map(failuresOf),
    experiment.runs.map(otherSizesOf),
    empty ? element("p", {class: "failed"}, "The file has no results.") : null,
    experiment.means ? element("p", {class: "means"}, element("b", {}, "What it means"), experiment.means) : null,
    isPeers ? workloadsOf(experiment) : figuresOf(experiment),
    experiment.timelines.map(timelineOf),
    experiment.metrics.some(metric => metric.of_process)
      ? foldOf("What the operating system says of the processes", () => processTable(experiment)) : null,
    experiment.runs.map(remarksOf), notes, absent);
}
