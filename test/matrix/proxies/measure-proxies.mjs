import { freePort } from '../../support/free-port.mjs';
import { startBackend } from './backend.mjs';
import * as measures from './measures.mjs';
import { eachOf } from './opened.mjs';
import { Service } from './service.mjs';
import { rowOf } from './table.ts';

/** Longer than any answer. */
const NO_KEEP_ALIVE_MS = 600_000;

/** What is measured in milliseconds, or sends 30 MB, is measured for few at a time. */
const FEW = 3;

const START_MS = 60_000;

/**
 * Measures all cells of proxies, with and without their settings. All of them stand before one port, where a server of its own
 * and two services listen in turn.
 *
 * @param proxies some of `PROXIES`
 * @param open keeps what is started
 * @returns the rows, and what could not be measured
 */
export async function measureProxies(proxies, open) {
  const measuring = new Measuring(proxies);
  const port = await freePort();
  // Squid does not use a server that is not there when it starts.
  const backend = await open.keep(() => startBackend(port));
  await measuring.start(`http://127.0.0.1:${port}`, open);
  await measuring.fill('credential', FEW, ({ target, label }) => measures.credential(target, label));
  await measuring.fill('body', FEW, ({ target, label }) =>
    measures.largeBody(target, `${label}-body`, backend.arrivals),
  );
  await open.stop(backend);

  const variables = { PORT: port, DISCONNECT: 'cancel', KEEP_ALIVE_MS: measures.KEEP_ALIVE_MS };
  const service = await open.keep(() => Service.start({ ...variables, MAX_FILE_BYTES: 8 * 1024 * 1024 }));
  await measuring.each(Infinity, ({ target, label }) => measures.untilAnswered(target, label));
  await measuring.fill('first', FEW, ({ target, label }) => measures.firstEvent(target, `${label}-first`));
  await measuring.fill('refusal', FEW, ({ target, label }) => measures.earlyRefusal(target, label));
  await measuring.fill('refusal2', FEW, async ({ target2, label }) =>
    target2 ? measures.earlyRefusal(target2, label, true) : 'none',
  );
  await measuring.fill('leaving', Infinity, ({ target, label }) =>
    measures.leavingClient(target, `${label}-leaving`, service),
  );
  await open.stop(service);

  const silent = await open.keep(() => Service.start({ PORT: port, KEEP_ALIVE_MS: NO_KEEP_ALIVE_MS }));
  await measuring.each(Infinity, ({ target, label }) => measures.untilAnswered(target, `${label}-again`));
  await measuring.fill('idle', Infinity, ({ target, label }) => measures.idleCut(target, `${label}-idle`));
  await measuring.each(Infinity, async (form) => {
    form.answer = await measures.beginAnswer(form.target, `${form.label}-dying`, silent);
  });
  await silent.kill();
  await measuring.fill('dying', Infinity, ({ answer }) => measures.endOf(answer));
  return measuring.result();
}

/** Each proxy in one form or two, without and with its settings, and what was measured of each. */
class Measuring {
  #forms;

  constructor(proxies) {
    this.#forms = proxies.flatMap((proxy) =>
      (proxy.settings.length > 0 ? [[], proxy.settings] : [[]]).map((settings) => ({
        proxy,
        settings,
        label: settings.length > 0 ? `${proxy.key}-set` : proxy.key,
        cells: {},
      })),
    );
  }

  /** Starts one after the other: two that look for a free port at the same time may find the same one. */
  start(service, open) {
    const urls = new Set();
    return this.each(1, async (form) => {
      const { proxy, settings } = form;
      form.version = proxy.version();
      form.target = await within(
        START_MS,
        open.keep(() => proxy.start(service, settings)),
      );
      const { url, through = url } = form.target;
      if (urls.has(through)) throw new Error(`${through} is that of another proxy.`);
      urls.add(through);
      if (proxy.http2 === 'without TLS') form.target2 = form.target;
      else if (proxy.http2)
        form.target2 = await within(
          START_MS,
          open.keep(() => proxy.http2(service, settings)),
        );
    });
  }

  /** Does something with each that has not failed. What it throws is the failure of that form. */
  each(atOnce, work) {
    return eachOf(this.#forms, atOnce, async (form) => {
      if (form.failure !== undefined) return;
      await work(form).catch((error) => (form.failure = `${form.label}: ${error.message}`));
    });
  }

  /** Fills a cell of each. */
  async fill(key, atOnce, measure) {
    const began = performance.now();
    await this.each(atOnce, async (form) => (form.cells[key] = await measure(form)));
    console.log(`${key}: measured in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }

  result() {
    const failures = this.#forms.flatMap(({ failure = [] }) => failure);
    const rows = this.#forms
      .filter(({ settings }) => settings.length === 0)
      .map((form) => [
        form,
        this.#forms.find(({ proxy, settings }) => proxy === form.proxy && settings.length > 0),
      ])
      .filter((forms) => forms.every((form) => form?.failure === undefined))
      .map(([{ proxy, version, cells }, set]) => rowOf(proxy, version, cells, set?.cells));
    return { rows, failures };
  }
}

async function within(ms, starting) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(reject, ms, new Error(`It does not listen after ${ms / 1000} s.`));
  });
  return Promise.race([starting, late]).finally(() => clearTimeout(timer));
}
