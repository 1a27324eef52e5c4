// The worker of the page: runs the device in slices, and reads messages between them.
//
// The page sends { module } first, then { ask, request } for an answer, { start, run } for a run numbered `run`,
// { pause }, { speed } and { seen }. The worker sends { ready }, { ask, answer } and { run, record, state } with the
// record's bytes, or { run, error }, and { broken } when the module has stopped.

import { makeModule, opened } from "./explore_module.js";

/** Milliseconds of work before messages are read. */
const SLICE = 24;
/** Minimum milliseconds between two records, each of which walks all reclaim units. */
const EVERY = 80;
/** Maximum share of the time spent on records. */
const SHARE = 0.2;

const state = { call: null, run: null, paused: false, speed: 1, seen: true, sent: 0, cost: 0, going: false, broken: false };

const handlers = {
  async module(bytes) {
    state.call = await makeModule(bytes, broken);
    postMessage({ ready: opened(state.call({ do: "about" })) });
  },
  ask(id, { request }) {
    postMessage({ ask: id, answer: state.call(request) });
  },
  start(settings, { run }) {
    state.run = null;
    try {
      opened(state.call({ do: "start", settings }));
    } catch (error) {
      refuse(run, error);
      return;
    }
    Object.assign(state, { run, paused: false, sent: 0, cost: 0, seen: true });
    go();
  },
  pause(paused) {
    state.paused = paused;
    go();
  },
  speed(speed) {
    state.speed = speed;
  },
  seen() {
    state.seen = true;
  },
};

addEventListener("message", ({ data }) => {
  if (state.broken) return;
  const [kind] = Object.keys(data);
  try {
    Promise.resolve(handlers[kind](data[kind], data)).catch(broken);
  } catch (error) {
    broken(error.message);
  }
});

/** Reports that the module has stopped; the page loads another. */
function broken(reason) {
  if (state.broken) return;
  Object.assign(state, { broken: true, run: null });
  postMessage({ broken: String(reason?.message ?? reason) });
}

function refuse(run, error) {
  if (error.key === undefined) broken(error);
  else postMessage({ run, error: error.message, key: error.key });
}

/** Advances the run until it ends, is paused, or is replaced. */
async function go() {
  if (state.going) return;
  state.going = true;
  try {
    while (state.run !== null && !state.paused) {
      const { run } = state;
      const { left, preparing } = opened(state.call({ do: "advance", milliseconds: SLICE * Math.min(1, state.speed * 4) }));
      const due = performance.now() - state.sent > Math.max(EVERY, state.cost / SHARE);
      if (!left || (due && state.seen)) send(run, left ? (preparing ? "preparing" : "running") : "done");
      if (!left) state.run = null;
      await rest(state.speed < 1 ? SLICE * (1 / state.speed - 1) * Math.min(1, state.speed * 4) : 0);
    }
  } catch (error) {
    const { run } = state;
    state.run = null;
    if (!state.broken) refuse(run, error);
  } finally {
    state.going = false;
  }
}

function send(run, name) {
  const began = performance.now();
  const record = state.call({ do: "record" });
  Object.assign(state, { sent: performance.now(), cost: performance.now() - began, seen: false });
  postMessage({ run, state: name, record }, [record.buffer]);
}

const channel = new MessageChannel();
const rests = [];
channel.port1.onmessage = () => rests.shift()();

/** Yields to messages; a timer would wait at least four milliseconds. */
function rest(milliseconds) {
  if (milliseconds > 0) return new Promise((done) => setTimeout(done, milliseconds));
  return new Promise((done) => {
    rests.push(done);
    channel.port2.postMessage(0);
  });
}
