import type { Test } from 'tap';
import type { Cluster } from './cluster.ts';
import type { Listener } from './node.ts';
import { until } from './until.ts';

/** A socket at one node of a cluster, which gets the messages sent at the other. */
export class ClusterReader {
  readonly #t: Test;
  readonly #cluster: Cluster;
  readonly #listener: Listener;
  #sent = 0;

  static async open(t: Test, cluster: Cluster): Promise<ClusterReader> {
    const [one, other] = cluster.nodes;
    const { access_token: token } = one.demo.users.ada;
    return new ClusterReader(t, cluster, await other.listen(cluster.conversationId, { token }));
  }

  private constructor(t: Test, cluster: Cluster, listener: Listener) {
    this.#t = t;
    this.#cluster = cluster;
    this.#listener = listener;
  }

  /** Sends a message at the other node, and resolves when the socket has it. */
  async arrives(what: string): Promise<void> {
    const { nodes, conversationId } = this.#cluster;
    const { status, body } = await nodes[0].send(conversationId);
    this.#t.equal(status, 201, what);
    this.#sent += 1;
    await until(() => this.#listener.sequences().includes(Number(body.sequence)), { what });
  }

  /** Resolves when both nodes use the whole Redis. */
  async areWhole(): Promise<void> {
    const healthy = () =>
      Promise.all(this.#cluster.nodes.map((node) => node.metric('parley_engine_healthy')));
    await until(async () => (await healthy()).every(Boolean), { what: 'all links' });
  }

  /** Checks that the socket never changed and got every message once. */
  gotEachOnce(): void {
    const sequences = this.#listener.sequences();
    this.#t.equal(new Set(sequences).size, sequences.length, 'none came twice');
    this.#t.equal(this.#listener.created().length, this.#sent);
    this.#t.equal(this.#listener.closeCode, undefined, 'on the socket of the beginning');
  }
}
