// timeline.js: the picture over time: bands or addresses, zoomed, brushed and pointed at.

const LEFT = 76, TOP = 26, BOTTOM = 24;

function roundStep(range, n, binary) {
  if (binary) { let s = 1; while (range / s > n) s *= 2; return s; }
  let p = 10 ** Math.floor(Math.log10(range / n || 1));
  for (const k of [1, 2, 5, 10]) if (range / (p * k) <= n) return Math.max(p * k, 1e-9);
  return p * 10;
}

class Timeline {
  constructor(app) {
    this.app = app;
    this.canvas = byId('timeline');
    this.overview = byId('overview');
    this.mode = 'bands';
    this.lit = -1; // band pointed at
    this.listen();
  }
  show(device) {
    this.device = device;
    this.file = device.file;
    this.bandsBy = {};
    this.from = this.file.from;
    this.to = Math.max(this.file.to, this.file.from + 1);
    this.low = 0; this.high = Math.max(1, device.space); // addresses shown
    this.zoomToEvents();
    this.setGroup(GROUPS[byId('group').value] ? byId('group').value : 'stack');
  }
  // Where nearly all events happen in a small part of the time, begin with that part.
  zoomToEvents() {
    const d = this.device, n = d.n - d.initial, skip = Math.floor(n / 20);
    if (n < 200 || !this.file.hasTime) return;
    const a = d.time[d.initial + skip], z = d.time[d.n - 1 - skip], all = this.to - this.from;
    if (z <= a || z - a > .15 * all) return;
    this.from = Math.max(this.from, a - (z - a) * .15);
    this.to = Math.min(this.to, z + (z - a) * .15);
  }
  // The first picture, before there is a device that can be asked.
  sketch(sketch) {
    this.device = this.bands = sketch;
    this.file = sketch.file;
    this.from = this.file.from;
    this.to = Math.max(this.file.to, this.file.from + 1);
    this.legend();
    this.paint();
  }
  setGroup(by) {
    this.bands = this.bandsBy[by] ||= new Bands(this.device, by);
    this.legend();
    this.draw();
  }
  x(t) { return LEFT + (t - this.from) / (this.to - this.from) * this.w; }
  t(x) { return this.from + (x - LEFT) / this.w * (this.to - this.from); }

