import type { Envelope } from 'nest-agent-query';
import type { JsonRpcId, Peer } from '../process/peer.js';
import type { Translation } from '../translate/updates.js';
import { isObject, type PermissionRequest } from './protocol.js';

/** So many envelopes are held before the agent is not read any more. */
const HELD = 256;

/** A permission that the agent asks for. */
export interface Permission {
  id: JsonRpcId;
  request: PermissionRequest;
}

/** What the agent says from a prompt to its answer, in the order in which it says it. */
export class Turn {
  /** The permissions that were asked for, and not answered. */
  readonly #open = new Map<JsonRpcId, Permission>();
  #envelopes: Envelope[] = [];
  #asked: Permission[] = [];
  #wake: (() => void) | undefined;
  #isPaused = false;
  #isOver = false;
  #isStopping = false;

  constructor(
    private readonly peer: Peer,
    readonly translation: Translation,
  ) {}

  /** Whether there is something to take. */
  get hasNews(): boolean {
    return this.#envelopes.length > 0 || this.#asked.length > 0 || this.#isOver;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  notification(method: string, params: unknown): void {
    if (this.#isOver || !isObject(params)) return;
    if (method === 'session/update') this.#tell(this.translation.update(params['update']));
    if (method === '$/cancel_request') this.#withdraw(params['requestId'] as JsonRpcId);
  }

  permission(id: JsonRpcId, params: unknown): void {
    const request = params as PermissionRequest;
    if (this.#isStopping) return this.peer.reply(id, CANCELLED);
    const permission = { id, request };
    this.#open.set(id, permission);
    this.#asked.push(permission);
    this.#tell(this.translation.asked(request));
    this.#wake?.();
  }

  /** The prompt is answered, or never will be. */
  over(): void {
    this.#isOver = true;
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

  /** The permissions that were asked for since the last time, and are still open. */
  takeAsked(): Permission[] {
    const taken = this.#asked.filter(({ id }) => this.#open.has(id));
    this.#asked = [];
    return taken;
  }

  get isAsking(): boolean {
    return this.#asked.length > 0;
  }

  isOpen({ id }: Permission): boolean {
    return this.#open.has(id);
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
    this.#envelopes.push(...envelopes);
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
