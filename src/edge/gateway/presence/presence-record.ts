import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { Loop } from '../../../platform/lifecycle.ts';

export interface PresenceRecordOptions {
  readonly database: Pick<Database, 'query'>;
  /** New for every start of a node; the rows of an earlier start end with its id. */
  readonly nodeId: string;
  /** Milliseconds that an actor counts after its last socket, and the rows of a dead node. */
  readonly holdMs: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Writes the presence that sockets of this node declare to Postgres, for REST on any node
 * (core/accounts/people/people.ts). It writes a row for an actor when its status here changes, and
 * one row for the node at intervals. An actor without a declaration costs nothing. A failed write
 * is repeated in the next round.
 */
export class PresenceRecord {
  readonly #options: PresenceRecordOptions;
  /** The statuses that sockets declared, by actor. */
  readonly #actors = new Map<string, Map<object, DeclaredStatus>>();
  readonly #actorOf = new Map<object, string>();
  /** Statuses that Postgres does not have yet, by actor. */
  #unwritten = new Map<string, Present>();
  readonly #loop: Loop;
  #gathering: NodeJS.Timeout | undefined;
  /** Rows of actors that left may need removal until then (`performance.now()`). */
  #sweptUntilMs = 0;

  constructor(options: PresenceRecordOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: Math.ceil(options.holdMs / ROUNDS_A_HOLD),
      run: () => this.#round(),
      onError: options.onError,
    });
  }

  declare(socket: object, actorId: string, status: DeclaredStatus): void {
    const sockets = this.#actors.get(actorId) ?? new Map<object, DeclaredStatus>();
    this.#actors.set(actorId, sockets);
    sockets.set(socket, status);
    this.#actorOf.set(socket, actorId);
    this.#changed(actorId, best(sockets));
  }

  /** Must be called when a socket has closed. */
  left(socket: object): void {
    const actorId = this.#actorOf.get(socket);
    if (actorId === undefined) return;
    this.#actorOf.delete(socket);
    const sockets = this.#actors.get(actorId)!;
    const last = sockets.get(socket)!;
    sockets.delete(socket);
    if (sockets.size > 0) {
      this.#changed(actorId, best(sockets));
      return;
    }
    this.#actors.delete(actorId);
    this.#changed(actorId, { status: last, here: false });
  }

  /** Writes that the actors of this node have left. Must be called after its sockets closed. */
  async close(): Promise<void> {
    clearTimeout(this.#gathering);
    await this.#loop.close();
    for (const socket of [...this.#actorOf.keys()]) this.left(socket);
    clearTimeout(this.#gathering);
    await this.#round().catch(this.#options.onError);
  }

  /** Gathers changes briefly: a thousand sockets that come at once are one statement. */
  #changed(actorId: string, present: Present): void {
    this.#unwritten.set(actorId, present);
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#loop.wake();
    }, GATHER_MS);
  }

  async #round(): Promise<void> {
    const { database, nodeId, holdMs } = this.#options;
    const isIdle = this.#actors.size === 0 && this.#unwritten.size === 0;
    if (isIdle && performance.now() > this.#sweptUntilMs) return;
    const [node] = await database.query(RENEW_NODE, nodeId, holdMs);
    // The earlier rows are gone: Postgres crashed, or this node was silent for long.
    if (node!.is_new) {
      for (const [actorId, sockets] of this.#actors) this.#unwritten.set(actorId, best(sockets));
    }
    await this.#write();
    await database.query(SWEEP, nodeId);
  }

  async #write(): Promise<void> {
    const written = this.#unwritten;
    if (written.size === 0) return;
    this.#sweptUntilMs = performance.now() + 2 * this.#options.holdMs;
    this.#unwritten = new Map();
    // Sorted on every node, so that two statements cannot wait for each other.
    const rows = [...written].sort(([a], [b]) => (a < b ? -1 : 1));
    try {
      await this.#options.database.query(
        WRITE,
        this.#options.nodeId,
        rows.map(([actorId]) => actorId),
        rows.map(([, { status }]) => status),
        rows.map(([, { here }]) => here),
        this.#options.holdMs,
      );
    } catch (error) {
      this.#unwritten = new Map([...written, ...this.#unwritten]);
      throw error;
    }
  }
}

/** `here` is false after the last socket has closed. */
interface Present {
  readonly status: DeclaredStatus;
  readonly here: boolean;
}

function best(sockets: ReadonlyMap<object, DeclaredStatus>): Present {
  const isOnline = [...sockets.values()].includes('online');
  return { status: isOnline ? 'online' : 'away', here: true };
}

const GATHER_MS = 50;
/** Two rounds may fail before the actors of a node count as gone. */
const ROUNDS_A_HOLD = 3;

const RENEW_NODE = statement<[nodeId: string, holdMs: number], { readonly is_new: boolean }>(
  'renew-presence-node',
)`
    INSERT INTO presence_nodes (id, until) VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
    ON CONFLICT (id) DO UPDATE SET until = excluded.until RETURNING xmax = 0 AS is_new`;

const WRITE = statement<
  [
    nodeId: string,
    actorIds: readonly string[],
    statuses: readonly string[],
    here: readonly boolean[],
    holdMs: number,
  ]
>('write-presences')`
    INSERT INTO presences (actor_id, node_id, status, until)
    SELECT d.actor_id, $1, d.status, CASE WHEN NOT d.here THEN clock_timestamp() + $5 * interval '1 millisecond' END
    FROM unnest($2::text[], $3::text[], $4::boolean[]) AS d (actor_id, status, here)
    ON CONFLICT (actor_id, node_id) DO UPDATE SET status = excluded.status, until = excluded.until`;

/** Removes this node's expired rows and all rows of ended nodes; a returning node rewrites its. */
const SWEEP = statement<[nodeId: string]>('sweep-presences')`
    WITH ended AS (
      DELETE FROM presence_nodes WHERE id IN (
        SELECT id FROM presence_nodes WHERE until < clock_timestamp() - interval '1 minute' FOR UPDATE SKIP LOCKED
      ) RETURNING id
    )
    DELETE FROM presences WHERE node_id IN (SELECT id FROM ended) OR (node_id = $1 AND until < clock_timestamp())`;
