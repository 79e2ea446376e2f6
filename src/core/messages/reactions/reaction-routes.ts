import { Type } from 'typebox';
import { ListOf } from '../../../contract/protocol/lists.ts';
import { MessageReactions, Reaction } from '../../../contract/protocol/resources/reaction.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { defineList, PageQuery, readPage, toList } from '../../../platform/http/pipeline/pagination.ts';
import { type Call, defineRoute, type Route } from '../../../platform/http/pipeline/route.ts';
import type { ConversationDirectory } from '../../conversations/directory.ts';
import { presentReaction } from '../../resources/reaction.ts';
import { readableMessage } from '../reading/readable-message.ts';
import { react, requireEmoji, unreact } from './react.ts';
import { readReactionPage } from './reaction-store.ts';

export interface ReactionRoutesOptions {
  readonly database: Database;
  readonly directory: ConversationDirectory;
}

export function reactionRoutes(sources: ReactionRoutesOptions): Route[] {
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
      status: 200,
      response: ListOf(Reaction),
      async handle({ principal, params, query, url }) {
        const { emoji } = query;
        const page = readPage(REACTIONS, query, { message: params.id, emoji });
        const { row } = await readableMessage(sources, principal, params.id!);
        const filters = {
          messageId: row.id,
          emoji: emoji === undefined ? null : requireEmoji(emoji),
          // The team is counted and not named (core/resources/reaction.ts).
          ofCustomers: principal.customer,
        };
        const rows = await readReactionPage(sources.database, filters, page);
        return toList(
          rows,
          page,
          url,
          (reaction) => [reaction.created_at, reaction.emoji, reaction.actor.id],
          presentReaction,
        );
      },
    }),
    defineRoute({
      name: 'add_reaction',
      method: 'PUT',
      path: REACTION,
      summary: 'React to a message with an emoji',
      ...OWN_REACTION,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      change: (tx, { principal, params }, message) => react(tx, principal, message, params.emoji!),
    }),
    defineRoute({
      name: 'remove_reaction',
      method: 'DELETE',
      path: REACTION,
      summary: 'Take a reaction of your own back',
      ...OWN_REACTION,
      prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
      change: (tx, { principal, params }, message) => unreact(tx, principal, message, params.emoji!),
    }),
  ];
}

const REACTION = '/v1/messaging/messages/:id/reactions/:emoji';

const OWN_REACTION = {
  since: '1.2.harbor',
  permission: 'messaging:read',
  customers: true,
  // The message may be one that customers read.
  reachesOutside: () => true,
  status: 200,
  response: MessageReactions,
  refuses: ['limit_exceeded'],
  rules: ({ params }: Pick<Call, 'params'>) => void requireEmoji(params.emoji!),
} as const;

const REACTIONS = defineList('reactions', ['time', 'text', 'text']);
