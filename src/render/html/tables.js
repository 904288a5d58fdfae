// tables.js: sortable tables: stacks of the chosen time, and the report's findings.

// columns: [{ title, key(row), text(row), number }]; rows are sorted by the column in `by`.
function sortedTable(id, caption, columns, rows, by, onRow) {
  const host = byId(id), most = 200;
  let order = { column: by, down: true };
  const fill = () => {
    const c = columns[order.column], shown = [...rows].sort((a, b) => {
      const x = c.key(a), y = c.key(b), v = typeof x === 'string' ? x.localeCompare(y) : (x ?? -Infinity) - (y ?? -Infinity);
      return order.down ? -v : v;
    });
    const head = el('tr', {}, ...columns.map((col, i) => {
      const button = el('button', { type: 'button', textContent: col.title, onclick: () => { order = { column: i, down: order.column === i ? !order.down : !!col.number }; fill(); host.querySelectorAll('th button')[i].focus(); } });
      const th = el('th', { scope: 'col', className: col.number ? 'n' : '' }, button);
      if (i === order.column) th.setAttribute('aria-sort', order.down ? 'descending' : 'ascending');
      return th;
    }));
    const body = shown.slice(0, most).map(row => {
      const tr = el('tr', {}, ...columns.map(col => {
        const v = col.text(row), td = el('td', { className: (col.number ? 'n' : '') + (col.stack ? ' stack' : '') });
        const [name, from] = Array.isArray(v) ? v : [v];
        td.append(col.stack ? el('div', { textContent: name, title: name.length > 200 ? name : '' }) : name, ...(from ? [el('small', { textContent: from })] : []));
        return td;
      }));
      if (onRow) {
        tr.tabIndex = 0;
        tr.onclick = () => onRow(row);
        tr.onkeydown = e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); onRow(row); } };
      }
      return tr;
    });
    const note = shown.length > most ? ` The first ${most} of ${count(shown.length)} are shown.` : '';
    host.replaceChildren(rows.length ? el('table', {}, el('caption', { textContent: caption + note }), el('thead', {}, head), el('tbody', {}, ...body)) : el('p', { className: 'none', textContent: caption }));
  };
  fill();
}

const atPeak = file => file.still ? 'live' : 'at the peak';
const NO_HISTORY = 'No history was recorded, so this cannot be told.';
const known = v => v === null || v === undefined ? 'not known' : bytesText(v);
const stackLine = frames => frames.length ? frames[0].function || '??' : 'no stack recorded';
const placeLine = f => f && (f.file ? `${f.file}${f.line ? ':' + f.line : ''}` : f.module || '');

// A finding's stack: the innermost frames that are somebody's code, as the report prints them.
function findingName(app, stack) {
  const file = app.file, id = app.stackOf(stack);
  if (id !== null) return stackName(file, id);
  return stack.length ? stackLine(stack) : 'no stack recorded';
}

// What the tables of findings share: their first column, and times.
const findingColumn = app => ({ title: 'Stack', stack: true, key: x => findingName(app, x.stack), text: x => findingName(app, x.stack) });
const openFinding = (app, facts) => x => app.details({ title: findingName(app, x.stack), frames: x.stack, facts: facts(x) });
const timeOr = (app, v) => v === null || v === undefined ? '—' : timeText(v, app.file);

function drawLeaks(app) {
  const r = app.device.report, leaks = r.leaks || [], t = v => timeOr(app, v);
  const what = leaks.length ? (r.leaks_basis === 'growing' ? 'Never given back, of stacks that only grow.' : 'Allocated and never given back.') : 'Nothing was found that was never given back.';
  sortedTable('panel-leaks', app.file.still ? NO_HISTORY : what + (r.leaks_doubt ? ` Not reliable: ${r.leaks_doubt}.` : ''),
    [findingColumn(app), { title: 'Bytes', number: true, key: x => x.bytes, text: x => bytesText(x.bytes) }, { title: 'Blocks', number: true, key: x => x.count, text: x => count(x.count) },
      { title: 'First', number: true, key: x => x.first_t_ns, text: x => t(x.first_t_ns) }, { title: 'Last', number: true, key: x => x.last_t_ns, text: x => t(x.last_t_ns) }],
    leaks, 1, openFinding(app, x => [['leaked', `${bytesText(x.bytes)} (${exactBytes(x.bytes)})`], ['blocks', count(x.count)], ['first', t(x.first_t_ns)], ['last', t(x.last_t_ns)]]));
}

