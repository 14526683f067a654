// A toy adapter in JavaScript: placements and parameter ids under protocol 1 (spec/protocol.md).
// Run with Node:  refimpl conform --subject "cmd:node docs/how-to/adapter.mjs"

const U64 = (1n << 64n) - 1n;

/** A step ends with an outcome of its own: `error`, `panic` or `unsupported`. */
class Ending extends Error {
  constructor(form, kind, text) {
    super(text);
    this.outcome = { [form]: form === "unsupported" ? { capability: kind, text } : { kind, text } };
  }
}
const panic = (kind, text) => new Ending("panic", kind, text);
const error = (kind, text) => new Ending("error", kind, text);
const wrong = (text) => error("Protocol", text);

// --- Reading arguments ---------------------------------------------------------------------------------

function device(name) {
  if (typeof name !== "string" || !/^d\d{1,3}(\+autodiff(\(balanced\))?)?$/.test(name)) throw wrong(`${name} is no device`);
  return name;
}
function list(value, name) {
  if (!Array.isArray(value)) throw wrong(`\`${name}\` is no list`);
  return value;
}
/** An unsigned integer; past 2^53 it is written as a text of decimal digits. */
function whole(value) {
  if (!((Number.isInteger(value) && Math.abs(value) <= 2 ** 53) || (typeof value === "string" && /^\d+$/.test(value)))) throw wrong(`${value} is no integer`);
  const number = BigInt(value);
  if (number < 0n || number > U64) throw wrong(`${value} is no unsigned 64-bit integer`);
  return number;
}

// --- Placements ----------------------------------------------------------------------------------------

/** Devices are equal when their hardware is: the autodiff tag does not count. */
const hardware = (name) => name.split("+")[0];
const same = (a, b) => hardware(a) === hardware(b);

function placed(stages) {
  const hidden = stages.flatMap(([on, count]) => Array(Number(count)).fill(on));
  return { input: stages[0][0], hidden, output: stages.at(-1)[0] };
}

function even(devices, count) {
  if (devices.length === 0) throw panic("Placement", "a placement needs at least one device");
  const used = devices.slice(0, Math.max(1, Math.min(count, devices.length)));
  const each = Math.floor(count / used.length), more = count % used.length;
  return placed(used.map((name, i) => [name, each + (i < more ? 1 : 0)]));
}

/** Whether the layers from `layer` on fit when each device from `at` on takes as many as it can. */
function fits(layers, limits, at = 0, layer = 0) {
  for (; at < limits.length; at++) {
    for (let load = 0n; layer < layers.length && load + layers[layer] <= limits[at]; layer++) load += layers[layer];
  }
  while (layer < layers.length && layers[layer] === 0n) layer++;
  return layer === layers.length;
}

function byMemory(devices, capacities, layers) {
  const limited = (share) =>
    capacities.map((capacity) => {
      const limit = BigInt(Math.trunc(Number(capacity) * share));
      return limit > U64 ? U64 : limit;
    });
  if (!fits(layers, limited(1))) return null;
  let enough = 1, short = 0;
  for (let step = 0; step < 48; step++) {
    const share = (enough + short) / 2;
    if (fits(layers, limited(share))) enough = share;
    else short = share;
  }
  const limits = limited(enough), on = [];
  const total = (numbers) => {
    const sum = numbers.reduce((a, b) => a + b, 0n);
    if (sum > U64) throw panic("CapacityOverflow", "a sum of bytes is more than 2^64-1");
    return sum;
  };
  let left = total(layers), rest = total(capacities);
  for (let at = 0; at < devices.length; at++) {
    const target = rest ? (Number(left) * Number(capacities[at])) / Number(rest) : 0;
    let load = 0n;
    while (on.length < layers.length) {
      const size = layers[on.length];
      if (load + size > limits[at]) break;
      const wanted = Number(load) + Number(size) / 2 <= target;
      if (!wanted && fits(layers, limits, at + 1, on.length)) break;
      load += size;
      on.push(devices[at]);
    }
    left -= load;
    rest -= capacities[at];
  }
  return on.length === layers.length ? on : null;
}

