// The page from top to bottom.

const data = JSON.parse(document.getElementById("data").textContent);

function machineOf({label, host}, several) {
  const cores = host.cores ? `${host.cores} ${host.virtual ? "virtual " : ""}${host.cores === 1 ? "core" : "cores"}` : "";
  const memory = typeof host.memory === "number" ? human(host.memory, "bytes") : "";
  const built = [host.compiler, host.flags].filter(Boolean).join(", ");
  return element("div", {class: "machine"},
    element("div", {}, several ? element("span", {class: "tag"}, label) : "", several ? " " : "",
            element("b", {}, host.cpu || "an unknown machine"), [cores, memory, host.os, host.kernel].filter(Boolean).map(text => `, ${text}`).join("")),
    built ? element("div", {}, "built by ", element("code", {}, built)) : "",
    host.commit ? element("div", {}, "commit ", element("code", {}, host.commit)) : "");
}

// The best of these rows, by measured or, for others, by published figures.
const bestOf = (metric, rows, valuesOf) => firstOf(rows, valuesOf, better(metric.metric, metric.unit));
const worstOf = (metric, rows, valuesOf) => firstOf(rows, valuesOf, -better(metric.metric, metric.unit));

function firstOf(rows, valuesOf, direction) {
  let best = null;
  for (const row of rows) {
    for (const value of valuesOf(row)) {
      if (!best || (value.median - best.value.median) * direction > 0) best = {row, value};
    }
  }
  return best;
}

function comparison(metric, ours, other, what) {
  const direction = better(metric.metric, metric.unit);
  if (!ours || !other || direction === 0 || !(ours.value.median > 0) || !(other.value.median > 0)) return "";
  const [least, greatest] = [other.value.min ?? other.value.median, other.value.max ?? other.value.median];
  if (least <= ours.value.max && greatest >= ours.value.min) return element("div", {class: "soft"}, `cannot be told from ${nameOf(other.row)}${what}`);
  const times = (ours.value.median / other.value.median) ** direction;
  return element("div", {}, element("b", {}, `${threeDigits(Math.max(times, 1 / times))} ×`),
                 ` ${times > 1 ? "better than" : "behind"} ${nameOf(other.row)}${what}`);
}

function summaryRow(experiment, metric, run) {
  const of = row => row.values.filter(value => value.run === run);
  const measured = metric.rows.filter(row => of(row).length);
  const ours = bestOf(metric, measured.filter(isOurs), of);
  const shown = ours ?? bestOf(metric, measured, of);
  const rivals = measured.filter(row => !isOurs(row) && row.engine !== "floor" && row.engine !== "prototype");  // sketches
  const here = bestOf(metric, rivals.length ? rivals : measured.filter(row => !isOurs(row)), of);
  const told = bestOf(metric, metric.rows.filter(row => !isOurs(row)), row => row.published.flatMap(p => endsOf(p).map(median => ({median, source: p.source}))));
  const worst = !here && !told ? worstOf(metric, measured, of) : null;
  const failed = experiment.runs[run].failures.length;
  const link = element("a", {href: metric.workload ? `#peers-${metric.workload}` : `#${experiment.name}`}, metric.workload ? `peers: ${[metric.workload, metric.form].filter(Boolean).join(", ")}` : experiment.name);
  const label = experiment.runs[run].label;
  return element("tr", {}, element("th", {class: "word", scope: "row"}, link, label ? " " : "", label ? element("span", {class: "tag"}, label) : ""),
    element("td", {class: "word"},
      shown ? element("div", {}, element("b", {class: isOurs(shown.row) ? "ours" : ""}, withUnit(shown.value.median, metric.unit)),
                      shown.row.variant || !isOurs(shown.row) ? ` ${isOurs(shown.row) ? shown.row.variant : nameOf(shown.row)}` : "") : "no result",
      shown ? element("div", {class: "soft"}, `${titleOf(metric.metric).toLowerCase()}, `,
                      spreadSpan(shown.value, metric.unit, scaleOf(shown.value.median, metric.unit)[0])) : "",
      failed ? element("div", {class: "failed"}, `${count(failed, "run")} failed`) : ""),
    element("td", {class: "word"}, comparison(metric, ours, here, ""),
      worst && worst.row !== shown.row ? element("div", {}, "at the other end: ", element("b", {}, withUnit(worst.value.median, metric.unit)), ` ${nameOf({...worst.row, engine: worst.row.variant, variant: ""})}`) : "",
      told ? comparison(metric, ours, told, ` (published: ${told.value.source}${experiment.runs[run].other_sizes.length ? ", other sizes" : ""})`) : ""));
}

