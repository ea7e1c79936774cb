// One chart: a line for each row of a metric, with its median, its spread and the published
// figures.

const LOGARITHMIC_FROM = 30;  // ratio of the greatest to the least value
const wantsDark = matchMedia("(prefers-color-scheme: dark)");
const colourOf = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Each engine has one colour on the whole page, and no other engine has Troupe's.
const ENGINES = {floor: 220, go: 205, tokio: 28, kameo: 15, actix: 40, caf: 268, caf_1: 285, sobjectizer: 95, sobjectizer_one_thread: 120, acto: 330, std: 215, erlang: 350, pekko: 60};
function engineColour(engine) {
  if (engine === "troupe") return colourOf("--troupe");
  let hue = ENGINES[engine];
  if (hue === undefined) hue = [...engine].reduce((sum, c) => (sum * 31 + c.charCodeAt(0)) % 360, 7);
  const saturation = engine === "floor" || engine === "std" ? 6 : 26;
  return `hsl(${hue} ${saturation}% ${wantsDark.matches ? 58 : 64}%)`;
}

// A line for each row and run.
function linesOf(metric, runs) {
  const lines = [];
  for (const row of metric.rows) {
    const values = row.values.length ? row.values : [null];
    values.forEach((value, i) => lines.push({
      row, value, run: value ? runs[value.run] : null, published: i === 0 ? row.published : [],
    }));
  }
  return lines;
}

function wrap(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && (last + " " + word).length > width) lines.push(word);
    else lines[lines.length - 1] = last ? last + " " + word : word;
  }
  return lines;
}

function isLogarithmic(lines) {
  const values = lines.flatMap(line => [...(line.value ? [line.value.median] : []), ...line.published.flatMap(endsOf)])
                      .filter(value => value > 0);
  return values.length > 1 && Math.max(...values) / Math.min(...values) > LOGARITHMIC_FROM;
}

// A published figure may be a range.
const endsOf = ({value, high}) => high === undefined ? [value] : [value, high];
const sourcesOf = metric => [...new Set(metric.rows.flatMap(row => row.published.map(p => p.source)))];

function drawMark(context, shape, x, y, size) {
  context.save();
  context.translate(x - size / 2, y - size / 2);
  context.scale(size / 16, size / 16);
  const path = new Path2D(SHAPES[shape]);
  context.fillStyle = colourOf("--card");
  context.strokeStyle = colourOf("--published");
  context.lineWidth = 2.6;
  context.fill(path);
  context.stroke(path);
  context.restore();
}

// Draws what Chart.js has no element for: spreads, published figures, and the medians as a column
// at the right.
const overlay = {
  id: "overlay",
  afterDatasetsDraw(chart, _, options) {
    const {ctx, scales: {x, y}, chartArea} = chart;
    const within = value => Math.min(Math.max(x.getPixelForValue(value), chartArea.left), chartArea.right);
    ctx.save();
    options.lines.forEach((line, i) => {
      const middle = y.getPixelForValue(i);
      if (line.value) {
        if (options.logarithmic) {
          ctx.fillStyle = engineColour(line.row.engine);
          ctx.beginPath();
          ctx.arc(within(line.value.median), middle, 6, 0, 7);
          ctx.fill();
        }
      }
      if (line.value?.runs > 1) {
        const [from, to] = [within(line.value.min), within(line.value.max)];
        ctx.strokeStyle = colourOf("--ink");
        ctx.lineWidth = 1.25;
        ctx.beginPath();
        ctx.moveTo(from, middle);
        ctx.lineTo(to, middle);
        for (const end of [from, to]) {
          ctx.moveTo(end, middle - 4);
          ctx.lineTo(end, middle + 4);
        }
        ctx.stroke();
      }
      for (const {source, value, high} of line.published) {
        drawMark(ctx, shapeOf(options.sources, source), within(value), middle, 12);
        if (high === undefined) continue;
        ctx.strokeStyle = colourOf("--published");
        ctx.lineWidth = 1.25;
        ctx.beginPath();
        ctx.moveTo(within(value), middle);
        ctx.lineTo(within(high), middle);
        ctx.stroke();
        drawMark(ctx, shapeOf(options.sources, source), within(high), middle, 12);
      }
      ctx.font = `${isOurs(line.row) ? "600 " : ""}12px ${Chart.defaults.font.family}`;
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      ctx.fillStyle = colourOf(line.value ? isOurs(line.row) ? "--troupe" : "--ink" : "--published");
      const shown = line.value ? line.value.median : line.published[0].value;
      ctx.fillText(human(shown, options.unit), chart.width - 1, middle);
    });
    ctx.restore();
  },
};

