/**
 * Answers what many ask at the same time with one read: asks gather for a turn of the loop, and while a
 * round is under way for the next one. A round begins after everything that it answers was asked, so what
 * is answered was true at the time of asking or later.
 */
export class GatheredReads<Ask, Answer> {
  readonly #read: (asks: readonly Ask[]) => Promise<readonly Answer[]>;
  #waiting: Waiting<Ask, Answer>[] = [];
  #running = false;

  /** `read` answers in the order of the asks; what it rejects with goes to everyone of its round. */
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
    // Of thousands that come at once, those of the next moment are worth waiting for.
    const pauseMs = round.length < BUSY_ASKS ? 0 : BUSY_MS - (performance.now() - startedMs);
    if (pauseMs > 0) setTimeout(this.#next, pauseMs);
    else this.#next();
  };

  readonly #next = (): void => {
    this.#running = this.#waiting.length > 0;
    if (this.#running) setImmediate(this.#round);
  };
}

/** A round of so many asks is followed by the next one no sooner than this after it began. */
const BUSY_ASKS = 50;
const BUSY_MS = 100;

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
