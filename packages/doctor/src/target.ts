/** The endpoint of an agent as the user's clients reach it. */
export interface Target {
  /** Protocol, host and port. */
  origin: URL;
  /** The path of the endpoint, such as `/api/query`. */
  path: string;
  /** What every request has: the credential. */
  headers: Record<string, string>;
}
