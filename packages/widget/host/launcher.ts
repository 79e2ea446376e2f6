import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { readableOn } from '../readable-on.ts';
import type { FromFrame, Greeting, ToFrame } from './host-messages.ts';
import { keepInPage } from './in-page.ts';
import { keepOpen, wasOpen } from './openness.ts';

/** Returns a token of the application that says who the visitor is. */
type TokenSource = () => string | Promise<string>;

/**
 * Shows the widget of a script tag: a button, and a frame of the server that the script came from,
 * which is loaded when the panel is opened first. The page talks to it by `window.Parley`, which
 * exists once `parley:ready` was dispatched on `window`.
 */
export function showWidget(tag: HTMLScriptElement): void {
  const { account = '', widget = '', color = '', lang = document.documentElement.lang } = tag.dataset;
  const ground = /^#[0-9a-f]{6}$/i.test(color) ? color : '#15616f';
  const origin = new URL(tag.src).origin;
  const isArabic = /^ar\b/i.test(lang);
  const labels = isArabic
    ? { open: 'افتح المحادثة', close: 'أغلق المحادثة', title: 'محادثة', unread: 'غير مقروءة' }
    : { open: 'Open the chat', close: 'Close the chat', title: 'Chat', unread: 'unread' };

  let identity: TokenSource | null = null;
  let frame: HTMLIFrameElement | null = null;
  let port: MessagePort | null = null;
  /** The element that had the focus when the panel was opened, until the frame takes it. */
  let focusedBefore: Element | null | undefined;
  const listeners = new Set<(unread: number) => void>();

  const host = document.createElement('div');
  const shadow = host.attachShadow({ mode: 'open' });
  const style = new CSSStyleSheet();
  // The ring of the focus has two colours, so that one is visible on any page.
  style.replaceSync(`
:host{all:initial}
button{position:fixed;inset-block-end:20px;inset-inline-end:20px;z-index:2147483000;width:56px;height:56px;border:0;border-radius:50%;padding:0;background:${ground};color:${readableOn(ground)};cursor:pointer;box-shadow:0 4px 16px rgb(0 0 0/.25)}
button:focus-visible{outline:3px solid #fff;box-shadow:0 0 0 6px #101417}
svg{display:block;margin:auto}
b{position:absolute;inset-block-start:-4px;inset-inline-end:-4px;min-width:20px;padding:0 5px;border-radius:10px;background:#a3302b;color:#fff;font:600 12px/20px system-ui,sans-serif}
b:empty{display:none}
iframe{position:fixed;inset-block-end:88px;inset-inline-end:20px;z-index:2147483000;width:min(384px,calc(100vw - 24px));height:min(640px,calc(100vh - 112px));border:0;border-radius:14px;background:Canvas;color-scheme:light dark;box-shadow:0 8px 40px rgb(0 0 0/.28)}
iframe[hidden]{display:none}
@media (max-width:480px){iframe{inset:0;width:100vw;height:100dvh;border-radius:0}iframe:not([data-alive]){z-index:2147482999}}`);
  shadow.adoptedStyleSheets = [style];

  const SVG = 'http://www.w3.org/2000/svg';
  const picture = document.createElementNS(SVG, 'svg');
  const line = document.createElementNS(SVG, 'path');
  for (const [name, value] of Object.entries({
    viewBox: '0 0 24 24',
    width: '28',
    height: '28',
    'aria-hidden': 'true',
  }))
    picture.setAttribute(name, value);
  for (const [name, value] of Object.entries({
    d: 'M4 4h16v12H9l-5 4z',
    fill: 'none',
    stroke: 'currentColor',
    'stroke-width': '2',
    'stroke-linejoin': 'round',
  }))
    line.setAttribute(name, value);
  picture.append(line);

  const badge = document.createElement('b');
  const button = document.createElement('button');
  button.type = 'button';
  button.append(picture, badge);
  button.addEventListener('click', () => toggle());
  shadow.addEventListener('keydown', (event) => {
    if (pressedKey(event as KeyboardEvent) === 'Escape') close();
  });
  host.dir = isArabic ? 'rtl' : 'ltr';
  shadow.append(button);
  name();

  function name(): void {
    const unread = badge.textContent === '' ? '' : `, ${badge.textContent} ${labels.unread}`;
    button.setAttribute('aria-label', (isOpen() ? labels.close : labels.open) + unread);
    button.setAttribute('aria-expanded', String(isOpen()));
  }

  function isOpen(): boolean {
    return frame !== null && !frame.hidden;
  }

  function show(): void {
    if (frame === null) {
      const made = document.createElement('iframe');
      made.title = labels.title;
      made.src = `${origin}/widget/frame?${new URLSearchParams({ account, widget })}`;
      made.addEventListener('load', () => greet(made));
      shadow.append(made);
      frame = made;
    }
    frame.hidden = false;
    keepOpen(widget, true);
    tell({ type: 'shown' });
    name();
  }

  function open(): void {
    show();
    focusedBefore = document.activeElement;
    if (frame!.dataset.alive !== undefined) enter();
  }

  /** Gives the focus to the frame once it is ready, unless the visitor has moved it meanwhile. */
  function enter(): void {
    const isWhereItWas = focusedBefore === document.activeElement;
    focusedBefore = undefined;
    if (!isWhereItWas || !isOpen()) return;
    frame!.focus();
    tell({ type: 'focus' });
  }

  function close(): void {
    if (!isOpen()) return;
    const isWithin = document.activeElement === host;
    frame!.hidden = true;
    keepOpen(widget, false);
    tell({ type: 'hidden' });
    if (isWithin) button.focus();
    name();
  }

  function toggle(): void {
    if (isOpen()) close();
    else open();
  }

  function tell(message: ToFrame): void {
    port?.postMessage(message);
  }

  /** Hands the frame a port when it has loaded. The window itself has no other use. */
  function greet({ contentWindow }: HTMLIFrameElement): void {
    port?.close();
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = ({ data }: MessageEvent<FromFrame>) => void heard(data, channel.port1);
    const first: Greeting = { parley: 'page', lang: isArabic ? 'ar' : 'en', isKnown: identity !== null };
    contentWindow!.postMessage(first, origin, [channel.port2]);
    tell({ type: isOpen() ? 'shown' : 'hidden' });
  }

  async function heard(message: FromFrame, from: MessagePort): Promise<void> {
    // Its own button closes it from now on; on a phone it covers this one.
    frame!.dataset.alive = '';
    enter();
    if (message.type === 'close') close();
    if (message.type === 'unread') {
      badge.textContent = message.count === 0 ? '' : String(message.count);
      name();
      for (const listener of listeners) listener(message.count);
    }
    if (message.type === 'token') {
      const asked = identity;
      const token = asked === null ? null : await Promise.resolve(asked()).catch(() => null);
      // The page may have named another person meanwhile.
      if (asked === identity) from.postMessage({ type: 'token', token } satisfies ToFrame);
    }
  }

  function change(next: TokenSource | null): void {
    identity = next;
    tell({ type: 'identity', isKnown: next !== null });
  }

  const Parley = {
    open,
    close,
    toggle,
    /** Names the visitor, by a token of the application or a function that returns one. */
    identify: (token: string | TokenSource) => change(typeof token === 'string' ? () => token : token),
    /** The visitor has signed out of the page. */
    forget: () => change(null),
    /** Calls the listener with the number of unread messages. Returns a function that ends it. */
    onUnread: (listener: (unread: number) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  Object.assign(window, { Parley });

  function begin(): void {
    keepInPage(host);
    dispatchEvent(new Event('parley:ready'));
    // This runs after the event in which the page names the visitor. The page keeps the focus.
    if (wasOpen(widget)) show();
  }
  if (document.body === null) addEventListener('DOMContentLoaded', begin);
  else begin();
}
