import { Type } from 'typebox';
import type { Version } from '../versions.ts';
import { Nullable } from './schema.ts';
import { Since } from './since.ts';

/**
 * The ids that an account's own application has for its resources (docs/contract.md#own-ids). A
 * path, a body or a query takes `ext:<external_id>` wherever it takes an id of these kinds.
 */

/** The kinds of resources that have an `external_id`. */
const NAMED_KINDS = ['user', 'customer', 'group', 'agent', 'conversation'] as const;
export type NamedKind = (typeof NAMED_KINDS)[number];

/** The prefix of an external id in place of an id. */
export const EXTERNAL_PREFIX = 'ext:';

/** The version from which callers have external ids. */
export const EXTERNAL_SINCE = '1.3.harbor' satisfies Version;

const MAX_CHARACTERS = 255;
/** Characters of an id in a request, of Parley's or of the application's own. */
export const MAX_ID_CHARACTERS = EXTERNAL_PREFIX.length + MAX_CHARACTERS;
const FORM = '^\\P{Cc}+$';

/** An id of the account's own application; it is compared byte for byte. */
const ExternalId = Type.String({
  minLength: 1,
  maxLength: MAX_CHARACTERS,
  pattern: FORM,
  sentence: 'Must not have control characters.',
});

/** Returns the external id in `ext:<external_id>`; undefined for other text. */
export function externalIdIn(text: string): string | undefined {
  if (!text.startsWith(EXTERNAL_PREFIX)) return undefined;
  const id = text.slice(EXTERNAL_PREFIX.length);
  return new RegExp(FORM, 'u').test(id) && [...id].length <= MAX_CHARACTERS ? id : undefined;
}

/** The field of a resource. */
export const OwnId = Since(EXTERNAL_SINCE, Nullable(Type.String()));

/** The version from which actors, and what names an actor, have the own id of the actor. */
export const ACTORS_OWN_ID_SINCE = '1.4.harbor' satisfies Version;

/** The keyword for the own id of an actor, which not every reader sees. */
export const ACTORS_OWN_ID = 'x-own-id-of-actor';

/**
 * The field `external_id` of an actor, or of an object that names one by `actor_id`. Its readers
 * are those of the account setting `own_ids`, and the actor itself (forms/forms.ts).
 */
export const ActorsOwnId = Since(
  ACTORS_OWN_ID_SINCE,
  Type.Union([Type.String(), Type.Null()], { [ACTORS_OWN_ID]: true }),
);

/** The field of a body that creates a resource. */
export const NewOwnId = Since(EXTERNAL_SINCE, ExternalId);

/** The field of a body that changes one; null clears. */
export const ChangedOwnId = Since(EXTERNAL_SINCE, Nullable(ExternalId));

/** The filter of a list. */
export const OwnIdFilter = NewOwnId;

/** The fields' texts. */
export const OWN_ID_TEXTS = {
  field:
    'The id that your own application has for it, unique for its kind in the account. Requests take `ext:<external_id>` wherever they take `id`. Null where there is none.',
  ofActor:
    'The id that your own application has for the actor. Requests take `ext:<external_id>` wherever they take the id of an actor. Null where there is none, and to readers that do not see it: see `own_ids` of the account.',
  create:
    'The id that your own application has for it, of 1 to 255 characters without control characters. It is unique for its kind in the account, and compared byte for byte; a taken one answers `resource_exists`.',
  change: 'The new id of your own application; null removes it. A taken one answers `resource_exists`.',
} as const;

/** The keyword that says what an id names. Validators skip it, documents print it. */
export const ID_OF = 'x-id-of';

/** The keyword for the field beside an id whose value `actor` makes it the id of an actor. */
export const ID_BY = 'x-id-by';

/** The kinds of actors that have an external id, for ids that may name any kind. */
export const NAMED_ACTORS = ['user', 'customer', 'group', 'agent'] as const satisfies readonly NamedKind[];

/**
 * An id in a body or query that names one of these kinds; `actor` is each of the kinds of actors.
 */
export function IdOf(...kinds: readonly (NamedKind | 'actor')[]) {
  return Type.String({ ...ID, [ID_OF]: kindsOf(kinds) });
}

/** An id whose kind is in the field `by` beside it (ENTITY_TYPES). */
export function IdBy(by: string) {
  return Type.String({ ...ID, [ID_BY]: by });
}

/** Ours have 64 characters at most. A blank text becomes "", which names nothing. */
const ID = {
  whitespace: 'blank',
  pattern: `^(?:${EXTERNAL_PREFIX}|[^]{0,64}$)`,
  maxLength: MAX_ID_CHARACTERS,
  sentence: 'Must be at most 64 characters, or ext: and an external id.',
};

function kindsOf(kinds: readonly (NamedKind | 'actor')[]): readonly NamedKind[] {
  return kinds.flatMap((kind) => (kind === 'actor' ? NAMED_ACTORS : [kind]));
}

/** The kinds that the id in a path names, by the beginning of the path. */
const PATHS: readonly (readonly [path: string, kinds: readonly NamedKind[]])[] = [
  // Customers are exported and erased as users are.
  ['/v1/users/:id/actions/erase', ['user', 'customer']],
  ['/v1/users/:id/exports', ['user', 'customer']],
  ['/v1/users/:id', ['user']],
  ['/v1/customers/:id', ['customer']],
  ['/v1/groups/:id', ['group']],
  ['/v1/messaging/groups/:id', ['group']],
  ['/v1/ai/agents/:id', ['agent']],
  ['/v1/messaging/actors/:id', NAMED_ACTORS],
  ['/v1/messaging/people/:id', ['user', 'agent']],
  ['/v1/messaging/conversations/:id', ['conversation']],
];

/** Returns what the parameter `:id` of a path names; undefined if that has no external id. */
export function kindsInPath(path: string): readonly NamedKind[] | undefined {
  return PATHS.find(([start]) => path === start || path.startsWith(`${start}/`))?.[1];
}
