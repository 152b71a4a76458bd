// The three charts of the page: bars of posteriors, bars of evidence, and the map of decisions.

const LIGHT = ["#1f78b4", "#d9771a", "#2e9467", "#b84a94", "#7257bd", "#8c6d31", "#138fa3", "#c93f52", "#66752f", "#4b6584"];
const DARK = ["#5aa9e6", "#f0a04b", "#5cc492", "#e38bc6", "#a994ea", "#c9a765", "#4cc4d6", "#f07c8a", "#a9ba6a", "#92a9c4"];
const UNDECIDED = "#8a94a0";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function color(names, name) {
  const i = names.indexOf(name), palette = dark.matches ? DARK : LIGHT;
  return i < 0 ? UNDECIDED : palette[i % palette.length];
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const short = (text, n = 26) => (text.length > n ? text.slice(0, n - 1) + "…" : text);

// Bars across, with a label for each; the values may be infinite.
class Bars {
  constructor(canvas, box, options) {
    this.canvas = canvas;
    this.box = box;
    this.options = options;
    this.chart = null;
  }

  show(labels, values, colors) {
    const finite = values.filter(Number.isFinite).map(Math.abs);
    const most = Math.max(1e-9, ...finite);
    const drawn = values.map((v) => (Number.isFinite(v) ? v : Math.sign(v) * most * 1.25));
    this.box.style.height = `${Math.max(3, labels.length) * 26 + 34}px`;
    const texts = labels.map((label) => short(label));
    if (!this.chart) this.chart = this.make();
    const { data, options } = this.chart;
    data.labels = texts;
    data.datasets[0].data = drawn;
    data.datasets[0].backgroundColor = colors;
    for (const axis of ["x", "y"]) {
      options.scales[axis].ticks.color = css(axis === "x" ? "--quiet" : "--ink");
      options.scales[axis].grid.color = axis === "x" ? css("--line") : "transparent";
    }
    this.chart.resize();
    this.chart.update("none");
  }

  make() {
    return new Chart(this.canvas, {
      type: "bar",
      data: { labels: [], datasets: [{ data: [], borderRadius: 4, maxBarThickness: 18, minBarLength: 2 }] },
      options: {
        indexAxis: "y",
        animation: false,
        maintainAspectRatio: false,
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
        scales: {
          x: { ...this.options, ticks: { maxTicksLimit: 6 }, grid: {}, border: { display: false } },
          y: { ticks: { autoSkip: false }, grid: {}, border: { display: false } },
        },
      },
    });
  }
}

export const posteriorBars = (canvas, box) => new Bars(canvas, box, { min: 0, max: 1 });
export const evidenceBars = (canvas, box) => new Bars(canvas, box, { grace: "5%" });

// Decisions for values of two columns, as coloured cells behind a scatter plot of one point: the row.
export class DecisionMap {
  constructor(canvas, picked) {
    this.canvas = canvas;
    this.cells = null;
    this.chart = new Chart(canvas, {
      type: "scatter",
      data: { datasets: [{ data: [], pointRadius: 7, pointHoverRadius: 7, borderWidth: 3, clip: false }] },
      options: {
        animation: false,
        maintainAspectRatio: false,
        plugins: { legend: { display: false }, tooltip: { enabled: false } },
        scales: {
          x: { type: "linear", title: { display: true }, ticks: { includeBounds: false }, grid: { display: false } },
          y: { type: "linear", title: { display: true }, ticks: { includeBounds: false }, grid: { display: false } },
        },
        onClick: (event, _, chart) => {
          const { x, y } = chart.scales;
          picked(x.getValueForPixel(event.x), y.getValueForPixel(event.y));
        },
      },
      plugins: [{ id: "cells", beforeDatasetsDraw: (chart) => this.draw(chart) }],
    });
  }

  // cells: rows of {color, weight}, from the lowest y on; ranges: [low, high] of both columns.
  show(cells, names, ranges, point) {
    this.cells = cells;
    const { options, data } = this.chart;
    ["x", "y"].forEach((axis, i) => {
      Object.assign(options.scales[axis], { min: ranges[i][0], max: ranges[i][1] });
      options.scales[axis].title.text = short(names[i], 40);
      options.scales[axis].title.color = css("--ink");
      options.scales[axis].ticks.color = css("--quiet");
    });
    data.datasets[0].data = point.every(Number.isFinite) ? [{ x: point[0], y: point[1] }] : [];
    Object.assign(data.datasets[0], { backgroundColor: css("--card"), borderColor: css("--ink") });
    this.chart.update("none");
  }

  draw(chart) {
    if (!this.cells) return;
    const { left, right, top, bottom } = chart.chartArea;
    const rows = this.cells.length, columns = this.cells[0].length;
    const across = (i) => Math.round(left + ((right - left) * i) / columns);
    const up = (j) => Math.round(bottom - ((bottom - top) * j) / rows);
    const context = chart.ctx;
    context.save();
    this.cells.forEach((row, j) =>
      row.forEach((cell, i) => {
        context.globalAlpha = 0.15 + 0.7 * cell.weight;
        context.fillStyle = cell.color;
        context.fillRect(across(i), up(j + 1), across(i + 1) - across(i), up(j) - up(j + 1));
      }),
    );
    context.restore();
  }
}
