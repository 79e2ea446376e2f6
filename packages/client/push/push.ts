import type { PushSubscription as Registration } from '@parley/protocol/resources/push-subscription.ts';
import type { Fetch } from '../rest/pages.ts';
import type { PushState, WorkerAddress } from './push-state.ts';

/** Web push: the caller's notifications in this browser while no page is open. */
export class Push {
  readonly #fetch: Fetch;
  readonly #actor: () => { readonly id: string } | undefined;

  /** Use Client.push. */
  constructor(fetch: Fetch, actor: () => { readonly id: string } | undefined) {
    this.#fetch = fetch;
    this.#actor = actor;
  }

  /** Returns whether this browser is registered for the caller, without a request. */
  async state(): Promise<PushState> {
    const { readState } = await import('./browser-push.ts');
    return readState(this.#actor()?.id);
  }

  /**
   * Registers this browser, with a service worker of the page's own origin whose one line is
   * `importScripts('https://chat.example.com/v1/push-worker.js')`. Asks the person for permission
   * unless it has decided, so call it in a click, and again at every visit afterwards. Ends the
   * registration of another person in this browser. Rejects as Client.fetch does, and with the
   * error of the browser if it or the person refuses.
   */
  async register(serviceWorkerUrl: WorkerAddress): Promise<Registration> {
    const { register } = await import('./browser-push.ts');
    return register(this.#fetch, serviceWorkerUrl, this.#actor()?.id);
  }

  /** Ends the caller's registration of this browser, as at sign-out. Does nothing without one. */
  async unregister(): Promise<void> {
    const { unregister } = await import('./browser-push.ts');
    await unregister(this.#fetch, this.#actor()?.id);
  }
}
