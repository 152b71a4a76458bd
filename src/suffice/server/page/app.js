// The page: a form for a row, and everything that the model says of it. All text from models and files is set as text,
// never as HTML.

import { DecisionMap, color, evidenceBars, posteriorBars } from "./charts.js";

const $ = (id) => document.getElementById(id);
const CELLS = 40; // of the map, across and up
const MANY = 40; // categories that fit a list
const FEW_CLASSES = 8; // with a table of costs
const MANY_CLASSES = 20; // of more, some are shown
const SOME = 10; // that many
const MANY_COLUMNS = 40; // of more, some fields are folded away
const SHOWN = 14; // columns in the chart of evidence

const state = { model: null, path: "/", row: Object.create(null), prior: null, cost: null, pair: null, shown: null, all: false, wanted: 0, mapped: 0, busy: 0 };
const charts = {};

// ---------------------------------------------------------------------------------------------------- small helpers

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function number(value) {
  const x = Number(value); // infinite numbers come as text
  if (x === Infinity) return "∞";
  if (x === -Infinity) return "−∞";
  if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) return x.toExponential(2).replace("-", "−");
  return String(+x.toPrecision(5)).replace("-", "−");
}

// Percentages with one digit, and with three near their ends.
function share(p) {
  if (p > 0 && p < 1e-5) return "<0.001%";
  if (p > 1 - 1e-5 && p < 1) return ">99.999%";
  return `${(100 * p).toFixed(p > 0 && p < 1 && Math.min(p, 1 - p) < 1e-3 ? 3 : 1)}%`;
}

// The first of many elements, and the others behind a line, with a field to find them.
function folded(elements, most, what) {
  if (elements.length <= most) return elements;
  const rest = elements.slice(most), find = element("input", { type: "search", placeholder: `Find ${what}` });
  find.setAttribute("aria-label", `Find ${what}`);
  find.addEventListener("input", (event) => {
    event.stopPropagation();
    for (const each of rest) each.hidden = !each.querySelector("label").textContent.toLowerCase().includes(find.value.toLowerCase());
  });
  return [...elements.slice(0, most), element("details", {}, element("summary", { textContent: `${rest.length} more ${what}` }), find, ...rest)];
}

function later(work, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    if (!timer) busy(1);
    timer = setTimeout(async () => {
      timer = 0;
      try {
        await work();
      } finally {
        busy(-1);
      }
    }, milliseconds);
  };
}

function busy(change) {
  state.busy += change;
  document.body.setAttribute("aria-busy", String(state.busy > 0));
}

function complain(message) {
  $("problem").hidden = !message;
  $("problem").textContent = message || "";
}

// ------------------------------------------------------------------------------------------------------- the server

async function ask(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) {
    await login();
    return ask(path, options);
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
    throw Object.assign(new Error(told.error), { field: told.field });
  }
  return answer;
}

function login() {
  return new Promise((resolve) => {
    const dialog = $("login");
    dialog.addEventListener("close", () => resolve(sessionStorage.setItem("token", $("token").value)), { once: true });
    if (!dialog.open) dialog.showModal();
  });
}

