/**
 * The script that pages name in a tag: `/widget.js`. A page has one widget, by whichever tag runs
 * first. Another tag of the page does nothing, nor does the same one that runs again: Turbo runs
 * the scripts of each body that it puts in.
 */

import { showWidget } from './host/launcher.ts';

const { Parley } = window as { Parley?: { readonly onUnread?: unknown } };
if (typeof Parley?.onUnread !== 'function') showWidget(ownTag());

/**
 * Returns the tag, which scripts of `type="module"` and those that are evaluated have to look for.
 */
function ownTag(): HTMLScriptElement {
  const running = document.currentScript as HTMLScriptElement | null;
  const tag = running?.dataset.widget
    ? running
    : document.querySelector<HTMLScriptElement>('script[data-widget][src*="/widget.js"]');
  if (tag === null) throw new Error('The script tag of /widget.js needs data-account and data-widget.');
  return tag;
}
