import pg from 'pg';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import {
  type ConnectionOptions,
  type ConnectionOptionsInput,
  connectionOptions,
} from './connection-options.ts';
import { placeOf, serversOf } from './servers.ts';
import { IS_WRITABLE, LatestTimeline, READ_STATE, type ServerState } from './timeline.ts';
import { DatabaseUnavailableError } from './unavailable.ts';

export interface PrimaryOptions {
  readonly url: string;
  readonly log: Logger;
  /** See ConnectionOptionsInput. */
  readonly isPooled?: boolean;
  /** Whether the other address of the same servers wants the primary. */
  readonly isChecked?: boolean;
  /** Shared by the addresses of the same servers. */
  readonly latest?: LatestTimeline;
}

/**
 * Finds the primary of an address. All connections of a node are opened through it. For an address
 * of one host without `target_session_attrs` it is that host. Only new connections ask the host
 * whether it takes changes, because another server may be behind such an address at any time.
 *
 * For other addresses, a separate connection to each server asks once a second what the server is.
 * So the node learns of a promotion even if the former primary hangs or still answers. A new
 * connection goes to the writable server with the latest timeline, which it shows in the answer to
 * its settings. Connections to any other server end at once.
 */
export class Primary {
  readonly place: string;
  /** Called when a primary is found after a time without one, and when it changes. */
  onFound: (() => void) | undefined;
  readonly #options: PrimaryOptions;
  readonly #isChecked: boolean;
  readonly #latest: LatestTimeline;
  readonly #servers: readonly Server[];
  /** The node's connections, with what their server was when they were opened. */
  readonly #open = new Map<pg.Client, { readonly server: Server; readonly timeline: number }>();
  #loops: Loop[] = [];
  /** The server that `onFound` was last called for; undefined without a primary. */
  #found: Server | undefined;

  constructor(options: PrimaryOptions) {
    const { urls, isPrimaryWanted } = serversOf(options.url);
    this.#options = options;
    this.place = placeOf(options.url);
    this.#isChecked = isPrimaryWanted || options.isChecked === true;
    this.#latest = options.latest ?? new LatestTimeline();
    this.#servers = urls.map((url) => new Server(url));
    this.#latest.onRaised(() => this.#endEarlier());
  }

