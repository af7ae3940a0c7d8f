/**
 * Why the signal of a handler is aborted if the run goes on: in another attempt, of this or of another process.
 *
 * @example
 * if (signal.reason instanceof HandedOver) return; // The next attempt needs what this one has.
 */
export class HandedOver extends Error {
  override readonly name = 'HandedOver';

  constructor() {
    super('The run continues in another attempt.');
  }
}
