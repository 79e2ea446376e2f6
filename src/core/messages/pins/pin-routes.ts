import { ListOf } from '@parley/protocol/lists.ts';
import { type ChatMessage, IncludeInMessage } from '@parley/protocol/resources/chat-message.ts';
import { Pin } from '@parley/protocol/resources/pin.ts';
import { defineList, PageQuery, readPage, toList } from '../../../api/pipeline/pagination.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { readableConversation } from '../../conversations/directory/access.ts';
import { expandMessage, expandMessages } from '../../resources/expanded-message.ts';
import { readMessagesForPage } from '../../resources/large-bodies.ts';
import { type MessageRoutesOptions, OF_MESSAGE } from '../reading/message-routes.ts';
import { readableMessage } from '../rules/readable-message.ts';
import { PINS, type PinState, setPin } from './pin.ts';

export function pinRoutes({ database, files, directory }: MessageRoutesOptions): Route[] {
  const sources = { database, directory };
  return [
    defineRoute({
      name: 'list_pins',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/pins',
      summary: 'List the pinned messages of a conversation, the last pinned first',
      since: '1.2.harbor',
      permission: 'messaging:read',
      query: PageQuery({ 'include[]': IncludeInMessage }),
      response: ListOf(Pin),
      async handle({ principal, params, query, url }) {
        const page = readPage(LIST, query, { conversation: params.id });
        const facts = await readableConversation(directory, principal, params.id!);
        const pins = await PINS.readPage(database, [facts.id], page);
        const ids = pins.map(({ message_id }) => message_id);
        const rows = await readMessagesForPage(database, ids);
        const shown = await expandMessages(database, files, principal, rows, query['include[]'] ?? []);
        const messages = new Map([...shown].map(([{ id }, message]) => [id, message]));
        // A message that was purged between the two reads has no pin any more.
        const there = pins.filter(({ message_id }) => messages.has(message_id));
        const present = (pin: PinState & { message_id: string }) =>
          presentPin(pin, messages.get(pin.message_id)!);
        return toList(there, page, url, (pin) => [pin.pinned_at, pin.message_id], present);
      },
    }),
    ...(['pin', 'unpin'] as const).map((move) =>
      defineRoute({
        name: `${move}_message`,
        method: 'POST',
        path: `/v1/messaging/messages/:id/actions/${move}`,
        summary: move === 'pin' ? 'Pin a message in its conversation' : 'Unpin a message',
        since: '1.2.harbor',
        permission: 'messaging:create',
        ...OF_MESSAGE,
        response: Pin,
        refuses: move === 'pin' ? ['limit_exceeded'] : [],
        prepare: ({ principal, params }) => readableMessage(sources, principal, params.id!),
        async change(tx, { principal, query }, message) {
          const state = await setPin(tx, principal, message, move);
          const shown = await expandMessage(tx, files, principal, message.row, query['include[]']);
          return presentPin(state, shown);
        },
      }),
    ),
  ];
}

function presentPin({ pinned_by, pinned_at }: PinState, message: ChatMessage): Pin {
  return { object: 'pin', message_id: message.id, pinned_by, pinned_at, message };
}

const LIST = defineList('pins', ['time', 'text']);
