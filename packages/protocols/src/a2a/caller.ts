import type { HostRequest, HostResponse } from 'nest-agent-query/protocol';
import type { Face } from './face.js';

/** Who calls an operation, and how the answer is written. */
export interface Caller {
  owner: string;
  request: HostRequest;
  response: HostResponse;
  /** How its version writes what it gets. */
  face: Face;
  /** The path of the route below that of the view; empty for JSON-RPC. */
  route: string;
  /** What is before and after an event of a stream: the members of a JSON-RPC response. */
  frame: readonly [string, string];
}
