// Runs steps.mjs of a folder with the core for pages and the arrays of inputs.json, and writes what
// the steps return to outputs.json: numbers, texts and arrays, the last as files. The folder has
// core.mjs, a copy of core.js under a name that Node takes for a module.
//
//     node page_core.mjs CORE.WASM FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [binary, folder] = process.argv.slice(2);
const module = (name) => import(pathToFileURL(join(folder, name)));
const page = await module("core.mjs");
const KINDS = { float64: Float64Array, int32: Int32Array, uint8: Uint8Array, uint64: BigUint64Array };

const inputs = {};
for (const [name, kind] of Object.entries(JSON.parse(readFileSync(join(folder, "inputs.json"))))) {
  const bytes = readFileSync(join(folder, `${name}.in`));
  inputs[name] = new KINDS[kind](new Uint8Array(bytes).buffer);
}
const core = new page.Core(new WebAssembly.Module(readFileSync(binary)));
const { steps } = await module("steps.mjs");
const outputs = {};
for (const [name, value] of Object.entries(steps(core, inputs, page))) {
  const array = ArrayBuffer.isView(value) ? value : value?.array;
  if (array) writeFileSync(join(folder, `${name}.out`), array);
  outputs[name] = array ? { array: array.constructor.name } : value;
}
const plain = (_, value) => (typeof value === "bigint" ? `${value}` : value);
writeFileSync(join(folder, "outputs.json"), JSON.stringify(outputs, plain));
