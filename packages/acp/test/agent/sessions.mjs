import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { is, valueOf } from './switches.mjs';

const FOLDER = join(process.env.HOME, '.scripted');

/** The conversations of the agent, on disk. */
export class Sessions {
  #open = new Map();

  constructor(wire) {
    this.wire = wire;
  }

  begin({ cwd }) {
    return this.#opened({ id: randomUUID(), cwd, prompts: [], updates: [], open: [] });
  }

  load({ sessionId, cwd }, { replays }) {
    const state = read(sessionId);
    if (!state) throw this.wire.error(-32002, 'Resource not found', { sessionId });
    if (is('load-once') && state.loads > 0) throw this.wire.error(-32603, 'Internal error');
    const session = this.#opened({ ...state, cwd, loads: (state.loads ?? 0) + 1 });
    if (replays) {
      for (const text of state.prompts)
        session.tells({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } });
      for (const update of state.updates) session.tells(update);
    }
    return session;
  }

  of(id) {
    const session = this.#open.get(id);
    if (!session) throw this.wire.error(-32002, 'Resource not found', { sessionId: id });
    return session;
  }

  close(id) {
    this.#open.get(id)?.closed();
    this.#open.delete(id);
  }

  #opened(state) {
    const session = new Session(this.wire, state);
    this.#open.set(state.id, session);
    session.save();
    return session;
  }
}

class Session {
  #closers = [];
  #modes = (valueOf('modes') ?? 'default,auto').split(',').filter(Boolean);
  #values = (valueOf('options') ?? '').split(',').filter(Boolean);
  // A mode that was set is not kept.
  mode = this.#modes[0];
  #value = this.#values[0];

  constructor(wire, state) {
    this.wire = wire;
    this.state = state;
  }

  get described() {
    const availableModes = this.#modes.map((id) => ({ id, name: `Mode ${id}` }));
    return {
      sessionId: this.state.id,
      ...(this.mode && { modes: { currentModeId: this.mode, availableModes } }),
      ...(this.#value && { configOptions: this.#options }),
    };
  }

  get #options() {
    const options = this.#values.map((value) => ({ value, name: value }));
    return [{ id: 'depth', name: 'Depth', type: 'select', currentValue: this.#value, options }];
  }

  get depth() {
    return this.#value;
  }

  /** An agent without modes asks. */
  get asks() {
    return this.mode === undefined || this.mode === 'default';
  }

  setMode(id) {
    if (!this.#modes.includes(id)) throw this.wire.error(-32602, `Unknown mode ${id}`);
    this.mode = id;
    this.tells({ sessionUpdate: 'current_mode_update', currentModeId: id });
  }

  setOption(id, value) {
    if (id !== 'depth' || !this.#values.includes(value))
      throw this.wire.error(-32602, `Unknown option ${id}`);
    this.#value = value;
    return this.#options;
  }

  tells(update, sessionId = this.state.id) {
    this.wire.notify('session/update', { sessionId, update });
  }

  /** Tells it, and again at each load. */
  says(update) {
    this.state.updates.push(update);
    this.tells(update);
  }

  onClose(closer) {
    this.#closers.push(closer);
  }

  closed() {
    for (const closer of this.#closers) closer();
  }

  save() {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(join(FOLDER, `${this.state.id}.json`), JSON.stringify(this.state));
  }
}

function read(id) {
  try {
    return JSON.parse(readFileSync(join(FOLDER, `${id}.json`), 'utf8'));
  } catch {
    return undefined;
  }
}
