import { ApiError } from '@parley/protocol/errors/errors.ts';
import {
  AddressConfirmation,
  ConfirmAddressBody,
  EnterCodeBody,
  OpenConfirmationBody,
  VisitorSession,
} from '@parley/protocol/resources/widget.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { defineRoute, type Route } from '../../../api/pipeline/route.ts';
import { createCustomer, findCustomer } from '../../../core/accounts/actors/actors.ts';
import { proveAddress } from '../../../core/accounts/actors/proven-address.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { claimVisitor } from '../visitors/claim.ts';
import { beginSession, type VisitorParts } from '../visitors/visitor-routes.ts';
import { findCustomerOf, isActiveCustomer, lockVisitor } from '../visitors/visitor-store.ts';
import { findOffered, findWidget } from '../widgets/widget-store.ts';
import { codeOf, isSame, pageTokenOf, readPageToken } from './code.ts';
import {
  type ConfirmationRow,
  countTry,
  insertConfirmation,
  lockConfirmation,
  lockConfirmationOf,
  markEntered,
  markUsed,
  wrongCode,
} from './confirmation-store.ts';

export interface AddressParts extends VisitorParts {
  readonly sendsMail: boolean;
  readonly secret: string;
}

/**
 * Returns the routes by which a visitor becomes an address's customer (docs/contract.md#widgets).
 */
export function addressRoutes(parts: AddressParts): Route[] {
  const { database, secret, sendsMail } = parts;
  const common = { since: '1.3.harbor', permission: null, agents: false, customers: true } as const;
  return [
    defineRoute({
      ...common,
      name: 'confirm_address',
      method: 'POST',
      path: '/v1/widgets/:id/visitors/actions/confirm-address',
      summary: 'Mail a link and a code to an address that a visitor has typed',
      secret: true,
      refuses: ['resource_conflict', 'rate_limit_exceeded'],
      body: ConfirmAddressBody,
      response: AddressConfirmation,
      async change(tx, { principal, params, body }) {
        const { accountId, actor } = principal;
        const { id: widgetId } = await findWidget(tx, accountId, params.id!);
        requireVisitor(principal, widgetId);
        if (!sendsMail) {
          throw new ApiError('resource_conflict', 'This server sends no mail, so it confirms no addresses.');
        }
        const visitor = await lockVisitor(tx, accountId, actor.id);
        if (visitor === undefined || visitor.claimed_by !== null) {
          throw new ApiError('resource_conflict', 'This customer is known already.');
        }
        const { email: address, language = 'en' } = body;
        const added = { accountId, widgetId, visitorId: actor.id, address, language };
        const { id, expires_at } = await insertConfirmation(tx, secret, added);
        const confirmation_token = pageTokenOf(secret, id);
        return presentAs(AddressConfirmation, { email: address, expires_at, confirmation_token });
      },
    }),
    defineRoute({
      ...common,
      name: 'open_confirmation',
      method: 'POST',
      path: '/v1/widgets/:id/visitors/actions/open-confirmation',
      summary: 'Open the link of a mail: its visitor becomes the customer of the address',
      open: true,
      secret: true,
      refuses: ['resource_conflict'],
      body: OpenConfirmationBody,
      status: 201,
      response: VisitorSession,
      async change(tx, { params, body }) {
        const { id: widgetId } = await findOffered(tx, params.id!);
        const confirmation = await lockConfirmation(tx, widgetId, body.token);
        if (confirmation === undefined || confirmation.used_at !== null) throw refused();
        if (confirmation.expired)
          throw new ApiError('expired_token', 'The link has expired. Ask for a new one.', PARAM);
        const { account_id: accountId, visitor_id: visitorId } = confirmation;
        const visitor = await lockVisitor(tx, accountId, visitorId);
        if (visitor === undefined || visitor.claimed_by !== null) throw refused();
        const actorId = await claimBy(tx, confirmation);
        await markUsed(tx, confirmation.id);
        return beginSession(tx, parts, { accountId, actorId, widgetId });
      },
    }),
    defineRoute({
      ...common,
      since: '1.4.harbor',
      name: 'enter_confirmation_code',
      method: 'POST',
      path: '/v1/widgets/:id/visitors/actions/enter-code',
      summary: 'Enter the code of a mail in the page that asked: it goes on as the customer of the address',
      open: true,
      secret: true,
      refuses: ['resource_conflict', 'rate_limit_exceeded'],
      body: EnterCodeBody,
      status: 201,
      response: VisitorSession,
      async prepare({ params, body }) {
        const { id: widgetId } = await findOffered(database, params.id!);
        const confirmationId = readPageToken(secret, body.confirmation_token);
        if (confirmationId === undefined) {
          const message = 'This is no token of a page that asked for a mail.';
          throw new ApiError('invalid_credentials', message, { param: 'confirmation_token' });
        }
        await countTry(database, widgetId, confirmationId);
        if (!isSame(codeOf(secret, confirmationId), body.code)) throw wrongCode();
        return { widgetId, confirmationId };
      },
      async change(tx, _, { widgetId, confirmationId }) {
        const confirmation = await lockConfirmationOf(tx, confirmationId);
        // Another request has used the code meanwhile.
        if (confirmation === undefined || confirmation.code_used_at !== null) throw wrongCode();
        const { account_id: accountId } = confirmation;
        const actorId =
          confirmation.used_at === null
            ? await claimBy(tx, confirmation)
            : await customerOfOpened(tx, confirmation);
        await markEntered(tx, confirmation.id);
        return beginSession(tx, parts, { accountId, actorId, widgetId });
      },
    }),
  ];
}

function requireVisitor({ customer, credential }: Principal, widgetId: string): void {
  if (customer && credential.widgetId === widgetId) return;
  throw new ApiError('insufficient_permissions', 'Only a visitor of the widget can confirm an address.');
}

/** Makes the visitor the customer of the address, who has proven it. Returns the customer's id. */
async function claimBy(tx: Tx, confirmation: ConfirmationRow): Promise<string> {
  const { account_id: accountId, visitor_id: visitorId, address } = confirmation;
  const customerId = await customerOf(tx, confirmation);
  await claimVisitor(tx, { accountId, visitorId, customerId, by: 'address' });
  await proveAddress(tx, customerId, address.toLowerCase());
  return customerId;
}

/** Returns the customer that the visitor became when the link was opened elsewhere. */
async function customerOfOpened(
  tx: Tx,
  { account_id: accountId, visitor_id: visitorId }: ConfirmationRow,
): Promise<string> {
  const { claimed_by: customerId = null } = (await lockVisitor(tx, accountId, visitorId)) ?? {};
  if (customerId === null || !(await isActiveCustomer(tx, customerId))) throw wrongCode();
  return customerId;
}

/** Returns the customer of the address, or a new one. */
async function customerOf(
  tx: Tx,
  { account_id: accountId, address: email }: Pick<ConfirmationRow, 'account_id' | 'address'>,
): Promise<string> {
  // Locked, so that two requests that find no customer do not both create one.
  await findCustomer(tx, { accountId, email });
  const known = await findCustomerOf(tx, accountId, email);
  return known ?? (await createCustomer(tx, { accountId, name: email, email })).id;
}

const PARAM = { param: 'token' } as const;

function refused(): ApiError {
  return new ApiError(
    'invalid_credentials',
    'The link is not valid, or it was opened before. Ask for a new one.',
    PARAM,
  );
}
