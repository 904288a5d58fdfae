'use strict';
// data.js: the columns of a recording: bytes to typed arrays, and the questions asked of them.

const DATA = JSON.parse(document.getElementById('data').textContent);
const REPORT = JSON.parse(document.getElementById('report').textContent);

// The columns lie behind this script; the whole page is here when this comes true.
const parsed = new Promise(done => document.addEventListener('DOMContentLoaded', done, { once: true }));

// The `size` bytes that a script element holds as base64 of gzip.
async function packedBytes(id, size) {
  const text = byId(id).textContent;
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const gunzip = new DecompressionStream('gzip'), to = gunzip.writable.getWriter(), from = gunzip.readable.getReader();
  const written = to.write(packed).then(() => to.close()), bytes = new Uint8Array(size);
  for (let at = 0, piece; !(piece = await from.read()).done; at += piece.value.length) bytes.set(piece.value, at);
  await written;
  return bytes;
}
// Let the browser draw and answer before a long piece of work.
const breathe = () => new Promise(done => setTimeout(done));

// Columns of numbers as they lie in the page: typed arrays of one buffer, each as narrow as its numbers allow.
class Sections {
  // index: name → [how many, bytes, bytes of a number, the first, how many are doubles behind the others]
  static async of(index, id) {
    const s = new Sections();
    let size = 0;
    s.at = {};
    for (const name in index) {
      const [n, bytes, width, first, large] = index[name];
      s.at[name] = { n, width, first, large, at: size, doubles: size + bytes - 8 * large };
      size += bytes;
    }
    s.buffer = (await packedBytes(id, size)).buffer;
    return s;
  }
  count(name) { return this.at[name].n; }
  read(name) {
    const { n, width, first, large, at, doubles } = this.at[name];
    if (!width && !large) return new (first < 256 ? Uint8Array : Uint32Array)(n).fill(first);
    const far = new Float64Array(this.buffer, doubles, large);
    if (!width) return far;
    const own = new ({ 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width])(this.buffer, at, n);
    if (!large) return own;
    const out = new Float64Array(own);
    for (let i = 0, k = 0; i < n; i++) if (own[i] === 0xffffffff) out[i] = far[k++];
    return out;
  }
  // Numbers that may be negative: 0, -1, 1, -2, … are 0, 1, 2, 3, …
  signed(name) {
    const v = this.read(name), out = new Float64Array(v.length);
    for (let i = 0; i < v.length; i++) { const x = v[i]; out[i] = x & 1 ? -(x + 1) / 2 : x / 2; }
    return out;
  }
  // What was written as steps from one to the next.
  sums(name) {
    const out = this.signed(name);
    for (let i = 1; i < out.length; i++) out[i] += out[i - 1];
    return out;
  }
}

const CHUNK = 256; // events per checkpoint

