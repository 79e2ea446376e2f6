import { lookup, Resolver } from 'node:dns/promises';
import { KeyedLimiter } from '../lifecycle.ts';

/**
 * Returns all addresses of a name. The servers of DNS are asked without a thread, so that a name
 * whose server is slow holds up no other one. A name that they do not know may be one of this
 * machine (its hosts file, a search domain): that look-up occupies one of the process's four
 * threads until it ends, and files and compression need the others.
 */
export async function resolveName(
  name: string,
  dns: Pick<Resolver, 'resolve4' | 'resolve6'> = DNS,
): Promise<readonly string[]> {
  const answers = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found;
  const slow = answers.find((answer) => answer.status === 'rejected' && answer.reason.code === 'ETIMEOUT');
  if (slow?.status === 'rejected') throw slow.reason;
  return lookups.run({}, async () => (await lookup(name, { all: true })).map(({ address }) => address));
}

const DNS = new Resolver({ timeout: 2_000, tries: 2 });
const lookups = new KeyedLimiter(2);
