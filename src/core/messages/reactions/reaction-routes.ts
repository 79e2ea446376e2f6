import { ListOf } from '@parley/protocol/lists.ts';
import { MessageReactions, Reaction } from '@parley/protocol/resources/reaction.ts';
import { Type } from 'typebox';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { presentReaction, type ReactionRow } from '../../resources/reaction.ts';
import type { MessageRoutesOptions } from '../reading/message-routes.ts';
import { readableMessage } from '../rules/readable-message.ts';
import { REACTIONS, react, requireEmoji } from './reactions.ts';

export function reactionRoutes(sources: MessageRoutesOptions): Route[] {
  return [
    defineRoute({
      name: 'list_reactions',
      method: 'GET',
      path: '/v1/messaging/messages/:id/reactions',
      summary: 'List the reactions to a message, oldest first',
      since: '1.2.harbor',
      permission: 'messaging:read',
      customers: true,
      query: PageQuery({ emoji: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })) }),
      response: ListOf(Reaction),
      async handle({ principal, params, query, url }) {
        const { emoji } = query;
        const page = readPage(LIST, query, { message: params.id, emoji });
        const { row } = await readableMessage(sources, principal, params.id!);
        const only = emoji === undefined ? null : requireEmoji(emoji);
        // Reactions of the team are counted and not named (core/resources/reaction.ts).
        const rows = await REACTIONS.readPage(sources.database, [row.id, only, principal.customer], page);
        return toList(rows, page, url, keyOf, presentReaction);
      },
    }),
    ...(['add', 'remove'] as const).map((move) =>
      defineRoute({
        name: `${move}_reaction`,
        method: move === 'add' ? 'PUT' : 'DELETE',
        path: '/v1/messaging/messages/:id/reactions/:emoji',
        summary: move === 'add' ? 'React to a message with an emoji' : 'Take a reaction of your own back',
        since: '1.2.harbor',
        permission: 'messaging:read',
        customers: true,
        // Customers may read the message.
        reachesOutside: () => true,
        response: MessageReactions,
        refuses: ['limit_exceeded'],
        rules: ({ params }) => void requireEmoji(params.emoji!),
        prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
        change: (tx, { principal, params }, message) => react(tx, principal, message, params.emoji!, move),
      }),
    ),
  ];
}

const LIST = defineList('reactions', ['time', 'text', 'text']);
const keyOf = ({ created_at, emoji, actor }: ReactionRow) => [created_at, emoji, actor.id];
