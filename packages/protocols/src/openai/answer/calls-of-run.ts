import type { InputRequest, ResolvedInput } from 'nest-agent-query';
import type { Call } from './items.js';

/** The calls of a run: those of the agent, those that needed an approval, and those that the client executes. */
export class CallsOfRun {
  /** Those whose result may follow, in their order. */
  #calls: (Call & { id: string })[] = [];
  /** By their ids: those that needed an approval. What was asked is not asked again, also by another attempt. */
  readonly #approvals = new Map<string, Call>();
  /** The ids of calls that the client executes. */
  readonly #ofClient = new Set<string>();

  add(call: Call & { id: string }): void {
    this.#calls.push(call);
  }

  /** A person is asked for an approval, or a client for a result. */
  ask({ id, kind, toolCallId = id, name = '', arguments: args }: InputRequest, seq: number): void {
    if (kind === 'tool') this.#ofClient.add(toolCallId);
    if (kind === 'approval') this.#approvals.set(toolCallId, { seq, name, arguments: args, approval: id });
  }

  /** A person may have changed the arguments of a call. */
  decide(answers: ResolvedInput[]): void {
    for (const { id, value } of answers) {
      const call = [...this.#approvals.values()].find(({ approval }) => approval === id);
      const args = (value as { arguments?: unknown } | undefined)?.arguments;
      if (call && args !== undefined) call.arguments = args;
    }
  }

  isOfClient(id: string): boolean {
    return this.#ofClient.has(id);
  }

  /** The call that a result belongs to. */
  find(id: string): Call | undefined {
    return this.#approvals.get(id) ?? this.#newest(id);
  }

  /** The calls of the agent from an envelope on: the newest of each id, without those that were asked. */
  openSince(first: number): Call[] {
    return this.#calls.filter(
      (call) =>
        call.seq >= first &&
        call === this.#newest(call.id) &&
        !this.#ofClient.has(call.id) &&
        !this.#approvals.has(call.id),
    );
  }

  /** The envelopes after `from` are void. */
  restart(from: number): void {
    this.#calls = this.#calls.filter(({ seq }) => seq <= from);
  }

  #newest(id: string): Call | undefined {
    return this.#calls.findLast((call) => call.id === id);
  }
}
