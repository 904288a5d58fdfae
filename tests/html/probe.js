// probe.js: uses the page of tests/data/solver.json as a person would and returns what it saw (browser.py).
const seen = {}, t = app.timeline, canvas = document.getElementById('timeline');
const text = id => document.getElementById(id).textContent;
const corner = e => { e.scrollIntoView({ block: 'center' }); return e.getBoundingClientRect(); };
const point = (type, x, y, down) => { const r = corner(canvas); return mouse(type, r.left + x, r.top + y, down); };
await frame();
seen.peak = document.getElementById('figure-peak').dataset.bytes;
seen.whole = document.getElementById('stat-peak').dataset.bytes;
seen.verdict = document.querySelectorAll('#verdict li').length;
seen.legend = [...document.querySelectorAll('#legend b')].map(b => b.textContent);

// hover the lowest band in the middle of the plot
await point('mouseMoved', t.x((t.from + t.to) / 2), t.h + TOP - 5);
seen.hover = text('tip');

// hover a block in the address view, then click it
document.querySelector('[data-view="places"]').click();
await frame();
const d = app.device, b = d.stack.findIndex((_, k) => stackName(app.file, d.stack[k]).startsWith('keep_log'));
const bx = t.x(d.time[d.begin[b]] + 20e6), by = TOP + t.h - (d.placeOf(b) - 1 + d.size[b] / 2 - t.low) / (t.high - t.low) * t.h;
await point('mouseMoved', bx, by);
seen.block = text('tip');
await point('mousePressed', bx, by, 1);
await point('mouseReleased', bx, by);
seen.stack = [...document.querySelectorAll('#details li')].map(li => li.firstChild.textContent);
document.querySelector('#details .close').click();
seen.closed = text('details').trim();
document.querySelector('[data-view="bands"]').click();
canvas.focus();
await key('Escape');

// brush
await point('mousePressed', t.x(100e6), 100);
for (const x of [150e6, 200e6, 250e6]) await point('mouseMoved', t.x(x), 100, 1);
await point('mouseReleased', t.x(250e6), 100);
seen.brushed = app.selection && [app.selection.from, app.selection.to].map(Math.round);
canvas.setPointerCapture = () => {}; // of a finger that is not there
for (const type of ['pointerdown', 'pointermove', 'pointercancel', 'pointermove'])
  canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: canvas.getBoundingClientRect().left + (type === 'pointerdown' ? 200 : 300), clientY: 300 }));
seen.cancelled = t.brush === null;
delete canvas.setPointerCapture;
app.select({ from: 100e6, to: 250e6 }); // to the nanosecond, to compare with the report
seen.brush = Object.fromEntries(['start', 'peak', 'end'].map(k => [k, document.getElementById('stat-' + k).dataset.bytes]));
seen.allocations = text('stat-allocations');
canvas.focus();
await key('z');
seen.zoomed = [Math.round(t.from), Math.round(t.to)];
await key('0');
await key('Escape');
seen.all = [t.from, t.to];
await key('.');
seen.stepped = app.instant;
for (let k = 0; k < 5; k++) await key('.');
await key('[');
for (let k = 0; k < 3; k++) await key('.');
await key(']');
seen.marked = [app.selection.from, app.selection.to].map((t, k) => t === d.time[seen.stepped + (k ? 8 : 5)]);
await key('Escape');

// search, and zoom the flame by a click
document.getElementById('tab-flame').click();
await key('/');
for (const c of 'flux') await key(c);
seen.search = text('search-result');
const search = document.getElementById('search');
search.value = 'no such thing';
search.dispatchEvent(new Event('input'));
await frame();
seen.searchNothing = text('search-result');
search.value = '';
search.dispatchEvent(new Event('input'));
document.getElementById('flame-what').value = 'peak';
app.flame.rebuild();
await frame();
const box = app.flame.boxes.find(x => x.node && app.flame.name(x.node) === 'setup');
const r = corner(document.getElementById('flame'));
await mouse('mousePressed', r.left + box.x + 5, r.top + box.row * 20 + 9, 1);
await mouse('mouseReleased', r.left + box.x + 5, r.top + box.row * 20 + 9);
seen.flame = app.flame.boxes.filter(x => x.node && !x.outer).map(x => app.flame.name(x.node));

document.getElementById('flame').focus();
await key('Escape');
await key('ArrowDown'); // from setup to what it called, and to what lies beside that
await key('ArrowRight');
seen.moved = document.querySelector('#details h3').textContent;
await key('Enter');
seen.entered = app.flame.zoomed && app.flame.name(app.flame.zoomed);
await key('Escape');

// tables sort, tabs, themes and devices switch
document.getElementById('tab-leaks').click();
seen.leaks = [...document.querySelectorAll('#panel-leaks tbody tr')].map(tr => [...tr.children].map(td => td.textContent).join('|'));
document.getElementById('tab-stacks').click();
document.querySelector('#panel-stacks th:last-child button').click();
seen.sorted = document.querySelector('#panel-stacks tbody tr td').textContent;
document.getElementById('tab-segments').click();
await frame();
seen.segments = text('segments-hint');
document.getElementById('segments').focus();
await key('ArrowRight');
seen.segment = document.querySelector('#details h3').textContent;
const theme = document.documentElement.dataset.theme;
document.getElementById('theme').click();
seen.themeSwitched = document.documentElement.dataset.theme !== theme;
const device = document.getElementById('device');
device.value = '1';
device.dispatchEvent(new Event('change'));
await frame();
seen.other = document.getElementById('figure-peak').dataset.bytes;
seen.unlabelled = [...document.querySelectorAll('button, select, input')].filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || (e.labels && e.labels.length))).length;
return seen;