const predict = async (body) =>
  (await ask(`${state.path}predict`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

// --------------------------------------------------------------------------------------------------------- the form

function buildForm() {
  $("row").replaceChildren(...folded(state.model.columns.filter((column) => column.required).map(field), MANY_COLUMNS, "columns"));
}

const fields = () => [...$("row").querySelectorAll(".field")];

// Of text that says numbers, a row may have numbers; of times and durations, seconds.
const FORMS = { number: numbers, category: categories, boolean: booleans, date: dates, numeral: numbers, duration: numbers, text: texts };
const NUMBER = { type: "number", write: (value, digits) => value.toFixed(digits), read: Number, what: "a number" };
const CLOCK = { type: "text", write: clock, read: seconds, what: "a time, such as 13:05, or a number of seconds" };

const isClock = (column) => column.kind === "duration" && column.low >= 0 && column.high >= 60;

function clock(value) {
  const whole = Math.round(Math.abs(value));
  const parts = [whole / 3600, (whole / 60) % 60, whole % 60].map((part) => String(Math.floor(part)).padStart(2, "0"));
  return value < 0 ? String(-whole) : parts.join(":");
}

function seconds(text) {
  const found = /^(\d+):([0-5]?\d)(?::([0-5]?\d(?:\.\d+)?))?$/.exec(text.trim());
  return found ? 3600 * found[1] + 60 * found[2] + Number(found[3] ?? 0) : Number(text);
}

function field(column, index) {
  const id = `field-${index}`;
  const values = element("div", { className: "values" });
  const known = element("input", { type: "checkbox", checked: true, id: `${id}-known` });
  const wrong = element("div", { className: "wrong", hidden: true, id: `${id}-wrong` });
  const box = element("div", { className: "field" },
    element("label", { htmlFor: id, textContent: column.name, title: column.family || "" }), values,
    element("label", { className: "known" }, known, "known"), wrong);
  box.dataset.column = column.name;
  known.setAttribute("aria-label", `${column.name} is known`);
  const read = FORMS[column.kind](column, values, id);
  const update = () => {
    const input = values.querySelector("input, select, textarea");
    const told = known.checked && read.wrong ? read.wrong() : "";
    wrong.hidden = !told;
    wrong.textContent = told ? `${told}, so it counts as unknown.` : "";
    input.setAttribute("aria-invalid", String(Boolean(told)));
    input.setAttribute("aria-describedby", wrong.id);
    box.classList.toggle("missing", !known.checked);
    for (const input of values.querySelectorAll("input, select, textarea")) input.disabled = !known.checked;
    state.row[column.name] = known.checked ? read.value() : null;
    refresh();
  };
  values.addEventListener("input", update);
  known.addEventListener("input", update);
  read.set(read.usual);
  state.row[column.name] = read.value();
  box.reset = () => { known.checked = true; read.set(read.usual); update(); };
  box.put = (value) => { known.checked = true; read.set(value); update(); };
  return box;
}

function numbers(column, values, id) {
  const form = isClock(column) ? CLOCK : NUMBER;
  const input = element("input", { type: form.type, id, step: "any" });
  values.append(input);
  const span = column.high - column.low;
  const ranged = column.low !== null && span > 0;
  const digits = column.whole ? 0 : ranged ? Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(span)))) : 3;
  if (ranged) {
    const [low, high] = [column.low - span / 4, column.high + span / 4].map((end) => (column.whole ? Math.round(end) : end));
    const slider = element("input", { type: "range", min: low, max: high, step: column.whole ? 1 : "any", id: `${id}-slider` });
    slider.setAttribute("aria-label", `${column.name}, slider`);
    slider.addEventListener("input", () => { input.value = form.write(Number(slider.value), digits); });
    input.addEventListener("input", () => { if (input.value !== "") slider.value = form.read(input.value); });
    values.append(slider);
  }
  const set = (value) => {
    const shown = typeof value === "number" ? form.write(value, digits) : "";
    input.value = form === NUMBER && shown ? String(Number(shown)) : shown;
    const slider = values.querySelector("[type=range]");
    if (slider) slider.value = value;
  };
  const isWrong = () => input.validity.badInput || Number.isNaN(form.read(input.value));
  return { set, usual: column.typical ?? 0, wrong: () => (isWrong() ? `This is not ${form.what}` : ""),
    value: () => (input.value.trim() === "" || isWrong() ? null : form.read(input.value)) };
}

function categories(column, values, id) {
  const known = column.categories;
  const other = element("input", { type: "text", id: `${id}-other`, hidden: known.length <= MANY, value: "" });
  other.setAttribute("aria-label", `${column.name}, another category`);
  if (known.length > MANY) {
    const list = element("datalist", { id: `${id}-list` }, ...known.slice(0, 1000).map((each) => element("option", { value: String(each) })));
    other.id = id;
    other.setAttribute("list", list.id);
    values.append(other, list);
    const byText = new Map(known.map((each) => [String(each), each]));
    return { set: (value) => { other.value = String(value); }, usual: known[0],
      value: () => (other.value === "" ? null : byText.has(other.value) ? byText.get(other.value) : other.value) };
  }
  const select = element("select", { id }, ...known.map((each, i) => element("option", { value: String(i), textContent: String(each) })),
    element("option", { value: "other", textContent: "another category…" }));
  select.addEventListener("input", () => { other.hidden = select.value !== "other"; });
  values.append(select, other);
  return {
    set: (value) => { select.value = String(Math.max(0, known.indexOf(value))); other.hidden = true; },
    usual: known[0],
    value: () => (select.value === "other" ? other.value || null : known.length ? known[Number(select.value)] : null),
  };
}

function booleans(column, values, id) {
  const select = element("select", { id }, element("option", { value: "false", textContent: "no" }), element("option", { value: "true", textContent: "yes" }));
  values.append(select);
  return { set: (value) => { select.value = String(Boolean(value)); }, usual: false, value: () => select.value === "true" };
}

