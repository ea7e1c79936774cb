// A trace: a lane for each worker, which shows for each part of the time how it was spent.

const LANE = 30, GAP = 8, AXIS = 26;

function colourOfWhat(trace, what) {
  const special = trace.names.length - 3;  // besides the handlers: others, looks for work
  if (what === special) return colourOf("--soft");
  if (what === special + 1) return wantsDark.matches ? "#6b5d2f" : "#ecd9a0";
  if (what === special + 2) return wantsDark.matches ? "#4a5058" : "#cfd3d8";
  if (what === 0) return colourOf("--troupe");
  return `hsl(${[205, 28, 268, 330, 95][(what - 1) % 5]} 34% ${wantsDark.matches ? 58 : 58}%)`;
}

function timeOf(us) {
  if (us >= 1e6) return `${threeDigits(us / 1e6)} s`;
  if (us >= 1e3) return `${threeDigits(us / 1e3)} ms`;
  return `${threeDigits(us)} µs`;
}

function tickStep(length, most) {
  let step = 10 ** Math.floor(Math.log10(length));
  while (length / step < most / 2.5) step /= step.toExponential()[0] === "5" ? 2.5 : 2;
  return step;
}

function drawTimeline(trace, canvas, width) {
  const most = Math.max(1, ...trace.replaced);
  const showsReplaced = Math.max(...trace.replaced) > 0.005;
  const height = trace.lanes.length * (LANE + GAP) + (showsReplaced ? LANE + GAP : 0) + AXIS;
  const scale = devicePixelRatio || 1;
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = `12px ${Chart.defaults.font.family}`;
  const names = trace.lanes.map(lane => lane.name).concat(showsReplaced ? ["replaced"] : []);
  const left = 10 + Math.min(width / 3, Math.max(...names.map(name => context.measureText(name).width)));
  const right = 12;
  const part = (width - left - right) / trace.parts;
  const x = index => Math.round((left + part * index) * scale) / scale;  // avoids stripes

  context.textBaseline = "middle";
  trace.lanes.forEach((lane, at) => {
    const top = at * (LANE + GAP);
    context.fillStyle = colourOf("--faint");
    context.fillRect(left, top, width - left - right, LANE);
    const filled = new Float32Array(trace.parts);
    for (const [first, last, what, percent] of lane.all) {
      context.fillStyle = colourOfWhat(trace, what);
      for (let i = first; i <= last; ++i) {
        const size = LANE * percent / 100;
        context.fillRect(x(i), top + LANE - filled[i] - size, x(i + 1) - x(i), size);
        filled[i] += size;
      }
    }
    context.fillStyle = colourOf("--ink");
    context.fillText(lane.name, 0, top + LANE / 2, left - 8);
  });

  let bottom = trace.lanes.length * (LANE + GAP);
  if (showsReplaced) {
    context.fillStyle = colourOf("--faint");
    context.fillRect(left, bottom, width - left - right, LANE);
    context.fillStyle = colourOf("--published");
    trace.replaced.forEach((threads, i) => {
      const size = LANE * threads / most;
      context.fillRect(x(i), bottom + LANE - size, x(i + 1) - x(i), size);
    });
    context.fillStyle = colourOf("--ink");
    context.fillText("replaced", 0, bottom + LANE / 2, left - 8);
    bottom += LANE + GAP;
  }

  context.fillStyle = colourOf("--soft");
  context.textAlign = "center";
  const step = tickStep(trace.length_us, width < 500 ? 4 : 8);
  for (let at = 0; at <= trace.length_us; at += step) {
    const here = left + (width - left - right) * at / trace.length_us;
    context.fillRect(here, bottom - GAP + 2, 1, 5);
    const text = timeOf(at), half = context.measureText(text).width / 2;
    context.fillText(at === 0 ? "0" : text, Math.min(here, width - half), bottom + 10);
  }
}

function timelineOf(trace) {
  const canvas = element("canvas", {role: "img", "aria-label": "Timeline: the table has the times"});
  const box = element("div", {class: "chart"}, canvas);
  let drawn = 0;
  charts.set(box, () => {
    if (box.clientWidth === 0 || drawn === box.clientWidth) return;
    drawn = box.clientWidth;
    drawTimeline(trace, canvas, drawn);
  });

  const used = new Set(trace.lanes.flatMap(lane => lane.all.map(one => one[2])));
  const legend = trace.names.map((name, what) => used.has(what) && element("span", {},
    element("i", {class: "key", style: `background: ${colourOfWhat(trace, what)}`}), name)).filter(Boolean);
  const most = Math.max(...trace.replaced);
  if (most > 0.005) {
    legend.push(element("span", {}, element("i", {class: "key", style: "background: var(--published)"}),
                        `replaced: up to ${human(Math.ceil(most), "1")} threads in handlers that last`));
  }
  const busy = trace.lanes.map(lane => element("tr", {}, element("th", {class: "word", scope: "row"}, lane.name),
    cell("number", timeOf(lane.busy_us)), cell("number", `${Math.round(100 * lane.busy_us / trace.length_us)} %`)));
  const handlers = trace.handlers.map(one => element("tr", {}, element("th", {class: "word", scope: "row"}, one.name),
    cell("number", one.running_us > 0 ? timeOf(one.running_us) : "–"),
    cell("number", one.replaced_us > 0 ? timeOf(one.replaced_us) : "–")));
  const notes = [`${trace.file}, ${timeOf(trace.length_us)}, ${human(trace.slices, "1")} slices.`,
                 trace.lanes_left_out ? `${trace.lanes_left_out} more lanes are left out.` : "",
                 trace.ends_early ? "The file ends early: the program died, or still ran." : ""];
  return element("div", {class: "figure"},
    element("header", {}, element("h3", {}, trace.title ? `Timeline: ${trace.title}` : "Timeline"),
            element("span", {}, "how full a lane is says how busy it was; what is empty is a gap")),
    box, element("p", {class: "legend"}, legend),
    foldOf("The times as tables", () => element("div", {class: "beside"},
      element("div", {class: "table"}, tableOf(["handled", "running", "replaced"], handlers)),
      element("div", {class: "table"}, tableOf(["lane", "busy", "of the time"], busy)))),
    element("p", {class: "fine"}, notes.filter(Boolean).join(" ")));
}
