import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Returns whether an address, as sockets and look-ups return it, is of the public internet: not
 * loopback, private, link-local, a metadata service, a test network, multicast or a tunnel.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address);
  if (parsed === undefined) return false;
  if (parsed.kind() === 'ipv4') return parsed.range() === 'unicast' && parsed.toString() !== AZURE_HOST;
  const v6 = parsed as ipaddr.IPv6;
  // The prefix of a translator is irrelevant: the embedded IPv4 address counts.
  if (v6.match(TRANSLATED)) return isPublicAddress(embedded(v6));
  // Addresses outside 2000::/3 are special or unassigned, IPv4-compatible addresses among them.
  return v6.match(GLOBAL_UNICAST) && v6.range() === 'unicast';
}

/** `PARLEY_FETCH_ALLOW`: hosts and networks allowed beside public ones, on all ports or one. */
export class AllowedPlaces {
  readonly #names: { readonly name: string; readonly port: number | null }[] = [];
  readonly #networks: { readonly list: BlockList; readonly port: number | null }[] = [];

  /** `places` as in config.ts: `127.0.0.1:8000`, `10.0.0.0/8`, `[::1]:80`, `files.internal`. */
  constructor(places: readonly string[]) {
    for (const place of places) this.#add(place);
  }

  /** Returns whether the name is allowed, whatever its addresses are. `name` is in lower case. */
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
/** The Azure host of a virtual machine: metadata and keys under an address that looks public. */
const AZURE_HOST = '168.63.129.16';
/** RFC 6052. */
const TRANSLATED: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('64:ff9b::'), 96];

function isPort(allowed: number | null, port: number): boolean {
  return allowed === null || allowed === port;
}

/** Unmaps IPv4 from IPv6. Spellings that only look-ups accept are not addresses here. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = address.replace(/%.*$/, '');
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare);
}

function embedded(address: ipaddr.IPv6): string {
  return address.toByteArray().slice(12).join('.');
}
