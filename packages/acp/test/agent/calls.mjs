import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { is, valueOf } from './switches.mjs';

const ONCE = { optionId: 'once', name: 'Allow once', kind: 'allow_once' };
const ALWAYS = { optionId: 'always', name: 'Always allow', kind: 'allow_always' };
const REJECT = { optionId: 'reject', name: 'Reject', kind: 'reject_once' };

/** What a permission request offers. */
const CHOICES = {
  two: [ONCE, { optionId: 'once-edit', name: 'Allow once, with edits', kind: 'allow_once' }, REJECT],
  always: [ALWAYS, REJECT],
  plan: [
    { optionId: 'fast', name: 'Yes, and accept all edits', kind: 'allow_always' },
    { optionId: 'slow', name: 'Yes, and ask about edits', kind: 'allow_once' },
    { optionId: 'review', name: 'Yes, and review each file', kind: 'allow_once' },
    { optionId: 'no', name: 'No, keep planning', kind: 'reject_once' },
  ],
};

/** The tool calls of a turn. */
export class Calls {
  constructor(turn) {
    this.turn = turn;
    this.session = turn.session;
  }

  read(path) {
    const call = this.#described({ title: `Read ${path}`, kind: 'read', rawInput: { path } });
    this.#tells('tool_call', { ...call, status: 'pending' });
    const text = this.#textOf(path);
    const isThere = text !== null;
    this.#update(call.toolCallId, {
      status: isThere ? 'completed' : 'failed',
      content: [block(isThere ? text : `${path} is not there`)],
      ...(isThere && { rawOutput: { text } }),
    });
  }

  begun(title) {
    this.#tells('tool_call', {
      ...this.#described({ title, kind: 'think', rawInput: {} }),
      status: 'in_progress',
    });
  }

  /** Asks about all commands at once, and executes those that are allowed, one after the other. */
  async run(commands, child) {
    const calls = commands.map((command) => {
      const changed = is('changes') && this.turn.isAgain ? `${command} # again` : command;
      const call = this.#described({ title: changed, kind: 'execute', rawInput: { command: changed } });
      return { ...call, child };
    });
    const answers = await Promise.all(calls.map((call) => this.#allowed(call)));
    for (const [index, call] of calls.entries()) {
      const end = answers[index] ? await this.#execute(call) : this.#rejected(call);
      if (end) return end;
    }
  }

  async write(path, newText) {
    const file = this.#pathOf(path);
    const oldText = this.#textOf(path);
    const call = {
      ...this.#described({ title: `Edit ${path}`, kind: 'edit', rawInput: { path, newText } }),
      content: [{ type: 'diff', path: file, oldText, newText }],
      locations: [{ path: file, line: 1 }],
    };
    if (!(await this.#allowed(call))) return this.#rejected(call);
    writeFileSync(file, newText);
    this.#update(call.toolCallId, { status: 'completed', content: call.content });
  }

  async #allowed({ child, ...call }) {
    const { rawInput, ...rest } = call;
    if (!is('alone')) {
      this.#tells(
        'tool_call',
        { ...rest, rawInput: is('filling') ? {} : rawInput, status: 'pending' },
        child,
      );
      if (is('twice')) this.#tells('tool_call', { ...call, status: 'pending' }, child);
      if (is('filling')) this.#update(call.toolCallId, { rawInput }, child);
    }
    if (!this.session.asks) return true;
    return this.#asks(call, child);
  }

  async #asks(call, child) {
    const { signal, wire } = this.turn;
    const answer = wire.request('session/request_permission', {
      sessionId: child ?? this.session.state.id,
      toolCall: { ...call, status: 'pending' },
      options: CHOICES[valueOf('choices')] ?? [ALWAYS, ONCE, REJECT],
    });
    const stopped = new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        if (is('withdraws')) wire.notify('$/cancel_request', { requestId: answer.id });
        resolve({ result: { outcome: { outcome: 'cancelled' } } });
      });
    });
    const { result } = await (is('holds') ? answer : Promise.race([answer, stopped]));
    this.optionId = result?.outcome.optionId;
    return result?.outcome.outcome === 'selected' && !['reject', 'no'].includes(this.optionId);
  }

  #rejected({ toolCallId, child }) {
    if (!is('untold')) {
      const content = [block('The user has rejected the call')];
      this.#update(toolCallId, { status: 'failed', content }, child);
    }
    if (this.turn.signal.aborted) return 'cancelled';
    if (valueOf('rejected') !== undefined) return valueOf('rejected');
    this.turn.says('I did not.');
  }

  async #execute({ toolCallId, child, rawInput, title, kind }) {
    if (is('alone')) {
      const call = { toolCallId, title: title ?? 'A command', kind, rawInput, status: 'in_progress' };
      this.#tells('tool_call', call, child);
    } else this.#update(toolCallId, { status: 'in_progress' }, child);
    const { code, output } = await this.#output(rawInput.command);
    this.#update(
      toolCallId,
      {
        status: code === 0 ? 'completed' : 'failed',
        content: [block(output)],
        rawOutput: { output, exitCode: code },
      },
      child,
    );
  }

  /** A command is in a process group of its own. */
  async #output(command) {
    const child = spawn('sh', ['-c', command], { cwd: this.session.state.cwd, detached: true });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    const { signal } = this.turn;
    const stopped = new AbortController();
    const ended = new Promise((resolve) => child.on('close', (code) => resolve(code ?? 137)));
    const cancelled = new Promise((resolve) => {
      const stop = () => {
        if (!is('keeps')) process.kill(-child.pid, 'SIGKILL');
        resolve(137);
      };
      signal.addEventListener('abort', stop, { signal: stopped.signal });
    });
    const code = await Promise.race([ended, cancelled]);
    stopped.abort();
    return { code, output };
  }

  #described({ title, kind, rawInput }) {
    const name = is('named') && { name: kind === 'execute' ? 'shell' : kind };
    return { toolCallId: this.turn.nextId(), ...(!is('bare') && { title, kind }), ...name, rawInput };
  }

  #tells(sessionUpdate, call, child) {
    const update = { sessionUpdate, ...call };
    if (child) this.session.tells(update, child);
    else this.session.says(update);
  }

  #update(toolCallId, members, child) {
    this.#tells('tool_call_update', { toolCallId, ...members }, child);
  }

  #pathOf(path) {
    return isAbsolute(path) ? path : join(this.session.state.cwd, path);
  }

  #textOf(path) {
    const file = this.#pathOf(path);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  }
}

const block = (text) => ({ type: 'content', content: { type: 'text', text } });
