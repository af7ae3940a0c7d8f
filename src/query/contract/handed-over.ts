/** Why the signal of a handler is aborted if the run goes on: in another attempt, of this or of another process. */
export class HandedOver extends Error {
  override readonly name = 'HandedOver';

  constructor() {
    super('The run continues in another attempt.');
  }
}
