import type { Envelope } from 'nest-agent-query';
import { type JsonRpcId, type Peer, PeerClosed } from '../process/peer.js';
import type { KnownCall, Translation } from '../translate/index.js';
import { isObject, type PermissionRequest } from './protocol.js';

/** So many envelopes are held before the agent is not read any more. */
const HELD = 1024;

/** A permission that the agent asks for. */
export interface Permission {
  id: JsonRpcId;
  request: PermissionRequest;
  /** The call that it is about. */
  call: KnownCall;
}

/** What the agent says from a prompt to its answer, in the order in which it says it. */
export class Turn {
  /** The permissions that were asked for, and not answered. */
  readonly #open = new Map<JsonRpcId, Permission>();
  #envelopes: Envelope[] = [];
  #asked: Permission[] = [];
  #wake: (() => void) | undefined;
  #end!: () => void;
  /** Resolves when the prompt is answered, or never will be. */
  readonly ended = new Promise<void>((resolve) => (this.#end = resolve));
  #isPaused = false;
  #isOver = false;
  #failure: unknown;
  #isStopping = false;

  constructor(
    private readonly peer: Peer,
    readonly translation: Translation,
  ) {}

  /** Whether there is something to take. */
  get hasNews(): boolean {
    return this.#envelopes.length > 0 || this.#asked.length > 0 || this.#isOver;
  }

  get hasEnvelopes(): boolean {
    return this.#envelopes.length > 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  notification(method: string, params: unknown): void {
    if (this.#isOver || !isObject(params)) return;
    if (method === 'session/update') this.#tell(this.translation.update(params));
    if (method === '$/cancel_request') this.#withdraw(params['requestId'] as JsonRpcId);
  }

  permission(id: JsonRpcId, params: unknown): void {
    if (this.#isStopping || this.#isOver) return this.peer.reply(id, CANCELLED);
    const { call, envelopes } = this.translation.asked(params);
    const permission = { id, request: (params ?? {}) as PermissionRequest, call };
    this.#open.set(id, permission);
    this.#asked.push(permission);
    this.#tell(envelopes);
    this.#wake?.();
  }

  /** Whether the agent has ended without an answer to the prompt. */
  get isLost(): boolean {
    return this.#failure instanceof PeerClosed;
  }

  /**
   * The prompt is answered, or never will be.
   *
   * @param failure instead of an answer
   */
  over(failure?: unknown): void {
    this.#failure = failure;
    this.#isOver = true;
    this.#end();
    this.cancelPermissions();
    this.#wake?.();
  }

  /** What the agent asks for now and later is answered with `cancelled`, and what it says is not kept. */
  stop(): void {
    this.#isStopping = true;
    this.cancelPermissions();
    this.take();
    this.#wake?.();
  }

  cancelPermissions(): void {
    for (const id of this.#open.keys()) this.peer.reply(id, CANCELLED);
    this.#open.clear();
    this.#asked = [];
  }

  /** The envelopes since the last time. */
  take(): Envelope[] {
    const taken = this.#envelopes;
    this.#envelopes = [];
    if (this.#isPaused) this.peer.resume();
    this.#isPaused = false;
    return taken;
  }

  /** The first permissions, `most` of them, that were asked for since the last time. */
  takeAsked(most: number): Permission[] {
    return this.#asked.splice(0, most);
  }

  get isAsking(): boolean {
    return this.#asked.length > 0;
  }

  /** Answers a permission, unless the agent has withdrawn it. */
  answer({ id }: Permission, outcome: object): void {
    if (this.#open.delete(id)) this.peer.reply(id, { outcome });
  }

  /** Resolves when there is something to take. */
  news(): Promise<void> {
    if (this.hasNews) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #tell(envelopes: Envelope[]): void {
    if (this.#isStopping || envelopes.length === 0) return;
    for (const envelope of envelopes) this.#envelopes.push(envelope);
    if (this.#envelopes.length >= HELD && !this.#isPaused) {
      this.#isPaused = true;
      this.peer.pause();
    }
    this.#wake?.();
  }

  #withdraw(id: JsonRpcId): void {
    if (!this.#open.delete(id)) return;
    this.#asked = this.#asked.filter((each) => each.id !== id);
    this.peer.refuse(id, -32800, 'The request was cancelled.');
  }
}

const CANCELLED = { outcome: { outcome: 'cancelled' } };
