/* The report's behaviour: charts, filter, sorting. Text from the run file enters the page through
   textContent or as a chart's text alone; nothing here parses it as markup. */
const loaded = keepLoading();
(async () => {
  "use strict";
  const root = document.documentElement;
  const data = JSON.parse(await unpacked("data"));
  const workloads = new Map(data.workloads.map((workload) => [workload.id, workload]));
  const charts = new Map(); // element -> {chart, draw}
  const select = (query, within = document) => [...within.querySelectorAll(query)];
  const printing = () => root.dataset.printing === "yes";
  const NARROW = 600; // below this a contender's name stands above its interval

  // ---- small tools -------------------------------------------------------------------------

  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  let known = null; // reading styles makes the browser lay the page out: once a theme is enough
  const palette = () => (known ??= readPalette());
  const readPalette = () => {
    const names = ["ink", "soft", "faint", "line", "hair", "grid", "accent", "dot", "published", "surface", "paper"];
    return { ...Object.fromEntries(names.map((name) => [name, colour(name)])),
      curves: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => colour("c" + n)),
      sans: getComputedStyle(document.body).fontFamily, mono: colour("mono") };
  };

  const pen = document.createElement("canvas").getContext("2d");
  const textWidth = (text, font) => { pen.font = font; return pen.measureText(text).width; };

  /** The text cut at its end so that it fits; the tooltip has all of it. */
  function fitted(text, room, font) {
    if (textWidth(text, font) <= room) return text;
    const letters = [...text];
    for (let kept = letters.length - 1; kept > 4; kept -= Math.max(1, kept >> 4)) {
      const cut = `${letters.slice(0, kept).join("").trimEnd()}…`;
      if (textWidth(cut, font) <= room) return cut;
    }
    return letters.slice(0, 3).join("") + "…";
  }

  /** As the tables have a number without an interval. */
  const estimated = (number) => (number < 100 ? number.toPrecision(3) : Math.round(Number(number.toPrecision(3))).toLocaleString("en"));

  const written = (number) => number.toLocaleString("en", { maximumSignificantDigits: 4 });

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function shape(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // ---- axes --------------------------------------------------------------------------------

  /** A round number of which some three to eight make up the span. */
  function roundStep(span, room) {
    const rough = span / Math.max(3, Math.min(8, room / 90)), power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 2.5, 5, 10].find((unit) => unit * power >= rough) * power;
  }

  /** An axis over the data: logarithmic where the spread asks for it, from zero unless all values are close. */
  function axisOver(least, most, room) {
    const spread = most / least;
    if (least > 0 && spread > 5) return logAxis(least, most, room);
    const fromZero = !(least > 0 && spread < 1.7);
    const span = fromZero ? most : most - least || most || 1;
    const step = roundStep(span, room);
    const start = fromZero ? Math.min(0, Math.floor(least / step) * step) : Math.floor((least - span * 0.06) / step) * step;
    const end = Math.ceil((most + span * 0.03) / step) * step;
    const count = Math.round((end - start) / step);
    const ticks = Array.from({ length: count + 1 }, (_, i) => Number((start + i * step).toPrecision(12)));
    return { min: start, max: end, ticks, at: (x) => x, back: (x) => x, note: fromZero ? "" : "the axis does not start at zero" };
  }

  function logAxis(least, most, room) {
    const low = Math.log10(least), high = Math.log10(most), pad = (high - low) * 0.03 || 0.02;
    const min = low - pad, max = high + pad, decades = max - min;
    const wanted = room / 78;
    const units = decades * 3 <= wanted ? [1, 2, 5] : decades * 2 <= wanted ? [1, 3] : [1];
    const skip = Math.max(1, Math.ceil(decades / wanted));
    const ticks = [];
    for (let power = Math.floor(min); power <= Math.ceil(max); power++) {
      if (((power % skip) + skip) % skip) continue;
      for (const unit of units) {
        const at = power + Math.log10(unit);
        if (at >= min - 1e-9 && at <= max + 1e-9) ticks.push(at);
      }
    }
    // Between 3.1 and 4.7 lies none of these.
    const even = ticks.length < 3 && decades < 1 ? evenTicks(10 ** min, 10 ** max, room).map(Math.log10) : [];
    return { min, max, ticks: even.length > ticks.length ? even : ticks, at: Math.log10, back: (x) => 10 ** x, note: "logarithmic" };
  }

  function evenTicks(from, to, room) {
    const step = roundStep(to - from, room), first = Math.ceil(from / step);
    return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  }

  /** An axis' name with what is to be known of the axis. */
  const named = (axis, name) => name + (axis.note ? ` (${axis.note})` : "");

  /** As many digits as tell an axis' ticks apart, at least six. */
  function digitsOf(axis) {
    const values = axis.ticks.map(axis.back);
    for (let digits = 6; digits < 12; digits++)
      if (new Set(values.map((x) => x.toPrecision(digits))).size === values.length) return digits;
    return 12;
  }

  function valueAxis(axis, name, theme, more = {}) {
    const digits = digitsOf(axis);
    return {
      type: "value", min: axis.min, max: axis.max, name, nameLocation: "middle", nameGap: 30,
      nameTextStyle: { color: theme.faint, fontSize: 12, fontFamily: theme.sans },
      axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
      axisTick: { show: true, customValues: axis.ticks, lineStyle: { color: theme.line } },
      axisLabel: { customValues: axis.ticks, color: theme.soft, fontSize: 11.5, fontFamily: theme.sans,
        formatter: (x) => Number(axis.back(x).toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits }) },
      splitLine: { show: true, customValues: axis.ticks, lineStyle: { color: theme.grid, width: 1 } },
      ...more,
    };
  }

  const tooltip = (theme, build) => ({
    trigger: "item", confine: true, transitionDuration: 0, backgroundColor: theme.surface, borderColor: theme.line,
    padding: [8, 12], extraCssText: "box-shadow:0 4px 16px rgba(0,0,0,.14);", formatter: (item) => {
      const box = make("div", "tooltip");
      const [title, ...lines] = build(item);
      box.append(make("b", "", title), ...lines.filter(Boolean).map((line) => make("span", "", line)));
      return box;
    },
  });

  // ---- the dot-and-interval chart ------------------------------------------------------------

  /** Same replicate, same place: a spread that looks random but is not. */
  const jitter = (index) => (((index * 0.618034) % 1) - 0.5) * 2;

  /** One dot of a path: a path for a row's replicates is one element where circles would be dozens. */
  const disc = (x, y, r = 1.7) => `M${(x - r).toFixed(1)} ${y.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;

  function extent(rows) {
    const all = rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value, ...row.launches,
      ...row.published.flatMap((band) => [band.low, band.high])]).filter((x) => Number.isFinite(x));
    return [Math.min(...all), Math.max(...all)];
  }

  /** An axis' name, no wider than the axis: a phone would cut both its ends. */
  function unitBelow(workload, axis, room, theme) {
    const note = axis.note ? ` (${axis.note})` : "", font = `12px ${theme.sans}`;
    return fitted(workload.unit, room - textWidth(note, font), font) + note;
  }

  function valuesOption(workload, rows, width, theme) {
    const narrow = width < NARROW;
    const nameFont = `600 12.5px ${theme.mono}`, numberFont = `12px ${theme.sans}`;
    const names = rows.map((row) => row.name);
    const left = narrow ? 4 : Math.min(Math.max(...names.map((name) => textWidth(name, nameFont))) + 18, width * 0.45);
    const right = narrow ? 8 : Math.max(...rows.map((row) => textWidth(row.text, `600 ${numberFont}`))) + 24;
    const step = narrow ? 46 : printing() ? Math.max(14, Math.min(28, 1000 / rows.length)) : 28;
    const axis = axisOver(...extent(rows), width - left - right);
    const unit = unitBelow(workload, axis, width - left - right, theme);
    const layout = { narrow, left, right, width, nameFont, numberFont, axis };
    return {
      height: rows.length * step + 54,
      option: {
        animation: false, textStyle: { fontFamily: theme.sans },
        grid: { left, right, top: 6, bottom: 48 },
        xAxis: valueAxis(axis, unit, theme),
        yAxis: { type: "value", min: -0.5, max: rows.length - 0.5, inverse: true, show: false },
        tooltip: tooltip(theme, ({ data: [, index] }) => {
          const row = rows[index];
          return [row.name, `${row.text} ${row.interval === "–" ? "(too few launches for an interval)" : row.interval}`,
            `${row.ratio} the fastest`, `${row.launches.length} launches drawn`,
            ...row.published.map((band) => `${band.year}: ${band.text}, ${band.label}`)];
        }),
        series: [{
          type: "custom", data: rows.map((row, index) => [axis.at(row.value), index]), encode: { x: 0, y: 1 }, clip: false,
          renderItem: (params, api) => ({ type: "group", children: rowShapes(rows[params.dataIndex], params.dataIndex, api, layout, theme) }),
        }],
      },
    };
  }

  function rowShapes(row, index, api, layout, theme) {
    const { axis, narrow } = layout;
    const y = api.coord([axis.min, index])[1] + (narrow ? 9 : 0);
    const x = (value) => api.coord([axis.at(value), index])[0];
    const reach = (narrow ? 44 : 26) / 2;
    const shapes = [ // the whole line answers to the pointer, not the mark alone
      { type: "rect", shape: { x: 0, y: y - reach, width: layout.width, height: 2 * reach }, style: { fill: "transparent" } },
      ...rowTexts(row, y, layout, theme)];
    const rule = (x1, x2, style) => ({ type: "line", shape: { x1, y1: y, x2, y2: y }, style, silent: true });
    shapes.push(rule(layout.left, layout.width - layout.right, { stroke: theme.hair, lineWidth: 1 }));
    row.published.forEach((band) => shapes.push(...bandShapes(x(band.low), x(band.high), y, theme)));
    if (row.launches.length) shapes.push({ type: "path", silent: true, style: { fill: theme.dot, opacity: 0.36 },
      shape: { pathData: row.launches.map((value, number) => disc(x(value), y + jitter(number) * 6)).join("") } });
    const tone = row.fastest || row.tied ? theme.accent : theme.ink;
    if (row.low !== null && row.high !== null) {
      const [a, b] = [x(row.low), x(row.high)];
      shapes.push(rule(a, b, { stroke: tone, lineWidth: 2.25 }));
      for (const end of [a, b]) shapes.push({ type: "line", shape: { x1: end, y1: y - 4, x2: end, y2: y + 4 }, style: { stroke: tone, lineWidth: 1.75 }, silent: true });
    }
    shapes.push(markShape(row, x(row.value), y, tone, theme));
    return shapes;
  }

  /** Filled circle: fastest; ring: tied with it; square: the others. Never colour alone. */
  function markShape(row, cx, cy, tone, theme) {
    if (row.fastest) return { type: "circle", shape: { cx, cy, r: 5 }, style: { fill: tone, stroke: theme.paper, lineWidth: 1 } };
    if (row.tied) return { type: "circle", shape: { cx, cy, r: 4.2 }, style: { fill: theme.paper, stroke: tone, lineWidth: 2 } };
    return { type: "rect", shape: { x: cx - 3.6, y: cy - 3.6, width: 7.2, height: 7.2, r: 0.5 }, style: { fill: tone, stroke: theme.paper, lineWidth: 1 } };
  }

  function bandShapes(a, b, y, theme) {
    const style = { stroke: theme.published, lineWidth: 1.5, lineDash: [3, 2.5], fill: "none" };
    const half = 4, ends = a === b ? [a] : [a, b];
    return [
      { type: "line", shape: { x1: a, y1: y, x2: b, y2: y }, style, silent: true },
      ...ends.map((x) => ({ type: "polygon", silent: true, style: { fill: theme.paper, stroke: theme.published, lineWidth: 1.5 },
        shape: { points: [[x, y - half], [x + half, y], [x, y + half], [x - half, y]] } })),
    ];
  }

  function rowTexts(row, y, layout, theme) {
    const { narrow, left, right, width, nameFont, numberFont } = layout;
    const tone = row.fastest ? theme.accent : theme.ink;
    const room = narrow ? width - 20 - textWidth(row.text, `600 ${numberFont}`) - 16 : left - 16;
    const line = narrow ? y - 17 : y;
    return [
      { type: "text", style: { text: fitted(row.name, room, nameFont), x: narrow ? left : left - 12, y: line, fill: tone,
        font: row.fastest ? nameFont : nameFont.replace("600", "500"), align: narrow ? "left" : "right", verticalAlign: "middle" } },
      { type: "text", silent: true, style: { text: row.text, x: narrow ? width - right : width - 4, y: line, fill: row.fastest ? theme.accent : theme.soft,
        font: (row.fastest ? "600 " : "") + numberFont, align: "right", verticalAlign: "middle" } },
    ];
  }

  /** One line of a key: the mark, and what it stands for. */
  function entry(label, ...shapes) {
    const svg = shape("svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" });
    svg.append(...shapes);
    const span = make("span");
    span.append(svg, label);
    return span;
  }

  function keyTo(figure, rows) {
    const theme = palette(), key = figure.querySelector(".key");
    const line = (stroke) => shape("line", { x1: 1, x2: 21, y1: 6, y2: 6, stroke, "stroke-width": 2 });
    const entries = rows.some((row) => row.fastest) ? [entry("fastest", line(theme.accent), shape("circle", { cx: 11, cy: 6, r: 4.5, fill: theme.accent }))] : [];
    if (rows.some((row) => row.tied)) entries.push(entry("tied with the fastest", line(theme.accent), shape("circle", { cx: 11, cy: 6, r: 3.8, fill: theme.paper, stroke: theme.accent, "stroke-width": 2 })));
    entries.push(entry("median and interval", line(theme.ink), shape("rect", { x: 7.5, y: 2.5, width: 7, height: 7, fill: theme.ink })));
    if (rows.some((row) => row.launches.length)) entries.push(entry("one launch", ...[4, 10, 17].map((cx, i) => shape("circle", { cx, cy: [4, 8, 5][i], r: 1.8, fill: theme.dot, opacity: 0.45 }))));
    if (rows.some((row) => row.published.length)) entries.push(entry("published years ago", shape("line", { x1: 3, x2: 19, y1: 6, y2: 6, stroke: theme.published, "stroke-width": 1.5, "stroke-dasharray": "3 2.5" }),
      ...[4, 18].map((x) => shape("polygon", { points: `${x},2 ${x + 4},6 ${x},10 ${x - 4},6`, fill: theme.paper, stroke: theme.published, "stroke-width": 1.5 }))));
    key.replaceChildren(...entries);
  }

  // ---- distribution curves -------------------------------------------------------------------

  const DASHES = ["solid", [7, 4], [2, 3], [9, 3, 2, 3]];
  const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];
  const MARKED = [0.5, 0.9, 0.99, 0.999, 0.9999];
  const nines = (p) => -Math.log10(Math.max(1e-12, 1 - p));
  const share = (y) => {
    const tail = 10 ** -y;
    return y <= 0 ? "0 %" : `${Number((100 * (1 - tail)).toFixed(Math.max(0, Math.round(y) - 2)))} %`;
  };
  const look = (index, theme) => ({ colour: theme.curves[index % 8], dash: DASHES[(index + (index >> 3)) % 4], symbol: SYMBOLS[(index + 3 * (index >> 3)) % 8] });

  function curvePoints(curve) {
    const marks = new Set(MARKED.map((p) => curve.points.findIndex(([, at]) => at >= p - 1e-9)));
    return curve.points.map(([x, p], index) => ({
      value: [x, Math.min(p, 1 - 0.5 / curve.count)], symbol: marks.has(index) ? undefined : "none",
    })).filter((point) => point.value[0] > 0);
  }

  function cdfOption(workload, curves, width, theme, hidden) {
    const shown = curves.filter(({ curve }) => !hidden.has(curve.id));
    const series = shown.map(({ curve, index }) => ({ curve, index, points: curvePoints(curve) }));
    const xs = series.flatMap(({ points }) => points.map((point) => point.value[0]));
    const axis = logAxis(Math.min(...xs, 1e9), Math.max(...xs, 1e-9), width - 80);
    const top = Math.max(3, ...series.flatMap(({ points }) => points.map((point) => nines(point.value[1]))));
    const ticks = [0, nines(0.5), ...Array.from({ length: Math.floor(top) }, (_, i) => i + 1)];
    const vertical = { min: 0, max: top + 0.15, ticks, back: (y) => y, note: "" };
    return {
      animation: false, textStyle: { fontFamily: theme.sans },
      grid: { left: 62, right: 30, top: 10, bottom: 50 },
      xAxis: valueAxis(axis, `${workload.latencyUnit} for one operation (logarithmic)`, theme),
      yAxis: { ...valueAxis(vertical, "", theme), axisLabel: { ...valueAxis(vertical, "", theme).axisLabel, formatter: (y) => (Math.abs(y - nines(0.5)) < 1e-6 ? "50 %" : share(Math.round(y))) } },
      tooltip: tooltip(theme, (item) => [item.seriesName, `${written(10 ** item.value[0])} ${workload.latencyUnit}`,
        `${Number((100 * (1 - 10 ** -item.value[1])).toPrecision(7))} % took at most this long`]),
      series: series.map(({ curve, index, points }) => {
        const style = look(index, theme);
        return { type: "line", name: curve.name, id: curve.id, symbol: style.symbol, symbolSize: 8, showSymbol: true, showAllSymbol: true,
          lineStyle: { color: style.colour, width: 2, type: style.dash }, itemStyle: { color: style.colour, borderWidth: 2 },
          emphasis: { focus: "series", lineStyle: { width: 3 } }, blur: { lineStyle: { opacity: 0.18 }, itemStyle: { opacity: 0.18 } },
          triggerLineEvent: true,
          data: points.map((point) => ({ value: [axis.at(point.value[0]), nines(point.value[1])], ...(point.symbol ? { symbol: "none" } : {}) })) };
      }),
    };
  }

  // ---- one data set as histogram and as distribution function --------------------------------

  function bothOption(workload, curve, width, theme) {
    const { low, high, shares, beyond } = curve.histogram, narrow = width < NARROW;
    const half = narrow ? width - 76 : (width - 150) / 2;
    const axis = logAxis(low, high, half), span = Math.log10(high / low) / shares.length;
    const points = [[low, 0], ...curve.points.filter(([x]) => x >= low && x <= high)];
    const most = axisOver(0, Math.max(...shares) * 100, 260), all = { min: 0, max: 102, ticks: [0, 25, 50, 75, 100], back: (y) => y };
    const name = `${workload.latencyUnit} for one operation (logarithmic)`;
    const side = (left) => (narrow ? { left: 56, width: half, top: left ? 12 : 330, height: 236 } : { left: left ? 56 : 56 + half + 74, width: half, top: 12, height: 236 });
    const across = valueAxis(axis, name, theme), up = (over, label) => valueAxis(over, label, theme, { nameGap: 36 });
    return {
      height: narrow ? 640 : 300,
      option: {
        animation: false, textStyle: { fontFamily: theme.sans }, grid: [side(true), side(false)],
        xAxis: [{ ...across, gridIndex: 0 }, { ...across, gridIndex: 1 }],
        yAxis: [{ ...up(most, "% of operations"), gridIndex: 0 }, { ...up(all, "% at most this long"), gridIndex: 1 }],
        tooltip: tooltip(theme, ({ data }) => [curve.name, ...data.told]),
        series: [
          { type: "custom", xAxisIndex: 0, yAxisIndex: 0, encode: { x: 0, y: 1 },
            data: shares.map((share, index) => {
              const from = Math.log10(low) + index * span;
              return { value: [from, share * 100, from + span], told: [`${written(10 ** from)} to ${written(10 ** (from + span))} ${workload.latencyUnit}`, `${written(share * 100)} % of operations`, beyond ? `${beyond} lie beyond the axis` : ""] };
            }),
            renderItem: (params, api) => {
              const [x, y] = api.coord([api.value(0), api.value(1)]), [end, zero] = api.coord([api.value(2), 0]);
              return { type: "rect", shape: { x, y, width: Math.max(1, end - x - 0.5), height: zero - y }, style: { fill: theme.accent } };
            } },
          { type: "line", xAxisIndex: 1, yAxisIndex: 1, symbol: "circle", symbolSize: 6, showSymbol: false, step: "end",
            lineStyle: { color: theme.accent, width: 2 }, itemStyle: { color: theme.accent }, areaStyle: { color: theme.accent, opacity: 0.08 },
            data: points.map(([x, p]) => ({ value: [axis.at(x), p * 100], told: [`${written(x)} ${workload.latencyUnit}`, `${written(p * 100)} % took at most this long`] })) },
        ],
      },
    };
  }

  // ---- the heat map --------------------------------------------------------------------------

  // Cividis (Nuñez, Anderton and Renslow 2018): reads alike with and without colour vision, and in grey.
  const HEAT = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  const FEW_CPUS = 24; // up to here cells hold their values

  function gridOption(grid, width, theme) {
    const count = grid.labels.length, few = count <= FEW_CPUS;
    const left = 16 + Math.max(...grid.labels.map((label) => textWidth(label, `11px ${theme.sans}`))) + 22;
    const cell = Math.max(1, Math.min(few ? 46 : 22, (width - left - 8) / count)), size = cell * count;
    const values = grid.values.map((value, index) => [index % count, Math.floor(index / count), value]).filter(([, , value]) => value !== null);
    const heat = values.map(([, , value]) => value).filter((value) => value > 0);
    let least = Infinity, most = 0; // more cells than a call takes arguments
    for (const value of heat) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    most = Math.max(most, least * 1.0001);
    const at = (value) => Math.log10(Math.max(value, least));
    const dark = (value) => (at(value) - at(least)) / (at(most) - at(least)) < 0.55;
    const room = cell >= 30, label = estimated;
    const names = { type: "category", data: grid.labels, position: "top", nameLocation: "middle", nameTextStyle: { color: theme.faint, fontSize: 12 },
      axisLine: { show: false }, axisTick: { show: false }, splitLine: { show: false },
      axisLabel: { color: theme.soft, fontSize: 11, interval: Math.max(0, Math.ceil(24 / cell) - 1), rotate: 0 } };
    return {
      height: size + 112,
      option: {
        animation: false, textStyle: { fontFamily: theme.sans }, grid: { left, top: 40, width: size, height: size },
        xAxis: { ...names, name: "to CPU", nameGap: 22 }, yAxis: { ...names, position: "left", inverse: true, name: "from CPU", nameGap: left - 16,
          axisLabel: { ...names.axisLabel, interval: Math.max(0, Math.ceil(14 / cell) - 1) } },
        visualMap: { type: "continuous", min: at(least), max: at(most), calculable: true, realtime: true, orient: "horizontal", left, top: size + 52, itemWidth: 12, itemHeight: Math.min(220, size),
          inRange: { color: HEAT }, textStyle: { color: theme.soft, fontSize: 11.5 }, formatter: (value) => `${label(10 ** value)} ${grid.unit}`, dimension: 3 },
        tooltip: tooltip(theme, ({ value: [to, from, text] }) => [`${grid.labels[from]} to ${grid.labels[to]}`, `${label(text)} ${grid.unit}`]),
        series: [
          { type: "heatmap", progressive: 20000, data: values.map(([to, from, value]) => (few && room ? { value: [to, from, value, at(value)], label: { color: dark(value) ? "#fff" : "#111" } } : [to, from, value, at(value)])),
            encode: { x: 0, y: 1, tooltip: [2] },
            itemStyle: { borderColor: theme.paper, borderWidth: cell >= 8 ? 1 : 0 }, emphasis: { itemStyle: { borderColor: theme.ink, borderWidth: 1.5 } },
            label: { show: few && room, fontSize: cell >= 38 ? 11 : 10, formatter: ({ value }) => label(value[2]) } },
          { type: "custom", silent: true, z: 5, coordinateSystem: "cartesian2d", data: frames(grid.groups),
            renderItem: (params, api) => {
              const [x, y] = api.coord([api.value(0), api.value(0)]), [end, below] = api.coord([api.value(1), api.value(1)]);
              return { type: "rect", shape: { x: x - cell / 2, y: y - cell / 2, width: end - x + cell, height: below - y + cell }, style: { fill: "none", stroke: theme.ink, lineWidth: 1.75 } };
            } },
        ],
      },
    };
  }

  /** Groups whose CPUs stand side by side, as [first, last]; others cannot be framed. */
  const frames = (groups) => groups.map((group) => [...group].sort((a, b) => a - b))
    .filter((group) => group.length > 1 && group.at(-1) - group[0] === group.length - 1).map((group) => [group[0], group.at(-1)]);

  // ---- wall time and CPU time together --------------------------------------------------------

  function busyOption(workload, rows, width, theme) {
    const narrow = width < NARROW, nameFont = `600 12.5px ${theme.mono}`, numberFont = `12px ${theme.sans}`;
    const told = rows.map((row) => ({ ...row, text: row.busy === "–" ? "" : `${row.busy} CPUs` }));
    const left = narrow ? 4 : Math.min(Math.max(...told.map((row) => textWidth(row.name, nameFont))) + 18, width * 0.45);
    const right = narrow ? 8 : Math.max(...told.map((row) => textWidth(row.text, `600 ${numberFont}`))) + 24;
    const step = narrow ? 46 : printing() ? Math.max(14, Math.min(28, 1000 / told.length)) : 28;
    const ends = told.flatMap((row) => [row.value, row.cpu]).filter((x) => x !== null && x > 0);
    const least = Math.min(...ends), most = Math.max(...ends);
    const axis = axisOver(most / least > 5 ? least : 0, most, width - left - right); // close ends would blow up to a gap
    const layout = { narrow, left, right, width, nameFont, numberFont, axis };
    const per = workload.unit.slice(workload.unit.indexOf(" per "));
    return {
      height: told.length * step + 54,
      option: {
        animation: false, textStyle: { fontFamily: theme.sans }, grid: { left, right, top: 6, bottom: 48 },
        xAxis: valueAxis(axis, unitBelow(workload, axis, width - left - right, theme), theme),
        yAxis: { type: "value", min: -0.5, max: told.length - 0.5, inverse: true, show: false },
        tooltip: tooltip(theme, ({ data: [, index] }) => [told[index].name, `${rows[index].text}${per}, wall clock`,
          told[index].cpu === null ? "CPU time unknown" : `${estimated(told[index].cpu)} ${workload.unit}, CPU time of all threads`, told[index].text && `${told[index].text} busy`]),
        series: [{ type: "custom", data: told.map((row, index) => [axis.at(row.value), index]), encode: { x: 0, y: 1 }, clip: false,
          renderItem: (params, api) => ({ type: "group", children: busyShapes(told[params.dataIndex], params.dataIndex, api, layout, theme) }) }],
      },
    };
  }

  function busyShapes(row, index, api, layout, theme) {
    const { axis, narrow } = layout;
    const y = api.coord([axis.min, index])[1] + (narrow ? 9 : 0), reach = (narrow ? 44 : 26) / 2;
    const x = (value) => api.coord([axis.at(value), index])[0];
    const rule = (x1, x2, style) => ({ type: "line", shape: { x1, y1: y, x2, y2: y }, style, silent: true });
    const shapes = [
      { type: "rect", shape: { x: 0, y: y - reach, width: layout.width, height: 2 * reach }, style: { fill: "transparent" } },
      ...rowTexts(row, y, layout, theme), rule(layout.left, layout.width - layout.right, { stroke: theme.hair, lineWidth: 1 })];
    const cpu = row.cpu > 0 ? x(row.cpu) : null, tone = row.fastest ? theme.accent : theme.ink;
    if (cpu !== null) shapes.push(rule(x(row.value), cpu, { stroke: theme.published, lineWidth: 2.25 }),
      { type: "polygon", silent: true, style: { fill: theme.published, stroke: theme.paper, lineWidth: 1 }, shape: { points: [[cpu, y - 5], [cpu + 5, y], [cpu, y + 5], [cpu - 5, y]] } });
    shapes.push({ type: "circle", shape: { cx: x(row.value), cy: y, r: 4.6 }, style: { fill: tone, stroke: theme.paper, lineWidth: 1 } });
    return shapes;
  }

  // ---- time over a parameter -----------------------------------------------------------------

  /** Ticks at the parameter's own values, without those that would touch the one before. */
  function parameterAxis(xs, room) {
    const values = [...new Set(xs)].sort((a, b) => a - b), least = values[0], most = values.at(-1);
    const logarithmic = least > 0 && most / least >= 10;
    const at = logarithmic ? Math.log10 : (x) => x;
    const pad = (at(most) - at(least)) * 0.05 || 1, min = at(least) - pad, max = at(most) + pad;
    const place = (x) => ((at(x) - min) / (max - min)) * room;
    const kept = [];
    for (const x of values) if (!kept.length || place(x) - place(kept.at(-1)) > 12 + 7 * String(x).length) kept.push(x);
    return { min, max, ticks: kept.map(at), at, back: logarithmic ? (x) => Math.round(10 ** x) : (x) => x, note: logarithmic ? "logarithmic" : "" };
  }

  /** Upwards: time always logarithmic; another number where its spread asks for it, from zero otherwise. */
  function upwardAxis(ends, isTime) {
    const finite = ends.filter((y) => Number.isFinite(y)), positive = finite.filter((y) => y > 0);
    if (isTime) return logAxis(Math.min(...positive), Math.max(...positive), 480);
    return axisOver(Math.min(...finite), Math.max(...finite, Math.min(...finite) + 1e-12), 480);
  }

  function slopeOption(workload, slope, shown, width, theme, metric) {
    const all = shown.flatMap(({ points }) => points);
    const across = parameterAxis(all.map(({ x }) => x), width - 100);
    const up = upwardAxis(all.flatMap(({ row }) => [row.value, row.low, row.high].filter((y) => y !== null)), !metric);
    const logarithmic = up.note === "logarithmic", drawable = (y) => y !== null && (!logarithmic || y > 0);
    const unit = metric ? [metric.title, metric.unit].filter(Boolean).join(", ") : workload.unit;
    const grouped = (x) => across.back(x).toLocaleString("en");
    return {
      animation: false, textStyle: { fontFamily: theme.sans }, grid: { left: 70, right: 30, top: 12, bottom: 50 },
      xAxis: { ...valueAxis(across, named(across, slope.parameter), theme, { axisLabel: { customValues: across.ticks, color: theme.soft, fontSize: 11.5, fontFamily: theme.sans, formatter: grouped } }) },
      yAxis: valueAxis(up, named(up, unit), theme, { nameGap: 52 }),
      tooltip: tooltip(theme, ({ seriesName, data: { point } }) => [seriesName, `${slope.parameter} = ${point.x.toLocaleString("en")}`,
        metric ? `${metric.title}: ${point.row.text}` : `${point.row.text} ${point.row.interval === "–" ? "(too few launches for an interval)" : point.row.interval}`]),
      series: shown.flatMap(({ line, index, points }) => {
        const style = look(index, theme);
        return [
          { type: "custom", silent: true, id: line.id + "-bars", z: 1, encode: { x: 0, y: 1 },
            data: points.filter(({ row }) => row.low !== null && row.high !== null && drawable(row.low)).map(({ x, row }) => [across.at(x), up.at(row.low), up.at(row.high)]),
            renderItem: (params, api) => bar(api.coord([api.value(0), api.value(1)]), api.coord([api.value(0), api.value(2)]), style.colour) },
          { type: "line", id: line.id, name: line.name, symbol: style.symbol, symbolSize: 8, showSymbol: true, showAllSymbol: true, z: 2,
            lineStyle: { color: style.colour, width: 2, type: style.dash }, itemStyle: { color: style.colour, borderWidth: 2 },
            emphasis: { focus: "series", lineStyle: { width: 3 } }, blur: { lineStyle: { opacity: 0.18 }, itemStyle: { opacity: 0.18 } },
            data: points.filter(({ row }) => drawable(row.value)).map((point) => ({ value: [across.at(point.x), up.at(point.row.value)], point })) },
        ];
      }),
    };
  }

  function bar([x, low], [, high], stroke) {
    const rule = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.25, opacity: 0.8 } });
    return { type: "group", children: [rule(x, low, x, high), rule(x - 3, low, x + 3, low), rule(x - 3, high, x + 3, high)] };
  }

  function legendFor(figure, curves, chart, hidden, redraw) {
    const theme = palette();
    figure.querySelector(".legend").replaceChildren(...curves.map(({ curve, index }) => {
      const style = look(index, theme);
      const svg = shape("svg", { width: 34, height: 12, viewBox: "0 0 34 12", "aria-hidden": "true" });
      svg.append(shape("line", { x1: 1, x2: 33, y1: 6, y2: 6, stroke: style.colour, "stroke-width": 2, "stroke-dasharray": style.dash === "solid" ? "none" : style.dash.join(" ") }), symbolShape(style, theme));
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(!hidden.has(curve.id)));
      button.title = "Show or hide this curve";
      button.append(svg, make("span", "", curve.name));
      button.addEventListener("click", () => { hidden.has(curve.id) ? hidden.delete(curve.id) : hidden.add(curve.id); redraw(); });
      for (const [event, type] of [["mouseenter", "highlight"], ["focus", "highlight"], ["mouseleave", "downplay"], ["blur", "downplay"]]) button.addEventListener(event, () => chart.dispatchAction({ type, seriesId: curve.id }));
      return button;
    }));
  }

  function symbolShape(style, theme) {
    const empty = style.symbol.startsWith("empty"), kind = style.symbol.replace("empty", "").toLowerCase();
    const paint = { fill: empty ? theme.paper : style.colour, stroke: style.colour, "stroke-width": empty ? 2 : 0 };
    if (kind === "circle") return shape("circle", { cx: 17, cy: 6, r: 4, ...paint });
    if (kind === "rect") return shape("rect", { x: 13, y: 2, width: 8, height: 8, ...paint });
    return shape("polygon", { points: kind === "triangle" ? "17,1.5 21.5,10 12.5,10" : "17,1 22,6 17,11 12,6", ...paint });
  }

  // ---- the canary ----------------------------------------------------------------------------

  function canaryOption(width, theme) {
    const { points, unit } = data.canary;
    const ys = points.map(([, y]) => y), xs = points.map(([x]) => x);
    const across = axisOver(0, Math.max(...xs, 1), width - 80);
    across.max = Math.max(...xs, 1);
    across.ticks = across.ticks.filter((tick) => tick <= across.max);
    const up = axisOver(Math.min(...ys), Math.max(...ys), 300);
    // Above the chart: beside it there is no room for the note.
    const upright = valueAxis(up, named(up, unit), theme, { nameLocation: "end", nameGap: 10 });
    return {
      animation: false, textStyle: { fontFamily: theme.sans }, grid: { left: 64, right: 14, top: 26, bottom: 44 },
      xAxis: valueAxis(across, "seconds since the run began", theme, { nameGap: 26, splitLine: { show: false } }),
      yAxis: { ...upright, nameTextStyle: { ...upright.nameTextStyle, align: "left" } },
      tooltip: tooltip(theme, ({ value: [x, y] }) => [`${written(up.back(y))} ${unit}`, `after ${written(x)} s`]),
      series: [{ type: "scatter", data: points.map(([x, y]) => [x, up.at(y)]), symbolSize: 5, itemStyle: { color: theme.accent, opacity: 0.65 } }],
    };
  }

  // ---- drawing -------------------------------------------------------------------------------

  function chartOn(element, height, renderer = "svg") {
    if (height) element.style.height = height + "px";
    const drawn = charts.get(element)?.chart;
    if (drawn) { drawn.resize(); return drawn; }
    return echarts.init(element, null, { renderer });
  }

  /** Rows in the order in which the table stands, without those that the filter hid; of one group or of all. */
  function tableRows(section, group) {
    const order = select(".values > tbody[data-name]:not([hidden])", section).map((body) => body.id);
    const byId = new Map(workloads.get(section.dataset.workload).rows.map((row) => [row.id, row]));
    return order.map((id) => byId.get(id)).filter((row) => row && (group === undefined || row.group === Number(group)));
  }

  function drawValues(element) {
    const section = element.closest(".workload"), figure = element.closest("figure");
    const rows = tableRows(section, element.dataset.group);
    figure.hidden = rows.length === 0;
    if (!rows.length || section.hidden) return null;
    const theme = palette(), width = element.clientWidth;
    const { option, height } = valuesOption(workloads.get(section.dataset.workload), rows, width, theme);
    const chart = chartOn(element, height);
    chart.setOption(option, true);
    keyTo(figure, rows);
    return chart;
  }

  const hiddenCurves = new Map();

  /** Lines are compared within one setting of what is swept: the chosen one of those that the filter left. */
  function settingShown(figure, found) {
    const settings = [...new Set(found)], choice = figure.querySelector("select[data-for=setting]");
    const wanted = settings.includes(choice?.value) ? choice.value : settings[0];
    choice?.replaceChildren(...settings.map((setting) => {
      const option = make("option", "", setting);
      option.value = setting;
      option.selected = setting === wanted;
      return option;
    }));
    const told = figure.querySelector(".at");
    if (told) told.textContent = `At ${wanted}. `;
    return wanted;
  }

  function drawCurves(element) {
    const section = element.closest(".workload"), figure = element.closest("figure");
    const workload = workloads.get(section.dataset.workload);
    const visible = new Set(select(".percentiles > tbody:not([hidden])", section).map((body) => body.dataset.row));
    const drawable = workload.latencies.filter((curve) => visible.has(curve.id) && curve.points.length);
    figure.hidden = drawable.length === 0;
    if (!drawable.length || section.hidden) return null;
    const setting = settingShown(figure, drawable.map((curve) => curve.setting));
    const curves = drawable.filter((curve) => curve.setting === setting)
      .map((curve) => ({ curve: { ...curve, id: `line${curve.line}` }, index: curve.line }));
    if (!hiddenCurves.has(section.dataset.workload)) hiddenCurves.set(section.dataset.workload, new Set());
    const hidden = hiddenCurves.get(section.dataset.workload), chart = chartOn(element);
    chart.setOption(cdfOption(workload, curves, element.clientWidth, palette(), hidden), true);
    legendFor(figure, curves, chart, hidden, () => drawOrSay(element));
    return chart;
  }

  function drawSlope(element) {
    const section = element.closest(".workload"), figure = element.closest("figure");
    const workload = workloads.get(section.dataset.workload), slope = workload.slopes[Number(element.dataset.number)];
    const rows = new Map(tableRows(section).map((row) => [row.id, row]));
    const chosen = Number(figure.querySelector("select[data-for=slope]")?.value ?? -1), metric = slope.metrics[chosen];
    figure.querySelector("h4").textContent = `${metric?.title ?? "Time"} over ${slope.parameter}`;
    figure.querySelector(".of").textContent = metric?.caption ?? "Median and interval of each row";
    const told = (found) => (found ? { value: found[0], low: found[1], high: found[2], text: found[3] } : null);
    const point = ([x, id, ...others]) => ({ x, row: rows.get(id) && (metric ? told(others[chosen]) : rows.get(id)) });
    const charted = slope.charts.map(({ setting, lines }) => ({ setting, lines: lines
      .map((line) => ({ line: { ...line, id: `line${line.line}` }, index: line.line, points: line.points.map(point).filter(({ row }) => row) }))
      .filter(({ points }) => points.length).map((line) => ({ ...line, curve: line.line })) })).filter(({ lines }) => lines.length);
    figure.hidden = charted.length === 0;
    if (!charted.length || section.hidden) return null;
    const setting = settingShown(figure, charted.map((chart) => chart.setting));
    const lines = charted.find((chart) => chart.setting === setting).lines;
    if (!hiddenCurves.has(element)) hiddenCurves.set(element, new Set());
    const hidden = hiddenCurves.get(element), chart = chartOn(element);
    const shown = lines.filter(({ line }) => !hidden.has(line.id));
    chart.setOption(slopeOption(workload, slope, shown.length ? shown : lines, element.clientWidth, palette(), metric), true);
    if (!shown.length) chart.setOption({ series: [] }, { replaceMerge: ["series"] });
    legendFor(figure, lines, chart, hidden, () => drawOrSay(element));
    return chart;
  }

  function drawBusy(element) {
    const section = element.closest(".workload"), figure = element.closest("figure"), rows = tableRows(section, element.dataset.group);
    figure.hidden = rows.length === 0;
    if (!rows.length || section.hidden) return null;
    const theme = palette(), { option, height } = busyOption(workloads.get(section.dataset.workload), rows, element.clientWidth, theme);
    const chart = chartOn(element, height);
    chart.setOption(option, true);
    figure.querySelector(".key").replaceChildren(
      entry("wall clock", shape("circle", { cx: 11, cy: 6, r: 4.5, fill: theme.ink })),
      entry("CPU time of all threads", shape("polygon", { points: "11,1 16,6 11,11 6,6", fill: theme.published })),
      make("span", "", "To the right of the wall clock: several CPUs worked at once; to the left: the program slept."));
    return chart;
  }

  function drawGrid(element) {
    const section = element.closest(".workload"), figure = element.closest("figure");
    if (section.hidden) return null;
    const grid = workloads.get(section.dataset.workload).grids[Number(figure.querySelector("select")?.value ?? 0)];
    const { option, height } = gridOption(grid, element.clientWidth, palette());
    const chart = chartOn(element, height, "canvas"); // 65,536 cells are too many elements for a page
    chart.setOption(option, true);
    return chart;
  }

  function drawBoth(element) {
    const section = element.closest(".workload"), figure = element.closest("figure"), choice = figure.querySelector("select");
    const visible = new Set(select(".percentiles > tbody:not([hidden])", section).map((body) => body.dataset.row));
    const curves = workloads.get(section.dataset.workload).latencies.filter((curve) => visible.has(curve.id) && curve.histogram);
    figure.hidden = curves.length === 0;
    if (!curves.length || section.hidden) return null;
    const wanted = curves.find((curve) => curve.id === choice.value) ?? curves[0];
    choice.replaceChildren(...curves.map((curve) => {
      const option = make("option", "", [curve.name, curve.setting].filter(Boolean).join(", "));
      option.value = curve.id;
      option.selected = curve === wanted;
      return option;
    }));
    const { option, height } = bothOption(workloads.get(section.dataset.workload), wanted, element.clientWidth, palette());
    const chart = chartOn(element, height);
    chart.setOption(option, true);
    return chart;
  }

  function drawCanary(element) {
    const chart = chartOn(element);
    chart.setOption(canaryOption(element.clientWidth, palette()), true);
    return chart;
  }

  const draws = { values: drawValues, cdf: drawCurves, slope: drawSlope, busy: drawBusy, grid: drawGrid, both: drawBoth };

  /** Draws one chart, at once where the library is there; one without rows is hidden with its figure. */
  function draw(element) {
    if (!window.echarts) return drawSoon([element]);
    const chart = (draws[element.dataset.chart] ?? drawCanary)(element);
    if (chart) charts.set(element, { chart, width: element.clientWidth });
    waiting.delete(element);
  }

  /** A chart that cannot be drawn leaves the others theirs. */
  function drawOrSay(element) {
    try {
      draw(element);
    } catch (error) {
      waiting.delete(element);
      console.error(error);
      document.getElementById("some-charts").hidden = false;
    }
  }

  // Charts wait for an idle moment, those in sight first, so that a long report is readable at once; those of
  // a folded workload until it is opened.
  const folded = (element) => element.closest("details:not([open])") !== null;
  const waiting = new Set(), near = new Set();
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 20 }), 16));
  let scheduled = false;

  function work(deadline) {
    scheduled = false;
    const ready = [...waiting].filter((element) => !folded(element));
    for (const element of [...ready.filter((chart) => near.has(chart)), ...ready]) {
      if (waiting.has(element)) drawOrSay(element);
      if (deadline.timeRemaining() < 4) break;
    }
    if (ready.some((element) => waiting.has(element))) schedule();
    else arrive();
  }

  let arrived = false; // or the reader went elsewhere: nobody is moved against their will
  for (const event of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(event, () => { arrived = true; }, { capture: true, passive: true });

  const target = () => document.getElementById(decoded(location.hash.slice(1)));

  function decoded(hash) {
    try {
      return decodeURIComponent(hash);
    } catch {
      return hash; // a "%" of its own
    }
  }

  /** To a workload means to its line, which tells what is unfolded below it. */
  const leadTo = (element) => (element.matches(".inside") ? element.closest(".workload") : element).scrollIntoView();

  /** Charts and legends grow above a permalink's row while they are drawn: then leads to the row again. */
  function arrive() {
    root.dataset.drawn = "yes";
    const element = target();
    if (!arrived && element) leadTo(element);
    arrived = true;
  }

  const library = startCharts(); // unpacked while the tables are laid out

  function schedule() {
    if (scheduled) return;
    scheduled = true;
    // A machine with much to do may have no idle moment for minutes.
    library.then(() => idle(work, { timeout: 500 }), () => {}); // that it failed is told below
  }

  function drawSoon(elements) {
    root.dataset.drawn = "no";
    for (const element of elements) waiting.add(element);
    schedule();
  }

  const watchCharts = () => {
    const watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) near[entry.isIntersecting ? "add" : "delete"](entry.target);
    }, { rootMargin: "50% 0px" });
    select(".chart").forEach((element) => watcher.observe(element));
  };

  // ---- folds ---------------------------------------------------------------------------------

  /** Opens what an element lies in. */
  function reveal(element) {
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }

  function follow(element) {
    if (!element) return;
    if (element.closest("[hidden]")) showAll();
    reveal(element);
    leadTo(element);
    arrived = false;
    schedule();
  }

  function startFolding() {
    const button = document.getElementById("fold-all"), folds = select(".fold");
    const name = () => { if (button) button.textContent = folds.every((fold) => fold.open) ? "Close all" : "Open all"; };
    button?.addEventListener("click", () => {
      const open = !folds.every((fold) => fold.open);
      folds.forEach((fold) => { fold.open = open; });
    });
    document.addEventListener("toggle", (event) => { // by whatever it was opened: a link, a search in the page
      name();
      if (event.target.open && select(".chart", event.target).some((chart) => waiting.has(chart))) drawSoon([]);
    }, true);
    window.addEventListener("hashchange", () => follow(target()));
    document.addEventListener("click", (event) => { // a link to where the page is already changes no hash
      const link = event.target.closest?.("a[href^='#']"), elsewhere = event.ctrlKey || event.metaKey || event.shiftKey;
      if (link && !elsewhere && link.hash === location.hash && !event.defaultPrevented) follow(target());
    });
    name();
    const first = target();
    if (first) reveal(first);
  }

  const drawAll = () => select(".chart").forEach(drawOrSay);

  // ---- filter --------------------------------------------------------------------------------

  const normal = (text) => text.normalize("NFKC").toLowerCase().trim();

  const texts = new WeakMap();

  /** What a row is found by: name, environment and parameters, library, language, status. */
  function searched(body) {
    if (!texts.has(body)) texts.set(body, normal([body.dataset.name, ...select("summary, .lib, .status", body).map((part) => part.textContent)].join(" ")));
    return texts.get(body);
  }

  /** The rows below the heading of a setting. */
  const members = (heading) => [...heading.parentElement.tBodies].filter((body) => body !== heading && body.dataset.group === heading.dataset.group);

  const unfolded = new Set(); // by the filter, which folds them again

  /** A row that is found is in sight. */
  function foldFor(fold, found) {
    if (found && !fold.open && !unfolded.has(fold)) {
      fold.open = true;
      unfolded.add(fold);
    }
  }

  function filter(text) {
    const words = normal(text).split(/\s+/).filter(Boolean);
    const matches = (body) => words.every((word) => searched(body).includes(word));
    let shown = 0, all = 0;
    for (const section of select(".workload")) {
      const bodies = select(".values > tbody[data-name]", section);
      for (const body of bodies) body.hidden = !matches(body);
      const kept = bodies.filter((body) => !body.hidden);
      const visible = new Set(kept.map((body) => body.id));
      for (const body of select(".percentiles > tbody[data-row]", section)) body.hidden = words.length > 0 && !visible.has(body.dataset.row);
      for (const heading of select("tbody.setting", section)) heading.hidden = !members(heading).some((body) => !body.hidden);
      section.hidden = kept.length === 0;
      select(".values, .percentiles", section).forEach(markLibraries);
      foldFor(section.querySelector(".fold"), words.length > 0 && kept.length > 0);
      shown += kept.length;
      all += bodies.length;
      select(`.side a[href="#${section.dataset.workload}"]`).forEach((link) => link.parentElement.classList.toggle("off", section.hidden));
    }
    for (const topic of select("[data-topic]")) {
      topic.hidden = !topic.querySelector(".workload:not([hidden])");
      const heading = topic.querySelector("h2");
      if (heading === null) continue;
      heading.querySelector("small").hidden = words.length > 0;  // it counts all workloads
      select(`.side a[href="#${heading.id}"]`).forEach((link) => link.parentElement.classList.toggle("off", topic.hidden));
    }
    const count = document.getElementById("filter-count");
    count.textContent = words.length ? `${shown} of ${all} cases` : `${all} ${all === 1 ? "case" : "cases"}`;
    document.getElementById("no-match").hidden = shown > 0 || !words.length;
    if (!words.length) {
      unfolded.forEach((fold) => { fold.open = false; });
      unfolded.clear();
    }
    drawSoon(select(".workload .chart"));
  }

  /** Takes the filter away: what a link leads to may not pass it. */
  function showAll() {
    const input = document.getElementById("filter");
    if (!input?.value) return;
    input.value = "";
    filter("");
  }

  function startFilter() {
    const input = document.getElementById("filter");
    if (!input) return; // nothing was measured
    let timer = 0;
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => filter(input.value), 120); });
    input.addEventListener("keydown", (event) => { if (event.key === "Escape") showAll(); });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); input.focus(); }
    });
  }

  /** A phone shows rows as cards (display: block), which takes a table's meaning from it for screen readers. */
  function nameParts(table) {
    const roles = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };
    for (const part of [table, ...select("thead, tbody, tr, td, th", table)]) part.setAttribute("role", roles[part.tagName] ?? (part.scope === "col" ? "columnheader" : "rowheader"));
  }

  /** When it is unfolded: the catalogue's 20,000 cells at once would keep the page from opening. */
  function startNaming() {
    const named = new WeakSet();
    const name = (table) => {
      if (!named.has(table)) nameParts(table);
      named.add(table);
    };
    select(".values").filter((table) => !folded(table)).forEach(name);
    document.addEventListener("toggle", (event) => { if (event.target.matches(".fold[open]")) select(".values", event.target).forEach(name); }, true);
  }

  // ---- sorting -------------------------------------------------------------------------------

  /** A row's key in one column: number, or text; rows without one go last whichever way the column runs. */
  function sortKey(body, index) {
    if (index === 0) return body.dataset.name.toLowerCase();
    const cell = body.rows[0].cells[index], raw = cell?.dataset.v ?? "";
    if (raw === "") return null;
    const number = Number(raw);
    return Number.isNaN(number) ? raw : number;
  }

  // Of each table its rows as they were sorted last, whether or not they stand by library now.
  const sortedRows = new Map();

  function sortBy(table, heading, index) {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of select("th[aria-sort]", table)) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => (a === b ? 0 : a < b ? -1 : 1) * (down ? -1 : 1);
    const sorted = (bodies) => bodies.map((body) => [sortKey(body, index), body])
      .sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : order(a, b))).map(([, body]) => body);
    sortedRows.set(table, sorted(sortedRows.get(table)));
    layOut(table);
    select('.chart[data-chart="values"], .chart[data-chart="busy"]', table.closest(".workload")).forEach(draw);
  }

  /** Rows are compared, so they stand, within their setting. */
  function layOut(table) {
    const rows = sortedRows.get(table), headings = select("tbody.setting", table);
    if (!headings.length) table.append(...inLibraries(rows));
    for (const heading of headings) table.append(heading, ...inLibraries(rows.filter((row) => row.dataset.group === heading.dataset.group)));
    markLibraries(table);
  }

  function startSorting() {
    for (const table of select(".values, .percentiles")) {
      sortedRows.set(table, [...table.tBodies].filter((body) => !body.matches(".setting")));
      select("thead th[data-key]", table).forEach((heading) => {
        const button = make("button", "sort");
        button.type = "button";
        button.append(...[...heading.childNodes].filter((node) => node.nodeName !== "SMALL"));
        heading.prepend(button);
        button.addEventListener("click", () => sortBy(table, heading, heading.cellIndex));
      });
      table.querySelector("th[data-key='value'], th[data-key='p50']")?.setAttribute("aria-sort", table.matches(".values") ? "ascending" : "none");
      if (table.matches(".percentiles")) table.querySelector("th[aria-sort]")?.removeAttribute("aria-sort");
    }
  }

  // ---- by library ----------------------------------------------------------------------------

  const libraries = new Map(); // a row's id -> its library, as a number within the table
  let byLibrary = false;

  const libraryOf = (body) => libraries.get(body.id || body.dataset.row);

  /** The rows as they are, or those of one library together: the library of the first row first. */
  function inLibraries(rows) {
    if (!byLibrary) return rows;
    const found = new Map(rows.map((row) => [libraryOf(row), []]));
    for (const row of rows) found.get(libraryOf(row)).push(row);
    return [...found.values()].flat();
  }

  /** A line above each row with which another library begins, among those that the filter left. */
  function markLibraries(table) {
    let above = null;
    for (const body of table.tBodies) {
      if (body.hidden) continue;
      const heading = body.matches(".setting"), library = libraryOf(body);
      body.classList.toggle("next-library", byLibrary && !heading && above !== null && library !== above);
      above = heading ? null : library;
    }
  }

  function startLibraries() {
    for (const section of select(".workload")) {
      const numbers = workloads.get(section.dataset.workload).libraries;
      select(".values > tbody[data-name]", section).forEach((body, index) => libraries.set(body.id, numbers[index]));
    }
    const button = document.getElementById("by-library");
    button?.addEventListener("click", () => {
      byLibrary = !byLibrary;
      button.setAttribute("aria-pressed", String(byLibrary));
      for (const table of sortedRows.keys()) layOut(table);
      drawSoon(select('.chart[data-chart="values"], .chart[data-chart="busy"]'));
    });
  }

  // ---- choosing what a figure shows -----------------------------------------------------------

  function startChoosing() {
    for (const choice of select(".choose select")) choice.addEventListener("change", () => draw(choice.closest("figure").querySelector(".chart")));
  }

  // ---- copying -------------------------------------------------------------------------------

  const cellText = (cell) => {
    const clone = cell.cloneNode(true);
    select("details, .badge", clone).forEach((element) => element.remove());
    select("small", clone).forEach((element) => element.prepend(" "));
    return clone.textContent.replace(/\s+/g, " ").trim();
  };
  const code = (text) => {
    const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
    const fence = "`".repeat(longest + 1), pad = longest ? " " : "";
    return fence + pad + text.replaceAll("|", "\\|") + pad + fence;
  };
  const plain = (text) => text.replace(/[\\`*_{}[\]#!|~$^<>&]/g, (mark) => (mark === "<" ? "&lt;" : mark === ">" ? "&gt;" : mark === "&" ? "&amp;" : "\\" + mark)).replace(/[@#](?=\w)|GH-(?=\d)|:(?=\/\/)|www(?=\.)/gi, "$&\u200b");

  function asMarkdown(table) {
    const heads = [...table.tHead.rows[0].cells];
    const lines = [heads.map((head) => plain(head.dataset.copy ?? cellText(head))), heads.map((head) => (head.matches(".num") ? "---:" : ":---"))];
    for (const body of table.tBodies) {
      if (body.hidden) continue;
      if (body.matches(".setting")) {
        lines.push([`**${plain(body.querySelector("span").firstChild.textContent.trim())}**`, ...heads.slice(1).map(() => "")]);
        continue;
      }
      const [name, ...cells] = body.rows[0].cells;
      const texts = cells.map((cell) => plain(cellText(cell)));
      while (texts.length < heads.length - 1) texts.push("");
      lines.push([code(cellText(name)), ...texts]);
    }
    return lines.map((line) => `| ${line.join(" | ")} |`).join("\n") + "\n";
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = make("textarea", "", text);
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function startCopying() {
    for (const button of select("button.copy")) {
      const label = button.textContent;
      button.addEventListener("click", async () => {
        const done = await copy(asMarkdown(button.closest(".workload").querySelector("table.values")));
        button.textContent = done ? "Copied" : "The browser did not allow copying";
        setTimeout(() => { button.textContent = label; }, 1800);
      });
    }
  }

  // ---- size, theme, print --------------------------------------------------------------------

  function startAdapting() {
    let timer = 0;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(() => drawSoon([...charts].filter(([element, { width }]) => folded(element) || element.clientWidth !== width).map(([element]) => element)), 150);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { known = null; drawSoon(select(".chart")); });
    let opened = [];
    const prepare = () => {
      root.dataset.theme = "light";
      root.dataset.printing = "yes";
      // What this run has nothing to say of stays folded: it was half of 54 sheets.
      opened = select("details:not([open])").filter((element) => !element.closest(".untold"));
      opened.forEach((element) => { element.open = true; });
      // A table wider than the sheet would have the whole page made smaller.
      select("main .scroll > table").forEach((table) => {
        const share = table.parentElement.clientWidth / table.scrollWidth;
        if (share > 0 && share < 1) table.style.zoom = share; // 0 in what stays folded
      });
      known = null;
      drawAll();
    };
    const restore = () => {
      select("main .scroll > table").forEach((table) => { table.style.zoom = ""; });
      delete root.dataset.theme;
      delete root.dataset.printing;
      opened.forEach((element) => { element.open = false; });
      known = null;
      drawSoon(select(".chart"));
    };
    window.addEventListener("beforeprint", prepare);
    window.addEventListener("afterprint", restore);
  }

  function startContents() {
    const links = new Map(select(".side a[href^='#']").map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        links.forEach((link) => link.removeAttribute("aria-current"));
        links.get(entry.target.dataset.workload ?? entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    select("main section:is([id]:not(#workloads), .workload)").forEach((section) => seen.observe(section));
  }

  root.classList.add("scripted");
  startFilter();
  startNaming();
  startSorting();
  startLibraries();
  startChoosing();
  startCopying();
  startAdapting();
  startContents();
  startFolding();
  watchCharts();
  drawSoon(select(".chart"));
  await library;
})().catch(withoutCharts).finally(loaded);
