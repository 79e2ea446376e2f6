import { Random } from '../../../../test/support/random.ts';
import type { Timing } from '../../index.ts';

interface Task {
  readonly at: number;
  readonly order: number;
  /** Whether the client would notice it: then it waits while the machine sleeps. */
  readonly isOfClient: boolean;
  readonly isTimer: boolean;
  readonly run: () => void;
}

/** A clock that goes on from one task to the next, with a machine of the client that may sleep. */
export class VirtualTime implements Timing {
  /** Milliseconds since the beginning. */
  now = 0;
  readonly #tasks: Task[] = [];
  readonly #random: Random;
  readonly #most: number;
  #order = 0;
  #asleepUntil = 0;

  /** The random numbers of the client are below `most`: chance may keep all of its waits short. */
  constructor(seed: number, most: number) {
    this.#random = new Random(seed);
    this.#most = most;
  }

  /** A timer of the client. */
  after(ms: number, run: () => void): () => void {
    return this.#add(ms, run, true, true);
  }

  random(): number {
    return this.#random.next() * this.#most;
  }

  /** Runs work that reaches the client from outside. */
  arrive(ms: number, run: () => void): void {
    this.#add(ms, run, true, false);
  }

  /** Runs work at its time, whether the client sleeps or not. */
  happen(ms: number, run: () => void): void {
    this.#add(ms, run, false, false);
  }

  /** Stops the client's machine: timers and what arrives are late. */
  sleep(ms: number): void {
    this.#asleepUntil = Math.max(this.#asleepUntil, this.now + ms);
  }

  /** When the machine wakes up, or did last. */
  get awakeAt(): number {
    return this.#asleepUntil;
  }

  /** The number of timers that the client has set. */
  get timers(): number {
    return this.#tasks.filter(({ isTimer }) => isTimer).length;
  }

  /** Runs the next task that is due until then. Returns whether there was one. */
  step(until: number): boolean {
    for (;;) {
      const task = this.#tasks.at(-1);
      if (task === undefined || task.at > until) {
        this.now = Math.max(this.now, until);
        return false;
      }
      this.#tasks.pop();
      this.now = Math.max(this.now, task.at);
      if (!task.isOfClient || task.at >= this.#asleepUntil) {
        task.run();
        return true;
      }
      // A machine that wakes up runs late work in the order in which it was planned.
      this.#insert({ ...task, at: this.#asleepUntil });
    }
  }

  #add(ms: number, run: () => void, isOfClient: boolean, isTimer: boolean): () => void {
    const task = { at: this.now + Math.max(0, ms), order: ++this.#order, isOfClient, isTimer, run };
    this.#insert(task);
    return () => {
      const index = this.#tasks.findIndex(({ order }) => order === task.order);
      if (index !== -1) this.#tasks.splice(index, 1);
    };
  }

  /** The next one is last. */
  #insert(task: Task): void {
    let index = this.#tasks.length;
    while (index > 0 && isBefore(this.#tasks[index - 1]!, task)) index -= 1;
    this.#tasks.splice(index, 0, task);
  }
}

function isBefore(one: Task, other: Task): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
