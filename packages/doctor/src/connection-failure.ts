/** What people understand of an error of a connection. */
const SENTENCES = new Map<string, (url: URL) => string>([
  ['ENOTFOUND', ({ hostname }) => `no address is known for ${hostname}`],
  ['EAI_AGAIN', ({ hostname }) => `the name server does not answer for ${hostname}`],
  ['ECONNREFUSED', ({ host }) => `nobody listens at ${host}`],
  ['ECONNRESET', ({ host }) => `${host} closes the connection without an answer`],
  ['ETIMEDOUT', ({ host }) => `${host} does not accept connections; a firewall may be in between`],
  ['EHOSTUNREACH', ({ hostname }) => `there is no route to ${hostname}`],
  ['ENETUNREACH', ({ hostname }) => `there is no network to ${hostname}`],
  ['CERT_HAS_EXPIRED', () => 'its TLS certificate has expired'],
  ['CERT_NOT_YET_VALID', () => 'its TLS certificate is not valid yet; look at the clock of this machine'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', () => untrusted('is self-signed')],
  ['SELF_SIGNED_CERT_IN_CHAIN', () => untrusted('is signed by an authority that this machine does not know')],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    () => untrusted('is signed by an authority that this machine does not know'),
  ],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    () =>
      untrusted('comes without the certificates between it and its authority, or from an unknown authority'),
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    ({ hostname }) => `its TLS certificate is for other names than ${hostname}`,
  ],
  ['EPROTO', ({ host }) => `TLS fails: ${host} may speak http, not https`],
  ['ERR_SSL_WRONG_VERSION_NUMBER', ({ host }) => `${host} speaks http, not https`],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', ({ host }) => `${host} speaks http, not https`],
  ['HPE_INVALID_HEADER_TOKEN', ({ host }) => `${host} answers with a header that HTTP does not allow`],
  ['HPE_HEADER_OVERFLOW', ({ host }) => `${host} answers with headers of more than 16 KiB`],
  ['HPE_INVALID_CONSTANT', ({ host }) => `${host} does not speak HTTP/1.1; it may expect https`],
]);

function untrusted(why: string): string {
  return `its TLS certificate ${why}. Serve the whole chain, or name the authority in NODE_EXTRA_CA_CERTS`;
}

/** Why there is no connection, for people. */
export function connectionFailure(error: NodeJS.ErrnoException, url: URL): string {
  // Several addresses of one name: each has an error of its own.
  const first = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
  const code = first.code ?? error.code ?? '';
  const sentence = SENTENCES.get(code)?.(url);
  return sentence === undefined ? first.message : `${sentence} (${code})`;
}
