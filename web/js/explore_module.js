// The device as WebAssembly: an instance answers JSON requests (crates/wafer-explore/src/session.rs).

/** Unpacks the bytes of a module embedded in a page as gzip in base64. */
export async function unpackModule(text) {
  const compressed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/**
 * Creates an instance. Returns a function that takes a request and returns the answer's bytes. A panic calls
 * `panicked`; the instance is unusable afterwards.
 */
export async function makeModule(bytes, panicked) {
  const text = (at, length) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at >>> 0, length));
  const { instance } = await WebAssembly.instantiate(bytes, {
    wafer: {
      now: () => performance.timeOrigin + performance.now(),
      panicked: (at, length) => panicked(text(at, length)),
    },
  });
  const wasm = instance.exports;
  wasm.wafer_start();
  return (request) => {
    const asked = new TextEncoder().encode(JSON.stringify(request));
    const room = wasm.wafer_alloc(asked.length) >>> 0;
    new Uint8Array(wasm.memory.buffer, room, asked.length).set(asked);
    const answer = wasm.wafer_call(room, asked.length) >>> 0;
    return new Uint8Array(wasm.memory.buffer, answer, wasm.wafer_answer_length()).slice();
  };
}

/** Returns the content of an answer, or throws its error; `error.key` is the key at fault. */
export function opened(bytes) {
  const { ok, error } = JSON.parse(new TextDecoder().decode(bytes));
  if (error) throw Object.assign(new Error(error.text), { key: error.key });
  return ok;
}
