import { ListOf } from '../../contract/protocol/lists.ts';
import { Block } from '../../contract/protocol/resources/participant.ts';
import { seesWholeAccount } from '../../platform/access/principal.ts';
import type { Rights } from '../../platform/access/rights.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { defineList, PageQuery, readPage, toList } from '../../platform/http/pipeline/pagination.ts';
import { Answer, defineRoute, type Route } from '../../platform/http/pipeline/route.ts';
import { keyOf } from '../accounts/account-list.ts';
import { BLOCKS, type Blocked, type BlockRow, blockActor, presentBlocks, unblockActor } from './blocks.ts';

export function blockRoutes(database: Database, rights: Pick<Rights, 'announce'>): Route[] {
  // This precedes the answer, so that a send after the answer is refused.
  const announce = async ({ subjects }: Blocked): Promise<void> => {
    await Promise.all(subjects.map((subject) => rights.announce(subject)));
  };
  return [
    defineRoute({
      name: 'block_actor',
      path: '/v1/messaging/actors/:id/actions/block',
      summary: 'Block a customer for the team, or a user for yourself',
      ...CHANGE,
      status: 201,
      mayExist: true,
      async change(tx, { principal, params, afterCommit }) {
        const blocked = await blockActor(tx, principal, params.id!);
        afterCommit(() => announce(blocked));
        return new Answer(blocked.isNew ? 201 : 200, await showBlock(tx, blocked.row));
      },
    }),
    defineRoute({
      name: 'unblock_actor',
      path: '/v1/messaging/actors/:id/actions/unblock',
      summary: 'End the block of a customer or a user',
      ...CHANGE,
      status: 200,
      async change(tx, { principal, params, afterCommit }) {
        const blocked = await unblockActor(tx, principal, params.id!);
        afterCommit(() => announce(blocked));
        return showBlock(tx, blocked.row);
      },
    }),
    defineRoute({
      name: 'list_blocks',
      method: 'GET',
      path: '/v1/messaging/blocks',
      summary: 'List the users that the caller has blocked, and the customers that the team has',
      since: '1.2.harbor',
      permission: 'messaging:read',
      agents: false,
      query: PageQuery({}),
      status: 200,
      response: ListOf(Block),
      async handle({ principal, query, url }) {
        const page = readPage(LIST, query, { actor: principal.actor.id });
        const { accountId, actor } = principal;
        const rows = await BLOCKS.readPage(
          database,
          [accountId, actor.id, seesWholeAccount(principal)],
          page,
        );
        const shown = new Map((await presentBlocks(database, rows)).map((block) => [block.id, block]));
        return toList(rows, page, url, keyOf, ({ id }) => shown.get(id)!);
      },
    }),
  ];
}

const CHANGE = {
  method: 'POST',
  since: '1.2.harbor',
  permission: 'messaging:update',
  own: { permission: 'messaging:read', of: 'users in your direct messages' },
  agents: false,
  response: Block,
} as const;

const LIST = defineList('blocks', ['time', 'text']);

async function showBlock(tx: Tx, row: BlockRow): Promise<Block> {
  const [shown] = await presentBlocks(tx, [row]);
  return shown!;
}