function dates(column, values, id) {
  const input = element("input", { type: column.whole ? "date" : "datetime-local", id });
  values.append(input);
  return { set: (value) => { input.value = value; }, usual: column.typical ?? new Date().toISOString().slice(0, column.whole ? 10 : 16),
    wrong: () => (input.validity.badInput ? "This is not a date" : ""), value: () => input.value || null };
}

function texts(column, values, id) {
  const input = element("textarea", { rows: 3, id });
  values.append(input);
  return { set: (value) => { input.value = value ?? ""; }, usual: "", value: () => input.value || null };
}

// -------------------------------------------------------------------------------------------------- prior and costs

function buildPriors() {
  const boxes = state.model.classes.map((each, i) => {
    const slider = element("input", { type: "range", min: 0, max: 100, step: 0.1, id: `prior-${i}` });
    const box = element("div", { className: "prior" },
      element("label", { htmlFor: slider.id, textContent: each.name, title: each.name }), slider, element("output", { htmlFor: slider.id }));
    slider.addEventListener("input", () => { movedPrior(i, Number(slider.value) / 100); });
    return box;
  });
  const most = state.model.classes.map((each, i) => [each.prior ?? 0, i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, i]) => boxes[i]);
  $("priors").replaceChildren(...(boxes.length > MANY_CLASSES ? folded(most, SOME, "classes") : boxes));
  setPrior(null);
}

// One slider is moved, and the others keep their proportions.
function movedPrior(i, p) {
  const now = currentPrior();
  const rest = now.reduce((sum, each, j) => (j === i ? sum : sum + each), 0);
  const others = now.length - 1;
  setPrior(now.map((each, j) => (j === i ? (others ? p : 1) : rest > 0 ? (each * (1 - p)) / rest : (1 - p) / others)), i);
}

function currentPrior() {
  const k = state.model.classes.length;
  return state.prior ?? state.model.classes.map((each) => each.prior ?? 1 / k);
}

function setPrior(prior, moved = -1) {
  const total = prior ? prior.reduce((a, b) => a + b, 0) : 1;
  state.prior = prior && prior.map((p) => p / total);
  currentPrior().forEach((p, i) => {
    if (i !== moved) $(`prior-${i}`).value = 100 * p;
    $(`prior-${i}`).parentElement.querySelector("output").textContent = share(p);
  });
  refresh();
}

function buildCosts() {
  const names = state.model.classes.map((each) => each.name);
  $("costs").hidden = names.length > FEW_CLASSES || names.length < 2;
  if ($("costs").hidden) return;
  const head = element("tr", {}, element("th", { scope: "col", textContent: "decision \\ true class" }),
    ...names.map((name) => element("th", { scope: "col", textContent: name })));
  const rows = names.map((decision, i) => element("tr", {}, element("th", { scope: "row", textContent: decision }),
    ...names.map((truth, j) => {
      const input = element("input", { type: "number", step: "any", value: i === j ? 0 : 1, id: `cost-${i}-${j}` });
      input.setAttribute("aria-label", `Cost of deciding ${decision} when the true class is ${truth}`);
      input.addEventListener("input", readCosts);
      return element("td", {}, input);
    })));
  $("cost-table").tHead.replaceChildren(head);
  $("cost-table").tBodies[0].replaceChildren(...rows);
}

function readCosts() {
  const names = state.model.classes.map((each) => each.name);
  let wrong = 0;
  for (const input of $("costs").querySelectorAll("input[type=number]")) {
    const bad = input.value === "" && (input.id !== "reject-cost" || $("reject").checked);
    input.setAttribute("aria-invalid", String(bad));
    wrong += bad;
  }
  $("cost-wrong").hidden = !wrong;
  if (wrong) return; // the costs before stay
  const matrix = names.map((_, i) => names.map((__, j) => Number($(`cost-${i}-${j}`).value)));
  const plain = matrix.every((row, i) => row.every((cost, j) => cost === (i === j ? 0 : 1)));
  if ($("reject").checked) {
    const price = Number($("reject-cost").value);
    const cost = Object.fromEntries(names.map((name, i) => [name, matrix[i]]));
    cost[undecided()] = names.map(() => price);
    state.cost = cost;
  } else {
    state.cost = plain ? null : matrix;
  }
  refresh();
}

function undecided() {
  let name = "undecided";
  while (state.model.classes.some((each) => each.name === name)) name += "?";
  return name;
}

