import type { RunEnd, RunStatus, TurnFile } from 'nest-agent-query-client';
import type { Metadata } from '../contract/metadata.js';
import { EventLog } from '../event-log/event-log.js';
import type { StoredDelivery } from '../ports/delivery-store.js';
import type { Admission, RunRecord, StoredInput } from '../ports/run-store.js';

/** What a run costs besides its log and its metadata, in characters: its fields and the entries of the maps. */
const OVERHEAD = 1024;

/** A request as it is kept: with its place in the order in which all requests were asked. */
export interface NumberedInput extends StoredInput {
  readonly number: number;
}

/** A webhook as it is kept. */
export type MemoryDelivery = StoredDelivery & {
  /** Whether it is being tried. */
  isTaken: boolean;
};

/** Most runs ask nothing. */
const NONE: NumberedInput[] = [];
const NO_DELIVERIES: readonly MemoryDelivery[] = [];

export class Run implements RunRecord {
  readonly id: string;
  readonly owner: string;
  readonly sessionId: string | undefined;
  readonly module: string;
  readonly trace: string | undefined;
  readonly path: string | undefined;
  readonly metadata: Metadata | undefined;
  /** Characters of JSON. */
  readonly metadataLength: number;
  readonly idempotency: Admission['idempotency'];
  readonly createdAt = Date.now();
  status: RunStatus = 'waiting';
  startedAt: number | undefined;
  endedAt: number | undefined;
  end: RunEnd | undefined;
  detached: boolean;
  /** The parts of the query. Dropped at the end, when the turn of a session has them. */
  parts: Admission['parts'];
  /** The files of the query and of the answer. In a session, the turn has them when it exists. */
  files: TurnFile[];
  /** A reader has begun to read the log, and was not at its end yet. */
  isBeingRead = false;
  isDropped = false;
  /** A newer run takes its place: it gets no turn. */
  isReplaced = false;
  /** Usage of it was counted. */
  hasUsage = false;
  /** What it has asked, in this order. */
  inputs: NumberedInput[] = NONE;
  /** Its webhooks, in the order of the events. */
  deliveries: readonly MemoryDelivery[] = NO_DELIVERIES;
  /** The place in the order of admissions. */
  number = 0;
  readonly attempt = 1;
  readonly log = new EventLog();

  constructor(admission: Admission) {
    const { runId, owner, session, parts, idempotency, detached, module = '' } = admission;
    this.id = runId;
    this.owner = owner;
    this.sessionId = session?.id;
    this.parts = parts;
    this.files = parts.filter((part) => part.type === 'file');
    this.idempotency = idempotency;
    this.detached = detached;
    this.module = module;
    this.trace = admission.trace;
    this.path = admission.path;
    this.metadata = admission.metadata;
    this.metadataLength = admission.metadata ? JSON.stringify(admission.metadata).length : 0;
  }

  get lastSeq(): number {
    return this.log.last;
  }

  get length(): number {
    return this.log.length + this.metadataLength + OVERHEAD;
  }
}
