import type { Answer, Question, Subject } from './messages.ts';

/** Questions to a process at the other end of a channel, which may have ended or hang. */
export class Questions {
  readonly #send: (question: Question) => void;
  readonly #open = new Map<number, (value: unknown) => void>();
  #asked = 0;

  constructor(send: (question: Question) => void) {
    this.#send = send;
  }

  /** Resolves with undefined if there is no answer within `patienceMs`. */
  ask(subject: Subject, patienceMs: number): Promise<unknown> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve) => {
      const settle = (value?: unknown) => {
        clearTimeout(timer);
        this.#open.delete(id);
        resolve(value);
      };
      const timer = setTimeout(settle, patienceMs);
      this.#open.set(id, settle);
      this.#send({ type: 'question', id, subject });
    });
  }

  settle({ id, value }: Answer): void {
    this.#open.get(id)?.(value);
  }
}
