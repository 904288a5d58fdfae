// flame.js: stacks with values as a zoomable icicle; nodes are divided only when they are wide enough to see.

const ROW = 20;
const ROWS = 400, CALLERS = 20; // at most below what is zoomed, and above

class FlameNode {
  constructor(frame, parent, entries, total) {
    this.frame = frame; this.parent = parent; this.entries = entries; this.total = total;
    this.depth = parent ? parent.depth + 1 : 0;
  }
  // Children, largest first; what ends here has none.
  children(flame) {
    if (this.kids) return this.kids;
    const groups = new Map();
    for (const e of this.entries) {
      const frame = e.path.length > this.depth ? e.path[this.depth] : this.depth === 0 && !e.path.length ? -1 : null;
      if (frame === null) continue;
      let g = groups.get(frame);
      if (!g) groups.set(frame, g = { entries: [], total: 0 });
      g.entries.push(e); g.total += e.value;
    }
    this.kids = [...groups].map(([frame, g]) => new FlameNode(frame, this, g.entries, g.total)).sort((a, b) => b.total - a.total || a.frame - b.frame);
    return this.kids;
  }
}

class Flame {
  constructor(app) {
    this.app = app;
    this.canvas = byId('flame');
    this.boxes = [];
    for (const id of ['flame-what', 'flame-by', 'flame-plumbing', 'flame-reverse']) byId(id).onchange = () => this.rebuild();
    byId('search').oninput = () => this.draw();
    byId('flame-reset').onclick = () => this.zoomTo(null);
    this.canvas.addEventListener('pointermove', e => this.point(e));
    this.canvas.addEventListener('pointerleave', hideTip);
    this.canvas.addEventListener('click', e => { const b = this.under(e); if (b) this.open(b.node); });
    this.canvas.addEventListener('keydown', e => this.key(e));
    for (const change of ['focus', 'blur']) this.canvas.addEventListener(change, () => this.draw());
  }
  // Values by stack: live at an event, or allocated in the window.
  values() {
    const a = this.app, d = a.device, w = a.window, what = byId('flame-what').value, blocks = byId('flame-by').value === 'count', sum = new Map();
    const add = b => sum.set(d.stack[b], (sum.get(d.stack[b]) || 0) + (blocks ? 1 : d.size[b]));
    if (what === 'allocated') {
      for (let i = w.first; i < w.last; i++) if (d.block[i] >= 0) add(d.block[i]);
    } else {
      const event = what === 'peak' ? w.peakEvent : what === 'end' ? w.last - 1 : a.instant ?? w.peakEvent;
      d.eachLive(event, add);
      this.event = event;
    }
    return sum;
  }
  rebuild() {
    if (!this.app.device) return;
    const file = this.app.file, all = byId('flame-plumbing').checked, reverse = byId('flame-reverse').checked, entries = [];
    let total = 0;
    for (const [stack, value] of this.values()) {
      let path = Array.from(file.stackFrames(stack));
      const telling = all ? path : path.filter(f => worthOf(file, f));
      path = telling.length ? telling : path.slice(-1);
      if (reverse) path.reverse();
      entries.push({ stack, value, path });
      total += value;
    }
    this.root = new FlameNode(-2, null, entries, total);
    this.zoomed = this.focus = null;
    this.draw();
  }
  name(node) {
    if (node.frame === -2) return byId('flame-by').value === 'count' ? 'all blocks' : 'all memory';
    return node.frame < 0 ? '[no stack recorded]' : functionOf(this.app.file, node.frame);
  }
  amount(v) { return byId('flame-by').value === 'count' ? plural(v, 'block') : bytesText(v); }
  colour(node) {
    if (node.frame === -2) return cssColour('--faint');
    if (node.frame < 0) return theme().unknown;
    return theme().code[codeOf(this.app.file, node.frame) * 4 + shadeOf(this.app.file, node.frame)];
  }
  matches(node) {
    const s = this.query;
    if (!s || node.frame < 0) return false;
    this.hit ||= new Map();
    let m = this.hit.get(node.frame);
    if (m === undefined) {
      const file = this.app.file;
      m = functionOf(file, node.frame).toLowerCase().includes(s) || whereOf(file, node.frame).toLowerCase().includes(s);
      this.hit.set(node.frame, m);
    }
    return m;
  }
  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.paint(); });
  }
  paint() {
    if (!this.app.device || !this.root || this.canvas.offsetParent === null) return;
    const query = byId('search').value.trim().toLowerCase();
    if (query !== this.query) { this.query = query; this.hit = null; }
    const top = this.zoomed || this.root, path = [], width = this.canvas.clientWidth;
    for (let n = top; n; n = n.parent) path.unshift(n);
    const boxes = [], callers = path.length > CALLERS ? [this.root, ...path.slice(-CALLERS, -1)] : path.slice(0, -1);
    callers.forEach((node, row) => boxes.push({ node, x: 0, w: width, row, outer: true }));
    const rows = this.place(boxes, { node: top, x: 0, w: width, row: callers.length });
    this.boxes = boxes;
    const { ctx, w, h } = prepare(this.canvas, Math.max(2, rows) * ROW + 2);
    ctx.fillStyle = cssColour('--page'); ctx.fillRect(0, 0, w, h);
    ctx.textBaseline = 'middle'; ctx.textAlign = 'left';
    for (const b of boxes) this.paintBox(ctx, b);
    const own = document.activeElement === this.canvas && this.boxOf(this.focus);
    if (own) { ctx.strokeStyle = cssColour('--ink'); ctx.lineWidth = 2; ctx.strokeRect(own.x + 1, own.row * ROW + 1, Math.max(1, own.w - 3), ROW - 3); }
    this.paintResult();
    byId('flame-reset').hidden = !this.zoomed;
    byId('flame-hint').textContent = this.hint();
  }
  // Boxes of what fits, and their rows; a stack may be too deep for calls that follow it down.
  place(boxes, first) {
    const most = first.row + ROWS;
    let rows = first.row + 1;
    this.capped = false;
    const todo = first.node.total ? [first] : [];
    for (const box of todo) { // which grows meanwhile
      const { node, w, row } = box, kids = row + 1 < most ? node.children(this) : [];
      boxes.push(box);
      this.capped ||= row + 1 === most && node.children(this).length > 0;
      rows = Math.max(rows, row + 1);
      for (let i = 0, at = box.x; i < kids.length; i++) {
        const kw = kids[i].total / node.total * w;
        if (kw < 1) {
          const rest = kids.slice(i), sum = rest.reduce((s, k) => s + k.total, 0), width = sum / node.total * w;
          if (width >= 1) { boxes.push({ smaller: rest.length, total: sum, x: at, w: width, row: row + 1 }); rows = Math.max(rows, row + 2); }
          break;
        }
        todo.push({ node: kids[i], x: at, w: kw, row: row + 1 });
        at += kw;
      }
    }
    return rows;
  }
  paintBox(ctx, b) {
    const y = b.row * ROW, w = b.w > 3 ? b.w - 1 : b.w, hit = b.node && this.matches(b.node);
    let fill = b.smaller ? theme().merged : this.colour(b.node);
    if (this.query && !hit) fill = mixHex(fill.length === 7 ? fill : '#888888', cssColour('--page'), .55);
    ctx.globalAlpha = b.outer ? .6 : 1;
    ctx.fillStyle = fill; ctx.fillRect(b.x, y, w, ROW - 1);
    if (hit) { ctx.fillStyle = cssColour('--bad'); ctx.fillRect(b.x, y + ROW - 4, w, 3); }
    if (w > 24) {
      const ink = inkOn(fill), room = w - 8;
      ctx.fillStyle = ink;
      const name = b.smaller ? `${count(b.smaller)} smaller` : this.name(b.node), text = elide(ctx, name, room);
      ctx.fillText(text, b.x + 4, y + ROW / 2);
      if (text === name && b.node) this.paintRest(ctx, b, b.x + 4 + ctx.measureText(name).width, room - ctx.measureText(name).width, y, ink);
    }
    ctx.globalAlpha = 1;
  }
  paintRest(ctx, b, x, room, y, ink) {
    const file = this.app.file, node = b.node, share = `${(100 * node.total / this.root.total).toFixed(1)} %`;
    const where = node.frame >= 0 ? whereOf(file, node.frame).split(/[/\\]/).pop() : '';
    const choices = [[where, `${this.amount(node.total)} · ${share}`], [where, share], [`${this.amount(node.total)} · ${share}`], [where], [share]];
    ctx.globalAlpha *= .72; ctx.fillStyle = ink;
    for (const c of choices) { const s = '  ' + c.filter(Boolean).join('  '); if (ctx.measureText(s).width <= room) { ctx.fillText(s, x, y + ROW / 2); break; } }
  }
  // How much of the whole passes through a frame that matches, each byte once.
  paintResult() {
    const out = byId('search-result');
    if (!this.query) { out.textContent = ''; return; }
    const file = this.app.file;
    let sum = 0, frames = new Set();
    for (const e of this.root.entries) {
      let any = false;
      for (const f of e.path) if (this.matches({ frame: f })) { any = true; frames.add(functionOf(file, f)); }
      if (any) sum += e.value;
    }
    out.textContent = frames.size ? `${plural(frames.size, 'function')}, ${this.amount(sum)} (${(100 * sum / (this.root.total || 1)).toFixed(1)} %)` : 'nothing found';
  }
  hint() {
    const what = byId('flame-what').value, a = this.app, when = what === 'allocated' ? `allocated ${a.selection ? 'in the selected time' : 'in all'}` :
      a.file.still ? 'live when the snapshot was taken' : `live at ${timeText(a.device.timeOf(Math.max(0, this.event)), a.file)}`;
    return `${this.amount(this.root.total)} ${when}. ${this.capped ? `Only ${ROWS} rows are shown: a click on one of the last shows what is below. ` : ''}${byId('flame-reverse').checked ? 'Callers are below' : 'Callers are above'} what they called; click a box to zoom, Esc shows all. Keys: arrows move, Enter zooms. ` +
      `Colours: orange ${CODE_NAMES[0]}, yellow ${CODE_NAMES[1]}, blue ${CODE_NAMES[2]}, green ${CODE_NAMES[3]}, grey ${CODE_NAMES[4]}.`;
  }
  under(e) {
    const row = Math.floor(e.offsetY / ROW);
    return this.boxes.find(b => b.row === row && e.offsetX >= b.x && e.offsetX < b.x + b.w);
  }
  point(e) {
    const b = this.under(e);
    if (!b) { hideTip(); return; }
    const share = v => `${this.amount(v)} · ${(100 * v / this.root.total).toFixed(2)} %`;
    if (b.smaller) { showTip(e, [`${count(b.smaller)} smaller functions`, share(b.total)]); return; }
    const n = b.node, lines = [this.name(n)];
    if (n.frame >= 0) lines.push(whereOf(this.app.file, n.frame), CODE_NAMES[codeOf(this.app.file, n.frame)]);
    showTip(e, [...lines.filter(Boolean), share(n.total), plural(n.entries.length, 'stack')]);
  }
  boxOf(node) { return node && this.boxes.find(b => b.node === node); }
  // Arrows go from box to box, Enter zooms.
  key(e) {
    const b = this.boxOf(this.focus) || this.boxes[0], beside = step => {
      const row = this.boxes.filter(o => o.node && o.row === b.row).sort((x, y) => x.x - y.x);
      return row[row.indexOf(b) + step];
    };
    if (!b || e.ctrlKey || e.metaKey || e.altKey) return;
    const to = { ArrowDown: () => this.boxes.find(o => o.node && o.node.parent === b.node), ArrowUp: () => this.boxOf(b.node.parent), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) }[e.key];
    if (to) { const next = to() || b; this.focus = next.node; this.tell(next.node); this.draw(); }
    else if (e.key === 'Enter') this.open(b.node);
    else if (e.key === 'Escape') this.zoomTo(null);
    else if (e.key === 'Backspace' && this.zoomed) this.zoomTo(this.zoomed.parent && this.zoomed.parent.parent ? this.zoomed.parent : null);
    else return;
    e.preventDefault();
  }
  open(node) {
    if (!node) return;
    this.zoomTo(node === this.root || node === this.zoomed ? null : node);
    this.focus = node;
    this.tell(node);
  }
  tell(node) {
    const stack = node.entries.length === 1 ? node.entries[0].stack : null;
    this.app.details({ title: this.name(node), stack, facts: [['total', this.amount(node.total)], ['share', `${(100 * node.total / this.root.total).toFixed(2)} %`], ['stacks', count(node.entries.length)],
      ...(node.frame >= 0 ? [['where', whereOf(this.app.file, node.frame) || '—']] : [])] });
  }
  zoomTo(node) { this.zoomed = node; this.draw(); }
}
