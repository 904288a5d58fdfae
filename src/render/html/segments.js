// segments.js: all segments and the blocks in them at one instant, the largest first, on lines like words.

const BAR = 22, LINE = 40;

class Segments {
  constructor(app) {
    this.app = app;
    this.canvas = byId('segments');
    this.slider = byId('instant');
    this.hits = []; // what is drawn where: blocks and holes
    this.focus = -1; // the hit that arrow keys reached
    this.slider.oninput = () => {
      app.pickInstant(Math.min(app.device.n - 1, +this.slider.value), true);
    };
    this.canvas.addEventListener('pointermove', e => {
      const h = this.under(e);
      if (!h) { hideTip(); return; }
      if (h.block !== undefined) { const f = app.timeline.blockFacts(h.block); showTip(e, [f.title, ...f.facts.slice(0, 4).map(p => p.join(': '))]); }
      else showTip(e, [`free: ${bytesText(h.free)}`, app.device.address(h.place)]);
    });
    this.canvas.addEventListener('pointerleave', hideTip);
    this.canvas.addEventListener('click', e => { const h = this.under(e); if (h) { this.focus = this.hits.indexOf(h); this.tell(h); } });
    this.canvas.addEventListener('keydown', e => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!step || !this.hits.length) return;
      e.preventDefault();
      this.focus = Math.max(0, Math.min(this.hits.length - 1, this.focus + step));
      this.tell(this.hits[this.focus]);
    });
    for (const change of ['focus', 'blur']) this.canvas.addEventListener(change, () => this.draw());
  }
  tell(h) {
    const a = this.app;
    a.details(h.block !== undefined ? a.timeline.blockFacts(h.block) : { title: 'free', facts: [['size', `${bytesText(h.free)} (${exactBytes(h.free)})`], ['address', a.device.address(h.place)]] });
    this.draw();
  }
  // Held ranges at time t, neighbours that touch being one if both were mapped; else every block is its own.
  segmentsAt(event) {
    const d = this.app.device, t = d.timeOf(event), held = d.held, list = [], blocks = [];
    d.eachLive(event, b => { const place = d.placeOf(b); if (place) blocks.push({ block: b, place: place - 1, size: d.blockSize(b) }); });
    blocks.sort((a, b) => a.place - b.place);
    for (let i = 0; i < held.begin.length; i++)
      if (held.place[i] && held.begin[i] <= t && (held.end[i] < 0 || held.end[i] > t)) list.push({ place: held.place[i] - 1, size: held.size[i], blocks: [] });
    if (!held.begin.length) for (const b of blocks) list.push({ place: b.place, size: b.size, blocks: [] });
    list.sort((a, b) => a.place - b.place);
    let s = 0;
    for (const b of blocks) {
      while (s < list.length && list[s].place + list[s].size <= b.place) s++;
      if (s < list.length && list[s].place <= b.place) list[s].blocks.push(b);
    }
    return list;
  }
  draw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.paint(); });
  }
  paint() {
    const a = this.app, d = a.device;
    if (!d || this.canvas.offsetParent === null) return;
    const event = a.instant ?? a.window.peakEvent, list = this.segmentsAt(event), width = this.canvas.clientWidth;
    const held = list.reduce((s, g) => s + g.size, 0), used = list.reduce((s, g) => s + g.blocks.reduce((t, b) => t + b.size, 0), 0);
    list.sort((x, y) => y.size - x.size || x.place - y.place);
    let per = held / 12 + 1, lines = this.layout(list, width, per);
    for (let i = 0; i < 20 && lines.length > 13; i++) lines = this.layout(list, width, per *= 1.08);
    const { ctx, w, h } = prepare(this.canvas, Math.max(60, lines.length * LINE + 4));
    ctx.fillStyle = cssColour('--page'); ctx.fillRect(0, 0, w, h);
    ctx.textBaseline = 'middle'; ctx.textAlign = 'left'; ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
    this.hits = [];
    this.most = 0;
    lines.forEach((pieces, row) => { for (const p of pieces) this.paintPiece(ctx, p, row * LINE, per / width); });
    const own = document.activeElement === this.canvas && this.hits[this.focus];
    if (own) { ctx.strokeStyle = cssColour('--ink'); ctx.lineWidth = 2; ctx.strokeRect(own.x + 1, own.y - 1, Math.max(1, own.w - 2), BAR + 2); }
    if (!list.length) { ctx.fillStyle = cssColour('--soft'); ctx.fillText('Nothing is held at this instant.', 8, 30); }
    byId('instant-text').textContent = timeText(d.timeOf(event), a.file);
    this.slider.min = Math.min(d.initial, event); this.slider.max = Math.max(d.n - 1, 0); // by events: they may all lie close together
    if (document.activeElement !== this.slider) this.slider.value = event;
    byId('segments-hint').textContent = `${bytesText(held)} held in ${plural(list.length, 'segment')}, ${bytesText(used)} used` +
      (held > used ? `; free ${bytesText(held - used)}, the largest hole ${bytesText(this.most)}.` : '.') + ' Free memory has no colour. Keys: ← → go from block to block.';
  }
  // Pieces on lines: a segment that does not fit begins a new line, one longer than a line goes on.
  layout(list, width, per) {
    const lines = [[]], px = v => v / per * width;
    let x = 0;
    for (const g of list) {
      if (x && x + Math.max(1, px(g.size)) > width) { lines.push([]); x = 0; }
      for (let from = 0; from < g.size;) {
        const part = Math.min(g.size - from, per);
        lines[lines.length - 1].push({ segment: g, from, to: from + part, x, w: Math.max(1, px(part)) });
        from += part; x += Math.max(1, px(part)) + 2;
        if (from < g.size) { lines.push([]); x = 0; }
      }
    }
    return lines;
  }
  paintPiece(ctx, p, y, bytesPerPixel) {
    const g = p.segment, top = y + 14, a = this.app, bands = a.timeline.bands;
    ctx.fillStyle = theme().empty; ctx.fillRect(p.x, top, p.w, BAR);
    if (!p.from && p.w > 120) { ctx.fillStyle = cssColour('--soft'); ctx.fillText(elide(ctx, `${a.device.address(g.place + 1)} · ${bytesText(g.size)}`, p.w - 8), p.x, y + 7); }
    let at = p.from;
    const hole = (from, to) => {
      const x = p.x + (from - p.from) / bytesPerPixel, w = (to - from) / bytesPerPixel;
      if (to <= from) return;
      this.most = Math.max(this.most, to - from);
      this.hits.push({ x, w, y: top, free: to - from, place: g.place + from + 1 });
      if (w > 60) { ctx.fillStyle = cssColour('--soft'); const s = `free ${bytesText(to - from)}`; if (ctx.measureText(s).width <= w - 6) ctx.fillText(s, x + 3, top + BAR / 2); }
    };
    for (const b of g.blocks) {
      const b0 = Math.max(p.from, b.place - g.place), b1 = Math.min(p.to, b.place - g.place + b.size);
      if (b1 <= b0) continue;
      hole(at, b0);
      const x = p.x + (b0 - p.from) / bytesPerPixel, w = Math.max(1, (b1 - b0) / bytesPerPixel), band = bands.of[b.block];
      const colour = bands.list[band].rest ? mixHex(theme().rest, cssColour('--ink'), .15) : bands.colour(band);
      ctx.fillStyle = colour; ctx.fillRect(x, top, w > 3 ? w - 1 : w, BAR);
      this.hits.push({ x, w, y: top, block: b.block });
      if (w > 40) { ctx.fillStyle = inkOn(colour); ctx.fillText(this.label(ctx, b, w - 8), x + 4, top + BAR / 2); }
      at = b1;
    }
    hole(at, p.to);
  }
  // As much of a block's origin and size as fits.
  label(ctx, b, room) {
    const name = stackName(this.app.file, this.app.device.stack[b.block]), inner = name.split(' ← ')[0], size = bytesText(b.size);
    return [`${name} · ${size}`, `${inner} · ${size}`, inner, size].find(s => ctx.measureText(s).width <= room) || elide(ctx, inner, room);
  }
  under(e) {
    for (let i = this.hits.length - 1; i >= 0; i--) {
      const h = this.hits[i];
      if (e.offsetX >= h.x && e.offsetX < h.x + h.w && e.offsetY >= h.y && e.offsetY < h.y + BAR) return h;
    }
    return null;
  }
}
