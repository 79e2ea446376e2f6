import { useResource } from '@parley/ui/hooks/resource.ts';
import { ActorName } from '../names/actor-name.tsx';
import { Link } from '../nav/link.tsx';
import type { Place } from '../nav/place.ts';
import { useSignedIn } from '../session/session-context.tsx';
import { texts } from '../texts/texts.ts';
import { filled } from './api-document.ts';
import type { Item } from './section.ts';
import { useAdministration } from './use-administration.ts';

/** The sources of names, and the sections that show them, by the prefixes of ids. */
const KINDS: Readonly<Record<string, { readonly get?: string; readonly section?: string }>> = {
  act: { section: 'people' },
  grp: { section: 'groups' },
  agt: { get: 'get_agent', section: 'agents' },
  rol: { get: 'get_role', section: 'roles' },
  idp: { get: 'get_identity_provider', section: 'identity-providers' },
  inb: { get: 'get_inbox', section: 'inboxes' },
  wgt: { get: 'get_widget', section: 'widgets' },
  whk: { get: 'get_webhook', section: 'webhooks' },
  key: { get: 'get_api_key', section: 'api-keys' },
  run: { section: 'runs' },
  cnv: { get: 'get_conversation' },
};

const ID = /^([a-z]{3})_[0-9A-Za-z]{20,}$/;

/** Returns the name of what an id is of, with the way there; undefined for other texts. */
export function referenceOf(id: string) {
  const [, prefix = ''] = ID.exec(id) ?? [];
  return Object.hasOwn(KINDS, prefix) ? <Reference key={id} id={id} prefix={prefix} /> : undefined;
}

function Reference({ id, prefix }: { readonly id: string; readonly prefix: string }) {
  const { get, section } = KINDS[prefix]!;
  const { client } = useSignedIn();
  const { offered } = useAdministration();
  const operation = offered(get);
  const { value, problem } = useResource(operation === undefined ? null : id, (signal) =>
    client.fetch<Item>(filled(operation!.path, [id]), { signal }),
  );
  const name =
    get === undefined
      ? prefix === 'run'
        ? texts.administration.run
        : undefined
      : value === null
        ? problem !== '' || operation === undefined
          ? id
          : '…'
        : String(value.name ?? value.title ?? value.url ?? texts.administration.untitled);
  return (
    <Link to={placeOf(prefix, id, section)} title={id}>
      {name ?? <ActorName id={id} />}
    </Link>
  );
}

function placeOf(prefix: string, id: string, section: string | undefined): Place {
  return prefix === 'cnv'
    ? { main: { at: 'conversation', id } }
    : { main: { at: 'administration', section: section!, id } };
}
