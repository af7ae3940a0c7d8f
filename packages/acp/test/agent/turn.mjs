import { Calls } from './calls.mjs';
import { VERBS } from './script.mjs';
import { is, valueOf } from './switches.mjs';

const LINE = /^\s*DO (\S+) ?(.*)$/;

/** One prompt, and its answer. */
export class Turn {
  #controller = new AbortController();
  #count = 0;
  signal = this.#controller.signal;
  stopReason = 'end_turn';
  /** What is done when the prompt is answered. */
  afterwards = [];

  constructor(wire, session) {
    this.wire = wire;
    this.session = session;
    this.calls = new Calls(this);
  }

  /** What the prompt tells the agent to do, or what a turn that was lost has left, as a model that calls again. */
  async answer(prompt) {
    this.prompt = prompt;
    const { state } = this.session;
    const texts = prompt.map((block) => block.text ?? block.resource?.text ?? '');
    const scripted = texts.findLast((text) => text.split('\n').some((line) => LINE.test(line)));
    const isAgain = scripted === undefined && state.open.length > 0;
    const lines = isAgain ? state.open : (scripted ?? 'DO say I have nothing to do.').split('\n');
    this.isAgain = isAgain;
    state.prompts.push(texts.join('\n'));
    state.open = lines.filter((line) => LINE.test(line));
    this.session.save();
    if (is('noise')) this.wire.noise('{"level":"info","message":"a prompt"}');
    try {
      await this.#follow();
    } finally {
      // What is left belongs to a turn that was stopped, or to a process that was lost.
      if (!this.signal.aborted) state.open = [];
      this.session.save();
    }
    return this.#answer();
  }

  async #follow() {
    const { state } = this.session;
    while (state.open.length > 0 && !this.signal.aborted) {
      const [, verb, argument] = LINE.exec(state.open[0]);
      if (!VERBS[verb]) throw this.wire.error(-32602, `Unknown verb ${verb}`);
      const end = await VERBS[verb](this, argument);
      if (end) return void (this.stopReason = end);
      state.open.shift();
      this.session.save();
    }
  }

  async #answer() {
    if (valueOf('slow-end')) await this.wait(Number(valueOf('slow-end')));
    const stopReason = this.signal.aborted ? 'cancelled' : this.stopReason;
    const tokens = { inputTokens: 30, outputTokens: 9, totalTokens: 39 };
    const counts = { input_tokens: 30, output_tokens: 9 };
    switch (valueOf('usage')) {
      case 'response':
        return { stopReason, usage: { ...tokens, cachedReadTokens: 20, thoughtTokens: 4 } };
      case 'quota':
        return {
          stopReason,
          _meta: { quota: { token_count: counts, model_usage: [{ model: 'fake-1', token_count: counts }] } },
        };
      case 'claude':
        return { stopReason, usage: { ...tokens, cachedReadTokens: 20 }, _meta: { usage: counts } };
      case 'chunk':
        this.says('', { usage: { ...tokens, thoughtTokens: 4, cachedReadTokens: 20 } });
    }
    return { stopReason };
  }

  says(text, meta) {
    this.session.says({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      ...(is('ids') && { messageId: `message-${this.session.state.prompts.length}` }),
      ...(meta && { _meta: meta }),
    });
  }

  nextId() {
    return `call-${this.session.state.prompts.length}-${++this.#count}`;
  }

  cancel() {
    this.#controller.abort();
  }

  /** Waits so many milliseconds, or until a cancel. */
  async wait(ms) {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
    });
  }
}
