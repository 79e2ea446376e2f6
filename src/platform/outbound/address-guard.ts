import { isIP, type LookupFunction, type Socket } from 'node:net';
import { AllowedPlaces, isPublicAddress } from './addresses.ts';
import { OutboundError } from './outbound-error.ts';
import type { Target } from './outbound-url.ts';
import { resolveName } from './resolve-name.ts';

export interface AddressGuardOptions {
  /** `PARLEY_FETCH_ALLOW`. */
  readonly allow: readonly string[];
  /** Returns all addresses of a name. Default: `resolveName`. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

/**
 * Decides which hosts may be connected to: public addresses, and what the operator allows. The
 * address that is connected to counts: each result of a look-up is checked where the socket takes
 * it, so that a name cannot gain anything by changing its address, and a literal address is checked
 * before.
 */
export class AddressGuard {
  readonly #allowed: AllowedPlaces;
  readonly #resolve: (name: string) => Promise<readonly string[]>;

  constructor({ allow, resolve = (name) => resolveName(name) }: AddressGuardOptions) {
    this.#allowed = new AllowedPlaces(allow);
    this.#resolve = resolve;
  }

  /**
   * Returns whether the operator allows this place by its name or literal address, whether or not
   * it is public.
   */
  isAllowed({ host, port }: Target): boolean {
    return this.#allowed.hasName(host, port) || this.#allowed.hasAddress(host, port);
  }

  /**
   * Throws OutboundError `insufficient_permissions` for a literal address that may not be reached.
   * It needs no look-up: a socket connects to it as it stands.
   */
  requireLiteral({ host, port }: Target): void {
    if (isIP(host) !== 0 && !this.#permits(host, port)) throw notPublic();
  }

  /**
   * Returns a look-up for sockets that yields only those addresses of the name that may be reached.
   */
  lookupFor({ port }: Target, signal?: AbortSignal): LookupFunction {
    return (name, { all }, callback) => {
      this.#addressesOf(name, port, signal).then(
        (addresses) => {
          const found = addresses.map((address) => ({ address, family: isIP(address) }));
          if (all === true) callback(null, found);
          else callback(null, found[0]!.address, found[0]!.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, []),
      );
    };
  }

  /**
   * Throws OutboundError `insufficient_permissions` unless the connected address may be reached,
   * however it came about.
   */
  requireConnected({ remoteAddress = '' }: Socket, { host, port }: Target): void {
    if (!this.#allowed.hasName(host, port) && !this.#permits(remoteAddress, port)) throw notPublic();
  }

  async #addressesOf(name: string, port: number, signal?: AbortSignal): Promise<readonly string[]> {
    const all = await this.#resolve(name);
    // The caller has given up.
    signal?.throwIfAborted();
    if (all.length === 0) throw new OutboundError('connection_error', 'This name has no address.');
    const open = this.#allowed.hasName(name, port) ? all : all.filter((found) => this.#permits(found, port));
    if (open.length === 0) throw notPublic();
    return open;
  }

  #permits(address: string, port: number): boolean {
    return isPublicAddress(address) || this.#allowed.hasAddress(address, port);
  }
}

function notPublic(): OutboundError {
  return new OutboundError('insufficient_permissions', 'This address is not public.');
}
