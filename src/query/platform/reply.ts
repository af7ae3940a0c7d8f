/** An answer that a controller returns instead of a stream of events. */
export class Reply {
  /**
   * @param status the HTTP status
   * @param body a `StreamableFile` is sent as it is, another object as JSON; nothing is sent if it is undefined
   * @param headers further headers of the response
   */
  constructor(
    readonly status: number,
    readonly body?: object,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}
