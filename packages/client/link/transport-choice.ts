import { TRANSPORTS, type Transport } from './transport.ts';
import type { TransportMemory } from './transport-memory.ts';

/**
 * The progress of a connection before its end: no frame of the server, some frames, or a heartbeat
 * too.
 */
export type Progress = 'unanswered' | 'answered' | 'proven';

/**
 * Chooses the transport of the next connection. Networks that block a transport seldom say it: they
 * refuse it, cut it early, answer nothing, or hold the answer back. All transports share one budget
 * of connections that may end early. Otherwise a transport that never passes its first frames would
 * be opened again and again. Only a heartbeat restores the budget.
 */
export class TransportChoice {
  readonly #allowed: readonly Transport[];
  readonly #memory: TransportMemory;
  /**
   * Transports that worked in this session: an end before the first frame is no sign of a block.
   */
  readonly #proven = new Set<Transport>();
  /** The transport of the next connection. */
  current: Transport;
  #spent = 0;
  /** The server of the newest try. */
  #origin = '';

  /** Throws TypeError unless `allowed` names one transport or more. */
  constructor(allowed: readonly Transport[], memory: TransportMemory) {
    this.#allowed = TRANSPORTS.filter((transport) => allowed.includes(transport));
    this.#memory = memory;
    const [best] = this.#allowed;
    if (best === undefined || allowed.some((transport) => !this.#allowed.includes(transport))) {
      throw new TypeError(`transports must be some of ${TRANSPORTS}.`);
    }
    this.current = best;
  }

  /** Better transports than the current one, best first. */
  get better(): readonly Transport[] {
    return this.#allowed.slice(0, this.#allowed.indexOf(this.current));
  }

  /** Whether there is another transport behind the current one. */
  get hasNext(): boolean {
    return this.#next !== undefined;
  }

  /**
   * Notes the server of a try. The first try begins with the transport that worked for it before.
   */
  recall(origin: string): void {
    const known = this.#origin === '' ? this.#memory.read(origin) : undefined;
    this.#origin = origin;
    if (known !== undefined && this.#allowed.includes(known)) this.current = known;
  }

  /** Notes that a connection to that server, over this transport, is ready. */
  opened(transport: Transport): void {
    if (transport !== this.current) {
      this.current = transport;
      // The former transport works: one failure of this one leads back to it.
      this.#spent = BUDGET;
    }
    this.#memory.write(this.#origin, transport === this.#allowed[0] ? undefined : transport);
  }

  /** Notes that a heartbeat arrived over this transport. */
  proved(transport: Transport): void {
    this.#proven.add(transport);
    if (transport === this.current) this.#spent = 0;
  }

  /**
   * Notes that the network ended a connection. Returns whether another transport is to be tried at
   * once; false asks for a wait.
   */
  failed(transport: Transport, progress: Progress): boolean {
    if (transport !== this.current || progress === 'proven') return false;
    this.#spent += progress === 'unanswered' && !this.#proven.has(this.current) ? BUDGET : 1;
    if (this.#spent < BUDGET) return false;
    const next = this.#next;
    // If all transports fail, there is no network or server, and the best is tried first again.
    this.current = next ?? this.#allowed[0]!;
    return next !== undefined;
  }

  get #next(): Transport | undefined {
    return this.#allowed[this.#allowed.indexOf(this.current) + 1];
  }
}

/** Connections that may end early before the next transport is tried. */
const BUDGET = 2;
