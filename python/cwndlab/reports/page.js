// What a page does: it takes the system's colours or those that are chosen, opens the runs behind a mark, a run's time
// series, and redraws a sweep over other fields. What is open stands in the address, so that going back closes it.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const by = id => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  };
  const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const floats = text => new Float32Array(bytes(text).buffer);
  const number = value => {
    if (value === null || Number.isNaN(value)) return '–';
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
    const size = Math.abs(value);
    return size === 0 ? '0' : size >= 1000 ? value.toFixed(0) : size < 0.0005 ? value.toExponential(1) : value.toPrecision(3);
  };

  // Colours.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const themes = ['system', 'light', 'dark'];
  let theme = 'system';
  try { theme = localStorage.getItem('cwndlab-theme') || theme; } catch { /* a page from a file may have no storage */ }
  const look = () => {
    const style = getComputedStyle(document.documentElement);
    const [text, grid, back] = ['--text', '--line', '--soft'].map(name => style.getPropertyValue(name).trim());
    return {text, grid, back};
  };
  const dressed = (layout, {text, grid, back}) => {
    const change = {paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', 'font.color': text, 'hoverlabel.bgcolor': back, 'hoverlabel.font.color': text, 'legend.bgcolor': 'rgba(0,0,0,0)'};
    Object.keys(layout).filter(key => /^[xy]axis/.test(key)).forEach(key => { change[key + '.gridcolor'] = grid; change[key + '.zerolinecolor'] = grid; });
    return change;
  };
  const figures = () => [...document.querySelectorAll('.js-plotly-plot')];
  const dress = () => {
    const style = look();
    figures().forEach(div => {
      Plotly.relayout(div, dressed(div.layout, style));
      if (div.offsetParent) Plotly.Plots.resize(div);
    });
  };
  const switchTheme = () => {
    document.documentElement.dataset.theme = theme;
    by('theme').textContent = `Colours: ${theme}`;
    dress();
  };
  by('theme').addEventListener('click', () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem('cwndlab-theme', theme); } catch { /* as above */ }
    switchTheme();
  });
  dark.addEventListener('change', dress);
  addEventListener('beforeprint', () => { document.documentElement.dataset.theme = 'light'; dress(); });
  addEventListener('afterprint', switchTheme);

  // Runs: `data.runs` has their fields and metrics column by column, `data.groups` which of them stand behind a mark.
  const runs = data.runs || {count: 0, fields: [], metrics: []};
  const columns = runs.metrics.map(metric => ({...metric, values: floats(metric.data)}));
  const field = (index, one) => runs.fields[one].words[runs.fields[one].at[index]];
  const titleOf = index => runs.fields.map((one, at) => `${one.name} ${field(index, at)}`).join(', ');
  const groups = data.groups || [];
  const present = indices => columns.filter(column => indices.some(index => !Number.isNaN(column.values[index])));

  const dialog = by('details'), title = by('details-title'), ways = by('details-ways'), body = by('details-body');
  const HASH = /^#(runs|run)=(\d+)$/;
  let last = null;
  const link = (target, text) => make('a', {href: target}, text);
  const clear = () => {
    body.querySelectorAll('.js-plotly-plot').forEach(div => Plotly.purge(div));
    body.replaceChildren();
    ways.replaceChildren();
  };

  const showRuns = at => {
    const group = groups[at];
    title.textContent = `${group.runs.length === 1 ? 'The run' : `The ${group.runs.length} runs`} behind ${group.title}`;
    const shown = present(group.runs);
    const head = make('tr', {}, make('th', {class: 'text'}, 'run'), ...shown.map(column => make('th', {}, column.title + (column.unit ? `\n${column.unit}` : ''))));
    const rows = group.runs.map(index => make('tr', {}, make('td', {class: 'text'}, link(`#run=${index}`, titleOf(index))), ...shown.map(column => make('td', {}, number(column.values[index] * column.factor)))));
    body.append(make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows)));
    last = at;
  };

  const unpack = line => {
    const raw = new Uint16Array(bytes(line.data).buffer);
    const x = Array.from(raw, (_, n) => line.from + n * line.step);
    return {x, y: Array.from(raw, value => value === 65535 ? null : value * line.most / 65534)};
  };
  const showSeries = series => series.forEach(panel => {
    const div = make('div', {role: 'img', 'aria-label': `${panel.axis} over time`});
    body.append(make('h3', {}, panel.axis), div);
    const traces = panel.lines.map(line => ({...unpack(line), name: line.name, mode: 'lines', line: {color: data.colours[line.position % data.colours.length], width: 1.4}, hovertemplate: '%{y:.4g}'}));
    const layout = {height: 230, margin: {l: 65, r: 15, t: 10, b: 40}, hovermode: 'x unified', showlegend: traces.length > 1, legend: {orientation: 'h', y: 1.12, x: 1, xanchor: 'right'},
      xaxis: {title: {text: 'time, s'}, rangemode: 'tozero'}, yaxis: {rangemode: 'tozero'}};
    Plotly.newPlot(div, traces, layout, {displayModeBar: false, responsive: true});
    Plotly.relayout(div, dressed(layout, look()));
  });

  const showRun = index => {
    const at = last !== null && groups[last].runs.includes(index) ? last : groups.findIndex(group => group.runs.includes(index));
    title.textContent = titleOf(index);
    if (at >= 0) {
      const all = groups[at].runs, place = all.indexOf(index);
      if (place > 0) ways.append(Object.assign(link(`#run=${all[place - 1]}`, '← previous'), {rel: 'prev'}));
      if (place < all.length - 1) ways.append(Object.assign(link(`#run=${all[place + 1]}`, 'next →'), {rel: 'next'}));
      ways.append(Object.assign(link(`#runs=${at}`, 'all runs'), {rel: 'up'}));
    }
    const values = present([index]).map(column => make('div', {}, make('dt', {}, column.title), make('dd', {}, `${number(column.values[index] * column.factor)} ${column.unit}`)));
    body.append(make('dl', {}, ...values));
    const series = (data.series || {})[index];
    if (series) showSeries(series);
    else body.append(make('p', {class: 'quiet'}, data.without));
  };

  const route = () => {
    const asked = HASH.exec(location.hash);
    const known = asked && Number(asked[2]) < (asked[1] === 'runs' ? groups.length : runs.count);
    if (!known) { if (dialog.open) dialog.close(); return; }
    clear();
    if (!dialog.open) dialog.showModal();
    (asked[1] === 'runs' ? showRuns : showRun)(Number(asked[2]));
    dialog.scrollTop = 0;
    (body.querySelector('a') || ways.querySelector('a') || by('details-close')).focus({preventScroll: true});
  };
  dialog.addEventListener('close', () => {
    clear();
    if (HASH.test(location.hash)) history.replaceState(null, '', location.pathname + location.search);
  });
  dialog.addEventListener('keydown', event => {
    const way = {ArrowLeft: 'prev', ArrowRight: 'next'}[event.key];
    const there = way && ways.querySelector(`a[rel=${way}]`);
    if (there) there.click();
  });
  by('details-close').addEventListener('click', () => dialog.close());
  addEventListener('hashchange', route);

  const target = point => {
    const told = [].concat(point.customdata ?? []).concat(point.data.meta ?? []);
    return told.findLast(one => typeof one === 'string' && HASH.test(one));
  };
  const opening = div => {
    if (!div.closest('figure.opens')) return;
    div.on('plotly_click', event => {
      const found = event.points.map(target).find(Boolean);
      if (found) location.hash = found;
    });
  };
  document.querySelectorAll('details').forEach(one => one.addEventListener('toggle', () => {
    if (one.open) one.querySelectorAll('.js-plotly-plot').forEach(div => Plotly.Plots.resize(div));
  }));

  // A sweep: one cell per combination of fields, with mean, interval and number of runs of each metric.
  const sweep = data.sweep;
  const chosen = () => ({
    metric: sweep.metrics[by('sweep-metric').value],
    across: Number(by('sweep-across').value), up: Number(by('sweep-up').value),
    fixed: sweep.fields.map((_, at) => Number(by(`sweep-at-${at}`).value)),
  });
  const redraw = () => {
    const {metric, across, up, fixed} = chosen();
    sweep.fields.forEach((_, at) => { by(`sweep-at-${at}`).parentElement.hidden = at === across || at === up; });
    const [xs, ys] = [sweep.fields[across], sweep.fields[up]];
    const estimates = floats(metric.data);
    const cell = (x, y) => sweep.cells.findIndex(one => one.every((value, at) => value === (at === across ? x : at === up ? y : fixed[at])) && (across !== up || x === y));
    const get = (x, y, which) => { const at = cell(x, y); const value = at < 0 ? NaN : estimates[4 * at + which]; return Number.isNaN(value) ? null : value * (which < 3 ? metric.factor : 1); };
    const rows = across === up ? [0] : ys.values.map((_, y) => y);
    const names = across === up ? [''] : ys.values;
    const table = rows.map(y => xs.values.map((_, x) => [get(x, across === up ? x : y, 0), cell(x, across === up ? x : y)]));
    const few = table.length * xs.values.length <= 150;
    const heat = by('sweep-heat').querySelector('.js-plotly-plot');
    Plotly.update(heat, {x: [xs.values], y: [names], z: [table.map(row => row.map(one => one[0]))], customdata: [table.map(row => row.map(one => `#runs=${one[1]}`))],
      text: [table.map(row => row.map(one => one[0] === null || !few ? '' : number(one[0])))], texttemplate: '%{text}', 'colorbar.title.text': metric.unit || metric.title, hovertemplate: `${xs.name} %{x}, ${ys.name} %{y}: %{z:.4g}<extra></extra>`},
    {'xaxis.title.text': xs.name, 'yaxis.title.text': across === up ? '' : ys.name, height: Math.max(300, 30 * rows.length + 140)});
    const curves = by('sweep-curves').querySelector('.js-plotly-plot');
    const lines = rows.slice(0, data.colours.length).map((y, position) => {
      const points = xs.values.map((_, x) => (across === up ? [x, x] : [x, y]));
      const value = which => points.map(([x, one]) => get(x, one, which));
      const [mean, low, high] = [0, 1, 2].map(value);
      const gap = (one, other) => one.map((end, n) => (end === null || other[n] === null ? null : end - other[n]));
      return {type: 'scatter', x: xs.values, y: mean, name: across === up ? metric.title : `${ys.name} ${names[y]}`, mode: 'lines+markers',
        error_y: {type: 'data', array: gap(high, mean), arrayminus: gap(mean, low), thickness: 1.2}, customdata: points.map(([x, one]) => `#runs=${cell(x, one)}`),
        line: {color: data.colours[position], width: 1.4}, marker: {symbol: data.signs[position], size: 8}, hovertemplate: '%{x}: %{y:.4g}'};
    });
    Plotly.react(curves, lines, {...curves.layout, showlegend: across !== up, xaxis: {...curves.layout.xaxis, title: {text: xs.name}}, yaxis: {...curves.layout.yaxis, title: {text: metric.title + (metric.unit ? `, ${metric.unit}` : '')}}});
    const head = make('tr', {}, make('th', {class: 'text'}, `${across === up ? '' : ys.name}\n${xs.name} →`), ...xs.values.map(value => make('th', {}, value)));
    const lined = table.map((row, y) => make('tr', {}, make('th', {class: 'text', scope: 'row'}, names[y]), ...row.map(([mean, at]) => make('td', {}, at < 0 ? '–' : link(`#runs=${at}`, number(mean))))));
    by('sweep-table').replaceChildren(make('thead', {}, head), make('tbody', {}, ...lined));
  };

  addEventListener('load', () => {
    switchTheme();
    figures().forEach(opening);
    if (sweep) {
      by('sweep-choice').addEventListener('change', redraw);
      redraw();
    }
    route();
    document.documentElement.dataset.ready = 'yes';
  });
})();
