import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import type { FromFrame, Greeting, ToFrame } from './host-messages.ts';

/** Follows the page around the frame. */
export interface HostListener {
  /** Called when the page names another visitor, or none (false). Must drop the content first. */
  identity(isKnown: boolean): void;
  shown(isShown: boolean): void;
  /** Called when the visitor has opened the panel, which has the focus. */
  focus(): void;
  /** Called when there is news for the bubble. */
  look?(): void;
}

/** The page around the frame: one of the widget's sites. */
export class Host {
  readonly lang: WidgetLanguage;
  #isKnown: boolean;
  #isShown = false;
  readonly #port: MessagePort;
  #asked: ((token: string | null) => void)[] = [];
  #listener: HostListener | undefined;

  private constructor({ lang, isKnown }: Greeting, port: MessagePort) {
    this.lang = lang;
    this.#isKnown = isKnown;
    this.#port = port;
    port.onmessage = ({ data }: MessageEvent<ToFrame>) => this.#hear(data);
  }

  /**
   * Resolves with the page around the frame, which greets when the frame has loaded. Ignores words
   * of other windows, and of pages that are no site of the widget. Must be called while the script
   * of the frame runs first; what `isSite` asks may come later.
   */
  static greeted(isSite: (origin: string) => Promise<boolean>): Promise<Host> {
    return new Promise((resolve) => {
      addEventListener('message', async ({ origin, source, data, ports: [port] }: MessageEvent) => {
        if (source !== parent || data?.parley !== 'page' || port === undefined) return;
        if (await isSite(origin)) resolve(new Host(data as Greeting, port));
        else port.close();
      });
    });
  }

  /** Calls the listener with the present state, and with each change. */
  follow(listener: HostListener): void {
    this.#listener = listener;
    listener.shown(this.#isShown);
    listener.identity(this.#isKnown);
  }

  /** Asks the page who the visitor is. Resolves with a token of the application, or null. */
  token(): Promise<string | null> {
    return new Promise((resolve) => {
      this.#asked.push(resolve);
      this.#say({ type: 'token' });
    });
  }

  close(): void {
    this.#say({ type: 'close' });
  }

  /** Opens the panel. */
  open(): void {
    this.#say({ type: 'open' });
  }

  showBubble(isShown: boolean): void {
    this.#say({ type: 'bubble', isShown });
  }

  keep(isKept: boolean): void {
    this.#say({ type: 'kept', isKept });
  }

  showUnread(count: number): void {
    this.#say({ type: 'unread', count });
  }

  #say(message: FromFrame): void {
    this.#port.postMessage(message);
  }

  #hear(message: ToFrame): void {
    switch (message.type) {
      case 'shown':
      case 'hidden':
        this.#isShown = message.type === 'shown';
        this.#listener?.shown(this.#isShown);
        break;
      case 'focus':
        this.#listener?.focus();
        break;
      case 'look':
        this.#listener?.look?.();
        break;
      case 'identity':
        this.#isKnown = message.isKnown;
        this.#settle(null);
        this.#listener?.identity(message.isKnown);
        break;
      case 'token':
        this.#settle(message.token);
        break;
    }
  }

  #settle(token: string | null): void {
    const asked = this.#asked;
    this.#asked = [];
    for (const resolve of asked) resolve(token);
  }
}
