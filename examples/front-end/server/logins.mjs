import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const COOKIE = 'session';
const HOURS = 12;

const digestOf = (text) => createHash('sha256').update(text).digest();

/**
 * Who has logged in, in memory. Replace it with the login that you have: what counts is that `userOf` believes nothing that a
 * page can choose.
 */
export class Logins {
  #passwords;
  #secure;
  #users = new Map();

  /** @param passwords by the name of the user. Whether the cookie needs HTTPS: `secure` */
  constructor(passwords, { secure }) {
    this.#passwords = passwords;
    this.#secure = secure ? '; Secure' : '';
  }

  /** @returns the value of `Set-Cookie`; undefined if there is no such user, or the password is another one */
  begin(name, password) {
    const expected = this.#passwords.get(name);
    const isRight = timingSafeEqual(digestOf(String(password)), digestOf(expected ?? ''));
    if (expected === undefined || !isRight) return undefined;
    const id = randomBytes(32).toString('base64url');
    this.#users.set(id, { name, until: Date.now() + HOURS * 3_600_000 });
    return this.#cookie(id, HOURS * 3_600);
  }

  /** @returns the value of `Set-Cookie` */
  end(request) {
    this.#users.delete(idOf(request));
    return this.#cookie('', 0);
  }

  /** @returns the name of the user; undefined if nobody has logged in */
  userOf(request) {
    const found = this.#users.get(idOf(request));
    return found && found.until > Date.now() ? found.name : undefined;
  }

  /** No script reads it, and no page of another site sends it. */
  #cookie(id, seconds) {
    return `${COOKIE}=${id}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${this.#secure}`;
  }
}

function idOf({ headers }) {
  return new RegExp(`(?:^|; )${COOKIE}=([\\w-]+)`).exec(headers.cookie ?? '')?.[1];
}