// One device: events in the order of the recording, and the blocks they begin and end.
class Device {
  constructor(info, file) {
    this.info = info;
    this.file = file;
    this.number = info.device;
    this.initial = info.initial;
    this.ranges = info.ranges.map(r => ({ addr: BigInt(r[0]), size: r[1] }));
    this.space = this.ranges.reduce((sum, r) => sum + r.size, 0);
    this.report = (file.report.devices || []).find(d => d.device === info.device) || {};
  }
  async load(sections) {
    const full = name => `d${this.number}_${name}`, read = name => sections.read(full(name)), rest = () => this.n > 1e5 && breathe();
    for (const name of ['size', 'slack', 'place', 'stack', 'stream', 'thread', 'pool']) this[name] = read(name); // of blocks
    this.places = sections.sums(full('places')); // place: which of these
    this.n = sections.count(full('dt'));
    await rest();
    this.time = sections.sums(full('dt'));
    await rest();
    this.link(read('what'));
    this.reservedTime = sections.sums(full('reserved_t'));
    this.reserved = read('reserved'); // value + 1; 0: not known
    if (this.info.reservedIsBlocks) this.sumBlocks();
    this.held = { begin: sections.signed(full('held_begin')), end: sections.signed(full('held_end')), place: read('held_place'), size: read('held_size') };
    await rest();
  }
  // Which block an event is about, where blocks begin and end, and the live bytes after each event.
  link(what) {
    const n = this.n, blocks = this.size.length;
    this.block = new Int32Array(n); // ~block for its end
    this.begin = new Int32Array(blocks);
    this.end = new Int32Array(blocks).fill(n);
    this.total = new Float64Array(n);
    for (let i = 0, next = 0, now = 0; i < n; i++) {
      const back = what[i], b = back ? next - back : next++;
      if (back) { this.end[b] = i; now -= this.size[b]; this.block[i] = ~b; }
      else { this.begin[b] = i; now += this.size[b]; this.block[i] = b; }
      this.total[i] = now;
    }
    const chunks = Math.ceil(n / CHUNK);
    this.chunkHigh = new Float64Array(chunks); this.chunkLow = new Float64Array(chunks); this.chunkAt = new Int32Array(chunks);
    for (let c = 0; c < chunks; c++) {
      let high = -1, low = Infinity, at = 0;
      for (let i = c * CHUNK, to = Math.min(n, i + CHUNK); i < to; i++) {
        const v = this.total[i];
        if (v > high) { high = v; at = i; }
        if (v < low) low = v;
      }
      this.chunkHigh[c] = high; this.chunkLow[c] = low; this.chunkAt[c] = at;
    }
  }
  // When blocks begin and end, and the last end in every CHUNK of blocks; made when it is first asked for.
  get lives() {
    const n = this.size.length, { begin, end, time } = this;
    const begun = new Float64Array(n), ended = new Float64Array(n), latest = new Float64Array(Math.ceil(n / CHUNK)).fill(-Infinity);
    for (let b = 0; b < n; b++) {
      const t = end[b] < this.n ? time[end[b]] : Infinity, c = b / CHUNK | 0;
      begun[b] = begin[b] < this.initial ? -Infinity : time[begin[b]];
      ended[b] = t;
      if (t > latest[c]) latest[c] = t;
    }
    Object.defineProperty(this, 'lives', { value: { begun, ended, latest } });
    return this.lives;
  }
  // Reserved bytes of a recording in which every block is its own segment.
  sumBlocks() {
    this.reserved = new Float64Array(this.n);
    this.reservedTime = this.time;
    for (let i = 0, now = 1; i < this.n; i++) {
      const b = this.block[i];
      this.reserved[i] = now += b >= 0 ? this.blockSize(b) : -this.blockSize(~b);
    }
  }
  // Bytes a block takes in its segment.
  blockSize(b) { return this.slack[b] ? this.size[b] + this.slack[b] - 1 : this.size[b]; }
  // Where it lies when all ranges lie side by side, plus one; 0: in none of them.
  placeOf(b) { return this.places[this.place[b]]; }
  // The first event of the window at or after t (after: behind t).
  eventAt(t, after) {
    let lo = this.initial, hi = this.n;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (after ? this.time[mid] <= t : this.time[mid] < t) lo = mid + 1; else hi = mid;
    }
    return lo;
  }
  totalBefore(i) { return i > 0 ? this.total[i - 1] : 0; }
  // Highest and lowest live bytes in the states after events i ≤ … < to; at is the event of the highest.
  extremes(i, to) {
    let high = -1, low = Infinity, at = -1;
    while (i < to) {
      const c = i / CHUNK | 0;
      if (i % CHUNK === 0 && i + CHUNK <= to) {
        if (this.chunkHigh[c] > high) { high = this.chunkHigh[c]; at = this.chunkAt[c]; }
        if (this.chunkLow[c] < low) low = this.chunkLow[c];
        i += CHUNK;
      } else {
        const v = this.total[i];
        if (v > high) { high = v; at = i; }
        if (v < low) low = v;
        i++;
      }
    }
    return { high, low, at };
  }
  // The requested bytes of a part of the recording, without looking at each of its events.
  extent(from, to) {
    const i = this.eventAt(from), j = this.eventAt(to, true), x = this.extremes(i, j), start = this.totalBefore(i), higher = x.at >= 0 && x.high > start;
    return { from, to, first: i, last: j, start, end: this.totalBefore(j), peak: higher ? x.high : start, peakEvent: higher ? x.at : i - 1 };
  }
  // What `gpumemsnap report --from --to` says of it.
  window(from, to) {
    const w = { ...this.extent(from, to), allocs: 0, frees: 0, bytes: 0 };
    for (let k = w.first; k < w.last; k++) {
      const b = this.block[k];
      if (b >= 0) { w.allocs++; w.bytes += this.size[b]; } else w.frees++;
    }
    return w;
  }
  // Calls f(block) for every block that lives after event i.
  eachLive(i, f) {
    const { begin, end } = this;
    for (let b = 0, n = begin.length; b < n && begin[b] <= i; b++) if (end[b] > i) f(b);
  }
  timeOf(i) { return i < this.initial ? this.file.from : this.time[i]; }
  reservedAt(t) {
    let lo = 0, hi = this.reservedTime.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (this.reservedTime[mid] <= t) lo = mid + 1; else hi = mid; }
    return lo ? this.reserved[lo - 1] - 1 : -1;
  }
  // The address of a place, as text.
  address(place) {
    if (!place) return 'not known';
    let at = place - 1;
    for (const r of this.ranges) {
      if (at < r.size) return '0x' + (r.addr + BigInt(at)).toString(16);
      at -= r.size;
    }
    return 'not known';
  }
}

class File {
  constructor(i) {
    Object.assign(this, DATA.files[i]);
    this.index = i;
    this.report = REPORT.snapshots[i];
    this.still = this.report.history === 'none'; // one state, of which no peak is known
  }
  // Once, however often its tab is chosen.
  load() { return this.loading ||= this.unpack(); }
  async unpack() {
    await parsed;
    const s = await Sections.of(this.sections, 'columns-' + this.index);
    this.frame = { fn: s.read('frame_function'), file: s.read('frame_file'), line: s.read('frame_line'), module: s.read('frame_module'), code: s.read('frame_code') };
    const length = s.read('stack_length');
    this.frames = s.sums('stack_frames'); // outermost first
    this.stackAt = new Uint32Array(length.length + 1);
    length.forEach((n, k) => { this.stackAt[k + 1] = this.stackAt[k] + n; });
    this.phase = { name: s.read('phase_name'), begin: s.sums('phase_begin'), length: s.read('phase_length'), device: s.read('phase_device') };
    const devices = this.devices.map(d => new Device(d, this));
    for (const d of devices) await d.load(s);
    this.byDevice = devices;
  }
  stackFrames(stack) { return this.frames.subarray(this.stackAt[stack], this.stackAt[stack + 1]); }
}