function placementForm({ input, hidden, output }) {
  const devices = [];
  for (const name of [input, ...hidden, output]) if (!devices.some((known) => same(known, name))) devices.push(name);
  const stages = [];
  for (const name of hidden) {
    if (stages.length && same(stages.at(-1)[0], name)) stages.at(-1)[1]++;
    else stages.push([name, 1]);
  }
  return { input, hidden, output, devices, stages };
}

const samePlacement = (a, b) =>
  same(a.input, b.input) && same(a.output, b.output) &&
  a.hidden.length === b.hidden.length && a.hidden.every((name, i) => same(name, b.hidden[i]));

// --- Parameter ids -------------------------------------------------------------------------------------

const DIGITS = "0123456789abcdefghijklmnopqrstuv";
const fromBytes = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

/** Base32 of the eight little-endian bytes, without padding: 13 digits, the last of one bit more than is left. */
function idText(id) {
  let bits = 0n;
  for (let i = 0n; i < 8n; i++) bits = (bits << 8n) | ((id >> (8n * i)) & 255n);
  bits <<= 1n;
  return Array.from({ length: 13 }, (_, i) => DIGITS[Number((bits >> BigInt(5 * (12 - i))) & 31n)]).join("");
}

/** The bytes that a text encodes, or null. */
function decoded(text) {
  const spare = { 0: 0, 2: 2, 4: 4, 5: 1, 7: 3 }[text.length % 8];
  if (spare === undefined || !/^[0-9a-vA-V]*$/.test(text)) return null;
  let bits = 0n;
  for (const digit of text.toLowerCase()) bits = (bits << 5n) | BigInt(DIGITS.indexOf(digit));
  if (bits & ((1n << BigInt(spare)) - 1n)) return null;
  bits >>= BigInt(spare);
  const count = Math.floor((text.length * 5) / 8);
  return Array.from({ length: count }, (_, i) => Number((bits >> BigInt(8 * (count - 1 - i))) & 255n));
}

const KEYS = [0x243f6a8885a308d3n, 0x13198a2e03707344n, 0xa4093822299f31d0n, 0x082efa98ec4e6c89n];
const fold = (a, b) => ((a * b) & U64) ^ ((a * b) >> 64n);
const rotate = (value, by) => ((value << by) | (value >> (64n - by))) & U64;

function hashed(bytes) {
  const low = fromBytes(bytes.slice(0, 8)), high = fromBytes(bytes.slice(8));
  let buffer = ((KEYS[1] + 16n) * 6364136223846793005n) & U64;
  buffer = rotate(((buffer + KEYS[0]) & U64) ^ fold(low ^ KEYS[2], high ^ KEYS[3]), 23n);
  return rotate(fold(buffer, KEYS[0]), buffer & 63n);
}

function parseId(text) {
  const bytes = decoded(text);
  if (bytes !== null) {
    if (bytes.length > 8) throw panic("ParamId", `range end index ${bytes.length} out of range for slice of length 8`);
    return fromBytes(bytes);
  }
  const hex = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
  const uuid = new RegExp(`^(?:(?:urn:uuid:)?(${hex})|\\{(${hex})\\})$`, "i").exec(text);
  if (uuid === null) throw error("InvalidParamId", "Invalid id.");
  return hashed((uuid[1] ?? uuid[2]).replaceAll("-", "").match(/../g).map((pair) => parseInt(pair, 16)));
}

// --- Steps ---------------------------------------------------------------------------------------------

