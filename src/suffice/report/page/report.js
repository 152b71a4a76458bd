"use strict";
(() => {
  const data = JSON.parse(document.getElementById("rows").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const little = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
  const numbers = (text, size, read) => {
    const view = new DataView(bytes(text));
    return Array.from({ length: view.byteLength / size }, (_, i) => view[read](i * size, true));
  };
  const floats = (text) => (little ? new Float64Array(bytes(text)) : numbers(text, 8, "getFloat64"));
  const k = data.classes.length, m = data.actions.length, two = k === 2;
  /* Of many rows, scores are how far they are below the greatest of the row. */
  const below = (units) => (units === 65535 ? -Infinity : -data.unit * units);
  const scores = data.unit === null ? floats(data.scores) : Float64Array.from(numbers(data.scores, 2, "getUint16"), below);
  const code = numbers(data.code, 2, "getUint16");
  const n = code.length;
  const weight = data.weight === null ? new Float64Array(n).fill(1) : floats(data.weight);
  const byClass = new Float64Array(k);
  for (let i = 0; i < n; i++) byClass[code[i]] += weight[i];
  const zeroOne = m === k && data.base.every((row, i) => row.every((c, j) => c === (i === j ? 0 : 1)));

  let prior = data.prior.slice(), factor = data.factor.slice();
  const get = (id) => document.getElementById(id);
  const furthest = 9.2;
  const logit = (p) => Math.log(p) - Math.log1p(-p);
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

  /* Numbers as people read them; the exact value is kept beside. */
  const four = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(4))) : x > 0 ? "∞" : x < 0 ? "−∞" : "–");
  const count = (x) => (Number.isInteger(x) ? String(x) : x.toFixed(1));
  const put = (id, value, text) => {
    const element = get(id);
    if (element === null) return;
    if (element.textContent !== text) element.textContent = text;
    element.dataset.value = String(value);
  };

  /* Bayes decisions: the action of least expected cost; a tie goes to the earlier one. */
  function confusion(cost) {
    const logPrior = prior.map((p) => Math.log(p));
    const found = Array.from({ length: k }, () => new Float64Array(m));
    const joint = new Float64Array(k), posterior = new Float64Array(k);
    for (let i = 0; i < n; i++) {
      let top = -Infinity;
      for (let c = 0; c < k; c++) {
        const score = two ? (c === 0 ? Math.min(0, -scores[i]) : Math.min(0, scores[i])) : scores[i * k + c];
        joint[c] = score + logPrior[c];
        if (joint[c] > top) top = joint[c];
      }
      if (top === -Infinity) {
        for (let c = 0; c < k; c++) posterior[c] = prior[c];
      } else {
        let sum = 0;
        for (let c = 0; c < k; c++) sum += posterior[c] = Math.exp(joint[c] - top);
        for (let c = 0; c < k; c++) posterior[c] /= sum;
      }
      let best = 0, least = Infinity;
      for (let a = 0; a < m; a++) {
        let expected = 0;
        if (zeroOne && k > 20) expected = -factor[a] * posterior[a]; // the same, but for a term that all decisions have
        else for (let c = 0; c < k; c++) expected += cost[a][c] * posterior[c];
        if (expected < least) { least = expected; best = a; }
      }
      found[code[i]][best] += weight[i];
    }
    return found;
  }

  /* The least cost of any threshold: rows in the order of their ratios, rejected one after the other. */
  const order = two ? Array.from(code.keys()).sort((a, b) => scores[a] - scores[b]) : null;
  function leastCost() {
    let missed = 0, rejected = 0, least = Infinity;
    const miss = prior[1] * factor[1], alarm = prior[0] * factor[0];
    for (let i = 0; i <= n; i++) {
      if (i === 0 || i === n || scores[order[i]] !== scores[order[i - 1]]) {
        least = Math.min(least, miss * (missed / byClass[1]) + alarm * (1 - rejected / byClass[0]));
      }
      if (i < n) { if (code[order[i]] === 1) missed += weight[order[i]]; else rejected += weight[order[i]]; }
    }
    return least;
  }

  function move(id, x, y) {
    const element = get(id);
    if (element === null) return;
    const place = (scale, value) => {
      const [low, high, first, last] = scale.split(" ").map(Number);
      return first + clamp((value - low) / (high - low), 0, 1) * (last - first);
    };
    const dx = element.dataset.x ? place(element.dataset.x, x) : 0;
    const dy = element.dataset.y ? place(element.dataset.y, y) : 0;
    element.setAttribute("transform", `translate(${dx} ${dy})`);
    const text = element.querySelector("text");
    if (text !== null) {
      const near = dx > 310;
      text.setAttribute("text-anchor", near ? "end" : "start");
      text.setAttribute("x", near ? "-4" : "4");
    }
  }

  /* The quantile of the normal distribution, by Acklam's approximation: places a point in the DET plot. */
  function probit(p) {
    const a = [-39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239];
    const b = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572];
    const c = [-0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783];
    const d = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416];
    const poly = (w, x) => w.reduce((sum, v) => sum * x + v, 0);
    if (p <= 0) return -9;
    if (p >= 1) return 9;
    if (p < 0.02425) { const q = Math.sqrt(-2 * Math.log(p)); return poly(c, q) / poly([...d, 1], q); }
    if (p > 1 - 0.02425) return -probit(1 - p);
    const q = p - 0.5, r = q * q;
    return (poly(a, r) * q) / poly([...b, 1], r);
  }

  function update() {
    const cost = data.base.map((row) => row.map((c, j) => c * factor[j]));
    const found = confusion(cost);
    const rows = 1 + Math.max(...data.rowOf), columns = 1 + Math.max(...data.columnOf);
    const cells = Array.from({ length: rows }, () => new Float64Array(columns));
    const total = new Float64Array(rows), hits = new Float64Array(rows), decided = new Float64Array(columns), met = new Float64Array(columns);
    let wrong = 0, all = 0, expected = 0;
    for (let i = 0; i < k; i++) {
      let own = 0;
      for (let j = 0; j < m; j++) {
        cells[data.rowOf[i]][data.columnOf[j]] += found[i][j];
        decided[data.columnOf[j]] += found[i][j];
        if (byClass[i]) own += (found[i][j] / byClass[i]) * cost[j][i];
      }
      const right = data.own[i] >= 0 ? found[i][data.own[i]] : 0;
      if (data.own[i] >= 0) met[data.columnOf[data.own[i]]] += right;
      total[data.rowOf[i]] += byClass[i];
      hits[data.rowOf[i]] += right;
      wrong += byClass[i] - right;
      all += byClass[i];
      if (prior[i] > 0) expected += byClass[i] ? prior[i] * own : NaN;
    }
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        put(`cell-${i}-${j}`, cells[i][j], count(cells[i][j]));
        get(`cell-${i}-${j}`).style.setProperty("--share", total[i] ? cells[i][j] / total[i] : 0);
      }
      if (total[i]) put(`recall-${i}`, hits[i] / total[i], `${((100 * hits[i]) / total[i]).toFixed(1)}%`);
    }
    for (let j = 0; j < columns; j++) {
      put(`decided-${j}`, decided[j], count(decided[j]));
      put(`precision-${j}`, met[j] / decided[j], decided[j] ? `${((100 * met[j]) / decided[j]).toFixed(1)}%` : "");
    }
    const without = Math.min(...cost.map((row) => row.reduce((sum, c, j) => sum + c * prior[j], 0)));
    put("error", wrong / all, `${((100 * wrong) / all).toFixed(2)}%`);
    put("cost", expected, four(expected));
    put("without", without, four(without));
    put("dcf", expected / without, four(expected / without));
    if (!two || !zeroOne) return;
    const odds = Math.log(prior[1]) - Math.log(prior[0]) + Math.log(factor[1]) - Math.log(factor[0]);
    const miss = found[1][0] / byClass[1], alarm = found[0][1] / byClass[0];
    const least = leastCost();
    put("threshold", -odds, four(0 - odds));
    put("least", least, four(least));
    move("threshold-line", -odds);
    move("bayes-line", odds);
    move("roc-dot", alarm, 1 - miss);
    move("det-dot", probit(alarm), probit(miss));
  }

  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }

  /* Controls: a slider and a number for each; what is typed is taken as it is. */
  function show(except) {
    for (let c = 0; c < k; c++) {
      const slider = get(`prior-${c}`), number = get(`prior-number-${c}`);
      if (slider !== null) {
        if (except !== slider) slider.value = String(clamp(logit(prior[c]), -furthest, furthest));
        if (except !== number) number.value = String(Number((100 * prior[c]).toPrecision(4)));
        slider.setAttribute("aria-valuetext", `${four(100 * prior[c])}%`);
      }
      const price = get(`cost-${c}`), exact = get(`cost-number-${c}`);
      if (except !== price) price.value = String(clamp(Math.log10(factor[c]), -3, 3));
      if (except !== exact) exact.value = String(Number(factor[c].toPrecision(4)));
      price.setAttribute("aria-valuetext", four(factor[c]));
    }
    later();
  }
  function setPrior(c, p) {
    if (!(p >= 0 && p <= 1)) return;
    const rest = prior.reduce((sum, q, i) => (i === c ? sum : sum + q), 0);
    prior = prior.map((q, i) => (i === c ? p : rest > 0 ? (q / rest) * (1 - p) : (1 - p) / (k - 1)));
  }
  for (let c = 0; c < k; c++) {
    const slider = get(`prior-${c}`), number = get(`prior-number-${c}`);
    if (slider !== null) {
      slider.addEventListener("input", () => { setPrior(c, 1 / (1 + Math.exp(-Number(slider.value)))); show(slider); });
      number.addEventListener("input", () => { if (number.value !== "") { setPrior(c, Number(number.value) / 100); show(number); } });
    }
    const price = get(`cost-${c}`), exact = get(`cost-number-${c}`);
    price.addEventListener("input", () => { factor[c] = 10 ** Number(price.value); show(price); });
    exact.addEventListener("input", () => { if (Number(exact.value) > 0) { factor[c] = Number(exact.value); show(exact); } });
  }
  get("reset").addEventListener("click", () => { prior = data.prior.slice(); factor = data.factor.slice(); show(null); });
  get("equal").addEventListener("click", () => { prior = prior.map(() => 1 / k); factor = factor.map(() => 1); show(null); });
  /* Fields that find lines of a list or table. */
  for (const field of document.querySelectorAll("[data-finds]")) {
    const whole = get(field.dataset.finds), lines = whole.tBodies ? whole.tBodies[0].rows : whole.children;
    field.addEventListener("input", () => {
      for (const line of lines) line.hidden = !line.textContent.toLowerCase().includes(field.value.toLowerCase());
    });
  }
  get("controls").addEventListener("submit", (event) => event.preventDefault());
  show(null);
  document.documentElement.dataset.ready = "yes";
})();