// -------------------------------------------------------------------------------------------------------- the answer

const request = (rows, more = {}) => {
  const body = { rows, ...more };
  if (state.prior) body.prior = state.prior;
  else if (state.model.classes.some((each) => each.prior === null)) body.prior = "uniform";
  if (state.cost) body.cost = state.cost;
  return body;
};

const answer = later(async () => {
  const turn = ++state.wanted;
  const pair = [$("evidence-over").value, $("evidence-for").value];
  const explains = state.model.generative && pair[0] !== pair[1] && state.model.classes.length > 1;
  const body = request([state.row], explains ? { explain: pair } : {});
  showRequest(body);
  try {
    const found = await predict(body);
    if (turn !== state.wanted) return;
    complain("");
    showAnswer(found.predictions[0]);
    if (choosePair(found.predictions[0].posterior)) return answer();
    showEvidence(explains ? found.predictions[0].evidence[0].shares : {});
  } catch (error) {
    if (turn === state.wanted) complain(`${error.field ? `${error.field}: ` : ""}${error.message}`);
  }
}, 30);

// The evidence for the most probable class over the next one, until somebody chooses another pair; whether that is news.
function choosePair(posterior) {
  const now = [$("evidence-for").value, $("evidence-over").value];
  if (state.pair || !state.model.generative || state.model.classes.length < 2) return false;
  const best = Object.entries(posterior).sort((a, b) => b[1] - a[1]).slice(0, 2).map(([name]) => name);
  [$("evidence-for").value, $("evidence-over").value] = best;
  return best[0] !== now[0] || best[1] !== now[1];
}

// Somebody chooses a class of the pair: two different ones stay.
function pairChosen(chosen, other) {
  const before = state.pair ?? state.shown;
  if (before && $(chosen).value === $(other).value) $(other).value = before[chosen];
  state.pair = { "evidence-for": $("evidence-for").value, "evidence-over": $("evidence-over").value };
  refresh();
}

// What a decision is called: a class by its name, which for Booleans is not what JSON writes.
const called = (decision) => state.model.classes.find((each) => each.label === decision)?.name ?? String(decision);

function showAnswer(prediction) {
  state.prediction = prediction;
  const names = state.model.classes.map((each) => each.name), prior = currentPrior();
  const decision = called(prediction.decision);
  $("decision").value = decision;
  $("decision").style.borderColor = color(names, decision);
  const probable = names.map((name, i) => [prediction.posterior[name], i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, i]) => i);
  const many = names.length > MANY_CLASSES, top = probable.slice(0, SOME);
  if (many && names.includes(decision) && !top.includes(names.indexOf(decision))) top.push(names.indexOf(decision));
  $("all-classes").hidden = !many;
  $("all-classes").textContent = state.all ? "Show the most probable" : `Show all ${names.length} classes`;
  const rows = (many ? (state.all ? probable : top) : names.map((_, i) => i)).map((i) => {
    const name = names[i];
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = color(names, name);
    const cells = [share(prior[i]), share(prediction.posterior[name]), i === 0 ? "0" : number(prediction.llr[name])];
    const exact = [prior[i], prediction.posterior[name]];
    if (state.model.generative) cells.push(number(prediction.log_likelihood[name]));
    const row = element("tr", { className: name === decision ? "chosen" : "" },
      element("th", { scope: "row", title: name }, swatch, name), ...cells.map((text, j) => element("td", { textContent: text, title: j < 2 ? number(exact[j]) : "" })));
    row.dataset.class = name;
    return row;
  });
  $("scores").tBodies[0].replaceChildren(...rows);
  const shown = (many ? top : top.sort((a, b) => a - b)).map((i) => names[i]);
  charts.posterior.show(shown, shown.map((name) => prediction.posterior[name]), shown.map((name) => color(names, name)));
}

function showEvidence(shares) {
  state.shown = { "evidence-for": $("evidence-for").value, "evidence-over": $("evidence-over").value };
  const sorted = Object.entries(shares).map(([name, value]) => [name, Number(value)]).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const total = sorted.reduce((sum, [, value]) => sum + value, 0);
  $("evidence-total").value = number(total);
  const rows = sorted.map(([name, value]) => {
    const row = element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", { textContent: number(value) }));
    row.dataset.column = name;
    return row;
  });
  $("shares").tBodies[0].replaceChildren(...rows);
  const few = sorted.slice(0, SHOWN), names = state.model.classes.map((each) => each.name);
  const colors = few.map(([, value]) => color(names, $(value >= 0 ? "evidence-for" : "evidence-over").value));
  charts.evidence.show(few.map(([name]) => name), few.map(([, value]) => value), colors);
}

