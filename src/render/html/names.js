// names.js: numbers, times and stacks as words, and their colours.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function bytesText(v) {
  let u = 0, x = v;
  while (x >= 1024 && u < 5) { x /= 1024; u++; }
  return u ? `${toHundredths(x)} ${UNITS[u]}` : `${v} B`;
}
// As C prints it: a half goes to the even neighbour.
function toHundredths(x) {
  const all = x * 100, whole = Math.floor(all);
  return (all - whole === .5 ? (whole + whole % 2) / 100 : x).toFixed(2);
}
// For axes: as short as a round number is.
function bytesTick(v) {
  let u = 0;
  while (v >= 1024 && u < 5) { v /= 1024; u++; }
  return v ? `${+v.toPrecision(4)} ${UNITS[u]}` : '0';
}
const numbers = new Intl.NumberFormat('en-US');
const count = v => numbers.format(v);
const exactBytes = v => `${count(v)} bytes`;
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

function timeText(t, file, step) {
  if (!file.hasTime) return 'event ' + count(Math.round(t));
  const a = Math.abs(t), digits = unit => step ? Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / unit) - 1e-9))) : 3;
  if (a >= 3600e9) return `${Math.floor(t / 3600e9)}:${String(Math.floor(a / 60e9) % 60).padStart(2, '0')}:${String(Math.floor(a / 1e9) % 60).padStart(2, '0')} h`;
  if (a >= 1e9 || (step && step >= 1e9)) return `${(t / 1e9).toFixed(digits(1e9))} s`;
  if (a >= 1e6 || (step && step >= 1e6)) return `${(t / 1e6).toFixed(step ? digits(1e6) : 2)} ms`;
  if (a >= 1e3) return `${(t / 1e3).toFixed(step ? digits(1e3) : 2)} µs`;
  return `${Math.round(t)} ns`;
}

// Whose code a frame is: 0 yours, 1 Python libraries, 2 native libraries, 3 CUDA, 4 no symbol.
const codeOf = (file, frame) => file.frame.code[frame] >> 5;
const shadeOf = (file, frame) => file.frame.code[frame] >> 3 & 3;
const worthOf = (file, frame) => file.frame.code[frame] & 7;
const CODE_NAMES = ['your code', 'Python libraries', 'native libraries', 'CUDA libraries', 'no symbol'];

// The frame that tells most, and the program's own frame that led there (both frames, or -1).
function tellingFrames(file, stack) {
  const f = file.stackFrames(stack);
  let inner = f.length ? f[f.length - 1] : -1, own = -1, most = 0;
  for (let i = f.length - 1; i >= 0 && own < 0; i--) {
    const w = worthOf(file, f[i]);
    if (w > most || (w === 2 && most === 2)) { if (most !== 3) { inner = f[i]; most = w; } }
    if (w === 4) own = f[i];
  }
  return [inner, own === inner ? -1 : own];
}
function stackName(file, stack) {
  const [inner, own] = tellingFrames(file, stack);
  if (inner < 0) return 'no stack recorded';
  return file.labels[inner] + (own < 0 ? '' : ' ← ' + file.labels[own]);
}
const functionOf = (file, frame) => file.strings[file.frame.fn[frame]] || '??';
function whereOf(file, frame) {
  const name = file.strings[file.frame.file[frame]], line = file.frame.line[frame];
  if (name && name !== '??') return line ? `${name}:${line}` : name;
  return file.strings[file.frame.module[frame]] || '';
}

const theme = () => DATA[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];

// As palette_stack in palette.c: ranked stacks first, others by a hash of their number.
const M64 = (1n << 64n) - 1n;
function hash64(v) {
  let x = BigInt(v);
  x ^= x >> 32n; x = x * 0x9fb21c651e98df25n & M64; x ^= x >> 28n; x = x * 0x9fb21c651e98df25n & M64;
  return x ^ x >> 28n;
}
function stackColour(file, stack) {
  if (!stack) return theme().unknown;
  const place = file.rank.indexOf(stack);
  return DATA.categories[place >= 0 ? place : 12 + Number(hash64(stack) % 24n)];
}

function rgbOf(hex) { const v = parseInt(hex.slice(1), 16); return [v >> 16, v >> 8 & 255, v & 255]; }
// A pixel of an ImageData seen as Uint32Array (little-endian).
function pixelOf(hex) { const [r, g, b] = rgbOf(hex); return (255 << 24 | b << 16 | g << 8 | r) >>> 0; }
function mixHex(a, b, share) {
  const x = rgbOf(a), y = rgbOf(b);
  return '#' + x.map((v, i) => Math.round(v + (y[i] - v) * share).toString(16).padStart(2, '0')).join('');
}
function inkOn(hex) {
  const [r, g, b] = rgbOf(hex).map(v => { const s = v / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (y + 0.05) / 0.06 > 1.05 / (y + 0.05) ? '#14171a' : '#ffffff';
}
const cssColour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Text that fits: the middle goes. ctx has its font set. Measuring is slow, so it begins near the answer.
function elide(ctx, text, room) {
  const whole = ctx.measureText(text).width;
  if (whole <= room) return text;
  const chars = Array.from(text);
  const keep = n => chars.slice(0, Math.ceil(n / 2)).join('') + '…' + chars.slice(chars.length - Math.floor(n / 2)).join('');
  const fits = n => ctx.measureText(keep(n)).width <= room;
  let n = Math.min(chars.length - 1, Math.floor(chars.length * room / whole));
  while (n >= 3 && !fits(n)) n--;
  while (n >= 3 && n + 1 < chars.length && fits(n + 1)) n++;
  return n < 3 ? '' : keep(n);
}

// A stack's name that fits: its caller is shortened first.
function elideName(ctx, name, room) {
  const [inner, own] = name.split(' ← '), begin = inner + ' ← ';
  const rest = own && ctx.measureText(name).width > room && elide(ctx, own, room - ctx.measureText(begin).width);
  return rest ? begin + rest : elide(ctx, name, room) || name;
}

const FONT = '12px system-ui, "DejaVu Sans", sans-serif';
// A canvas at the screen's resolution; drawing is in CSS pixels.
function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth;
  if (height) canvas.style.height = height + 'px';
  const h = height || canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const ctx = canvas.getContext('2d');
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.font = FONT;
  return { ctx, w, h, ratio };
}

const el = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props || {});
  e.append(...children);
  return e;
};
const byId = id => document.getElementById(id);
