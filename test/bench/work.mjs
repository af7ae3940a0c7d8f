/**
 * What the agents of a measurement do. A plan is a line of text that travels as the text part of the query:
 *
 * - `burst N`: N events in one go
 * - `micro N`: N events, a microtask apart
 * - `tick N`: N events, one per tick of the event loop
 * - `pull N`: N events, as many and as fast as they are asked for; those who cannot ask are given all in one go
 * - `paced G R`: groups of G events, R events a second, until the caller leaves; each event says when it was emitted
 * - `shared R`: R events a second for all runs of this plan together, one run after another, until the caller leaves
 * - `idle`: one event, and then silence until the caller leaves
 */

/** About twenty characters, as a token or two of a model. */
const TEXT = 'another word or two ';

/** Microseconds on the clock that all processes of the machine share, in sixteen digits. */
export function stamp() {
  const [seconds, nanoseconds] = process.hrtime();
  return String(seconds * 1e6 + Math.floor(nanoseconds / 1000)).padStart(16, '0');
}

const parse = (plan) => {
  const [kind, ...numbers] = plan.split(' ');
  return [kind, ...numbers.map(Number)];
};

/**
 * Carries out a plan by calling `emit(text)` for each event and at last `end()`.
 * @returns a function to be called when the caller has left
 */
export function push(plan, emit, end) {
  const [kind, count, rate] = parse(plan);
  if (kind === 'paced') return pace(count, rate, emit);
  if (kind === 'shared') return share(count, emit);
  if (kind === 'idle') emit(TEXT);
  else if (kind === 'tick') tick(count, emit, end);
  else if (kind === 'micro') void micro(count, emit, end);
  else {
    for (let i = 0; i < count; i++) emit(TEXT);
    end();
  }
  return () => undefined;
}

/** The same for those who ask for each event. */
export async function* pull(plan) {
  const [, count] = parse(plan);
  for (let i = 0; i < count; i++) yield TEXT;
}

/** Whether a plan is one for those who can ask. */
export const isPulled = (plan) => /^(pull|micro) /.test(plan);

function tick(left, emit, end) {
  if (left === 0) return end();
  emit(TEXT);
  setImmediate(tick, left - 1, emit, end);
}

async function micro(count, emit, end) {
  for (let i = 0; i < count; i++) {
    emit(TEXT);
    await undefined;
  }
  end();
}

/**
 * The streams of one pace stand on a wheel of milliseconds, evenly. It turns when no stream has come for half a second; what
 * the server is late for is not made up for.
 */
const wheels = new Map();

function pace(group, rate, emit) {
  const period = Math.round((1000 * group) / rate);
  if (!wheels.has(period)) wheels.set(period, spin(period, group));
  const wheel = wheels.get(period);
  const slot = wheel.slots[wheel.joined++ % period];
  slot.add(emit);
  wheel.joinedAt = performance.now();
  emit(`at ${stamp()}`);
  return () => slot.delete(emit);
}

function spin(period, group) {
  const wheel = { joined: 0, joinedAt: 0, slots: Array.from({ length: period }, () => new Set()) };
  let next = Math.floor(performance.now());
  setInterval(() => {
    const now = performance.now();
    if (now - wheel.joinedAt < 500) return;
    for (next = Math.max(next, Math.floor(now) - period + 1); next <= now; next++) {
      const text = `at ${stamp()}`;
      for (const emit of wheel.slots[next % period]) for (let i = 0; i < group; i++) emit(text);
    }
  }, 1);
  return wheel;
}

/** The runs that share a rate. */
const circles = new Map();

function share(rate, emit) {
  if (!circles.has(rate)) circles.set(rate, circulate(rate));
  const runs = circles.get(rate);
  runs.add(emit);
  emit(`at ${stamp()}`);
  return () => runs.delete(emit);
}

function circulate(rate) {
  const runs = new Set();
  let turn = runs.values();
  const next = () => {
    const { value, done } = turn.next();
    if (!done) return value;
    turn = runs.values();
    return turn.next().value;
  };
  let given = performance.now();
  setInterval(() => {
    const now = performance.now();
    // A server that is held up by more than this leaves events out, so that it does not fall behind for ever.
    given = Math.max(given, now - 100);
    for (; given + 1000 / rate <= now; given += 1000 / rate) next()?.(`at ${stamp()}`);
  }, 1);
  return runs;
}
