/**
 * Combines concurrent reads into one, as DataLoader does: requests gather for a turn of the loop,
 * and while a round is in progress for the next one. A round begins after all its requests were
 * made, so each result was true at the time of the request or later.
 */
export class GatheredReads<Ask, Answer> {
  readonly #read: (asks: readonly Ask[]) => Promise<readonly Answer[]>;
  #waiting: Waiting<Ask, Answer>[] = [];
  #running = false;

  /** `read` returns results in the order of requests; all callers of a round get its rejection. */
  constructor(read: (asks: readonly Ask[]) => Promise<readonly Answer[]>) {
    this.#read = read;
  }

  ask(ask: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ask, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      setImmediate(this.#round);
    });
  }

  readonly #round = async (): Promise<void> => {
    const startedMs = performance.now();
    const round = this.#waiting;
    this.#waiting = [];
    try {
      const answers = await this.#read(round.map(({ ask }) => ask));
      for (const [index, { resolve }] of round.entries()) resolve(answers[index]!);
    } catch (error) {
      for (const { reject } of round) reject(error);
    }
    // When thousands arrive at once, waiting a moment for the next ones pays off.
    const pauseMs = round.length < BUSY_ASKS ? 0 : BUSY_MS - (performance.now() - startedMs);
    if (pauseMs > 0) setTimeout(this.#next, pauseMs);
    else this.#next();
  };

  readonly #next = (): void => {
    this.#running = this.#waiting.length > 0;
    if (this.#running) setImmediate(this.#round);
  };
}

/** After a round of this many requests, the next starts no sooner than BUSY_MS after its start. */
const BUSY_ASKS = 50;
const BUSY_MS = 100;

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
