import type { SocketCounts } from './messages.ts';

/** The sockets of each actor at all nodes, for the limit that holds for them together. */
export class ActorSockets<Node> {
  readonly #limit: number;
  readonly #ofNodes = new Map<Node, Map<string, number>>();
  readonly #totals = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the actors that now have as many sockets as they may, and those with room again. */
  count(node: Node, counts: SocketCounts): { readonly full: string[]; readonly free: string[] } {
    const ofNode = this.#ofNodes.get(node) ?? new Map<string, number>();
    this.#ofNodes.set(node, ofNode);
    const changed = { full: [] as string[], free: [] as string[] };
    for (const [actorId, count] of counts) {
      const before = this.#totals.get(actorId) ?? 0;
      const total = before + count - (ofNode.get(actorId) ?? 0);
      put(ofNode, actorId, count);
      put(this.#totals, actorId, total);
      if (before < this.#limit && total >= this.#limit) changed.full.push(actorId);
      if (before >= this.#limit && total < this.#limit) changed.free.push(actorId);
    }
    return changed;
  }

  /** Returns the actors that have room again because a node has ended. */
  end(node: Node): string[] {
    const gone = [...(this.#ofNodes.get(node)?.keys() ?? [])];
    const { free } = this.count(
      node,
      gone.map((actorId) => [actorId, 0]),
    );
    this.#ofNodes.delete(node);
    return free;
  }

  /** Returns the actors that have as many sockets as they may, for a node that starts. */
  full(): string[] {
    return [...this.#totals].flatMap(([actorId, total]) => (total >= this.#limit ? [actorId] : []));
  }
}

function put(counts: Map<string, number>, actorId: string, count: number): void {
  if (count === 0) counts.delete(actorId);
  else counts.set(actorId, count);
}