const STEPS = {
  "placement.new": (step) => {
    const stages = list(step.stages, "stages").map(([name, count]) => [device(name), whole(count)]);
    if (stages.length === 0) throw panic("Placement", "a placement needs at least one stage");
    return placed(stages);
  },
  "placement.even": (step) => even(list(step.devices, "devices").map(device), Number(whole(step.hidden))),
  "placement.by_memory": (step) => {
    const devices = list(step.devices, "devices").map(device), capacities = step.capacities.map(whole);
    const hidden = step.hidden.map(whole), after = "AfterHidden" in step.output;
    const input = whole(step.input), output = whole(step.output[after ? "AfterHidden" : "WithInput"]);
    const layers = after ? [input, ...hidden, output] : [input + output, ...hidden];
    if (!after && input + output > U64) throw panic("CapacityOverflow", "a sum of bytes is more than 2^64-1");
    const on = byMemory(devices, capacities, layers);
    return on && { input: on[0], hidden: on.slice(1, 1 + hidden.length), output: after ? on.at(-1) : on[0] };
  },
  "placement.make": (step) => ({ input: device(step.input), hidden: step.hidden.map(device), output: device(step.output) }),
};

const PARAM_IDS = {
  "param_id.format": ({ id }) => {
    const known = whole(id);
    return { display: idText(known), debug: `ParamId { value: ${known} }`, serde: `{"value":${known}}` };
  },
  "param_id.parse": ({ text }) => parseId(text).toString(),
  "param_id.new": ({ count }) => {
    const made = Array.from({ length: count }, () => fromBytes(crypto.getRandomValues(new Uint8Array(8))));
    const lengths = [...new Set(made.map((id) => idText(id).length))];
    return { distinct: new Set(made).size === count, roundtrip: made.every((id) => parseId(idText(id)) === id), lengths };
  },
  "param_id.compare": (step) => {
    const a = whole(step.a), b = whole(step.b);
    return { equal: a === b, less: a < b, same_hash: a === b };
  },
};

/** The outcome of one step; what is named with `as` is kept in `held` until the case ends. */
function outcome(step, held) {
  const kept = (name) => {
    if (!held.has(name)) throw wrong(`there is no placement ${name}`);
    return held.get(name);
  };
  try {
    if (step.observe === "placement") return { ok: placementForm(kept(step.on)) };
    if (step.do === "placement.equal") return { ok: samePlacement(kept(step.a), kept(step.b)) };
    if (step.do in PARAM_IDS) return { ok: PARAM_IDS[step.do](step) };
    if (!(step.do in STEPS)) throw new Ending("unsupported", step.do ?? step.observe, "not in this toy");
    const placement = STEPS[step.do](step);
    if (placement === null) return { ok: null };
    if (step.as !== undefined) held.set(step.as, placement);
    return { ok: placementForm(placement) };
  } catch (ending) {
    return ending instanceof Ending ? ending.outcome : wrong(String(ending)).outcome;
  }
}

const HELLO = {
  protocol: 1,
  impl: { name: "toy", version: "0.1.0", language: "javascript", backend: "none" },
  caps: { fixtures: [], devices: { executing: ["d0"], count: 1000 }, dtypes: [], capabilities: ["parallel"] },
  limits: { max_frame: 1 << 24, in_flight: 64 },
};

const OPERATIONS = {
  hello: () => HELLO,
  case: ({ steps }) => {
    const held = new Map();
    return { steps: steps.map((step) => outcome(step, held)) };
  },
  reset: () => ({}),
  ping: () => ({}),
  bye: () => ({}),
};

/** The answer to one line. */
function answer(line) {
  let id = null;
  try {
    const request = JSON.parse(line);
    id = request.id ?? null;
    if (!Object.hasOwn(OPERATIONS, request.op)) throw new Error(`there is no operation ${request.op}`);
    if (request.op === "bye") process.stdin.destroy();
    return { id, ok: OPERATIONS[request.op](request) };
  } catch (fault) {
    return { id, error: { kind: "Protocol", text: String(fault) } };
  }
}

// A line ends at "\n" and nowhere else: Node's `readline` would also end it at U+2028, which JSON may hold.
let unread = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (unread + chunk).split("\n");
  unread = lines.pop();
  for (const line of lines) process.stdout.write(JSON.stringify(answer(line)) + "\n");
});
