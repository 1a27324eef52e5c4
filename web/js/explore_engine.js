// The page's interface to the worker that runs the device. If a worker's module stops, a new worker replaces it.

import { opened, unpackModule } from "./explore_module.js";

/**
 * Starts the worker. `heard` receives what a run sends: { run, record, state }, { run, error, key }, or { broken }.
 * Returns an engine; its `about` is what the module offers.
 */
export async function makeEngine(heard) {
  const script = document.getElementById("worker").textContent;
  const module = await unpackModule(document.getElementById("module").textContent);
  const asked = new Map();
  let worker = null;
  let number = 0;
  let about = null;

  const begin = () => new Promise((ready, failed) => {
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    worker = new Worker(address);
    worker.onmessage = ({ data }) => {
      URL.revokeObjectURL(address);
      if (data.ready) ready(data.ready);
      else if (data.ask !== undefined) take(data);
      else if (data.broken) fail(data.broken);
      else heard(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      failed(new Error(event.message));
      fail(event.message);
    };
    worker.postMessage({ module });
  });
  const take = ({ ask, answer }) => {
    const { ready, failed } = asked.get(ask);
    asked.delete(ask);
    try {
      ready(opened(answer));
    } catch (error) {
      failed(error);
    }
  };
  const fail = (reason) => {
    worker.terminate();
    for (const { failed } of asked.values()) failed(new Error(reason));
    asked.clear();
    worker = null;
    heard({ broken: reason });
  };
  const living = async () => {
    if (!worker) about = await begin();
    return worker;
  };

  about = await begin();
  return {
    about,
    /** Sends a request and returns the answer. */
    async ask(request) {
      const to = await living();
      number += 1;
      const ask = number;
      return new Promise((ready, failed) => {
        asked.set(ask, { ready, failed });
        to.postMessage({ ask, request });
      });
    },
    /** Starts a run in place of the current one. */
    async start(run, settings) {
      (await living()).postMessage({ start: settings, run });
    },
    pause: (paused) => worker?.postMessage({ pause: paused }),
    speed: (speed) => worker?.postMessage({ speed }),
    seen: () => worker?.postMessage({ seen: true }),
  };
}
