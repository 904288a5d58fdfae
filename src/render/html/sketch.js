// sketch.js: a first picture of a long recording while its events are still being unpacked.
//
// The program that wrote the page computed its bands in a fixed number of columns. A Sketch answers what the
// timeline asks of a Device and of its Bands, and nothing else works until the events are there.

class Sketch {
  constructor(file, info, sections) {
    const s = info.sketch, read = name => sections.sums(`d${info.device}_${name}`);
    Object.assign(this, { file, info, number: info.device, by: 'stack', list: s.bands, width: s.columns, n: 1, initial: 0, space: 1, size: [] });
    this.high = read('high');
    this.low = read('low');
    this.value = s.bands.map((_, i) => read('band' + i));
    for (const b of this.list) if (!b.rest) b.colour = stackColour(file, b.key);
    this.time = [s.peak_t];
    this.peak = s.peak;
    this.reservedTime = this.reserved = [];
    this.report = (file.report.devices || []).find(d => d.device === info.device) || {};
  }
  static async of(file) {
    const sections = await Sections.of(file.sketches, 'sketch-' + file.index);
    const all = file.devices.filter(d => d.sketch).map(d => new Sketch(file, d, sections));
    return all.reduce((best, d) => d.peak > best.peak ? d : best);
  }
  extremes() { return { high: this.peak, low: 0, at: 0 }; }
  totalBefore() { return 0; }
  timeOf() { return this.file.from; }
  extent() { const r = this.report.requested || {}; return { start: r.start || 0, peak: this.peak, end: r.end || 0 }; }
  // Ours resampled to n: of several the one with the highest total.
  columns(from, to, n) {
    const m = this.list.length, w = this.width, high = new Float64Array(n), low = new Float64Array(n), value = new Float64Array(n * m);
    for (let c = 0; c < n; c++) {
      const first = Math.floor(c * w / n), last = Math.max(first + 1, Math.floor((c + 1) * w / n));
      let best = first;
      low[c] = Infinity;
      for (let k = first; k < last; k++) { if (this.high[k] > this.high[best]) best = k; low[c] = Math.min(low[c], this.low[k]); }
      high[c] = this.high[best];
      for (let i = 0; i < m; i++) value[c * m + i] = this.value[i][best];
    }
    return { high, low, at: new Int32Array(n).fill(-1), value, n, m, from, to };
  }
}
Sketch.prototype.colour = Bands.prototype.colour;
