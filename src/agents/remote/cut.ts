/** Codes of errors after which another try fails in the same way: of certificates, of TLS, and of the HTTP parser. */
const FINAL = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO|HPE_)/;

/** A request got no response, or its response is not complete. */
export class Cut extends Error {
  override readonly name = 'Cut';

  constructor(readonly reason: NodeJS.ErrnoException) {
    super(reason.message, { cause: reason });
  }

  /** Whether the remote service may have received the request. */
  get isSent(): boolean {
    const { syscall } = this.reason;
    return syscall !== 'connect' && syscall !== 'getaddrinfo';
  }

  /** Whether another try is of no use. */
  get isFinal(): boolean {
    return FINAL.test(this.reason.code ?? '');
  }
}