function showRequest(body) {
  const quoted = JSON.stringify(body, null, 1).replace(/\n\s*/g, " ").replaceAll("'", "'\\''");
  $("curl").textContent = `curl ${location.origin}${state.path}predict \\\n  -H 'Content-Type: application/json' \\\n  -d '${quoted}'`;
}

// ----------------------------------------------------------------------------------------------------------- the map

const ranged = () => state.model.columns.filter((column) => column.required && FORMS[column.kind] === numbers && column.low !== null && column.high > column.low);

function buildMap() {
  const columns = ranged();
  $("map-card").hidden = columns.length < 2 || state.model.classes.length < 2;
  for (const [id, chosen] of [["map-x", 0], ["map-y", 1]]) {
    $(id).replaceChildren(...columns.map((column) => element("option", { value: column.name, textContent: column.name })));
    $(id).selectedIndex = chosen;
  }
}

const map = later(async () => {
  if ($("map-card").hidden) return;
  const turn = ++state.mapped, columns = ranged();
  const [x, y] = ["map-x", "map-y"].map((id) => columns[$(id).selectedIndex]);
  const ranges = [x, y].map(({ low, high }) => [low - (high - low) / 8, high + (high - low) / 8]);
  const at = ([low, high], i) => low + ((high - low) * (i + 0.5)) / CELLS;
  const rows = [];
  for (let j = 0; j < CELLS; j++) {
    for (let i = 0; i < CELLS; i++) rows.push({ ...state.row, [x.name]: at(ranges[0], i), [y.name]: at(ranges[1], j) });
  }
  try {
    const { predictions } = await predict(request(rows, { outputs: ["decision", "posterior"] }));
    if (turn !== state.mapped) return;
    const names = state.model.classes.map((each) => each.name);
    const cells = Array.from({ length: CELLS }, (_, j) => predictions.slice(j * CELLS, (j + 1) * CELLS).map(({ decision, posterior }) => {
      const name = called(decision);
      return { color: color(names, name), weight: posterior[name] ?? 0.4, name };
    }));
    state.cells = cells;
    charts.map.show(cells, [x.name, y.name], ranges, [x, y].map((column) => state.row[column.name] ?? NaN));
    const counts = new Map();
    for (const cell of cells.flat()) counts.set(cell.name, (counts.get(cell.name) ?? 0) + 1);
    const met = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    $("legend").replaceChildren(...met.slice(0, 2 * SOME).map((name) => {
      const swatch = element("span", { className: "swatch" });
      swatch.style.background = color(names, name);
      return element("li", {}, swatch, name);
    }), ...(met.length > 2 * SOME ? [element("li", { textContent: `and ${met.length - 2 * SOME} more` })] : []));
    $("map-chart").setAttribute("aria-label", `Decisions for values of ${x.name} and ${y.name}: ${met.slice(0, 2 * SOME).join(", ")}`);
  } catch {
    // The answer says what is wrong.
  }
}, 200);

function picked(x, y) {
  for (const [id, value] of [["map-x", x], ["map-y", y]]) {
    const box = fields().find((each) => each.dataset.column === $(id).value);
    box.put(value);
  }
}

function refresh() {
  if (!state.model || !charts.posterior) return;
  answer();
  map();
}

// -------------------------------------------------------------------------------------------------------------- files

async function score(file) {
  $("download").hidden = $("preview").hidden = true;
  $("file-note").textContent = `Scoring ${file.name}…`;
  busy(1);
  try {
    const asked = request([]), query = new URLSearchParams();
    for (const name of ["prior", "cost"]) if (asked[name]) query.set(name, typeof asked[name] === "string" ? asked[name] : JSON.stringify(asked[name]));
    const found = await ask(`${state.path}predict?${query}`, { method: "POST", headers: { "Content-Type": "text/csv" }, body: file });
    const blob = await found.blob();
    URL.revokeObjectURL($("download").href);
    Object.assign($("download"), { href: URL.createObjectURL(blob), download: `scored-${file.name.replace(/\.\w+$/, "")}.csv`, hidden: false });
    const rows = cells(await blob.slice(0, 1 << 18).text(), 9);
    $("preview").tHead.replaceChildren(element("tr", {}, ...rows[0].map((text) => element("th", { scope: "col", textContent: text }))));
    $("preview").tBodies[0].replaceChildren(...rows.slice(1).map((row) => element("tr", {}, ...row.map((text) => element("td", { textContent: text })))));
    $("preview").hidden = false;
    $("file-note").textContent = `Scored ${file.name}. The first rows:`;
  } catch (error) {
    $("file-note").textContent = error.message;
  } finally {
    busy(-1);
  }
}

