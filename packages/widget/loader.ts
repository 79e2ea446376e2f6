/**
 * The script that pages name in a tag: `/widget.js`. A page has one widget, of the first tag that
 * runs. Other tags of the page, and a tag that runs again, do nothing: Turbo runs the scripts of
 * each body that it inserts.
 */

import { showWidget } from './host/launcher.ts';

const { Parley } = window as { Parley?: { readonly onUnread?: unknown } };
if (typeof Parley?.onUnread !== 'function') showWidget(ownTag());

/**
 * Returns the tag of the script. `document.currentScript` is null in scripts of `type="module"`,
 * and another tag in scripts that are evaluated.
 */
function ownTag(): HTMLScriptElement {
  const running = document.currentScript as HTMLScriptElement | null;
  const tag = running?.dataset.widget
    ? running
    : document.querySelector<HTMLScriptElement>('script[data-widget][src*="/widget.js"]');
  if (tag === null) throw new Error('The script tag of /widget.js needs data-account and data-widget.');
  return tag;
}