  /** Asks every server. Rejects if none is a primary; otherwise asks again until `close`. */
  async find(): Promise<void> {
    if (!this.#isChecked) return;
    await Promise.all(this.#servers.map((server) => this.#look(server)));
    if (this.#current === undefined) {
      throw new Error(this.#servers.map(({ place, problem }) => `${place}: ${problem}`).join('; '));
    }
    this.#loops = this.#servers.map(
      (server) =>
        new Loop({
          intervalMs: SEEK_MS,
          run: async () => {
            const sinceMs = performance.now() - server.lookedAtMs;
            if (this.#current === undefined || sinceMs > LOOK_MS - SEEK_MS / 2) await this.#look(server);
          },
          onError: (error) => this.#options.log.warn({ err: error }, 'could not look for the primary'),
        }),
    );
  }

  /** Returns the options of a connection to the server that is the primary when it is opened. */
  connectionOptions(
    input: Omit<ConnectionOptionsInput, 'url' | 'isPooled' | 'reads' | 'onRead'>,
  ): ConnectionOptions {
    const { isPooled } = this.#options;
    const first = { ...input, isPooled, url: this.#servers[0]!.url };
    if (!this.#isChecked) {
      return connectionOptions({
        ...first,
        reads: IS_WRITABLE,
        onRead: (_, state) => {
          if ((state as Partial<ServerState> | undefined)?.is_writable !== false) return;
          throw new DatabaseUnavailableError(`${this.place} is read-only: it is not the primary`);
        },
      });
    }
    return {
      ...connectionOptions({
        ...first,
        reads: READ_STATE,
        onRead: (client, state) => this.#opened(client as ClientOf, state as ServerState),
      }),
      Client: clientOf(() => this.#current, this.place),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.close()));
    for (const server of this.#servers) server.forget();
  }

  /** The server with the latest timeline among those that answered lately; of equals, the first. */
  get #current(): Server | undefined {
    if (!this.#isChecked) return this.#servers[0];
    let current: Server | undefined;
    for (const server of this.#servers) {
      const { state } = server;
      if (state === undefined || !this.#latest.admits(state)) continue;
      if (current === undefined || state.timeline > current.state!.timeline) current = server;
    }
    return current;
  }

  async #look(server: Server): Promise<void> {
    const { isPooled } = this.#options;
    const limits = { statementTimeoutMs: 0, queryTimeoutMs: ANSWER_MS };
    await server.look(
      connectionOptions({ ...limits, isPooled, url: server.url, settings: { idle_session_timeout: 0 } }),
    );
    const { state, place } = server;
    if (state !== undefined && !this.#latest.admits(state)) {
      this.#end((one) => one.server === server, `${place} is not the primary`);
    }
    const current = this.#current;
    if (current === this.#found) return;
    this.#found = current;
    const { timeline } = this.#latest;
    if (current === undefined) this.#options.log.warn({ timeline }, 'there is no primary of Postgres');
    else {
      this.#options.log.info(
        { server: current.place, timeline },
        'connections go to this primary of Postgres',
      );
      this.onFound?.();
    }
  }

  #opened(client: ClientOf, state: ServerState): void {
    const { server } = client;
    if (!this.#latest.admits(state))
      throw new DatabaseUnavailableError(`${server!.place} is not the primary`);
    this.#open.set(client, { server: server!, timeline: state.timeline });
    client.once('end', () => this.#open.delete(client));
  }

  #endEarlier(): void {
    const { timeline } = this.#latest;
    this.#end((one) => one.timeline < timeline, `a server was promoted to timeline ${timeline}`);
  }

  #end(isMeant: (one: { server: Server; timeline: number }) => boolean, reason: string): void {
    for (const [client, one] of this.#open) {
      if (isMeant(one)) client.connection.stream.destroy(new DatabaseUnavailableError(reason));
    }
  }
}

/** Milliseconds between looks at a server: with a primary, and without one. */
const LOOK_MS = 1_000;
const SEEK_MS = 250;
/**
 * Milliseconds until a server without an answer counts as away. A primary that hangs is left when
 * another is promoted.
 */
const ANSWER_MS = 3_000;

/** One server of the address, and the connection that asks what it is. */
class Server {
  readonly url: string;
  readonly place: string;
  /** Its last answer; undefined while it does not answer. */
  state: ServerState | undefined;
  /** The reason why it is not the primary. */
  problem = '';
  lookedAtMs = 0;
  #client: pg.Client | undefined;

  constructor(url: string) {
    this.url = url;
    this.place = placeOf(url);
  }

  /** Asks the server for its state. Never rejects. */
  async look(options: ConnectionOptions): Promise<void> {
    this.lookedAtMs = performance.now();
    try {
      this.#client ??= await this.#connect(options);
      const { rows } = await this.#client.query<ServerState>(`SELECT ${READ_STATE}`);
      this.state = rows[0];
      this.problem = 'it is read-only, or of an earlier timeline';
    } catch (error) {
      this.problem = (error as Error).message;
      this.forget();
    }
  }

  forget(): void {
    this.state = undefined;
    const client = this.#client;
    this.#client = undefined;
    client?.connection.stream.destroy();
  }

  async #connect(options: ConnectionOptions): Promise<pg.Client> {
    const client = new pg.Client({ ...options, application_name: 'parley watch' });
    const lost = () => {
      if (this.#client === client) this.forget();
    };
    client.on('error', lost);
    client.on('end', lost);
    try {
      await client.connect();
      await options.onConnect(client);
      return client;
    } catch (error) {
      client.connection.stream.destroy();
      throw error;
    }
  }
}

/** A client that goes to the server that is the primary when it is made. */
interface ClientOf extends pg.Client {
  readonly server: Server | undefined;
}

function clientOf(current: () => Server | undefined, place: string): typeof pg.Client {
  return class extends pg.Client implements ClientOf {
    readonly server: Server | undefined;
    readonly #connect: (callback?: (error: Error) => void) => unknown;

    constructor(config: pg.ClientConfig) {
      const server = current();
      super(server === undefined ? config : { ...config, connectionString: server.url });
      this.server = server;
      this.#connect = super.connect as never;
    }

    override connect(callback?: unknown): Promise<never> {
      if (this.server !== undefined) return this.#connect(callback as never) as Promise<never>;
      const error = new DatabaseUnavailableError(`there is no primary at ${place}`);
      if (typeof callback !== 'function') return Promise.reject(error);
      process.nextTick(callback, error);
      return undefined as never;
    }
  } as typeof pg.Client;
}
