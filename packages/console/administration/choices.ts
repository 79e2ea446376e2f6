import type { Client } from '@parley/client';
import { hasWords } from '@parley/protocol/folding.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Choice } from '@parley/ui/choices/choice-line.tsx';
import type { Choices } from '@parley/ui/choices/combobox.tsx';
import type { Special } from '@parley/ui/form/form-context.ts';
import type { JsonSchema } from '@parley/ui/form/json-schema.ts';
import { filled, type Operation } from './api-document.ts';
import { OWN_CONTROLS } from './own-controls.tsx';
import type { Item } from './section.ts';

/** Returns the operation if the caller may call it. */
type Offered = (id: string | undefined) => Operation | undefined;

/** The source of the ids of a kind of resource. */
interface Source {
  readonly list: string;
  readonly get?: string;
  readonly choice: (item: Item) => Choice;
}

const named =
  (detail: string) =>
  (item: Item): Choice => {
    const more = item[detail];
    return {
      id: item.id,
      name: String(item.name ?? item.id),
      detail: typeof more === 'string' ? more : null,
    };
  };

const SOURCES: Readonly<Record<string, Source>> = {
  role: { list: 'list_roles', get: 'get_role', choice: named('type') },
  user: { list: 'list_users', get: 'get_user', choice: named('email') },
  group: { list: 'list_groups', get: 'get_group', choice: named('object') },
  agent: { list: 'list_agents', get: 'get_agent', choice: named('slug') },
  customer: { list: 'list_customers', get: 'get_customer', choice: named('email') },
  identity_provider: {
    list: 'list_identity_providers',
    get: 'get_identity_provider',
    choice: named('issuer'),
  },
  conversation: {
    list: 'list_conversations',
    get: 'get_conversation',
    choice: ({ id, title }) => ({ id, name: String(title ?? id), detail: id }),
  },
  tool: {
    list: 'list_tools',
    choice: ({ slug, name }) => ({ id: String(slug), name: String(name), detail: String(slug) }),
  },
};

/** The kinds that a field names, where its schema does not say. */
const KINDS_BY_NAME: Readonly<Record<string, readonly string[]>> = {
  role_id: ['role'],
  identity_provider_id: ['identity_provider'],
  endpoint_tool_slugs: ['tool'],
};
const KINDS_OF_ACTOR = ['user', 'agent', 'customer'];

/** Returns the replacement of a text field: a search among resources, or a picture to upload. */
export function specialFields(offered: Offered, client: Client) {
  return (name: string, schema: JsonSchema): Special | undefined => {
    if (name === 'avatar_s3_key') {
      return {
        kind: 'file',
        accept: PICTURES,
        upload: async (file) => (await client.upload(file)).s3_key ?? '',
      };
    }
    const own = OWN_CONTROLS[name];
    if (own !== undefined) return own;
    if (name === 'timezone') return { kind: 'choices', ...TIME_ZONES };
    const kinds = KINDS_BY_NAME[name] ?? schema['x-id-of']?.flatMap(withActors);
    const choices = kinds && choicesOf(offered, client, kinds);
    return choices && { kind: 'choices', ...choices };
  };
}

/** The zones that the browser knows. */
const TIME_ZONES: Choices = {
  find: async (words) => {
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const all = [here, 'UTC', ...Intl.supportedValuesOf('timeZone')];
    return [...new Set(all)]
      .filter((zone) => hasWords(zone.replaceAll(/[/_]/g, ' '), words.replaceAll(/[/_]/g, ' ')))
      .slice(0, MOST_OF_A_KIND)
      .map((zone) => ({ id: zone, name: zone.replaceAll('_', ' ') }));
  },
  labelOf: async (zone) => zone.replaceAll('_', ' '),
};

const PICTURES = 'image/png,image/jpeg,image/gif,image/webp';

function withActors(kind: string): readonly string[] {
  return kind === 'actor' ? KINDS_OF_ACTOR : [kind];
}

/** Returns undefined where the caller may list none of the kinds. */
function choicesOf(offered: Offered, client: Client, kinds: readonly string[]): Choices | undefined {
  const sources = [...new Set(kinds)].flatMap((kind) => {
    const source = SOURCES[kind];
    const list = offered(source?.list);
    return source === undefined || list === undefined ? [] : [{ ...source, list, get: offered(source.get) }];
  });
  if (sources.length === 0) return undefined;
  const find: Choices['find'] = async (words) => {
    const found = await Promise.all(
      sources.map(async ({ list, choice }) => {
        const query = new URLSearchParams({ limit: String(MOST_OF_A_KIND) });
        const isSearched = list.query.some(({ name }) => name === 'q');
        if (words !== '' && isSearched) query.set('q', words);
        const { data } = await client.fetch<List<Item>>(`${list.path}?${query}`);
        const fits = data.map(choice);
        return isSearched ? fits : fits.filter(({ name }) => hasWords(name, words));
      }),
    );
    return found.flat();
  };
  const labelOf: Choices['labelOf'] = async (value) => {
    for (const { get, choice } of sources) {
      if (get === undefined) continue;
      const item = await client.fetch<Item>(filled(get.path, [value])).catch(() => null);
      if (item !== null) return choice(item).name;
    }
    return value;
  };
  return { find, labelOf };
}

const MOST_OF_A_KIND = 20;
