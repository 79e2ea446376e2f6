import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an address belongs to the public internet: nobody's loopback, private network, link, metadata service,
 * test network, multicast group or tunnel. `address`: as sockets and look-ups write it.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === undefined) return false;
  if (parsed.kind() === 'ipv4') return parsed.range() === 'unicast' && parsed.toString() !== AZURE_HOST;
  const v6 = parsed as ipaddr.IPv6;
  // A translator's prefix says nothing: what counts is the IPv4 address behind it.
  if (v6.match(TRANSLATED)) return isPublicAddress(embedded(v6));
  // The rest of what is not 2000::/3 is special or nobody's: IPv4-compatible addresses among it.
  return v6.match(GLOBAL_UNICAST) && v6.range() === 'unicast';
}

/** What may be reached besides public addresses, each on every port or on one: `PARLEY_FETCH_ALLOW`. */
export class AllowedPlaces {
  readonly #names: { readonly name: string; readonly port: number | null }[] = [];
  readonly #networks: { readonly list: BlockList; readonly port: number | null }[] = [];

  /** `places` as config.ts has accepted them: `127.0.0.1:8000`, `10.0.0.0/8`, `[::1]:80`, `files.internal`. */
  constructor(places: readonly string[]) {
    for (const place of places) this.#add(place);
  }

  /** Whatever addresses it has. `name` in lower case. */
  hasName(name: string, port: number): boolean {
    return this.#names.some((place) => place.name === name && isPort(place.port, port));
  }

  hasAddress(address: string, port: number): boolean {
    const parsed = parse(address);
    if (parsed === undefined) return false;
    return this.#networks.some(
      (place) => isPort(place.port, port) && place.list.check(parsed.toString(), parsed.kind()),
    );
  }

  #add(place: string): void {
    const [, host = '', bits, portText] = isIP(place) === 6 ? ['', place] : (PLACE.exec(place) ?? []);
    const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
    const port = portText === undefined ? null : Number(portText);
    const version = isIP(bare);
    if (version === 0) {
      this.#names.push({ name: bare, port });
      return;
    }
    const list = new BlockList();
    list.addSubnet(
      bare,
      bits === undefined ? (version === 4 ? 32 : 128) : Number(bits),
      version === 4 ? 'ipv4' : 'ipv6',
    );
    this.#networks.push({ list, port });
  }
}

const PLACE = /^(\[[^\]]+\]|[^/]*?)(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/;
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];
/** The host of a virtual machine in Azure: its metadata and keys, under an address like any other. */
const AZURE_HOST = '168.63.129.16';
/** RFC 6052. */
const TRANSLATED: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

function isPort(allowed: number | null, port: number): boolean {
  return allowed === null || allowed === port;
}

/** IPv4 addresses that are mapped into IPv6 are what they stand for. Spellings that only look-ups know are none. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = address.replace(/%.*$/, '');
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare);
}

function embedded(address: ipaddr.IPv6): string {
  return address.toByteArray().slice(12).join('.');
}
