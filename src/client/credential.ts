/** Who the client is: a key or token for good, or tokens that are asked for when one is needed. */
export class Credential {
  readonly renewable: boolean;
  readonly #get: () => string | Promise<string>;
  #current: Promise<string> | undefined;

  constructor({ token, getToken }: { token?: string | undefined; getToken?: TokenSource | undefined }) {
    if ((token === undefined) === (getToken === undefined)) throw new TypeError('give a token or getToken');
    this.renewable = getToken !== undefined;
    this.#get = getToken ?? (() => token!);
  }

  /** Rejects with what the source throws; it is asked again the next time. */
  current(): Promise<string> {
    this.#current ??= Promise.resolve()
      .then(this.#get)
      .catch((error: unknown) => {
        this.#current = undefined;
        throw error;
      });
    return this.#current;
  }

  /** The one in hand is of no use any more. */
  expired(): void {
    this.#current = undefined;
  }
}

export type TokenSource = () => string | Promise<string>;
