import type { ClientError, ClientErrorReason } from '../errors/client-error.ts';
import type { ClientState } from '../events/client-events.ts';
import type { Transport } from '../link/transport.ts';
import { LiveObject } from './live-object.ts';

/** The connection of a client at a moment. */
export interface ConnectionSnapshot {
  /** `connecting`, `catching_up`, `live` or `offline`. */
  readonly state: ClientState;
  /** How events arrive; null without a connection. */
  readonly transport: Transport | null;
  /** Why there is no connection, or a request has to be repeated; null while it is live. */
  readonly error: ClientError | null;
  /** Messages of conversations and threads that wait for the server, without refused messages. */
  readonly unsent: number;
}

/** The state of a client's connection, for showing it. It lasts as long as the client. */
export class ConnectionStatus extends LiveObject<ConnectionSnapshot> {
  #state = NOTHING;
  /** Failed tries by reason, since the client was live. */
  readonly #failed = new Map<ClientErrorReason, number>();

  /** Called by the client. */
  set(part: Partial<ConnectionSnapshot>): void {
    this.#state = this.merged(this.#state, part);
  }

  /** Notes a failed try. Returns the error to report; undefined if its reason is known. */
  failed(error: ClientError): ClientError | undefined {
    const attempt = (this.#failed.get(error.reason) ?? 0) + 1;
    this.#failed.set(error.reason, attempt);
    const counted = { ...error, attempt };
    this.set({ error: counted });
    // An end is always news, and so is a message that is not kept.
    return attempt === 1 || !error.willRetry || error.key ? counted : undefined;
  }

  /** Notes that what was tried has succeeded. */
  succeeded(): void {
    this.#failed.clear();
    this.set({ error: null });
  }

  /** Does nothing: the connection ends with Client.close. */
  close(): void {}

  protected takeSnapshot(): ConnectionSnapshot {
    return this.#state;
  }
}

/** The snapshot before anything is known. */
export const NOTHING: ConnectionSnapshot = { state: 'connecting', transport: null, error: null, unsent: 0 };
