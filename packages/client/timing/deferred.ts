/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | Promise<T>) => void;
  readonly reject: (error: Error) => void;
}

/** Returns a new one. Platforms of ES2022 lack Promise.withResolvers. */
export function deferred<T>(): Deferred<T> {
  let [resolve, reject]: [Deferred<T>['resolve'], Deferred<T>['reject']] = [() => {}, () => {}];
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}
