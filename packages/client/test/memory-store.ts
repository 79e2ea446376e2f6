import { type OutboxNews, type OutboxPeers, type OutboxRecord, OutboxStore } from '../store/index.ts';

/** A store of several clients in this process, which outlives them. */
export class MemoryStore extends OutboxStore {
  override readonly account: string;
  override readonly actor: string;
  records: readonly OutboxRecord[] = [];
  /** Returns the error that a method is to reject with. */
  failing: (method: keyof OutboxStore) => Error | undefined = () => undefined;
  readonly #peers = new Set<(news: OutboxNews) => void>();
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(account: string, actor: string) {
    super();
    this.account = account;
    this.actor = actor;
  }

  get keys(): readonly string[] {
    return this.records.map(({ key }) => key);
  }

  override all(): Promise<readonly OutboxRecord[]> {
    return this.#run('all', () => this.records);
  }

  override add(record: OutboxRecord): Promise<void> {
    return this.#run('add', () => {
      this.records = [...this.#others(record.key), structuredClone(record)];
    });
  }

  override update(record: OutboxRecord): Promise<void> {
    return this.#run('update', () => {
      this.records = this.records.map((one) => (one.key === record.key ? structuredClone(record) : one));
    });
  }

  override remove(key: string): Promise<void> {
    return this.#run('remove', () => {
      this.records = this.#others(key);
    });
  }

  override clear(): Promise<void> {
    return this.#run('clear', () => {
      this.records = [];
      for (const hear of this.#peers) hear({ what: 'cleared' });
    });
  }

  override join(hear: (news: OutboxNews) => void): OutboxPeers {
    this.#peers.add(hear);
    return {
      tell: (news) => {
        const copy = structuredClone(news);
        for (const other of this.#peers) if (other !== hear) queueMicrotask(() => other(copy));
      },
      alone: (conversationId, work, signal) => {
        const done = (this.#turns.get(conversationId) ?? Promise.resolve()).then(() => {
          signal.throwIfAborted();
          return work();
        });
        this.#turns.set(
          conversationId,
          done.catch(() => {}),
        );
        return done;
      },
      leave: () => void this.#peers.delete(hear),
    };
  }

  #others(key: string): OutboxRecord[] {
    return this.records.filter((one) => one?.key !== key);
  }

  async #run<T>(method: keyof OutboxStore, work: () => T): Promise<T> {
    await Promise.resolve();
    const error = this.failing(method);
    if (error !== undefined) throw error;
    return work();
  }
}