function limitsOf(lines, logarithmic) {
  const values = lines.flatMap(line => [...(line.value ? [line.value.min, line.value.max] : []), ...line.published.flatMap(endsOf)])
                      .filter(value => value > 0);
  if (!logarithmic) return {min: 0, suggestedMax: 1.02 * Math.max(0, ...values)};
  return {min: 10 ** Math.floor(Math.log10(Math.min(...values) * .999)), max: 10 ** Math.ceil(Math.log10(Math.max(...values) * 1.001))};
}

function settingsOf(metric, lines, width, logarithmic) {
  const wide = Math.max(12, Math.min(30, Math.floor(width / 19)));
  const labels = lines.map(line => wrap(nameOf(line.row) + (line.run?.label ? ` · ${line.run.label}` : ""), wide));
  const ink = colourOf("--ink"), soft = colourOf("--soft"), grid = colourOf("--line");
  return {
    type: "bar",
    plugins: [overlay],
    data: {
      labels,
      datasets: [{
        data: lines.map(line => line.value && !logarithmic ? line.value.median : null),
        backgroundColor: lines.map(line => engineColour(line.row.engine)),
        barThickness: 16,
        borderRadius: 2,
      }],
    },
    options: {
      indexAxis: "y",
      animation: false,
      maintainAspectRatio: false,
      layout: {padding: {right: 58}},
      scales: {
        x: {
          type: logarithmic ? "logarithmic" : "linear",
          ...limitsOf(lines, logarithmic),
          grid: {color: grid, borderColor: grid, drawTicks: false},
          ticks: {
            color: soft, padding: 6, maxRotation: 0, autoSkipPadding: 16, maxTicksLimit: width < 420 ? 5 : 8,
            callback: value => logarithmic && Math.abs(Math.log10(value) % 1) > 1e-9 ? null : human(value, metric.unit),
          },
        },
        y: {grid: {display: false, borderColor: grid}, ticks: {color: ink, autoSkip: false, crossAlign: "far", padding: 8}},
      },
      plugins: {
        legend: {display: false},
        tooltip: {enabled: false},
        overlay: {lines, logarithmic, unit: metric.unit, sources: sourcesOf(metric)},
      },
    },
    height: 34 + labels.length * Math.max(26, 9 + 14.5 * Math.max(...labels.map(label => label.length))),
  };
}

const charts = new Map();  // the canvas' box → its draw function

function chartOf(metric, runs) {
  const lines = linesOf(metric, runs);
  const logarithmic = isLogarithmic(lines);
  const canvas = element("canvas", {role: "img", "aria-label": `${titleOf(metric.metric)}: the table has the figures`});
  const box = element("div", {class: "chart"}, canvas);
  let chart = null, drawn = 0;
  const draw = () => {
    if (box.clientWidth === 0 || box.clientWidth === drawn) return;
    drawn = box.clientWidth;
    chart?.destroy();
    const settings = settingsOf(metric, lines, drawn, logarithmic);
    box.style.height = `${settings.height}px`;
    chart = new Chart(canvas, settings);
  };
  charts.set(box, draw);
  return {box, logarithmic, sources: sourcesOf(metric)};
}

// Each box is drawn when it gets its width, and again when the width changes.
const sizes = new ResizeObserver(entries => entries.forEach(entry => charts.get(entry.target)()));

function watchCharts() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  for (const box of charts.keys()) sizes.observe(box);
}
