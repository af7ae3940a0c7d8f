import type { StreamEvent } from 'nest-agent-query-client/streams';
import type { Envelope } from '../../query/index.js';
import { answersDiffer, failed, failureOfEnd, invalidEnvelope } from './failures.js';
import { PassedOn, type PassedOnState } from './passed-on.js';

/** The position in the log of a remote run, as a checkpoint keeps it. */
export interface Position {
  run: string;
  /** The number of the last envelope that was read. */
  seq: number;
  passedOn: PassedOnState;
}

/** Reads the log of a remote run, each envelope once. A service that keeps no runs numbers nothing: then all is passed on. */
export class RemoteLog {
  /** The number of the last envelope that was read. */
  seq: number;
  /** Whether `done` was read. */
  hasEnded = false;
  readonly #passedOn: PassedOn;

  /** @param id the remote run; undefined where the remote service keeps none */
  constructor(
    public id: string | undefined,
    position?: Position,
  ) {
    this.seq = position?.seq ?? 0;
    this.#passedOn = new PassedOn(position?.passedOn);
  }

  /** Undefined where there is nothing to resume. */
  get position(): Position | undefined {
    const { id, seq } = this;
    return id === undefined ? undefined : { run: id, seq, passedOn: this.#passedOn.state };
  }

  /**
   * Takes the next event.
   *
   * @returns its envelope; undefined if that is not to be passed on. `input_required` is to be asked here
   * @throws {QueryError} the remote run has failed, or cannot be continued
   */
  take({ id, data }: StreamEvent): Envelope | undefined {
    const seq = this.#seqOf(id);
    if (seq !== undefined) {
      if (seq <= this.seq) return undefined;
      if (seq > this.seq + 1) throw failed('The remote agent left out a part of its answer.');
      this.seq = seq;
    }
    const envelope = envelopeOf(data);
    if (envelope.type === 'done') return this.#end(envelope.data);
    if (envelope.type === 'restarted') return this.#restart(envelope.data);
    if (envelope.type === 'input_resolved') return undefined;
    if (seq === undefined) return envelope;
    // A remote run that is restarted does not ask again what was answered.
    if (envelope.type === 'input_required') return envelope;
    const isNew = this.#passedOn.take(seq, data);
    if (isNew === undefined) throw answersDiffer();
    return isNew ? envelope : undefined;
  }

  /** The number of an event. A service whose events have none keeps no runs, whatever its headers say. */
  #seqOf(eventId: string | undefined): number | undefined {
    if (this.id === undefined) return undefined;
    const seq = eventId?.startsWith(`${this.id}.`) ? Number(eventId.slice(this.id.length + 1)) : NaN;
    if (Number.isSafeInteger(seq)) return seq;
    if (this.seq > 0) throw failed('The remote agent mixed another answer into its answer.');
    this.id = undefined;
    return undefined;
  }

  #end(data: unknown): undefined {
    this.hasEnded = true;
    const failure = failureOfEnd(data, this.id !== undefined);
    if (failure) throw failure;
    if (this.#passedOn.isBehind) throw answersDiffer();
  }

  #restart(data: unknown): undefined {
    const from = (data as { from?: unknown } | null)?.from;
    const isKnown = this.id !== undefined && typeof from === 'number' && this.#passedOn.restart(from);
    if (!isKnown) throw answersDiffer();
  }
}

function envelopeOf(data: string): Envelope {
  const detail = 'The remote agent sent something that is not an envelope.';
  let envelope: Partial<Envelope> | null;
  try {
    envelope = JSON.parse(data) as Partial<Envelope> | null;
  } catch (error) {
    throw invalidEnvelope(detail, error);
  }
  if (typeof envelope !== 'object' || typeof envelope?.type !== 'string') throw invalidEnvelope(detail);
  return envelope as Envelope;
}
