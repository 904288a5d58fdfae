// main.js: the page: files, devices, the selection, and who has to draw when it changes.

class App {
  constructor() {
    this.instant = null; // event whose state is shown where an instant is asked for
    this.selection = null; // { from, to } or null
    this.nothing = byId('details').firstElementChild; // what stands there before something is selected
    this.panel = 'flame'; // the tab that is shown
    this.filled = new Set(); // tabs whose tables tell of this device and selection
    this.files = DATA.files.map((_, i) => new File(i));
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.setTheme(localStorageGet('gpumemsnap-theme') || (this.dark.matches ? 'dark' : 'light'));
    this.timeline = new Timeline(this);
    this.flame = new Flame(this);
    this.segments = new Segments(this);
    this.panels();
    this.controls();
  }
  async start() {
    tabs('files', this.files.length > 1 ? this.files.map(tabName) : [], i => this.openFile(i).catch(failed));
    await this.openFile(0);
    document.documentElement.dataset.ready = 'true';
    requestAnimationFrame(() => performance.mark('drawn')); // behind the first picture's own
  }
  async openFile(i) {
    const file = this.file = this.files[i];
    this.verdict(file);
    if (!file.byDevice) {
      if (file.sketches) await this.sketch(file);
      await file.load();
    }
    if (this.file !== file) return;
    const select = byId('device');
    select.replaceChildren(...file.byDevice.map((d, k) => el('option', { value: k, textContent: `GPU ${d.number}${d.info.name ? ' ' + d.info.name : ''}` })));
    byId('device-label').hidden = file.byDevice.length < 2;
    const busiest = file.byDevice.reduce((best, d, k, all) => d.extremes(0, d.n).high > all[best].extremes(0, all[best].n).high ? k : best, 0);
    select.value = busiest;
    byId('flame-what').options[0].textContent = file.still ? 'live' : 'live at the peak';
    byId('flame-what').value = 'peak';
    this.openDevice(busiest);
  }
  // What can be shown at once: figures, findings and the whole timeline.
  async sketch(file) {
    const sketch = await Sketch.of(file);
    if (this.file !== file) return;
    this.device = null;
    byId('device-label').hidden = true;
    byId('states').hidden = true;
    for (const part of ['over-time', 'figures']) byId(part).hidden = false;
    this.figures(sketch);
    byId('selection').textContent = `Unpacking ${count(file.events)} events…`;
    byId('group').replaceChildren(el('option', { value: 'stack', textContent: GROUPS.stack.label }));
    const mode = this.timeline.mode;
    this.timeline.mode = 'bands';
    this.timeline.sketch(sketch);
    this.timeline.mode = mode; // of what comes next
    document.documentElement.dataset.sketch = 'true';
    performance.mark('sketched');
    await breathe();
  }
  openDevice(k) {
    this.device = this.file.byDevice[k];
    for (const part of ['over-time', 'states']) byId(part).hidden = !this.device;
    byId('figures').hidden = !this.device;
    if (!this.device) return;
    this.instant = null; this.selection = null;
    byId('details').replaceChildren(this.nothing);
    this.stackIds = null;
    const groups = Object.keys(GROUPS).filter(g => !['stream', 'thread', 'pool'].includes(g) || this.file[g + 's'].length > 1);
    byId('group').replaceChildren(...groups.map(g => el('option', { value: g, textContent: GROUPS[g].label })));
    if (this.file.stackAt.length < 3) byId('group').value = groups.includes('stream') ? 'stream' : 'size'; // no stacks were recorded
    this.figures();
    this.timeline.show(this.device);
    this.filled.clear();
    this.refresh();
  }
  verdict(file) {
    byId('verdict').replaceChildren(...(file.report.verdict || []).map(s => el('li', { className: s.tone || '', textContent: s.text || s })));
  }
  figures(d = this.device) {
    const r = d.report, q = r.requested || {}, f = (r.fragmentation || {}).peak;
    const figure = (title, value, small) => el('div', {}, el('dt', { textContent: title }), el('dd', { textContent: value }, el('small', { textContent: small || '' })));
    const peak = figure('Peak', known(q.peak), q.peak_t_ns !== null && q.peak_t_ns !== undefined ? 'at ' + timeText(q.peak_t_ns, this.file) : '');
    peak.id = 'figure-peak';
    peak.dataset.bytes = q.peak;
    byId('figures').replaceChildren(...[peak,
      (r.reserved || {}).peak != null && figure('Reserved at most', bytesText(r.reserved.peak), r.total ? `of ${bytesText(r.total)}` : ''),
      figure(this.file.still ? 'Live' : 'Live at the end', known(q.end), r.live_blocks_end != null ? plural(r.live_blocks_end, 'block') : ''),
      r.leaked_bytes != null && !this.file.still && figure('Leaked', bytesText(r.leaked_bytes), r.leaked_count != null ? plural(r.leaked_count, 'block') : ''),
      f && f.external != null && figure('Fragmentation', `${(100 * f.external).toFixed(1)} %`, 'external, at the peak'),
      r.ooms && r.ooms.length && figure('Out of memory', count(r.ooms.length), r.ooms.length === 1 ? 'failed allocation' : 'failed allocations'),
      figure('Events', count(r.events ?? this.file.events), d.size.length ? plural(d.size.length, 'block') : '')].filter(Boolean));
  }
  // Everything that depends on the selection or the instant.
  refresh() {
    const s = this.selection, file = this.file;
    this.window = this.device.window(s ? s.from : file.from, s ? s.to : Math.max(file.to, file.from + 1));
    const w = this.window, figure = (name, value, exact) => { const b = el('b', { id: 'stat-' + name, textContent: value, title: exact !== undefined ? exactBytes(exact) : '' }); if (exact !== undefined) b.dataset.bytes = exact; return el('span', {}, name + ' ', b); };
    byId('selection').replaceChildren(
      el('strong', { textContent: s ? `${timeText(w.from, file)} – ${timeText(w.to, file)}` : file.still ? 'When the snapshot was taken' : 'The whole recording' }),
      ...(file.still ? [] : [figure('start', bytesText(w.start), w.start), figure('peak', bytesText(w.peak), w.peak)]), figure(file.still ? 'live' : 'end', bytesText(w.end), w.end),
      figure('allocations', count(w.allocs)), figure('frees', count(w.frees)), figure('allocated', bytesText(w.bytes), w.bytes));
    byId('zoom-selection').disabled = !s;
    this.flame.rebuild();
    this.segments.draw();
    this.filled.delete('stacks');
    this.fill();
    this.timeline.draw();
  }
  // Tables are made when they are shown.
  fill() {
    const draw = this.device && TABLES[this.panel];
    if (draw && !this.filled.has(this.panel)) draw(this);
    this.filled.add(this.panel);
  }
  select(range) {
    this.selection = range && range.to > range.from ? range : null;
    if (!range) this.instant = null;
    this.refresh();
  }
  zoomToSelection() { if (this.selection) this.timeline.setRange(this.selection.from, this.selection.to); }
  pickInstant(event, quiet) {
    this.instant = event < 0 ? null : event;
    if (byId('flame-what').value === 'instant' || !quiet) { if (!quiet && this.instant !== null) byId('flame-what').value = 'instant'; this.flame.rebuild(); }
    this.segments.draw();
    this.timeline.draw();
    if (quiet && this.instant !== null) {
      const d = this.device, b = d.block[this.instant], k = b >= 0 ? b : ~b, f = this.timeline.blockFacts(k);
      this.details({ ...f, title: `${b >= 0 ? 'Allocated' : 'Freed'}: ${f.title}`, facts: [['live now', bytesText(d.total[this.instant])], ...f.facts] });
    }
  }
  // The number of a stack that the report wrote out as frames, or null.
  stackOf(frames) {
    const key = (fn, file, line) => `${fn}\n${file}\n${line}`;
    if (!this.stackIds) {
      const f = this.file, texts = i => f.strings[i] || '';
      this.stackIds = new Map();
      for (let s = 0; s + 1 < f.stackAt.length && s < 20000; s++)
        this.stackIds.set(Array.from(f.stackFrames(s)).reverse().map(x => key(texts(f.frame.fn[x]), texts(f.frame.file[x]), f.frame.line[x])).join('\0'), s);
    }
    return this.stackIds.get(frames.map(x => key(x.function || '', x.file || '', x.line || 0)).join('\0')) ?? null;
  }
  details(what) {
    const file = this.file, facts = el('dl', {}, ...what.facts.flatMap(([k, v]) => [el('dt', { textContent: k }), el('dd', { textContent: v })]));
    let frames = [];
    if (what.stack !== null && what.stack !== undefined)
      frames = Array.from(file.stackFrames(what.stack)).reverse().map(f => ({ name: functionOf(file, f), where: whereOf(file, f), plumbing: !worthOf(file, f), colour: theme().code[codeOf(file, f) * 4 + 1] }));
    else if (what.frames)
      frames = what.frames.map(f => ({ name: f.function || '??', where: placeLine(f) }));
    const close = el('button', { type: 'button', className: 'close', textContent: '×', ariaLabel: 'Close', onclick: () => byId('details').replaceChildren(this.nothing) });
    byId('details').replaceChildren(close, el('h3', { textContent: what.title }), facts, ...(frames.length ? [this.frameList(frames)] : []));
  }
  // Three and more frames of plumbing in a row are folded away.
  frameList(frames) {
    const item = f => {
      const li = el('li', { className: f.plumbing ? 'plumbing' : '' }, f.name, el('small', { textContent: f.where || '' }));
      if (f.colour) li.style.borderColor = f.colour;
      return li;
    };
    const list = el('ol');
    for (let i = 0, j; i < frames.length; i = j) {
      for (j = i; j < frames.length && frames[j].plumbing;) j++;
      if (j - i < 3) { j = Math.max(j, i + 1); list.append(...frames.slice(i, j).map(item)); }
      else list.append(el('li', {}, el('details', {}, el('summary', { textContent: `${j - i} frames of plumbing` }), el('ol', {}, ...frames.slice(i, j).map(item)))));
    }
    return list;
  }
  panels() {
    const names = { flame: 'Flame', segments: 'Segments', stacks: 'Stacks', leaks: 'Leaks', growth: 'Growth', failures: 'Failures', groups: 'Groups' }, ids = Object.keys(names);
    const buttons = tabs('panels', Object.values(names), i => {
      ids.forEach((id, k) => { byId('panel-' + id).hidden = k !== i; });
      this.panel = ids[i];
      this.fill();
      this.flame.draw();
      this.segments.draw();
    }, ids.map(id => 'tab-' + id));
    buttons.forEach((b, i) => b.setAttribute('aria-controls', 'panel-' + ids[i]));
  }
  controls() {
    byId('device').onchange = e => this.openDevice(+e.target.value);
    byId('group').onchange = e => { this.timeline.setGroup(e.target.value); this.segments.draw(); };
    byId('zoom-out').onclick = () => this.timeline.all();
    byId('zoom-selection').onclick = () => this.zoomToSelection();
    const recolour = name => { this.setTheme(name); this.timeline.legend(); this.timeline.draw(); this.flame.draw(); this.segments.draw(); };
    byId('theme').onclick = () => {
      const name = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
      recolour(name);
      try { localStorage.setItem('gpumemsnap-theme', name); } catch { /* a page from disk may have none */ }
    };
    this.dark.onchange = e => { if (!localStorageGet('gpumemsnap-theme')) recolour(e.matches ? 'dark' : 'light'); };
    document.querySelectorAll('[data-view]').forEach(b => { b.onclick = () => {
      this.timeline.mode = b.dataset.view;
      document.querySelectorAll('[data-view]').forEach(o => o.setAttribute('aria-pressed', o === b));
      byId('places-hint').hidden = b.dataset.view !== 'places';
      this.timeline.legend();
      this.timeline.draw();
    }; });
    addEventListener('resize', () => { this.timeline.legend(); this.timeline.draw(); this.flame.draw(); this.segments.draw(); });
    addEventListener('keydown', e => {
      if (e.key === '/' && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { e.preventDefault(); byId('tab-flame').click(); byId('search').focus(); }
    });
  }
  setTheme(name) {
    document.documentElement.dataset.theme = name;
    document.documentElement.style.setProperty('--held', theme().empty);
  }
}

function localStorageGet(key) { try { return localStorage.getItem(key); } catch { return null; } }

// "rank 3 · job.3.json"
function tabName(f) {
  return (f.jobRank === undefined ? '' : `rank ${f.jobRank} \u00b7 `) + f.name.split('/').pop();
}

// A row of tabs: buttons with arrow keys.
function tabs(id, names, choose, ids) {
  const host = byId(id), buttons = names.map((n, i) => el('button', { type: 'button', role: 'tab', id: ids ? ids[i] : '', textContent: n }));
  const pick = i => { buttons.forEach((b, k) => { b.setAttribute('aria-selected', k === i); b.tabIndex = k === i ? 0 : -1; }); choose(i); };
  buttons.forEach((b, i) => {
    b.onclick = () => pick(i);
    b.onkeydown = e => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: buttons.length - 1 }[e.key];
      if (to === undefined) return;
      const k = (to + buttons.length) % buttons.length;
      buttons[k].focus(); pick(k);
    };
  });
  host.replaceChildren(...buttons);
  buttons.forEach((b, k) => { b.setAttribute('aria-selected', k === 0); b.tabIndex = k ? -1 : 0; });
  return buttons;
}

function failed(error) {
  byId('selection').textContent = 'This page could not be read: ' + error.message;
  throw error;
}

const app = window.app = new App();
app.start().catch(failed);
