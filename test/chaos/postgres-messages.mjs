/** The protocol of Postgres as far as a proxy needs it (Postgres, "Frontend/Backend Protocol"): where messages end, and errors. */

/** Splits what one side sends into messages. */
export class Messages {
  #rest = Buffer.alloc(0);

  /** @param hasStartup whether the first message has no type byte, as that of a client */
  constructor(hasStartup) {
    this.isStartup = hasStartup;
  }

  /** The messages that are complete now, each with its type; that of the startup message is `startup`. */
  *read(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const typeLength = this.isStartup ? 0 : 1;
      if (this.#rest.length < typeLength + 4) return;
      const length = typeLength + this.#rest.readInt32BE(typeLength);
      if (this.#rest.length < length) return;
      const bytes = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      const type = this.isStartup ? 'startup' : String.fromCharCode(bytes[0]);
      this.isStartup = false;
      yield { type, bytes };
    }
  }
}

/** The SQL of a `Query` or `Parse` message; undefined for other messages. */
export function sqlOf({ type, bytes }) {
  if (type === 'Q') return bytes.toString('utf8', 5, bytes.length - 1);
  if (type !== 'P') return undefined;
  const name = bytes.indexOf(0, 5);
  return bytes.toString('utf8', name + 1, bytes.indexOf(0, name + 1));
}

/** A `Query` message. */
export function query(sql) {
  return message('Q', `${sql}\0`);
}

/** An `ErrorResponse` after which the server closes the connection. */
export function fatalError(sqlState) {
  return message('E', `SFATAL\0VFATAL\0C${sqlState}\0Man injected error\0\0`);
}

function message(type, text) {
  const body = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
