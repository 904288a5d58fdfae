/* perfetto.js FOLDER TRACE SQL…: what Perfetto's own trace processor makes of TRACE: one line of JSON per query,
 * its rows.
 *
 * FOLDER has a Perfetto user interface. Its engine is made to be a browser's worker; it is given a port to talk
 * through, as the user interface does: a stream of protobuf messages (TraceProcessorRpcStream), so few that they
 * are put together by hand.
 */
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');
const [folder, trace, ...queries] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3;

/* --- protobuf --- */

function varint(n) {
	const out = [];
	for (; n > 127; n = Math.floor(n / 128)) out.push(n % 128 | 128);
	return Buffer.from([...out, n]);
}
const number = (field, n) => Buffer.concat([varint(field * 8), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint(field * 8 + 2), varint(b.length), b]);

function read_varint(b, at) { // [value, where it ends]
	let n = 0n;
	for (let shift = 0n; ; shift += 7n) {
		n |= BigInt(b[at] & 127) << shift;
		if (b[at++] < 128) return [BigInt.asIntN(64, n), at];
	}
}
function* fields(b) { // [number, value or bytes]
	for (let at = 0, key, n; at < b.length;) {
		[key, at] = read_varint(b, at);
		[n, at] = read_varint(b, at);
		if (!(key & 2n)) yield [Number(key >> 3n), n];
		else yield [Number(key >> 3n), b.subarray(at, at += Number(n))];
	}
}

/* --- a result --- */

function* cells(batch) { // QueryResult.CellsBatch: the values of each type lie together
	const part = new Map(fields(batch)), types = part.get(1) ?? [];
	const texts = (part.get(5) ?? Buffer.alloc(0)).toString().split('\0');
	let at = 0, real = 0, text = 0, n;
	for (const type of types) {
		if (type === 2) {
			[n, at] = read_varint(part.get(2), at);
			yield Number(n);
		} else if (type === 3) yield part.get(3).readDoubleLE(8 * real++);
		else yield type === 4 ? texts[text++] : null;
	}
}
function rows(results) {
	const names = [], values = [];
	for (const [field, v] of results.flatMap(r => [...fields(r)])) {
		if (field === 1) names.push(v.toString());
		if (field === 2) throw new Error(v);
		if (field === 3) values.push(...cells(v));
	}
	return Array.from({ length: values.length / names.length }, (_, i) =>
		Object.fromEntries(names.map((name, k) => [name, values[i * names.length + k]])));
}

/* --- the engine --- */

async function main() {
	const file = fs.readFileSync(trace), worker = {}, replies = [], port = { postMessage: b => replies.push(Buffer.from(b)) };
	process.chdir(folder); // where it looks for its WebAssembly
	vm.runInThisContext(`(function (self, require, __dirname) { ${fs.readFileSync('engine_bundle.js')}\n})`)(worker, require, '.');
	worker.onmessage({ data: { enginePort: port } });
	await new Promise(setImmediate); // it is ready in a promise's callback

	let sequence = 0;
	const ask = (method, args) => {
		const from = replies.length;
		const message = Buffer.concat([number(1, sequence++), number(2, method), ...(args ? [bytes(100 + method, args)] : [])]);
		port.onmessage({ data: new Uint8Array(bytes(1, message)) });
		const answers = replies.slice(from).flatMap(r => [...fields(r)]).map(([, m]) => [...fields(m)]);
		for (const [field, v] of answers.flat())
			if (field === 5) throw new Error(v);
		return answers.flat().filter(([field]) => field === 200 + method).map(([, v]) => v);
	};
	for (const [field, v] of ask(APPEND, file).flatMap(r => [...fields(r)]))
		if (field === 2) throw new Error(v);
	ask(FINALIZE);
	for (const q of queries)
		console.log(JSON.stringify(rows(ask(QUERY, bytes(1, Buffer.from(q))))));
}
main().catch(error => {
	console.error(String(error));
	process.exit(1);
});
