// Settings in the page's address: `#device=warp&capacity=28GiB&stream=...`. Device keys appear unchanged.

const STREAM = ["name", "pattern", "skew", "offset", "size", "bs", "handle", "share"];
const NUMBERS = new Set(["skew", "offset", "size", "handle", "share"]);
const OWN = ["device", "volume", "pace", "precondition", "seed", "samples", "attribution"];

/** Returns settings as the fragment of an address. */
export function toAddress(settings) {
  const address = new URLSearchParams();
  for (const key of OWN) {
    const value = settings[key];
    if (value !== undefined && value !== null && value !== false) address.append(key, String(value));
  }
  for (const [key, value] of Object.entries(settings.set)) address.append(key, typeof value === "string" ? value : JSON.stringify(value));
  const { streams, fio, toml } = settings.workload;
  for (const stream of streams ?? []) address.append("stream", STREAM.map((key) => String(stream[key] ?? "").replace(/[~%]/g, encodeURIComponent).replaceAll("~", "%7E")).join("~"));
  if (fio !== undefined) address.append("fio", fio);
  if (toml !== undefined) address.append("toml", toml);
  return address.toString();
}

/** Parses the settings in an address, or throws an error that names the key. */
export function ofAddress(text) {
  const settings = { set: {}, workload: {}, seed: 0, attribution: false };
  for (const [key, value] of new URLSearchParams(text.replace(/^#/, ""))) {
    if (key === "stream") (settings.workload.streams ??= []).push(streamOf(value));
    else if (key === "fio" || key === "toml") settings.workload[key] = value;
    else if (key === "seed" || key === "samples") settings[key] = whole(key, value);
    else if (key === "attribution") settings[key] = value === "true";
    else if (OWN.includes(key)) settings[key] = value;
    else settings.set[key] = scalar(value);
  }
  if (Object.keys(settings.workload).length !== 1) throw new Error("address: give one of stream, fio, toml");
  return settings;
}

/** Parses a JSON number, boolean or list; anything else is text. */
function scalar(value) {
  if (!/^(-?\d+(\.\d+)?(e[-+]?\d+)?|true|false|\[.*\]|".*")$/s.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function whole(key, value) {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`address: ${key}: expected a whole number, found ${value}`);
  return number;
}

function streamOf(text) {
  const parts = text.split("~");
  if (parts.length !== STREAM.length) throw new Error(`address: stream: expected ${STREAM.length} parts, found ${parts.length}`);
  const stream = {};
  STREAM.forEach((key, i) => {
    const part = decodeURIComponent(parts[i]);
    if (NUMBERS.has(key)) {
      if (part === "" && key === "share") return;
      const number = Number(part);
      if (part === "" || !Number.isFinite(number)) throw new Error(`address: stream: ${key}: expected a number, found ${part || "nothing"}`);
      stream[key] = number;
    } else stream[key] = part;
  });
  return stream;
}
