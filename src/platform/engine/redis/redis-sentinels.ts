import * as ioredis from 'ioredis';

/**
 * Asks sentinels for the master, as ioredis does, and says why a sentinel cannot be asked.
 * Connections of ioredis to sentinels drop their errors ("Connection is closed." remains), or print
 * them to stderr, once a second for each sentinel that is away.
 */
export class SentinelConnector extends ioredis.SentinelConnector {
  #reason: Error | undefined;

  constructor(options: unknown) {
    super(options as ioredis.SentinelConnectionOptions);
    const opening = this as unknown as Opening;
    const open = opening.connectToSentinel;
    opening.connectToSentinel = (...args) => {
      this.#reason = undefined;
      return open.apply(this, args).on('error', (error) => {
        this.#reason = error;
      });
    };
  }

  override connect(emit: Emit): ReturnType<ioredis.SentinelConnector['connect']> {
    return super.connect((type, error) => {
      const { message } = error;
      const reason = this.#reason?.message;
      emit(type, reason === undefined ? error : new Error(message.replace(CLOSED, () => reason)));
    });
  }
}

interface Opening {
  connectToSentinel(...args: unknown[]): ioredis.Redis;
}

type Emit = Parameters<ioredis.SentinelConnector['connect']>[0];

const CLOSED = 'Connection is closed.';
