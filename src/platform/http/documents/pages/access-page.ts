import { PERMISSIONS } from '../../../../contract/protocol/permissions.ts';
import { CURRENT_VERSION, FORMER_NAMES, VERSIONS } from '../../../../contract/protocol/versions.ts';
import type { Route } from '../../pipeline/route.ts';
import type { Document } from '../documents.ts';
import { code, type Html, html, table } from './html.ts';
import { pageOf } from './page.ts';

export function accessPage(routes: readonly Route[]): Document {
  return pageOf('access', {
    main: html`<h1>Versions and permissions</h1>
<h2 id="versions">Versions</h2>
<p>Every request names the version it speaks in <code>Service-Version</code>. An endpoint that came later answers
<a href="/docs/api/errors#api_version_too_old"><code>api_version_too_old</code></a>.</p>
${table(
  ['Version', 'Kind', 'New endpoints'],
  VERSIONS.map((version) => versionRow(version, routes)),
)}
<h2 id="former-names">Former names</h2>
<p>A version that was promoted is also found by the name of its preview. Answers to such requests carry
<code>Deprecation</code>: change the name, which changes nothing else.</p>
${table(
  ['Former name', 'Version', 'Deprecated since'],
  [...FORMER_NAMES].map(([name, { version, deprecatedAtS }]) => [
    code(name),
    code(version),
    html`${new Date(deprecatedAtS * 1_000).toISOString().slice(0, 10)}`,
  ]),
)}
<h2 id="permissions">Permissions</h2>
<p>A role grants permissions; each endpoint asks for one at most. Some ask for a lesser one where the call concerns
your own messages or your own place in a conversation: these stand under both. Admins have them all, and those that
no other role can be given.</p>
<p>While the account's subscription is not active, these alone answer; all others refuse with
<a href="/docs/api/errors#payment_required"><code>payment_required</code></a>.</p>
${listOf(routes.filter(({ open, unsubscribed }) => open === true || unsubscribed === true))}
${permissionsOf(routes).map((permission) => section(permission, routes))}
<h2 id="customers">Customers and agents</h2>
<p>Customers have no role: they may call these for what is theirs, and nothing else.</p>
${listOf(routes.filter(({ customers }) => customers === true))}
<p>Closed to agents, whatever their roles grant:</p>
${listOf(routes.filter(({ agents }) => agents === false))}`,
  });
}

function versionRow(version: (typeof VERSIONS)[number], routes: readonly Route[]): Html[] {
  const kind = version.includes('-preview.') ? 'preview' : 'stable';
  const isCurrent = version === CURRENT_VERSION;
  return [
    code(version),
    html`${isCurrent ? 'stable, current' : kind}`,
    html`${routes.filter(({ since }) => since === version).length}`,
  ];
}

function section(permission: string | null, routes: readonly Route[]): Html {
  const opened = routes.filter((route) => route.permission === permission);
  const forOwn = routes.filter(({ own }) => own !== undefined && own.permission === permission);
  return html`<section class="card">
<h3>${permission === null ? 'None asked for' : code(permission)}</h3>
${listOf([...opened, ...forOwn], (route) => (route.permission === permission ? undefined : route.own?.of))}
</section>`;
}

/** Returns the table's permissions in its order, those of admins, and null for no permission. */
function permissionsOf(routes: readonly Route[]): (string | null)[] {
  const asked = routes
    .map(({ permission }) => permission)
    .toSorted((a, b) => (a === null ? 1 : b === null ? -1 : 0));
  return [...new Set<string | null>([...PERMISSIONS, ...asked])];
}

/** `limitOf` returns the part of an endpoint that a permission opens, if not all. */
function listOf(
  routes: readonly Route[],
  limitOf: (route: Route) => string | undefined = () => undefined,
): Html {
  if (routes.length === 0) return html`<span class="nothing">no endpoint by itself</span>`;
  return html`<ul class="plain">
${routes.map((route) => listItem(route, limitOf(route)))}
</ul>`;
}

function listItem({ method, path, summary }: Route, limit: string | undefined): Html {
  const limited = limit === undefined ? '' : ` (for ${limit} only)`;
  return html`<li><code>${method} ${path}</code> <small>${summary}${limited}</small></li>`;
}
