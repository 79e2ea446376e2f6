import { isExactNumber } from '@parley/protocol/json/exact-json.ts';
import { ERASED_NAME } from '@parley/protocol/resources/erasure.ts';

/** The fields that show a person in resources, with their values after the erasure. */
const ERASED: Readonly<Record<string, unknown>> = {
  name: ERASED_NAME,
  handle: null,
  avatar_url: null,
  external_id: null,
  username: null,
  metadata: {},
};

/** Returns the JSON value with the person, at any depth, shown as erased. */
export function withoutPerson(value: unknown, id: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutPerson(item, id));
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  const isPerson = 'id' in value && value.id === id;
  const isParticipant =
    'object' in value &&
    value.object === 'conversation_participant' &&
    'actor_id' in value &&
    value.actor_id === id;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      if (isPerson && name === 'email') return [name, `${id}@deleted.invalid`];
      if (isParticipant && name === 'metadata') return [name, {}];
      return [name, isPerson && name in ERASED ? ERASED[name] : withoutPerson(field, id)];
    }),
  );
}

/** Returns Postgres patterns that find the names in texts of Parley; null without names. */
export function patternsOf(names: readonly string[]): { title: string; systemEvent: string } | null {
  if (names.length === 0) return null;
  // The longest names come first, because a name may begin with another one.
  const any = [...names]
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replace(/[^\p{L}\p{N}_\s]/gu, '\\$&'))
    .join('|');
  return {
    // "Ada in Pier", "Ada mentioned you in Pier", "Ada added you to Pier", "Ada assigned Pier to
    // you", "Ada proposed a reply", "Ada".
    title: `^(?:${any})(?= in | mentioned you| added you to | assigned | proposed a reply|$)`,
    // "Ada joined.", "Grace added Ada.", "Grace assigned the conversation to Ada."
    systemEvent: `(?:^|(?<= ))(?:${any})(?= |\\.$)`,
  };
}
