import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';

/** The messages between the frame and the page around it, through a MessagePort. */

/** The first word of the page, by `window.postMessage` with the port. */
export interface Greeting {
  readonly parley: 'page';
  readonly lang: WidgetLanguage;
  /** Whether the page can name the visitor by a token of the application. */
  readonly isKnown: boolean;
}

export type ToFrame =
  | { readonly type: 'shown' | 'hidden' }
  /** The visitor has opened the panel: the text field gets the focus. */
  | { readonly type: 'focus' }
  /** The panel's frame has heard of news: the bubble looks. */
  | { readonly type: 'look' }
  /** The page names another visitor, or no longer any. */
  | { readonly type: 'identity'; readonly isKnown: boolean }
  /** The answer to the frame; null if there is no token. */
  | { readonly type: 'token'; readonly token: string | null };

export type FromFrame =
  | { readonly type: 'close' | 'token' }
  /** The bubble was chosen. */
  | { readonly type: 'open' }
  | { readonly type: 'bubble'; readonly isShown: boolean }
  /** Whether this browser knows the visitor, so that the next page counts what is unread. */
  | { readonly type: 'kept'; readonly isKept: boolean }
  | { readonly type: 'unread'; readonly count: number };