function drawGrowth(app) {
  const growth = app.device.report.growth || [];
  sortedTable('panel-growth', app.file.still ? NO_HISTORY : growth.length ? 'Stacks whose memory keeps rising.' : 'No stack keeps growing.',
    [findingColumn(app), { title: 'Grew by', number: true, key: x => x.bytes, text: x => bytesText(x.bytes) },
      { title: 'Rate', number: true, key: x => x.slope, text: x => x.slope === null ? '—' : `${bytesText(Math.round(x.slope))} per ${x.per}` }, { title: 'Blocks', number: true, key: x => x.count, text: x => count(x.count) }],
    growth, 1, openFinding(app, x => [['grew by', bytesText(x.bytes)], ['since', timeOr(app, x.first_t_ns)]]));
}

function drawFailures(app) {
  const ooms = app.device.report.ooms || [], t = v => timeOr(app, v);
  sortedTable('panel-failures', ooms.length ? 'Allocations that failed.' : app.file.still ? NO_HISTORY : 'No allocation failed.',
    [{ title: 'When', number: true, key: x => x.t_ns ?? x.event, text: x => t(x.t_ns) === '—' ? `event ${count(x.event)}` : t(x.t_ns) }, { title: 'Asked', number: true, key: x => x.size, text: x => bytesText(x.size) },
      { title: 'Free', number: true, key: x => x.free, text: x => known(x.free) }, { title: 'Cached', number: true, key: x => x.cached, text: x => known(x.cached) },
      { title: 'Largest hole', number: true, key: x => x.largest_free_block, text: x => known(x.largest_free_block) }, { title: 'Cause', key: x => x.cause || '', text: x => x.cause || 'not examined' }, findingColumn(app)],
    ooms, 0, openFinding(app, x => [['asked', bytesText(x.size)], ['free', known(x.free)], ['cause', x.cause || '—']]));
}

function drawGroups(app) {
  const r = app.device.report, groups = ['streams', 'threads', 'pools', 'phases', 'sizes'].flatMap(k => (r[k] || []).map(g => ({ ...g, what: k.slice(0, -1) })));
  sortedTable('panel-groups', groups.length ? 'The whole recording divided by stream, thread, pool, phase and size.' : 'Nothing to divide.',
    [{ title: 'By', key: x => x.what, text: x => x.what }, { title: 'Name', key: x => x.name, text: x => x.name }, { title: 'At the peak', number: true, key: x => x.peak_bytes, text: x => known(x.peak_bytes) },
      { title: 'At the end', number: true, key: x => x.end_bytes, text: x => known(x.end_bytes) }, { title: 'Allocations', number: true, key: x => x.allocs, text: x => count(x.allocs) },
      { title: 'Allocated', number: true, key: x => x.alloc_bytes, text: x => bytesText(x.alloc_bytes) }], groups, 2);
}

// Stacks of the selected time (or all of it): what they hold at its peak and end, and what they allocated in it.
function drawStacks(app) {
  const d = app.device, w = app.window, rows = new Map();
  const row = s => { let x = rows.get(s); if (!x) rows.set(s, x = { stack: s, peak: 0, blocks: 0, end: 0, allocs: 0, bytes: 0 }); return x; };
  d.eachLive(w.peakEvent, b => { const x = row(d.stack[b]); x.peak += d.size[b]; x.blocks++; });
  d.eachLive(w.last - 1, b => { row(d.stack[b]).end += d.size[b]; });
  for (let i = w.first; i < w.last; i++) { const b = d.block[i]; if (b >= 0) { const x = row(d.stack[b]); x.allocs++; x.bytes += d.size[b]; } }
  const size = (title, key) => ({ title, number: true, key: x => x[key], text: x => x[key] ? bytesText(x[key]) : '—' });
  sortedTable('panel-stacks', app.selection ? 'In the selected time.' : app.file.still ? 'When the snapshot was taken.' : 'In the whole recording.',
    [{ title: 'Stack', stack: true, key: x => stackName(app.file, x.stack), text: x => { const [a, b] = stackName(app.file, x.stack).split(' ← '); return b ? [a, '← ' + b] : a; } },
      size(app.file.still ? 'Live' : 'At the peak', 'peak'), { title: 'Blocks', number: true, key: x => x.blocks, text: x => count(x.blocks) }, size('At the end', 'end'),
      { title: 'Allocations', number: true, key: x => x.allocs, text: x => count(x.allocs) }, size('Allocated', 'bytes')],
    [...rows.values()], 1, x => app.details({ title: stackName(app.file, x.stack), stack: x.stack, facts: [[atPeak(app.file), `${bytesText(x.peak)} in ${plural(x.blocks, 'block')}`], ['at the end', bytesText(x.end)], ['allocated', `${bytesText(x.bytes)} by ${plural(x.allocs, 'allocation')}`]] }));
}

const TABLES = { stacks: drawStacks, leaks: drawLeaks, growth: drawGrowth, failures: drawFailures, groups: drawGroups };
