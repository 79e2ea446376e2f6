/** A promise that is settled from outside. */
export class Deferred<T> {
  readonly promise: Promise<T>;
  #resolve: (value: T | Promise<T>) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(value: T | Promise<T>): void {
    this.#resolve(value);
  }

  reject(error: Error): void {
    this.#reject(error);
  }
}
