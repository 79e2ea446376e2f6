import { CLIENT_ERRORS } from '../errors/client-error.ts';
import { lost, ParleyError } from '../errors/parley-error.ts';
import { answerOf, type Server } from './server.ts';

/**
 * Asks the server whether it refuses the origin of the page: browsers show such a refusal as a
 * network that fails, at sockets and requests alike.
 */
export class OriginCheck {
  readonly #server: Pick<Server, 'origin' | 'fetch'>;
  /**
   * Whether the server has answered, which it does not do for a refused origin, or is being asked.
   */
  isOver: boolean;
  /** The refusal, which is final. */
  refusal: ParleyError | undefined;
  /** Called once, with the refusal. */
  onRefused: (refusal: ParleyError) => void = () => {};

  constructor(server: Pick<Server, 'origin' | 'fetch'>, isPage: boolean) {
    this.#server = server;
    this.isOver = !isPage;
  }

  /** To be called when something got no answer. */
  async ask(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    try {
      // Every page may read this answer.
      await answerOf(await this.#server.fetch(`${await this.#server.origin()}/v1/realtime`, {}));
    } catch (cause) {
      const { error, status, param } = lost(cause);
      if (status === null) this.isOver = false;
      if (param !== 'Origin') return;
      const message = `${CLIENT_ERRORS.origin_rejected} ${error!.message}`;
      this.refusal = new ParleyError('origin_rejected', message, { status, error });
      this.onRefused(this.refusal);
    }
  }
}
