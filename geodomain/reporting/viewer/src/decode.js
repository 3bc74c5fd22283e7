// Arrays of the page: base64, deflate, bytes by place, differences. No request is made for them.

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
};

export async function unpack(entry) {
  const bytes = await inflate(fromBase64(document.getElementById(`data-${entry.block}`).textContent));
  if (entry.type === "text") return new TextDecoder().decode(bytes).split("\n");
  const array = new TYPES[entry.type](together(bytes, TYPES[entry.type].BYTES_PER_ELEMENT).buffer);
  if (entry.differences) for (let i = 1; i < array.length; i++) array[i] += array[i - 1];
  return array;
}

function fromBase64(text) {
  const characters = atob(text.trim());
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function inflate(packed) {
  const reader = new Blob([packed])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"))
    .getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

// All first bytes come first, then all second bytes: they are packed better so.
function together(bytes, size) {
  if (size === 1) return bytes;
  const count = bytes.length / size;
  const out = new Uint8Array(bytes.length);
  for (let place = 0; place < size; place++) {
    for (let i = 0, from = place * count, to = place; i < count; i++, from++, to += size) {
      out[to] = bytes[from];
    }
  }
  return out;
}
