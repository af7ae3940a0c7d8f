import { type Fix, NOTHING } from './fix.js';
import { FIXES, type FixName } from './fixes.js';
import { PROXIES, type ProxyName, type SeenProxy } from './proxies.js';

/** One remedy, with the title of the proxy that it is for; without a title, it is for all. */
export interface Remedy {
  proxy?: string;
  text: string;
}

/**
 * The remedies of a finding: those of the proxies that were seen. A proxy without a remedy of its own has the one for unknown
 * proxies. If no proxy was seen, those of all that have something to set. Some faults have no remedy in proxies.
 */
export function remediesOf(name: FixName, subject: string, seen: readonly SeenProxy[]): Remedy[] {
  const { always, ...of }: Fix = FIXES[name];
  const known = (Object.keys(PROXIES) as ProxyName[]).filter(
    (proxy) => proxy !== 'unknown' && of[proxy]?.startsWith(NOTHING) === false,
  );
  if (always !== undefined && Object.keys(of).length === 0) return [{ text: always }];
  const shown = seen.length > 0 ? [...new Set(seen.map((each) => each.name))] : known;
  const remedies = shown.map((proxy) => ({
    proxy: PROXIES[proxy],
    text: (of[proxy] ?? of.unknown ?? UNKNOWN).replaceAll('%', () => subject),
  }));
  return always === undefined ? remedies : [...remedies, { text: always }];
}

const UNKNOWN = 'the doctor knows no setting of it for this';
