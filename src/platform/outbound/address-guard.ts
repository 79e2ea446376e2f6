import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import type { buildConnector } from 'undici';
import { KeyedLimiter } from '../lifecycle.ts';
import { AllowedPlaces, isPublicAddress } from './addresses.ts';
import type { Target } from './outbound-url.ts';
import { OutboundError, readOutboundUrl, targetOf } from './outbound-url.ts';

export interface AddressGuardOptions {
  /** `PARLEY_FETCH_ALLOW`. */
  readonly allow: readonly string[];
  /** Whether refusals name that variable, for developers who try a server on their own machine. */
  readonly namesVariable?: boolean;
  /** Resolves to all addresses of a name. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

/**
 * Permits public addresses and what the operator allows. The address that is connected to counts:
 * each result of a look-up is checked where the socket takes it, so a name gains nothing by
 * changing its address. A literal address is checked before.
 */
export class AddressGuard {
  readonly #allowed: AllowedPlaces;
  readonly #namesVariable: boolean;
  readonly #resolve: (name: string) => Promise<readonly string[]>;

  constructor({ allow, namesVariable = false, resolve = (name) => resolveName(name) }: AddressGuardOptions) {
    this.#allowed = new AllowedPlaces(allow);
    this.#namesVariable = namesVariable;
    this.#resolve = resolve;
  }

  /** Returns whether the operator allows this place, even if not public, by name or address. */
  isAllowed({ host, port }: Target): boolean {
    return this.#allowed.hasName(host, port) || this.#allowed.hasAddress(host, port);
  }

  /**
   * Throws OutboundError `insufficient_permissions` for a forbidden literal address. Sockets
   * connect to it without a look-up.
   */
  requireLiteral({ host, port }: Target): void {
    if (isIP(host) !== 0 && !this.#permits(host, port)) throw this.#notPublic();
  }

  /** Returns a look-up for sockets that yields only the permitted addresses of a name. */
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

  /** Throws OutboundError `insufficient_permissions` if the connected address is forbidden. */
  requireConnected({ remoteAddress = '' }: Socket, { host, port }: Target): void {
    if (!this.#allowed.hasName(host, port) && !this.#permits(remoteAddress, port)) throw this.#notPublic();
  }

  async #addressesOf(name: string, port: number, signal?: AbortSignal): Promise<readonly string[]> {
    const all = await this.#resolve(name);
    signal?.throwIfAborted();
    if (all.length === 0) throw new OutboundError('connection_error', 'This name has no address.');
    const open = this.#allowed.hasName(name, port) ? all : all.filter((found) => this.#permits(found, port));
    if (open.length === 0) throw this.#notPublic();
    return open;
  }

  #permits(address: string, port: number): boolean {
    return isPublicAddress(address) || this.#allowed.hasAddress(address, port);
  }

  #notPublic(): OutboundError {
    const wayOut = this.#namesVariable ? ' Start the server with PARLEY_FETCH_ALLOW to allow it.' : '';
    return new OutboundError('insufficient_permissions', `This address is not public.${wayOut}`);
  }
}

/**
 * Resolves to all addresses of a name. DNS servers are asked without a thread, so a name whose
 * server is slow holds up no other. A name that they do not know may be one of this machine (its
 * hosts file, a search domain). That look-up occupies one of the process's four threads until it
 * ends, which files and compression need as well.
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

/**
 * Returns undici, loaded by the first request: its hundred files would slow down the start, and
 * many nodes never send a request.
 */
export function loadUndici(): Promise<Undici> {
  loaded ??= import('undici');
  return loaded;
}
export type Undici = typeof import('undici');
let loaded: Promise<Undici> | undefined;

/**
 * Returns undici's connector for `target`, whose literal address has passed `guard.requireLiteral`.
 * A look-up yields permitted addresses only, and the connected address is checked before a request
 * is written.
 */
export function guardedConnector(
  undici: Undici,
  guard: AddressGuard,
  target: Target,
  { signal, allowH2 = false }: { readonly signal?: AbortSignal; readonly allowH2?: boolean } = {},
): buildConnector.connector {
  const { host } = target;
  const lookup = guard.lookupFor(target, signal);
  const connect = undici.buildConnector({ lookup, allowH2, timeout: CONNECT_MS });
  const place = { hostname: host, ...(isIP(host) === 0 && { servername: host }) };
  return (options, callback) => {
    connect({ ...options, ...place }, (...outcome) => {
      const [error, socket] = outcome;
      try {
        if (error === null) guard.requireConnected(socket, target);
        callback(...outcome);
      } catch (refusal) {
        socket?.destroy();
        callback(refusal as Error, null);
      }
    });
  };
}

/** Milliseconds for a look-up and a connection; callers have lower limits for a whole request. */
const CONNECT_MS = 20_000;

/** Characters. Escaping makes a URL longer, and a row of an index has room for this much. */
const MAX_URL = 2_000;

/**
 * Returns the URL of a receiver, named in the parameter `param`: https (or http if the operator
 * allows the host), without credentials. Throws ApiError `invalid_format` if it is not a URL,
 * otherwise `validation_failed`, also for a literal address that could not be reached anyway. Names
 * may change their addresses, so each request checks them again.
 */
export function readReceiverUrl(text: string, param: string, guard: AddressGuard): URL {
  try {
    const url = readOutboundUrl(text);
    const target = targetOf(url);
    guard.requireLiteral(target);
    if (!target.isSecure && !guard.isAllowed(target)) throw invalid(param, 'Must be an https URL.');
    if (url.href.length > MAX_URL) throw invalid(param, `Must be at most ${MAX_URL} characters.`);
    return url;
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.condition !== 'invalid_format') throw invalid(param, error.message);
    throw new ApiError('invalid_format', error.message, { param });
  }
}
