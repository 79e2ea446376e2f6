import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { CreateWidgetBody, VisitorSession, Widget } from '@parley/protocol/resources/widget.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { callsAt, type TestApp } from '../support/app.ts';

/**
 * Returns calls about an app's widgets, as shops' pages make them. Each throws unless it succeeds.
 */
export function visitorsOf(app: TestApp) {
  const { call } = callsAt(app, NEWEST_VERSION);
  const need = async <Body>(method: string, path: string, options: Parameters<TestApp['call']>[2] = {}) => {
    const { status, body, text } = await call<Body>(method, path, options);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return body;
  };
  return {
    need,
    widget: (more: Partial<CreateWidgetBody> = {}) =>
      need<Widget>('POST', '/v1/widgets', {
        body: { name: 'Shop', sites: ['https://shop.example'], ...more },
      }),
    visitor: ({ id }: Pick<Widget, 'id'>) =>
      need<VisitorSession>('POST', `/v1/widgets/${id}/visitors`, { headers: OPEN, body: {} }),
    openCase: (token: string, more: object = {}) =>
      need<Conversation>('POST', '/v1/messaging/conversations', {
        token,
        body: { type: 'group', audience: 'customer', ...more },
      }),
    send: (token: string, conversationId: string, body: string, more: object = {}) =>
      need<ChatMessage>('POST', `/v1/messaging/conversations/${conversationId}/messages`, {
        token,
        body: { client_message_id: randomUUID(), body, ...more },
      }),
    casesOf: async (token: string) =>
      (await need<{ data: Conversation[] }>('GET', '/v1/messaging/conversations', { token })).data.map(
        ({ id }) => id,
      ),
    textsOf: async (token: string, conversationId: string) =>
      (
        await need<{ data: ChatMessage[] }>(
          'GET',
          `/v1/messaging/conversations/${conversationId}/messages?include[]=sender`,
          { token },
        )
      ).data,
  };
}

/** The headers of a caller without a credential. */
export const OPEN = { Authorization: undefined, 'Service-Account': undefined } as const;
