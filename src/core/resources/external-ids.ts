import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { NamedKind } from '@parley/protocol/schema/external-ids.ts';
import type { AskedId, ExternalIds } from '../../api/access/external-ids.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Querier } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type Acquainted, acquainted, isKnown } from './known-users.ts';

/**
 * Looks external ids up, in one query for all ids of a request. Customers name conversations alone:
 * they do not learn which people the account knows. The team names users that the caller knows.
 */
export function externalIds(database: { readonly reader: Querier }): ExternalIds {
  return {
    async find(principal, asked) {
      const { accountId, customer } = principal;
      const places: number[] = [];
      const kinds: NamedKind[] = [];
      const given: string[] = [];
      for (const [place, { kinds: possible, externalId }] of asked.entries()) {
        for (const kind of possible) {
          if (customer && kind !== 'conversation') continue;
          places.push(place);
          kinds.push(kind);
          given.push(externalId);
        }
      }
      if (places.length === 0) return asked.map(() => undefined);
      const rows = await database.reader.query(FIND, accountId, places, kinds, given, acquainted(principal));
      const byPlace = Map.groupBy(rows, ({ place }) => place);
      return asked.map((one, place) => onlyOne(one, byPlace.get(place) ?? []));
    },
  };
}

/**
 * Returns our id of the resource with the external id, of any kind and known to the caller or not.
 */
export async function findExternal(
  db: Querier,
  { accountId }: Pick<Principal, 'accountId'>,
  kind: NamedKind,
  externalId: string,
): Promise<string | undefined> {
  const [row] = await db.query(FIND, accountId, [0], [kind], [externalId], null);
  return row?.id;
}

/** Returns the id; an id of several possible kinds is the actor's. */
function onlyOne({ kinds: possible, externalId, param }: AskedId, rows: readonly FoundRow[]) {
  if (rows.length <= 1) return possible.length === 1 ? rows[0]?.id : rows[0]?.actor_id;
  const kinds = rows.map(({ kind }) => kind).sort();
  const message = `More than one resource (${kinds.join(', ')}) has the external_id ${JSON.stringify(externalId)}. Send the id of one of them.`;
  throw new ApiError('resource_conflict', message, { param });
}

/** SQL: the id of the actor with an external id; both parameters are placeholders. */
export function externalActor(
  kind: Exclude<NamedKind, 'conversation'>,
  account: `$${number}`,
  externalId: `$${number}`,
): string {
  const type = kind === 'customer' ? 'user' : kind;
  return `(SELECT n.id FROM actors n WHERE n.account_id = ${account} AND n.type = '${type}'
        AND n.customer = ${kind === 'customer'} AND n.external_id = ${externalId})`;
}

interface FoundRow {
  readonly place: number;
  readonly kind: NamedKind;
  readonly id: string;
  readonly actor_id: string;
}

const FIND = statement<
  [
    accountId: string,
    places: readonly number[],
    kinds: readonly string[],
    externalIds: readonly string[],
    caller: Acquainted,
  ],
  FoundRow
>('find-external-ids')`
    SELECT n.place, n.named AS kind, coalesce(g.id, d.id, a.id) AS id, a.id AS actor_id
    FROM unnest($2::integer[], $3::text[], $4::text[]) AS n (place, named, external_id)
    JOIN actors a ON a.account_id = $1
      AND a.type = CASE n.named WHEN 'customer' THEN 'user' ELSE n.named END
      AND a.customer = (n.named = 'customer') AND a.external_id = n.external_id AND ${isKnown('$5')}
    LEFT JOIN messaging_groups g ON n.named = 'group' AND g.account_id = $1 AND g.actor_id = a.id
    LEFT JOIN agent_definitions d ON n.named = 'agent' AND d.account_id = $1 AND d.actor_id = a.id
    UNION ALL
    SELECT n.place, n.named AS kind, c.id, c.id
    FROM unnest($2::integer[], $3::text[], $4::text[]) AS n (place, named, external_id)
    JOIN conversations c ON c.account_id = $1 AND n.named = 'conversation' AND c.external_id = n.external_id`;
