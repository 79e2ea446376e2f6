import {
  EXTERNAL_PREFIX,
  ID_BY,
  ID_OF,
  kindsInPath,
  NAMED_ACTORS,
  type NamedKind,
} from '@parley/protocol/schema/external-ids.ts';
import type { AskedId, ExternalIds } from '../access/external-ids.ts';
import type { Principal } from '../access/principal.ts';
import type { Route } from './route.ts';

/**
 * Ids of a request that begin with `ext:` are replaced by ours before anything reads them
 * (docs/contract.md#own-ids). An endpoint's schemas show where it takes such ids, so that a request
 * without any costs only a look at those places. An id that names nothing stays as it is, and is
 * then refused like every other unknown id.
 */

type Params = Readonly<Record<string, string>>;

/** The places of ids in the requests of one endpoint. */
export interface IdPlaces {
  readonly path: readonly NamedKind[] | undefined;
  readonly query: Places | undefined;
  readonly body: Places | undefined;
}

/** The places of ids in the values of a schema. */
interface Places {
  /** Set if the value itself is an id. */
  readonly kinds?: readonly NamedKind[];
  /** Set if the value is the id of an actor when this field beside it says so. */
  readonly by?: string;
  readonly fields?: readonly (readonly [name: string, places: Places])[];
  readonly items?: Places;
  /** The places of values of several kinds, which the field `tag` tells apart. */
  readonly tag?: string;
  readonly byTag?: ReadonlyMap<unknown, Places>;
}

/** Returns undefined for an endpoint that takes no such ids. */
export function idPlacesOf({ path, query, body, upserts }: Route): IdPlaces | undefined {
  const places = {
    path: upserts === true ? undefined : kindsInPath(path),
    query: query && placesOf(query as Schema),
    body: body && placesOf(body as Schema),
  };
  return Object.values(places).some((value) => value !== undefined) ? places : undefined;
}

/** Returns whether an external id in a request of the route may name several resources. */
export function namesOneOfSeveral(route: Route): boolean {
  const { path, query, body } = idPlacesOf(route) ?? {};
  return (path?.length ?? 0) > 1 || [query, body].some((places) => places !== undefined && isWide(places));
}

function isWide({ kinds = [], by, fields = [], items, byTag }: Places): boolean {
  const inner = [
    ...fields.map(([, places]) => places),
    ...(byTag?.values() ?? []),
    ...(items ? [items] : []),
  ];
  return kinds.length > 1 || by !== undefined || inner.some(isWide);
}

/** Returns whether the request names anything by an external id. Allocates nothing. */
export function hasExternalIds(places: IdPlaces, params: Params, query: unknown, body: unknown): boolean {
  return (
    (places.path !== undefined && isExternal(params.id)) ||
    (places.query !== undefined && hasIn(places.query, query, undefined)) ||
    (places.body !== undefined && hasIn(places.body, body, undefined))
  );
}

/** Replaces the external ids of a request, in query and body themselves. Returns its new params. */
export async function replaceExternalIds(
  ids: ExternalIds,
  principal: Principal,
  places: IdPlaces,
  params: Params,
  query: unknown,
  body: unknown,
): Promise<Params> {
  const found: Found[] = [];
  const newParams = { ...params };
  if (places.path !== undefined && isExternal(params.id)) {
    found.push({ ...ask(places.path, params.id, 'id'), holder: newParams, key: 'id' });
  }
  if (places.query !== undefined) collect(places.query, query, '', found);
  if (places.body !== undefined) collect(places.body, body, '', found);
  const ours = await ids.find(principal, found);
  for (const [index, { holder, key }] of found.entries()) {
    const id = ours[index];
    if (id !== undefined) holder[key] = id;
  }
  return newParams;
}

interface Found extends AskedId {
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
}

/** The parts of JSON Schema that bodies and queries are made of. */
interface Schema {
  readonly [ID_OF]?: readonly NamedKind[];
  readonly [ID_BY]?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: { readonly propertyName: string };
  readonly const?: unknown;
}

function placesOf(schema: Schema): Places | undefined {
  const { [ID_OF]: kinds, [ID_BY]: by, properties, items, anyOf, oneOf = [], discriminator } = schema;
  if (kinds !== undefined) return { kinds };
  if (by !== undefined) return { by };
  if (discriminator !== undefined) {
    const tag = discriminator.propertyName;
    const byTag = new Map(
      oneOf.flatMap((choice) => {
        const places = placesOf(choice);
        return places === undefined ? [] : [[choice.properties?.[tag]?.const, places] as const];
      }),
    );
    return byTag.size === 0 ? undefined : { tag, byTag };
  }
  // A value or null.
  if (anyOf !== undefined) return anyOf.map(placesOf).find((places) => places !== undefined);
  if (items !== undefined) {
    const places = placesOf(items);
    return places && { items: places };
  }
  const fields = Object.entries(properties ?? {}).flatMap(([name, property]) => {
    const places = placesOf(property);
    return places === undefined ? [] : [[name, places] as const];
  });
  return fields.length === 0 ? undefined : { fields };
}

function hasIn(places: Places, value: unknown, holder: unknown): boolean {
  if (typeof value === 'string') return isExternal(value) && kindsAt(places, holder) !== undefined;
  if (typeof value !== 'object' || value === null) return false;
  if (places.fields !== undefined) {
    const object = value as Readonly<Record<string, unknown>>;
    for (const [name, inner] of places.fields) {
      const field = object[name];
      if (field !== undefined && hasIn(inner, field, object)) return true;
    }
    return false;
  }
  if (places.items !== undefined) {
    for (const item of value as readonly unknown[]) if (hasIn(places.items, item, undefined)) return true;
    return false;
  }
  const chosen = chosenOf(places, value);
  return chosen !== undefined && hasIn(chosen, value, undefined);
}

function collect(places: Places, value: unknown, at: string, found: Found[]): void {
  if (typeof value !== 'object' || value === null) return;
  const holder = value as Record<string | number, unknown>;
  const visit = (inner: Places, key: string | number, param: string) => {
    const field = holder[key];
    if (typeof field !== 'string') collect(inner, field, param, found);
    else if (isExternal(field)) {
      const kinds = kindsAt(inner, holder);
      if (kinds !== undefined) found.push({ ...ask(kinds, field, param), holder, key });
    }
  };
  for (const [name, inner] of places.fields ?? []) visit(inner, name, at === '' ? name : `${at}.${name}`);
  if (places.items !== undefined) {
    for (const index of (value as readonly unknown[]).keys()) {
      // A query's list has the name of its parameter.
      visit(places.items, index, at.endsWith('[]') ? at : `${at}[${index}]`);
    }
  }
  const chosen = chosenOf(places, value);
  if (chosen !== undefined) collect(chosen, value, at, found);
}

function chosenOf({ tag, byTag }: Places, value: object): Places | undefined {
  return tag === undefined ? undefined : byTag?.get((value as Readonly<Record<string, unknown>>)[tag]);
}

function kindsAt({ kinds, by }: Places, holder: unknown): readonly NamedKind[] | undefined {
  if (by === undefined) return kinds;
  const type = (holder as Readonly<Record<string, unknown>> | undefined)?.[by];
  return type === 'actor' ? NAMED_ACTORS : undefined;
}

function ask(kinds: readonly NamedKind[], value: string, param: string): AskedId {
  return { kinds, externalId: value.slice(EXTERNAL_PREFIX.length), param };
}

function isExternal(value: string | undefined): value is string {
  return value?.startsWith(EXTERNAL_PREFIX) === true;
}
