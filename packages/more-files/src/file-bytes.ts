/** A file whose bytes are fetched when they are needed. */
export interface FileBytes {
  readonly name: string;
  readonly mimeType: string;
  /** Bytes. */
  readonly size: number;
  /** Fetches the bytes from offset `start` up to, not including, `end`; both are between 0 and `size`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** To be called again and again by what takes long; throws when the time is over. */
  checkTime(): void;
}
