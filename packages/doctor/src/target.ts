import type { RequestOptions } from 'node:http';
import type { TLSSocket } from 'node:tls';

/** The endpoint of an agent as the user's clients reach it. */
export interface Target {
  /** Protocol, host and port. */
  origin: URL;
  /** The path of the endpoint, such as `/api/query`. */
  path: string;
  /** What every request has: the credential. */
  headers: Record<string, string>;
  /** A proxy that every request goes through. Default: none. */
  through?: Through | undefined;
}

/** A proxy that this machine uses to reach others. */
export interface Through {
  /** What it is, for people, as a part of a sentence. */
  name: string;
  /** What `http.request` needs where the request itself is sent to the proxy; undefined where the proxy only connects. */
  relayed(target: URL): RequestOptions | undefined;
  /** Connects to an address, with TLS if it has `https:`, which offers to speak these protocols (ALPN). */
  open(target: URL, protocols: string[]): Promise<TLSSocket>;
  /** What an error of a relayed request says about the proxy; undefined if nothing. */
  failureOf(error: NodeJS.ErrnoException): Error | undefined;
}
