'use strict';
// data.js: the columns of a recording: bytes to typed arrays, and the questions asked of them.

const DATA = JSON.parse(document.getElementById('data').textContent);
const REPORT = JSON.parse(document.getElementById('report').textContent);

// The columns lie behind this script; the whole page is here when this comes true.
const parsed = new Promise(done => document.addEventListener('DOMContentLoaded', done, { once: true }));

// The bytes in a script element: base64 of gzip.
async function packedBytes(id) {
  const text = document.getElementById(id).textContent.trim();
  let packed;
  if (Uint8Array.fromBase64) packed = Uint8Array.fromBase64(text);
  else {
    const chars = atob(text), n = chars.length;
    packed = new Uint8Array(n);
    for (let k = 0; k < n; k++) packed[k] = chars.charCodeAt(k);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
// Let the browser draw and answer before a long piece of work.
const breathe = () => new Promise(done => setTimeout(done));

// LEB128 numbers; signed ones are zigzag; with sum, each is a step from the last. Always the same kind of array: that is fast.
function unpack(bytes, at, n, signed, sum) {
  const out = new Float64Array(n);
  let last = 0;
  for (let i = 0; i < n; i++) {
    let x = bytes[at++];
    if (x > 127) {
      let c = bytes[at++];
      x = x & 127 | (c & 127) << 7;
      if (c > 127) {
        c = bytes[at++]; x |= (c & 127) << 14;
        if (c > 127) {
          c = bytes[at++]; x |= (c & 127) << 21;
          for (let scale = 268435456; c > 127; scale *= 128) { c = bytes[at++]; x += (c & 127) * scale; }
        }
      }
    }
    if (signed) x = x < 268435456 ? x >> 1 ^ -(x & 1) : x % 2 ? -(x + 1) / 2 : x / 2;
    if (sum) x = last += x;
    out[i] = x;
  }
  return out;
}

class Sections {
  constructor(index, bytes) {
    this.bytes = bytes;
    this.at = {};
    let at = 0;
    for (const name in index) {
      this.at[name] = { n: index[name][0], at };
      at += index[name][1];
    }
  }
  count(name) { return this.at[name].n; }
  read(name, Type, signed, sum) {
    const s = this.at[name];
    const v = unpack(this.bytes, s.at, s.n, signed, sum);
    return Type === Float64Array ? v : new Type(v);
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
    const col = async (name, Type, signed, sum) => {
      const full = `d${this.number}_${name}`;
      if (sections.count(full) > 1e5) await breathe();
      return sections.read(full, Type, signed, sum);
    };
    this.time = await col('dt', Float64Array, true, true);
    this.size = await col('size', Float64Array);
    this.slack = await col('slack', Float64Array);
    this.place = await col('place', Float64Array);
    const places = await col('places', Float64Array, true, true);
    for (let b = 0, next = 0; b < this.place.length; b++) this.place[b] = places[this.place[b] ? this.place[b] - 1 : next++];
    this.stack = await col('stack', Uint32Array);
    this.stream = await col('stream', Uint16Array);
    this.thread = await col('thread', Uint16Array);
    this.pool = await col('pool', Uint16Array);
    this.n = this.time.length;
    this.link(await col('what', Float64Array));
    this.reservedTime = await col('reserved_t', Float64Array, true, true);
    this.reserved = await col('reserved', Float64Array); // value + 1; 0: not known
    if (this.info.reservedIsBlocks) this.sumBlocks();
    this.held = { begin: await col('held_begin', Float64Array, true), end: await col('held_end', Float64Array, true),
      place: await col('held_place', Float64Array), size: await col('held_size', Float64Array) };
  }
  // Which block an event is about, where blocks begin and end, and the live bytes after each event.
  link(what) {
    const n = this.n, blocks = this.size.length;
    this.block = new Int32Array(n); // ~block for its end
    this.begin = new Int32Array(blocks);
    this.end = new Int32Array(blocks).fill(n);
    this.total = new Float64Array(n);
    for (let i = 0, next = 0, now = 0; i < n; i++) {
      let b = what[i] ? next - what[i] : next++;
      if (what[i]) { this.end[b] = i; now -= this.size[b]; this.block[i] = ~b; }
      else { this.begin[b] = i; now += this.size[b]; this.block[i] = b; }
      this.total[i] = now;
    }
    this.timeBlocks();
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
  // When blocks begin and end, and the last end in every CHUNK of blocks.
  timeBlocks() {
    const n = this.size.length, { begin, end, time } = this;
    this.begun = new Float64Array(n); this.ended = new Float64Array(n);
    this.latest = new Float64Array(Math.ceil(n / CHUNK)).fill(-Infinity);
    for (let b = 0; b < n; b++) {
      const t = end[b] < this.n ? time[end[b]] : Infinity, c = b / CHUNK | 0;
      this.begun[b] = begin[b] < this.initial ? -Infinity : time[begin[b]];
      this.ended[b] = t;
      if (t > this.latest[c]) this.latest[c] = t;
    }
  }
  // Reserved bytes of a recording in which every block is its own segment.
  sumBlocks() {
    const sum = new Float64Array(this.n);
    let differs = false;
    for (let i = 0, now = 1; i < this.n; i++) {
      const b = this.block[i];
      now += b >= 0 ? this.blockSize(b) : -this.blockSize(~b);
      differs ||= now !== this.total[i] + 1;
      sum[i] = now;
    }
    if (differs) { this.reserved = sum; this.reservedTime = this.time; } // else they are what is drawn anyway
  }
  // Bytes a block takes in its segment.
  blockSize(b) { return this.slack[b] ? this.size[b] + this.slack[b] - 1 : this.size[b]; }
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
  }
  async load() {
    await parsed;
    const s = new Sections(this.sections, await packedBytes('columns-' + this.index));
    this.frame = { fn: s.read('frame_function', Uint32Array), file: s.read('frame_file', Uint32Array),
      line: s.read('frame_line', Uint32Array), module: s.read('frame_module', Uint32Array), code: s.read('frame_code', Uint16Array) };
    const length = s.read('stack_length', Uint32Array);
    this.frames = s.read('stack_frames', Int32Array, true, true); // outermost first
    this.stackAt = new Uint32Array(length.length + 1);
    length.forEach((n, k) => { this.stackAt[k + 1] = this.stackAt[k] + n; });
    this.phase = { name: s.read('phase_name', Uint32Array), begin: s.read('phase_begin', Float64Array, true, true),
      length: s.read('phase_length', Float64Array), device: s.read('phase_device', Uint8Array) };
    const devices = this.devices.map(d => new Device(d, this));
    for (const d of devices) await d.load(s);
    this.byDevice = devices;
  }
  stackFrames(stack) { return this.frames.subarray(this.stackAt[stack], this.stackAt[stack + 1]); }
}