  draw() {
    if (this.pending || !this.app.device) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.paint(); });
  }
  paint() {
    if (!this.canvas.clientWidth || !this.overview.clientWidth) return; // not laid out yet: a resize will come
    const start = performance.now(), c = prepare(this.canvas);
    this.ctx = c.ctx; this.w = Math.max(10, c.w - LEFT - 8); this.h = Math.max(10, c.h - TOP - BOTTOM); this.ratio = c.ratio;
    this.ctx.fillStyle = cssColour('--page');
    this.ctx.fillRect(0, 0, c.w, c.h);
    if (this.mode === 'bands') this.paintBands(); else this.paintPlaces();
    this.paintTimeAxis();
    this.paintPhases();
    this.paintMarks();
    this.paintSelection();
    this.paintOverview();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.describe(), 300); // nobody listens to every frame
    this.frameMs = performance.now() - start;
  }
  // An image of w × h device pixels put at the plot.
  image(fill) {
    const w = Math.round(this.w * this.ratio), h = Math.round(this.h * this.ratio);
    if (!this.kept || this.kept.width !== w || this.kept.height !== h) this.kept = new ImageData(w, h);
    fill(new Uint32Array(this.kept.data.buffer), w, h);
    this.ctx.putImageData(this.kept, Math.round(LEFT * this.ratio), Math.round(TOP * this.ratio));
  }
  paintBands() {
    const d = this.device, n = Math.round(this.w * this.ratio), b = this.bands;
    const cols = this.columns = b.columns(this.from, this.to, n);
    let peak = 0, reserved = this.reservedLine(n);
    for (let c = 0; c < n; c++) peak = Math.max(peak, cols.high[c]);
    const limit = d.report.total;
    this.max = Math.max(peak, reserved ? reserved.peak : 0, 1);
    if (limit && limit > this.max && limit * 2 / 3 <= this.max) this.max = limit;
    this.max *= 1.03;
    const page = cssColour('--page'), solid = new Uint32Array(cols.m), pale = new Uint32Array(cols.m);
    for (let i = 0; i < cols.m; i++) {
      const colour = this.lit >= 0 && this.lit !== i ? mixHex(b.colour(i), page, .7) : b.colour(i);
      solid[i] = pixelOf(colour); pale[i] = pixelOf(mixHex(colour, page, .4));
    }
    const back = pixelOf(page), grid = pixelOf(cssColour('--faint')), step = roundStep(this.max, Math.max(2, this.h / 40 | 0), true);
    this.image((px, w, h) => {
      px.fill(back);
      for (let v = step; v < this.max; v += step) { const y = Math.round(h - v / this.max * h); if (y >= 0 && y < h) px.fill(grid, y * w, y * w + w); }
      this.fillBands(px, w, h, cols, solid, pale);
      if (reserved) this.lineInto(px, w, h, reserved.value, pixelOf(cssColour('--ink')));
    });
    this.ctx.fillStyle = cssColour('--soft');
    this.ctx.textAlign = 'right'; this.ctx.textBaseline = 'middle';
    for (let v = 0; v < this.max; v += step) this.ctx.fillText(bytesTick(v), LEFT - 6, TOP + this.h - v / this.max * this.h);
    if (limit && limit <= this.max) {
      const y = TOP + this.h - limit / this.max * this.h;
      this.ctx.strokeStyle = cssColour('--bad'); this.ctx.setLineDash([6, 4]); this.ctx.beginPath(); this.ctx.moveTo(LEFT, y); this.ctx.lineTo(LEFT + this.w, y); this.ctx.stroke(); this.ctx.setLineDash([]);
    }
  }
  // Row by row, as pixels lie in memory: a column's colour changes where its next run begins.
  fillBands(px, w, h, { m, low, value }, solid, pale) {
    const runs = m + 2, row = new Int32Array(w * runs), ink = new Uint32Array(w * runs), top = new Int32Array(m), scale = h / this.max;
    for (let c = 0; c < w; c++) {
      const turn = h - Math.round(low[c] * scale); // from here on down it is there all the time
      for (let i = 0, sum = 0; i < m; i++) { sum += value[c * m + i]; top[i] = h - Math.round(sum * scale); }
      let k = c * runs;
      for (let i = m - 1; i >= 0; i--) {
        const begin = top[i], end = i ? top[i - 1] : h;
        if (begin < Math.min(end, turn)) { row[k] = begin; ink[k++] = pale[i]; }
        if (end > Math.max(begin, turn)) { row[k] = Math.max(begin, turn); ink[k++] = solid[i]; }
      }
      row[k] = h;
    }
    const next = Int32Array.from({ length: w }, (_, c) => c * runs), now = new Uint32Array(w);
    for (let y = 0, p = 0; y < h; y++)
      for (let c = 0; c < w; c++, p++) {
        if (row[next[c]] === y) now[c] = ink[next[c]++];
        if (now[c]) px[p] = now[c];
      }
  }
  lineInto(px, w, h, value, colour) {
    let last = -1;
    for (let c = 0; c < w; c++) {
      if (value[c] < 0) { last = -1; continue; }
      const y = Math.min(h - 1, Math.max(0, Math.round(h - value[c] / this.max * h)));
      const a = last < 0 ? y : Math.min(y, last), z = last < 0 ? y : Math.max(y, last);
      for (let k = a; k <= z; k++) px[k * w + c] = colour;
      if (y > 0) px[(y - 1) * w + c] = colour;
      last = y;
    }
  }
  // Reserved bytes per column (highest), or null where nobody recorded them or they are the live bytes.
  reservedLine(n) {
    const d = this.device, time = d.reservedTime, v = d.reserved, value = new Float64Array(n).fill(-1);
    let k = 0, peak = 0, differs = false;
    if (!time.length) return null;
    const span = this.to - this.from;
    let now = d.reservedAt(this.from);
    while (k < time.length && time[k] <= this.from) k++;
    for (let c = 0; c < n; c++) {
      const end = this.from + span * (c + 1) / n;
      let high = now;
      for (; k < time.length && time[k] < end; k++) { now = v[k] - 1; if (now > high) high = now; }
      value[c] = high;
      if (high > peak) peak = high;
      if (high >= 0 && high !== this.columns.high[c]) differs = true;
    }
    return differs ? { value, peak } : null;
  }
  paintPlaces() {
    const d = this.device, view = this.high - this.low, from = this.from, to = this.to, low = this.low, high = this.high;
    const empty = pixelOf(theme().empty), colours = Uint32Array.from(this.bands.list, (_, i) => pixelOf(this.placeColour(i)));
    this.image((px, w, h) => {
      px.fill(pixelOf(cssColour('--page')));
      const perTime = w / (to - from), perByte = h / view;
      const rect = (t0, t1, a0, a1, colour, edge) => {
        if (t1 < from || t0 > to || a1 <= low || a0 >= high) return;
        const x0 = t0 <= from ? 0 : Math.floor((t0 - from) * perTime);
        let x1 = t1 >= to ? w : Math.max(x0 + 1, Math.floor((t1 - from) * perTime));
        const y1 = a0 <= low ? h : h - Math.floor((a0 - low) * perByte);
        let y0 = a1 >= high ? 0 : Math.min(y1 - 1, h - Math.floor((a1 - low) * perByte));
        if (edge) { if (x1 - x0 > 4) x1--; if (y1 - y0 > 4) y0++; }
        if (x1 - x0 > 16) for (let y = y0; y < y1; y++) px.fill(colour, y * w + x0, y * w + x1);
        else for (let y = y0; y < y1; y++) for (let k = y * w + x0, z = y * w + x1; k < z; k++) px[k] = colour;
      };
      const held = d.held;
      for (let i = 0; i < held.begin.length; i++)
        if (held.place[i]) rect(held.begin[i] < 0 ? -Infinity : held.begin[i], held.end[i] < 0 ? Infinity : held.end[i], held.place[i] - 1, held.place[i] - 1 + held.size[i], empty, false);
      const { begin, place, places } = d, { begun, ended, latest } = d.lives, of = this.bands.of, last = d.eventAt(to, true);
      for (let b = 0, n = begin.length; b < n && begin[b] < last; b++) {
        if (b % CHUNK === 0 && latest[b / CHUNK] < from) { b += CHUNK - 1; continue; } // all of them are over
        const at = places[place[b]];
        if (ended[b] >= from && at) rect(begun[b], ended[b], at - 1, at - 1 + d.blockSize(b), colours[of[b]], true);
      }
    });
    this.ctx.fillStyle = cssColour('--soft'); this.ctx.textAlign = 'right'; this.ctx.textBaseline = 'middle';
    const step = roundStep(view, Math.max(2, this.h / 40 | 0), true);
    for (let v = Math.ceil(this.low / step) * step; v <= this.high; v += step)
      this.ctx.fillText('+' + bytesTick(v), LEFT - 6, TOP + this.h - (v - this.low) / view * this.h);
  }
  placeColour(i) {
    const colour = this.bands.list[i].rest ? mixHex(theme().rest, cssColour('--ink'), .15) : this.bands.colour(i);
    return this.lit >= 0 && this.lit !== i ? mixHex(colour, theme().empty, .75) : colour;
  }
  paintTimeAxis() {
    const ctx = this.ctx, y = TOP + this.h, step = Math.max(1, roundStep(this.to - this.from, Math.max(3, this.w / 110 | 0)));
    ctx.strokeStyle = cssColour('--soft'); ctx.lineWidth = 1; ctx.beginPath(); ctx.moveTo(LEFT, y + .5); ctx.lineTo(LEFT + this.w, y + .5); ctx.stroke();
    ctx.fillStyle = cssColour('--soft'); ctx.textAlign = 'center'; ctx.textBaseline = 'top';
    if (this.file.still) { ctx.fillText('no history recorded: what was live when the snapshot was taken', LEFT + this.w / 2, y + 6); return; }
    if (!this.file.hasTime) { ctx.textAlign = 'right'; ctx.fillText('event', LEFT - 6, y + 6); ctx.textAlign = 'center'; }
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.x(t), s = this.file.hasTime ? (t ? timeText(t, this.file, step) : '0') : count(Math.round(t)), half = ctx.measureText(s).width / 2;
      ctx.fillRect(x, y, 1, 4);
      ctx.fillText(s, Math.min(x, LEFT + this.w - half), y + 6);
    }
  }
  paintPhases() {
    const p = this.file.phase, ctx = this.ctx;
    let taken = 0;
    if (!p) return;
    ctx.textAlign = 'left'; ctx.textBaseline = 'middle';
    for (let i = 0; i < p.name.length; i++) {
      if (p.device[i] !== this.device.number && p.device[i] !== 255) continue;
      const t1 = p.length[i] ? p.begin[i] + p.length[i] - 1 : Infinity;
      if (t1 < this.from || p.begin[i] > this.to) continue;
      const x0 = Math.max(LEFT, this.x(p.begin[i])), x1 = Math.min(LEFT + this.w, Math.max(x0 + 1, t1 === Infinity ? LEFT + this.w : this.x(t1)));
      if (x1 <= taken || x0 < taken - 1) continue; // nested, or thinner than a pixel that is taken
      taken = x1;
      const name = this.file.strings[p.name[i]], colour = mixHex(DATA.categories[[...name].reduce((h, c) => h * 31 + c.codePointAt(0) >>> 0, 7) % 12], cssColour('--page'), .55);
      ctx.fillStyle = colour; ctx.fillRect(x0, 4, x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 15);
      if (x1 - x0 > 30) { ctx.fillStyle = inkOn(colour); ctx.fillText(elide(ctx, name, x1 - x0 - 8), x0 + 4, 12); }
    }
  }
  // Where words of two marks would lie upon each other, the later ones go below.
  paintMarks() {
    const ctx = this.ctx, d = this.device, shown = t => t >= this.from && t <= this.to, limit = d.report.total;
    this.taken = [];
    if (this.mode === 'bands' && !this.file.still) this.paintPeak();
    ctx.textBaseline = 'top';
    if (this.mode === 'bands' && limit && limit <= this.max) {
      ctx.fillStyle = cssColour('--bad'); ctx.textAlign = 'left';
      this.words(`device memory ${bytesText(limit)}`, LEFT + 4, Math.round(TOP + this.h - limit / this.max * this.h) + 3);
    }
    for (const o of (d.report.ooms || []).slice(0, 50)) {
      const t = o.t_ns ?? o.event, x = Math.round(this.x(t)) + .5;
      if ((o.t_ns === null && this.file.hasTime) || !shown(t)) continue;
      ctx.strokeStyle = ctx.fillStyle = cssColour('--bad'); ctx.setLineDash([4, 4]); ctx.beginPath(); ctx.moveTo(x, TOP - 2); ctx.lineTo(x, TOP + this.h); ctx.stroke(); ctx.setLineDash([]);
      ctx.textAlign = x > LEFT + this.w / 2 ? 'right' : 'left';
      this.words(`out of memory: ${bytesText(o.size)} asked`, x + (ctx.textAlign === 'right' ? -4 : 4), TOP + 2);
    }
    if (this.app.instant !== null) {
      const t = d.timeOf(this.app.instant);
      if (shown(t)) { ctx.fillStyle = cssColour('--accent'); ctx.fillRect(this.x(t) - 1, TOP - 4, 2, this.h + 4); }
    }
  }
  paintPeak() {
    const ctx = this.ctx, d = this.device, peak = d.extremes(d.initial, d.n), t = d.time[peak.at], y = TOP + this.h - peak.high / this.max * this.h;
    if (!(t >= this.from && t <= this.to) || peak.high <= d.totalBefore(d.initial)) return;
    const x = this.x(t);
    ctx.fillStyle = cssColour('--ink'); ctx.font = '600 ' + FONT;
    ctx.beginPath(); ctx.moveTo(x, y); ctx.lineTo(x - 5, y - 8); ctx.lineTo(x + 5, y - 8); ctx.fill();
    ctx.textBaseline = 'top'; ctx.textAlign = x > LEFT + this.w * .7 ? 'right' : 'left';
    this.words('peak ' + bytesText(peak.high), x + (ctx.textAlign === 'right' ? -8 : 8), Math.max(y - 13, TOP - 8));
    ctx.font = FONT;
  }
  // Words over the picture from y down, legible on whatever lies there; none where others lie.
  words(s, x, y) {
    const ctx = this.ctx, w = ctx.measureText(s).width, ink = ctx.fillStyle, left = ctx.textAlign === 'right' ? x - w : x;
    const free = at => this.taken.every(o => o.left > left + w + 8 || o.right < left - 8 || Math.abs(o.y - at) >= 15);
    const at = [0, 15, 30, 45].map(step => y + step).find(free);
    if (at === undefined) return;
    this.taken.push({ left, right: left + w, y: at });
    ctx.fillStyle = cssColour('--page') + 'e8'; ctx.fillRect(left - 2, at - 1, w + 4, 14);
    ctx.fillStyle = ink; ctx.fillText(s, x, at);
  }
  paintSelection() {
    const s = this.brush || this.app.selection;
    if (!s) return;
    const x0 = Math.max(LEFT, this.x(s.from)), x1 = Math.min(LEFT + this.w, this.x(s.to));
    if (x1 < x0) return;
    this.ctx.fillStyle = cssColour('--accent') + '2e'; this.ctx.fillRect(x0, TOP, x1 - x0, this.h);
    this.ctx.fillStyle = cssColour('--accent'); this.ctx.fillRect(x0, TOP, 1, this.h); this.ctx.fillRect(x1 - 1, TOP, 1, this.h);
  }
  paintOverview() {
    const { ctx, w, h, ratio } = prepare(this.overview), file = this.file, all = Math.max(1, file.to - file.from), width = Math.max(10, w - LEFT - 8);
    ctx.drawImage(this.overviewImage(w, h, width, ratio), 0, 0, w, h);
    const x0 = LEFT + (this.from - file.from) / all * width, x1 = LEFT + (this.to - file.from) / all * width;
    ctx.fillStyle = cssColour('--accent') + '22'; ctx.fillRect(x0, 0, Math.max(2, x1 - x0), h);
    ctx.strokeStyle = cssColour('--accent'); ctx.strokeRect(x0 + .5, .5, Math.max(1, x1 - x0 - 1), h - 1);
  }
  // All of the recording, small; drawn once, because it stays while one moves in it.
  overviewImage(w, h, width, ratio) {
    const file = this.file, key = [w, h, ratio, document.documentElement.dataset.theme].join(), kept = this.overviewKept;
    if (kept && kept.key === key && kept.bands === this.bands) return kept.image;
    const cols = this.bands.columns(file.from, Math.max(file.to, file.from + 1), Math.min(800, Math.round(width)));
    const image = el('canvas', { width: Math.round(w * ratio), height: Math.round(h * ratio) }), ctx = image.getContext('2d');
    ctx.scale(ratio, ratio);
    ctx.fillStyle = cssColour('--page'); ctx.fillRect(0, 0, w, h);
    ctx.fillStyle = cssColour('--line');
    const max = cols.high.reduce((a, b) => Math.max(a, b), 1);
    for (let c = 0; c < cols.n; c++) { const y = cols.high[c] / max * (h - 4); ctx.fillRect(LEFT + c / cols.n * width, h - y, width / cols.n + 1, y); }
    this.overviewKept = { key, bands: this.bands, image };
    return image;
  }
  legend() {
    if (!this.bands) return;
    const ctx = this.canvas.getContext('2d'), room = byId('legend').clientWidth - 44;
    ctx.font = FONT;
    const entry = (i, b) => {
      const button = el('button', { type: 'button', title: b.name }, el('i'), el('b', { textContent: elideName(ctx, b.name, room) }), el('small', { textContent: `${bytesText(b.atPeak)} ${atPeak(this.file)}` }));
      button.dataset.band = i;
      button.firstChild.style.background = this.mode === 'places' ? this.placeColour(i) : this.bands.colour(i);
      const light = band => () => { this.lit = band; this.draw(); };
      button.onmouseenter = button.onfocus = light(i);
      button.onmouseleave = button.onblur = light(-1);
      button.onclick = () => this.app.device && this.app.details(this.bandFacts(i, this.app.instant));
      return el('li', {}, button);
    };
    const entries = this.bands.list.map((b, i) => entry(i, b)).reverse();
    if (this.mode === 'bands' && this.device.reservedTime.length) entries.unshift(el('li', {}, el('span', { className: 'line' }, el('i'), el('b', { textContent: 'reserved from the device' }))));
    byId('legend').replaceChildren(...entries);
  }
  describe() {
    const w = this.device.extent(this.from, this.to);
    this.canvas.setAttribute('aria-label', `Memory of GPU ${this.device.number} from ${timeText(this.from, this.file)} to ${timeText(this.to, this.file)}: ` +
      `${bytesText(w.start)} at the beginning, peak ${bytesText(w.peak)}, ${bytesText(w.end)} at the end. The tables below have the same facts.`);
  }

  // --- what is under the pointer ---------------------------------------------------------------

  bandFacts(i, event) {
    const b = this.bands.list[i], d = this.device, facts = [];
    if (event !== null && event !== undefined) {
      let n = 0, sum = 0, largest = 0;
      d.eachLive(event, k => { if (this.bands.of[k] === i) { n++; sum += d.size[k]; largest = Math.max(largest, d.size[k]); } });
      facts.push(['at', timeText(d.timeOf(event), this.file)], ['live then', `${bytesText(sum)} in ${plural(n, 'block')}`]);
      if (n > 1) facts.push(['largest block', bytesText(largest)]);
    }
    facts.push([atPeak(this.file), bytesText(b.atPeak)]);
    return { title: b.name, facts, stack: this.bands.by === 'stack' && !b.rest ? b.key : null };
  }
  blockFacts(b) {
    const d = this.device, t0 = d.begin[b] < d.initial ? null : d.time[d.begin[b]], t1 = d.end[b] < d.n ? d.time[d.end[b]] : null;
    return { title: stackName(this.file, d.stack[b]), stack: d.stack[b], block: b, facts: [
      ['size', `${bytesText(d.size[b])} (${exactBytes(d.size[b])})`],
      ['address', d.address(d.placeOf(b))],
      ['allocated', t0 === null ? 'before the recording' : timeText(t0, this.file)],
      ['freed', t1 === null ? 'never' : timeText(t1, this.file)],
      ...(t0 !== null && t1 !== null && this.file.hasTime ? [['lived', timeText(t1 - t0, this.file)]] : []),
      ['stream', this.file.streams[d.stream[b]]]] };
  }
  under(x, y) {
    if (x < LEFT || x > LEFT + this.w || y < TOP || y > TOP + this.h) return null;
    return this.mode === 'bands' ? this.bandUnder(x, y) : this.blockUnder(x, y);
  }
  bandUnder(x, y) {
    const c = this.columns, col = Math.min(c.n - 1, Math.max(0, Math.floor((x - LEFT) / this.w * c.n))), v = (TOP + this.h - y) / this.h * this.max;
    let sum = 0;
    for (let i = 0; i < c.m; i++) {
      const own = c.value[col * c.m + i];
      sum += own;
      if (v <= sum) return { kind: 'band', band: i, event: c.at[col], bytes: own, total: c.high[col], t: this.timeIn(col) };
    }
    return { kind: 'none', event: c.at[col], total: c.high[col], t: this.timeIn(col) };
  }
  // When a column's highest state began, or the column's beginning if that was earlier.
  timeIn(col) { const c = this.columns; return Math.max(c.from + (c.to - c.from) * col / c.n, c.at[col] >= 0 ? this.device.timeOf(c.at[col]) : c.from); }
  blockUnder(x, y) {
    const d = this.device, t = this.t(x), slack = (this.to - this.from) / this.w, a = this.low + (TOP + this.h - y) / this.h * (this.high - this.low), e = d.eventAt(t, true) - 1;
    let found = -1;
    for (let b = 0; b < d.begin.length && (d.begin[b] <= e || d.time[d.begin[b]] <= t + slack); b++) {
      const p = d.placeOf(b) - 1;
      if (p < 0 || a < p || a >= p + d.blockSize(b)) continue;
      const t1 = d.end[b] < d.n ? d.time[d.end[b]] : Infinity;
      if (t1 >= t - slack) found = b;
      if (found === b && t1 > t && d.begin[b] <= e) break;
    }
    return found < 0 ? { kind: 'none', event: e } : { kind: 'block', block: found, event: e };
  }
  tipFor(u) {
    const at = timeText(u.t ?? this.device.timeOf(Math.max(0, u.event)), this.file);
    if (u.kind === 'block') { const f = this.blockFacts(u.block); return [f.title, ...f.facts.slice(0, 5).map(p => p.join(': '))]; }
    if (u.kind === 'band') return [this.bands.list[u.band].name, `${bytesText(u.bytes)} of ${bytesText(u.total)} live at ${at}`];
    return [u.total === undefined ? 'no block here' : `${bytesText(u.total)} live`, `at ${at}`];
  }

  // --- moving ----------------------------------------------------------------------------------

  zoom(factor, t) {
    const file = this.file, all = Math.max(1, file.to - file.from), least = file.hasTime ? 100 : 4;
    const span = Math.min(all, Math.max(least, (this.to - this.from) * factor)), share = (t - this.from) / (this.to - this.from);
    this.setRange(t - span * share, t - span * share + span);
  }
  setRange(from, to) {
    const file = this.file, span = to - from, end = Math.max(file.to, file.from + 1);
    if (from < file.from) { from = file.from; to = from + span; }
    if (to > end) { to = end; from = Math.max(file.from, to - span); }
    this.from = from; this.to = Math.min(to, end);
    this.draw();
  }
  pan(share) { const s = (this.to - this.from) * share; this.setRange(this.from + s, this.to + s); }
  zoomPlaces(factor, a) {
    const span = Math.min(this.device.space, Math.max(4096, (this.high - this.low) * factor)), share = (a - this.low) / (this.high - this.low);
    this.low = Math.max(0, Math.min(this.device.space - span, a - span * share)); this.high = this.low + span;
    this.draw();
  }
  all() { this.low = 0; this.high = Math.max(1, this.device.space); this.setRange(this.file.from, Math.max(this.file.to, this.file.from + 1)); }

  listen() {
    const c = this.canvas;
    let down = null;
    c.addEventListener('wheel', e => {
      e.preventDefault();
      if (!this.app.device) return;
      const f = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004);
      if (e.shiftKey && this.mode === 'places') this.zoomPlaces(Math.exp((e.deltaY || e.deltaX) * 0.004), this.low + (TOP + this.h - e.offsetY) / this.h * (this.high - this.low));
      else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan(e.deltaX / this.w);
      else this.zoom(f, this.t(Math.max(LEFT, Math.min(LEFT + this.w, e.offsetX))));
    }, { passive: false });
    c.addEventListener('pointerdown', e => { if (!this.app.device) return; c.setPointerCapture(e.pointerId); down = { x: e.offsetX, t: this.t(e.offsetX), from: this.from, to: this.to, pan: e.shiftKey || e.button === 1, moved: false }; hideTip(); });
    c.addEventListener('pointermove', e => {
      if (!down) { this.point(e); return; }
      if (Math.abs(e.offsetX - down.x) > 3) down.moved = true;
      if (!down.moved) return;
      if (down.pan) { const dt = (down.x - e.offsetX) / this.w * (down.to - down.from); this.setRange(down.from + dt, down.to + dt); }
      else { const t = this.t(Math.max(LEFT, Math.min(LEFT + this.w, e.offsetX))), u = Math.max(this.from, down.t); this.brush = { from: Math.min(t, u), to: Math.max(t, u) }; this.draw(); }
    });
    c.addEventListener('pointerup', e => {
      const d = down;
      down = null;
      if (d && d.moved && this.brush) { const b = this.brush; this.brush = null; this.app.select(b); }
      else if (d && !d.moved) this.pick(e.offsetX, e.offsetY);
    });
    c.addEventListener('pointercancel', () => { down = this.brush = null; this.draw(); }); // a finger that scrolls the page
    c.addEventListener('pointerleave', () => { hideTip(); if (this.lit >= 0) { this.lit = -1; this.draw(); } });
    c.addEventListener('dblclick', () => this.all());
    c.addEventListener('keydown', e => this.key(e));
    this.listenOverview();
  }
  listenOverview() {
    const o = this.overview;
    let on = false;
    const move = e => {
      const width = Math.max(10, o.clientWidth - LEFT - 8), all = this.file.to - this.file.from, t = this.file.from + (e.offsetX - LEFT) / width * all, span = this.to - this.from;
      this.setRange(t - span / 2, t + span / 2);
    };
    o.addEventListener('pointerdown', e => { on = !!this.app.device; o.setPointerCapture(e.pointerId); move(e); });
    o.addEventListener('pointermove', e => { if (on) move(e); });
    for (const end of ['pointerup', 'pointercancel']) o.addEventListener(end, () => { on = false; });
  }
  point(e) {
    const u = this.under(e.offsetX, e.offsetY);
    if (!u) { hideTip(); return; }
    showTip(e, this.tipFor(u));
    if (u.kind === 'band' && this.lit !== u.band && e.buttons === 0) this.light(u.band);
    else if (u.kind === 'none') this.light(-1);
  }
  light(i) {
    document.querySelectorAll('#legend button').forEach(b => b.classList.toggle('on', +b.dataset.band === i));
  }
  pick(x, y) {
    const u = this.under(x, y);
    if (!u) return;
    this.app.pickInstant(u.event);
    if (u.kind === 'block') this.app.details(this.blockFacts(u.block));
    else if (u.kind === 'band') this.app.details(this.bandFacts(u.band, u.event));
  }
  // The picked instant, or the edge of what is shown, becomes the selection's beginning or end.
  selectAt(edge) {
    const { instant, selection } = this.app, s = { from: this.file.from, to: Math.max(this.file.to, this.file.from + 1), ...selection };
    s[edge] = instant === null ? this[edge] : this.device.timeOf(instant);
    if (s.to <= s.from) s[edge === 'from' ? 'to' : 'from'] = edge === 'from' ? this.file.to : this.file.from;
    this.app.select(s);
  }
  key(e) {
    if (!this.app.device) return;
    const mid = (this.from + this.to) / 2, d = this.device;
    const step = k => this.app.pickInstant(Math.max(d.initial, Math.min(d.n - 1, (this.app.instant ?? d.eventAt(mid)) + k)), true);
    const keys = { ArrowLeft: () => this.pan(-.1), ArrowRight: () => this.pan(.1), '+': () => this.zoom(.7, mid), '=': () => this.zoom(.7, mid), '-': () => this.zoom(1 / .7, mid),
      0: () => this.all(), '.': () => step(1), ',': () => step(-1), z: () => this.app.zoomToSelection(), '[': () => this.selectAt('from'), ']': () => this.selectAt('to'), Escape: () => this.app.select(null) };
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  }
}

function showTip(e, lines) {
  const tip = byId('tip');
  tip.replaceChildren(el('b', { textContent: lines[0] }), ...lines.slice(1).flatMap(s => [document.createTextNode(s), el('br')]));
  tip.hidden = false;
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(innerWidth - r.width - 8, e.clientX + 14)) + 'px';
  tip.style.top = Math.max(4, e.clientY + 18 + r.height > innerHeight ? e.clientY - r.height - 10 : e.clientY + 18) + 'px';
}
function hideTip() { byId('tip').hidden = true; }