function summaryRows(experiment) {
  const workloads = [...new Set(experiment.metrics.map(metric => metric.workload))];
  return workloads.flatMap(workload => {
    const metric = headlineOf(experiment.metrics.filter(m => m.workload === workload));
    const forms = workload ? formsOf(metric) : [metric];
    return forms.flatMap(form => experiment.runs.map((_, run) => summaryRow(experiment, form, run)));
  });
}

function summaryOf(experiments) {
  const values = experiments.flatMap(e => e.metrics.filter(m => !m.of_process).flatMap(m => m.rows.flatMap(row => row.values)));
  const wide = values.filter(isWide).length;
  const failed = experiments.reduce((sum, e) => sum + e.runs.reduce((n, run) => n + run.failures.length, 0), 0);
  return element("section", {id: "summary"}, element("h2", {}, "In one minute"),
    element("p", {class: "lead"}, "Troupe’s figure of each experiment, the best of its variants, compared with the best of the others: "
            + "those that ran here in the same experiment, and those that were published. What was published comes from other machines: it is for orientation. Where spreads overlap, nothing can be told."),
    element("p", {}, element("span", {class: failed ? "wide" : ""}, failed ? `${count(failed, "run")} failed.` : "No run failed."), " ",
            wide ? element("span", {}, `${wide} of ${values.length} figures have a spread of more than ${100 * WIDE} % of their median and are marked `,
                           element("span", {class: "wide"}, "↔ like this"), ": do not build on them.")
                 : values.every(value => value.runs === 1) ? "Everything ran once: how far runs differ is not known."
                 : `No figure’s spread is more than ${100 * WIDE} % of its median.`),
    tableOf(["", "here: median, least – greatest", "in comparison"], experiments.flatMap(summaryRows), "summary"));
}

function contentsOf(experiments, timelines) {
  const entries = [["summary", "In one minute"], ...experiments.map(e => [e.name, e.name]),
                   ...(timelines.length ? [["timelines", "timelines"]] : [])];
  return [element("h2", {}, "Contents"),
          element("ul", {}, entries.map(([id, text]) => element("li", {}, element("a", {href: `#${id}`}, text))))];
}

function build() {
  const {machines, experiments, timelines} = data;
  sizes.disconnect();
  charts.clear();
  document.getElementById("page").replaceChildren(...[
    element("h1", {}, "What Troupe’s lab measured"),
    element("p", {class: "lead"}, [count(experiments.length, "experiment"), machines.length > 1 ? `${machines.length} machines or programs` : ""].filter(Boolean).join(", ")
            + ": what was asked, what others published, what came out here, and what it means."),
    machines.length ? element("div", {class: "machines"}, machines.map(machine => machineOf(machine, machines.length > 1))) : null,
    experiments.length ? summaryOf(experiments) : null,
    ...experiments.map(experiment => sectionOf(experiment, machines)),
    timelines.length ? element("section", {id: "timelines"}, element("h2", {}, "timelines"),
                               element("p", {class: "asks"}, "What was every worker busy with?"), timelines.map(timelineOf)) : null,
  ].filter(Boolean));
  document.getElementById("contents").replaceChildren(...contentsOf(experiments, timelines));
  watchCharts();
}

build();
wantsDark.addEventListener("change", build);  // charts and keys have the colours of one scheme
