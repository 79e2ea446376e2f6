import {
  CustomerCard,
  CustomerCardSource,
  NewCustomerCardSource,
  SetCustomerCardSource,
  SetCustomerCardSourceBody,
} from '@parley/protocol/resources/customer-card.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import { readableConversation } from '../../core/conversations/directory/access.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { readReceiverUrl } from '../../platform/outbound/address-guard.ts';
import type { Cards } from './cards.ts';
import { customerBehind } from './customer.ts';
import { presentSource, readSource, rotateSourceSecret, setSource } from './source.ts';

/** Returns the routes of cards and of their source (docs/contract.md#customer-cards). */
export function cardRoutes({ database, directory, guard }: NodeParts, cards: Pick<Cards, 'of'>): Route[] {
  const common = { since: '1.4.harbor', agents: false } as const;
  const readUrl = (url: string | null) => url && readReceiverUrl(url, 'url', guard).href;
  return [
    defineRoute({
      ...common,
      name: 'get_customer_card',
      method: 'GET',
      path: '/v1/messaging/conversations/:id/participants/:participant_id/card',
      summary: 'Get what the application of the account says of a customer of a case',
      permission: 'messaging:read',
      response: CustomerCard,
      async handle({ principal, params }) {
        const { id } = await readableConversation(directory, principal, params.id!);
        const [customer, source] = await Promise.all([
          customerBehind(database, id, params.participant_id!),
          readSource(database, principal.accountId),
        ]);
        if (source !== undefined) return cards.of(source, customer);
        return {
          object: 'customer_card' as const,
          customer_id: customer.customer_id,
          status: 'none' as const,
          title: null,
          fields: [],
          error: null,
          detail: null,
          read_at: null,
        };
      },
    }),
    defineRoute({
      ...common,
      name: 'get_customer_card_source',
      method: 'GET',
      path: '/v1/account/customer-card-source',
      summary: 'Get where the account asks for cards of its customers',
      permission: 'webhooks:read',
      response: CustomerCardSource,
      handle: async ({ principal }) => presentSource(await readSource(database, principal.accountId)),
    }),
    defineRoute({
      ...common,
      name: 'set_customer_card_source',
      method: 'PUT',
      path: '/v1/account/customer-card-source',
      summary: 'Set or remove where the account asks for cards of its customers',
      permission: 'webhooks:update',
      secret: true,
      body: SetCustomerCardSourceBody,
      response: SetCustomerCardSource,
      rules: ({ body }) => void readUrl(body.url),
      change: (tx, { principal, body }) => setSource(tx, principal, readUrl(body.url)),
    }),
    defineRoute({
      ...common,
      name: 'rotate_customer_card_secret',
      method: 'POST',
      path: '/v1/account/customer-card-source/actions/rotate-secret',
      summary: 'Give the source of cards a new secret; the one before signs as well for 24 hours',
      permission: 'webhooks:update',
      secret: true,
      status: 201,
      response: NewCustomerCardSource,
      change: (tx, { principal }) => rotateSourceSecret(tx, principal),
    }),
  ];
}
