import { once } from 'node:events';
import type { AskedHealth, HealthOfAll, WholeMachine } from '../../api/health.ts';
import type { Answers, Assignment, MetricsOfProcess, Subject, ToNode, ToSupervisor } from './messages.ts';
import { Questions } from './questions.ts';

export interface SupervisionListener {
  /** Makes the node unready; it goes on as before. */
  leave(): void;
  stop(reason: string): void;
  /** Called when the supervisor has ended without a word. */
  orphaned(): void;
}

/** A node's own answers, which the answers for all nodes include. */
export interface NodeAnswers {
  health(): Promise<AskedHealth>;
  metrics(): Promise<MetricsOfProcess>;
}

/** The channel of a node to its supervisor, which started it. */
export class Supervision implements WholeMachine {
  readonly assignment: Assignment;
  readonly #questions = new Questions((question) => this.#send(question));
  #listener: SupervisionListener | undefined;
  #answers: NodeAnswers | undefined;
  /** Counts changed since the last message about sockets. */
  readonly #sockets = new Map<string, number>();
  readonly #full = new Set<string>();

  private constructor(assignment: Assignment) {
    this.assignment = assignment;
    process.on('message', (message: ToNode) => this.#hear(message));
  }

  /** Resolves when the supervisor has sent this process its assignment. */
  static async begin(): Promise<Supervision> {
    if (process.send === undefined) throw new Error('this command is for the processes of a supervisor');
    const heard = once(process, 'message');
    process.send({ type: 'hears' } satisfies ToSupervisor);
    const [assignment] = (await heard) as [Assignment];
    return new Supervision(assignment);
  }

  follow(listener: SupervisionListener): void {
    this.#listener = listener;
    process.on('disconnect', () => listener.orphaned());
    if (!process.connected) listener.orphaned();
  }

  /** Tells the supervisor that the node serves, and can answer. */
  listens(answers: NodeAnswers): void {
    this.#answers = answers;
    this.#send({ type: 'listening' });
  }

  async health(): Promise<HealthOfAll> {
    const all = (await this.#questions.ask('health', PATIENCE_MS)) as HealthOfAll | undefined;
    return all ?? { nodes: [], processes: 0 };
  }

  async metrics(): Promise<string> {
    const text = await this.#questions.ask('metrics', PATIENCE_MS);
    if (typeof text !== 'string') throw new Error('the supervisor does not answer');
    return text;
  }

  /** Counts the sockets of an actor at this node, for the limit of all. */
  countSockets(actorId: string, count: number): void {
    if (this.#sockets.size === 0) setImmediate(() => this.#reportSockets());
    this.#sockets.set(actorId, count);
  }

  /** Returns whether an actor has as many sockets as it may, at all nodes together. */
  isFull(actorId: string): boolean {
    return this.#full.has(actorId);
  }

  /** Sends this node's counts. Must be called last. */
  async end(): Promise<void> {
    const metrics = await this.#answers?.metrics();
    if (metrics === undefined || !process.connected) return;
    await new Promise<void>((resolve) => {
      process.send!({ type: 'ended', metrics } satisfies ToSupervisor, undefined, undefined, () => resolve());
    });
  }

  #hear(message: ToNode): void {
    switch (message.type) {
      case 'leave':
        this.#listener?.leave();
        break;
      case 'stop':
        this.#listener?.stop(message.reason);
        break;
      case 'question':
        void this.#answer(message.id, message.subject);
        break;
      case 'answer':
        this.#questions.settle(message);
        break;
      case 'full':
        for (const actorId of message.actorIds) {
          if (message.isFull) this.#full.add(actorId);
          else this.#full.delete(actorId);
        }
    }
  }

  async #answer<S extends Subject>(id: number, subject: S): Promise<void> {
    const value: Answers[S]['ofNode'] | undefined = await this.#answers?.[subject]();
    this.#send({ type: 'answer', id, value });
  }

  #reportSockets(): void {
    const counts = [...this.#sockets];
    this.#sockets.clear();
    this.#send({ type: 'sockets', counts });
  }

  /** Sends a message, which is of no use to a supervisor that has ended. */
  #send(message: ToSupervisor): void {
    if (process.connected) process.send!(message, undefined, undefined, () => {});
  }
}

/** Milliseconds for the answer of the supervisor, which waits for each node's. */
const PATIENCE_MS = 2_000;
