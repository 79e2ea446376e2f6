import { directionOf, languageOf } from '@parley/protocol/resources/widget-languages.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { readableOn } from '../readable-on.ts';
import type { FromFrame, Greeting, ToFrame } from './host-messages.ts';
import { keepInPage } from './in-page.ts';
import { labelsIn } from './labels.ts';
import { keepMark, wasMarked } from './marks.ts';

/** Returns a token of the application that says who the visitor is. */
type TokenSource = () => string | Promise<string>;

/**
 * Shows the widget of a script tag: a button, and a frame of the server that the script came from,
 * which is loaded when the panel is opened first. Where the browser has known the visitor, a small
 * frame counts what is unread, and shows the newest answer (../DECISIONS.md#the-bubble-is-a-frame).
 * The page talks to it by `window.Parley`, which exists once `parley:ready` was dispatched on
 * `window`.
 */
export function showWidget(tag: HTMLScriptElement): void {
  const { account = '', widget = '', color = '', lang = document.documentElement.lang } = tag.dataset;
  const ground = /^#[0-9a-f]{6}$/i.test(color) ? color : '#15616f';
  const origin = new URL(tag.src).origin;
  const language = languageOf([lang, ...navigator.languages]);
  const labels = labelsIn(language);

  let identity: TokenSource | null = null;
  let frame: HTMLIFrameElement | null = null;
  let bubble: HTMLIFrameElement | null = null;
  const ports = new Map<HTMLIFrameElement, MessagePort>();
  let unread = 0;
  /** The element that had the focus when the panel was opened, until the frame takes it. */
  let focusedBefore: Element | null | undefined;
  const listeners = new Set<(unread: number) => void>();

  const [openMark, keptMark] = [`parley-open-${widget}`, `parley-kept-${widget}`];
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
iframe.news{height:88px;width:min(304px,calc(100vw - 40px))}
@media (max-width:480px){iframe:not(.news){inset:0;width:100vw;height:100dvh;border-radius:0}iframe:not([data-alive],.news){z-index:2147482999}}`);
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
  host.dir = directionOf(language);
  shadow.append(button);
  name();

  function name(): void {
    badge.textContent = unread === 0 ? '' : String(unread);
    const more = unread === 0 ? '' : `, ${unread} ${labels.unread}`;
    button.setAttribute('aria-label', (isOpen() ? labels.close : labels.open) + more);
    button.setAttribute('aria-expanded', String(isOpen()));
  }

  function isOpen(): boolean {
    return frame !== null && !frame.hidden;
  }

  function show(): void {
    frame ??= embed('frame', labels.title);
    frame.hidden = false;
    keepMark('sessionStorage', openMark, true);
    tell({ type: 'shown' });
    name();
  }

  function embed(page: string, title: string): HTMLIFrameElement {
    const made = document.createElement('iframe');
    made.title = title;
    made.src = `${origin}/widget/${page}?${new URLSearchParams({ account, widget, lang: language })}`;
    made.addEventListener('load', () => greet(made));
    shadow.append(made);
    return made;
  }

  function count(): void {
    if (bubble !== null) return;
    bubble = embed('bubble', labels.news);
    bubble.className = 'news';
    bubble.hidden = true;
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
    keepMark('sessionStorage', openMark, false);
    tell({ type: 'hidden' });
    if (isWithin) button.focus();
    name();
  }

  function toggle(): void {
    if (isOpen()) close();
    else open();
  }

  function tell(message: ToFrame): void {
    for (const port of ports.values()) port.postMessage(message);
  }

  /** Hands the frame a port when it has loaded. The window itself has no other use. */
  function greet(loaded: HTMLIFrameElement): void {
    ports.get(loaded)?.close();
    const { port1, port2 } = new MessageChannel();
    ports.set(loaded, port1);
    port1.onmessage = ({ data }: MessageEvent<FromFrame>) => void heard(data, loaded, port1);
    const first: Greeting = { parley: 'page', lang: language, isKnown: identity !== null };
    loaded.contentWindow!.postMessage(first, origin, [port2]);
    port1.postMessage({ type: isOpen() ? 'shown' : 'hidden' } satisfies ToFrame);
  }

  async function heard(message: FromFrame, by: HTMLIFrameElement, from: MessagePort): Promise<void> {
    if (by === frame) {
      // Its own button closes it from now on; on a phone it covers this one.
      frame.dataset.alive = '';
      enter();
    }
    if (message.type === 'close') close();
    if (message.type === 'open') open();
    if (message.type === 'bubble') by.hidden = !message.isShown;
    if (message.type === 'kept') {
      keepMark('localStorage', keptMark, message.isKept);
      if (message.isKept) count();
    }
    // The panel knows first what is unread, once it is there.
    if (message.type === 'unread' && (by === frame || frame?.dataset.alive === undefined)) {
      if (by === frame && bubble !== null) ports.get(bubble)?.postMessage({ type: 'look' } satisfies ToFrame);
      unread = message.count;
      name();
      for (const listener of listeners) listener(unread);
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
    if (wasMarked('sessionStorage', openMark)) show();
    if (wasMarked('localStorage', keptMark)) count();
  }
  if (document.body === null) addEventListener('DOMContentLoaded', begin);
  else begin();
}
