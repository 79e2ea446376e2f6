import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import { CURRENT_VERSION, DEPRECATIONS, VERSIONS, versionNamed } from '@parley/protocol/versions.ts';
import type { Route } from '../../pipeline/route.ts';
import type { Document } from '../documents.ts';
import { code, type Html, html, table } from './html.ts';
import { markdownPage } from './page.ts';

export function accessPage(routes: readonly Route[]): Promise<Document> {
  const versions = VERSIONS.map((version) => versionRow(version, routes));
  const formerNames = Object.entries(DEPRECATIONS).map(([name, { since, sunset }]) => [
    code(name),
    code(versionNamed(name)!),
    html`${since}`,
    html`${sunset}`,
  ]);
  return markdownPage('access', {
    versions: table(['Version', 'Kind', 'New endpoints'], versions),
    formerNames: table(['Former name', 'Version', 'Deprecated since', 'May be refused from'], formerNames),
    unsubscribed: listOf(routes.filter(({ open, unsubscribed }) => open === true || unsubscribed === true)),
    permissions: permissionsOf(routes).map((permission) => section(permission, routes)),
    ofCustomers: listOf(routes.filter(({ customers }) => customers === true)),
    closedToAgents: listOf(routes.filter(({ agents }) => agents === false)),
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
<h3>${permission === null ? 'None required' : code(permission)}</h3>
${listOf([...opened, ...forOwn], (route) => (route.permission === permission ? undefined : route.own?.of))}
</section>`;
}

/** Returns the table's permissions in its order, admins' ones, and null for no permission. */
function permissionsOf(routes: readonly Route[]): (string | null)[] {
  const asked = routes
    .map(({ permission }) => permission)
    .toSorted((a, b) => (a === null ? 1 : b === null ? -1 : 0));
  return [...new Set<string | null>([...PERMISSIONS, ...asked])];
}

/** Returns a list; `limitOf` the part of an endpoint that a permission opens, if not all. */
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
