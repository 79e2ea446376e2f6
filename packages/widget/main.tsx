import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { moveByInsertion } from '@parley/ui/moves.ts';
import { followCompositions } from '@parley/ui/typing/pressed-key.ts';
import { render } from 'preact';
import { Frame } from './frame.tsx';
import { Host } from './host/host.ts';
import { call } from './identity/widget-calls.ts';

moveByInsertion();
followCompositions(document);
const named = new URLSearchParams(location.search);
const widgetId = named.get('widget') ?? '';
const published = call<WidgetPublic>('GET', `/v1/widgets/${encodeURIComponent(widgetId)}/public`);
const isFramed = window !== parent;
// The page around greets as soon as this script has run.
const host = isFramed ? Host.greeted(isSite) : Promise.resolve(null);
// The document shows an empty panel until there is something in the page (main.css).
const page = document.createElement('div');
page.className = 'page';
document.body.append(page);
const confirmation = takeConfirmation();
render(
  <Frame published={published} greeted={host} lang={named.get('lang')} confirmation={confirmation} />,
  page,
);

function isSite(origin: string): Promise<boolean> {
  return published.then(
    ({ sites }) => sites.includes(origin),
    () => false,
  );
}

/** Returns the token of a mailed link, and takes it out of the address. Framed pages have none. */
function takeConfirmation(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('confirm');
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return isFramed ? null : token;
}
