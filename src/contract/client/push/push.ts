import type { PushSubscription as Registration } from '../../protocol/resources/push-subscription.ts';
import type { Fetch } from '../rest/pages.ts';

/** Web push: the caller's notifications in this browser while no page is open. */
export class Push {
  readonly #fetch: Fetch;

  /** Use Client.push. */
  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  /**
   * Registers this browser, with a service worker of the page's own origin whose one line is
   * `importScripts('https://chat.example.com/v1/push-worker.js')`. Asks the person for permission
   * where it has not decided yet, so call it in a click, and again at every visit afterwards.
   * Rejects as Client.fetch does, and with the error of the browser where it or the person refuses.
   */
  async register(serviceWorkerUrl: string | URL): Promise<Registration> {
    const { register } = await import('./browser-push.ts');
    return register(this.#fetch, serviceWorkerUrl);
  }

  /** Ends the registration of this browser, as at sign-out. Does nothing where there is none. */
  async unregister(): Promise<void> {
    const { unregister } = await import('./browser-push.ts');
    await unregister(this.#fetch);
  }
}
