// The script of a page: it draws the figures in the system's or the selected colours, sorts tables, saves
// figures, opens the runs behind a mark and a run's time series, and redraws a sweep over other fields. The address
// contains the open view, so that the browser's Back button closes it.
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
  const inks = () => {
    const style = getComputedStyle(document.documentElement);
    const [text, grid, back, paper] = ['--text', '--line', '--soft', '--back'].map(name => style.getPropertyValue(name).trim());
    return {text, grid, back, paper};
  };
  const clear = 'rgba(0,0,0,0)';
  const colouring = layout => {
    const {text, grid, back} = inks();
    const change = {paper_bgcolor: clear, plot_bgcolor: clear, 'font.color': text, 'hoverlabel.bgcolor': back, 'hoverlabel.font.color': text, 'legend.bgcolor': clear};
    Object.keys(layout).filter(key => /^[xy]axis/.test(key)).forEach(key => {
      change[key + '.gridcolor'] = grid;
      change[key + '.zerolinecolor'] = grid;
      change[key + '.linecolor'] = grid;
    });
    return change;
  };
  // Sets `{'a.b': value}` in nested objects.
  const assign = (target, change) => {
    Object.entries(change).forEach(([path, value]) => {
      const keys = path.split('.'), last = keys.pop();
      keys.reduce((one, key) => (one[key] ??= {}), target)[last] = value;
    });
    return target;
  };
  const figures = () => [...document.querySelectorAll('.js-plotly-plot')];
  const recolour = () => figures().forEach(div => {
    Plotly.relayout(div, colouring(div.layout));
    if (div.offsetParent) Plotly.Plots.resize(div);
  });
  const setTheme = () => {
    document.documentElement.dataset.theme = theme;
    by('theme').textContent = `Colours: ${theme}`;
    recolour();
  };
  by('theme').addEventListener('click', () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem('cwndlab-theme', theme); } catch { /* as above */ }
    setTheme();
  });
  dark.addEventListener('change', recolour);
  // Paper: opens everything that is closed, and gives every figure the width of its place on paper.
  const root = document.documentElement;
  const sized = width => figures().filter(div => div.offsetParent).forEach(div => Plotly.relayout(div, {...colouring(div.layout), autosize: width === null, width: width && width(div)}));
  const closed = [];
  addEventListener('beforeprint', () => {
    root.dataset.theme = 'light';
    root.classList.add('printing');
    closed.push(...document.querySelectorAll('details:not([open])'));
    closed.forEach(one => { one.open = true; });
    drawAll(true);
    sized(div => div.parentElement.clientWidth);
  });
  addEventListener('afterprint', () => {
    root.classList.remove('printing', 'handout');
    closed.splice(0).forEach(one => { one.open = false; });
    sized(null);
    setTheme();
  });
  by('print').addEventListener('click', () => print());
  by('handout')?.addEventListener('click', () => { root.classList.add('handout'); print(); });

  // Figures. Those in a closed <details> have no width: they are drawn when it opens.
  const config = {displayModeBar: false, responsive: true};
  // Titles wrap if they are longer than their axis; a letter has up to 8 pixels.
  const broken = (text, room) => text.split('<br>').map(line => line.split(' ').reduce((lines, word) => {
    const last = lines.at(-1);
    return last && (last.length + 1 + word.length) * 8 > room ? [...lines, word] : [...lines.slice(0, -1), last ? `${last} ${word}` : word];
  }, ['']).join('<br>')).join('<br>');
  const fitting = (div, layout) => {
    const made = structuredClone(layout), width = div.clientWidth - made.margin.l - made.margin.r;
    const axes = Object.keys(made).filter(key => key.startsWith('xaxis')).map(key => made[key]);
    const room = ({domain: [start, end] = [0, 1]}) => (end - start) * width + made.margin.r;
    axes.filter(axis => axis.title?.text).forEach(axis => { axis.title.text = broken(axis.title.text, room(axis)); });
    const column = Math.min(...axes.map(room));
    const texts = (made.annotations ?? []).filter(one => one.xref === 'paper'), names = texts.filter(one => one.align === 'left');
    texts.forEach(one => { one.text = broken(one.text, names.length ? width : column); });
    return made;
  };
  // Titles of y axes only where they extend beyond the figure or, of several, beyond their axis: labels of the x axes
  // take a part of its height.
  const breakTall = div => {
    const {top, bottom} = div.getBoundingClientRect(), change = {};
    const titles = div.querySelectorAll('.infolayer [class^="g-y"][class$="title"]');
    titles.forEach(one => {
      const box = one.getBoundingClientRect(), key = one.getAttribute('class').replace(/^g-y(\d*)title$/, 'yaxis$1');
      const axis = div._fullLayout[key];
      const room = titles.length > 1 ? axis?._length : Infinity;
      if (box.height && (box.top < top || box.bottom > bottom || box.height > room)) change[`${key}.title.text`] = broken(axis.title.text, axis._length);
    });
    return Object.keys(change).length ? Plotly.relayout(div, change) : null;
  };
  // Names of lanes are above them: the figure grows where a name has several lines, or where the legend has.
  const growLanes = div => {
    const names = (div.layout.annotations ?? []).filter(one => one.xref === 'paper' && one.align === 'left');
    if (!names.length) return null;
    const {height, yaxis: {range: [low, high]}} = div.layout, lines = Math.max(...names.map(one => one.text.split('<br>').length));
    // A line of 12 px is 15.6 px high, and the bars and the distance to them take 0.44 of a lane.
    const missing = (high - low) * (16 * lines + 6) / 0.56 - div._fullLayout._size.h;
    return missing > 0 ? Plotly.relayout(div, {height: height + missing}) : null;
  };
  // Titles of panels stand above them, where a legend of several lines may end.
  const clearLegend = div => {
    const legend = div.querySelector('.legend')?.getBoundingClientRect();
    const titles = [...div.querySelectorAll('.annotation-text-g')].map(one => one.getBoundingClientRect());
    const {height, _size: {t}, legend: {_height: whole} = {}} = div._fullLayout;
    // On narrow pages a legend may be higher than the figure shows of it.
    const hidden = legend ? Math.max(0, whole - legend.height) : 0, bottom = (legend?.bottom ?? 0) + hidden;
    const below = [...titles.filter(box => box.right > legend?.left).map(box => box.top), ...(hidden > 1 ? [div.getBoundingClientRect().top + t] : [])];
    const over = legend ? Math.max(hidden, ...below.map(top => bottom - top)) : 0;
    const room = hidden > 1 ? {'legend.maxheight': Math.ceil(whole) + 1} : {};
    return over > 1 ? Plotly.relayout(div, {height: height + over, 'margin.t': t + over, ...room}) : null;
  };
  const draw = (div, traces, layout) => {
    const font = {family: 'system-ui, sans-serif', size: 12};
    return Plotly.newPlot(div, traces, assign({font, ...fitting(div, layout)}, colouring(layout)), config).then(() => breakTall(div)).then(() => growLanes(div)).then(() => clearLegend(div));
  };
  const drawAll = hidden => document.querySelectorAll('.chart:empty').forEach(div => {
    if (!hidden && div.closest('details:not([open])')) return;
    const {data: traces, layout} = data.charts[div.id];
    draw(div, traces, layout);
    opening(div);
  });

  // Tables: a click or Enter on a title sorts by its column.
  const numeric = text => {
    const match = /-?\d[\d.]*(?:e[+-]?\d+)?/i.exec(text.replace('−', '-'));
    return match ? Number(match[0]) : NaN;
  };
  const order = (one, other) => {
    const [a, b] = [numeric(one), numeric(other)];
    if (Number.isNaN(a) || Number.isNaN(b)) {
      return Number.isNaN(a) && Number.isNaN(b) ? one.localeCompare(other, 'en', {numeric: true}) : Number.isNaN(a) - Number.isNaN(b);
    }
    return a - b;
  };
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells], head = heads[column];
    const falls = head.getAttribute('aria-sort') === 'ascending';
    const words = head.matches('.text, .wrap') || column === 0;
    heads.forEach(one => one.setAttribute('aria-sort', one === head ? (falls ? 'descending' : 'ascending') : 'none'));
    const text = row => row.cells[column].textContent.trim();
    const empty = value => value === '–' || value === '';
    const compare = (one, other) => {
      const [a, b] = [text(one), text(other)];
      if (empty(a) || empty(b)) return empty(a) - empty(b);
      return (falls ? -1 : 1) * (words ? a.localeCompare(b, 'en', {numeric: true}) : order(a, b));
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    by('status').textContent = `Sorted by ${head.textContent}, ${falls ? 'descending' : 'ascending'}`;
  };
  const sortable = table => [...table.tHead.rows].forEach(row => [...row.cells].forEach((head, column) => {
    const button = make('button', {type: 'button'});
    button.append(...head.childNodes);
    head.replaceChildren(button);
    head.setAttribute('scope', 'col');
    head.setAttribute('aria-sort', 'none');
    button.addEventListener('click', () => sort(table, column));
  }));

  // Files of a figure.
  const save = (name, address) => make('a', {download: name, href: address}).click();
  const quoted = value => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ''));
  const titled = (layout, reference) => layout[reference.replace(/^([xy])/, '$1axis')]?.title?.text;
  const rowsOf = (trace, layout) => {
    if (trace.type === 'heatmap') return trace.z.flatMap((row, y) => row.map((value, x) => [trace.y[y], '', trace.x[x], value, '', '']));
    const error = trace.error_y || {}, quantity = titled(layout, trace.yaxis || 'y') || '';
    const end = (ends, sign, n) => (ends && ends[n] !== null && ends[n] !== undefined && trace.y[n] !== null ? trace.y[n] + sign * ends[n] : '');
    return Array.from(trace.x, (x, n) => [trace.name, quantity, x, trace.y[n] ?? '', end(error.arrayminus, -1, n), end(error.array, 1, n)]);
  };
  const csv = div => {
    const drawn = div.data.filter(trace => trace.hoverinfo !== 'skip');
    const head = ['series', 'y axis', titled(div.layout, 'x') || 'x', 'value', 'low', 'high'];
    return [head, ...drawn.flatMap(trace => rowsOf(trace, div.layout))].map(row => row.map(quoted).join(',')).join('\n') + '\n';
  };
  const exports = {
    csv: async div => save(`${div.id}.csv`, URL.createObjectURL(new Blob([csv(div)], {type: 'text/csv'}))),
    png: async div => {
      const {paper} = inks(), {width, height} = div.getBoundingClientRect();
      const layout = {...div.layout, paper_bgcolor: paper, plot_bgcolor: paper};
      save(`${div.id}.png`, await Plotly.toImage({data: div.data, layout}, {format: 'png', scale: 2, width, height}));
    },
  };
  document.querySelectorAll('[data-export]').forEach(button => {
    button.setAttribute('aria-label', `Save ${button.dataset.of} as ${button.textContent}`);
    button.addEventListener('click', async () => {
      await exports[button.dataset.export](by(button.dataset.of));
      by('status').textContent = 'Saved';
    });
  });

  // Runs: `data.runs` has their fields and metrics column by column, `data.groups` the runs of each mark.
  const runs = data.runs || {count: 0, fields: [], metrics: []};
  const columns = runs.metrics.map(metric => ({...metric, values: floats(metric.data)}));
  const field = (index, one) => runs.fields[one].words[runs.fields[one].at[index]];
  const varied = indices => runs.fields.map((_, at) => at).filter(at => new Set(indices.map(index => field(index, at))).size > 1);
  const shortOf = (index, fields) => fields.map(at => `${runs.fields[at].name} ${field(index, at)}`).join(', ');
  const titleOf = index => runs.fields.map((one, at) => `${one.name} ${field(index, at)}`).join(', ');
  const groups = data.groups || [];
  const present = indices => columns.filter(column => indices.some(index => !Number.isNaN(column.values[index])));

  const dialog = by('details'), title = by('details-title'), ways = by('details-ways'), body = by('details-body');
  const HASH = /^#(?:(runs|run)=(\d+)|(pair)=(\d+),(\d+))$/;
  let last = null;
  const link = (target, text) => make('a', {href: target}, text);
  const empty = () => {
    body.querySelectorAll('.js-plotly-plot').forEach(div => Plotly.purge(div));
    body.replaceChildren();
    ways.replaceChildren();
  };

  const tableOf = (head, rows) => {
    const table = make('table', {class: 'sortable'}, make('thead', {}, head), make('tbody', {}, ...rows));
    sortable(table);
    return make('div', {class: 'scroll'}, table);
  };
  const showRuns = at => {
    const group = groups[at];
    title.textContent = `${group.runs.length === 1 ? 'The run' : `The ${group.runs.length} runs`} behind ${group.title}`;
    const shown = present(group.runs);
    const head = make('tr', {}, make('th', {class: 'text'}, 'run'), ...shown.map(column => make('th', {}, column.title + (column.unit ? `\n${column.unit}` : ''))));
    // Fields that all runs have in common are in the title of each run, not in every row.
    const fields = runs.fields.length > 3 ? varied(group.runs) : runs.fields.map((_, at) => at);
    const rows = group.runs.map(index => make('tr', {}, make('td', {class: 'text'}, link(`#run=${index}`, shortOf(index, fields) || titleOf(index))), ...shown.map(column => make('td', {}, number(column.values[index] * column.factor)))));
    body.append(tableOf(head, rows));
    last = at;
  };

  const unpack = line => {
    const raw = new Uint16Array(bytes(line.data).buffer);
    const x = Array.from(raw, (_, n) => line.from + n * line.step);
    return {x, y: Array.from(raw, value => value === 65535 ? null : value * line.most / 65534)};
  };
  // The time series of one run, or of two side by side, in linked panels.
  const showSeries = indices => {
    const {kinds, layout} = structuredClone(data.frames[indices.length]);
    const columns = indices.length, named = new Set();
    const traces = indices.flatMap((index, column) => data.series[index].flatMap(panel => {
      const place = kinds.indexOf(panel.kind) * columns + column;
      return panel.lines.map(line => {
        const showlegend = !named.has(line.name);
        named.add(line.name);
        return {...unpack(line), name: line.name, legendgroup: line.name, showlegend, mode: 'lines', line: {color: data.colours[line.position % data.colours.length], width: 1.4}, hovertemplate: '%{y:.4g}',
          xaxis: column ? `x${column + 1}` : 'x', yaxis: place ? `y${place + 1}` : 'y'};
      });
    }));
    if (columns > 1) layout.annotations.forEach((note, column) => { note.text = titleOf(indices[column]); });
    layout.showlegend = named.size > 1;
    const div = make('div', {role: 'img', id: 'details-series', 'aria-label': `Line chart: ${kinds.join(', ')} over time of ${indices.map(titleOf).join(' and ')}`});
    body.append(div);
    draw(div, traces, layout);
  };
  const withSeries = Object.keys(data.series || {}).map(Number);
  const pairing = index => {
    const others = withSeries.filter(one => one !== index);
    if (!withSeries.includes(index) || !others.length) return;
    const select = make('select', {'aria-label': 'Side by side with another run'}, make('option', {value: ''}, 'side by side with …'), ...others.map(one => make('option', {value: one}, titleOf(one))));
    select.addEventListener('change', () => { if (select.value !== '') location.hash = `#pair=${index},${select.value}`; });
    ways.append(select);
  };
  const showPair = (index, other) => {
    title.textContent = `${titleOf(index)} beside ${titleOf(other)}`;
    [index, other].forEach(one => ways.append(link(`#run=${one}`, titleOf(one))));
    const head = make('tr', {}, make('th', {class: 'text'}, 'metric'), ...[index, other].map(one => make('th', {}, titleOf(one))));
    const rows = present([index, other]).map(column => make('tr', {}, make('td', {class: 'text'}, column.title + (column.unit ? `, ${column.unit}` : '')), ...[index, other].map(one => make('td', {}, number(column.values[one] * column.factor)))));
    if ([index, other].every(one => withSeries.includes(one))) showSeries([index, other]);
    body.append(tableOf(head, rows));
  };

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
    pairing(index);
    if (withSeries.includes(index)) showSeries([index]);
    else body.append(make('p', {class: 'quiet'}, data.without));
  };

  const route = () => {
    const place = HASH.exec(location.hash);
    const known = place && (place[3] ? Math.max(place[4], place[5]) < runs.count : Number(place[2]) < (place[1] === 'runs' ? groups.length : runs.count));
    if (!known) { if (dialog.open) dialog.close(); return; }
    empty();
    if (!dialog.open) dialog.showModal();
    if (place[3]) showPair(Number(place[4]), Number(place[5]));
    else (place[1] === 'runs' ? showRuns : showRun)(Number(place[2]));
    dialog.scrollTop = 0;
    (body.querySelector('a') || ways.querySelector('a') || by('details-close')).focus({preventScroll: true});
  };
  dialog.addEventListener('close', () => {
    empty();
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
    const addresses = [].concat(point.customdata ?? []).concat(point.data.meta ?? []);
    return addresses.findLast(one => typeof one === 'string' && HASH.test(one));
  };
  // A run: the commands that show the algorithms of the flows at the clicked time.
  const showMoment = points => {
    const flows = [...new Set(points.map(point => data.flows[point.data.name]).filter(flow => flow !== undefined))];
    if (!flows.length) return;
    const command = flow => make('code', {tabindex: 0}, `cwndlab debug out --at '${points[0].x} s' --flow ${flow}`);
    by('moment').replaceChildren(...flows.flatMap(flow => [command(flow), make('br')]));
  };
  const opening = div => {
    div.on('plotly_clickannotation', event => { if (event.annotation.name?.startsWith('#')) location.hash = event.annotation.name; });
    if (data.flows && div.id === 'overview') div.on('plotly_click', event => showMoment(event.points));
    if (!div.closest('figure.opens')) return;
    div.on('plotly_click', event => {
      const address = event.points.map(target).find(Boolean);
      if (address) location.hash = address;
    });
  };
  document.querySelectorAll('details').forEach(one => one.addEventListener('toggle', () => {
    if (one.open) drawAll();
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
    const heat = by('sweep-heat');
    Plotly.update(heat, {x: [xs.values], y: [names], z: [table.map(row => row.map(one => one[0]))], customdata: [table.map(row => row.map(one => `#runs=${one[1]}`))],
      text: [table.map(row => row.map(one => one[0] === null || !few ? '' : number(one[0])))], texttemplate: '%{text}', 'colorbar.title.text': metric.title + (metric.unit ? `, ${metric.unit}` : ''), hovertemplate: `${xs.name} %{x}, ${ys.name} %{y}: %{z:.4g}<extra></extra>`},
    // New values of x or y make plotly guess the types of the axes again.
    {'xaxis.type': 'category', 'yaxis.type': 'category', 'xaxis.categoryarray': xs.values, 'yaxis.categoryarray': names, 'xaxis.title.text': xs.name, 'yaxis.title.text': across === up ? '' : ys.name, height: Math.max(300, 30 * rows.length + 140)});
    const curves = by('sweep-curves');
    const lines = rows.slice(0, 12).map((y, position) => {
      const points = xs.values.map((_, x) => (across === up ? [x, x] : [x, y]));
      const value = which => points.map(([x, one]) => get(x, one, which));
      const [mean, low, high] = [0, 1, 2].map(value);
      const gap = (one, other) => one.map((end, n) => (end === null || other[n] === null ? null : end - other[n]));
      const ordered = xs.values.every(value => /^[-+]?\.?\d/.test(value));
      return {type: ordered ? 'scatter' : 'bar', x: xs.values, y: mean, name: across === up ? metric.title : ys.lines[y], ...(ordered ? {mode: 'lines+markers'} : {}),
        error_y: {type: 'data', array: gap(high, mean), arrayminus: gap(mean, low), thickness: 1.2}, customdata: points.map(([x, one]) => `#runs=${cell(x, one)}`),
        ...(ordered ? {line: {color: data.colours[position], width: 1.4}, marker: {symbol: data.signs[position % data.signs.length], size: 8}} : {marker: {color: data.colours[position]}}), hovertemplate: '%{x}: %{y:.4g}'};
    });
    const [shapes, annotations] = [0, 1].map(which => metric.thresholds.map(one => one[which]));
    Plotly.react(curves, lines, {...curves.layout, shapes, annotations, showlegend: across !== up, xaxis: {...curves.layout.xaxis, title: {text: xs.name}}, yaxis: {...curves.layout.yaxis, title: {text: metric.title + (metric.unit ? `, ${metric.unit}` : '')}}});
  };

  addEventListener('load', () => {
    document.querySelectorAll('table.sortable').forEach(table => { if (table.tHead.rows.length) sortable(table); });
    setTheme();
    drawAll();
    if (sweep) {
      by('sweep-choice').addEventListener('change', redraw);
      redraw();
    }
    route();
    document.documentElement.dataset.ready = 'yes';
  });
})();
