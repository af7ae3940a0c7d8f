/** A JSON answer that a controller returns instead of a stream. */
export class Reply {
  /**
   * @param status the HTTP status
   * @param body written as JSON; nothing is written if it is undefined
   * @param headers further headers of the response
   */
  constructor(
    readonly status: number,
    readonly body?: object,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}
