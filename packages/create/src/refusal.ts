/** Why nothing was written, as a sentence for the person who typed the command. */
export class Refusal extends Error {
  /**
   * @param message what was wrong, and what to do
   * @param isMistyped whether the command line itself is wrong
   */
  constructor(
    message: string,
    readonly isMistyped: boolean,
  ) {
    super(message);
  }
}
