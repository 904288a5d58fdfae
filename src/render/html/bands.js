// bands.js: live bytes by origin, for any window in any number of columns.

const BANDS = 12;

const GROUPS = {
  stack: { label: 'stacks', key: (d, b) => d.stack[b], name: (d, k) => stackName(d.file, k), colour: (d, k) => stackColour(d.file, k) },
  function: { label: 'functions', key: (d, b) => d.functionKey(d.stack[b]), name: (d, k) => k < 0 ? 'no stack recorded' : d.file.labels[k] },
  stream: { label: 'streams', key: (d, b) => d.stream[b], name: (d, k) => d.file.streams[k], colour: (d, k) => DATA.categories[k % 36] },
  thread: { label: 'threads', key: (d, b) => d.thread[b], name: (d, k) => d.file.threads[k], colour: (d, k) => DATA.categories[k % 36] },
  pool: { label: 'pools', key: (d, b) => d.pool[b], name: (d, k) => d.file.pools[k], colour: (d, k) => DATA.categories[k % 36] },
  size: { label: 'sizes', key: (d, b) => d.size[b] > 0 ? Math.floor(Math.log2(d.size[b])) : 0,
    name: (d, k) => `${bytesTick(k ? 2 ** k : 0)} to ${bytesTick(2 ** (k + 1))}`, colour: (d, k) => DATA.categories[k % 36] },
};

Device.prototype.functionKey = function (stack) {
  this.functionKeys ||= new Map();
  let k = this.functionKeys.get(stack);
  if (k === undefined) this.functionKeys.set(stack, k = tellingFrames(this.file, stack)[0]);
  return k;
};

// The bands of a device by one property: a band per block, and checkpoints of all bands every CHUNK events.
class Bands {
  constructor(device, by) {
    this.device = device;
    this.by = by;
    const g = GROUPS[by], d = device, n = d.size.length, weight = []; // by key + 1: a key may be -1
    const peak = d.extremes(0, d.n).at, end = d.file.to;
    for (let b = 0; b < n; b++) {
      const k = g.key(d, b), w = weight[k + 1] ||= { key: k, peak: 0, area: 0 };
      const t0 = d.timeOf(d.begin[b]), t1 = d.end[b] < d.n ? d.time[d.end[b]] : end;
      w.area += d.size[b] * Math.max(0, t1 - t0);
      if (d.begin[b] <= peak && d.end[b] > peak) w.peak += d.size[b];
    }
    const all = weight.filter(Boolean), peaks = all.reduce((s, w) => s + w.peak, 0) || 1, areas = all.reduce((s, w) => s + w.area, 0) || 1;
    all.sort((a, b) => (b.peak / peaks + b.area / areas) - (a.peak / peaks + a.area / areas));
    const chosen = all.slice(0, BANDS).sort((a, b) => b.area - a.area);
    this.list = chosen.map((w, i) => ({ key: w.key, atPeak: w.peak, name: g.name(d, w.key), colour: g.colour ? g.colour(d, w.key) : DATA.categories[i] }));
    if (all.length > BANDS)
      this.list.push({ key: null, atPeak: all.slice(BANDS).reduce((s, w) => s + w.peak, 0), name: `everything else (${count(all.length - BANDS)})`, rest: true });
    const place = new Uint8Array(weight.length).fill(chosen.length);
    chosen.forEach((w, i) => { place[w.key + 1] = i; });
    this.of = new Uint8Array(n);
    for (let b = 0; b < n; b++) this.of[b] = place[g.key(d, b) + 1];
    this.check();
  }
  check() {
    const d = this.device, m = this.list.length, now = new Float64Array(m);
    this.point = new Float64Array(Math.ceil(d.n / CHUNK) * m + m);
    for (let i = 0; i < d.n; i++) {
      if (i % CHUNK === 0) this.point.set(now, i / CHUNK * m);
      const b = d.block[i];
      if (b >= 0) now[this.of[b]] += d.size[b]; else now[this.of[~b]] -= d.size[~b];
    }
  }
  // All bands after event i, into out.
  at(i, out) {
    const d = this.device, m = this.list.length, c = Math.max(0, i) / CHUNK | 0;
    out.set(this.point.subarray(c * m, c * m + m));
    for (let k = c * CHUNK; k <= i; k++) {
      const b = d.block[k];
      if (b >= 0) out[this.of[b]] += d.size[b]; else out[this.of[~b]] -= d.size[~b];
    }
    return out;
  }
  // Columns of a window: highest and lowest total, the event of the highest, and the bands then.
  columns(from, to, n) {
    const d = this.device, m = this.list.length;
    const high = new Float64Array(n), low = new Float64Array(n), at = new Int32Array(n), value = new Float64Array(n * m);
    const now = new Float64Array(m);
    let i = d.eventAt(from), known = i - 1;
    this.at(known, now);
    for (let c = 0; c < n; c++) {
      const j = c === n - 1 ? d.eventAt(to, true) : d.eventAt(from + (to - from) * (c + 1) / n);
      const before = d.totalBefore(i), x = d.extremes(i, j);
      high[c] = Math.max(before, x.high); low[c] = Math.min(before, x.low);
      at[c] = x.high > before ? x.at : i - 1;
      known = this.step(now, known, at[c]);
      value.set(now, c * m);
      i = j;
    }
    return { high, low, at, value, n, m, from, to };
  }
  // Bring the bands from the state after `known` to the one after `want`.
  step(now, known, want) {
    const d = this.device;
    if (want < known || want - known > CHUNK) { this.at(want, now); return want; }
    for (let k = known + 1; k <= want; k++) {
      const b = d.block[k];
      if (b >= 0) now[this.of[b]] += d.size[b]; else now[this.of[~b]] -= d.size[~b];
    }
    return want;
  }
  colour(i) { return this.list[i].rest ? theme().rest : this.list[i].key === 0 && this.by === 'stack' ? theme().unknown : this.list[i].colour; }
}
