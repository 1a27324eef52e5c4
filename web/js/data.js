// Unpacks the data of a report: base64, gzip, JSON, columns as differences.

/** Returns the data of the page: runs with their records, and the findings of their comparison. */
export async function unpack(text) {
  const compressed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return sums(JSON.parse(await new Response(stream).text()));
}

/** Expands `{ first, steps }`, the packed form of a column of growing numbers. */
export function sums(value) {
  if (Array.isArray(value)) {
    if (typeof value[0] === "number") return value;
    return value.map(sums);
  }
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 2 && "first" in value && Array.isArray(value.steps)) {
    const column = new Array(value.steps.length + 1);
    column[0] = value.first;
    for (let i = 0; i < value.steps.length; i += 1) column[i + 1] = column[i] + value.steps[i];
    return column;
  }
  // Without a prototype, a key such as __proto__ is an ordinary key.
  const object = Object.create(null);
  for (const key of keys) object[key] = sums(value[key]);
  return object;
}
