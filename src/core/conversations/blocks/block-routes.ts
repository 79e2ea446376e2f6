import { ListOf } from '@parley/protocol/lists.ts';
import { Block } from '@parley/protocol/resources/participant.ts';
import { seesWholeAccount } from '../../../api/access/principal.ts';
import type { Rights } from '../../../api/access/rights.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../../api/pipeline/route.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { keyOf } from '../../accounts/collections/account-list.ts';
import { BLOCKS, blockActor, presentBlocks, unblockActor } from './blocks.ts';

export function blockRoutes(database: Database, rights: Pick<Rights, 'announce'>): Route[] {
  return [
    ...(['block', 'unblock'] as const).map((move) =>
      defineRoute({
        name: `${move}_actor`,
        method: 'POST',
        path: `/v1/messaging/actors/:id/actions/${move}`,
        summary:
          move === 'block'
            ? 'Block a customer for the team, or a user for yourself'
            : 'End the block of a customer or a user',
        since: '1.2.harbor',
        permission: 'messaging:update',
        own: { permission: 'messaging:read', of: 'users in your direct messages' },
        agents: false,
        status: move === 'block' ? 201 : 200,
        mayExist: move === 'block',
        response: Block,
        async change(tx, { principal, params, afterCommit }) {
          const change = move === 'block' ? blockActor : unblockActor;
          const { row, isNew, subjects } = await change(tx, principal, params.id!);
          // This precedes the answer, so that a send after the answer is refused.
          afterCommit(async () => {
            await Promise.all(subjects.map((subject) => rights.announce(subject)));
          });
          const [shown] = await presentBlocks(tx, principal, [row]);
          return new Answer(isNew ? 201 : 200, shown!);
        },
      }),
    ),
    defineRoute({
      name: 'list_blocks',
      method: 'GET',
      path: '/v1/messaging/blocks',
      summary: 'List the users that the caller has blocked, and the customers that the team has',
      since: '1.2.harbor',
      permission: 'messaging:read',
      agents: false,
      query: PageQuery({}),
      response: ListOf(Block),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { actor: principal.actor.id });
        const { accountId, actor } = principal;
        const rows = await BLOCKS.readPage(
          database,
          [accountId, actor.id, seesWholeAccount(principal)],
          page,
        );
        const blocks = await presentBlocks(database, principal, rows);
        const shown = new Map(blocks.map((block) => [block.id, block]));
        return toList(rows, page, url, keyOf, ({ id }) => shown.get(id)!);
      },
    }),
  ];
}

const LIST = defineList('blocks', ['time', 'text']);