// The first rows of a CSV file.
function cells(text, most) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const row = rows[rows.length - 1], letter = text[i];
    if (letter === '"') {
      if (quoted && text[i + 1] === '"') row[row.length - 1] += text[i++];
      else quoted = !quoted;
    } else if (letter === "," && !quoted) row.push("");
    else if (letter === "\n" && !quoted) {
      if (rows.length > most || i === text.length - 1) return rows;
      rows.push([""]);
    } else if (letter !== "\r" || quoted) row[row.length - 1] += letter;
  }
  return rows;
}

// ------------------------------------------------------------------------------------------------------------- start

function about() {
  const { provenance, kind, columns } = state.model;
  const facts = { model: kind, columns: String(columns.length), "written by": `suffice ${provenance.version}`, bytes: String(provenance.bytes) };
  const weights = provenance.weights.filter((weight) => weight !== null);
  if (weights.length) facts["training rows"] = number(weights.reduce((a, b) => a + b, 0));
  if (provenance.calibration) facts.calibration = provenance.calibration;
  if (provenance.choice) facts.chosen = provenance.choice;
  $("about").replaceChildren(...Object.entries(facts).flatMap(([name, fact]) => [element("dt", { textContent: name }), element("dd", { textContent: fact })]));
}

async function show(path) {
  state.path = path;
  const model = await (await ask(path === "/" ? "/model" : path.slice(0, -1))).json();
  Object.assign(state, { model, row: Object.create(null), prior: null, cost: null, pair: null, all: false }); // a column may have any name
  $("model-name").textContent = model.name;
  $("model-kind").textContent = `${model.kind}, ${model.classes.length} ${model.classes.length === 1 ? "class" : "classes"}, ${model.columns.length} ${model.columns.length === 1 ? "column" : "columns"}`;
  document.title = `${model.name} – suffice`;
  for (const each of document.querySelectorAll(".generative")) each.hidden = !model.generative;
  const names = model.classes.map((each) => each.name);
  for (const [id, chosen] of [["evidence-for", 1], ["evidence-over", 0]]) {
    $(id).replaceChildren(...names.map((name) => element("option", { value: name, textContent: name })));
    $(id).selectedIndex = Math.min(chosen, names.length - 1);
  }
  $("evidence-title").closest("section").hidden = !model.generative || names.length < 2;
  $("reject").checked = false;
  buildMap();
  buildForm();
  buildCosts();
  buildPriors();
  about();
  refresh();
}

async function start() {
  busy(1);
  charts.posterior = posteriorBars($("posterior-chart"), $("posterior-box"));
  charts.evidence = evidenceBars($("evidence-chart"), $("evidence-box"));
  charts.map = new DecisionMap($("map-chart"), picked);
  $("row").addEventListener("submit", (event) => event.preventDefault());
  $("reset").addEventListener("click", () => { for (const box of fields()) box.reset(); });
  $("prior-own").addEventListener("click", () => setPrior(null));
  $("prior-uniform").addEventListener("click", () => setPrior(state.model.classes.map(() => 1)));
  for (const id of ["reject", "reject-cost"]) $(id).addEventListener("input", readCosts);
  for (const [id, other] of [["evidence-for", "evidence-over"], ["evidence-over", "evidence-for"]]) $(id).addEventListener("input", () => pairChosen(id, other));
  $("all-classes").addEventListener("click", () => { state.all = !state.all; showAnswer(state.prediction); });
  for (const id of ["map-x", "map-y"]) $(id).addEventListener("input", refresh);
  $("file").addEventListener("change", () => { if ($("file").files.length) score($("file").files[0]); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  try {
    const { models } = await (await ask("/models")).json();
    $("model-choice").hidden = models.length < 2;
    $("models").replaceChildren(...models.map((name) => element("option", { value: name, textContent: name })));
    const path = (name) => `/models/${encodeURIComponent(name)}/`;
    $("models").addEventListener("input", async () => {
      busy(1);
      await show(path($("models").value)).catch((error) => complain(error.message));
      busy(-1);
    });
    await show(models.length === 1 ? "/" : path(models[0]));
  } catch (error) {
    complain(error.message);
  } finally {
    busy(-1);
  }
}

start();
