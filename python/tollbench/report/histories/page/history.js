/* The page of a history: a chart under each benchmark that is opened. Text enters through textContent alone. */
const loaded = keepLoading();
(async () => {
  "use strict";
  let data; // what charts show: the filter of rows works before, and without it
  const rows = [...document.querySelectorAll("tr[data-line]")];
  const axes = document.querySelector(".axes");
  const dates = document.getElementById("dates");
  const open = new Map(); // line -> {row, chart}
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  const commit = (place) => data.commits[place] ?? ["", "", "", ""];
  const at = (place) => (dates.checked ? Date.parse(commit(place)[1]) : place);
  const day = (instant) => instant.slice(0, 10);
  const signs = ["circle", "rect", "triangle", "diamond"];
  const percent = (x) => `${x > 0 ? "+" : ""}${x} %`;

  function described(point, part) {
    const [place, value, low, high, count] = point, [hash, instant, author, subject] = commit(place);
    const box = make("div", "tooltip"), interval = low === null ? "" : ` (${percent(low)} to ${percent(high)})`;
    box.append(make("b", "", percent(value) + interval),
      make("span", "", count ? `${count} ${data.noun}s around ${hash}, ${day(instant)}` : `${hash} ${day(instant)}`));
    if (!count) box.append(make("span", "", `${subject}, ${author}`));
    if (part) box.append(make("span", "", part));
    return box;
  }

  function bars(points, tone) {
    return {
      type: "custom", silent: true, z: 1,
      data: points.filter((point) => point[2] !== null).map((point) => [at(point[0]), point[2], point[3]]),
      encode: { x: 0, y: [1, 2] },
      renderItem: (_, api) => {
        const [x, low] = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)])[1];
        return { type: "line", shape: { x1: x, x2: x, y1: low, y2: high }, style: { stroke: tone, lineWidth: 1.4, opacity: 0.45 } };
      },
    };
  }

  function option(line) {
    const accent = colour("accent"), soft = colour("soft"), grid = colour("line");
    const series = [];
    // Parts may lie over each other, two machines that take turns: the present one has the colour, each its own sign.
    line.parts.forEach((points, number) => {
      const tone = number === line.latest ? accent : soft;
      const part = line.parts.length > 1 ? `part ${number + 1} of ${line.parts.length}` : "";
      series.push(bars(points, tone));
      series.push({ type: "line", symbol: signs[number % signs.length], symbolSize: points.length > 300 ? 2.5 : 6, z: 2, itemStyle: { color: tone },
        lineStyle: { color: tone, width: 1.2, opacity: 0.7 }, data: points.map((point) => ({ value: [at(point[0]), point[1]], point, part })),
        ...(number === 0 ? marks(line) : {}) });
    });
    return {
      useUTC: true, animation: false, grid: { left: 62, right: 24, top: 26, bottom: 42 },
      tooltip: { trigger: "item", confine: true, transitionDuration: 0, backgroundColor: colour("surface"), borderColor: grid,
        textStyle: { color: colour("ink"), fontSize: 13 }, formatter: (item) => (item.data && item.data.point ? described(item.data.point, item.data.part) : "") },
      xAxis: { type: dates.checked ? "time" : "value", min: dates.checked ? undefined : 0, max: dates.checked ? undefined : Math.max(1, data.count - 1),
        name: dates.checked ? `date of the ${data.noun}` : data.noun, nameLocation: "middle", nameGap: 26, nameTextStyle: { color: soft },
        axisLabel: { color: soft }, splitLine: { show: false }, minInterval: 1 },
      yAxis: { type: "value", scale: true, axisLabel: { color: soft, formatter: (x) => percent(x) }, splitLine: { lineStyle: { color: grid } } },
      dataZoom: [{ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl" }],
      series,
    };
  }

  /** Changes as bands from the first commit to the last one that they may have come with; breaks as lines. */
  function marks(line) {
    const tone = { slower: colour("slower"), faster: colour("faster") };
    return {
      markArea: { silent: true, data: line.changes.map(([, first, last, word]) => [
        { xAxis: at(first), itemStyle: { color: tone[word], opacity: 0.16 } }, { xAxis: at(last) }]) },
      markLine: { symbol: "none", silent: true, data: [
        ...line.changes.map(([place, , , word, told]) => ({ xAxis: at(place), lineStyle: { color: tone[word], type: "dashed" },
          label: { formatter: told, color: tone[word], fontSize: 11 } })),
        ...data.breaks.filter(([, , times]) => line.time || !times).map(([place]) => ({ xAxis: dates.checked ? at(place) : Math.min(place + 0.5, data.count - 1), lineStyle: { color: colour("break"), type: "dotted" },
          label: { formatter: "break", color: colour("break"), fontSize: 11 } }))] },
    };
  }

  function draw(number) {
    const { chart } = open.get(number);
    chart.setOption(option(data.lines[number]), true);
  }

  function toggle(row) {
    const number = Number(row.dataset.line);
    if (open.has(number)) {
      const { row: below, chart } = open.get(number);
      chart.dispose();
      below.remove();
      open.delete(number);
      return;
    }
    const below = make("tr", "chartrow"), cell = make("td"), box = make("div", "chart");
    cell.colSpan = 6;
    cell.append(box);
    below.append(cell);
    row.after(below);
    open.set(number, { row: below, chart: echarts.init(box, null, { renderer: "svg" }) });
    draw(number);
  }

  axes.hidden = false;
  dates.parentElement.hidden = true; // until there are charts
  const redraw = () => open.forEach((_, number) => draw(number));
  dates.addEventListener("change", redraw);
  axes.querySelector("input[type=search]").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const row of rows) {
      row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(wanted);
      const shown = open.get(Number(row.dataset.line));
      if (shown) shown.row.hidden = row.hidden;
    }
  });
  addEventListener("resize", () => open.forEach(({ chart }) => chart.resize()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  if (rows.length) {
    data = JSON.parse(await unpacked("data"));
    await startCharts();
    dates.parentElement.hidden = false;
  }
  for (const row of rows) {
    const head = row.querySelector("th"), button = make("button", "open", head.textContent);
    button.type = "button";
    head.replaceChildren(button);
    button.addEventListener("click", () => toggle(row));
  }
  if (rows.length) toggle(rows[0]);
  document.documentElement.dataset.drawn = "yes"; // for whoever takes a picture
})().catch(withoutCharts).finally(loaded);
