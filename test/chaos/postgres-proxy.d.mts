/** What happens to statements; see `FAULTS`. */
export interface Fault {
  kind: string;
  /** The number of the first statement that is disturbed, from 1. */
  at: number;
  /** How long all later statements are disturbed too. */
  periodMs?: number;
  delayMs?: number;
  sqlState?: string;
}

/** See `postgres-proxy.mjs`. */
export declare class PostgresProxy {
  static start(url: string): Promise<PostgresProxy>;
  readonly url: string;
  readonly statements: number;
  readonly injected: number;
  readonly struck: string | undefined;
  arm(fault: Fault | undefined): void;
  hold(): void;
  release(): void;
  silenceListeners(): number;
  silencePools(): number;
  close(): Promise<void>;
}
